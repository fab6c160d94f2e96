#include "coordinator/report/cohort.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/flips.h"
#include "coordinator/analysis/per_class.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/distances.h"
#include "coordinator/report/interim.h"
#include "coordinator/report/targets.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Absent;

void FillFacts(const Gathered& gathered, const CellFacts& cell, Cohort& cohort) {
  cohort.cell = cell.input->index;
  cohort.label = cell.label;
  cohort.axes_label = cell.axes_label;
  cohort.axes = cell.input->axes;
  cohort.plan = cell.input->plan;
  for (const auto& [source, state] : cell.input->sources) {
    cohort.sources.emplace(Name(source), Name(state));
  }
  cohort.hardware = cell.input->hardware;
  cohort.stack = cell.input->stack;
  cohort.block = cell.input->block;
  cohort.counts = CountMembers(gathered, cell.members);
  cohort.under_trained = cell.under_trained;
  cohort.all_fixed = cell.all_fixed;
  cohort.acting = NamesOf(cell.free_seeded);
  for (const NoiseSource source : cell.free_physical) cohort.acting.emplace_back(Name(source));
  cohort.held = NamesOf(cell.held);
  cohort.shared = NamesOf(cell.shared);
  cohort.idle = NamesOf(cell.idle);
  cohort.stack_fingerprint = cell.input->stack_fingerprint;
  std::set<std::string> builds;
  for (const size_t m : cell.done) builds.insert(BuildOf(*gathered.members[m].input, *cell.input));
  cohort.trainer_build = builds.empty()
                             ? cell.input->trainer_build
                             : Listed(std::vector<std::string>(builds.begin(), builds.end()));
}

void FillGroups(const Answers& answers, const EvaluationSet& evaluation, Cohort& cohort) {
  for (const ExampleGroups& column : evaluation.groups) {
    const analysis::Groups groups = {column.of_example, static_cast<int32_t>(column.values.size())};
    std::vector<analysis::ClassNoise> noise =
        analysis::NoiseByGroup(*answers.matrix, evaluation.labels, groups);
    std::vector<analysis::ErrorRates> rates;
    if (evaluation.attributes > 0) {
      rates = analysis::ErrorRatesByGroup(*answers.matrix, evaluation.labels, groups);
    }
    for (size_t g = 0; g < noise.size(); ++g) {
      const Estimate no_decisions = Absent("fraction", 0, "answers are no decisions");
      cohort.per_group.push_back(
          {column.column, column.values[g], noise[g].examples / AnswersToOne(evaluation),
           std::move(noise[g].accuracy), std::move(noise[g].accuracy_sd), std::move(noise[g].ratio),
           std::move(noise[g].churn), rates.empty() ? no_decisions : rates[g].false_positive,
           rates.empty() ? no_decisions : rates[g].false_negative});
    }
  }
}

void FillAnswers(const Gathered& gathered, const CellFacts& cell, Cohort& cohort) {
  const Answers answers = AnswersOf(gathered, cell.done);
  if (!answers.matrix) {
    cohort.churn =
        Absent("fraction", 0,
               cell.done.empty() ? "no member is done" : "no member has usable predictions");
    cohort.any_disagreement = cohort.any_of_3 = cohort.flip_sd = cohort.churn;
    cohort.flip_share = cohort.churn_to_error = Absent("ratio", 0, cohort.churn.note);
    return;
  }
  cohort.churn = analysis::MeanChurn(*answers.matrix);
  cohort.any_disagreement = analysis::AnyDisagreement(*answers.matrix);
  if (gathered.sets[cell.set].input->attributes > 0 && cohort.any_disagreement.low) {
    cohort.any_disagreement.low = cohort.any_disagreement.high = std::nullopt;
    cohort.any_disagreement.note =
        "decisions of one example are no draws of their own: no interval";
  }
  cohort.any_of_3 = analysis::AnyOf(*answers.matrix, 3);
  const SetFacts& set = gathered.sets[cell.set];
  if (!set.labels_known) {
    cohort.flip_sd = Absent("fraction", 0, "the labels are not known");
    cohort.flip_share = cohort.churn_to_error = Absent("ratio", 0, cohort.flip_sd.note);
    return;
  }
  const EvaluationSet& evaluation = *set.input;
  analysis::FlipNoise flips =
      analysis::NoiseOfFlips(*answers.matrix, evaluation.labels, AnswersToOne(evaluation));
  cohort.flip_sd = std::move(flips.sd);
  cohort.flip_share = std::move(flips.share);
  cohort.churn_to_error = analysis::ChurnToError(*answers.matrix, evaluation.labels);
  for (analysis::ClassNoise& noise : analysis::NoiseByClass(*answers.matrix, evaluation.labels)) {
    cohort.per_class.push_back({noise.label, ClassName(evaluation, noise.label), noise.examples,
                                std::move(noise.accuracy), std::move(noise.accuracy_sd),
                                std::move(noise.range), std::move(noise.ratio),
                                std::move(noise.churn)});
  }
  FillGroups(answers, evaluation, cohort);
}

