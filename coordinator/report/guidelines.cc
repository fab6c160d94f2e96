#include "coordinator/report/guidelines.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "fmt/format.h"

#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/contrast_words.h"
#include "coordinator/report/decompositions.h"
#include "coordinator/report/gate.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using Guidelines = std::vector<std::string>;

// As the gate has them where nobody says otherwise.
constexpr double kChurnMargin = Margins{}.churn;
constexpr double kTop1Margin = Margins{}.top1;
constexpr double kShiftMargin = Margins{}.shift;
constexpr int64_t kMostMembers = 10000;
// A source is worth holding by itself from here on.
constexpr double kWorthHolding = 0.2;

void SayControls(const Study& study, Guidelines& guidelines) {
  const auto broken =
      std::ranges::find(study.controls, std::string_view("different"), &ControlCheck::verdict);
  if (broken == study.controls.end()) return;
  guidelines.push_back(fmt::format(
      "First find what is not held still: {} differs from {} on, where nothing is free. "
      "Until then every figure holds more than its plan says.",
      broken->label, broken->first_difference));
}

// The interval that holds for all of so many shares at once (Bonferroni): the best of several is
// said of none that only looks best.
analysis::Interval OfAll(const Estimate& share, size_t shares) {
  const double degrees = static_cast<double>(share.n - 1);
  const double wider =
      analysis::TQuantile(degrees, 1 - analysis::kLevel / 2 / static_cast<double>(shares)) /
      analysis::TQuantile(degrees, 1 - analysis::kLevel / 2);
  const double half = wider * (*share.high - *share.low) / 2;
  return {*share.value - half, *share.value + half};
}

// Whether all sources that can be held go with little of the churn, each by itself.
bool NoneIsWorthHolding(const SourceDecomposition& of, size_t shares) {
  return std::ranges::all_of(of.factors, [&](const std::string& factor) {
    if (factor == of.uncontrolled) return true;
    const SourceShare* share = FindShare(of, "first_order", factor);
    return share != nullptr && share->share.low && OfAll(share->share, shares).high < kWorthHolding;
  });
}

// Of the sources that can be held the one that goes with most of the churn by itself, as far as its
// interval shows it; null: none.
const SourceShare* BestToHold(const SourceDecomposition& of, size_t shares) {
  const SourceShare* best = nullptr;
  for (const std::string& factor : of.factors) {
    if (factor == of.uncontrolled) continue;
    const SourceShare* share = FindShare(of, "first_order", factor);
    if (share == nullptr || !share->share.low) continue;
    if (OfAll(share->share, shares).low < kWorthHolding) continue;
    if (best == nullptr || *share->share.value > *best->share.value) best = share;
  }
  return best;
}

std::string DrawsOf(const SourceDecomposition& of) {
  return fmt::format("{}; n = {}", of.setting,
                     Counted(of.whole.n, of.blocks > 1 ? "block" : "draw"));
}

// `settings`: of how many something is said.
void SaySource(const SourceDecomposition& of, size_t settings, Guidelines& guidelines) {
  const size_t shares = settings * of.factors.size();
  const SourceShare* additive = FindShare(of, "additive", "");
  if (const SourceShare* best = BestToHold(of, shares)) {
    guidelines.push_back(fmt::format("Hold {}: that alone takes {} of the churn away ({}).",
                                     best->sources[0], WithInterval(best->share), DrawsOf(of)));
  } else if (additive != nullptr && additive->share.high && NoneIsWorthHolding(of, shares)) {
    guidelines.push_back(fmt::format(
        "Do not expect much of holding one source: by themselves they make {} of the churn all "
        "together, and the rest goes only when several are held together ({}).",
        WithInterval(additive->share), DrawsOf(of)));
  }
  if (of.uncontrolled.empty()) return;
  const SourceShare* left = FindShare(of, "total", of.uncontrolled);
  if (left == nullptr || !left->share.low || OfAll(left->share, shares).low <= 0) return;
  guidelines.push_back(
      fmt::format("Equal seeds are not enough: {} makes {} of the churn when all seeds are equal, "
                  "which only deterministic kernels and orders take away ({}).",
                  of.uncontrolled, WithInterval(left->share), DrawsOf(of)));
}

constexpr size_t kMostSettings = 2;

