// A study whose answers are given one by one: for tests of what is claimed of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"

#include "coordinator/report/study.h"

namespace noisefloor::report {

using States = std::map<NoiseSource, SourceState>;

// Every source fixed but poke and threads, which are off, and those that are free.
inline States StatesWithFree(const std::vector<NoiseSource>& free) {
  States states;
  for (const NoiseSource source : kAllNoiseSources) {
    if (IsTold(source, SourceState::kOff)) states[source] = SourceState::kFixed;
  }
  states[NoiseSource::kPoke] = states[NoiseSource::kThreads] = SourceState::kOff;
  for (const NoiseSource source : free) states[source] = SourceState::kFree;
  return states;
}
inline std::vector<AxisSetting> Rate(const std::string& value) {
  return {{"train.optimizer.learning_rate", value}};
}

inline States Control() { return StatesWithFree({}); }
inline States Algo() {
  return StatesWithFree(
      {NoiseSource::kInit, NoiseSource::kDataOrder, NoiseSource::kAugment, NoiseSource::kDropout});
}
inline States Impl() { return StatesWithFree({NoiseSource::kKernels, NoiseSource::kReduceOrder}); }

// Not to be moved or copied: the input holds views.
class TinyStudy {
 public:
  // Example x has the label x % classes.
  TinyStudy(int64_t examples, int32_t classes) : classes_(classes) {
    input.sweep.id = "s1";
    input.sweep.name = "tiny";
    EvaluationSet& set = input.evaluations[0];
    set.data_set = "tiny";
    set.classes = classes;
    for (int64_t x = 0; x < examples; ++x) {
      set.labels.push_back(static_cast<int32_t>(x % classes));
    }
  }
  TinyStudy(const TinyStudy&) = delete;
  TinyStudy& operator=(const TinyStudy&) = delete;

  CellInput& AddCell(const std::string& plan, const States& states, const std::string& hardware,
                     uint32_t block = 0, std::vector<AxisSetting> axes = {}) {
    CellInput& cell = input.cells.emplace_back();
    cell.index = static_cast<uint32_t>(input.cells.size() - 1);
    cell.axes = std::move(axes);
    cell.plan = plan;
    cell.sources = states;
    cell.hardware = hardware;
    cell.stack = "stack";
    cell.block = block;
    return cell;
  }

  // A replicate of the newest cell that is done and answers so. Equal answers have equal hashes.
  MemberInput& AddMember(const std::vector<int16_t>& answers) {
    const CellInput& cell = input.cells.back();
    MemberInput& member = input.members.emplace_back();
    member.cell = cell.index;
    member.replicate = next_replicate_[cell.index]++;
    member.id = fmt::format("s1c{}r{}", cell.index, member.replicate);
    member.state = MemberState::kDone;
    member.attempts = 1;
    for (const auto& [source, state] : cell.sources) {
      if (state == SourceState::kOff) continue;
      member.lanes[source] = {cell.block, state == SourceState::kFree ? member.replicate + 1 : 0};
    }
    std::vector<float>& logits =
        logits_.emplace_back(answers.size() * static_cast<size_t>(classes_));
    double right = 0;
    std::string hash;
    for (size_t x = 0; x < answers.size(); ++x) {
      logits[x * static_cast<size_t>(classes_) + static_cast<size_t>(answers[x])] = 1;
      right += answers[x] == input.evaluations[0].labels[x];
      hash += static_cast<char>('a' + answers[x]);
    }
    member.predictions = logits;
    member.final_metrics["top1"] = right / static_cast<double>(answers.size());
    member.hashes.weights = member.hashes.logits = hash;
    return member;
  }

  StudyInput input;

 private:
  int32_t classes_;
  std::deque<std::vector<float>> logits_;
  std::map<uint32_t, uint32_t> next_replicate_;
};

}  // namespace noisefloor::report
