#include "coordinator/report/gather.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "common/base/check.h"
#include "common/base/status.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::PredictionMatrix;

double MetricOf(const MemberInput& member, const std::string& name) {
  const auto it = member.final_metrics.find(name);
  return it == member.final_metrics.end() ? std::numeric_limits<double>::quiet_NaN() : it->second;
}

// A fixed poke, number of threads or load is a setting, not a draw that a conclusion hangs on.
bool IsDraw(NoiseSource source) {
  return !IsPhysical(source) && source != NoiseSource::kPoke && source != NoiseSource::kThreads &&
         source != NoiseSource::kLoad;
}

CellFacts FactsOf(const CellInput& cell) {
  CellFacts facts;
  facts.input = &cell;
  facts.set = cell.evaluation;
  for (const auto& [source, state] : cell.sources) {
    const bool acts = !cell.idle.contains(source);
    if (state == SourceState::kFree && !acts) {
      facts.idle.push_back(source);
    } else if (state == SourceState::kFree) {
      (IsPhysical(source) ? facts.free_physical : facts.free_seeded).push_back(source);
    } else if (state == SourceState::kFixed && acts && IsDraw(source)) {
      facts.held.push_back(source);
    } else if (state == SourceState::kOff) {
      facts.off.push_back(source);
    }
  }
  const bool unknown = cell.sources.empty();
  facts.seeded_free = unknown ? cell.plan != "control" : !facts.free_seeded.empty();
  facts.all_fixed = !facts.seeded_free && facts.free_physical.empty();
  return facts;
}

// From the lanes themselves: levels that no two members share are draws as any others.
void FindShared(const Gathered& gathered, CellFacts& cell) {
  for (const NoiseSource source : cell.free_seeded) {
    std::set<Lane> lanes;
    const bool all_differ = std::ranges::all_of(cell.members, [&](size_t m) {
      const auto& of_member = gathered.members[m].input->lanes;
      const auto lane = of_member.find(source);
      return lane == of_member.end() || lanes.insert(lane->second).second;
    });
    if (!all_differ) cell.shared.push_back(source);
  }
}

void SortIntoCells(Gathered& gathered) {
  std::map<uint32_t, size_t> position;
  for (size_t c = 0; c < gathered.cells.size(); ++c) {
    position.emplace(gathered.cells[c].input->index, c);
  }
  for (size_t m = 0; m < gathered.members.size(); ++m) {
    const MemberInput& member = *gathered.members[m].input;
    const auto it = position.find(member.cell);
    if (it == position.end()) {
      gathered.warnings.push_back({"error", member.id,
                                   "Belongs to cell " + std::to_string(member.cell) +
                                       ", which is not in the sweep: left out."});
      continue;
    }
    gathered.cells[it->second].members.push_back(m);
  }
  for (CellFacts& cell : gathered.cells) {
    std::stable_sort(cell.members.begin(), cell.members.end(), [&](size_t a, size_t b) {
      return gathered.members[a].input->replicate < gathered.members[b].input->replicate;
    });
    FindShared(gathered, cell);
    for (const size_t m : cell.members) {
      gathered.members[m].set = cell.set;
      if (gathered.members[m].input->state == MemberState::kDone) cell.done.push_back(m);
    }
  }
}

bool HasAnswers(const MemberInput& member) {
  return !member.predictions.empty() || !member.answers.empty();
}

absl::Status AddAnswers(const MemberInput& member, PredictionMatrix& matrix) {
  return member.answers.empty() ? matrix.AddLogits(member.predictions.values())
                                : matrix.AddAnswers(member.answers);
}

// An answer that is none is an error, and differs from every other: that has to be said.
void WarnOfUndefined(const MemberInput& member, std::span<const int16_t> answers,
                     std::vector<Warning>& warnings) {
  const auto undefined = std::ranges::count(answers, analysis::kUndefined);
  if (undefined == 0) return;
  warnings.push_back(
      {"warning", member.id,
       std::to_string(undefined) + " of " + std::to_string(answers.size()) +
           " answers are none, for logits there are no numbers: they count as wrong, and as "
           "different from every other."});
}

