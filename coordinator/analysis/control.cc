#include "coordinator/analysis/control.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace noisefloor::analysis {
namespace {

struct Stage {
  std::string name;
  int64_t evaluation = 0;
  std::string hash;
};

std::vector<Stage> StagesOf(const Hashes& hashes, size_t evaluations) {
  std::vector<Stage> stages = {{"init", 0, hashes.init},
                               {"first batches", 0, hashes.first_batches}};
  for (size_t k = 0; k < evaluations; ++k) {
    stages.push_back({"weights at evaluation " + std::to_string(k + 1), static_cast<int64_t>(k + 1),
                      k < hashes.weights_at.size() ? hashes.weights_at[k] : ""});
  }
  stages.push_back({"weights", 0, hashes.weights});
  stages.push_back({"logits", 0, hashes.logits});
  return stages;
}

// The first stage without a hash in one of the runs where proof needs one; "" when none is.
std::string MissingProof(std::span<const std::vector<Stage>> stages,
                         std::span<const HashedRun> runs) {
  for (size_t k = 0; k < stages[0].size(); ++k) {
    const std::string& name = stages[0][k].name;
    const auto present = [&](const std::vector<Stage>& run) { return !run[k].hash.empty(); };
    const bool needed =
        name == "weights" || name == "logits" || std::any_of(stages.begin(), stages.end(), present);
    if (!needed) continue;
    if (std::none_of(stages.begin(), stages.end(), present)) {
      return "no member has a hash of its " + name;
    }
    for (size_t r = 0; r < runs.size(); ++r) {
      if (!present(stages[r])) return runs[r].id + " has no hash of its " + name;
    }
  }
  return "";
}

BitCheck Unproved(std::string missing) {
  return {BitVerdict::kUnproved, "", 0, "", std::move(missing)};
}

}  // namespace

std::string Name(BitVerdict verdict) {
  switch (verdict) {
    case BitVerdict::kIdentical: return "identical";
    case BitVerdict::kDifferent: return "different";
    case BitVerdict::kUnproved: return "unproved";
  }
  return "corrupt";
}

BitCheck CheckBits(std::span<const HashedRun> runs) {
  if (runs.size() < 2) {
    return Unproved("needs two runs, there are " + std::to_string(runs.size()));
  }
  size_t evaluations = 0;
  for (const HashedRun& run : runs)
    evaluations = std::max(evaluations, run.hashes.weights_at.size());
  std::vector<std::vector<Stage>> stages;
  for (const HashedRun& run : runs) stages.push_back(StagesOf(run.hashes, evaluations));

  for (size_t k = 0; k < stages[0].size(); ++k) {
    const std::string* reference = nullptr;  // Of the first run that has this hash.
    for (size_t r = 0; r < runs.size(); ++r) {
      const Stage& stage = stages[r][k];
      if (stage.hash.empty()) continue;
      if (reference == nullptr) reference = &stage.hash;
      if (stage.hash == *reference) continue;
      return {BitVerdict::kDifferent, stage.name, stage.evaluation, runs[r].id, ""};
    }
  }
  const std::string missing = MissingProof(stages, runs);
  if (!missing.empty()) return Unproved(missing);
  return {BitVerdict::kIdentical, "", 0, "", ""};
}

int64_t DistinctResults(std::span<const HashedRun> runs) {
  std::map<std::string, std::set<std::string>> logits;  // Those that are known, by weights.
  for (const HashedRun& run : runs) {
    if (run.hashes.weights.empty()) continue;
    std::set<std::string>& of_weights = logits[run.hashes.weights];
    if (!run.hashes.logits.empty()) of_weights.insert(run.hashes.logits);
  }
  size_t results = 0;
  for (const auto& [weights, of_weights] : logits)
    results += std::max<size_t>(1, of_weights.size());
  return static_cast<int64_t>(results);
}

double ChanceOfUnitsAlike(std::span<const UnitRuns> units) {
  constexpr size_t kMostStates = 4096;
  size_t results = 0;
  for (const UnitRuns& unit : units) results = std::max(results, unit.result + 1);
  std::vector<int64_t> left(results, 0);  // Of each result, runs that no unit has yet.
  for (const UnitRuns& unit : units) left[unit.result] += unit.runs;
  double log_arrangements = 0;
  int64_t runs = 0;
  for (const int64_t of_result : left) {
    runs += of_result;
    log_arrangements -= std::lgamma(static_cast<double>(of_result) + 1);
  }
  log_arrangements += std::lgamma(static_cast<double>(runs) + 1);
  std::map<std::vector<int64_t>, double> ways = {{left, 1.0}};
  for (const UnitRuns& unit : units) {
    std::map<std::vector<int64_t>, double> next;
    for (const auto& [state, count] : ways) {
      for (size_t r = 0; r < results; ++r) {
        if (state[r] < unit.runs) continue;
        std::vector<int64_t> after = state;
        after[r] -= unit.runs;
        next[std::move(after)] += count;
      }
    }
    if (next.size() > kMostStates) {  // No more than any result to any unit.
      const auto count = static_cast<double>(units.size());
      return std::min(1.0, std::exp(count * std::log(results) - log_arrangements));
    }
    ways = std::move(next);
  }
  return std::exp(std::log(ways.begin()->second) - log_arrangements);
}

}  // namespace noisefloor::analysis
