#include "coordinator/report/worst_classes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "fmt/format.h"

#include "coordinator/analysis/hypothesis.h"
#include "coordinator/analysis/per_class.h"
#include "coordinator/analysis/shrinkage.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/pairing.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::ClassChurns;

// What is left out at once: a replicate of a block in all cells, or a whole block.
using Unit = std::pair<uint32_t, uint32_t>;

// What the examples of a set are sorted by: their classes, or a column of groups.
struct Sorting {
  std::string column;  // "": classes.
  analysis::Groups groups;
  std::vector<std::string> names;  // {groups.count}
  double level = 0.05;             // Of the one statement that is made of it.
};

// The churns of one cell and who its members are.
struct CellChurns {
  const CellFacts* cell = nullptr;
  ClassChurns churns;
  std::map<Unit, size_t> member_of;  // Places in ClassChurns::without.
};

bool HasNoise(const Gathered& gathered, const CellFacts& cell) {
  return !cell.all_fixed && !cell.under_trained && cell.shared.empty() &&
         gathered.sets[cell.set].labels_known;
}

// The cells that are judged together.
std::vector<const CellFacts*> CellsOf(const Gathered& gathered) {
  const CellFacts* most = nullptr;
  for (const CellFacts& cell : gathered.cells) {
    if (!HasNoise(gathered, cell) || cell.done.size() < 2) continue;  // It has nothing to say.
    if (most == nullptr || cell.free_seeded.size() > most->free_seeded.size()) most = &cell;
  }
  std::vector<const CellFacts*> cells;
  for (const CellFacts& cell : gathered.cells) {
    if (most == nullptr || !HasNoise(gathered, cell) || cell.set != most->set) continue;
    if (cell.input->plan == most->input->plan) cells.push_back(&cell);
  }
  return cells;
}

std::vector<size_t> Answered(const Gathered& gathered, const CellFacts& cell) {
  std::vector<size_t> members;
  std::ranges::copy_if(cell.done, std::back_inserter(members),
                       [&](size_t m) { return gathered.members[m].row.has_value(); });
  return members;
}

// The members with answers of each cell. Where members are what is left out, those whose replicate
// every cell of their block has: of a cell that goes on whole without a replicate that it lacks, no
// error would be seen. Less than three have none to see.
std::vector<std::vector<size_t>> MembersOf(const Gathered& gathered,
                                           const std::vector<const CellFacts*>& cells,
                                           bool blocks) {
  const auto replicate_of = [&](size_t m) { return gathered.members[m].input->replicate; };
  const size_t least = blocks ? 2 : 3;
  std::vector<std::vector<size_t>> of_cells;
  std::map<uint32_t, size_t> cells_in;  // By block.
  std::map<Unit, size_t> cells_with;
  for (const CellFacts* cell : cells) {
    std::vector<size_t>& members = of_cells.emplace_back(Answered(gathered, *cell));
    if (members.size() < least) members.clear();
    if (members.empty()) continue;
    ++cells_in[cell->input->block];
    for (const size_t m : members) ++cells_with[{cell->input->block, replicate_of(m)}];
  }
  for (size_t c = 0; c < cells.size() && !blocks; ++c) {
    const uint32_t block = cells[c]->input->block;
    std::erase_if(of_cells[c], [&](size_t m) {
      return cells_with[{block, replicate_of(m)}] < cells_in[block];
    });
    if (of_cells[c].size() < least) of_cells[c].clear();
  }
  return of_cells;
}