void SaySources(const Study& study, Guidelines& guidelines) {
  std::vector<const SourceDecomposition*> told;
  for (const SourceDecomposition& of : study.decompositions) {
    if (of.figure == "churn" && !of.under_trained && of.whole.n > 2) told.push_back(&of);
  }
  if (told.size() > kMostSettings) return;  // One sentence each would bury the others.
  for (const SourceDecomposition* of : told) SaySource(*of, told.size(), guidelines);
}

// The plan that frees most of those that free every seeded source that acts; "": there is none.
std::string WidestPlan(const Study& study) {
  const Cohort* widest = nullptr;
  for (const Cohort& cohort : study.cohorts) {
    if (cohort.all_fixed || cohort.under_trained || !cohort.shared.empty()) continue;
    if (cohort.counts.done < 2) continue;  // It has nothing to say.
    if (!cohort.held.empty()) continue;    // Another draw of what is held may be as far away.
    if (widest == nullptr || cohort.acting.size() > widest->acting.size()) widest = &cohort;
  }
  return widest == nullptr ? "" : widest->plan;
}

// The standard deviation of normal values that so many with this one exceed in one of five.
double UpperSd(const Estimate& sd) {
  const double degrees = static_cast<double>(sd.n - 1);
  return *sd.value *
         std::sqrt(degrees / analysis::ChiSquareQuantile(degrees, 1 - analysis::kPower));
}

std::optional<int64_t> MembersToSee(double sd) {
  for (int64_t n = 2; n <= kMostMembers; n = n < 100 ? n + 1 : n + n / 100) {
    if (analysis::DetectableMeanDifference(n, sd).value_or(1) <= kTop1Margin) return n;
  }
  return std::nullopt;
}

// Of the cell of the widest plan that spreads most.
void SayMembers(const Study& study, const std::string& plan, Guidelines& guidelines) {
  const Cohort* widest = nullptr;
  for (const Cohort& cohort : study.cohorts) {
    const Estimate& sd = cohort.accuracy_sd;
    if (cohort.plan != plan || cohort.under_trained || !sd.value || sd.n < 5) continue;
    if (*sd.value <= 0) continue;
    if (widest == nullptr || UpperSd(sd) > UpperSd(widest->accuracy_sd)) widest = &cohort;
  }
  if (widest == nullptr) return;
  const double sd = UpperSd(widest->accuracy_sd);
  const std::string rests =
      fmt::format("{}: SD {}, at most {} at 80 %, n = {}", widest->label,
                  Value(widest->accuracy_sd), Percent(sd, 2), widest->accuracy_sd.n);
  // Two single trainings differ by so much in one of twenty.
  const double single = analysis::NormalQuantile(1 - analysis::kLevel / 2) * std::sqrt(2.0) * sd;
  if (single <= kTop1Margin) return;
  std::string text = fmt::format(
      "Do not compare one training with one: in 19 of 20 cases two of the same recipe differ by up "
      "to {} in top-1",
      Percent(single, 2));
  if (const std::optional<int64_t> n = MembersToSee(sd)) {
    text += fmt::format(
        ". {} a side, with draws of their own, see a difference of {} (80 % power at 5 %)",
        Counted(*n, "training"), Percent(kTop1Margin, 2));
  }
  guidelines.push_back(fmt::format("{} ({}).", text, rests));
}

// How far it may lie from 0, by its interval.
double MostOf(const Estimate& difference) {
  return std::max(std::abs(*difference.low), std::abs(*difference.high));
}

double MostOfTop1(const Comparison& comparison) { return MostOf(comparison.accuracy_difference); }

Question QuestionOf(Factor factor) {
  return factor == Factor::kStack ? Question::kStack : Question::kHardware;
}

// What is shown to differ between two classes, or stacks, in a plan: "top-1 between cpu-a and cpu-b
// (-1.75 % [-2.29, -1.21], p = 0.002 after Holm)".
std::vector<std::string> ShownBetween(const std::vector<Contrast>& contrasts, Question question,
                                      const std::string& plan) {
  std::vector<std::string> shown;
  for (const Contrast& contrast : contrasts) {
    if (contrast.question != question || contrast.plan != plan || contrast.under_trained) continue;
    for (const FigureContrast& figure : contrast.figures) {
      if (!figure.shown) continue;
      shown.push_back(fmt::format("{} between {} and {} ({}, p = {} after Holm)", NounOf(figure),
                                  contrast.a, contrast.b, WithInterval(figure.estimate),
                                  PValue(*figure.p_holm)));
    }
  }
  return shown;
}

