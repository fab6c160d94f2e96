#include "coordinator/report/gate_words.h"

#include <algorithm>
#include <set>

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

// Has B everything that A has?
bool IsWhole(const Gate& gate) {
  const auto whole = [](const auto& of) { return !of.losses.MoreOnB(); };
  return gate.only_a.empty() && std::ranges::all_of(gate.settings, whole) &&
         std::ranges::all_of(gate.bits, whole);
}

// " at this one init and data_order": what the draws of the setting are draws at.
std::string AtDrawOf(const GateSetting& setting) {
  if (!setting.other_draws.empty()) return "";  // A and B have not the same one.
  return AtOneDraw(setting.held, setting.over_blocks ? 2 : 1);
}

// Of the settings that have figures of this verdict: ", at this one init" where all have that draw,
// ", of impl at this one init" where some have.
std::string AtDrawsOf(const Gate& gate, Verdict verdict) {
  std::set<std::string> all;
  std::vector<std::string> of_plans;
  for (const GateSetting& setting : gate.settings) {
    if (std::ranges::count(setting.figures, verdict, &GateFigure::verdict) == 0) continue;
    const std::string at = AtDrawOf(setting);
    all.insert(at);
    const std::string of_plan = "of " + setting.plan + at;
    if (at.empty() || std::ranges::find(of_plans, of_plan) != of_plans.end()) continue;
    of_plans.push_back(of_plan);
  }
  if (of_plans.empty()) return "";
  return all.size() == 1 ? "," + *all.begin() : ", " + Listed(of_plans);
}

std::string FailText(const Gate& gate) {
  const int64_t figures = CountOf(gate, Verdict::kFail);
  const bool bits = gate.options.same_bits && std::ranges::any_of(gate.bits, HasOtherBits);
  const std::string beyond = fmt::format("{} beyond the margin{}", Counted(figures, "figure"),
                                         AtDrawsOf(gate, Verdict::kFail));
  return fmt::format("Fail: B is not what A is: {}.", figures == 0 ? "it has other bits"
                                                      : bits       ? beyond + ", and other bits"
                                                                   : beyond);
}

// What is told and not judged: ", but control has other bits".
std::string ButBits(const Gate& gate) {
  std::vector<std::string> names;
  for (const GateBits& bits : gate.bits) {
    if (HasOtherBits(bits)) names.push_back(bits.setting);
  }
  if (names.empty()) return "";
  return fmt::format(", but {} {} other bits", Listed(names), names.size() == 1 ? "has" : "have");
}

std::string PlansOf(const Gate& gate) {
  std::vector<std::string> plans;
  for (const GateSetting& setting : gate.settings) {
    if (std::ranges::find(plans, setting.plan) == plans.end()) plans.push_back(setting.plan);
  }
  return Listed(plans);
}

// Equal answers are no test: of these nothing is said to be equivalent.
std::string PassText(const Gate& gate) {
  const int64_t all = CountOf(gate, Verdict::kPass);
  const int64_t equal = EqualAnswersOf(gate);
  if (all == 0) return "Pass: B has the bits of A.";
  const std::string at = AtDrawsOf(gate, Verdict::kPass);
  if (equal == all) {
    return fmt::format(
        "Pass: B has the answers of A in every draw of {}{} (all {} figures by equal answers, "
        "which is no test){}.",
        PlansOf(gate), at, all, ButBits(gate));
  }
  if (equal == 0) {
    return fmt::format(
        "Pass: B is equivalent to A in all {} figures (two one-sided tests at 5 %){}{}.", all, at,
        ButBits(gate));
  }
  return fmt::format(
      "Pass: B is equivalent to A in {} of {} figures (two one-sided tests at 5 %), and {} pass by "
      "equal answers (which is no test){}{}.",
      all - equal, all, equal, at, ButBits(gate));
}

std::string VerdictText(const Gate& gate) {
  if (gate.verdict == Verdict::kFail) return FailText(gate);
  if (gate.verdict == Verdict::kPass) return PassText(gate);
  if (gate.interim && EqualAnswersOf(gate) == 0) {
    return "Inconclusive: nothing is tested yet, for members are still to come.";
  }
  const int64_t passed = CountOf(gate, Verdict::kPass);
  const int64_t all = passed + CountOf(gate, Verdict::kInconclusive);
  const int64_t equal = EqualAnswersOf(gate);
  const std::string how =
      (equal == 0 ? "" : fmt::format(" ({} by equal answers, which is no test)", equal)) +
      AtDrawsOf(gate, Verdict::kPass);
  if (passed == all) {
    return fmt::format(
        "Inconclusive: {}{}, but {}.",
        all == 0 ? "nothing is shown to differ" : "every figure is inside its margin", how,
        !IsWhole(gate)             ? "B is not whole"
        : !gate.not_judged.empty() ? "not everything was judged"
                                   : "not all bits could be compared");
  }
  return fmt::format(
      "Inconclusive: {} of {} figures lie inside their margins{}, none is shown to lie outside.",
      passed, all, how);
}

