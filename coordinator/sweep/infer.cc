#include "coordinator/sweep/infer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace noisefloor::sweep {

namespace {

// Whether the members that are there are numbered as if no other had been.
bool AreFirst(const std::vector<GivenWeights>& weights) {
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].replicate != i) return false;
  }
  return true;
}

// The rules by which member i has the lane that replicate `weights[i].replicate` has by `rules`.
LaneRules RulesFor(const LaneRules& rules, const std::vector<GivenWeights>& weights) {
  LaneRules mapped = rules;
  if (AreFirst(weights)) return mapped;
  for (const NoiseSource source : kAllNoiseSources) {
    LaneRule& rule = RuleOf(mapped, source);
    if (rule.state != SourceState::kFree) continue;
    const std::vector<uint32_t> levels = std::exchange(rule.levels, {});
    for (const GivenWeights& given : weights) {
      rule.levels.push_back(levels.empty() ? given.replicate
                                           : levels[given.replicate % levels.size()]);
    }
  }
  return mapped;
}

// The plans of an inference: one for each way in which replicates of a plan are there.
class PlanBook {
 public:
  // The name of the plan with these rules, which is added unless there is one.
  std::string NameOf(const std::string& original, const LaneRules& rules, uint32_t replicates) {
    std::vector<size_t>& known = of_[original];
    const auto same =
        std::ranges::find_if(known, [&](size_t index) { return plans_[index].rules == rules; });
    if (same != known.end()) {
      NoisePlan& plan = plans_[*same];
      plan.replicates = std::max(plan.replicates, replicates);
      return plan.name;
    }
    std::string name = original;
    for (size_t number = std::max<size_t>(2, known.size() + 1); !taken_.insert(name).second;
         ++number) {
      name = original + "-" + std::to_string(number);
    }
    known.push_back(plans_.size());
    plans_.push_back({name, rules, replicates});
    return name;
  }
  std::vector<NoisePlan> Take() { return std::move(plans_); }

 private:
  std::vector<NoisePlan> plans_;
  std::set<std::string> taken_;                    // Names.
  std::map<std::string, std::vector<size_t>> of_;  // Of each original, which they are.
};

// The identity of the data, where all have the same: where they differ each is checked by the first
// hello, as in every sweep.
std::string CommonIdentity(const std::vector<InferSource>& sources) {
  const std::string& first = sources.front().identity;
  const auto differs = [&](const InferSource& source) { return source.identity != first; };
  return std::ranges::any_of(sources, differs) ? "" : first;
}

const SubjectCell& SubjectCellOf(const Sweep& sweep, uint32_t cell) {
  return sweep.inference->cells[cell / sweep.hardware.size()];
}

}  // namespace

Sweep InferenceOf(const Sweep& original, const std::vector<InferSource>& sources,
                  const InferWish& wish) {
  Sweep infer;
  infer.kind = Kind::kInfer;
  infer.name = "infer-" + ToText(wish.of);
  infer.seed = original.seed;
  infer.schema = original.schema;
  infer.base = original.base;
  // It evaluates on one device, whatever has trained.
  if (FindSetting(infer.base, kDevices) != nullptr) PutSetting(infer.base, kDevices, int64_t{1});
  infer.axes = original.axes;
  infer.hardware = wish.hardware;
  infer.reference_accuracy = original.reference_accuracy;
  const std::string identity = CommonIdentity(sources);
  if (!identity.empty() && FindSetting(infer.base, kDataIdentity) != nullptr) {
    PutSetting(infer.base, kDataIdentity, identity);
  }
  infer.inference = Inference{wish.of, {}};
  PlanBook plans;
  for (const InferSource& source : sources) {
    std::string stack = wish.stack.empty() ? source.cell.stack : wish.stack;
    if (wish.stack == "any") stack.clear();
    const auto members = static_cast<uint32_t>(source.weights.size());
    const std::string plan =
        plans.NameOf(source.cell.plan, RulesFor(source.cell.rules, source.weights), members);
    if (std::ranges::count(infer.stacks, stack) == 0) infer.stacks.push_back(stack);
    infer.inference->cells.push_back(
        {source.cell.index, source.cell.axes, plan, stack, source.cell.block, source.weights});
  }
  infer.plans = plans.Take();
  return infer;
}

std::vector<Cell> InferenceCells(const Sweep& sweep) {
  std::vector<Cell> cells;
  for (const SubjectCell& subject : sweep.inference->cells) {
    const auto plan = std::ranges::find(sweep.plans, subject.plan, &NoisePlan::name);
    for (const std::string& hardware : sweep.hardware) {
      cells.push_back({static_cast<uint32_t>(cells.size()), subject.axes, subject.plan,
                       plan == sweep.plans.end() ? LaneRules() : plan->rules, hardware,
                       subject.stack, subject.block,
                       static_cast<uint32_t>(subject.weights.size())});
    }
  }
  return cells;
}

const GivenWeights* WeightsOf(const Sweep& sweep, const MemberId& member) {
  if (!sweep.inference || member.cell >= CellCount(sweep)) return nullptr;
  const SubjectCell& cell = SubjectCellOf(sweep, member.cell);
  return member.replicate < cell.weights.size() ? &cell.weights[member.replicate] : nullptr;
}

std::optional<MemberId> SubjectOf(const Sweep& sweep, const MemberId& member) {
  if (sweep.subject) return sweep.subject->member;
  const GivenWeights* given = WeightsOf(sweep, member);
  if (given == nullptr) return std::nullopt;
  return MemberId{sweep.inference->sweep, SubjectCellOf(sweep, member.cell).cell, given->replicate};
}

std::optional<SweepId> AboutSweep(const Sweep& sweep) {
  if (sweep.subject) return sweep.subject->member.sweep;
  if (sweep.inference) return sweep.inference->sweep;
  return std::nullopt;
}

}  // namespace noisefloor::sweep
