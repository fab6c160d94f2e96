#include "coordinator/query/plan_shares.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/analysis/decomposition.h"
#include "coordinator/report/decompositions.h"
#include "coordinator/report/design.h"

namespace noisefloor::query {
namespace {

using analysis::IndexKind;
using report::Training;

// Plans whose members are taken apart together: physical sources that are free, sources that are
// off.
using State = std::pair<std::vector<NoiseSource>, std::vector<NoiseSource>>;

State StateOf(const LaneRules& rules, const std::set<NoiseSource>& idle) {
  State state;
  for (const NoiseSource source : kAllNoiseSources) {
    const SourceState of = RuleOf(rules, source).state;
    const bool is_free = of == SourceState::kFree && !idle.contains(source);
    if (IsPhysical(source) && is_free) state.first.push_back(source);
    if (of == SourceState::kOff) state.second.push_back(source);
  }
  return state;
}

// All blocks are alike; but plans may have different numbers of them.
constexpr uint32_t kBlocks = 3;

// The trainings of a plan in its first blocks; of each as many as a report takes apart.
void AddTrainings(const sweep::Sweep& sweep, const sweep::NoisePlan& plan,
                  const std::set<NoiseSource>& idle, std::vector<Training>& trainings) {
  const uint32_t replicates = std::min<uint32_t>(sweep::ReplicatesOf(sweep, plan),
                                                 static_cast<uint32_t>(report::kMostDecomposed));
  for (uint32_t block = 0; block < std::min(kBlocks, sweep::BlocksOf(sweep, plan)); ++block) {
    for (uint32_t r = 0; r < replicates; ++r) {
      Training& training = trainings.emplace_back(Training{0, block, {}});
      for (const NoiseSource source : kAllNoiseSources) {
        const LaneRule& rule = RuleOf(plan.rules, source);
        if (IsPhysical(source) || rule.state == SourceState::kOff) continue;
        if (idle.contains(source)) continue;
        training.draws[source] = LaneOf(rule, block, r).number;
      }
    }
  }
}

std::string SentenceOf(const std::vector<std::string>& plans, std::vector<Training> trainings,
                       const std::vector<NoiseSource>& physical, uint32_t blocks) {
  if (physical.empty()) report::DropCopies(trainings);
  const report::Factors factors = report::FactorsOf(trainings, !physical.empty());
  if (factors.count() < 2 || factors.count() > analysis::kMostSources) return "";
  std::map<uint32_t, std::vector<std::vector<uint32_t>>> levels;
  for (const Training& training : trainings) {
    auto& of_block = levels[training.block];
    if (of_block.size() == report::kMostDecomposed) continue;
    const auto place = static_cast<uint32_t>(of_block.size());
    of_block.push_back(report::LevelsOf(training, factors, place));
  }
  std::vector<std::vector<std::vector<uint32_t>>> of_blocks;
  for (auto& [block, of_block] : levels) of_blocks.push_back(std::move(of_block));
  std::vector<std::string> alone;
  std::vector<std::string> total;
  const std::vector<std::string> names = report::NamesOf(factors, physical);
  for (const analysis::Identified& index : analysis::WhatIsIdentified(of_blocks, factors.count())) {
    for (size_t k = 0; index.told && k < names.size(); ++k) {
      if (index.sources != 1u << k) continue;
      if (index.kind == IndexKind::kFirstOrder) alone.push_back(names[k]);
      if (index.kind == IndexKind::kTotal) total.push_back(names[k]);
    }
  }
  if (alone.empty() && total.empty()) return "";
  const auto listed = [](const std::vector<std::string>& of) {
    return of.empty() ? "nothing" : fmt::format("{}", fmt::join(of, ", "));
  };
  return fmt::format(
      "{} will tell shares of the noise: alone of {}; with all it acts through of {}; intervals "
      "are "
      "over {}",
      fmt::join(plans, ", "), listed(alone), listed(total),
      blocks > 1 ? fmt::format("{} blocks", blocks) : "draws of one block");
}

}  // namespace

std::vector<std::string> PlannedShares(const sweep::Sweep& sweep,
                                       const std::set<NoiseSource>& idle) {
  std::map<State, std::pair<std::vector<std::string>, std::vector<Training>>> by_state;
  std::map<State, uint32_t> blocks;
  for (const sweep::NoisePlan& plan : sweep.plans) {
    const State state = StateOf(plan.rules, idle);
    auto& [names, trainings] = by_state[state];
    names.push_back(plan.name);
    AddTrainings(sweep, plan, idle, trainings);
    blocks[state] = std::max(blocks[state], sweep::BlocksOf(sweep, plan));
  }
  std::vector<std::string> sentences;
  for (const auto& [state, of] : by_state) {
    std::string sentence = SentenceOf(of.first, of.second, state.first, blocks.at(state));
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace noisefloor::query
