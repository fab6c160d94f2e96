#include "coordinator/report/table.h"

#include <algorithm>

#include "fmt/format.h"

#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

class Page {
 public:
  explicit Page(Colour colour) : colour_(colour) {}
  void Heading(const std::string& text) {
    text_ += (text_.empty() ? "" : "\n") + Painted(text, "1") + "\n";
  }
  void Line(const std::string& text) { text_ += "  " + text + "\n"; }
  void Text(const std::string& text) { text_ += text; }
  std::string Painted(const std::string& text, const char* code) const {
    return colour_ == Colour::kOn ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  const std::string& text() const { return text_; }

 private:
  Colour colour_;
  std::string text_;
};

void AddCounts(const Study& study, Page& page) {
  const MemberCounts& counts = study.counts;
  std::string text = fmt::format("{}, {} done", Counted(counts.total, "member"), counts.done);
  const std::pair<int64_t, const char*> rest[] = {{counts.diverged, "diverged"},
                                                  {counts.failed, "failed"},
                                                  {counts.cancelled, "cancelled"},
                                                  {counts.missing, "not finished"},
                                                  {counts.retried, "tried more than once"}};
  for (const auto& [count, what] : rest) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  }
  page.Line(text + fmt::format("; {} ({}, {} classes)",
                               Counted(study.evaluation.examples, "test example"),
                               study.evaluation.data_set, study.evaluation.classes));
}

void AddFindings(const Study& study, Page& page) {
  if (study.headlines.empty()) return;
  page.Heading("Findings");
  for (const std::string& headline : study.headlines) page.Line("- " + headline);
}

// What this n could have seen: a difference of mean accuracy and a ratio of spreads.
std::string Sees(const Cohort& cohort) {
  std::string text;
  if (cohort.accuracy.detectable) text = Percent(*cohort.accuracy.detectable, 2);
  if (cohort.accuracy_sd.detectable) {
    text += fmt::format("{}x{:.1f}", text.empty() ? "" : ", ", *cohort.accuracy_sd.detectable);
  }
  return text.empty() ? "-" : text;
}

void AddNoise(const Study& study, Page& page) {
  if (study.cohorts.empty()) return;
  page.Heading("Noise of each cell (mean [95 %])");
  Rows rows;
  for (const Cohort& c : study.cohorts) {
    rows.push_back({fmt::format("c{} {}{}", c.cell, c.label, c.under_trained ? " *" : ""),
                    std::to_string(c.counts.done), WithInterval(c.accuracy),
                    WithInterval(c.accuracy_sd), WithInterval(c.churn), Value(c.any_disagreement),
                    Value(c.l2_normalised), Value(c.seconds), Sees(c)});
  }
  page.Text(AlignColumns(
      {"cell", "n", "top-1", "SD of top-1", "churn", "any differs", "L2, unit", "time", "n sees"},
      rows));
  page.Line(
      "churn: pairs that disagree; any differs: not all n agree; L2 of unit-length "
      "parameters; n sees: smallest");
  page.Line("difference of two top-1 means and ratio of two SDs detected with power 80 % at 5 %.");
  if (std::any_of(study.cohorts.begin(), study.cohorts.end(),
                  [](const Cohort& c) { return c.under_trained; })) {
    page.Line("* under-trained: see the warnings.");
  }
}

void AddBlocks(const Study& study, Page& page) {
  if (study.blocks.empty()) return;
  page.Heading("Over blocks: does it hang on one draw of the fixed sources?");
  Rows rows;
  for (const BlockSummary& b : study.blocks) {
    rows.push_back({b.label, std::to_string(b.cells.size()), WithInterval(b.accuracy),
                    WithInterval(b.accuracy_sd), WithInterval(b.churn)});
  }
  page.Text(AlignColumns({"cells", "blocks", "top-1", "SD of top-1", "churn"}, rows));
}

// What all hardware names begin with, up to a "-": "cpu-intel-". The tables leave it out.
std::string CommonBeginning(const Study& study) {
  if (study.hardware.empty()) return "";
  std::string common = study.hardware[0].hardware_a;
  for (const HardwareComparison& h : study.hardware) {
    for (const std::string& name : {h.hardware_a, h.hardware_b}) {
      const auto end = std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first;
      common.erase(end, common.end());
    }
  }
  return common.substr(0, common.rfind('-') + 1);
}

void AddChecks(const Study& study, Page& page) {
  if (!study.controls.empty()) page.Heading("Control: must be bit-identical");
  for (const ControlCheck& check : study.controls) {
    const char* code = check.verdict == "identical"   ? "32"
                       : check.verdict == "different" ? "31"
                                                      : "33";
    page.Line(fmt::format("c{} {}: {} - {}", check.cell, check.label,
                          page.Painted(check.verdict, code), check.text));
  }
  if (!study.physical.empty()) page.Heading("Physical sources left free, nothing else");
  for (const PhysicalCheck& check : study.physical) {
    page.Line(fmt::format("c{} {}: {}", check.cell, check.label, check.text));
  }
}