// The comparison of the plan whose top-1 may differ most; null: one has no interval.
const Comparison* WidestTop1(const std::vector<Comparison>& all, const std::string& plan) {
  const Comparison* widest = nullptr;
  for (const Comparison& comparison : all) {
    if (comparison.plan != plan) continue;
    if (!comparison.accuracy_difference.high) return nullptr;
    if (widest == nullptr || MostOfTop1(comparison) > MostOfTop1(*widest)) widest = &comparison;
  }
  return widest;
}

// Whether the contrast sets the sides of the comparison against each other, either way round.
bool IsOfSides(const Contrast& contrast, const Comparison& comparison) {
  const bool of_stacks = comparison.factor == Factor::kStack;
  const std::string& a = of_stacks ? comparison.stack_a : comparison.hardware_a;
  const std::string& b = of_stacks ? comparison.stack_b : comparison.hardware_b;
  return contrast.question == QuestionOf(comparison.factor) && contrast.plan == comparison.plan &&
         ((contrast.a == a && contrast.b == b) || (contrast.a == b && contrast.b == a));
}

// How far the churn inside one side may lie from that inside the other; absent: that is not known.
// The contrast of the sides is of the mean over all settings, in which that of one is thinned out:
// of several each goes by the far ends of what is inside its sides.
std::optional<double> MostOfChurn(const Comparison& comparison, const std::vector<Comparison>& all,
                                  const std::vector<Contrast>& contrasts) {
  const auto contrast = std::ranges::find_if(
      contrasts, [&](const Contrast& one) { return IsOfSides(one, comparison); });
  if (contrast == contrasts.end()) return std::nullopt;
  const auto settings =
      std::ranges::count_if(all, [&](const Comparison& one) { return IsOfSides(*contrast, one); });
  if (settings > 1) {
    const Estimate& a = comparison.churn_within_a;
    const Estimate& b = comparison.churn_within_b;
    if (!a.high || !b.high) return std::nullopt;
    return std::max(*b.high - *a.low, *a.high - *b.low);
  }
  const auto churn = std::ranges::find(contrast->figures, "churn", &FigureContrast::figure);
  if (churn == contrast->figures.end() || !churn->estimate.high) return std::nullopt;
  return MostOf(churn->estimate);
}

struct ChurnBetween {
  const Comparison* comparison = nullptr;
  double most = 0;
};

// Of the comparison of the plan whose churn may differ most; absent: of one that is not known.
std::optional<ChurnBetween> WidestChurn(const std::vector<Comparison>& all,
                                        const std::vector<Contrast>& contrasts,
                                        const std::string& plan) {
  ChurnBetween widest;
  for (const Comparison& comparison : all) {
    if (comparison.plan != plan) continue;
    const std::optional<double> most = MostOfChurn(comparison, all, contrasts);
    if (!most) return std::nullopt;
    if (widest.comparison == nullptr || *most > widest.most) widest = {&comparison, *most};
  }
  return widest;
}

// "a shift of the mean answer by up to 1.30 % is not excluded (algo: cpu-a against cpu-d; n = 8
// draws)"
std::string NotExcluded(std::string_view what, double most, const Comparison& of) {
  return fmt::format("{} by up to {} is not excluded ({}; n = {})", what, Percent(most, 2),
                     of.label, Counted(of.draws, "draw"));
}

