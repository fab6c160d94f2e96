// A small exported sweep on disk, as `noisefloor export` would have written it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/files/directory.h"
#include "common/files/npy.h"
#include "common/files/sha256.h"
#include "tests/common/files/scratch.h"

namespace noisefloor::exports {

struct TinyExport {
  std::string name = "tiny";
  std::string seed = "7";
  std::vector<int32_t> labels = {0, 1, 0, 1, 0, 1};
  std::string identity = "the data";
  std::vector<std::vector<int32_t>> answers;  // One member each: {examples}, classes 0 and 1.
};

inline nlohmann::json MemberOf(const TinyExport& tiny, size_t replicate,
                               const std::string& sha256) {
  double right = 0;
  for (size_t x = 0; x < tiny.labels.size(); ++x) {
    right += tiny.answers[replicate][x] == tiny.labels[x];
  }
  return {{"id", "s1c0r" + std::to_string(replicate)},
          {"cell", 0},
          {"replicate", replicate},
          {"block", 0},
          {"hardware", "cpu-a"},
          {"stack", "stack"},
          {"plan", "algo"},
          {"state", "done"},
          {"axes", {{"train.epochs", "3"}}},
          {"lanes", {{"init", replicate + 1}, {"kernels", 0}, {"poke", 0}}},
          {"sources", {{"init", "free"}, {"kernels", "fixed"}, {"poke", "off"}}},
          {"hashes", {{"weights", "w" + sha256}, {"logits", sha256}}},
          {"metrics", {{"top1", right / static_cast<double>(tiny.labels.size())}, {"loss", "nan"}}},
          {"data_identity", tiny.identity},
          {"artifacts",
           {{{"kind", "log"}, {"sha256", "x"}}, {{"kind", "predictions"}, {"sha256", sha256}}}},
          {"specification", {{"data", {{"name", "own"}, {"test_examples", 0}}}}}};
}

// Into scratch/NAME; the folder.
inline std::string WriteTinyExport(const Scratch& scratch, const TinyExport& tiny) {
  const std::string folder = scratch.Path(tiny.name);
  for (const char* inside : {"/predictions", "/evaluation_labels"}) {
    EXPECT_TRUE(CreateDirectories(folder + inside).ok());
  }
  const auto examples = static_cast<int64_t>(tiny.labels.size());
  EXPECT_TRUE(
      WriteNpy<int32_t>(folder + "/evaluation_labels/own.npy", {examples}, tiny.labels).ok());
  nlohmann::json members = nlohmann::json::array();
  for (size_t r = 0; r < tiny.answers.size(); ++r) {
    std::vector<float> logits;
    for (const int32_t answer : tiny.answers[r]) {
      logits.push_back(answer == 0 ? 1 : 0);
      logits.push_back(answer == 1 ? 1 : 0);
    }
    const std::string path = folder + "/predictions/s1c0r" + std::to_string(r) + ".npy";
    EXPECT_TRUE(WriteNpy<float>(path, {examples, 2}, logits).ok());
    members.push_back(MemberOf(tiny, r, Sha256File(path).value()));
  }
  (void)scratch.Put(tiny.name + "/members.json",
                    nlohmann::json{{"version", 1}, {"members", members}}.dump());
  const nlohmann::json sweep = {
      {"id", "s1"},
      {"name", tiny.name},
      {"seed", tiny.seed},
      {"reference_accuracy", 0.1},
      {"settings", {{{"path", "train.epochs"}, {"value", "3"}, {"changed", true}}}}};
  (void)scratch.Put(tiny.name + "/study.json", nlohmann::json{{"sweep", sweep}}.dump());
  return folder;
}

}  // namespace noisefloor::exports
