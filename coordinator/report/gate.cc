#include "coordinator/report/gate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "fmt/format.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/control.h"
#include "coordinator/analysis/equivalence.h"
#include "coordinator/analysis/hypothesis.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/contrast_side.h"
#include "coordinator/report/gate_judge.h"
#include "coordinator/report/gate_sides.h"
#include "coordinator/report/gate_words.h"
#include "coordinator/report/gather.h"
#include "coordinator/report/interim.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::Difference;
using analysis::Jackknifed;

constexpr int64_t kLeastDraws = 3;

Losses LossesOf(const GateSide& a, const GateSide& b) {
  const MemberCounts of_a = a.Counts();
  const MemberCounts of_b = b.Counts();
  return {of_a.total - of_a.done, of_b.total - of_b.done, of_a.total, of_b.total};
}

GateBits BitsOf(const std::string& name, const GateSide& a, const GateSide& b) {
  GateBits bits;
  bits.setting = name;
  bits.churn = analysis::Absent("fraction", 0, "no pair of equal seeds has predictions");
  bits.losses = LossesOf(a, b);
  bits.other_seeds = !ShareDraws(a, b);
  if (bits.other_seeds) return bits;
  const auto of_b = b.Done();
  for (const auto& [draw, member] : a.Done()) {
    const auto same = of_b.find(draw);
    if (same == of_b.end()) continue;
    ++bits.pairs;
    // Other first batches or weights on the way, of a test that went otherwise, tell no more.
    const analysis::Hashes& mine = member->hashes;
    const analysis::Hashes& its = same->second->hashes;
    const std::vector<analysis::HashedRun> runs = {
        {"A", {.weights = mine.weights, .logits = mine.logits}},
        {"B", {.weights = its.weights, .logits = its.logits}}};
    const analysis::BitVerdict verdict = analysis::CheckBits(runs).verdict;
    bits.identical += verdict == analysis::BitVerdict::kIdentical;
    bits.unproved += verdict == analysis::BitVerdict::kUnproved;
  }
  const ContrastSide side_a = a.ForContrasts();
  const ContrastSide side_b = b.ForContrasts();
  const DrawIds common = CommonDraws(side_a.Draws(kChurn, false), side_b.Draws(kChurn, false));
  if (common.empty()) return bits;
  const analysis::PredictionMatrix rows_a = side_a.RowsOf(common);
  const analysis::PredictionMatrix rows_b = side_b.RowsOf(common);
  std::vector<double> churns;
  for (int64_t r = 0; r < rows_a.members(); ++r) {
    churns.push_back(analysis::Churn(rows_a.Row(r), rows_b.Row(r)));
  }
  bits.churn = {};
  bits.churn.value = analysis::MeanOf(churns);
  bits.churn.n = static_cast<int64_t>(churns.size());
  bits.churn.unit = "fraction";
  return bits;
}

// Pairs of the same draws, where the two sides gave the same answers in all of them; else 0.
int64_t EqualPairs(const GateBits& bits) {
  const bool all_told = bits.churn.n == bits.pairs;
  const bool agree = bits.identical == bits.pairs || (all_told && bits.churn.value == 0.0);
  return agree ? bits.pairs : 0;
}

// Of n draws none answers otherwise: the upper end of a one-sided interval at 95 % (Clopper and
// Pearson) of the share that do.
double MostOtherwise(int64_t n) {
  return 1 - std::pow(analysis::kLevel, 1 / static_cast<double>(n));
}

// Of figures that differ in no draw, equal answers are a reason to pass, though no test; without
// these there is nothing that tells how far a next draw could lie.
void Judge(const Difference& difference, int64_t equal_pairs, const GateSetting& setting,
           GateFigure& figure) {
  Estimate& estimate = figure.difference;
  estimate.unit = "fraction";
  estimate.n = difference.n;
  estimate.value = difference.value;
  if (difference.degrees <= 0) {
    const int64_t equal = std::min(difference.n, equal_pairs);  // Unpaired, replicates may miss.
    if (difference.n < kLeastDraws) {
      figure.note = fmt::format("needs three draws a side, there {} {}",
                                difference.n == 1 ? "is" : "are", difference.n);
    } else if (difference.value == 0 && equal >= kLeastDraws) {
      figure.verdict = Verdict::kPass;
      figure.most_otherwise = MostOtherwise(equal);
      figure.note = EqualAnswersText(setting, equal, *figure.most_otherwise);
    } else if (difference.value == 0) {
      figure.note = "0 in every draw: there is no error to go by";
    } else {
      figure.note = "every draw differs by as much: there is no error to go by";
    }
    return;
  }
  const auto half = [&](double level) {
    return analysis::TQuantile(difference.degrees, 1 - level / 2) * difference.standard_error;
  };
  estimate.low = difference.value - half(analysis::kLevel);
  estimate.high = difference.value + half(analysis::kLevel);
  estimate.method = difference.paired ? "jackknife over draws that both sides have"
                                      : "jackknife over the draws of each side, Welch";
  figure.low = difference.value - half(2 * analysis::kLevel);
  figure.high = difference.value + half(2 * analysis::kLevel);
  figure.p_equivalent = analysis::EquivalenceP(difference, figure.margin);
  figure.p_beyond = analysis::BeyondP(difference, figure.margin);
  figure.draws_to_decide = analysis::DrawsToDecide(difference, figure.margin);
}

