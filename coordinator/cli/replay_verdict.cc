#include "coordinator/cli/replay_verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "fmt/format.h"

#include "common/trainer_protocol/idle_sources.h"
#include "coordinator/analysis/interval.h"

namespace noisefloor::cli {

namespace {

constexpr std::string_view kEvaluation = "weights_at/";

// Places in an environment, and what is said of them. Not the clocks, the load, the memory: they
// change times and orders of arrival, and no other bit.
constexpr std::pair<std::string_view, std::string_view> kConditions[] = {
    {"/machine/cpu_model", "processor"},
    {"/machine/cpu_stepping", "processor's stepping"},
    {"/machine/instruction_sets", "set of instructions"},
    {"/machine/c_library", "C library"},
    {"/aten_cpu_capability", "capability of ATen"},
    {"/versions/libtorch", "version of LibTorch"},
    {"/versions/library", "file of LibTorch"},
    {"/versions/onednn", "version of oneDNN"},
    {"/versions/mkl", "version of MKL"},
    {"/versions/openmp", "version of OpenMP"},
    {"/gpu/name", "GPU"},
    {"/gpu/driver", "GPU driver"},
    {"/gpu/cudnn", "version of cuDNN"},
    {"/gpu/cuda_runtime", "version of CUDA's runtime"},
    {"/variables/MKL_CBWR", "variable MKL_CBWR"},
    {"/variables/ONEDNN_MAX_CPU_ISA", "variable ONEDNN_MAX_CPU_ISA"},
    {"/variables/CUBLAS_WORKSPACE_CONFIG", "variable CUBLAS_WORKSPACE_CONFIG"},
};

long EvaluationOf(const std::string& name) {
  return name.starts_with(kEvaluation) ? std::atol(name.c_str() + kEvaluation.size()) : 0;
}

// Place in the training: what comes first differs first.
int RankOf(const std::string& name) {
  if (name == "init") return 0;
  if (name == "first_batches") return 1;
  if (name.starts_with(kEvaluation)) return 2;
  return name == "weights" ? 3 : name == "logits" ? 4 : 5;
}

bool TrainsEarlier(const std::string& a, const std::string& b) {
  if (RankOf(a) != RankOf(b)) return RankOf(a) < RankOf(b);
  if (EvaluationOf(a) != EvaluationOf(b)) return EvaluationOf(a) < EvaluationOf(b);
  return a < b;
}

std::string Find(const std::map<std::string, std::string>& hashes, const std::string& name) {
  const auto it = hashes.find(name);
  return it == hashes.end() ? "" : it->second;
}

std::string InWords(const std::string& name) {
  if (name == "init") return "the initial weights";
  if (name == "first_batches") return "the first batches";
  if (name == "weights") return "the final weights";
  if (name == "logits") return "the final predictions";
  if (name.starts_with(kEvaluation)) return fmt::format("evaluation {}", EvaluationOf(name));
  return name;
}

}  // namespace

std::map<std::string, std::string> ConditionsOf(const nlohmann::ordered_json& environment) {
  std::map<std::string, std::string> conditions;
  for (const auto& [pointer, name] : kConditions) {
    const nlohmann::ordered_json::json_pointer place{std::string(pointer)};
    if (!environment.is_object() || !environment.contains(place)) continue;
    const auto& value = environment[place];
    if (value.is_null()) continue;
    conditions[std::string(name)] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return conditions;
}

std::vector<std::string> WhyBitsMayDiffer(const Training& training, const TrainedBy& original,
                                          const TrainedBy& replay) {
  std::vector<std::string> reasons;
  const std::optional<Specification> ours = Understood(training);
  for (const NoiseSource source :
       {NoiseSource::kKernels, NoiseSource::kAutotune, NoiseSource::kReduceOrder}) {
    if (training.Source(source).state != SourceState::kFree) continue;
    if (ours && IdleReason(*ours, source)) continue;
    reasons.push_back(fmt::format("{} is free", Name(source)));
  }
  if (original.stack != replay.stack) {
    reasons.push_back(fmt::format("the stack was {} and is {} here", original.stack, replay.stack));
  } else if (!original.build.empty() && original.build != replay.build) {
    reasons.push_back(fmt::format("the trainer was of build {} and is of build {} here",
                                  original.build.substr(0, 12), replay.build.substr(0, 12)));
  }
  for (const auto& [name, was] : original.conditions) {
    const auto is = replay.conditions.find(name);
    if (is == replay.conditions.end() || is->second == was) continue;
    reasons.push_back(fmt::format("the {} was {} and is {} here", name, was, is->second));
  }
  return reasons;
}

std::vector<HashPair> PairHashes(const std::map<std::string, std::string>& original,
                                 const std::map<std::string, std::string>& replay) {
  std::set<std::string> names;
  for (const auto& [name, hash] : original) names.insert(name);
  for (const auto& [name, hash] : replay) names.insert(name);
  std::vector<HashPair> pairs;
  for (const std::string& name : names) {
    pairs.push_back({name, Find(original, name), Find(replay, name)});
  }
  std::ranges::sort(pairs, TrainsEarlier, &HashPair::name);
  return pairs;
}

std::string FirstDifference(const std::vector<HashPair>& pairs) {
  const auto it = std::ranges::find_if(pairs, [](const HashPair& pair) { return !pair.equal(); });
  return it == pairs.end() ? "" : InWords(it->name);
}

Cohort SumUp(const std::vector<double>& top1, int64_t examples) {
  Cohort cohort{.count = top1.size()};
  if (top1.empty()) return cohort;
  for (const double value : top1) cohort.mean += value / static_cast<double>(top1.size());
  if (top1.size() == 1) return cohort;
  double squares = 0;
  for (const double value : top1) squares += (value - cohort.mean) * (value - cohort.mean);
  const double n = static_cast<double>(top1.size());
  cohort.sd = std::sqrt(squares / (n - 1));
  const double step = examples > 0 ? 1 / static_cast<double>(examples) : 0;
  if (cohort.sd == 0 && examples <= 0) return cohort;
  const double student = analysis::TQuantile(n - 1, 0.975);
  const double sd = std::sqrt(cohort.sd * cohort.sd + step * step / 12);
  cohort.half_width = student * sd * std::sqrt(1 + 1 / n) + step / 2;
  return cohort;
}

std::optional<bool> IsLikely(const Cohort& cohort, double top1) {
  if (!std::isfinite(cohort.half_width)) return std::nullopt;
  // Equal values summed in another order may differ in the last bit.
  return std::isfinite(top1) && std::abs(top1 - cohort.mean) <= cohort.half_width + 1e-12;
}

}  // namespace noisefloor::cli
