#include "coordinator/report/environment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "coordinator/analysis/spread.h"
#include "coordinator/report/disturbances.h"
#include "coordinator/report/json_facts.h"
#include "coordinator/report/mixtures.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

// Facts that differ from run to run by nature (times, addresses) are summed up.
constexpr size_t kMostValues = 8;

std::vector<std::string> Shown(const std::set<std::string>& values) {
  if (values.size() <= kMostValues) return {values.begin(), values.end()};
  return {fmt::format("{} different values, {} the first", values.size(), *values.begin())};
}

// What members of a class told under one key.
struct Told {
  std::set<std::string> values;
  int64_t members = 0;  // That told it.
  int64_t last = 0;     // Of them, counted from 1.
};

struct Collected {
  int64_t members = 0;
  std::set<std::string> summaries;
  std::vector<std::string> keys;  // In order of first sight.
  std::map<std::string, Told> told;
  void Add(const std::string& key, const std::string& value) {
    if (value.empty()) return;
    if (!told.contains(key)) keys.push_back(key);
    Told& fact = told[key];
    fact.values.insert(value);
    if (fact.last != members) ++fact.members;  // A member may tell it twice.
    fact.last = members;
  }
  // What some members did not tell is not said of all.
  std::vector<std::string> Values(const std::string& key) const {
    const Told& fact = told.at(key);
    std::vector<std::string> values = Shown(fact.values);
    if (fact.members < members) values.emplace_back("–");
    return values;
  }
};

// What differs from run to run by nature says nothing about the conditions.
bool VariesByNature(std::string_view key) {
  return key.starts_with("measured.") || key.starts_with("load_at_end") || key == "machine.load";
}

// "AMD EPYC, LibTorch 2.11.0, ATen AVX2"; what the environment does not say is left out.
std::string SummaryOf(const std::map<std::string, std::string>& facts) {
  std::string summary;
  const auto add = [&](const char* key, std::string_view before) {
    const auto fact = facts.find(key);
    if (fact == facts.end()) return;
    summary.append(summary.empty() ? "" : ", ").append(before).append(fact->second);
  };
  add("machine.cpu_model", "");
  add("gpu.name", "");
  add("versions.libtorch", "LibTorch ");
  add("aten_cpu_capability", "ATen ");
  return summary;
}

void Collect(const MemberInput& member, const CellInput& cell, Collected& row) {
  ++row.members;
  std::map<std::string, std::string> facts;
  for (const auto& [key, value] : FlattenObject(member.environment_json)) facts[key] = value;
  const std::string summary = SummaryOf(facts);
  if (!summary.empty()) row.summaries.insert(summary);
  row.Add("stack", cell.stack);
  row.Add("stack fingerprint, as the worker offers it", cell.stack_fingerprint);
  row.Add("trainer build", BuildOf(member, cell));
  row.Add("unit", member.unit);
  for (const auto& [key, value] : facts) {
    if (!VariesByNature(key)) row.Add(key, value);
  }
}

class Warnings {
 public:
  explicit Warnings(Study& study) : study_(study) {}
  void Error(std::string subject, std::string text) { Add("error", subject, text); }
  void Warn(std::string subject, std::string text) { Add("warning", subject, text); }
  void Note(std::string subject, std::string text) { Add("note", subject, text); }

 private:
  void Add(const char* severity, std::string& subject, std::string& text) {
    study_.warnings.push_back({severity, std::move(subject), std::move(text)});
  }
  Study& study_;
};

// What the mean would be if those that diverged answered by chance, the same to every example.
std::string WithDiverged(const Gathered& gathered, const CellFacts& cell, int64_t diverged) {
  std::vector<double> top1 = ValuesOf(gathered, cell.done, &MemberFacts::accuracy);
  std::erase_if(top1, [](double value) { return !std::isfinite(value); });
  const double chance = gathered.sets[cell.set].chance;
  if (top1.empty() || chance <= 0) return "";
  const double mean = analysis::MeanOf(top1);
  const auto done = static_cast<double>(top1.size());
  const auto more = static_cast<double>(diverged);
  const double with = (mean * done + chance * more) / (done + more);
  return fmt::format(" Counted at chance ({}), the mean of top-1 would be {} instead of {}.",
                     Percent(chance, 1), Percent(with, 1), Percent(mean, 1));
}

