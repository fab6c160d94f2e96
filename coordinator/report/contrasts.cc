#include "coordinator/report/contrasts.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/analysis/contrast.h"
#include "coordinator/analysis/hypothesis.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/report/contrast_side.h"
#include "coordinator/report/contrast_words.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Jackknifed;
using analysis::Scale;

constexpr std::array<const char*, kFigureKinds> kFigureNames = {"churn", "accuracy", "accuracy_sd"};

Scale ScaleOf(FigureKind figure) {
  return figure == kAccuracySd ? Scale::kRatio : Scale::kDifference;
}

// What is asked: which part of a cell is the side. The rest has to be equal.
struct Asked {
  Question question = Question::kAxis;
  std::string subject;
  std::vector<std::string> paths;  // Of an axis.
  bool stack_is_side = false;      // Of hardware: each class has its one stack.
};

bool IsOn(const Asked& asked, const AxisSetting& axis) {
  return std::ranges::find(asked.paths, axis.path) != asked.paths.end();
}

// Absent where a cell is on no side. Values in the order of the subject's names.
std::optional<std::string> SideOf(const Asked& asked, const CellInput& cell) {
  if (asked.question == Question::kPlan) return cell.plan;
  if (asked.question == Question::kHardware) return HardwareName(cell.hardware);
  if (asked.question == Question::kStack) {  // A cell without a stack was not begun.
    return cell.stack.empty() ? std::nullopt : std::optional(cell.stack);
  }
  std::vector<std::string> values;
  for (const std::string& path : asked.paths) {
    const auto axis = std::ranges::find(cell.axes, path, &AxisSetting::path);
    if (axis == cell.axes.end()) return std::nullopt;
    values.push_back(axis->value);
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

// What is equal on both sides.
struct Rest {
  std::vector<AxisSetting> axes;
  std::string hardware;
  std::string stack;
  size_t evaluation = 0;
  friend auto operator<=>(const Rest&, const Rest&) = default;
};

Rest RestOf(const Asked& asked, const CellInput& cell) {
  Rest rest{cell.axes, cell.hardware, cell.stack, cell.evaluation};
  std::erase_if(rest.axes, [&](const AxisSetting& axis) { return IsOn(asked, axis); });
  if (asked.question == Question::kHardware) rest.hardware.clear();
  if (asked.question == Question::kStack || asked.stack_is_side) rest.stack.clear();
  return rest;
}

// The last part of a path, or all of it where another axis ends alike.
std::string NameOf(const std::string& path, const std::vector<std::vector<AxisColumn>>& axes) {
  for (const std::vector<AxisColumn>& axis : axes) {
    for (const AxisColumn& column : axis) {
      if (column.path != path && LastPart(column.path) == LastPart(path)) return path;
    }
  }
  return LastPart(path);
}

std::vector<Asked> Questions(const Gathered& gathered) {
  std::vector<Asked> questions;
  for (const std::vector<AxisColumn>& axis : gathered.input->sweep.axes) {
    Asked asked;
    std::vector<std::string> names;
    for (const AxisColumn& column : axis) {
      asked.paths.push_back(column.path);
      names.push_back(NameOf(column.path, gathered.input->sweep.axes));
    }
    asked.subject = fmt::format("{}", fmt::join(names, ", "));
    questions.push_back(std::move(asked));
  }
  questions.push_back({Question::kPlan, "plan", {}, false});
  std::map<std::string, std::string> stack_of;
  bool one_stack_each = true;
  for (const CellFacts& cell : gathered.cells) {
    const std::string& stack = cell.input->stack;
    one_stack_each &= stack_of.emplace(cell.input->hardware, stack).first->second == stack;
  }
  questions.push_back({Question::kHardware, "hardware", {}, one_stack_each});
  questions.push_back({Question::kStack, "stack", {}, false});
  return questions;
}

// All settings of a question, of one plan where it is not about plans: for each of them its sides.
using Settings = std::map<Rest, std::map<std::string, ContrastSide>>;
struct Board {
  std::string plan;
  std::vector<std::string> sides;  // As they first come.
  Settings settings;
};

std::vector<Board> BoardsOf(const Gathered& gathered, const Asked& asked) {
  std::vector<Board> boards;
  std::map<std::string, size_t> places;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.all_fixed || !cell.shared.empty()) continue;
    const std::optional<std::string> side = SideOf(asked, *cell.input);
    if (!side) continue;
    const std::string plan = asked.question == Question::kPlan ? "" : cell.input->plan;
    const auto [place, is_new] = places.emplace(plan, boards.size());
    if (is_new) boards.push_back({plan, {}, {}});
    Board& board = boards[place->second];
    if (std::ranges::find(board.sides, *side) == board.sides.end()) board.sides.push_back(*side);
    board.settings[RestOf(asked, *cell.input)].try_emplace(*side, gathered).first->second.Add(cell);
  }
  return boards;
}

