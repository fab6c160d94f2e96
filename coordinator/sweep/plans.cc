// The built-in noise plans.
#include <algorithm>
#include <set>

#include "coordinator/sweep/sweep.h"

namespace noisefloor::sweep {

namespace {

// Everything fixed, but for what acts only when it is asked for.
LaneRules Control() {
  LaneRules rules;
  for (const NoiseSource source : kAllNoiseSources) {
    if (IsOffUnlessAsked(source)) RuleOf(rules, source).state = SourceState::kOff;
  }
  return rules;
}

LaneRules Freeing(bool algorithmic, bool physical) {
  LaneRules rules = Control();
  for (const NoiseSource source : kAllNoiseSources) {
    SourceState& state = RuleOf(rules, source).state;
    if (state == SourceState::kOff) continue;
    if (IsPhysical(source) ? physical : algorithmic) state = SourceState::kFree;
  }
  return rules;
}

}  // namespace

const LaneRules* BuiltInPlan(std::string_view name) {
  static const LaneRules control = Control();
  static const LaneRules algo = Freeing(true, false);
  static const LaneRules impl = Freeing(false, true);
  static const LaneRules both = Freeing(true, true);
  if (name == "control") return &control;
  if (name == "algo") return &algo;
  if (name == "impl") return &impl;
  if (name == "algo+impl") return &both;
  return nullptr;
}

bool IsControl(const LaneRules& rules) {
  return std::ranges::find(rules, SourceState::kFree, &LaneRule::state) == rules.end();
}

std::vector<NoiseSource> SharedAmong(const LaneRules& rules, uint32_t replicates) {
  std::vector<NoiseSource> shared;
  for (const NoiseSource source : kAllNoiseSources) {
    const LaneRule& rule = RuleOf(rules, source);
    if (rule.state != SourceState::kFree || rule.levels.empty()) continue;
    const size_t used = std::min<size_t>(replicates, rule.levels.size());
    const std::set<uint32_t> levels(rule.levels.begin(),
                                    rule.levels.begin() + static_cast<ptrdiff_t>(used));
    if (levels.size() < replicates) shared.push_back(source);
  }
  return shared;
}

std::string_view Name(UntilFigure figure) {
  return figure == UntilFigure::kTop1 ? "top1" : "churn";
}

std::optional<UntilFigure> ParseUntilFigure(std::string_view name) {
  for (const UntilFigure figure : {UntilFigure::kChurn, UntilFigure::kTop1}) {
    if (name == Name(figure)) return figure;
  }
  return std::nullopt;
}

}  // namespace noisefloor::sweep
