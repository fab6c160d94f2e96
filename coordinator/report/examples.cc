#include "coordinator/report/examples.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "fmt/format.h"

#include "coordinator/analysis/divergent.h"
#include "coordinator/analysis/enrichment.h"
#include "coordinator/analysis/hypothesis.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

Picture PictureOf(const EvaluationSet& evaluation, int64_t example) {
  const size_t size = static_cast<size_t>(evaluation.height) *
                      static_cast<size_t>(evaluation.width) *
                      static_cast<size_t>(evaluation.channels);
  const size_t begin = static_cast<size_t>(example) * size;
  if (size == 0 || evaluation.images.size() < begin + size) return {};
  const auto* pixels = reinterpret_cast<const char*>(evaluation.images.data() + begin);
  Picture picture = {evaluation.height, evaluation.width, evaluation.channels, {}};
  absl::Base64Escape(absl::string_view(pixels, size), &picture.pixels);
  return picture;
}

struct Pool {
  std::vector<size_t> members;  // By cell and replicate.
  std::string who;
  bool can_choose = false;       // Some cell has two members that select, and someone measures.
  bool learned = false;          // None is under-trained.
  std::set<uint32_t> selecting;  // Every other number of the replicates that are in it.
  std::set<NoiseSource> held;  // By some cell: replicates share its draws, and n does not count it.

  bool Selects(const MemberInput& member) const { return selecting.contains(member.replicate); }
};

// The members with answers on the first evaluation set of the cells that `admits` lets in.
template <typename Admits>
Pool PoolOf(const Gathered& gathered, const std::string& who, const Admits& admits) {
  Pool pool = {.who = who};
  std::set<uint32_t> replicates;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.set != 0 || !admits(cell)) continue;
    pool.held.insert(cell.held.begin(), cell.held.end());
    for (const size_t m : cell.done) {
      if (!gathered.members[m].row) continue;
      pool.members.push_back(m);
      replicates.insert(gathered.members[m].input->replicate);
    }
  }
  bool selects = true;
  for (const uint32_t replicate : replicates) {
    if (selects) pool.selecting.insert(replicate);
    selects = !selects;
  }
  std::map<uint32_t, int64_t> selecting;  // By cell.
  bool measures = false;
  for (const size_t m : pool.members) {
    const MemberInput& member = *gathered.members[m].input;
    if (pool.Selects(member)) {
      ++selecting[member.cell];
    } else {
      measures = true;
    }
  }
  const bool pair = std::ranges::any_of(selecting, [](const auto& of) { return of.second >= 2; });
  pool.can_choose = pair && measures;
  return pool;
}

// Members whose disagreement means something: neither control (equal by promise) nor
// under-trained (equal to guessing), unless nothing else is there.
Pool ChoosePool(const Gathered& gathered) {
  Pool noisy = PoolOf(gathered, "members of all cohorts but control and under-trained ones",
                      [](const CellFacts& cell) {
                        return !cell.all_fixed && !cell.under_trained && cell.shared.empty();
                      });
  noisy.learned = true;
  if (noisy.can_choose) return noisy;
  return PoolOf(gathered, "all members whose draws are their own",
                [](const CellFacts& cell) { return cell.shared.empty(); });
}

analysis::CellMembers MembersOf(const Gathered& gathered, const Pool& pool) {
  Answers answers = AnswersOf(gathered, pool.members);
  analysis::CellMembers members{std::move(*answers.matrix), {}, {}};
  for (const size_t m : answers.members) {
    members.cells.push_back(gathered.members[m].input->cell);
    members.replicates.push_back(gathered.members[m].input->replicate);
  }
  return members;
}

DivergentExample ExampleOf(const Gathered& gathered, const Pool& pool,
                           analysis::Divergent divergent) {
  const EvaluationSet& evaluation = *gathered.sets.front().input;
  const size_t at = static_cast<size_t>(divergent.example);
  DivergentExample example;
  example.example = divergent.example;
  example.label = evaluation.labels[at];
  example.label_name = ClassName(evaluation, example.label);
  example.selected_by = divergent.selected_by;
  example.disagreement = std::move(divergent.disagreement);
  example.accuracy = std::move(divergent.accuracy);
  for (const size_t m : pool.members) {
    example.said.push_back(gathered.sets.front().answers->Row(*gathered.members[m].row)[at]);
  }
  example.picture = PictureOf(evaluation, divergent.example);
  return example;
}

// `thing`: an example, or a decision.
std::string NoteOf(const Pool& pool, const std::vector<bool>& selecting, std::string_view thing) {
  const auto choosing = std::ranges::count(selecting, true);
  const std::vector<NoiseSource> held(pool.held.begin(), pool.held.end());
  const std::string at =
      held.empty() ? ""
                   : fmt::format(" Where a plan holds {}, the figures are of its draws alone.",
                                 Listed(NamesOf(held)));
  return fmt::format(
      "Of {}, compared within their cohort only: chosen by the {} of every other replicate "
      "(most disagreeing pairs, at most {} {}s), measured on the {} others, so that "
      "choosing does not bias the figures; those of all {}s together are the mean of both "
      "ways (below six replicates: all but two choose, these measure, each two in turn). n counts "
      "replicates: members of one replicate share seeds.{}",
      pool.who, choosing, kMostExamples, thing, std::ssize(selecting) - choosing, thing, at);
}

