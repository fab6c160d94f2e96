#include "coordinator/report/interim.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/sequential.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::report {
namespace {

constexpr size_t kLeastResults = 3;  // Of a pilot: the jackknife of a churn needs as many.

// Of which `until` decides; null: it does not, or there is none of that name.
const PlanInput* PlanWithPilot(const SweepInput& sweep, const std::string& name) {
  const auto found = std::ranges::find(sweep.plans, name, &PlanInput::name);
  return found == sweep.plans.end() || found->pilot == 0 ? nullptr : &*found;
}

void SetAlwaysValid(const Gathered& gathered, const CellFacts& cell, Cohort& cohort) {
  analysis::SetAlwaysValidInterval(cohort.accuracy,
                                   ValuesOf(gathered, cell.done, &MemberFacts::accuracy));
  const Answers answers = AnswersOf(gathered, cell.done);
  if (!answers.matrix) return;
  analysis::SetAlwaysValidInterval(cohort.churn,
                                   analysis::PseudoValues(analysis::ChurnSums(*answers.matrix)));
}

void SetStein(const Gathered& gathered, const CellFacts& cell, Cohort& cohort) {
  const SweepInput& sweep = gathered.input->sweep;
  const PlanInput* plan = PlanWithPilot(sweep, cell.input->plan);
  if (plan == nullptr) return;
  const PilotSpread pilot = SpreadOfPilot(gathered, cell, sweep.until->figure, plan->pilot);
  Estimate& figure = sweep.until->figure == "top1" ? cohort.accuracy : cohort.churn;
  // Without an interval every value was equal: nothing is known of how they spread.
  if (figure.low) analysis::SetSteinInterval(figure, pilot.spread, pilot.n);
}

}  // namespace

bool IsUndecided(const SweepInput& sweep, const std::string& plan) {
  return sweep.until && !sweep.until->settled && PlanWithPilot(sweep, plan) != nullptr;
}

PilotSpread SpreadOfPilot(const Gathered& gathered, const CellFacts& cell,
                          const std::string& figure, uint32_t pilot) {
  std::vector<size_t> members;
  std::ranges::copy_if(cell.done, std::back_inserter(members),
                       [&](size_t m) { return gathered.members[m].input->replicate < pilot; });
  std::vector<double> values;
  if (figure == "top1") {
    values = ValuesOf(gathered, members, &MemberFacts::accuracy);
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
  } else if (const Answers answers = AnswersOf(gathered, members); answers.matrix) {
    values = analysis::PseudoValues(analysis::ChurnSums(*answers.matrix));
  }
  return {values.size() < kLeastResults ? std::nan("") : analysis::SdOf(values),
          static_cast<int64_t>(values.size())};
}

void SetIntervals(const Gathered& gathered, const CellFacts& cell, Cohort& cohort) {
  if (gathered.interim) {
    SetAlwaysValid(gathered, cell, cohort);
  } else if (gathered.input->sweep.until) {
    SetStein(gathered, cell, cohort);
  } else {
    return;
  }
  analysis::CutInterval(cohort.accuracy, 0, 1);
  analysis::CutInterval(cohort.churn, 0, 1);
}

void WithholdTests(Study& study) {
  const auto withhold = [](ShiftClaim& claim) {
    claim.p = claim.p_holm = std::nullopt;
    claim.shown = false;
    claim.note = kTestedOnce;
  };
  for (auto* tests : {&study.hardware_tests, &study.stack_tests}) {
    for (SettingTest& test : *tests) withhold(test.shift);
  }
  for (auto* comparisons : {&study.hardware, &study.stacks}) {
    for (Comparison& comparison : *comparisons) withhold(comparison.shift);
  }
  for (Contrast& contrast : study.contrasts) {
    for (FigureContrast& figure : contrast.figures) {
      if (figure.p) figure.estimate.note = kTestedOnce;
      figure.p.reset();
    }
  }
}

}  // namespace noisefloor::report
