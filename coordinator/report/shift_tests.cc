#include "coordinator/report/shift_tests.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "fmt/format.h"

#include "coordinator/analysis/hypothesis.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/pairing.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Exchange;
using analysis::Sides;

// The cells of one setting in one block, one for each side: class or stack.
using Block = std::vector<const CellFacts*>;

// What is exchanged, block by block.
struct Design {
  std::vector<Sides> blocks;
  std::vector<int64_t> replicates;  // Of each block.
  Exchange exchange = Exchange::kWithinReplicates;
  int64_t total = 0;  // Replicates over blocks.
  size_t set = 0;     // Whose members `blocks` names.
};

void AddRows(const Gathered& gathered, const std::vector<std::vector<size_t>>& matched,
             Sides& sides) {
  sides.resize(matched.size());
  for (size_t s = 0; s < matched.size(); ++s) {
    for (const size_t m : matched[s]) sides[s].push_back(*gathered.members[m].row);
  }
}

Design DesignOf(const Gathered& gathered, const std::vector<Block>& blocks) {
  Design design;
  const CellFacts& cell = *blocks[0][0];
  design.set = cell.set;
  if (!cell.seeded_free) design.exchange = Exchange::kAcrossReplicates;
  // Where every replicate of every block is a draw of its own, they are one block.
  const bool joined = ReplicatesAreDraws(cell, blocks.size());
  for (const Block& cells : blocks) {
    const auto matched = WithPredictions(gathered, MatchReplicates(gathered, cells));
    const auto n = static_cast<int64_t>(matched[0].size());
    if (n == 0) continue;
    design.total += n;
    if (design.blocks.empty() || !joined) {
      design.blocks.emplace_back();
      design.replicates.push_back(0);
    }
    AddRows(gathered, matched, design.blocks.back());
    design.replicates.back() += n;
  }
  return design;
}

// On how many answers any two members differ, of each evaluation set: every test of a member asks
// for the same pairs.
class PairsOfSets {
 public:
  explicit PairsOfSets(const Gathered& gathered) : gathered_(gathered) {}
  analysis::KnownPairs& Of(size_t set) {
    return pairs_.try_emplace(set, *gathered_.sets[set].packed).first->second;
  }

 private:
  const Gathered& gathered_;
  std::map<size_t, analysis::KnownPairs> pairs_;
};

ShiftCandidate RunTest(PairsOfSets& pairs, const Design& design, int64_t sides, ShiftClaim& claim) {
  claim.replicates = design.total;
  claim.blocks = std::ssize(design.blocks);
  claim.least_p = analysis::LeastP(sides, design.replicates, design.exchange);
  if (design.total > 0) {
    const analysis::ShiftTest test =
        analysis::TestShift(pairs.Of(design.set), design.blocks, design.exchange);
    claim.p = test.p;
    claim.arrangements = test.arrangements;
  }
  return {&claim, sides, design.replicates, design.exchange};
}

// "5 replicates", "3 blocks of 2 replicates"
std::string SizeOf(const std::vector<int64_t>& replicates) {
  if (replicates.empty()) return "0 replicates";
  const auto [least, most] = std::minmax_element(replicates.begin(), replicates.end());
  std::string of_block = *least == *most ? Counted(*most, "replicate")
                                         : fmt::format("{} to {} replicates", *least, *most);
  if (replicates.size() == 1) return of_block;
  return fmt::format("{} blocks of {}", replicates.size(), of_block);
}

std::string CannotText(const ShiftCandidate& candidate, size_t family, double level) {
  const auto blocks = static_cast<int64_t>(std::max<size_t>(1, candidate.replicates.size()));
  const std::optional<int64_t> needed = analysis::ReplicatesFor(
      level / static_cast<double>(family), candidate.sides, blocks, candidate.exchange);
  const std::string among = family == 1 ? "" : fmt::format(" among {}", family);
  const std::string enough = !needed       ? "no number of them"
                             : blocks == 1 ? std::to_string(*needed)
                                           : fmt::format("{} in each block", *needed);
  return fmt::format("{} cannot carry a test{}: the least possible p is {}; {} could",
                     SizeOf(candidate.replicates), among, PValue(candidate.claim->least_p), enough);
}