// What the divergent ones are of: of decisions the examples they are on, each once, for those of
// one example are no draws of their own.
std::vector<int64_t> ExamplesOf(const EvaluationSet& evaluation,
                                const std::vector<int64_t>& divergent) {
  if (evaluation.attributes == 0) return divergent;
  std::set<int64_t> examples;
  for (const int64_t decision : divergent) examples.insert(decision / evaluation.attributes);
  return {examples.begin(), examples.end()};
}

// Classes, and groups of each column, among these; without p while members are still to come.
std::vector<DivergentGroup> GroupsOf(const EvaluationSet& evaluation,
                                     const std::vector<int64_t>& divergent, bool interim) {
  std::vector<DivergentGroup> rows;
  std::vector<std::optional<double>> p;
  const auto add = [&](const std::string& column, const analysis::Groups& groups,
                       const auto& name_of) {
    const auto enrichment = analysis::EnrichmentOfGroups(divergent, groups);
    for (size_t g = 0; g < enrichment.size(); ++g) {
      const analysis::Enrichment& one = enrichment[g];
      if (one.examples == 0) continue;
      rows.push_back({column, name_of(g), one.examples, one.chosen, one.ratio, {}, {}});
      p.emplace_back(one.p);
    }
  };
  if (evaluation.attributes == 0) {  // Else an example has many classes.
    add("", {evaluation.labels, evaluation.classes},
        [&](size_t g) { return ClassName(evaluation, static_cast<int32_t>(g)); });
  }
  const auto decisions = static_cast<size_t>(AnswersToOne(evaluation));
  for (const ExampleGroups& column : evaluation.groups) {
    std::vector<int32_t> of_example;
    for (size_t x = 0; x < column.of_example.size(); x += decisions) {
      of_example.push_back(column.of_example[x]);
    }
    add(column.column, {of_example, static_cast<int32_t>(column.values.size())},
        [&](size_t g) { return column.values[g]; });
  }
  if (interim) return rows;
  const std::vector<std::optional<double>> holm = analysis::Holm(p);
  for (size_t k = 0; k < rows.size(); ++k) {
    rows[k].p = p[k];
    rows[k].p_holm = holm[k];
  }
  return rows;
}

std::string GroupsText(const DivergentExamples& examples) {
  std::vector<std::string> names;
  for (const DivergentGroup& group : examples.groups) {
    const bool more = group.p_holm && *group.p_holm <= analysis::kLevel && *group.ratio.value > 1;
    if (!more) continue;
    names.push_back(fmt::format("{}{} ({}, {} times its share)",
                                group.column.empty() ? "" : group.column + " ", group.name,
                                group.divergent, Value(group.ratio)));
  }
  if (names.empty()) return "";
  return fmt::format(
      "Among the {} that all members together disagree on most, more often than "
      "other examples: {} (exact, after Holm over {} classes and groups).",
      examples.by_all, Listed(names), examples.groups.size());
}

DivergentExamples Nothing(const std::string& note) {
  DivergentExamples examples;
  examples.subset_disagreement = analysis::Absent("fraction", 0, note);
  examples.subset_accuracy = examples.subset_disagreement;
  examples.note = note;
  return examples;
}

}  // namespace

DivergentExamples BuildExamples(const Gathered& gathered) {
  const SetFacts& asked = gathered.sets.front();
  if (!asked.answers) return Nothing("No member has usable predictions.");
  if (!asked.labels_known) return Nothing("The labels of the evaluation set are not known.");
  const Pool pool = ChoosePool(gathered);
  if (!pool.can_choose) {
    return Nothing(
        "Needs a cohort with three members: every other replicate selects examples, the others "
        "measure on them.");
  }
  DivergentExamples examples;
  for (const size_t m : pool.members) {
    const MemberInput& member = *gathered.members[m].input;
    examples.members.push_back(member.id);
    examples.cells.push_back(member.cell);
    // By replicate, so that members of several cells which share their seeds stay together.
    examples.selecting.push_back(pool.Selects(member));
  }
  analysis::DivergentSet set = analysis::FindDivergent(
      MembersOf(gathered, pool), examples.selecting, asked.input->labels, kMostExamples);
  for (analysis::Divergent& divergent : set.examples) {
    examples.examples.push_back(ExampleOf(gathered, pool, std::move(divergent)));
  }
  examples.subset_disagreement = std::move(set.subset.disagreement);
  examples.subset_accuracy = std::move(set.subset.accuracy);
  const std::vector<int64_t> by_all = ExamplesOf(*asked.input, set.by_all);
  examples.by_all = std::ssize(by_all);
  if (!by_all.empty()) examples.groups = GroupsOf(*asked.input, by_all, gathered.interim);
  const std::string_view thing = AnswerWord(asked.input->attributes);
  examples.note = NoteOf(pool, examples.selecting, thing);
  // A claim, and not of members that guess.
  if (pool.learned) examples.groups_text = GroupsText(examples);
  if (examples.examples.empty()) {
    examples.note += fmt::format(" The choosing members agree on every {}.", thing);
  }
  return examples;
}

}  // namespace noisefloor::report