// Two sides in one setting, on their way to figures.
struct Meeting {
  ContrastSide a;
  ContrastSide b;
  bool paired = false;
  bool over_blocks = false;
  bool seeded_free = false;
  int64_t without_predictions = 0;  // Members that are done.

  std::string TooFew() const {
    return without_predictions == 0
               ? "too few draws are done"
               : fmt::format("too few draws have what it needs: {} kept no predictions",
                             Counted(without_predictions, "member"));
  }
  // Those of which the figure has what it needs; paired: that both sides have.
  std::pair<DrawIds, DrawIds> Draws(FigureKind kind, bool blocks) const {
    DrawIds of_a = a.Draws(kind, blocks);
    DrawIds of_b = b.Draws(kind, blocks);
    if (paired) of_a = of_b = CommonDraws(of_a, of_b);
    return {std::move(of_a), std::move(of_b)};
  }
};

DrawIds InBlock(const DrawIds& draws, uint32_t block) {
  DrawIds inside;
  std::ranges::copy_if(draws, std::back_inserter(inside),
                       [&](const DrawId& draw) { return draw.first == block; });
  return inside;
}

// Inside each block that both sides have; absent of blocks with fewer than two members a side.
std::vector<double> ShiftsOfBlocks(const Meeting& meeting) {
  const auto [blocks, same] = meeting.Draws(kChurn, /*blocks=*/true);
  DrawIds draws_a = meeting.a.Draws(kChurn, /*blocks=*/false);
  DrawIds draws_b = meeting.b.Draws(kChurn, /*blocks=*/false);
  // Equal seeds of what is free: replicate r has the same draws on both sides. Without any, members
  // of a block have nothing of their own in common.
  if (meeting.seeded_free) draws_a = draws_b = CommonDraws(draws_a, draws_b);
  std::vector<double> shifts;
  for (const auto& [block, replicate] : blocks) {
    const DrawIds of_a = InBlock(draws_a, block);
    const DrawIds of_b = InBlock(draws_b, block);
    if (of_a.size() < 2 || of_b.size() < 2) continue;
    shifts.push_back(
        analysis::ShiftBetween(meeting.a.RowsOf(of_a), meeting.b.RowsOf(of_b), meeting.seeded_free)
            .value);
  }
  return shifts;
}

std::optional<Difference> ShiftOf(const Meeting& meeting) {
  if (!meeting.over_blocks) {
    const auto [of_a, of_b] = meeting.Draws(kChurn, /*blocks=*/false);
    if (of_a.size() < 2 || of_b.size() < 2) return std::nullopt;
    return analysis::ShiftBetween(meeting.a.RowsOf(of_a), meeting.b.RowsOf(of_b), meeting.paired);
  }
  const std::vector<double> of_block = ShiftsOfBlocks(meeting);
  if (of_block.empty()) return std::nullopt;
  const Jackknifed shift = analysis::MeanWithoutEach(of_block);
  const Jackknifed none = {0, std::vector<double>(shift.without.size(), 0), shift.n};
  Difference difference = analysis::DifferenceOf(none, shift, /*paired=*/true);
  difference.one_sided = true;
  return difference;
}

GateFigure FigureOf(Meeting& meeting, FigureKind kind, const GateBits& bits, GateSetting& setting,
                    double margin) {
  GateFigure figure;
  figure.figure = kind == kChurn ? "churn" : "top1";
  figure.margin = margin;
  const auto [draws_a, draws_b] = meeting.Draws(kind, meeting.over_blocks);
  figure.draws_a = std::ssize(draws_a);
  figure.draws_b = std::ssize(draws_b);
  setting.draws_a = std::max(setting.draws_a, figure.draws_a);
  setting.draws_b = std::max(setting.draws_b, figure.draws_b);
  const std::optional<Jackknifed> of_a = meeting.a.Figure(kind, meeting.over_blocks, draws_a);
  const std::optional<Jackknifed> of_b = meeting.b.Figure(kind, meeting.over_blocks, draws_b);
  if (!of_a || !of_b) {
    figure.note = meeting.TooFew();
    figure.difference = analysis::Absent("fraction", 0, figure.note);
    return figure;
  }
  figure.a = of_a->all;
  figure.b = of_b->all;
  Judge(analysis::DifferenceOf(*of_a, *of_b, meeting.paired), EqualPairs(bits), setting, figure);
  return figure;
}