void WarnOfCounts(const Gathered& gathered, const CellFacts& cell, const Cohort& cohort,
                  Warnings& warnings) {
  const MemberCounts& counts = cohort.counts;
  const std::string subject = CellSubject(cohort.cell, cohort.label);
  if (counts.diverged > 0) {
    warnings.Warn(subject, fmt::format("{} of {} diverged: a result; they are in no mean, so the "
                                       "figures are of those that did not.{}",
                                       counts.diverged, counts.total,
                                       WithDiverged(gathered, cell, counts.diverged)));
  }
  if (counts.failed > 0) {
    warnings.Warn(subject, fmt::format("{} of {} failed; failures are not missing at random.",
                                       counts.failed, counts.total));
  }
  if (counts.cancelled > 0) {
    warnings.Warn(subject, fmt::format("{} of {} cancelled.", counts.cancelled, counts.total));
  }
  if (counts.missing > 0) {
    warnings.Warn(subject,
                  fmt::format("{} of {} are not finished yet.", counts.missing, counts.total));
  }
  if (counts.done == 1) {
    warnings.Warn(subject, "One finished member: nothing can be said about noise.");
  } else if (counts.done == 2) {
    warnings.Warn(subject, "Two finished members: figures over pairs have no interval.");
  }
  if (counts.retried > 0) {
    warnings.Note(subject, fmt::format("{} needed more than one attempt.",
                                       Counted(counts.retried, "member")));
  }
  if (counts.without_predictions > 0) {
    warnings.Warn(subject, fmt::format("{} of {} finished members have no usable predictions.",
                                       counts.without_predictions, counts.done));
  }
}

// A study that somebody has cut short is whole: when to stop may have followed from a look at it.
void WarnOfCancelled(Study& study) {
  const MemberCounts& counts = study.counts;
  if (study.interim || counts.cancelled == 0) return;
  std::string text = CancelledText(counts, "tests and intervals promise") + ".";
  study.warnings.insert(study.warnings.begin(), Warning{"warning", "sweep", std::move(text)});
}

void WarnOfChecks(const Study& study, Warnings& warnings) {
  for (const ControlCheck& check : study.controls) {
    const std::string subject = CellSubject(check.cell, check.label);
    if (check.verdict == "different") {
      warnings.Error(subject, "The control cohort is not bit-identical: " + check.text);
    } else if (check.verdict == "unproved") {
      warnings.Warn(subject, "The control cohort is not proved. " + check.text);
    }
  }
  for (const PhysicalCheck& check : study.physical) {
    if (check.noise_seen) continue;
    warnings.Note(CellSubject(check.cell, check.label), check.text);
  }
}

void WarnOfLeftOut(const std::vector<Comparison>& comparisons, Warnings& warnings) {
  for (const Comparison& comparison : comparisons) {
    if (comparison.left_out == 0) continue;
    if (comparison.pairs == 0) {
      warnings.Warn(comparison.label,
                    "No replicate with equal lanes is done on both sides: nothing is compared.");
      continue;
    }
    warnings.Warn(comparison.label, fmt::format("Compares the {} that both sides finished; {} left "
                                                "out.",
                                                Counted(comparison.pairs, "replicate"),
                                                Counted(comparison.left_out, "member")));
  }
}

std::string NameOf(const EvaluationSet& evaluation) {
  if (evaluation.labels.empty()) return evaluation.data_set;
  return fmt::format("{} ({})", evaluation.data_set,
                     Counted(std::ssize(evaluation.labels) / AnswersToOne(evaluation), "example"));
}

// Answers to other questions are not compared; what shows examples shows those of the first set.
void WarnOfSets(const Gathered& gathered, Warnings& warnings) {
  if (gathered.sets.size() < 2) return;
  std::vector<std::string> names;
  for (const SetFacts& set : gathered.sets) names.push_back(NameOf(*set.input));
  warnings.Warn("sweep", fmt::format("The cells are evaluated on {} sets of examples: {}. Answers "
                                     "are compared inside each set only, and the examples shown "
                                     "are of the first.",
                                     names.size(), Listed(names)));
}

// Once for the sweep: who did not learn enough, by which rule.
void WarnOfTraining(const Gathered& gathered, Warnings& warnings) {
  if (gathered.under_trained.empty()) return;
  std::vector<std::string> settings;
  for (const UnderTrained& setting : gathered.under_trained) {
    settings.push_back(fmt::format("{} ({} < {})", setting.label, Percent(setting.accuracy, 1),
                                   Percent(setting.least, 1)));
  }
  const char* rule =
      gathered.input->sweep.reference_accuracy
          ? "the reference accuracy that the sweep states"
          : "twice the share of the largest class, or half-way from there to 1 where "
            "that is less; a sweep may state its own reference_accuracy";
  warnings.Warn("sweep", fmt::format("Under-trained, and in no finding: {}. Top-1 is the mean over "
                                     "hardware and members; it should reach {}.",
                                     Listed(settings), rule));
}

// Free sources that act on nothing: a spread of zero would look like a finding.
void WarnOfIdle(const Gathered& gathered, Warnings& warnings) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> reasons;  // Plan, why, source
  std::map<std::string, bool> frees_others;
  for (const CellFacts& cell : gathered.cells) {
    frees_others[cell.input->plan] |= !cell.all_fixed;
    for (const NoiseSource source : cell.idle) {
      reasons[cell.input->plan][cell.input->idle.at(source)].emplace(Name(source));
    }
  }
  for (const auto& [plan, by_reason] : reasons) {
    std::vector<std::string> said;
    for (const auto& [why, sources] : by_reason) {
      const std::vector<std::string> names(sources.begin(), sources.end());
      said.push_back(fmt::format("{} ({})", Listed(names), why));
    }
    const std::string text = fmt::format("{} frees what acts on nothing: {}.", plan, Listed(said));
    if (frees_others.at(plan)) {
      warnings.Note("sweep", text);
    } else {
      warnings.Warn("sweep", text + " It frees nothing else: its members must be bit-identical.");
    }
  }
}