// Of two classes, or stacks, between which nothing is shown: whether neither the mean answer nor
// churn nor top-1 differs by the gate's margins. `decided`: that all of them have what it needs.
void SayPooling(const Comparison& worst, bool decided, const std::vector<Comparison>& all,
                const std::vector<Contrast>& contrasts, Guidelines& guidelines) {
  const double shift = std::max(0.0, *worst.churn_excess.high);
  const Comparison* const widest = WidestTop1(all, worst.plan);
  const std::optional<ChurnBetween> churn = WidestChurn(all, contrasts, worst.plan);
  const bool shift_is_small = decided && shift < kShiftMargin;
  const bool top1_is_small = widest != nullptr && MostOfTop1(*widest) < kTop1Margin;
  const bool churn_is_small = churn && churn->most < kChurnMargin;
  const bool other_stacks = std::ranges::any_of(all, [&](const Comparison& comparison) {
    return comparison.plan == worst.plan && comparison.mixes_stacks;
  });
  const std::string sides =
      std::string(SidesWord(worst.factor)) + (other_stacks ? ", whose stacks differ as well," : "");
  if (shift_is_small && top1_is_small && churn_is_small) {
    guidelines.push_back(fmt::format(
        "Members of these {} may be pooled under {}: between no two does the mean answer shift by "
        "{} or more, nor churn differ by {}, nor top-1 by {}; at most {} ({}; n = {}), {} and {}.",
        sides, worst.plan, Percent(kShiftMargin, 2), Percent(kChurnMargin, 2),
        Percent(kTop1Margin, 2), Percent(shift, 2), worst.label, Counted(worst.draws, "draw"),
        Percent(churn->most, 2), Percent(MostOfTop1(*widest), 2)));
    return;
  }
  std::string why;
  if (!decided && shift < kShiftMargin) {
    why = "how far the mean answer shifts is not known of every two";
  } else if (!shift_is_small) {
    why = NotExcluded("a shift of the mean answer", shift, worst);
  } else if (widest == nullptr) {
    why = "how far top-1 differs is not known of every two";
  } else if (!top1_is_small) {
    why = NotExcluded("a difference of top-1", MostOfTop1(*widest), *widest);
  } else if (!churn) {
    why = "how far churn differs is not known of every two";
  } else {
    why = NotExcluded("a difference of churn", churn->most, *churn->comparison);
  }
  guidelines.push_back(
      fmt::format("Whether members of different {} may be pooled under {} is open: {}.", sides,
                  worst.plan, why));
}

// Whether members of two classes, or stacks, may be taken for members of one. A shift is a squared
// distance, which alone says little of a small loss everywhere.
void SayMixing(const std::vector<SettingTest>& tests, const std::vector<Comparison>& all,
               const std::vector<Contrast>& contrasts, const std::string& plan,
               Guidelines& guidelines) {
  std::vector<std::string> shifted;
  for (const SettingTest& test : tests) {
    if (test.plan != plan || test.under_trained || !test.shift.shown) continue;
    shifted.push_back(
        fmt::format("{}, p = {} after Holm", test.setting, PValue(*test.shift.p_holm)));
  }
  const Comparison* worst = nullptr;
  std::vector<std::string> pairs;
  bool decided = true;
  for (const Comparison& comparison : all) {
    if (comparison.plan != plan) continue;
    if (comparison.under_trained) {
      decided = false;
      continue;
    }
    const Estimate& excess = comparison.churn_excess;
    if (comparison.shift.shown) {
      pairs.push_back(fmt::format("{} by {}", comparison.label, WithInterval(excess)));
    }
    if (!excess.high) {
      decided = false;
      continue;
    }
    if (worst == nullptr || *excess.high > *worst->churn_excess.high) worst = &comparison;
  }
  if (!shifted.empty()) {
    guidelines.push_back(
        fmt::format("Do not pool members of different {} as if of one: the mean answer shifts "
                    "between them ({}); {}.",
                    SidesWord(tests[0].factor), Listed(shifted),
                    pairs.empty() ? "between which two so few draws do not tell" : Listed(pairs)));
    return;
  }
  if (worst == nullptr) return;
  const std::vector<std::string> differ = ShownBetween(contrasts, QuestionOf(worst->factor), plan);
  if (!differ.empty()) {
    guidelines.push_back(fmt::format(
        "Do not pool members of different {} as if of one: what differs under {} is {}.",
        SidesWord(worst->factor), plan, Listed(differ)));
    return;
  }
  SayPooling(*worst, decided, all, contrasts, guidelines);
}

}  // namespace

std::vector<std::string> BuildGuidelines(const Study& study) {
  Guidelines guidelines;
  const bool trained = std::ranges::any_of(
      study.cohorts, [](const Cohort& cohort) { return cohort.stack != "noop"; });
  if (study.interim || !trained) return guidelines;
  SayControls(study, guidelines);
  SaySources(study, guidelines);
  const std::string plan = WidestPlan(study);
  if (plan.empty()) return guidelines;
  SayMembers(study, plan, guidelines);
  SayMixing(study.hardware_tests, study.hardware, study.contrasts, plan, guidelines);
  SayMixing(study.stack_tests, study.stacks, study.contrasts, plan, guidelines);
  return guidelines;
}

}  // namespace noisefloor::report