std::string FigureText(const Gate& gate, const GateSetting& setting, const GateFigure& figure) {
  const bool shift = figure.figure == "shift";
  const std::string subject =
      fmt::format("{}: {}{}", setting.setting, shift ? "the " : "", NounOf(figure));
  if (figure.verdict == Verdict::kFail) {
    return fmt::format(
        "{} {} {}, more than the margin of {} (95 % interval; p = {} after Holm over "
        "{}; {}).",
        subject, shift ? "is" : "differs by", WithInterval(figure.difference),
        Percent(figure.margin, 2), PValue(*figure.p_holm), Counted(TestsOf(gate), "figure"),
        DrawsText(setting, figure));
  }
  return fmt::format("{} is not decided: {}.", subject, OpenText(setting, figure));
}

std::string LeftOutText(const std::string& setting) {
  return setting + " is left out: its members share draws by design";
}

// What keeps B from passing besides its figures.
void AddDoubts(const Gate& gate, std::vector<std::string>& findings) {
  for (const std::string& name : gate.only_a) {
    findings.push_back(fmt::format("{}: on A only, so that B does not pass.", name));
  }
  for (const std::string& name : gate.not_judged) {
    findings.push_back(LeftOutText(name) +
                       ", so that B does not pass; --plan judges another plan alone.");
  }
  const auto add_lost = [&](const auto& of) {
    if (!of.losses.MoreOnB()) return;
    findings.push_back(fmt::format("{}: {}, so that B does not pass.", of.setting, LostText(of)));
  };
  for (const GateBits& bits : gate.bits) add_lost(bits);
  for (const GateSetting& setting : gate.settings) {
    add_lost(setting);
    if (setting.under_trained_b && !setting.under_trained_a) {
      findings.push_back(setting.setting + ": B is under-trained, A is not.");
    }
  }
}

// Once for each setting, but where its figures have other numbers of draws.
void AddEqualAnswers(const Gate& gate, std::vector<std::string>& findings) {
  for (const GateSetting& setting : gate.settings) {
    std::set<std::string> notes;
    for (const GateFigure& figure : setting.figures) {
      if (!figure.most_otherwise || !notes.insert(figure.note).second) continue;
      findings.push_back(fmt::format("{}: {}.", setting.setting, figure.note));
    }
  }
}