// Without predictions the trainers' own per-class accuracies still say something.
void FillClassesFromTrainers(const Gathered& gathered, const CellFacts& cell, Cohort& cohort) {
  const EvaluationSet& evaluation = *gathered.sets[cell.set].input;
  size_t classes = 0;
  for (const size_t m : cell.done) {
    classes = std::max(classes, gathered.members[m].input->per_class_accuracy.size());
  }
  for (size_t k = 0; k < classes; ++k) {
    std::vector<double> accuracy;
    for (const size_t m : cell.done) {
      const std::vector<double>& of_member = gathered.members[m].input->per_class_accuracy;
      if (k < of_member.size()) accuracy.push_back(of_member[k]);
    }
    ClassSensitivity& row = cohort.per_class.emplace_back();
    row.label = static_cast<int32_t>(k);
    row.name = ClassName(evaluation, row.label);
    row.examples = std::count(evaluation.labels.begin(), evaluation.labels.end(), row.label);
    row.accuracy = analysis::MeanEstimate(accuracy, "fraction");
    analysis::CutInterval(row.accuracy, 0, 1);
    row.accuracy_sd = analysis::SdEstimate(accuracy, "fraction");
    row.range = analysis::RangeEstimate(accuracy, "fraction");
    row.ratio = Absent("ratio", row.accuracy_sd.n, "an overall spread is absent or zero");
    if (row.accuracy_sd.value && cohort.accuracy_sd.value && *cohort.accuracy_sd.value > 0) {
      row.ratio.value = *row.accuracy_sd.value / *cohort.accuracy_sd.value;
      row.ratio.method = "spread of the class / overall spread, the same members";
      row.ratio.note.clear();
    }
    row.churn = Absent("fraction", 0, "no member has usable predictions");
  }
}

void FillDistances(const Gathered& gathered, const CellFacts& cell, Cohort& cohort) {
  std::vector<const WeightsView*> members;
  for (const size_t m : cell.done) members.push_back(&gathered.members[m].input->weights);
  auto [of_parameters, of_all] = DistancesOf(members, gathered.input->distances);
  cohort.l2_raw = std::move(of_parameters.raw);
  cohort.l2_normalised = std::move(of_parameters.normalised);
  cohort.cosine = std::move(of_parameters.cosine);
  cohort.l2_raw_all = std::move(of_all.raw);
  cohort.l2_normalised_all = std::move(of_all.normalised);
}

// Where members share draws a mean is one of the cell's only block, and what is told of pairs or of
// spread would be that of members who have more in common than two trainings have.
void TellOneDraw(Cohort& cohort) {
  const std::string why = SharingText(cohort.shared);
  const auto one_draw = [&](Estimate& estimate) {
    Estimate mean = Absent(estimate.unit, 1, why + ": no interval");
    mean.value = estimate.value;
    mean.method = "mean over members";
    if (!mean.value) mean.note = estimate.note;
    estimate = std::move(mean);
  };
  const auto withhold = [&](Estimate& estimate) { estimate = Absent(estimate.unit, 1, why); };
  for (Estimate* mean :
       {&cohort.accuracy, &cohort.top5, &cohort.loss, &cohort.seconds, &cohort.target_epochs}) {
    one_draw(*mean);
  }
  for (Estimate* spread :
       {&cohort.accuracy_sd, &cohort.flip_sd, &cohort.flip_share, &cohort.churn,
        &cohort.churn_to_error, &cohort.any_disagreement, &cohort.any_of_3, &cohort.l2_raw,
        &cohort.l2_normalised, &cohort.l2_raw_all, &cohort.l2_normalised_all, &cohort.cosine}) {
    withhold(*spread);
  }
  for (ClassSensitivity& row : cohort.per_class) {
    one_draw(row.accuracy);
    for (Estimate* spread : {&row.accuracy_sd, &row.range, &row.ratio, &row.churn}) {
      withhold(*spread);
    }
  }
  for (GroupSensitivity& row : cohort.per_group) {
    for (Estimate* mean : {&row.accuracy, &row.false_positive_rate, &row.false_negative_rate}) {
      one_draw(*mean);
    }
    for (Estimate* spread : {&row.accuracy_sd, &row.ratio, &row.churn}) withhold(*spread);
  }
}

std::vector<double> SecondsOf(const Gathered& gathered, const CellFacts& cell) {
  std::vector<double> seconds;
  for (const size_t m : cell.done) {
    // Zero is not a duration: it was not measured.
    const double value = gathered.members[m].input->seconds;
    if (value > 0) seconds.push_back(value);
  }
  return seconds;
}

}  // namespace

Cohort BuildCohort(const Gathered& gathered, const CellFacts& cell) {
  Cohort cohort;
  FillFacts(gathered, cell, cohort);
  const std::vector<double> accuracy = ValuesOf(gathered, cell.done, &MemberFacts::accuracy);
  cohort.accuracy = analysis::MeanEstimate(accuracy, "fraction");
  cohort.accuracy_sd = analysis::SdEstimate(accuracy, "fraction");
  cohort.top5 =
      analysis::MeanEstimate(ValuesOf(gathered, cell.done, &MemberFacts::top5), "fraction");
  analysis::CutInterval(cohort.accuracy, 0, 1);
  analysis::CutInterval(cohort.top5, 0, 1);
  cohort.loss = analysis::MeanEstimate(ValuesOf(gathered, cell.done, &MemberFacts::loss), "nats");
  FillAnswers(gathered, cell, cohort);
  if (cohort.per_class.empty()) FillClassesFromTrainers(gathered, cell, cohort);
  FillDistances(gathered, cell, cohort);
  cohort.seconds = analysis::MeanEstimate(SecondsOf(gathered, cell), "seconds");
  cohort.target_epochs = EpochsToTarget(gathered, cell);
  SetIntervals(gathered, cell, cohort);
  if (!cohort.shared.empty()) TellOneDraw(cohort);
  return cohort;
}

}  // namespace noisefloor::report
