#include "coordinator/report/table.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/time/time.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/report/factor_tables.h"
#include "coordinator/report/layout.h"
#include "coordinator/report/targets.h"
#include "coordinator/report/text_page.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

void AddCounts(const Study& study, TextPage& page) {
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
  const std::string& data_set = study.evaluation.data_set;  // "" = the trainer's own.
  page.Line(text + fmt::format("; {} ({}{} classes)",
                               Counted(study.evaluation.examples, "test example"),
                               data_set.empty() ? "" : data_set + ", ", study.evaluation.classes));
}

// "model.name small_cnn, train.epochs 3, ..."; with the values of what varies.
std::string Training(const SweepInput& sweep) {
  static constexpr std::string_view kAlways[] = {
      "model.name",           "data.name",
      "train.epochs",         "train.batch_size",
      "train.optimizer.name", "train.optimizer.learning_rate"};
  std::map<std::string_view, const std::vector<std::string>*> varied;
  for (const auto& axis : sweep.axes) {
    for (const AxisColumn& column : axis) varied[column.path] = &column.values;
  }
  std::vector<std::string> words;
  for (const SettingInput& setting : sweep.settings) {
    const auto axis = varied.find(setting.path);
    const bool always = std::ranges::find(kAlways, setting.path) != std::end(kAlways);
    if (axis == varied.end() && !setting.changed && !always) continue;
    words.push_back(setting.path + " " +
                    (axis == varied.end() ? setting.value
                                          : fmt::format("{{{}}}", fmt::join(*axis->second, ", "))));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string SourcesOf(const PlanInput& plan, SourceState state) {
  std::vector<std::string> names;
  for (const auto& [source, rule] : plan.sources) {
    if (rule.state != state) continue;
    const std::set<uint32_t> levels(rule.levels.begin(), rule.levels.end());
    names.push_back(levels.empty() ? std::string(Name(source))
                                   : fmt::format("{} ({} levels)", Name(source), levels.size()));
  }
  return names.empty() ? "nothing" : Listed(names);
}

std::string UtcText(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

void AddRecipe(const Study& study, TextPage& page) {
  const SweepInput& sweep = study.sweep;
  if (sweep.settings.empty()) return;
  page.Heading("What was trained");
  page.Line(Training(sweep));
  for (const PlanInput& plan : sweep.plans) {
    page.Line(fmt::format("{}: frees {}; fixes {}; {} of {}", plan.name,
                          SourcesOf(plan, SourceState::kFree), SourcesOf(plan, SourceState::kFixed),
                          Counted(plan.blocks, "block"), Counted(plan.replicates, "replicate")));
  }
  std::vector<std::string> origin;
  // Runs that others trained have no settings, and no seed that all of theirs come from.
  if (!sweep.settings.empty()) origin.push_back("seed " + std::to_string(sweep.seed));
  if (!study.evaluation.identity.empty()) {
    origin.push_back("data identity " + study.evaluation.identity);
  }
  if (!sweep.specification_sha256.empty()) {
    origin.push_back("specification " + sweep.specification_sha256);
  }
  if (!sweep.noisefloor_version.empty()) {
    origin.push_back("noisefloor " + sweep.noisefloor_version);
  }
  page.Line(fmt::format("{}", fmt::join(origin, "; ")));
  if (sweep.submitted_unix_seconds == 0) return;
  const std::string newest = sweep.ended_unix_seconds == 0
                                 ? "no result yet"
                                 : "last result " + UtcText(sweep.ended_unix_seconds) + " UTC";
  page.Line("submitted " + UtcText(sweep.submitted_unix_seconds) + " UTC, " + newest);
}

void AddFindings(const Study& study, TextPage& page) {
  if (study.headlines.empty()) return;
  page.Heading("Findings");
  for (const std::string& headline : study.headlines) page.Line("- " + headline);
}

void AddGuidelines(const Study& study, TextPage& page) {
  if (study.guidelines.empty()) return;
  page.Heading("What to do");
  for (const std::string& guideline : study.guidelines) page.Line("- " + guideline);
}

// What this n could have seen: a difference of mean accuracy and a ratio of spreads.
std::string Sees(const Cohort& cohort) {
  if (cohort.all_fixed) return "-";  // Nothing spreads.
  std::string text;
  if (cohort.accuracy.detectable) text = Percent(*cohort.accuracy.detectable, 2);
  if (cohort.accuracy_sd.detectable) {
    text += fmt::format("{}x{:.1f}", text.empty() ? "" : ", ", *cohort.accuracy_sd.detectable);
  }
  return text.empty() ? "-" : text;
}

void AddNoise(const Study& study, TextPage& page) {
  if (study.cohorts.empty()) return;
  page.Heading("Noise of each cell (mean [95 %])");
  const std::optional<double>& target = study.sweep.reference_accuracy;
  TextRows rows;
  for (const Cohort& c : study.cohorts) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {fmt::format("c{} {}{}", c.cell, c.label, c.under_trained ? " *" : ""),
           std::to_string(c.counts.done),
           WithInterval(c.accuracy),
           WithInterval(c.accuracy_sd),
           Value(c.flip_sd),
           WithInterval(c.churn),
           Value(c.any_disagreement),
           WithInterval(c.any_of_3),
           Value(c.l2_normalised),
           Value(c.seconds),
           Sees(c)};
    if (!target) continue;
    const bool known = c.target_epochs.value || c.target_epochs.note.empty();
    row.push_back(known ? WithInterval(c.target_epochs) : c.target_epochs.note);
  }
  std::vector<std::string> columns = {"cell",     "n",     "top-1",       "SD of top-1",
                                      "by flips", "churn", "any differs", "any of 3",
                                      "L2, unit", "time",  "n sees"};
  if (target) columns.push_back("epochs to " + TargetText(*target));
  page.Table(columns, rows);
  page.Line(
      "by flips: the SD that answers which flip independently would give by themselves; churn: "
      "pairs "
      "that disagree; any differs: not all n agree, of which n cannot see how it "
      "spreads over other members (an interval of it is over examples); any of 3: of any three of "
      "them, whatever n; L2 of unit-length parameters; n "
      "sees: smallest difference of two top-1 means and ratio of two SDs detected with power 80 % "
      "at 5 %, the ratio (where it is 100 at most) by the interval of contrasts, of cells that do "
      "not move together.");
  if (std::any_of(study.cohorts.begin(), study.cohorts.end(),
                  [](const Cohort& c) { return c.under_trained; })) {
    page.Line("* under-trained: see the warnings.");
  }
}

void AddBlocks(const Study& study, TextPage& page) {
  if (study.blocks.empty()) return;
  page.Heading("Over blocks: does it hang on one draw of the fixed sources?");
  TextRows rows;
  for (const BlockSummary& b : study.blocks) {
    rows.push_back({b.label, std::to_string(b.accuracy.n), WithInterval(b.accuracy),
                    WithInterval(b.accuracy_sd), WithInterval(b.churn)});
  }
  page.Table({"cells", "blocks", "top-1", "SD inside a block", "churn"}, rows);
}

void AddChecks(const Study& study, TextPage& page) {
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

// Of cells of two members only where there are no others: their churn is that of one pair.
const Cohort* Noisiest(const Study& study) {
  const Cohort* noisiest = nullptr;
  const auto rank = [](const Cohort& cohort) {
    return std::pair(cohort.counts.done > 2, *cohort.churn.value);
  };
  for (const Cohort& cohort : study.cohorts) {
    if (cohort.all_fixed || cohort.under_trained || cohort.per_class.empty()) continue;
    if (cohort.churn.value.value_or(0) == 0) continue;
    if (noisiest == nullptr || rank(cohort) > rank(*noisiest)) noisiest = &cohort;
  }
  return noisiest;
}

// The rows that pay most, at most ten.
template <typename Row>
std::vector<const Row*> MostChurn(const std::vector<Row>& all) {
  std::vector<const Row*> rows;
  for (const Row& row : all) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return a->churn.value.value_or(-1) > b->churn.value.value_or(-1);
  });
  if (rows.size() > 10) rows.resize(10);
  return rows;
}

// The noisiest cell with classes; the classes and groups that pay most.
void AddClasses(const Study& study, TextPage& page) {
  const Cohort* const noisiest = Noisiest(study);
  if (noisiest == nullptr) return;
  page.Heading("Who pays: classes of " + noisiest->label);
  TextRows rows;
  for (const ClassSensitivity* row : MostChurn(noisiest->per_class)) {
    rows.push_back({row->name, row->examples > 0 ? std::to_string(row->examples) : "-",
                    WithInterval(row->accuracy), Value(row->accuracy_sd), Value(row->range),
                    Value(row->ratio), WithInterval(row->churn)});
  }
  const std::string things = std::string(AnswerWord(study.evaluation.attributes)) + "s";
  page.Table({"class", things, "top-1", "SD", "max - min", "SD / overall", "churn"}, rows);
  if (!study.worst_classes.text.empty()) page.Line(study.worst_classes.text);
  if (noisiest->per_group.empty()) return;
  page.Heading("Who pays: groups of " + noisiest->label);
  TextRows groups;
  for (const GroupSensitivity* row : MostChurn(noisiest->per_group)) {
    groups.push_back({row->column + " " + row->name, std::to_string(row->examples),
                      WithInterval(row->accuracy), Value(row->accuracy_sd), Value(row->ratio),
                      Value(row->false_positive_rate), Value(row->false_negative_rate),
                      WithInterval(row->churn)});
  }
  page.Table({"group", "examples", "top-1", "SD", "SD / overall", "FPR", "FNR", "churn"}, groups);
  for (const WorstClasses& worst : study.worst_groups) page.Line(worst.text);
}

void AddExamples(const Study& study, TextPage& page) {
  const DivergentExamples& divergent = study.divergent;
  if (divergent.examples.empty()) return;
  const std::string thing(AnswerWord(study.evaluation.attributes));
  page.Heading(fmt::format("Most divergent {}s (pairs of one cell)", thing));
  // A cohort of three has no pair left to measure on.
  const bool has_pairs = divergent.subset_disagreement.value.has_value();
  TextRows rows;
  const auto add = [&](std::string name, std::string disagreement, std::string right) {
    rows.push_back({std::move(name)});
    if (has_pairs) rows.back().push_back(std::move(disagreement));
    rows.back().push_back(std::move(right));
  };
  for (size_t k = 0; k < std::min<size_t>(5, divergent.examples.size()); ++k) {
    const DivergentExample& example = divergent.examples[k];
    add(fmt::format("{} ({})", example.example, example.label_name), Value(example.disagreement),
        Value(example.accuracy));
  }
  add(fmt::format("of {} so chosen", divergent.examples.size()),
      WithInterval(divergent.subset_disagreement), WithInterval(divergent.subset_accuracy));
  std::vector<std::string> header = {thing, "disagreement", "right"};
  if (!has_pairs) header.erase(header.begin() + 1);
  page.Table(header, rows);
  page.Line(divergent.note);
  if (!has_pairs) page.Line("Disagreement: " + divergent.subset_disagreement.note + ".");
  if (!divergent.groups_text.empty()) page.Line(divergent.groups_text);
}

constexpr size_t kShownSensitive = 5;

// Examples that follow the class, or the stack, where some are known to; others that flip may do so
// by chance.
void AddSensitive(const Study& study, TextPage& page) {
  const auto shown = [](const SensitiveExamples& s) { return !s.found.empty(); };
  if (std::ranges::none_of(study.sensitive, shown)) return;
  const bool decisions = study.evaluation.attributes > 0;
  page.Heading(fmt::format("{} that go with the hardware or the stack",
                           decisions ? "Decisions" : "Examples"));
  for (const SensitiveExamples& of : study.sensitive) {
    if (!shown(of)) continue;
    TextRows rows;
    for (const SensitiveExample& example : of.most) {
      if (rows.size() == kShownSensitive) break;
      if (std::ranges::find(of.found, example.example) == of.found.end()) continue;
      rows.push_back({fmt::format("{} ({})", example.example, example.label_name), example.said_a,
                      example.said_b, fmt::format("{} of {}", example.flips, of.draws),
                      WithInterval(example.rate)});
    }
    page.Table({decisions ? "decision" : "example", of.side_a, of.side_b, "flips", "rate, shrunk"},
               rows);
    page.Line(of.text);
    if (of.found.size() > rows.size()) {
      page.Line(fmt::format("The table shows {} of these {}.", rows.size(), of.found.size()));
    }
  }
}

void AddEnvironment(const Study& study, TextPage& page) {
  if (study.environment.empty()) return;
  page.Heading("Environment");
  for (const EnvironmentRow& row : study.environment) {
    page.Line(fmt::format("{} ({}): {}", row.hardware, Counted(row.members, "member"),
                          Listed(row.summaries)));
  }
}

constexpr size_t kMostSubjects = 3;

// "A, B and C", or "A, B, C and 7 more".
std::string ShortList(std::vector<std::string> subjects) {
  if (subjects.size() <= kMostSubjects + 1) return Listed(subjects);
  const size_t more = subjects.size() - kMostSubjects;
  subjects.resize(kMostSubjects);
  subjects.push_back(fmt::format("{} more", more));
  return Listed(subjects);
}

// What is said of many cells in the same words is said once, of all of them; an error names each.
std::vector<Warning> MergeAlike(const std::vector<Warning>& warnings) {
  std::vector<Warning> merged;
  std::vector<std::vector<std::string>> subjects;
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (const Warning& warning : warnings) {
    const auto [place, added] =
        places.emplace(std::pair(warning.severity, warning.text), merged.size());
    if (added) {
      merged.push_back(warning);
      subjects.emplace_back();
    }
    subjects[place->second].push_back(warning.subject);
  }
  for (size_t k = 0; k < merged.size(); ++k) {
    const bool error = merged[k].severity == "error";
    merged[k].subject = error ? Listed(subjects[k]) : ShortList(subjects[k]);
  }
  return merged;
}

void AddWarningLines(const Study& study, TextPage& page) {
  if (study.warnings.empty()) return;
  page.Heading("Warnings");
  for (const Warning& warning : MergeAlike(study.warnings)) {
    const char* code = warning.severity == "error"     ? "31"
                       : warning.severity == "warning" ? "33"
                                                       : "2";
    page.Line(fmt::format("{}: {}: {}", page.Painted(warning.severity, code), warning.subject,
                          warning.text));
  }
}

}  // namespace

std::string RenderTables(const Study& study, const Screen& screen) {
  TextPage page(screen);
  page.Heading(study.title);
  AddCounts(study, page);
  AddFindings(study, page);
  AddGuidelines(study, page);
  AddNoise(study, page);
  AddBlocks(study, page);
  AddChecks(study, page);
  AddHardware(study, page);
  AddContrasts(study, page);
  AddDecompositions(study, page);
  AddEnsembles(study, page);
  AddTrajectories(study, page);
  AddClasses(study, page);
  AddExamples(study, page);
  AddSensitive(study, page);
  AddRecipe(study, page);
  AddEnvironment(study, page);
  AddWarningLines(study, page);
  return page.text();
}

}  // namespace noisefloor::report
