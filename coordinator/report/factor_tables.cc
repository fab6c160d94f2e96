#include "coordinator/report/factor_tables.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"

#include "coordinator/report/comparison_words.h"
#include "coordinator/report/decompositions.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

// What all hardware names begin with, up to a "-": "cpu-intel-". The tables leave it out.
std::string CommonBeginning(const std::vector<Comparison>& comparisons) {
  if (comparisons.empty()) return "";
  std::string common = comparisons[0].hardware_a;
  for (const Comparison& h : comparisons) {
    for (const std::string& name : {h.hardware_a, h.hardware_b}) {
      const auto end = std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first;
      common.erase(end, common.end());
    }
  }
  return common.substr(0, common.rfind('-') + 1);
}

// "0.004, 0.012"
std::string Shift(const ShiftClaim& shift) {
  if (!shift.p) return "-";
  return fmt::format("{}, {}", PValue(*shift.p), shift.p_holm ? PValue(*shift.p_holm) : "-");
}

// "algo: avx2 / sse", "algo: small_cnn_torch / small_cnn_jax"
std::string SidesOf(const Comparison& h, size_t cut) {
  if (h.factor == Factor::kStack) {
    return fmt::format("{}: {} / {}", h.setting, h.stack_a, h.stack_b);
  }
  return fmt::format("{}: {} / {}", h.setting, h.hardware_a.substr(cut), h.hardware_b.substr(cut));
}

void AddComparisons(const std::string& heading, const std::vector<Comparison>& comparisons,
                    const std::vector<SettingTest>& tests, size_t cut, TextPage& page) {
  TextRows rows;
  for (const Comparison& h : comparisons) {
    if (h.pairs == 0) continue;  // There is a warning of it.
    rows.push_back({SidesOf(h, cut), std::to_string(h.draws), WithInterval(h.accuracy_difference),
                    WithInterval(h.churn_paired),
                    fmt::format("{} / {}", Value(h.churn_within_a), Value(h.churn_within_b)),
                    WithInterval(h.churn_excess), Shift(h.shift), Value(h.accuracy_correlation),
                    fmt::format("{} / {}", Value(h.logits_correlation_paired),
                                Value(h.logits_correlation_unpaired))});
  }
  if (rows.empty()) return;
  page.Heading(heading);
  page.Table({"A / B", "draws", "top-1 difference", "churn of pairs", "churn within A / B",
              "shift of the mean", "p, Holm", "r top-1", "r logits, pairs / others"},
             rows);
  page.Line(
      "draws: independent draws of the seeded sources, the n of each row, never copies of one; "
      "shift of the mean: churn of unequal replicates across, less the mean inside A and B; p: "
      "exact test of no shift, and its p after Holm over the comparisons of the study, not below "
      "that of all sides at once, which is corrected over the tests of the study.");
  for (const SettingTest& test : tests) page.Line("- " + test.text);
}

// "2.1 % [1.0, 3.2] (0.003)": the p after Holm; "*": it may be said.
std::string Cell(const FigureContrast& figure) {
  std::string text = WithInterval(figure.estimate);
  if (figure.p_holm) text += fmt::format(" ({})", PValue(*figure.p_holm));
  return figure.shown ? text + " *" : text;
}

}  // namespace

void AddHardware(const Study& study, TextPage& page) {
  const std::string common = CommonBeginning(study.hardware);
  AddComparisons("Hardware: the same replicates on two classes, B - A" +
                     (common.empty() ? "" : " (" + common + "...)"),
                 study.hardware, study.hardware_tests, common.size(), page);
  AddComparisons("Stack: the same replicates with two trainers, B - A", study.stacks,
                 study.stack_tests, 0, page);
}

void AddContrasts(const Study& study, TextPage& page) {
  if (study.contrasts.empty()) return;
  page.Heading("Contrasts: B - A, draw by draw (p after Holm over the study)");
  TextRows rows;
  for (const Contrast& contrast : study.contrasts) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(fmt::format("{}: {} / {}{}", contrast.subject, contrast.a, contrast.b,
                              contrast.under_trained   ? " †"
                              : contrast.stacks_differ ? " (stacks differ)"
                                                       : ""));
    row.push_back(contrast.plan.empty() ? "-" : contrast.plan);
    row.push_back(contrast.over);
    row.push_back(std::to_string(contrast.draws));
    for (const FigureContrast& figure : contrast.figures) row.push_back(Cell(figure));
  }
  page.Table(
      {"A / B", "plan", "over", "draws", "churn", "top-1", "SD of top-1, B / A", "B above A"},
      rows);
  page.Line(
      "*: shown, p <= 0.05 after a weighted Holm over every test of the study (two thirds of the "
      "level are for "
      "shifts of the mean answer, where there are any); the ratio of the SDs is not "
      "tested; B above A: how likely a draw of B (the mean over the "
      "settings) has more top-1 than one of A; "
      "draws: those that both sides have, or the fewer of two sides whose draws have nothing in "
      "common; what is not shown may be there, within its interval.");
  if (std::ranges::any_of(study.contrasts, &Contrast::under_trained)) {
    page.Line("† a side is under-trained: not tested.");
  }
}