void AddHardware(const Study& study, Page& page) {
  if (study.hardware.empty()) return;
  const size_t cut = CommonBeginning(study).size();
  page.Heading("Hardware: the same replicates on two classes, B - A" +
               (cut == 0 ? "" : " (" + CommonBeginning(study) + "...)"));
  Rows rows;
  for (const HardwareComparison& h : study.hardware) {
    rows.push_back({fmt::format("{}: {} / {}{}", h.setting, h.hardware_a.substr(cut),
                                h.hardware_b.substr(cut), h.mixes_stacks ? " (stacks differ)" : ""),
                    std::to_string(h.pairs), WithInterval(h.accuracy_difference),
                    WithInterval(h.churn_paired),
                    fmt::format("{} / {}", Value(h.churn_within_a), Value(h.churn_within_b)),
                    WithInterval(h.churn_excess), Value(h.accuracy_correlation),
                    fmt::format("{} / {}", Value(h.logits_correlation_paired),
                                Value(h.logits_correlation_unpaired))});
  }
  page.Text(
      AlignColumns({"A / B", "pairs", "top-1 difference", "churn of pairs", "churn within A / B",
                    "hardware adds", "r top-1", "r logits, pairs / others"},
                   rows));
}

// The noisiest cell with classes; the classes that pay most.
void AddClasses(const Study& study, Page& page) {
  const Cohort* noisiest = nullptr;
  for (const Cohort& cohort : study.cohorts) {
    if (cohort.under_trained || cohort.per_class.empty() || !cohort.churn.value) continue;
    if (*cohort.churn.value == 0) continue;
    if (noisiest == nullptr || *cohort.churn.value > *noisiest->churn.value) noisiest = &cohort;
  }
  if (noisiest == nullptr) return;
  std::vector<const ClassSensitivity*> classes;
  for (const ClassSensitivity& row : noisiest->per_class) classes.push_back(&row);
  std::stable_sort(classes.begin(), classes.end(), [](const auto* a, const auto* b) {
    return a->churn.value.value_or(-1) > b->churn.value.value_or(-1);
  });
  if (classes.size() > 10) classes.resize(10);
  page.Heading("Who pays: classes of " + noisiest->label);
  Rows rows;
  for (const ClassSensitivity* row : classes) {
    rows.push_back({row->name, std::to_string(row->examples), WithInterval(row->accuracy),
                    Value(row->accuracy_sd), Value(row->range), Value(row->ratio),
                    WithInterval(row->churn)});
  }
  page.Text(AlignColumns({"class", "examples", "top-1", "SD", "max - min", "SD / overall", "churn"},
                         rows));
}

void AddExamples(const Study& study, Page& page) {
  const DivergentExamples& divergent = study.divergent;
  if (divergent.examples.empty()) return;
  page.Heading("Most divergent examples (pairs of one cell)");
  Rows rows;
  for (size_t k = 0; k < std::min<size_t>(5, divergent.examples.size()); ++k) {
    const DivergentExample& example = divergent.examples[k];
    rows.push_back({fmt::format("{} ({})", example.example, example.label_name),
                    Value(example.disagreement), Value(example.accuracy)});
  }
  rows.push_back({fmt::format("all {}", divergent.examples.size()),
                  WithInterval(divergent.subset_disagreement),
                  WithInterval(divergent.subset_accuracy)});
  page.Text(AlignColumns({"example", "disagreement", "right"}, rows));
  page.Line(divergent.note);
}

void AddEnvironment(const Study& study, Page& page) {
  if (study.environment.empty()) return;
  page.Heading("Environment");
  for (const EnvironmentRow& row : study.environment) {
    page.Line(fmt::format("{} ({}): {}", row.hardware, Counted(row.members, "member"),
                          Listed(row.summaries)));
  }
}

void AddWarningLines(const Study& study, Page& page) {
  if (study.warnings.empty()) return;
  page.Heading("Warnings");
  for (const Warning& warning : study.warnings) {
    const char* code = warning.severity == "error"     ? "31"
                       : warning.severity == "warning" ? "33"
                                                       : "2";
    page.Line(fmt::format("{}: {}: {}", page.Painted(warning.severity, code), warning.subject,
                          warning.text));
  }
}

}  // namespace

std::string AlignColumns(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::string& name : header) widths.push_back(Width(name));
  for (const auto& row : rows) {
    for (size_t k = 0; k < widths.size(); ++k) widths[k] = std::max(widths[k], Width(row[k]));
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line = " ";
    for (size_t k = 0; k < widths.size(); ++k) {
      const std::string space(widths[k] - Width(row[k]), ' ');
      line += (k == 0 ? " " : "  ") + (k == 0 ? row[k] + space : space + row[k]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(header);
  for (const auto& row : rows) add(row);
  return text;
}

std::string RenderTables(const Study& study, Colour colour) {
  Page page(colour);
  page.Heading(study.title);
  AddCounts(study, page);
  AddFindings(study, page);
  AddNoise(study, page);
  AddBlocks(study, page);
  AddChecks(study, page);
  AddHardware(study, page);
  AddClasses(study, page);
  AddExamples(study, page);
  AddEnvironment(study, page);
  AddWarningLines(study, page);
  return page.text();
}

}  // namespace noisefloor::report