// Both sides in one setting.
struct Pair {
  const Rest* rest = nullptr;
  ContrastSide* a = nullptr;
  ContrastSide* b = nullptr;
};

constexpr size_t kLeastDraws = 3;

// How the draws of the sides belong together.
struct Draws {
  bool blocks_a = false;
  bool blocks_b = false;
  bool paired = true;
};

Draws DrawsOf(const std::vector<Pair>& pairs) {
  Draws draws;
  bool many_blocks = true;
  bool share = true;
  for (const Pair& pair : pairs) {
    draws.blocks_a |= !pair.a->ReplicatesAreItsDraws();
    draws.blocks_b |= !pair.b->ReplicatesAreItsDraws();
    many_blocks &= std::min(pair.a->cells().size(), pair.b->cells().size()) >= kLeastDraws;
    share &= pair.a->SharesDrawsWith(*pair.b);
  }
  // A block is a draw of everything that it holds, on both sides.
  if (draws.blocks_a != draws.blocks_b && many_blocks) draws.blocks_a = draws.blocks_b = true;
  draws.paired = draws.blocks_a == draws.blocks_b && (draws.blocks_a || share);
  return draws;
}

std::vector<Pair> PairsOf(Board& board, const std::string& a, const std::string& b) {
  std::vector<Pair> pairs;
  for (auto& [rest, sides] : board.settings) {
    const auto side_a = sides.find(a);
    const auto side_b = sides.find(b);
    if (side_a == sides.end() || side_b == sides.end()) continue;
    pairs.push_back({&rest, &side_a->second, &side_b->second});
  }
  return pairs;
}

// The settings that a figure is the mean of, and the draws that all of them have.
struct Chosen {
  std::vector<Pair> pairs;
  DrawIds a;
  DrawIds b;
  size_t n() const { return std::min(a.size(), b.size()); }
};

// Settings with most draws first; one that would leave fewer than three in common, because its
// members have diverged or are not trained yet, must not take the others with it.
Chosen Choose(const std::vector<Pair>& pairs, FigureKind figure, const Draws& draws) {
  std::vector<Chosen> candidates;
  for (const Pair& pair : pairs) {
    Chosen alone{
        {pair}, pair.a->Draws(figure, draws.blocks_a), pair.b->Draws(figure, draws.blocks_b)};
    if (draws.paired) alone.a = alone.b = CommonDraws(alone.a, alone.b);
    if (alone.n() > 0) candidates.push_back(std::move(alone));
  }
  std::ranges::stable_sort(candidates, std::greater<>(), &Chosen::n);
  Chosen chosen;
  for (const Chosen& next : candidates) {
    if (chosen.pairs.empty()) {
      chosen = next;
      continue;
    }
    Chosen both{chosen.pairs, CommonDraws(chosen.a, next.a), CommonDraws(chosen.b, next.b)};
    if (both.n() < std::min(kLeastDraws, chosen.n())) continue;
    both.pairs.push_back(next.pairs[0]);
    chosen = std::move(both);
  }
  return chosen;
}

// A figure of each side: the mean over the settings that have it on both.
struct SidesOfFigure {
  Jackknifed a;
  Jackknifed b;
  int64_t settings = 0;
};

// Absent without a setting.
std::optional<SidesOfFigure> SidesOf(const Chosen& chosen, FigureKind figure, const Draws& draws) {
  std::vector<Jackknifed> a;
  std::vector<Jackknifed> b;
  for (const Pair& pair : chosen.pairs) {
    const std::optional<Jackknifed>& figure_a = pair.a->Figure(figure, draws.blocks_a, chosen.a);
    const std::optional<Jackknifed>& figure_b = pair.b->Figure(figure, draws.blocks_b, chosen.b);
    if (!figure_a || !figure_b) continue;
    a.push_back(*figure_a);
    b.push_back(*figure_b);
  }
  if (a.empty()) return std::nullopt;
  return SidesOfFigure{analysis::MeanOfFigures(a), analysis::MeanOfFigures(b),
                       static_cast<int64_t>(a.size())};
}

Estimate TooFew(const std::string& unit, const Chosen& chosen) {
  return analysis::Absent(unit, static_cast<int64_t>(chosen.n()),
                          "too few draws that both sides have done");
}