// Plan, point of the axes, evaluation set and what else is equal on all sides: of classes the
// stack, of stacks the class.
using SettingKey = std::tuple<std::string, std::vector<AxisSetting>, size_t, std::string>;

class Settings {
 public:
  Settings(const Gathered& gathered, Factor factor)
      : factor_(factor),
        names_besides_(factor == Factor::kHardware ? HaveSeveralStacks(gathered.cells)
                                                   : Varies(gathered.cells, &CellInput::hardware)) {
    for (const CellFacts& cell : gathered.cells) {
      const std::string& stack = cell.input->stack;
      if (stack.empty()) continue;
      stack_of_.emplace(cell.input->hardware, stack);
      if (any_stack_.empty()) any_stack_ = stack;
    }
  }
  SettingKey KeyOf(const CellFacts& cell) const {
    return {cell.input->plan, cell.input->axes, cell.input->evaluation, Besides(cell)};
  }
  const std::string& SideOf(const CellFacts& cell) const {
    return factor_ == Factor::kHardware ? cell.input->hardware : cell.input->stack;
  }
  // Its name for people.
  std::string NameOf(const CellFacts& cell) const {
    return factor_ == Factor::kHardware ? HardwareName(cell.input->hardware) : cell.input->stack;
  }
  // What a test of the setting of this cell is called, as comparisons are.
  std::string NameOfSetting(const CellFacts& cell) const {
    std::string besides = Besides(cell);
    if (factor_ == Factor::kStack) besides = HardwareName(besides);
    return SettingOf(cell) + (names_besides_ && !besides.empty() ? ", " + besides : "");
  }
  Factor factor() const { return factor_; }

 private:
  std::string Besides(const CellFacts& cell) const {
    if (factor_ == Factor::kStack) return cell.input->hardware;
    if (!cell.input->stack.empty()) return cell.input->stack;
    // Nobody has begun it: it stands beside those of its class, else beside any.
    const auto of_class = stack_of_.find(cell.input->hardware);
    return of_class == stack_of_.end() ? any_stack_ : of_class->second;
  }

  Factor factor_;
  bool names_besides_;  // The study has several of what is equal on all sides.
  std::map<std::string, std::string> stack_of_;  // The first of each class.
  std::string any_stack_;                        // "": nobody has begun.
};

// The cells of one setting: for each block those of the sides, the same sides in each; empty where
// there is one side.
std::vector<Block> BlocksOf(const Settings& settings, const std::vector<const CellFacts*>& cells) {
  std::map<uint32_t, std::map<std::string, const CellFacts*>> by_block;
  std::set<std::string> sides;
  for (const CellFacts* cell : cells) {
    sides.insert(settings.SideOf(*cell));
    by_block[cell->input->block].emplace(settings.SideOf(*cell), cell);
  }
  std::vector<Block> blocks;
  // Where a cell has no stack yet, nobody has begun it.
  if (sides.size() < 2 || (settings.factor() == Factor::kStack && sides.contains(""))) {
    return blocks;
  }
  for (const auto& [number, of_side] : by_block) {
    if (of_side.size() != sides.size()) continue;
    Block& block = blocks.emplace_back();
    for (const auto& [side, cell] : of_side) block.push_back(cell);
  }
  return blocks;
}

SettingTest FactsOf(const Settings& settings, const std::vector<Block>& blocks,
                    const Design& design) {
  const CellFacts& first = *blocks[0][0];
  SettingTest test;
  test.factor = settings.factor();
  test.setting = settings.NameOfSetting(first);
  test.plan = first.input->plan;
  test.axes_label = first.axes_label;
  for (const CellFacts* cell : blocks[0]) {
    test.sides.push_back(settings.NameOf(*cell));
  }
  test.held = NamesOf(first.held);
  // Where the blocks are the draws, those that were exchanged in.
  test.blocks = static_cast<int64_t>(first.held.empty() ? blocks.size() : design.replicates.size());
  test.under_trained = first.under_trained;
  return test;
}

std::vector<Block> BlocksOf(const Gathered& gathered, const Comparison& comparison) {
  std::map<uint32_t, const CellFacts*> cells;
  for (const CellFacts& cell : gathered.cells) cells[cell.input->index] = &cell;
  std::vector<Block> blocks;
  for (size_t k = 0; k < comparison.cells_a.size(); ++k) {
    blocks.push_back({cells.at(comparison.cells_a[k]), cells.at(comparison.cells_b[k])});
  }
  return blocks;
}