GateFigure ShiftFigureOf(const Meeting& meeting, const GateBits& bits, const GateSetting& setting,
                         double margin) {
  GateFigure figure;
  figure.figure = "shift";
  figure.margin = margin;
  const auto [draws_a, draws_b] = meeting.Draws(kChurn, meeting.over_blocks);
  figure.draws_a = std::ssize(draws_a);
  figure.draws_b = std::ssize(draws_b);
  // Over blocks of other draws, what moves the answers may be these.
  const bool told = !meeting.over_blocks || meeting.paired;
  if (const std::optional<Difference> shift = told ? ShiftOf(meeting) : std::nullopt) {
    if (meeting.over_blocks) figure.draws_a = figure.draws_b = shift->n;  // Some may have none.
    Judge(*shift, EqualPairs(bits), setting, figure);
    return figure;
  }
  figure.note = told ? meeting.TooFew() : "the blocks of A and B are other draws";
  figure.difference = analysis::Absent("fraction", 0, figure.note);
  return figure;
}

GateSetting SettingBetween(const std::string& name, const GateSide& a, const GateSide& b,
                           const GateOptions& options) {
  const CellFacts& first = *a.cells[0];
  GateSetting setting;
  setting.setting = name;
  setting.plan = first.input->plan;
  const auto add_classes = [](const GateSide& side, std::vector<std::string>& hardware) {
    for (const CellFacts* cell : side.cells) {
      const std::string of_cell = HardwareName(cell->input->hardware);
      if (std::ranges::find(hardware, of_cell) == hardware.end()) hardware.push_back(of_cell);
    }
  };
  add_classes(a, setting.hardware_a);
  add_classes(b, setting.hardware_b);
  setting.losses = LossesOf(a, b);
  setting.under_trained_a = a.IsUnderTrained();
  setting.under_trained_b = b.IsUnderTrained();
  Meeting meeting{a.ForContrasts(), b.ForContrasts()};
  meeting.without_predictions = a.Counts().without_predictions + b.Counts().without_predictions;
  const bool one_block = a.cells.size() == 1 && b.cells.size() == 1;
  meeting.seeded_free = !first.free_seeded.empty();
  meeting.over_blocks =
      !one_block && !(meeting.a.ReplicatesAreItsDraws() && meeting.b.ReplicatesAreItsDraws());
  const bool same_draws = ShareDraws(a, b);
  meeting.paired = same_draws && (meeting.over_blocks || meeting.seeded_free);
  setting.held = NamesOf(first.held);
  if (!same_draws && !meeting.over_blocks) setting.other_draws = NamesOf(first.held);
  setting.paired = meeting.paired;
  setting.over_blocks = meeting.over_blocks;
  const GateBits bits = BitsOf(name, a, b);
  setting.figures.push_back(FigureOf(meeting, kChurn, bits, setting, options.margins.churn));
  setting.figures.push_back(FigureOf(meeting, kAccuracy, bits, setting, options.margins.top1));
  setting.figures.push_back(ShiftFigureOf(meeting, bits, setting, options.margins.shift));
  return setting;
}

// "train.epochs: 3 on A, 4 on B"
void NoteSettings(const StudyInput& a, const StudyInput& b, std::vector<std::string>& notes) {
  std::map<std::string, std::string> of_b;
  for (const SettingInput& setting : b.sweep.settings) of_b[setting.path] = setting.value;
  for (const SettingInput& setting : a.sweep.settings) {
    const auto other = of_b.find(setting.path);
    if (other == of_b.end() || other->second == setting.value) continue;
    notes.push_back(
        fmt::format("{}: {} on A, {} on B", setting.path, setting.value, other->second));
  }
}

// Members of the sides and how long they took, which no two runs have in common to the last digit.
std::vector<std::pair<std::string, double>> RunsOf(const std::map<MeetingKey, GateSide>& sides) {
  std::vector<std::pair<std::string, double>> runs;
  for (const auto& [key, side] : sides) {
    for (const CellFacts* cell : side.cells) {
      for (const size_t m : cell->done) {
        const MemberInput& member = *side.gathered->members[m].input;
        if (member.seconds > 0) runs.emplace_back(member.id, member.seconds);
      }
    }
  }
  return runs;
}

