#include "coordinator/sweep/extend.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "coordinator/sweep/infer.h"
#include "coordinator/sweep/problems.h"

namespace noisefloor::sweep {

namespace {

bool TakesAny(const Sweep& sweep) { return sweep.hardware == std::vector<std::string>{""}; }

// Behind those that are there, or in their order where they are sorted, as those of `all` are.
void AddClass(std::vector<std::string>& hardware, const std::string& name) {
  const bool sorted = std::ranges::is_sorted(hardware);
  const auto place = sorted ? std::ranges::lower_bound(hardware, name) : hardware.end();
  hardware.insert(place, name);
}

void AddClasses(const Extension& wish, Sweep& sweep, Problems& problems) {
  if (wish.hardware.empty()) return;
  if (TakesAny(sweep)) {
    return problems.Add("hardware", "the sweep takes any hardware class already");
  }
  for (const std::string& name : wish.hardware) {
    if (!problems.CheckName("hardware", name)) return;
    if (!HasDevicesOf(sweep, name)) {
      return problems.Add("hardware", name + " has another number of devices than train.devices");
    }
    if (std::ranges::count(sweep.hardware, name) == 0) AddClass(sweep.hardware, name);
  }
}

// "plan algo has 30 replicates; fewer than before cannot be".
void Raise(const char* field, const NoisePlan& plan, uint32_t wish, uint32_t& count,
           Problems& problems) {
  if (wish == 0) return;
  if (wish < count) {
    return problems.Add(field, "plan " + plan.name + " has " + std::to_string(count) + " " + field +
                                   ", and a sweep gets no smaller; expected as many or more, got " +
                                   std::to_string(wish));
  }
  count = wish;
}

void CheckPlans(const Extension& wish, const Sweep& sweep, Problems& problems) {
  for (const std::string& name : wish.plans) {
    if (std::ranges::count(sweep.plans, name, &NoisePlan::name) > 0) continue;
    std::vector<std::string_view> names;
    for (const NoisePlan& plan : sweep.plans) names.push_back(plan.name);
    return problems.Add("plans", "the sweep has no plan " + Quoted(name) + DidYouMean(name, names));
  }
}

// Numbers of its own are what a plan keeps, so that others may be raised later without it.
void SetCounts(Sweep& sweep, const Extent& extent) {
  const bool same = std::ranges::all_of(
      extent.plans, [&](const Extent::Plan& plan) { return plan == extent.plans.front(); });
  if (same) {
    sweep.replicates = extent.plans.front().replicates;
    sweep.blocks = extent.plans.front().blocks;
  }
  for (size_t i = 0; i < sweep.plans.size(); ++i) {
    NoisePlan& plan = sweep.plans[i];
    const auto& [replicates, blocks] = extent.plans[i];
    plan.replicates = replicates == sweep.replicates ? 0 : replicates;
    plan.blocks = blocks == sweep.blocks ? 0 : blocks;
  }
}

// Replicates alone bring no cells: what it was before is what the last one says.
void Remember(const Extent& before, Sweep& extended) {
  const auto places = [](const Extent& extent) {
    std::vector<uint32_t> blocks;
    for (const Extent::Plan& plan : extent.plans) blocks.push_back(plan.blocks);
    return std::pair(extent.hardware, blocks);
  };
  const bool known = !extended.before.empty() && places(extended.before.back()) == places(before);
  if (!known) extended.before.push_back(before);
}

// Whether the one was decided and the other not is no matter of what was submitted.
bool SameUntil(const Sweep& a, const Sweep& b) {
  const auto submitted = [](std::optional<Until> until) {
    if (until) until->settled = false;
    return until;
  };
  return submitted(a.until) == submitted(b.until);
}

bool SamePlans(const Sweep& a, const Sweep& b) {
  return std::ranges::equal(a.plans, b.plans, [](const NoisePlan& x, const NoisePlan& y) {
    return x.name == y.name && x.rules == y.rules;
  });
}

// In whatever order.
bool SameSettings(Settings a, Settings b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

bool SameAxes(const Sweep& a, const Sweep& b) {
  const auto same_columns = [](const AxisColumn& x, const AxisColumn& y) {
    return x.path == y.path && x.values == y.values;
  };
  return std::ranges::equal(a.axes, b.axes, [&](const Axis& x, const Axis& y) {
    return std::ranges::equal(x.columns, y.columns, same_columns);
  });
}

}  // namespace

Extent ExtentOf(const Sweep& sweep) {
  Extent extent;
  extent.hardware = sweep.hardware;
  for (const NoisePlan& plan : sweep.plans) {
    extent.plans.push_back({ReplicatesOf(sweep, plan), BlocksOf(sweep, plan)});
  }
  return extent;
}

std::variant<Sweep, Problem> Extend(const Sweep& sweep, const Extension& wish) {
  Problems problems;
  if (sweep.kind == Kind::kInfer) {
    problems.Add("sweep_id", "an inference is not extended; `infer` makes another");
    return problems.Take().front();
  }
  if (sweep.kind == Kind::kReplay) {
    problems.Add("sweep_id", "a replay is not extended; `replay` with a count makes another");
    return problems.Take().front();
  }
  if (IsUndecided(sweep)) {
    problems.Add("sweep_id",
                 "its `until` decides how many replicates it takes once those that it has "
                 "have ended; after that it may be extended");
    return problems.Take().front();
  }
  const Extent before = ExtentOf(sweep);
  Extent after = before;
  Sweep extended = sweep;
  CheckPlans(wish, sweep, problems);
  for (size_t i = 0; i < sweep.plans.size() && problems.empty(); ++i) {
    const NoisePlan& plan = sweep.plans[i];
    if (!wish.plans.empty() && !wish.plans.contains(plan.name)) continue;
    Raise("replicates", plan, wish.replicates, after.plans[i].replicates, problems);
    Raise("blocks", plan, wish.blocks, after.plans[i].blocks, problems);
  }
  AddClasses(wish, extended, problems);
  after.hardware = extended.hardware;
  if (problems.empty()) {
    if (after == before) return sweep;
    SetCounts(extended, after);
    CheckSize(extended, problems);
  }
  if (!problems.empty()) return problems.Take().front();
  Remember(before, extended);
  return extended;
}

Sweep AsSubmitted(const Sweep& sweep) {
  Sweep submitted = sweep;
  if (submitted.until) submitted.until->settled = false;
  if (sweep.before.empty()) return submitted;
  const Extent first = sweep.before.front();
  submitted.before.clear();
  submitted.hardware = first.hardware;
  SetCounts(submitted, first);
  return submitted;
}

bool IsForUntil(const Sweep& sweep, const NoisePlan& plan) {
  if (BlocksOf(sweep, plan) != 1) return false;
  bool draws = false;
  for (const NoiseSource source : kAllNoiseSources) {
    const LaneRule& rule = RuleOf(plan.rules, source);
    if (IsPhysical(source) || rule.state != SourceState::kFree) continue;
    if (!rule.levels.empty()) return false;
    draws = true;
  }
  return draws;
}

bool IsUndecided(const Sweep& sweep) { return sweep.until && !sweep.until->settled; }

Sweep Settled(const Sweep& sweep, const std::map<std::string, uint32_t>& replicates) {
  NF_CHECK(IsUndecided(sweep));
  const Extent before = ExtentOf(sweep);
  Extent after = before;
  for (size_t i = 0; i < sweep.plans.size(); ++i) {
    const auto wish = replicates.find(sweep.plans[i].name);
    if (wish == replicates.end()) continue;
    after.plans[i].replicates = std::max(after.plans[i].replicates, wish->second);
  }
  Sweep settled = sweep;
  settled.until->settled = true;
  if (after == before) return settled;
  SetCounts(settled, after);
  Remember(before, settled);
  return settled;
}

bool DifferOnlyInExtent(const Sweep& a, const Sweep& b) {
  return a.name == b.name && a.seed == b.seed && a.schema == b.schema && a.stacks == b.stacks &&
         a.reference_accuracy == b.reference_accuracy && SameUntil(a, b) && !AboutSweep(a) &&
         !AboutSweep(b) && SamePlans(a, b) && SameAxes(a, b) && SameSettings(a.base, b.base);
}

std::optional<std::vector<Extension>> Lacking(const Sweep& kept, const Sweep& wanted) {
  std::vector<std::string> hardware;
  for (const std::string& name : wanted.hardware) {
    if (std::ranges::count(kept.hardware, name) == 0) hardware.push_back(name);
  }
  if (!hardware.empty() && (TakesAny(kept) || TakesAny(wanted))) return std::nullopt;
  // Plans that lack the same are told together.
  std::map<Extent::Plan, std::set<std::string>> lacking;
  const Extent has = ExtentOf(kept);
  const Extent asked = ExtentOf(wanted);
  for (size_t i = 0; i < has.plans.size(); ++i) {
    Extent::Plan lack = asked.plans[i];
    if (lack.replicates <= has.plans[i].replicates) lack.replicates = 0;
    if (lack.blocks <= has.plans[i].blocks) lack.blocks = 0;
    if (lack != Extent::Plan{0, 0}) lacking[lack].insert(kept.plans[i].name);
  }
  std::vector<Extension> extensions;
  for (auto& [lack, plans] : lacking) {
    if (plans.size() == kept.plans.size()) plans.clear();
    extensions.push_back({lack.replicates, lack.blocks, {}, std::move(plans)});
  }
  if (hardware.empty()) return extensions;
  if (extensions.empty()) extensions.emplace_back();
  extensions.front().hardware = std::move(hardware);
  return extensions;
}

}  // namespace noisefloor::sweep
