#include "coordinator/report/study.h"

#include <cmath>
#include <numeric>

#include "fmt/format.h"

#include "coordinator/analysis/interval.h"
#include "coordinator/report/blocks.h"
#include "coordinator/report/checks.h"
#include "coordinator/report/claims.h"
#include "coordinator/report/cohort.h"
#include "coordinator/report/comparison.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/contrasts.h"
#include "coordinator/report/curves.h"
#include "coordinator/report/decompositions.h"
#include "coordinator/report/ensembles.h"
#include "coordinator/report/environment.h"
#include "coordinator/report/examples.h"
#include "coordinator/report/failures.h"
#include "coordinator/report/fixed_draws.h"
#include "coordinator/report/gather.h"
#include "coordinator/report/guidelines.h"
#include "coordinator/report/headlines.h"
#include "coordinator/report/interim.h"
#include "coordinator/report/outliers.h"
#include "coordinator/report/sensitive.h"
#include "coordinator/report/shift_tests.h"
#include "coordinator/report/trajectories.h"
#include "coordinator/report/words.h"
#include "coordinator/report/worst_classes.h"

namespace noisefloor::report {
namespace {

MemberRow RowOf(const MemberFacts& facts) {
  const MemberInput& member = *facts.input;
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
  // Counted where nobody told it. What was told stays, whatever it is.
  if (std::isfinite(facts.accuracy)) row.final_metrics.emplace("top1", facts.accuracy);
  row.failure = FailureOf(member);
  return row;
}

EvaluationFacts FactsOf(const Gathered& gathered) {
  const SetFacts& set = gathered.sets.front();
  const EvaluationSet& evaluation = *set.input;
  EvaluationFacts facts{
      evaluation.data_set, evaluation.identity,    static_cast<int64_t>(evaluation.labels.size()),
      evaluation.classes,  evaluation.class_names, evaluation.attributes};
  if (facts.examples == 0 && set.answers) facts.examples = set.answers->examples();
  facts.examples /= AnswersToOne(evaluation);
  return facts;
}

// A cell without a class of its own runs on any.
template <typename Rows>
void NameHardware(Rows& rows) {
  for (auto& row : rows) row.hardware = HardwareName(row.hardware);
}

}  // namespace

Study BuildStudy(const StudyInput& input) {
  const Gathered gathered = Gather(input);
  Study study;
  study.title = input.sweep.name + " (" + input.sweep.id + ")";
  study.sweep = input.sweep;
  std::vector<size_t> everyone(gathered.members.size());
  std::iota(everyone.begin(), everyone.end(), size_t{0});
  study.counts = CountMembers(gathered, everyone);
  study.interim = gathered.interim;
  study.evaluation = FactsOf(gathered);
  for (const CellFacts& cell : gathered.cells) {
    study.cohorts.push_back(BuildCohort(gathered, cell));
  }
  NameHardware(study.cohorts);
  DropRatiosOfCopies(gathered, study.cohorts);
  study.blocks = BuildBlocks(gathered, study.cohorts);
  study.controls = BuildControls(gathered);
  study.physical = BuildPhysical(gathered);
  study.hardware = BuildComparisons(gathered, Factor::kHardware);
  study.stacks = BuildComparisons(gathered, Factor::kStack);
  study.contrasts = BuildContrasts(gathered);
  const double level = LevelOfShifts(study);
  std::vector<ShiftCandidate> of_several;
  study.hardware_tests =
      BuildShiftTests(gathered, Factor::kHardware, level, study.hardware, of_several);
  study.stack_tests = BuildShiftTests(gathered, Factor::kStack, level, study.stacks, of_several);
  NoteWhatCannotBeClaimed(of_several, analysis::kLevel);
  if (study.interim) WithholdTests(study);
  CorrectClaims(study);
  study.decompositions = BuildDecompositions(gathered);
  study.ensembles = BuildEnsembles(gathered, study);
  if (!study.interim) {  // These are claims.
    study.worst_classes = BuildWorstClasses(gathered);
    study.worst_groups = BuildWorstGroups(gathered);
    study.fixed_draws = BuildFixedDraws(gathered);
  }
  study.curves = BuildCurves(gathered);
  study.trajectories = BuildTrajectories(gathered, study.hardware, study.stacks, study.warnings);
  study.heat_map = BuildHeatMap(gathered);
  study.divergent = BuildExamples(gathered);
  for (const std::vector<Comparison>* of_factor : {&study.hardware, &study.stacks}) {
    for (SensitiveExamples& sensitive : BuildSensitive(gathered, *of_factor)) {
      study.sensitive.push_back(std::move(sensitive));
    }
  }
  study.environment = BuildEnvironment(gathered);
  NameHardware(study.environment);
  for (const MemberFacts& member : gathered.members) study.members.push_back(RowOf(member));
  AddWarnings(gathered, study);
  AddFailures(input, study.warnings);
  if (!study.interim) AddOutliers(gathered, study.warnings);
  AddCopies(gathered, study.warnings);
  study.headlines = BuildHeadlines(study);
  study.guidelines = BuildGuidelines(study);
  return study;
}

}  // namespace noisefloor::report
