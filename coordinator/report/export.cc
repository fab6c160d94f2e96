#include "coordinator/report/export.h"

#include <cmath>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/csv.h"
#include "coordinator/report/comparison_words.h"

namespace noisefloor::report {
namespace {

std::string Number(const std::optional<double>& value) {
  if (!value) return "";
  if (std::isnan(*value)) return "nan";  // Never "-nan".
  return fmt::format("{}", *value);
}

// Where a row belongs: the first four columns.
struct Place {
  std::string table;
  std::string cell;
  std::string label;
  std::string subject;
};

class Csv {
 public:
  Csv()
      : text_(
            "table,cell,label,subject,metric,value,low,high,n,unit,detectable,"
            "detectable_kind,note\n") {}
  void Add(const Place& place, const std::string& metric, const Estimate& e) {
    text_ += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", place.table, place.cell,
                         CsvField(place.label), CsvField(place.subject), CsvField(metric),
                         Number(e.value), Number(e.low), Number(e.high), e.n, CsvField(e.unit),
                         Number(e.detectable), e.detectable_kind, CsvField(e.note));
  }
  // A plain number, without an interval.
  void Add(const Place& place, const std::string& metric, std::optional<double> value, int64_t n) {
    Estimate plain;
    plain.value = value;
    plain.n = n;
    Add(place, metric, plain);
  }
  void AddText(const Place& place, const std::string& metric, const std::string& text) {
    Estimate words;
    words.note = text;
    Add(place, metric, words);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void AddCohort(const Cohort& c, Csv& csv) {
  const Place place{"cohort", std::to_string(c.cell), c.label, ""};
  csv.Add(place, "accuracy", c.accuracy);
  csv.Add(place, "accuracy_sd", c.accuracy_sd);
  csv.Add(place, "flip_sd", c.flip_sd);
  csv.Add(place, "flip_share", c.flip_share);
  csv.Add(place, "top5", c.top5);
  csv.Add(place, "loss", c.loss);
  csv.Add(place, "churn", c.churn);
  csv.Add(place, "churn_to_error", c.churn_to_error);
  csv.Add(place, "any_disagreement", c.any_disagreement);
  csv.Add(place, "any_of_3", c.any_of_3);
  csv.Add(place, "l2_raw", c.l2_raw);
  csv.Add(place, "l2_normalised", c.l2_normalised);
  csv.Add(place, "l2_raw_all", c.l2_raw_all);
  csv.Add(place, "l2_normalised_all", c.l2_normalised_all);
  csv.Add(place, "cosine", c.cosine);
  csv.Add(place, "seconds", c.seconds);
  csv.Add(place, "target_epochs", c.target_epochs);
  csv.Add(place, "members_done", static_cast<double>(c.counts.done), c.counts.total);
  csv.Add(place, "members_diverged", static_cast<double>(c.counts.diverged), c.counts.total);
  csv.Add(place, "members_failed", static_cast<double>(c.counts.failed), c.counts.total);
  for (const ClassSensitivity& row : c.per_class) {
    const Place of_class{"class", place.cell, c.label, row.name};
    csv.Add(of_class, "accuracy", row.accuracy);
    csv.Add(of_class, "accuracy_sd", row.accuracy_sd);
    csv.Add(of_class, "range", row.range);
    csv.Add(of_class, "ratio", row.ratio);
    csv.Add(of_class, "churn", row.churn);
  }
  for (const GroupSensitivity& row : c.per_group) {
    const Place of_group{"group", place.cell, c.label, row.column + "=" + row.name};
    csv.Add(of_group, "accuracy", row.accuracy);
    csv.Add(of_group, "accuracy_sd", row.accuracy_sd);
    csv.Add(of_group, "ratio", row.ratio);
    csv.Add(of_group, "churn", row.churn);
    csv.Add(of_group, "false_positive_rate", row.false_positive_rate);
    csv.Add(of_group, "false_negative_rate", row.false_negative_rate);
  }
}

void AddEnsembles(const Ensembles& ensembles, Csv& csv) {
  for (const CohortEnsembles& c : ensembles.cohorts) {
    for (const analysis::EnsembleScores& size : c.sizes) {
      const Place place{"ensemble", std::to_string(c.cell), c.label, std::to_string(size.size)};
      csv.Add(place, "accuracy", size.accuracy);
      csv.Add(place, "log_loss", size.log_loss);
      csv.Add(place, "brier", size.brier);
      csv.Add(place, "calibration", size.calibration);
    }
  }
  for (const MixingGain& mixing : ensembles.mixing) {
    csv.Add({"mixing", "", mixing.label, ""}, "gain", mixing.gain);
  }
}

void AddBlocks(const BlockSummary& b, Csv& csv) {
  const Place place{"blocks", "", b.label, ""};
  csv.Add(place, "accuracy", b.accuracy);
  csv.Add(place, "accuracy_sd", b.accuracy_sd);
  csv.Add(place, "churn", b.churn);
}

void AddShift(const Place& place, const ShiftClaim& shift, Csv& csv) {
  csv.Add(place, "shift_p", shift.p, shift.replicates);
  csv.Add(place, "shift_p_holm", shift.p_holm, shift.replicates);
  csv.Add(place, "shift_least_p", shift.least_p, shift.replicates);
}

void AddTest(const SettingTest& test, Csv& csv) {
  const Place place{std::string(Word(test.factor)) + "_test", "", test.setting, ""};
  AddShift(place, test.shift, csv);
  csv.AddText(place, "finding", test.text);
}

void AddComparison(const Comparison& h, Csv& csv) {
  const bool of_hardware = h.factor == Factor::kHardware;
  const Place place{std::string(Word(h.factor)), std::to_string(h.cells_b.front()), h.label,
                    fmt::format("{} against {}", of_hardware ? h.hardware_a : h.stack_a,
                                of_hardware ? h.hardware_b : h.stack_b)};
  csv.Add(place, "accuracy_difference", h.accuracy_difference);
  csv.Add(place, "churn_paired", h.churn_paired);
  csv.Add(place, "churn_unpaired", h.churn_unpaired);
  csv.Add(place, "churn_excess", h.churn_excess);
  csv.Add(place, "churn_within_a", h.churn_within_a);
  csv.Add(place, "churn_within_b", h.churn_within_b);
  csv.Add(place, "accuracy_correlation", h.accuracy_correlation);
  csv.Add(place, "logits_correlation_paired", h.logits_correlation_paired);
  csv.Add(place, "logits_correlation_unpaired", h.logits_correlation_unpaired);
  csv.Add(place, "identical_pairs", static_cast<double>(h.identical_pairs), h.pairs);
  csv.Add(place, "draws", static_cast<double>(h.draws), h.pairs);
  AddShift(place, h.shift, csv);
  csv.AddText(place, "finding", h.text);
}

void AddContrast(const Contrast& contrast, Csv& csv) {
  const Place place{"contrast",
                    contrast.cells_a.empty() ? "" : std::to_string(contrast.cells_a.front()),
                    contrast.plan.empty() ? contrast.over : contrast.plan + ", " + contrast.over,
                    fmt::format("{} {} against {}", contrast.subject, contrast.b, contrast.a)};
  for (const FigureContrast& figure : contrast.figures) {
    csv.Add(place, figure.figure, figure.estimate);
    csv.Add(place, figure.figure + "_p", figure.p, figure.estimate.n);
    csv.Add(place, figure.figure + "_p_holm", figure.p_holm, figure.estimate.n);
  }
  csv.AddText(place, "finding", contrast.text);
}

void AddDecomposition(const SourceDecomposition& of, Csv& csv) {
  csv.Add({"sources", "", of.setting, ""}, of.figure + "_whole", of.whole);
  for (const SourceShare& share : of.shares) {
    csv.Add({"sources", "", of.setting, fmt::format("{}", fmt::join(share.sources, " x "))},
            of.figure + "_" + share.kind, share.share);
  }
  csv.AddText({"sources", "", of.setting, ""}, of.figure + "_finding", of.text);
}

void AddChecks(const Study& study, Csv& csv) {
  for (const ControlCheck& check : study.controls) {
    csv.AddText({"control", std::to_string(check.cell), check.label, check.verdict}, "verdict",
                check.text);
    csv.Add({"control", std::to_string(check.cell), check.label, check.verdict}, "upper_bound",
            check.upper_bound, check.members + check.duplicates);
  }
  for (const PhysicalCheck& check : study.physical) {
    const Place place{"physical", std::to_string(check.cell), check.label, ""};
    csv.Add(place, "different_results", static_cast<double>(check.different_results), check.runs);
    csv.Add(place, "upper_bound", check.upper_bound, check.runs);
    csv.AddText(place, "finding", check.text);
  }
}

void AddCurve(const Curve& curve, Csv& csv) {
  for (size_t k = 0; k < curve.steps.size(); ++k) {
    const Place place{"curve", std::to_string(curve.cell), "",
                      fmt::format("step {}", curve.steps[k])};
    csv.Add(place, curve.metric + "_mean", curve.mean[k], curve.n[k]);
    csv.Add(place, curve.metric + "_sd", curve.sd[k], curve.n[k]);
  }
}

void AddTrajectory(const Trajectory& trajectory, Csv& csv) {
  const Place place{
      trajectory.factor ? fmt::format("trajectory_{}", Word(*trajectory.factor)) : "trajectory",
      std::to_string(trajectory.cells.back()), trajectory.label, ""};
  for (size_t k = 0; k < trajectory.steps.size(); ++k) {
    Place at = place;
    at.subject = fmt::format("step {}", trajectory.steps[k]);
    csv.Add(at, "churn", trajectory.churn[k]);
    csv.Add(at, "l2_normalised", trajectory.l2_normalised[k]);
  }
}

void AddPairs(const HeatMap& map, Csv& csv) {
  for (size_t i = 0; i < map.members.size(); ++i) {
    for (size_t j = i + 1; j < map.members.size(); ++j) {
      csv.Add({"pair", "", "", map.members[i] + " " + map.members[j]}, "churn", map.values[i][j],
              2);
    }
  }
}

void AddExamples(const DivergentExamples& divergent, Csv& csv) {
  for (const DivergentExample& example : divergent.examples) {
    const Place place{"example", "", example.label_name, std::to_string(example.example)};
    csv.Add(place, "disagreement", example.disagreement);
    csv.Add(place, "accuracy", example.accuracy);
  }
  if (divergent.examples.empty()) return;
  const Place all{"example", "", "", "all"};
  csv.Add(all, "disagreement", divergent.subset_disagreement);
  csv.Add(all, "accuracy", divergent.subset_accuracy);
  for (const DivergentGroup& group : divergent.groups) {
    const Place place{"divergent_group", "", group.column, group.name};
    csv.Add(place, "ratio", group.ratio);
    if (group.p_holm) csv.Add(place, "p_holm", group.p_holm, group.ratio.n);
  }
}

void AddSensitive(const SensitiveExamples& sensitive, Csv& csv) {
  for (const SensitiveExample& example : sensitive.most) {
    const Place place{"flipping_example", "", sensitive.label, std::to_string(example.example)};
    csv.Add(place, "flip_rate", example.rate);
    if (example.p_fdr) csv.Add(place, "p_fdr", example.p_fdr, sensitive.draws);
  }
}

void AddMember(const MemberRow& member, Csv& csv) {
  const Place place{"member", std::to_string(member.cell), member.state, member.id};
  for (const auto& [name, value] : member.final_metrics) csv.Add(place, name, value, 1);
  csv.Add(place, "seconds", member.seconds, 1);
  csv.Add(place, "attempts", member.attempts, 1);
}

}  // namespace

std::string StudyToCsv(const Study& study) {
  Csv csv;
  for (const Cohort& cohort : study.cohorts) AddCohort(cohort, csv);
  for (const BlockSummary& summary : study.blocks) AddBlocks(summary, csv);
  AddEnsembles(study.ensembles, csv);
  for (const auto* tests : {&study.hardware_tests, &study.stack_tests}) {
    for (const SettingTest& test : *tests) AddTest(test, csv);
  }
  for (const auto* comparisons : {&study.hardware, &study.stacks}) {
    for (const Comparison& comparison : *comparisons) AddComparison(comparison, csv);
  }
  for (const Contrast& contrast : study.contrasts) AddContrast(contrast, csv);
  for (const SourceDecomposition& of : study.decompositions) AddDecomposition(of, csv);
  AddChecks(study, csv);
  for (const Curve& curve : study.curves) AddCurve(curve, csv);
  for (const Trajectory& trajectory : study.trajectories) AddTrajectory(trajectory, csv);
  AddPairs(study.heat_map, csv);
  AddExamples(study.divergent, csv);
  for (const SensitiveExamples& sensitive : study.sensitive) AddSensitive(sensitive, csv);
  for (const MemberRow& member : study.members) AddMember(member, csv);
  for (const Warning& warning : study.warnings) {
    csv.AddText({"warning", "", warning.subject, warning.severity}, "warning", warning.text);
  }
  return csv.text();
}

}  // namespace noisefloor::report