// The members of a set that are done and have predictions, by cell and replicate.
std::vector<size_t> Predicting(const Gathered& gathered, size_t set) {
  std::vector<size_t> members;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.set != set) continue;
    for (const size_t m : cell.done) {
      if (HasAnswers(*gathered.members[m].input)) members.push_back(m);
    }
  }
  return members;
}

void ReadAnswers(Gathered& gathered, size_t place) {
  SetFacts& set = gathered.sets[place];
  const EvaluationSet& evaluation = *set.input;
  if (evaluation.classes < 1 || evaluation.classes > std::numeric_limits<int16_t>::max()) return;
  const std::vector<size_t> members = Predicting(gathered, place);
  // From the labels, else from the first predictions.
  size_t examples = evaluation.labels.size();
  if (examples == 0 && !members.empty()) {
    const MemberInput& first = *gathered.members[members[0]].input;
    examples = first.predictions.empty()
                   ? first.answers.size()
                   : first.predictions.size() / static_cast<size_t>(evaluation.classes);
  }
  if (examples == 0) return;
  set.labels_known = !evaluation.labels.empty();
  PredictionMatrix matrix(static_cast<int64_t>(examples), evaluation.classes);
  matrix.Reserve(static_cast<int64_t>(members.size()));
  for (const size_t m : members) {
    MemberFacts& member = gathered.members[m];
    const absl::Status added = AddAnswers(*member.input, matrix);
    if (!added.ok()) {
      gathered.warnings.push_back({"error", member.input->id, Message(added) + ": left out."});
      continue;
    }
    member.row = matrix.members() - 1;
    WarnOfUndefined(*member.input, matrix.Row(*member.row), gathered.warnings);
  }
  if (matrix.members() == 0) return;
  set.packed.emplace(matrix);
  set.answers = std::move(matrix);
}

// Accuracy comes from the trainer; where both are known, the predictions must agree with it.
void CheckAccuracy(Gathered& gathered) {
  for (MemberFacts& member : gathered.members) {
    const SetFacts& set = gathered.sets[member.set];
    if (!member.row || !set.labels_known) continue;
    const double counted = analysis::Accuracy(set.answers->Row(*member.row), set.input->labels);
    if (std::isnan(member.accuracy)) {
      member.accuracy = counted;
    } else if (std::abs(counted - member.accuracy) > 1e-6) {
      gathered.warnings.push_back({"error", member.input->id,
                                   "Its trainer reports a top-1 of " + Percent(member.accuracy, 3) +
                                       ", its predictions give " + Percent(counted, 3) +
                                       "; the trainer's is shown."});
    }
  }
}

double ChanceOf(const EvaluationSet& evaluation) {
  if (evaluation.labels.empty()) return evaluation.classes > 0 ? 1.0 / evaluation.classes : 0;
  std::map<int32_t, int64_t> counts;
  int64_t most = 0;
  for (const int32_t label : evaluation.labels) most = std::max(most, ++counts[label]);
  return static_cast<double>(most) / static_cast<double>(evaluation.labels.size());
}

void MarkUnderTrained(Gathered& gathered) {
  std::map<std::tuple<std::string, std::vector<AxisSetting>, size_t>, std::vector<CellFacts*>>
      groups;
  for (CellFacts& cell : gathered.cells) {
    groups[{cell.input->plan, cell.input->axes, cell.set}].push_back(&cell);
  }
  const std::optional<double>& reference = gathered.input->sweep.reference_accuracy;
  for (const auto& [key, cells] : groups) {
    const double chance = gathered.sets[std::get<size_t>(key)].chance;
    if (chance <= 0 && !reference) continue;
    std::vector<double> accuracy;
    for (const CellFacts* cell : cells) {
      for (const size_t m : cell->done) {
        const double value = gathered.members[m].accuracy;
        if (std::isfinite(value)) accuracy.push_back(value);
      }
    }
    const double mean = analysis::MeanOf(accuracy);  // nan for none.
    const double least = reference.value_or(std::min(2 * chance, (1 + chance) / 2));
    if (!(mean < least * (1 - analysis::kRounding))) continue;
    gathered.under_trained.push_back({SettingOf(*cells[0]), mean, least});
    for (CellFacts* cell : cells) cell->under_trained = true;
  }
}

bool IsInterim(const StudyInput& input) {
  if (input.sweep.until && !input.sweep.until->settled) return true;
  return std::ranges::any_of(input.members, [](const MemberInput& member) {
    return member.state == MemberState::kWaiting || member.state == MemberState::kLeased;
  });
}

}  // namespace