FigureContrast ContrastOf(const Chosen& chosen, FigureKind figure, const Draws& draws) {
  const std::optional<SidesOfFigure> sides = SidesOf(chosen, figure, draws);
  FigureContrast out;
  out.figure = kFigureNames[figure];
  out.settings = sides ? sides->settings : 0;
  if (!sides) {
    out.estimate = TooFew(figure == kAccuracySd ? "ratio" : "fraction", chosen);
    return out;
  }
  analysis::Contrast contrast =
      draws.paired ? analysis::PairedContrast(sides->a, sides->b, ScaleOf(figure), "fraction")
                   : analysis::UnpairedContrast(sides->a, sides->b, ScaleOf(figure), "fraction");
  out.estimate = std::move(contrast.estimate);
  if (figure != kAccuracySd) out.p = contrast.p;
  return out;
}

// How likely is a draw of B above one of A?
FigureContrast AboveOf(const Chosen& chosen, const Draws& draws) {
  const std::optional<SidesOfFigure> sides = SidesOf(chosen, kAccuracy, draws);
  FigureContrast out;
  out.figure = "accuracy_above";
  out.settings = sides ? sides->settings : 0;
  out.estimate = sides ? analysis::ProbabilityAbove(sides->a, sides->b, draws.paired)
                       : TooFew("fraction", chosen);
  return out;
}

// "cpu-amd-avx2, batch_norm=true"
std::string NameOf(const Pair& pair) {
  std::vector<std::string> parts;
  if (!pair.rest->hardware.empty()) parts.push_back(pair.rest->hardware);
  for (const AxisSetting& axis : pair.rest->axes) {
    parts.push_back(LastPart(axis.path) + "=" + axis.value);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void AddNew(const std::vector<std::string>& names, std::vector<std::string>& to) {
  for (const std::string& name : names) {
    if (std::ranges::find(to, name) == to.end()) to.push_back(name);
  }
}

void AddCells(const ContrastSide& side, std::vector<uint32_t>& cells, Contrast& out) {
  for (const CellFacts* cell : side.cells()) {
    cells.push_back(cell->input->index);
    out.under_trained |= cell->under_trained;
    AddNew(NamesOf(cell->held), out.held);
    if (side.cells().size() == 1) AddNew(NamesOf(cell->held), out.at_one_draw);
  }
}

std::optional<Contrast> ContrastOf(const Asked& asked, Board& board, const std::string& side_a,
                                   const std::string& side_b) {
  const std::vector<Pair> pairs = PairsOf(board, side_a, side_b);
  if (pairs.empty()) return std::nullopt;
  const Draws draws = DrawsOf(pairs);
  const Chosen of_accuracy = Choose(pairs, kAccuracy, draws);
  const Chosen of_churn = Choose(pairs, kChurn, draws);
  const Chosen& chosen = of_accuracy.pairs.empty() ? of_churn : of_accuracy;
  if (chosen.pairs.empty()) return std::nullopt;  // Nothing is trained that could be compared.
  Contrast out;
  out.question = asked.question;
  out.subject = asked.subject;
  out.a = side_a;
  out.b = side_b;
  out.plan = board.plan;
  out.settings = static_cast<int64_t>(chosen.pairs.size());
  out.left_out = static_cast<int64_t>(pairs.size()) - out.settings;
  out.over = out.settings == 1 ? NameOf(chosen.pairs[0])
                               : fmt::format("the mean of {} settings", out.settings);
  out.draws = static_cast<int64_t>(chosen.n());
  out.paired = draws.paired;
  out.over_blocks = chosen.a.size() <= chosen.b.size() ? draws.blocks_a : draws.blocks_b;
  for (const Pair& pair : chosen.pairs) {
    AddCells(*pair.a, out.cells_a, out);
    AddCells(*pair.b, out.cells_b, out);
    out.stacks_differ |= asked.question == Question::kHardware &&
                         pair.a->cells()[0]->input->stack != pair.b->cells()[0]->input->stack;
  }
  out.figures.push_back(ContrastOf(of_churn, kChurn, draws));
  out.figures.push_back(ContrastOf(of_accuracy, kAccuracy, draws));
  out.figures.push_back(ContrastOf(Choose(pairs, kAccuracySd, draws), kAccuracySd, draws));
  out.figures.push_back(AboveOf(of_accuracy, draws));
  return out;
}

}  // namespace

std::vector<Contrast> BuildContrasts(const Gathered& gathered) {
  std::vector<Contrast> contrasts;
  for (const Asked& asked : Questions(gathered)) {
    for (Board& board : BoardsOf(gathered, asked)) {
      for (size_t i = 0; i < board.sides.size(); ++i) {
        // An axis has a base that its other values are set against.
        if (asked.question == Question::kAxis && i > 0) break;
        for (size_t j = i + 1; j < board.sides.size(); ++j) {
          std::optional<Contrast> contrast =
              ContrastOf(asked, board, board.sides[i], board.sides[j]);
          if (contrast) contrasts.push_back(std::move(*contrast));
        }
      }
    }
  }
  return contrasts;
}

}  // namespace noisefloor::report