template <typename Field>
std::vector<std::string> ValuesOf(const Gathered& side, const Field& field) {
  std::vector<std::string> values;
  for (const CellFacts& cell : side.cells) {
    const std::string& value = field(*cell.input);
    if (value.empty()) continue;  // Nothing of that cell has trained yet.
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}

// "A has no class foo; it has cpu-a, cpu-b"; "" where it has.
template <typename Field>
std::string Missing(std::string_view name, std::string_view what, const Gathered& side,
                    const std::string& wanted, const Field& field) {
  const std::vector<std::string> values = ValuesOf(side, field);
  if (wanted.empty() || std::ranges::find(values, wanted) != values.end()) return "";
  return fmt::format("{} has no {} {}; it has {}", name, what, wanted,
                     values.empty() ? "nothing" : fmt::format("{}", fmt::join(values, ", ")));
}

std::string MissingOf(std::string_view name, const Gathered& side, const SideFilter& filter,
                      const std::string& plan) {
  const auto of_plan = [](const CellInput& cell) -> const std::string& { return cell.plan; };
  const auto of_class = [](const CellInput& cell) -> const std::string& { return cell.hardware; };
  const auto of_stack = [](const CellInput& cell) -> const std::string& { return cell.stack; };
  for (const std::string& text : {Missing(name, "plan", side, plan, of_plan),
                                  Missing(name, "class", side, filter.hardware, of_class),
                                  Missing(name, "stack", side, filter.stack, of_stack)}) {
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace

bool HasOtherBits(const GateBits& bits) { return bits.identical + bits.unproved < bits.pairs; }

std::string_view NounOf(const GateFigure& figure) {
  return figure.figure == "churn"  ? "churn"
         : figure.figure == "top1" ? "top-1"
                                   : "shift of the mean answer";
}

std::string InsideText(const GateFigure& figure) {
  Estimate inside = figure.difference;
  inside.low = figure.low;
  inside.high = figure.high;
  return WithInterval(inside);
}

std::string MarginText(const GateFigure& figure) {
  return (figure.figure == "shift" ? "" : "±") + Percent(figure.margin, 2);
}

std::string DrawsText(const GateSetting& setting, const GateFigure& figure) {
  const std::string_view what = setting.over_blocks ? "block" : "draw";
  const std::string at = AtDrawOf(setting);
  if (setting.paired) return fmt::format("paired, n = {}{}", Counted(figure.draws_a, what), at);
  return figure.draws_a == figure.draws_b
             ? fmt::format("n = {} each{}", Counted(figure.draws_a, what), at)
             : fmt::format("n = {} and {}{}", figure.draws_a, Counted(figure.draws_b, what), at);
}

std::string EqualAnswersText(const GateSetting& setting, int64_t n, double most_otherwise) {
  const std::string_view what = setting.over_blocks ? "block" : "draw";
  return fmt::format("equal answers in each of {}{}: at most {} of {}s answer otherwise, at 95 %",
                     Counted(n, what), AtDrawOf(setting), Percent(most_otherwise, 1), what);
}

int64_t EqualAnswersOf(const Gate& gate) {
  int64_t count = 0;
  for (const GateSetting& setting : gate.settings) {
    count += std::ranges::count_if(
        setting.figures, [](const GateFigure& f) { return f.most_otherwise.has_value(); });
  }
  return count;
}

std::string OpenText(const GateSetting& setting, const GateFigure& figure) {
  if (!figure.low || !figure.note.empty()) return figure.note;
  const std::string needed =
      figure.draws_to_decide
          ? fmt::format("if there is no difference, {} a side decide it in 80 % of cases",
                        Counted(*figure.draws_to_decide, setting.over_blocks ? "block" : "draw"))
          : "a million draws would not decide it";
  return fmt::format("{} (90 %) is not inside {} ({}); {}", InsideText(figure), MarginText(figure),
                     DrawsText(setting, figure), needed);
}

std::string BitsText(const GateBits& bits) {
  if (bits.other_seeds) return "the seeds of A and B differ, so that bits cannot be compared";
  if (bits.pairs == 0) return "nothing is done on both sides";
  std::string text =
      bits.identical == bits.pairs
          ? fmt::format("all {} of equal seeds have equal bits", Counted(bits.pairs, "pair"))
          : fmt::format("{} of {} of equal seeds have equal bits", bits.identical,
                        Counted(bits.pairs, "pair"));
  if (bits.unproved > 0) {
    text += fmt::format("; of {} it is not known, for want of a hash", bits.unproved);
  }
  if (bits.identical < bits.pairs && bits.churn.value) {
    text += fmt::format("; {} of the answers differ", Value(bits.churn));
  }
  return text;
}

std::vector<std::string> FindingsOf(const Gate& gate) {
  std::vector<std::string> findings = {VerdictText(gate)};
  const auto add_bits = [&](bool failed) {
    for (const GateBits& bits : gate.bits) {
      const bool fails = gate.options.same_bits && HasOtherBits(bits);
      if (fails == failed) findings.push_back(fmt::format("{}: {}.", bits.setting, BitsText(bits)));
    }
  };
  add_bits(/*failed=*/true);
  for (const Verdict verdict : {Verdict::kFail, Verdict::kInconclusive}) {
    for (const GateSetting& setting : gate.settings) {
      for (const GateFigure& figure : setting.figures) {
        if (figure.verdict == verdict) findings.push_back(FigureText(gate, setting, figure));
      }
    }
  }
  AddDoubts(gate, findings);
  AddEqualAnswers(gate, findings);
  add_bits(/*failed=*/false);
  return findings;
}

std::string NothingMeets(const Gate& gate, const Gathered& a, const Gathered& b) {
  for (const std::string& missing : {MissingOf("A", a, gate.options.a, gate.options.plan),
                                     MissingOf("B", b, gate.options.b, gate.options.plan)}) {
    if (!missing.empty()) return missing;
  }
  if (!gate.bits.empty()) {
    return "A and B have only plans in common that leave nothing to chance; --same-bits compares "
           "those";
  }
  if (!gate.not_judged.empty()) return LeftOutText(gate.not_judged[0]);
  const auto classes = [](const Gathered& side) {
    const std::vector<std::string> names =
        ValuesOf(side, [](const CellInput& cell) -> const std::string& { return cell.hardware; });
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
  };
  return fmt::format(
      "A and B have no plan in common at the same point of the axes (A: on {}; B: on {}); classes "
      "and stacks of other names are chosen with --hardware-a, --hardware-b, --stack-a, --stack-b",
      classes(a), classes(b));
}

}  // namespace noisefloor::report
