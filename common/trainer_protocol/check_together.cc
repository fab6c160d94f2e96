#include <algorithm>
#include <cmath>

#include "common/trainer_protocol/datasets.h"
#include "common/trainer_protocol/fields.h"

namespace noisefloor {

namespace {

using Problems = std::vector<FieldProblem>;

// The sizes near `batch` that `shards` divides, as "126 or 129".
std::string DivisibleNear(int64_t batch, int64_t shards) {
  const int64_t below = batch / shards * shards;
  const std::string above = std::to_string(below + shards);
  return below == 0 ? above : std::to_string(below) + " or " + above;
}

void CheckShards(const Specification& s, Problems& problems) {
  const int64_t shards = s.train.shards;
  if (s.train.batch_size % shards != 0) {
    problems.push_back({"train.batch_size",
                        std::to_string(s.train.batch_size) + " is not divisible by train.shards " +
                            std::to_string(shards) + "; the nearest that are: " +
                            DivisibleNear(s.train.batch_size, shards)});
    return;
  }
  const KnownDataset* known = FindDataset(s.data.name);
  if (known == nullptr || s.train.drop_last) return;
  const int64_t examples =
      s.data.train_examples > 0 ? s.data.train_examples : known->train_examples;
  const int64_t last = examples % s.train.batch_size;
  if (last % shards != 0) {
    problems.push_back(
        {"train.batch_size", "the last batch of " + std::to_string(examples) + " examples has " +
                                 std::to_string(last) + ", not divisible by train.shards " +
                                 std::to_string(shards) +
                                 "; set train.drop_last: true or another batch size"});
  }
}

void CheckData(const Specification& s, Problems& problems) {
  const KnownDataset* known = FindDataset(s.data.name);
  if (known == nullptr) return;
  const auto limit = [&](const char* path, int64_t asked, int64_t available) {
    if (asked > available) {
      problems.push_back({path, std::to_string(asked) + " asked, " + s.data.name + " has " +
                                    std::to_string(available)});
    }
  };
  limit("data.train_examples", s.data.train_examples, known->train_examples);
  limit("data.test_examples", s.data.test_examples, known->test_examples);
  const bool hex = s.data.identity.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!s.data.identity.empty() && (s.data.identity.size() != 64 || !hex)) {
    problems.push_back({"data.identity", "expected 64 lower-case hexadecimal digits"});
  }
}

void CheckOptimizer(const Specification& s, Problems& problems) {
  const OptimizerSettings& optimizer = s.train.optimizer;
  if (optimizer.name == "adam" && (optimizer.momentum != 0 || optimizer.nesterov)) {
    problems.push_back({"train.optimizer.momentum", "adam has no momentum setting; use beta1"});
  }
  if (optimizer.nesterov && optimizer.momentum == 0) {
    problems.push_back({"train.optimizer.nesterov", "needs train.optimizer.momentum above 0"});
  }
  const ScheduleSettings& schedule = s.train.schedule;
  if (schedule.name == "step" && schedule.milestones.empty()) {
    problems.push_back({"train.schedule.milestones", "schedule step needs at least one milestone"});
  }
  if (schedule.name != "step" && !schedule.milestones.empty()) {
    problems.push_back(
        {"train.schedule.milestones", "only schedule step has milestones, not " + schedule.name});
  }
  if (!std::ranges::is_sorted(schedule.milestones, std::less_equal<>())) {
    problems.push_back({"train.schedule.milestones", "expected rising epochs"});
  }
}

void CheckSources(const Specification& s, Problems& problems) {
  const SourceState threads = s.Source(NoiseSource::kThreads).state;
  if (threads != SourceState::kOff && s.sources.thread_choices.empty()) {
    problems.push_back(
        {"sources.threads.choices", "the source threads is " + std::string(Name(threads)) +
                                        ": a list of thread counts to draw from is needed"});
  }
  if (s.Source(NoiseSource::kReduceOrder).state == SourceState::kFree && s.train.shards == 2) {
    problems.push_back({"train.shards",
                        "with 2 shards the order of a sum changes nothing (a + b = b + a); "
                        "reduce_order: free needs 1 shard (no effect) or at least 3"});
  }
}

}  // namespace

std::vector<FieldProblem> CheckTogether(const Specification& specification) {
  Problems problems;
  CheckShards(specification, problems);
  CheckData(specification, problems);
  CheckOptimizer(specification, problems);
  CheckSources(specification, problems);
  return problems;
}

}  // namespace noisefloor