std::vector<CellChurns> ChurnsOf(const Gathered& gathered,
                                 const std::vector<const CellFacts*>& cells, bool blocks,
                                 const Sorting& sorting) {
  std::vector<CellChurns> all;
  const std::vector<std::vector<size_t>> members = MembersOf(gathered, cells, blocks);
  for (size_t c = 0; c < cells.size(); ++c) {
    if (members[c].empty()) continue;
    const CellFacts* cell = cells[c];
    const Answers answers = AnswersOf(gathered, members[c]);
    CellChurns& of_cell = all.emplace_back();
    of_cell.cell = cell;
    of_cell.churns = analysis::ChurnsByGroup(*answers.matrix, sorting.groups);
    for (size_t m = 0; m < of_cell.churns.without.size(); ++m) {
      const uint32_t replicate = gathered.members[answers.members[m]].input->replicate;
      of_cell.member_of[{cell->input->block, replicate}] = m;
    }
  }
  return all;
}

std::vector<double> MeanOverCells(const std::vector<const std::vector<double>*>& of_cells) {
  std::vector<double> mean(of_cells[0]->size(), 0.0);
  for (const std::vector<double>* churns : of_cells) {
    for (size_t k = 0; k < mean.size(); ++k) {
      mean[k] += (*churns)[k] / static_cast<double>(of_cells.size());
    }
  }
  return mean;
}

// The means over cells without each unit. Empty where leaving one out leaves nothing.
std::vector<std::vector<double>> LeaveOneOut(const std::vector<CellChurns>& cells, bool blocks) {
  std::set<Unit> units;
  for (const CellChurns& cell : cells) {
    if (blocks) units.insert({cell.cell->input->block, 0});
    if (blocks) continue;
    for (const auto& [unit, place] : cell.member_of) units.insert(unit);
  }
  std::vector<std::vector<double>> without;
  for (const Unit& unit : units) {
    std::vector<const std::vector<double>*> left;
    for (const CellChurns& cell : cells) {
      const auto member = cell.member_of.find(unit);
      if (blocks) {
        if (cell.cell->input->block != unit.first) left.push_back(&cell.churns.all);
      } else if (member == cell.member_of.end()) {
        left.push_back(&cell.churns.all);
      } else {
        left.push_back(&cell.churns.without[member->second]);
      }
    }
    if (left.empty()) return {};
    without.push_back(MeanOverCells(left));
  }
  return without;
}

constexpr size_t kMostNamed = 3;

std::string TextOf(const WorstClasses& worst, double overall) {
  const auto all = static_cast<int64_t>(worst.churn.size());
  const bool groups = !worst.column.empty();
  const std::string things = groups ? "groups of " + worst.column : "classes";
  if (worst.kept.size() == worst.churn.size()) {
    return fmt::format("{}: the {} {} are not told apart by their churn (n = {}).", worst.plan, all,
                       things, worst.n);
  }
  if (worst.kept.size() > kMostNamed) {
    return fmt::format(
        "{}: which {} has the most churn is not told (n = {}): {} of {} may have it (95 %).",
        worst.plan, groups ? "group of " + worst.column : "class", worst.n, worst.kept.size(), all);
  }
  std::string names;
  for (size_t k = 0; k < worst.kept.size(); ++k) {
    const bool last = k + 1 == worst.kept.size();
    names += (k == 0 ? "" : last ? " or " : ", ") + worst.kept[k];
  }
  // The largest of many is too large by chance.
  std::string churns;
  for (const std::string& name : worst.kept) {
    const auto of_class = std::ranges::find(worst.churn, name, &ClassChurn::name);
    churns += (churns.empty() ? "" : " and ") + Percent(of_class->shrunken, 1);
  }
  // n is of members: nothing is said of other examples of the group.
  return fmt::format(
      "{}: {}{} pays most (95 %{}, n = {}): churn {}, shrunk as the largest of many, beside "
      "{}, the mean over {}.",
      worst.plan, groups ? worst.column + " " : "", names, groups ? " on these test examples" : "",
      worst.n, churns, Percent(overall, 1), things);
}

