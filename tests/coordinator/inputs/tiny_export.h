// A small exported sweep on disk, as `noisefloor export` would have written it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "common/files/directory.h"
#include "common/files/npy.h"
#include "common/files/sha256.h"
#include "coordinator/inputs/study_source.h"
#include "tests/common/files/scratch.h"

namespace noisefloor::inputs {

struct TinyExport {
  std::string name = "tiny";
  uint64_t seed = 7;
  std::string hardware = "cpu-a";
  std::vector<int32_t> labels = {0, 1, 0, 1, 0, 1};
  std::string identity = "the data";
  std::vector<std::vector<int32_t>> answers;  // One member each: {examples}, classes 0 and 1.
};

inline InputFile FileOf(const std::string& kind, const std::string& member,
                        const std::string& folder, const std::string& path) {
  return {kind, member, path, Sha256File(folder + "/" + path).value(), 0};
}

// One cell of a plan that frees `init`, at an axis of one value.
inline StudySource TinySource(const TinyExport& tiny) {
  StudySource source;
  report::StudyInput& input = source.input;
  input.sweep = {.id = "s1",
                 .name = tiny.name,
                 .seed = tiny.seed,
                 .reference_accuracy = 0.1,
                 .plans = {{.name = "algo",
                            .sources = {{NoiseSource::kInit, {.state = SourceState::kFree}},
                                        {NoiseSource::kKernels, {}}},
                            .replicates = static_cast<uint32_t>(tiny.answers.size())}},
                 .settings = {{"train.epochs", "3", true}},
                 .axes = {{{"train.epochs", {"3"}}}}};
  input.evaluations[0].data_set = "own";
  input.evaluations[0].identity = tiny.identity;
  input.cells.push_back({.axes = {{"train.epochs", "3"}},
                         .plan = "algo",
                         .sources = {{NoiseSource::kInit, SourceState::kFree},
                                     {NoiseSource::kKernels, SourceState::kFixed}},
                         .hardware = tiny.hardware,
                         .stack = "stack"});
  for (uint32_t r = 0; r < tiny.answers.size(); ++r) {
    double right = 0;
    for (size_t x = 0; x < tiny.labels.size(); ++x) right += tiny.answers[r][x] == tiny.labels[x];
    report::MemberInput& member = input.members.emplace_back();
    member.id = "s1c0r" + std::to_string(r);
    member.replicate = r;
    member.state = MemberState::kDone;
    member.attempts = 1;
    member.lanes = {{NoiseSource::kInit, {0, r + 1}}, {NoiseSource::kKernels, {0, 0}}};
    member.final_metrics = {{"top1", right / static_cast<double>(tiny.labels.size())}};
  }
  source.sets.resize(1);
  source.members.resize(tiny.answers.size());
  return source;
}

// Into scratch/NAME; the folder.
inline std::string WriteTinyExport(const Scratch& scratch, const TinyExport& tiny) {
  const std::string folder = scratch.Path(tiny.name);
  for (const char* inside : {"/predictions", "/evaluation_labels"}) {
    EXPECT_TRUE(CreateDirectories(folder + inside).ok());
  }
  StudySource source = TinySource(tiny);
  const auto examples = static_cast<int64_t>(tiny.labels.size());
  const std::string labels = "evaluation_labels/own.npy";
  EXPECT_TRUE(WriteNpy<int32_t>(folder + "/" + labels, {examples}, tiny.labels).ok());
  source.sets[0].labels = FileOf("evaluation_labels", "s1c0r0", folder, labels);
  for (size_t r = 0; r < tiny.answers.size(); ++r) {
    std::vector<float> logits;
    for (const int32_t answer : tiny.answers[r]) {
      logits.push_back(answer == 0 ? 1 : 0);
      logits.push_back(answer == 1 ? 1 : 0);
    }
    report::MemberInput& member = source.input.members[r];
    const std::string path = "predictions/" + member.id + ".npy";
    EXPECT_TRUE(WriteNpy<float>(folder + "/" + path, {examples, 2}, logits).ok());
    source.members[r].predictions = FileOf("predictions", member.id, folder, path);
    member.hashes.logits = source.members[r].predictions->sha256;
    member.hashes.weights = "w" + member.hashes.logits;
  }
  (void)scratch.Put(tiny.name + "/input.json", SourceToJson(source));
  return folder;
}

}  // namespace noisefloor::inputs
