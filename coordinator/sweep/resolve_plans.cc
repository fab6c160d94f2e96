// The noise plans of a request.
#include <algorithm>
#include <array>
#include <set>

#include "fmt/format.h"

#include "coordinator/sweep/problems.h"

namespace noisefloor::sweep {

namespace {

constexpr std::array<std::string_view, 4> kBuiltIns = {"control", "algo", "impl", "algo+impl"};

std::vector<std::string_view> SourceNames() {
  std::vector<std::string_view> names;
  names.reserve(kAllNoiseSources.size());
  for (const NoiseSource source : kAllNoiseSources) names.push_back(Name(source));
  return names;
}

// Levels that repeat are kept once: the shortest list that says the same of every replicate.
void ToOnePeriod(std::vector<uint32_t>& levels) {
  for (size_t period = 1; period <= levels.size() / 2; ++period) {
    if (levels.size() % period != 0) continue;
    if (!std::equal(levels.begin() + static_cast<ptrdiff_t>(period), levels.end(),
                    levels.begin())) {
      continue;
    }
    levels.resize(period);
    return;
  }
}

// The rule as it is kept; one that makes no sense is told of at `field`.
LaneRule Checked(NoiseSource source, LaneRule rule, const std::string& field, Problems& problems) {
  if (rule.levels.empty()) return rule;
  const std::set<uint32_t> different(rule.levels.begin(), rule.levels.end());
  if (IsPhysical(source)) {
    problems.Add(field,
                 fmt::format("expected off, fixed or free: {} has no draws that levels could "
                             "share",
                             Name(source)));
  } else if (rule.state != SourceState::kFree) {
    problems.Add(field, fmt::format("expected no levels of a source that is {}", Name(rule.state)));
  } else if (rule.levels.size() > kMaxLevels) {
    problems.Add(field + ".levels",
                 fmt::format("expected at most {} levels, got {}", kMaxLevels, rule.levels.size()));
  } else if (different.size() == 1) {
    problems.Add(field + ".levels", "expected two different levels or more; with one, it is fixed");
  } else if (*different.rbegin() >= kMaxMembers) {
    problems.Add(field + ".levels", fmt::format("expected levels from 0 to {}, got {}",
                                                kMaxMembers - 1, *different.rbegin()));
  }
  ToOnePeriod(rule.levels);
  return rule;
}

void ApplyRules(const std::vector<SourceRule>& requested, const std::string& field,
                LaneRules& rules, Problems& problems) {
  std::set<std::string> seen;
  for (const SourceRule& rule : requested) {
    const auto source = ParseNoiseSource(rule.source);
    if (!source) {
      problems.Add(field + "." + rule.source,
                   "unknown noise source" + DidYouMean(rule.source, SourceNames()));
      continue;
    }
    if (!seen.insert(rule.source).second) {
      problems.Add(field + "." + rule.source, "is given twice");
    }
    RuleOf(rules, *source) = Checked(*source, rule.rule, field + "." + rule.source, problems);
  }
}

// Those that the plan states itself.
void CheckCounts(const PlanRequest& request, const std::string& field, Problems& problems) {
  if (request.replicates != 0) {
    problems.CheckCount(field + ".replicates", request.replicates, kMaxMembers);
  }
  if (request.blocks != 0) problems.CheckCount(field + ".blocks", request.blocks, kMaxBlocks);
}

NoisePlan ResolvePlan(const PlanRequest& request, const std::string& field, Problems& problems) {
  NoisePlan plan{request.name, *BuiltInPlan("control"), request.replicates, request.blocks};
  CheckCounts(request, field, problems);
  const LaneRules* built_in = BuiltInPlan(request.name);
  if (request.base.empty() && request.rules.empty()) {
    if (built_in != nullptr)
      plan.rules = *built_in;
    else
      problems.Add(field, "expected control, algo, impl, algo+impl or a plan with rules, got " +
                              Quoted(request.name) + DidYouMean(request.name, kBuiltIns));
    return plan;
  }
  if (built_in != nullptr) {
    problems.Add(field + ".name",
                 request.name + " is a built-in plan; give your own plan another name");
  }
  problems.CheckLabel(field + ".name", request.name, 100);
  const std::string base = request.base.empty() ? "control" : request.base;
  if (const LaneRules* rules = BuiltInPlan(base)) {
    plan.rules = *rules;
  } else {
    problems.Add(field + ".base", "expected control, algo, impl or algo+impl, got " + Quoted(base) +
                                      DidYouMean(base, kBuiltIns));
  }
  ApplyRules(request.rules, field, plan.rules, problems);
  return plan;
}

}  // namespace

std::vector<NoisePlan> ResolvePlans(const std::vector<PlanRequest>& noise, Problems& problems) {
  if (noise.empty() || noise.size() > kMaxPlans) {
    problems.Add("noise", "expected 1 to " + std::to_string(kMaxPlans) + " noise plans, got " +
                              std::to_string(noise.size()));
    return {};
  }
  std::vector<NoisePlan> plans;
  std::set<std::string> names;
  for (size_t i = 0; i < noise.size(); ++i) {
    const std::string field = "noise[" + std::to_string(i) + "]";
    plans.push_back(ResolvePlan(noise[i], field, problems));
    if (!names.insert(noise[i].name).second) {
      problems.Add(field, "expected different names, got " + Quoted(noise[i].name) + " again");
    }
  }
  return plans;
}

}  // namespace noisefloor::sweep
