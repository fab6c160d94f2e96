#include "coordinator/report/study.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "fmt/format.h"

#include "coordinator/report/blocks.h"
#include "coordinator/report/checks.h"
#include "coordinator/report/cohort.h"
#include "coordinator/report/comparison.h"
#include "coordinator/report/curves.h"
#include "coordinator/report/environment.h"
#include "coordinator/report/examples.h"
#include "coordinator/report/gather.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

MemberRow RowOf(const MemberInput& member) {
  MemberRow row;
  row.id = member.id;
  row.cell = member.cell;
  row.replicate = member.replicate;
  row.state = Name(member.state);
  row.attempts = member.attempts;
  row.seconds = member.seconds;
  row.unit = member.unit;
  for (const auto& [source, lane] : member.lanes) {
    row.lanes.emplace(Name(source), fmt::format("{}.{}", lane.block, lane.number));
  }
  row.hashes = member.hashes;
  row.final_metrics = member.final_metrics;
  row.warnings = member.warnings;
  return row;
}

EvaluationFacts FactsOf(const Gathered& gathered) {
  const EvaluationSet& evaluation = gathered.input->evaluation;
  EvaluationFacts facts{evaluation.data_set, evaluation.identity,
                        static_cast<int64_t>(evaluation.labels.size()), evaluation.classes,
                        evaluation.class_names};
  if (facts.examples == 0 && gathered.answers) facts.examples = gathered.answers->examples();
  return facts;
}

// Cohorts that say something about noise: some source is free and there is a churn.
std::vector<const Cohort*> NoisyCohorts(const Study& study) {
  std::vector<const Cohort*> noisy;
  for (const Cohort& cohort : study.cohorts) {
    if (!cohort.all_fixed && !cohort.under_trained && cohort.churn.value) noisy.push_back(&cohort);
  }
  return noisy;
}

void SayControls(const Study& study, std::vector<std::string>& headlines) {
  if (study.controls.empty()) return;
  const auto identical = std::count_if(study.controls.begin(), study.controls.end(),
                                       [](const auto& c) { return c.verdict == "identical"; });
  headlines.push_back(
      fmt::format("{} of {} control cohorts are bit-identical.", identical, study.controls.size()));
}

// One sentence for each plan: the range of its churn and spread over the cells.
void SayPlans(const Study& study, std::vector<std::string>& headlines) {
  std::map<std::string, std::vector<const Cohort*>> by_plan;
  for (const Cohort* cohort : NoisyCohorts(study)) by_plan[cohort->plan].push_back(cohort);
  for (const auto& [plan, cohorts] : by_plan) {
    const auto less = [](const Cohort* a, const Cohort* b) {
      return *a->churn.value < *b->churn.value;
    };
    const auto [least, most] = std::minmax_element(cohorts.begin(), cohorts.end(), less);
    const Cohort& quiet = **least;
    const Cohort& loud = **most;
    if (*loud.churn.value == 0) {
      headlines.push_back(fmt::format("{}: no two members differ in an answer.", plan));
      continue;
    }
    std::string text = fmt::format("{}: two trainings disagree on {} of the examples (n = {}, {})",
                                   plan, WithInterval(loud.churn), loud.churn.n, loud.label);
    if (cohorts.size() > 1) {
      text += fmt::format(", the most of {} cells; the least is {}", cohorts.size(),
                          Value(quiet.churn));
    }
    if (loud.accuracy_sd.value) {
      text += fmt::format("; accuracy {} with a standard deviation of {}", Value(loud.accuracy),
                          Value(loud.accuracy_sd));
    }
    headlines.push_back(text + ".");
  }
}

const HardwareComparison* Largest(const std::vector<const HardwareComparison*>& comparisons,
                                  Estimate HardwareComparison::*figure) {
  const HardwareComparison* largest = nullptr;
  for (const HardwareComparison* comparison : comparisons) {
    if (!(comparison->*figure).value) continue;
    if (largest == nullptr || *(comparison->*figure).value > *(largest->*figure).value) {
      largest = comparison;
    }
  }
  return largest;
}

// Where all else is fixed: how much changes. Where something is free: does hardware add to it?
void SayHardware(const Study& study, std::vector<std::string>& headlines) {
  std::map<uint32_t, const Cohort*> cohorts;
  for (const Cohort& cohort : study.cohorts) cohorts[cohort.cell] = &cohort;
  std::vector<const HardwareComparison*> fixed;
  std::vector<const HardwareComparison*> free;
  for (const HardwareComparison& comparison : study.hardware) {
    const Cohort& a = *cohorts.at(comparison.cell_a);
    const Cohort& b = *cohorts.at(comparison.cell_b);
    if (a.under_trained || b.under_trained) continue;
    (a.all_fixed && b.all_fixed ? fixed : free).push_back(&comparison);
  }
  for (const HardwareComparison* said : {Largest(fixed, &HardwareComparison::churn_paired),
                                         Largest(free, &HardwareComparison::churn_excess)}) {
    if (said != nullptr) headlines.push_back(said->label + ". " + said->text);
  }
}

void SayClasses(const Study& study, std::vector<std::string>& headlines) {
  const ClassSensitivity* worst = nullptr;
  const Cohort* of = nullptr;
  for (const Cohort* cohort : NoisyCohorts(study)) {
    for (const ClassSensitivity& row : cohort->per_class) {
      if (!row.churn.value || *row.churn.value == 0) continue;
      if (worst != nullptr && *row.churn.value <= *worst->churn.value) continue;
      worst = &row;
      of = cohort;
    }
  }
  if (worst == nullptr) return;
  headlines.push_back(fmt::format("{} pays most: churn {} against {} over all classes ({}; {}).",
                                  worst->name, WithInterval(worst->churn), Value(of->churn),
                                  Counted(worst->examples, "example"), of->label));
}

}  // namespace

std::string_view Name(MemberState state) {
  switch (state) {
    case MemberState::kWaiting: return "waiting";
    case MemberState::kLeased: return "leased";
    case MemberState::kDone: return "done";
    case MemberState::kDiverged: return "diverged";
    case MemberState::kFailed: return "failed";
    case MemberState::kCancelled: return "cancelled";
  }
  return "corrupt";
}

Study BuildStudy(const StudyInput& input) {
  const Gathered gathered = Gather(input);
  Study study;
  study.title = input.sweep.name + " (" + input.sweep.id + ")";
  study.sweep = input.sweep;
  std::vector<size_t> everyone(gathered.members.size());
  std::iota(everyone.begin(), everyone.end(), size_t{0});
  study.counts = CountMembers(gathered, everyone);
  study.evaluation = FactsOf(gathered);
  for (const CellFacts& cell : gathered.cells) {
    study.cohorts.push_back(BuildCohort(gathered, cell));
  }
  study.blocks = BuildBlocks(study.cohorts);
  study.controls = BuildControls(gathered);
  study.physical = BuildPhysical(gathered);
  study.hardware = BuildComparisons(gathered);
  study.curves = BuildCurves(gathered);
  study.heat_map = BuildHeatMap(gathered);
  study.divergent = BuildExamples(gathered);
  study.environment = BuildEnvironment(gathered);
  for (const MemberInput& member : input.members) study.members.push_back(RowOf(member));
  AddWarnings(gathered, study);
  SayControls(study, study.headlines);
  SayPlans(study, study.headlines);
  SayHardware(study, study.headlines);
  SayClasses(study, study.headlines);
  return study;
}

}  // namespace noisefloor::report