Gathered Gather(const StudyInput& input) {
  Gathered gathered;
  gathered.input = &input;
  gathered.interim = IsInterim(input);
  for (const EvaluationSet& evaluation : input.evaluations) {
    SetFacts& set = gathered.sets.emplace_back();
    set.input = &evaluation;
    set.chance = ChanceOf(evaluation);
  }
  NF_CHECK(!gathered.sets.empty());
  for (const CellInput& cell : input.cells) {
    NF_CHECK(cell.evaluation < gathered.sets.size());
    gathered.cells.push_back(FactsOf(cell));
  }
  std::stable_sort(
      gathered.cells.begin(), gathered.cells.end(),
      [](const CellFacts& a, const CellFacts& b) { return a.input->index < b.input->index; });
  SetLabels(gathered.cells);
  for (const MemberInput& member : input.members) {
    gathered.members.push_back({&member, std::nullopt, 0, MetricOf(member, "top1"),
                                MetricOf(member, "top5"), MetricOf(member, "loss")});
  }
  SortIntoCells(gathered);
  for (size_t set = 0; set < gathered.sets.size(); ++set) ReadAnswers(gathered, set);
  CheckAccuracy(gathered);
  MarkUnderTrained(gathered);
  return gathered;
}

Answers AnswersOf(const Gathered& gathered, std::span<const size_t> members) {
  Answers answers;
  std::vector<int64_t> rows;
  for (const size_t m : members) {
    if (!gathered.members[m].row) continue;
    answers.members.push_back(m);
    rows.push_back(*gathered.members[m].row);
  }
  if (rows.empty()) return answers;
  const size_t set = gathered.members[answers.members[0]].set;
  for (const size_t m : answers.members) NF_CHECK(gathered.members[m].set == set);
  answers.matrix = gathered.sets[set].answers->Select(rows);
  return answers;
}

bool HasLogits(const MemberInput& member, const EvaluationSet& set) {
  return !member.predictions.empty() &&
         member.predictions.size() == set.labels.size() * static_cast<size_t>(set.classes);
}

std::span<const float> FiniteLogits(const MemberInput& member, const EvaluationSet& set) {
  if (!HasLogits(member, set)) return {};
  const std::span<const float> logits = member.predictions.values();
  return std::ranges::all_of(logits, [](float v) { return std::isfinite(v); })
             ? logits
             : std::span<const float>();
}

std::vector<double> ValuesOf(const Gathered& gathered, std::span<const size_t> members,
                             double MemberFacts::*field) {
  std::vector<double> values;
  for (const size_t m : members) values.push_back(gathered.members[m].*field);
  return values;
}

MemberCounts CountMembers(const Gathered& gathered, std::span<const size_t> members) {
  MemberCounts counts;
  for (const size_t m : members) {
    const MemberFacts& member = gathered.members[m];
    ++counts.total;
    counts.retried += member.input->attempts > 1;
    switch (member.input->state) {
      case MemberState::kWaiting:
      case MemberState::kLeased: ++counts.missing; break;
      case MemberState::kDone:
        ++counts.done;
        counts.without_predictions += !member.row;
        counts.without_weights += member.input->weights.empty();
        break;
      case MemberState::kDiverged: ++counts.diverged; break;
      case MemberState::kFailed: ++counts.failed; break;
      case MemberState::kCancelled: ++counts.cancelled; break;
    }
  }
  return counts;
}

std::string BuildOf(const MemberInput& member, const CellInput& cell) {
  return member.trainer_build.empty() ? cell.trainer_build : member.trainer_build;
}

std::string ClassName(const EvaluationSet& evaluation, int32_t label) {
  if (label < 0) return "undefined";
  const size_t at = static_cast<size_t>(label);
  return at < evaluation.class_names.size() ? evaluation.class_names[at] : std::to_string(label);
}

const CellFacts& CellOf(const Gathered& gathered, uint32_t index) {
  const auto cell = std::ranges::find_if(
      gathered.cells, [&](const CellFacts& one) { return one.input->index == index; });
  NF_CHECK(cell != gathered.cells.end());
  return *cell;
}

}  // namespace noisefloor::report
