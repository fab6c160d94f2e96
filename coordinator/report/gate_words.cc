#include "coordinator/report/gate_words.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/report/comparison_words.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

int64_t CountOf(const Gate& gate, Verdict verdict) {
  int64_t count = 0;
  for (const GateSetting& setting : gate.settings) {
    count += std::ranges::count(setting.figures, verdict, &GateFigure::verdict);
  }
  return count;
}

int64_t TestsOf(const Gate& gate) {
  int64_t tests = 0;
  for (const GateSetting& setting : gate.settings) {
    tests += std::ranges::count_if(setting.figures,
                                   [](const GateFigure& f) { return f.p_holm.has_value(); });
  }
  return tests;
}

std::string VerdictText(const Gate& gate) {
  const int64_t passed = CountOf(gate, Verdict::kPass);
  const int64_t all =
      passed + CountOf(gate, Verdict::kFail) + CountOf(gate, Verdict::kInconclusive);
  if (gate.verdict == Verdict::kFail) return "Fail: B is not what A is.";
  if (gate.verdict == Verdict::kPass) {
    return all == 0 ? "Pass: B has the bits of A."
                    : fmt::format("Pass: B is equivalent to A in {} (two one-sided tests at 5 %).",
                                  all == 1 ? "its figure" : fmt::format("all {} figures", all));
  }
  if (all == 0) return "Inconclusive: the bits of A and B could not be compared.";
  if (passed == all) return "Inconclusive: every figure is inside its margin, but B is not whole.";
  return fmt::format(
      "Inconclusive: {} of {} figures lie inside their margins, none is shown to lie outside.",
      passed, all);
}

std::string FigureText(const Gate& gate, const GateSetting& setting, const GateFigure& figure) {
  const std::string subject = fmt::format("{}: {}", setting.setting, NounOf(figure));
  if (figure.verdict == Verdict::kFail) {
    return fmt::format(
        "{} {} {}, more than the margin of {} (95 % interval; p = {} after Holm over "
        "{}; {}).",
        subject, figure.figure == "shift" ? "is" : "differs by", WithInterval(figure.difference),
        Percent(figure.margin, 2), PValue(*figure.p_holm), Counted(TestsOf(gate), "figure"),
        DrawsText(setting));
  }
  if (!figure.low || !figure.note.empty()) {
    return fmt::format("{} is not decided: {}.", subject, figure.note);
  }
  const std::string needed =
      figure.draws_to_decide
          ? fmt::format("about {} a side decide it, if there is no difference",
                        Counted(*figure.draws_to_decide, setting.over_blocks ? "block" : "draw"))
          : "a million draws would not decide it";
  return fmt::format("{} is not decided: {} (90 %) is not inside {} ({}); {}.", subject,
                     InsideText(figure), MarginText(figure), DrawsText(setting), needed);
}

// What is wrong with B besides its figures.
void AddDoubts(const Gate& gate, std::vector<std::string>& findings) {
  for (const std::string& name : gate.only_a) {
    findings.push_back(fmt::format("{}: on A only, so that B does not pass.", name));
  }
  for (const GateSetting& setting : gate.settings) {
    if (setting.lost_b > setting.lost_a) {
      findings.push_back(
          fmt::format("{}: {} diverged or failed on B, {} on A, so that B does not pass.",
                      setting.setting, Counted(setting.lost_b, "member"), setting.lost_a));
    }
    if (setting.under_trained_b && !setting.under_trained_a) {
      findings.push_back(setting.setting + ": B is under-trained, A is not.");
    }
  }
}

std::string BitsText(const GateBits& bits) {
  if (bits.pairs == 0) {
    return fmt::format("{}: the seeds of A and B differ, so that bits cannot be compared.",
                       bits.setting);
  }
  if (bits.identical == bits.pairs) {
    return fmt::format("{}: all {} of equal seeds have equal bits.", bits.setting,
                       Counted(bits.pairs, "pair"));
  }
  return fmt::format("{}: {} of {} of equal seeds have equal bits; {} of the answers differ.",
                     bits.setting, bits.identical, Counted(bits.pairs, "pair"), Value(bits.churn));
}

}  // namespace

std::string_view NounOf(const GateFigure& figure) {
  return figure.figure == "churn"  ? "churn"
         : figure.figure == "top1" ? "top-1"
                                   : "the shift of the mean answer";
}

std::string InsideText(const GateFigure& figure) {
  Estimate inside = figure.difference;
  inside.low = figure.low;
  inside.high = figure.high;
  return WithInterval(inside);
}

std::string DrawsText(const GateSetting& setting) {
  const std::string_view what = setting.over_blocks ? "block" : "draw";
  if (setting.paired) return "paired, n = " + Counted(setting.draws_a, what);
  return setting.draws_a == setting.draws_b
             ? fmt::format("n = {} each", Counted(setting.draws_a, what))
             : fmt::format("n = {} and {}", setting.draws_a, Counted(setting.draws_b, what));
}

std::vector<std::string> FindingsOf(const Gate& gate) {
  std::vector<std::string> findings = {VerdictText(gate)};
  for (const Verdict verdict : {Verdict::kFail, Verdict::kInconclusive}) {
    for (const GateSetting& setting : gate.settings) {
      for (const GateFigure& figure : setting.figures) {
        if (figure.verdict == verdict) findings.push_back(FigureText(gate, setting, figure));
      }
    }
  }
  AddDoubts(gate, findings);
  for (const GateBits& bits : gate.bits) findings.push_back(BitsText(bits));
  return findings;
}

std::string MarginText(const GateFigure& figure) {
  return (figure.figure == "shift" ? "" : "±") + Percent(figure.margin, 2);
}

std::string NothingMeets(const Gate& gate, const Gathered& a, const Gathered& b) {
  if (!gate.bits.empty()) {
    return "A and B have only plans in common that leave nothing to chance; --same-bits compares "
           "those";
  }
  if (!gate.notes.empty()) return gate.notes[0];
  const auto classes = [](const Gathered& side) {
    std::vector<std::string> names;
    for (const CellFacts& cell : side.cells) {
      const std::string name = HardwareName(cell.input->hardware);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
  };
  return fmt::format(
      "A and B have no plan in common at the same point of the axes (A: on {}; B: on {}); classes "
      "and stacks of other names are chosen with --hardware-a, --hardware-b, --stack-a, --stack-b",
      classes(a), classes(b));
}

}  // namespace noisefloor::report