WorstClasses WorstOf(const Gathered& gathered, const std::vector<const CellFacts*>& of_plan,
                     const Sorting& sorting) {
  WorstClasses worst;
  std::set<uint32_t> block_numbers;
  for (const CellFacts* cell : of_plan) {
    if (Answered(gathered, *cell).size() > 1) block_numbers.insert(cell->input->block);
  }
  const size_t block_count = block_numbers.size();
  const bool blocks = block_count > 1 && !ReplicatesAreDraws(*of_plan[0], block_count);
  const std::vector<CellChurns> cells = ChurnsOf(gathered, of_plan, blocks, sorting);
  if (cells.empty()) return worst;
  const CellFacts& first = *cells[0].cell;
  std::vector<const std::vector<double>*> all;
  for (const CellChurns& cell : cells) all.push_back(&cell.churns.all);
  const std::vector<double> churn = MeanOverCells(all);
  if (churn.size() < 2) return worst;  // One has nothing to be told from.
  if (std::ranges::all_of(churn, [](double value) { return value == 0; })) return worst;
  const std::vector<std::vector<double>> without = LeaveOneOut(cells, blocks);
  if (without.empty()) return worst;  // Nothing can be left out: nothing is told apart.
  std::set<std::string> settings;
  for (const CellChurns& cell : cells) settings.insert(cell.cell->axes_label);
  worst.column = sorting.column;
  worst.plan =
      first.input->plan + AtOneDraw(NamesOf(first.held), static_cast<int64_t>(block_count));
  if (settings.size() > 1) {
    worst.plan += fmt::format(", the mean over {} settings", settings.size());
  }
  worst.n = static_cast<int64_t>(without.size());
  // Below three nothing is known of how uncertain they are.
  const std::vector<double> shrunken =
      without.size() >= 3 ? analysis::ShrunkenToMean(churn, without) : churn;
  for (size_t k = 0; k < churn.size(); ++k) {
    const auto group = static_cast<size_t>(cells[0].churns.labels[k]);
    worst.churn.push_back({sorting.names[group], churn[k], shrunken[k]});
  }
  // Of so few a name is told once any is left out, and of those that are alike any could be: all
  // that could be named share the level.
  const double level = churn.size() <= kMostNamed + 1
                           ? sorting.level / static_cast<double>(churn.size())
                           : sorting.level;
  std::vector<size_t> kept = analysis::MayBeLargest(churn, without, level);
  std::ranges::stable_sort(kept, [&](size_t a, size_t b) { return churn[a] > churn[b]; });
  for (const size_t k : kept) worst.kept.push_back(worst.churn[k].name);
  worst.text = TextOf(worst, analysis::MeanOf(churn));
  return worst;
}

}  // namespace

WorstClasses BuildWorstClasses(const Gathered& gathered) {
  const std::vector<const CellFacts*> cells = CellsOf(gathered);
  if (cells.empty()) return {};
  const EvaluationSet& evaluation = *gathered.sets[cells[0]->set].input;
  Sorting sorting = {.groups = {evaluation.labels, evaluation.classes}};
  for (int32_t k = 0; k < evaluation.classes; ++k) {
    sorting.names.push_back(ClassName(evaluation, k));
  }
  return WorstOf(gathered, cells, sorting);
}

std::vector<WorstClasses> BuildWorstGroups(const Gathered& gathered) {
  std::vector<WorstClasses> worst;
  const std::vector<const CellFacts*> cells = CellsOf(gathered);
  if (cells.empty()) return worst;
  std::vector<const ExampleGroups*> columns;  // That tell some apart.
  for (const ExampleGroups& column : gathered.sets[cells[0]->set].input->groups) {
    if (column.values.size() > 1) columns.push_back(&column);
  }
  for (const ExampleGroups* column : columns) {
    WorstClasses of_column =
        WorstOf(gathered, cells,
                {.column = column->column,
                 .groups = {column->of_example, static_cast<int32_t>(column->values.size())},
                 .names = column->values,
                 .level = 0.05 / static_cast<double>(columns.size())});
    if (!of_column.text.empty()) worst.push_back(std::move(of_column));
  }
  return worst;
}

}  // namespace noisefloor::report
