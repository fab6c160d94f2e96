// The noise plans of a request.
#include <array>
#include <set>

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

void ApplyRules(const std::vector<SourceRule>& rules, const std::string& field,
                SourceStates& states, Problems& problems) {
  std::set<std::string> seen;
  for (const SourceRule& rule : rules) {
    const auto source = ParseNoiseSource(rule.source);
    if (!source) {
      problems.Add(field + "." + rule.source,
                   "unknown noise source" + DidYouMean(rule.source, SourceNames()));
      continue;
    }
    if (!seen.insert(rule.source).second) {
      problems.Add(field + "." + rule.source, "is given twice");
    }
    states[static_cast<size_t>(*source) - 1] = rule.state;
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
  const SourceStates* built_in = BuiltInPlan(request.name);
  if (request.base.empty() && request.rules.empty()) {
    if (built_in != nullptr)
      plan.states = *built_in;
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
  if (const SourceStates* states = BuiltInPlan(base)) {
    plan.states = *states;
  } else {
    problems.Add(field + ".base", "expected control, algo, impl or algo+impl, got " + Quoted(base) +
                                      DidYouMean(base, kBuiltIns));
  }
  ApplyRules(request.rules, field, plan.states, problems);
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