// What is set against itself passes whatever it is.
void NoteSameRuns(const Sides& sides, std::vector<std::string>& notes) {
  const std::vector<std::pair<std::string, double>> runs = RunsOf(sides.a);
  if (runs.empty() || runs != RunsOf(sides.b)) return;
  notes.emplace_back("A and B are the same runs, of which this says nothing: name another study");
}

void NoteErrors(const Gathered& side, std::string_view name, std::vector<std::string>& notes) {
  for (const Warning& warning : side.warnings) {
    if (warning.severity == "error") {
      notes.push_back(fmt::format("{}, {}: {}", name, warning.subject, warning.text));
    }
  }
}

void NoteCancelled(const std::map<MeetingKey, GateSide>& sides, std::string_view name,
                   std::vector<std::string>& notes) {
  MemberCounts all;
  for (const auto& [key, side] : sides) {
    const MemberCounts counts = side.Counts();
    all.cancelled += counts.cancelled;
    all.total += counts.total;
  }
  if (all.cancelled == 0) return;
  notes.push_back(fmt::format("{}: {}", name, CancelledText(all, "a verdict promises")));
}

// Members of the side are still to come.
bool IsInterim(const StudyInput& study, const GateSide& side) {
  return side.Counts().missing > 0 || IsUndecided(study.sweep, side.cells[0]->input->plan);
}

// "algo, learning_rate=0.05 on cpu-amd-avx2"
std::string NameOf(const MeetingKey& key, const GateSide& side) {
  std::string name = SettingOf(*side.cells[0]);
  for (const std::string& part : {key.hardware, key.stack}) {
    if (!part.empty()) name += " on " + part;
  }
  return name;
}

// "first-study (s1), cpu-amd-avx2"
std::string NameOf(const SweepInput& sweep, const SideFilter& filter) {
  std::string name = fmt::format("{} ({})", sweep.name, sweep.id);
  if (!filter.from.empty()) name += " of " + filter.from;
  for (const std::string& part : {filter.hardware, filter.stack}) {
    if (!part.empty()) name += ", " + part;
  }
  return name;
}

std::vector<std::string> Unmatched(const std::map<MeetingKey, GateSide>& some,
                                   const std::map<MeetingKey, GateSide>& others) {
  std::vector<std::string> names;
  for (const auto& [key, side] : some) {
    if (!others.contains(key)) names.push_back(NameOf(key, side));
  }
  return names;
}

}  // namespace

absl::StatusOr<Gate> CompareStudies(const StudyInput& a, const StudyInput& b,
                                    const GateOptions& options) {
  const Gathered of_a = Gather(a);
  const Gathered of_b = Gather(b);
  Gate gate;
  gate.name_a = NameOf(a.sweep, options.a);
  gate.name_b = NameOf(b.sweep, options.b);
  gate.options = options;
  const Sides sides = SidesOf(of_a, of_b, options);
  for (const auto& [key, side_a] : sides.a) {
    const auto met = sides.b.find(key);
    if (met == sides.b.end()) continue;
    const GateSide& side_b = met->second;
    NF_RETURN_IF_ERROR(CheckAlike(side_a, side_b));
    const std::string name = NameOf(key, side_a);
    if (side_a.SharesDraws() || side_b.SharesDraws()) {
      gate.not_judged.push_back(name);
    } else if (side_a.cells[0]->all_fixed && side_b.cells[0]->all_fixed) {
      gate.bits.push_back(BitsOf(name, side_a, side_b));
    } else {
      gate.settings.push_back(SettingBetween(name, side_a, side_b, options));
    }
    gate.interim |= IsInterim(a, side_a) || IsInterim(b, side_b);
  }
  if (gate.settings.empty() && !(options.same_bits && !gate.bits.empty())) {
    return InvalidInput(NothingMeets(gate, of_a, of_b));
  }
  gate.only_a = Unmatched(sides.a, sides.b);
  for (const std::string& name : Unmatched(sides.b, sides.a)) {
    gate.notes.push_back(name + ": on B only");
  }
  NoteSameRuns(sides, gate.notes);
  NoteSettings(a, b, gate.notes);
  if (!gate.interim) {
    NoteCancelled(sides.a, "A", gate.notes);
    NoteCancelled(sides.b, "B", gate.notes);
  }
  NoteErrors(of_a, "A", gate.notes);
  NoteErrors(of_b, "B", gate.notes);
  Decide(gate);
  gate.findings = FindingsOf(gate);
  return gate;
}

std::string_view Word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kFail: return "fail";
    case Verdict::kInconclusive: break;
  }
  return "inconclusive";
}

}  // namespace noisefloor::report