// Held sources that have one draw: what is said of such a plan is said of that draw.
std::vector<std::string> PlansOfOneDraw(const Gathered& gathered) {
  std::map<std::string, std::set<uint32_t>> blocks;
  for (const CellFacts& cell : gathered.cells) {
    if (!cell.held.empty()) blocks[cell.input->plan].insert(cell.input->block);
  }
  std::vector<std::string> plans;
  for (const auto& [plan, numbers] : blocks) {
    if (numbers.size() == 1) plans.push_back(plan);
  }
  return plans;
}

void NoteShared(const Gathered& gathered, Warnings& warnings) {
  std::set<std::string> told;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.shared.empty() || !told.insert(cell.input->plan).second) continue;
    warnings.Note("sweep",
                  fmt::format("In {} {}: a block is one draw. Its means are given, without an "
                              "interval where there is one block; what two trainings differ in is "
                              "not. Who shares what stands in the view v_lane.",
                              cell.input->plan, SharingText(NamesOf(cell.shared))));
  }
}

void NoteUncontrolled(const Gathered& gathered, Warnings& warnings) {
  std::map<std::string, std::vector<std::string>> sources_by_plan;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.free_physical.empty() || sources_by_plan.contains(cell.input->plan)) continue;
    for (const NoiseSource source : cell.free_physical) {
      sources_by_plan[cell.input->plan].emplace_back(Name(source));
    }
  }
  for (const auto& [plan, sources] : sources_by_plan) {
    warnings.Note("sweep",
                  fmt::format("Not controlled in {}, on purpose: {}.", plan, Listed(sources)));
  }
  const std::vector<std::string> one_draw = PlansOfOneDraw(gathered);
  if (!one_draw.empty()) {
    warnings.Note("sweep", fmt::format("The sources that {} {} have one draw (blocks: 1): what is "
                                       "said of them is said of that draw.",
                                       Listed(one_draw), one_draw.size() == 1 ? "fixes" : "fix"));
  }
  warnings.Note("sweep",
                "Not controlled: clock speeds, temperature and other processes of the "
                "machines; the environments say what was seen of them.");
  warnings.Note(
      "sweep",
      "Intervals are at 95 % for one figure each, over members, replicates or blocks on a "
      "fixed evaluation set; with many figures some exclude the truth by chance. Only an "
      "interval of any-disagreement is over examples: it says nothing of other draws of n "
      "members.");
}

}  // namespace

std::vector<EnvironmentRow> BuildEnvironment(const Gathered& gathered) {
  std::map<std::string, Collected> rows;
  for (const CellFacts& cell : gathered.cells) {
    for (const size_t m : cell.members) {
      const MemberInput& member = *gathered.members[m].input;
      if (HasResult(member.state)) Collect(member, *cell.input, rows[cell.input->hardware]);
    }
  }
  std::vector<EnvironmentRow> environment;
  for (const auto& [hardware, collected] : rows) {
    EnvironmentRow& row = environment.emplace_back();
    row.hardware = hardware;
    row.members = collected.members;
    row.summaries = Shown(collected.summaries);
    if (collected.summaries.empty()) row.summaries.clear();
    for (const std::string& key : collected.keys) {
      row.facts.push_back({key, collected.Values(key)});
    }
  }
  return environment;
}

void AddWarnings(const Gathered& gathered, Study& study) {
  WarnOfCancelled(study);
  Warnings warnings(study);
  if (gathered.members.empty()) warnings.Warn("sweep", "It has no members.");
  const bool answers = std::ranges::any_of(
      gathered.sets, [](const SetFacts& set) { return set.answers.has_value(); });
  if (!answers && !gathered.members.empty()) {
    warnings.Warn("sweep", "No member has usable predictions: churn cannot be measured.");
  }
  WarnOfChecks(study, warnings);
  WarnOfTraining(gathered, warnings);
  WarnOfIdle(gathered, warnings);
  for (const FixedDraw& draw : study.fixed_draws) warnings.Warn("sweep", draw.text);
  for (size_t k = 0; k < study.cohorts.size(); ++k) {  // In the order of the cells.
    WarnOfCounts(gathered, gathered.cells[k], study.cohorts[k], warnings);
  }
  WarnOfMixtures(gathered, study);
  WarnOfDisturbances(gathered, study);
  WarnOfLeftOut(study.hardware, warnings);
  WarnOfLeftOut(study.stacks, warnings);
  WarnOfSets(gathered, warnings);
  study.warnings.insert(study.warnings.end(), gathered.warnings.begin(), gathered.warnings.end());
  NoteUncontrolled(gathered, warnings);
  NoteShared(gathered, warnings);
  const auto rank = [](const Warning& warning) {
    return warning.severity == "error" ? 0 : warning.severity == "warning" ? 1 : 2;
  };
  std::stable_sort(study.warnings.begin(), study.warnings.end(),
                   [&](const Warning& a, const Warning& b) { return rank(a) < rank(b); });
}

}  // namespace noisefloor::report
