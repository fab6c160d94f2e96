#include "coordinator/query/plan_shares.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/analysis/decomposition.h"
#include "coordinator/analysis/share_widths.h"
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

// Of so many blocks, and trainings of a block. More of them share what these share.
constexpr uint32_t kMostBlocks = 24;
constexpr uint32_t kMostTrainings = 64;

// Of independent answers, of which a churn is the variance; an accuracy has one.
constexpr int kDirectionsOfChurn = 50;

// At most so many replicates, spread over all: in a crossing those in a row share most of their
// draws. The step is prime to the number of all, so that none comes twice.
std::vector<uint32_t> SomeReplicates(uint32_t all, uint32_t most) {
  uint32_t step = 1;
  if (all > most) {
    step = static_cast<uint32_t>(0.618 * all);
    while (std::gcd(step, all) != 1) ++step;
  }
  std::vector<uint32_t> some;
  for (uint64_t k = 0; k < std::min(all, most); ++k) {
    some.push_back(static_cast<uint32_t>(k * step % all));
  }
  return some;
}

// Of a plan, in its first blocks.
void AddTrainings(const sweep::Sweep& sweep, const sweep::NoisePlan& plan,
                  const std::set<NoiseSource>& idle, uint32_t most,
                  std::vector<Training>& trainings) {
  const std::vector<uint32_t> replicates = SomeReplicates(sweep::ReplicatesOf(sweep, plan), most);
  for (uint32_t block = 0; block < std::min(kMostBlocks, sweep::BlocksOf(sweep, plan)); ++block) {
    for (const uint32_t r : replicates) {
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

std::vector<analysis::DesignBlock> BlocksOf(const std::vector<Training>& trainings,
                                            const report::Factors& factors) {
  std::map<uint32_t, analysis::DesignBlock> of_block;
  for (const Training& training : trainings) {
    analysis::DesignBlock& block = of_block[training.block];
    const auto place = static_cast<uint32_t>(block.levels.size());
    block.levels.push_back(report::LevelsOf(training, factors, place));
  }
  std::vector<analysis::DesignBlock> blocks;
  for (auto& [number, block] : of_block) blocks.push_back(std::move(block));
  return blocks;
}

// What the report of such trainings would tell: of distances that are made up, since which shares
// and intervals there are does not depend on them.
analysis::Decomposition WhatIsTold(std::vector<analysis::DesignBlock> blocks,
                                   const report::Factors& factors) {
  uint32_t made_up = 0;
  for (analysis::DesignBlock& block : blocks) {
    block.distances = analysis::PairMatrix(static_cast<int64_t>(block.levels.size()));
    for (int64_t i = 0; i < block.distances.members(); ++i) {
      for (int64_t j = i + 1; j < block.distances.members(); ++j) {
        made_up = made_up * 1664525u + 1013904223u;
        block.distances.Set(i, j, 1 + made_up / 4294967296.0);
      }
    }
  }
  return analysis::Decompose(blocks, factors.count(), "fraction");
}

// "±9 % alone and ±8 % in all"
std::string WidthsText(const analysis::ShareWidths& widths) {
  std::vector<std::string> texts;
  const auto add = [&](const std::optional<double>& width, std::string_view what) {
    if (!width) return;
    texts.push_back(*width < 1 ? fmt::format("±{:.0f} % {}", 100 * *width, what)
                               : fmt::format("more than ±100 % {}", what));
  };
  add(widths.first_order, "alone");
  add(widths.total, "in all");
  return fmt::format("{}", fmt::join(texts, " and "));
}

// How narrow the intervals will be. Empty without any.
std::string NarrownessText(const std::vector<analysis::DesignBlock>& blocks, int sources,
                           bool cut) {
  const std::string churn =
      WidthsText(analysis::ExpectedShareWidths(blocks, sources, kDirectionsOfChurn));
  if (churn.empty()) return "";
  return fmt::format(
      ", {} {} of churn, {} of the variance of top-1 (simulated, of sources that mostly act "
      "together)",
      cut ? "narrower than" : "about", churn,
      WidthsText(analysis::ExpectedShareWidths(blocks, sources, 1)));
}

std::string SentenceOf(const std::vector<std::string>& plans, std::vector<Training> trainings,
                       const std::vector<NoiseSource>& physical, uint32_t blocks) {
  if (physical.empty()) report::DropCopies(trainings);
  const report::Factors factors = report::FactorsOf(trainings, !physical.empty());
  if (factors.count() < 2 || factors.count() > analysis::kMostSources) return "";
  const std::vector<analysis::DesignBlock> planned = BlocksOf(trainings, factors);
  const analysis::Decomposition told = WhatIsTold(planned, factors);
  std::vector<std::string> alone;
  std::vector<std::string> total;
  bool has_intervals = true;
  const std::vector<std::string> names = report::NamesOf(factors, physical);
  for (const analysis::Index& index : told.indices) {
    for (size_t k = 0; index.share.value && k < names.size(); ++k) {
      if (index.sources != 1u << k) continue;
      if (index.kind == IndexKind::kFirstOrder) alone.push_back(names[k]);
      if (index.kind == IndexKind::kTotal) total.push_back(names[k]);
      has_intervals &= index.share.low.has_value();
    }
  }
  if (alone.empty() && total.empty()) return "";
  const auto listed = [](const std::vector<std::string>& of) {
    return of.empty() ? "nothing" : fmt::format("{}", fmt::join(of, ", "));
  };
  return fmt::format(
      "{} will tell shares of the noise: alone of {}; with all it acts through of {}; {}{}",
      fmt::join(plans, ", "), listed(alone), listed(total),
      !has_intervals ? "not all with an interval, for they hang on one block or draw; more blocks "
                       "give them one"
      : blocks > 1   ? fmt::format("intervals are over {} blocks", blocks)
                     : "intervals are over draws of one block",
      has_intervals ? NarrownessText(planned, factors.count(), blocks > kMostBlocks) : "");
}

}  // namespace

std::vector<std::string> PlannedShares(const sweep::Sweep& sweep,
                                       const std::set<NoiseSource>& idle) {
  std::map<State, std::pair<std::vector<std::string>, std::vector<Training>>> by_state;
  std::map<State, uint32_t> blocks;
  std::map<State, uint32_t> plans;
  for (const sweep::NoisePlan& plan : sweep.plans) ++plans[StateOf(plan.rules, idle)];
  for (const sweep::NoisePlan& plan : sweep.plans) {
    const State state = StateOf(plan.rules, idle);
    const uint32_t most = std::max(kMostTrainings / plans.at(state), uint32_t{4});
    auto& [names, trainings] = by_state[state];
    names.push_back(plan.name);
    AddTrainings(sweep, plan, idle, most, trainings);
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