// Tests of two sides; `all` are the places of those of all sides of a setting in `tests`.
void TestComparisons(const Gathered& gathered, PairsOfSets& pairs, const Settings& settings,
                     const std::vector<SettingTest>& tests, const std::map<SettingKey, size_t>& all,
                     std::vector<Comparison>& comparisons,
                     std::vector<ShiftCandidate>& of_several) {
  for (Comparison& comparison : comparisons) {
    ShiftClaim& claim = comparison.shift;
    const std::vector<Block> blocks = BlocksOf(gathered, comparison);
    const auto of_all = all.find(settings.KeyOf(*blocks[0][0]));
    // Side A may be in a test of its own stack.
    if (of_all != all.end() && !comparison.mixes_stacks) comparison.setting_test = of_all->second;
    if (comparison.all_fixed) {
      claim.note = "nothing is free: its bits are equal or they are not";
    } else if (!blocks[0][0]->shared.empty()) {
      claim.note = "not tested: " + SharingText(NamesOf(blocks[0][0]->shared));
    } else if (!comparison.setting_test) {
      claim.note = comparison.mixes_stacks
                       ? "the stacks differ as well"
                       : fmt::format("no block has all {}", SidesWord(comparison.factor));
    } else {
      const ShiftCandidate candidate = RunTest(pairs, DesignOf(gathered, blocks), 2, claim);
      if (IsOneOfSeveral(tests[*comparison.setting_test])) {
        of_several.push_back(candidate);
      } else {
        NoteWhatCannotBeClaimed({candidate}, analysis::kLevel);
      }
    }
  }
}

}  // namespace

std::vector<SettingTest> BuildShiftTests(const Gathered& gathered, Factor factor, double level,
                                         std::vector<Comparison>& comparisons,
                                         std::vector<ShiftCandidate>& of_several) {
  const Settings settings(gathered, factor);
  std::map<SettingKey, std::vector<const CellFacts*>> cells_of;
  for (const CellFacts& cell : gathered.cells) {
    if (!cell.all_fixed && cell.shared.empty()) cells_of[settings.KeyOf(cell)].push_back(&cell);
  }
  std::vector<SettingTest> tests;
  tests.reserve(cells_of.size());  // Candidates point into it.
  std::vector<ShiftCandidate> family;
  PairsOfSets pairs(gathered);
  std::map<SettingKey, size_t> all;
  for (const auto& [key, cells] : cells_of) {
    const std::vector<Block> blocks = BlocksOf(settings, cells);
    if (blocks.empty()) continue;
    const Design design = DesignOf(gathered, blocks);
    SettingTest& test = tests.emplace_back(FactsOf(settings, blocks, design));
    const auto sides = static_cast<int64_t>(test.sides.size());
    family.push_back(RunTest(pairs, design, sides, test.shift));
    all[key] = tests.size() - 1;
  }
  NoteWhatCannotBeClaimed(family, level);
  TestComparisons(gathered, pairs, settings, tests, all, comparisons, of_several);
  return tests;
}

void NoteWhatCannotBeClaimed(const std::vector<ShiftCandidate>& family, double level) {
  std::vector<double> least;
  for (const ShiftCandidate& candidate : family) least.push_back(candidate.claim->least_p);
  const std::vector<bool> can = analysis::CanBeClaimed(least, level);
  for (size_t k = 0; k < family.size(); ++k) {
    if (!can[k]) family[k].claim->note = CannotText(family[k], family.size(), level);
  }
}

bool IsOneOfSeveral(const SettingTest& all) { return all.sides.size() > 2; }

void HoldToAll(const SettingTest& all, Comparison& comparison) {
  ShiftClaim& claim = comparison.shift;
  if (!all.shift.p_holm && claim.note.empty()) {
    claim.note = fmt::format("of all {} at once: {}", SidesWord(comparison.factor), all.shift.note);
  }
  if (!all.shift.p_holm) {
    claim.p_holm = std::nullopt;
  } else if (claim.p_holm && *claim.p_holm <= *all.shift.p_holm) {
    claim.p_holm = all.shift.p_holm;
    claim.family = all.shift.family;
  }
  claim.shown = claim.p_holm && *claim.p_holm <= analysis::kLevel;
}

}  // namespace noisefloor::report