void AddDecompositions(const Study& study, TextPage& page) {
  if (study.decompositions.empty()) return;
  page.Heading("Where it comes from: shares of each source in the noise");
  TextRows rows;
  for (const SourceDecomposition& of : study.decompositions) {
    if (of.shares.empty()) continue;  // The line below says why.
    for (const std::string& factor : of.factors) {
      const auto share = [&](std::string_view kind) {
        const SourceShare* found = FindShare(of, kind, factor);
        return found == nullptr ? "-" : WithInterval(found->share);
      };
      rows.push_back({fmt::format("{}{}", of.setting, of.under_trained ? " *" : ""),
                      DecomposedName(of.figure), factor, share("first_order"), share("total")});
    }
  }
  page.Table({"setting", "of", "source", "alone", "with all it acts through"}, rows);
  page.Line(
      "alone: what the source does by itself, and what goes when it is held and the others are "
      "not; with all it acts through: what it makes when all others are held; -: not identified by "
      "what was trained. Shares are estimates and may lie below 0.");
  // Of the other figures the table says it, but for why there is nothing.
  for (const SourceDecomposition& of : study.decompositions) {
    if (of.figure == "churn" || of.shares.empty()) page.Line("- " + of.text);
  }
}

// One member, and the largest ensemble: what is between them stands in the other forms.
void AddEnsembles(const Study& study, TextPage& page) {
  TextRows rows;
  for (const CohortEnsembles& of : study.ensembles.cohorts) {
    for (size_t k = 0; k < of.sizes.size(); ++k) {
      if (k > 0 && k + 1 < of.sizes.size()) continue;
      const analysis::EnsembleScores& scores = of.sizes[k];
      rows.push_back({fmt::format("c{}{}", of.cell, of.under_trained ? " *" : ""),
                      std::to_string(scores.size), std::to_string(of.members),
                      WithInterval(scores.accuracy), WithInterval(scores.log_loss),
                      WithInterval(scores.brier), WithInterval(scores.calibration)});
    }
  }
  if (rows.empty()) return;
  page.Heading("Ensembles: the mean of the probabilities of k members");
  page.Table({"cell", "k", "n", "top-1", "log loss", "Brier", "calibration error"}, rows);
  page.Line(
      "n: members of which ensembles are made; Brier: squared distance to the right corner; "
      "calibration error: root mean square of confidence less accuracy, 15 bins, without what bins "
      "of so few examples show by chance.");
  for (const MixingGain& mixing : study.ensembles.mixing) {
    if (!mixing.gain.value || mixing.under_trained) continue;
    page.Line(
        fmt::format("- {}: a large ensemble, half from each side, has a Brier score {} below the "
                    "mean of the two that are all from one (n = {}).",
                    mixing.label, WithInterval(mixing.gain), mixing.gain.n));
  }
}

// Of each at most five evaluations, from the first to the last.
void AddTrajectories(const Study& study, TextPage& page) {
  TextRows rows;
  bool across = false;
  bool has_churn = false;
  bool has_distance = false;
  for (const Trajectory& of : study.trajectories) {
    across = across || of.factor.has_value();
    const std::string name = of.factor ? of.label : fmt::format("c{} {}", of.cells[0], of.label);
    const size_t last = of.steps.size() - 1;
    for (size_t k = 0; k <= last; ++k) {
      const Estimate& churn = of.churn[k];
      const Estimate& distance = of.l2_normalised[k];
      has_churn = has_churn || churn.value.has_value();
      has_distance = has_distance || distance.value.has_value();
      const auto is_at = [&](size_t quarter) { return k == last * quarter / 4; };
      if (!is_at(0) && !is_at(1) && !is_at(2) && !is_at(3) && !is_at(4)) continue;
      rows.push_back({name, fmt::format("{:g}", of.epochs[k]), WithInterval(churn),
                      std::to_string(churn.n), WithInterval(distance), std::to_string(distance.n)});
    }
  }
  if (rows.empty()) return;
  std::vector<std::string> header = {"cell", "epoch", "churn", "n", "L2, unit", "n"};
  const auto cut = [&](std::vector<std::string>& row) {
    if (!has_distance) row.resize(4);
    if (!has_churn) row.erase(row.begin() + 2, row.begin() + 4);
  };
  cut(header);
  std::ranges::for_each(rows, cut);
  page.Heading("How trainings part, from the first evaluation to the last");
  page.Table(header, rows);
  std::string words = "Of two members of a cell";
  if (across) words += ", or, of two sides, of the same draws on both";
  if (has_distance) words += "; L2, unit: of weights, each member's scaled to length 1";
  page.Line(words + ".");
}

}  // namespace noisefloor::report
