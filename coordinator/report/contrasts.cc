#include "coordinator/report/contrasts.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
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

std::string SideOf(const Asked& asked, const CellInput& cell) {
  if (asked.question == Question::kPlan) return cell.plan;
  if (asked.question == Question::kHardware) return HardwareName(cell.hardware);
  if (asked.question == Question::kStack) return cell.stack;
  std::vector<std::string> values;
  for (const AxisSetting& axis : cell.axes) {
    if (IsOn(asked, axis)) values.push_back(axis.value);
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

std::vector<Asked> Questions(const Gathered& gathered) {
  std::vector<Asked> questions;
  for (const std::vector<AxisColumn>& axis : gathered.input->sweep.axes) {
    Asked asked;
    std::vector<std::string> names;
    for (const AxisColumn& column : axis) {
      asked.paths.push_back(column.path);
      names.push_back(column.path.substr(column.path.rfind('.') + 1));
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
    const std::string side = SideOf(asked, *cell.input);
    // A cell without a stack was not begun.
    if (side.empty()) continue;
    const std::string plan = asked.question == Question::kPlan ? "" : cell.input->plan;
    const auto [place, is_new] = places.emplace(plan, boards.size());
    if (is_new) boards.push_back({plan, {}, {}});
    Board& board = boards[place->second];
    if (std::ranges::find(board.sides, side) == board.sides.end()) board.sides.push_back(side);
    board.settings[RestOf(asked, *cell.input)].try_emplace(side, gathered).first->second.Add(cell);
  }
  return boards;
}

DrawIds Common(const DrawIds& a, const DrawIds& b) {
  DrawIds common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return common;
}

// Both sides in one setting.
struct Pair {
  const Rest* rest = nullptr;
  ContrastSide* a = nullptr;
  ContrastSide* b = nullptr;
};

// How the draws of the sides belong together.
struct Draws {
  bool blocks_a = false;
  bool blocks_b = false;
  bool paired() const { return blocks_a == blocks_b; }
};

constexpr size_t kLeastDraws = 3;

// How many draws a setting has for a figure, of the side with fewer.
size_t DrawsOf(const Pair& pair, FigureKind figure, const Draws& draws) {
  const DrawIds a = pair.a->Draws(figure, draws.blocks_a);
  const DrawIds b = pair.b->Draws(figure, draws.blocks_b);
  return draws.paired() ? Common(a, b).size() : std::min(a.size(), b.size());
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

// The figure of each side, the mean over the settings, on the draws that all of them have.
FigureContrast ContrastOf(const std::vector<Pair>& pairs, FigureKind figure, const Draws& draws,
                          int64_t& most_draws) {
  std::optional<DrawIds> of_a;
  std::optional<DrawIds> of_b;
  for (const Pair& pair : pairs) {
    const DrawIds a = pair.a->Draws(figure, draws.blocks_a);
    const DrawIds b = pair.b->Draws(figure, draws.blocks_b);
    of_a = of_a ? Common(*of_a, a) : a;
    of_b = of_b ? Common(*of_b, b) : b;
  }
  if (draws.paired()) of_a = of_b = Common(*of_a, *of_b);
  std::vector<Jackknifed> a;
  std::vector<Jackknifed> b;
  for (const Pair& pair : pairs) {
    const std::optional<Jackknifed>& figure_a = pair.a->Figure(figure, draws.blocks_a, *of_a);
    const std::optional<Jackknifed>& figure_b = pair.b->Figure(figure, draws.blocks_b, *of_b);
    if (figure_a && figure_b) {
      a.push_back(*figure_a);
      b.push_back(*figure_b);
    }
  }
  FigureContrast out;
  out.figure = kFigureNames[figure];
  const auto n = static_cast<int64_t>(std::min(of_a->size(), of_b->size()));
  most_draws = std::max(most_draws, n);
  if (a.empty()) {
    out.estimate = analysis::Absent(figure == kAccuracySd ? "ratio" : "fraction", n,
                                    "too few draws that both sides have done");
    return out;
  }
  const Jackknifed mean_a = analysis::MeanOfFigures(a);
  const Jackknifed mean_b = analysis::MeanOfFigures(b);
  analysis::Contrast contrast =
      draws.paired() ? analysis::PairedContrast(mean_a, mean_b, ScaleOf(figure), "fraction")
                     : analysis::UnpairedContrast(mean_a, mean_b, ScaleOf(figure), "fraction");
  out.estimate = std::move(contrast.estimate);
  out.p = contrast.p;
  return out;
}

// "cpu-amd-avx2, batch_norm=true"
std::string NameOf(const Pair& pair) {
  std::vector<std::string> parts;
  if (!pair.rest->hardware.empty()) parts.push_back(pair.rest->hardware);
  for (const AxisSetting& axis : pair.rest->axes) {
    parts.push_back(axis.path.substr(axis.path.rfind('.') + 1) + "=" + axis.value);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void AddCells(const ContrastSide& side, std::vector<uint32_t>& cells, Contrast& out) {
  for (const CellFacts* cell : side.cells()) {
    cells.push_back(cell->input->index);
    out.under_trained |= cell->under_trained;
    for (std::string& source : NamesOf(cell->held)) {
      const bool is_new = std::ranges::find(out.held, source) == out.held.end();
      if (is_new) out.held.push_back(std::move(source));
    }
  }
}

std::optional<Contrast> ContrastOf(const Asked& asked, Board& board, const std::string& side_a,
                                   const std::string& side_b) {
  std::vector<Pair> pairs = PairsOf(board, side_a, side_b);
  if (pairs.empty()) return std::nullopt;
  Draws draws;
  for (const Pair& pair : pairs) {
    draws.blocks_a |= !pair.a->ReplicatesAreItsDraws();
    draws.blocks_b |= !pair.b->ReplicatesAreItsDraws();
  }
  // Settings that have diverged, or are not trained yet, must not take the others with them.
  const auto is_short = [&](const Pair& pair) {
    return DrawsOf(pair, kAccuracy, draws) < kLeastDraws;
  };
  Contrast out;
  out.left_out = std::ranges::count_if(pairs, is_short);
  if (out.left_out < static_cast<int64_t>(pairs.size())) {
    std::erase_if(pairs, is_short);
  } else {
    out.left_out = 0;
  }
  out.question = asked.question;
  out.subject = asked.subject;
  out.a = side_a;
  out.b = side_b;
  out.plan = board.plan;
  out.settings = static_cast<int64_t>(pairs.size());
  out.over =
      pairs.size() == 1 ? NameOf(pairs[0]) : fmt::format("the mean of {} settings", pairs.size());
  out.paired = draws.paired();
  out.over_blocks = draws.blocks_a || draws.blocks_b;
  for (const Pair& pair : pairs) {
    AddCells(*pair.a, out.cells_a, out);
    AddCells(*pair.b, out.cells_b, out);
  }
  for (const FigureKind figure : {kChurn, kAccuracy, kAccuracySd}) {
    out.figures.push_back(ContrastOf(pairs, figure, draws, out.draws));
  }
  if (out.draws == 0) return std::nullopt;
  return out;
}

// Holm over everything that is tested in the study.
void Correct(std::vector<Contrast>& contrasts) {
  std::vector<FigureContrast*> tested;
  std::vector<std::optional<double>> p;
  for (Contrast& contrast : contrasts) {
    for (FigureContrast& figure : contrast.figures) {
      if (!figure.p || contrast.under_trained) continue;
      tested.push_back(&figure);
      p.push_back(figure.p);
    }
  }
  const std::vector<std::optional<double>> adjusted = analysis::Holm(p);
  for (size_t k = 0; k < tested.size(); ++k) {
    tested[k]->p_holm = adjusted[k];
    tested[k]->shown = adjusted[k] && *adjusted[k] <= analysis::kLevel;
  }
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
  Correct(contrasts);
  const int64_t tests = TestsOf(contrasts);
  for (Contrast& contrast : contrasts) contrast.text = TextOf(contrast, tests);
  return contrasts;
}

}  // namespace noisefloor::report
