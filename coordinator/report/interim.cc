#include "coordinator/report/interim.h"

#include <algorithm>
#include <vector>

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/sequential.h"

namespace noisefloor::report {
namespace {

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
  const auto plan = std::ranges::find(sweep.plans, cell.input->plan, &PlanInput::name);
  if (plan == sweep.plans.end() || plan->pilot == 0) return;
  const PilotSpread pilot = SpreadOfPilot(gathered, cell, sweep.until->figure, plan->pilot);
  Estimate& figure = sweep.until->figure == "top1" ? cohort.accuracy : cohort.churn;
  // Without an interval every value was equal: nothing is known of how they spread.
  if (figure.low) analysis::SetSteinInterval(figure, pilot.spread, pilot.n);
}

}  // namespace

bool IsUndecided(const SweepInput& sweep, const std::string& plan) {
  if (!sweep.until || sweep.until->settled) return false;
  const auto found = std::ranges::find(sweep.plans, plan, &PlanInput::name);
  return found != sweep.plans.end() && found->pilot > 0;
}

bool IsInterim(const StudyInput& input) {
  if (input.sweep.until && !input.sweep.until->settled) return true;
  return std::ranges::any_of(input.members, [](const MemberInput& member) {
    return member.state == MemberState::kWaiting || member.state == MemberState::kLeased;
  });
}

void SetIntervals(const Gathered& gathered, const CellFacts& cell, Cohort& cohort) {
  if (IsInterim(*gathered.input)) {
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
