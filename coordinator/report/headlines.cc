#include "coordinator/report/headlines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "fmt/format.h"

#include "coordinator/analysis/spread.h"
#include "coordinator/report/claims.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/contrast_words.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using Headlines = std::vector<std::string>;

constexpr size_t kMostPoints = 4;

void SayEnds(const Study& study, Headlines& headlines) {
  const MemberCounts& counts = study.counts;
  if (counts.failed > 0) {
    headlines.push_back(
        fmt::format("{} of {} members failed: they are in no figure; why stands "
                    "among the warnings.",
                    counts.failed, counts.total));
  }
  if (counts.diverged > 0) {
    headlines.push_back(fmt::format("{} of {} members diverged: they are in no mean.",
                                    counts.diverged, counts.total));
  }
  const bool none_learned = std::ranges::any_of(study.cohorts, &Cohort::under_trained) &&
                            std::ranges::all_of(study.cohorts, [](const Cohort& cohort) {
                              return cohort.under_trained || cohort.counts.done == 0;
                            });
  if (none_learned) {
    headlines.push_back(
        "Every cell is under-trained: nothing is said of the noise of trained networks.");
  }
}

void SayInterim(const Study& study, Headlines& headlines) {
  if (!study.interim) return;
  const MemberCounts& counts = study.counts;
  const std::string ended =
      counts.missing > 0
          ? fmt::format("{} of {} members have ended", counts.total - counts.missing, counts.total)
          : "how many more members it takes is not decided yet";
  headlines.push_back(fmt::format(
      "Interim: {}. Intervals of the churn inside a cell and of its top-1 hold at every "
      "look, whenever one stops; others hold for one look. Nothing is tested or claimed "
      "before all members have ended.",
      ended));
}

// What it asks for, and the cells whose intervals came out wider, whyever: too few replicates may
// there be, members may have failed or been cancelled.
void SayUntil(const Study& study, Headlines& headlines) {
  const std::optional<UntilInput>& until = study.sweep.until;
  if (!until || !until->settled) return;
  std::vector<std::string> plans;
  std::vector<std::string> wider;
  int64_t intervals = 0;
  for (const PlanInput& plan : study.sweep.plans) {
    if (plan.pilot == 0) continue;
    plans.push_back(
        fmt::format("{} has {} after a pilot of {}", plan.name, plan.replicates, plan.pilot));
    for (const Cohort& cohort : study.cohorts) {
      const Estimate& figure = until->figure == "top1" ? cohort.accuracy : cohort.churn;
      if (cohort.plan != plan.name || cohort.under_trained || !figure.low) continue;
      ++intervals;
      if (*figure.high - *figure.low <= 2 * until->half_width * (1 + 1e-9)) continue;
      wider.push_back(fmt::format("{} {}", cohort.label, WithInterval(figure)));
    }
  }
  if (plans.empty()) return;
  const std::string figure = until->figure == "top1" ? "top-1" : "churn";
  std::string text = fmt::format(
      "As many replicates were asked for as {} within {} to either side takes, which a pilot "
      "decides once (Stein's two stages): {}.",
      figure, Percent(until->half_width, 2), Listed(plans));
  text += intervals == 0 ? " No trained cell of these has such an interval."
                         : fmt::format(" Their intervals of {} allow for that.", figure);
  if (wider.size() > kMostPoints) {
    text += fmt::format(" In {} cells they came out wider.", wider.size());
  } else if (!wider.empty()) {
    text += fmt::format(" Wider than that came out {}.", Listed(wider));
  }
  headlines.push_back(std::move(text));
}

// The built-in trainer tries out a fleet; its figures look like any others.
void SayWhatWasNotTrained(const Study& study, Headlines& headlines) {
  const auto untrained = std::ranges::count(study.cohorts, "noop", &Cohort::stack);
  if (untrained == 0) return;
  const bool all = untrained == static_cast<int64_t>(study.cohorts.size());
  headlines.push_back(
      fmt::format("{} trained: the stack noop makes results up from the seeds, to try out a fleet.",
                  all ? "Nothing was"
                      : fmt::format("{} of {} cohorts were not", untrained, study.cohorts.size())));
}

void SayControls(const Study& study, Headlines& headlines) {
  if (study.controls.empty()) return;
  const auto count = [&](std::string_view verdict) {
    return std::count_if(study.controls.begin(), study.controls.end(),
                         [&](const ControlCheck& check) { return check.verdict == verdict; });
  };
  const int64_t total = static_cast<int64_t>(study.controls.size());
  const int64_t different = count("different");
  const int64_t unproved = count("unproved");
  const char* yet = study.counts.missing > 0 ? " yet" : "";
  if (unproved == total) {
    headlines.push_back(
        fmt::format("{} not proved bit-identical{}.", Counted(total, "control cohort"), yet));
    return;
  }
  std::string text = total == 1 && different == 0
                         ? "The control cohort is bit-identical"
                         : fmt::format("{} of {} are bit-identical", total - different - unproved,
                                       Counted(total, "control cohort"));
  if (different > 0) text += fmt::format(", {} not", different);
  if (unproved > 0) text += fmt::format(", {} not proved{}", unproved, yet);
  const auto weakest = std::ranges::max_element(study.controls, {}, &ControlCheck::upper_bound);
  if (weakest->upper_bound) {
    text += fmt::format(" (at most {} of runs of one could differ from its result, at 95 %)",
                        Percent(*weakest->upper_bound, 0));
  }
  headlines.push_back(text + ".");
}

// What one plan says at one point of the axes, over its hardware and blocks.
struct PlanPoint {
  std::string axes_label;
  std::vector<const Cohort*> cohorts;
  std::vector<const BlockSummary*> blocks;  // Of each class where there are several blocks.
};

std::vector<PlanPoint> PointsOf(const Study& study, const std::string& plan) {
  std::vector<PlanPoint> points;
  std::map<std::string, size_t> places;
  for (const Cohort& cohort : study.cohorts) {
    if (cohort.plan != plan || cohort.under_trained || !cohort.churn.value) continue;
    const auto [place, is_new] = places.emplace(cohort.axes_label, points.size());
    if (is_new) points.push_back({cohort.axes_label, {}, {}});
    points[place->second].cohorts.push_back(&cohort);
  }
  for (const BlockSummary& summary : study.blocks) {
    const auto place = places.find(summary.axes_label);
    if (summary.plan == plan && place != places.end()) {
      points[place->second].blocks.push_back(&summary);
    }
  }
  return points;
}

// What is said of churn: of each class over its blocks where there are several, else of each cell.
struct Churns {
  std::vector<const Estimate*> each;  // All have a value.
  bool over_blocks = false;
};

Churns ChurnsOf(const PlanPoint& point) {
  Churns churns;
  for (const BlockSummary* summary : point.blocks) {
    if (summary->churn.value) churns.each.push_back(&summary->churn);
  }
  churns.over_blocks = !churns.each.empty();
  if (churns.over_blocks) return churns;
  for (const Cohort* cohort : point.cohorts) churns.each.push_back(&cohort->churn);
  return churns;
}

double MeanChurn(const PlanPoint& point) {
  std::vector<double> values;
  for (const Estimate* churn : ChurnsOf(point).each) values.push_back(*churn->value);
  return analysis::MeanOf(values);
}

// "13.12 % of the examples, the mean of 3 cells (12.54 % to 13.40 %; n = 5 to 6 members each)"; of
// one cell, or of one class over its blocks, with its interval. `thing`: an example, or a decision.
std::string ChurnOf(const PlanPoint& point, std::string_view thing) {
  const auto [each, over_blocks] = ChurnsOf(point);
  const std::string what = over_blocks ? "block" : "member";
  if (each.size() == 1) {
    return fmt::format("{} of the {}s (n = {})", WithInterval(*each[0]), thing,
                       Counted(each[0]->n, what));
  }
  const auto by_value = [](const Estimate* churn) { return *churn->value; };
  const auto by_n = [](const Estimate* churn) { return churn->n; };
  const auto [least, most] = std::ranges::minmax_element(each, {}, by_value);
  const auto [fewest, largest] = std::ranges::minmax_element(each, {}, by_n);
  const std::string from = (*fewest)->n == (*largest)->n ? "" : fmt::format("{} to ", (*fewest)->n);
  return fmt::format("{} of the {}s, the mean of {} {} ({} to {}; n = {}{} each)",
                     Percent(MeanChurn(point), 2), thing, each.size(),
                     over_blocks ? "means over blocks" : "cells", Value(**least), Value(**most),
                     from, Counted((*largest)->n, what));
}

// The standard deviation is the root of the variance pooled over the cells.
std::string AccuracyOf(const PlanPoint& point) {
  std::vector<double> accuracy;
  double squares = 0;
  int64_t degrees = 0;
  for (const Cohort* cohort : point.cohorts) {
    if (cohort->accuracy.value) accuracy.push_back(*cohort->accuracy.value);
    if (!cohort->accuracy_sd.value) continue;
    const int64_t of_cell = cohort->accuracy_sd.n - 1;
    squares +=
        static_cast<double>(of_cell) * *cohort->accuracy_sd.value * *cohort->accuracy_sd.value;
    degrees += of_cell;
  }
  if (accuracy.empty() || degrees < 1) return "";
  return fmt::format("; accuracy {} with a standard deviation of {} inside a cell",
                     Percent(analysis::MeanOf(accuracy), 2),
                     Percent(std::sqrt(squares / static_cast<double>(degrees)), 2));
}

void SayPlan(const Study& study, const std::string& plan, Headlines& headlines) {
  const std::vector<PlanPoint> points = PointsOf(study, plan);
  if (points.empty()) return;
  const Cohort& first = *points[0].cohorts[0];
  const int64_t blocks = points[0].blocks.empty() ? 1 : 2;
  const std::string what = fmt::format("{} (frees {})", plan, Listed(first.acting));
  const std::string at = AtOneDraw(first.held, blocks);
  const std::string_view thing = AnswerWord(study.evaluation.attributes);
  if (std::ranges::all_of(points, [](const PlanPoint& point) { return MeanChurn(point) == 0; })) {
    headlines.push_back(fmt::format("{}: no two members{} differ in an answer.", what, at));
    return;
  }
  if (points.size() <= kMostPoints) {
    for (const PlanPoint& point : points) {
      const std::string axes = point.axes_label.empty() ? "" : ", " + point.axes_label;
      headlines.push_back(fmt::format("{}{}: two trainings{} disagree on {}{}.", what, axes, at,
                                      ChurnOf(point, thing), AccuracyOf(point)));
    }
    return;
  }
  const auto [least, most] = std::ranges::minmax_element(points, {}, MeanChurn);
  headlines.push_back(fmt::format(
      "{}: two trainings{} disagree on {} of the {}s at {} to {} at {}, of {} points of the axes.",
      what, at, Percent(MeanChurn(*least), 2), thing, least->axes_label,
      Percent(MeanChurn(*most), 2), most->axes_label, points.size()));
}

void SayPlans(const Study& study, Headlines& headlines) {
  std::map<std::string, bool> plans;
  for (const Cohort& cohort : study.cohorts) {
    if (!cohort.all_fixed) plans[cohort.plan] = true;
  }
  for (const auto& [plan, noisy] : plans) SayPlan(study, plan, headlines);
}

// Comparisons of one plan whose pairs differ by nothing but the factor.
using Comparisons = std::vector<const Comparison*>;

// The plan with the most independent draws of such pairs, the first of them: its comparisons at
// each point of the axes. One draw has no interval, and nothing is said of it.
std::map<std::string, Comparisons> MostDraws(const std::vector<Comparison>& all) {
  std::map<std::string, std::map<std::string, Comparisons>> by_plan;
  const std::map<std::string, Comparisons>* most = nullptr;
  int64_t most_draws = 1;
  for (const Comparison& comparison : all) {
    if (!comparison.kernels_fixed || comparison.under_trained || comparison.draws < 2) continue;
    if (comparison.by_draw.empty() || comparison.mixes_stacks) continue;
    by_plan[comparison.plan][comparison.axes_label].push_back(&comparison);
  }
  for (const auto& [plan, points] : by_plan) {
    for (const auto& [axes, comparisons] : points) {
      if (comparisons[0]->draws <= most_draws) continue;
      most = &points;
      most_draws = comparisons[0]->draws;
    }
  }
  return most == nullptr ? std::map<std::string, Comparisons>() : *most;
}

// For each draw that all comparisons have, the mean of its churns.
std::vector<double> MeansByDraw(const Comparisons& comparisons) {
  std::map<std::pair<uint32_t, std::optional<uint32_t>>, std::vector<double>> by_draw;
  for (const Comparison* comparison : comparisons) {
    for (const Draw& draw : comparison->by_draw) {
      by_draw[{draw.block, draw.replicate}].push_back(draw.churn);
    }
  }
  std::vector<double> means;
  for (const auto& [key, churns] : by_draw) {
    if (churns.size() == comparisons.size()) means.push_back(analysis::MeanOf(churns));
  }
  return means;
}

// How much does changing only the factor change, at one point of the axes?
void SayFactorAt(const std::string& axes, const Comparisons& comparisons, Headlines& headlines) {
  const Comparison& first = *comparisons[0];
  if (comparisons.size() == 1) {
    headlines.push_back(first.label + ". " + ChurnText(first));
    return;
  }
  Estimate mean = analysis::MeanEstimate(MeansByDraw(comparisons), "fraction");
  if (!mean.value || mean.n < 2) return;
  analysis::CutInterval(mean, 0, 1);
  const auto by_value = [](const Comparison* comparison) {
    return *comparison->churn_paired.value;
  };
  const auto [least, most] = std::ranges::minmax_element(comparisons, {}, by_value);
  const std::string at = AtOneDraw(first.held, static_cast<int64_t>(first.cells_a.size()));
  headlines.push_back(fmt::format(
      "{}hanging only the {} changes {} of the answers of a member{} (n = {} of {}; the mean of {} "
      "comparisons, which range from {} to {}).",
      axes.empty() ? "C" : axes + ": c", Word(first.factor), WithInterval(mean), at,
      Counted(mean.n, "draw"), first.plan, comparisons.size(), Value((*least)->churn_paired),
      Value((*most)->churn_paired)));
}

void SayFactorAlone(const std::vector<Comparison>& all, Headlines& headlines) {
  const std::map<std::string, Comparisons> points = MostDraws(all);
  if (points.size() > kMostPoints) {
    headlines.push_back(fmt::format(
        "What changing only the {} changes is in its table, for each of {} points of the axes.",
        Word(all[0].factor), points.size()));
    return;
  }
  for (const auto& [axes, comparisons] : points) SayFactorAt(axes, comparisons, headlines);
}

// Where something is free: does the factor shift the mean answer? What survives the correction,
// and what was looked at.
void SayShifts(const std::vector<SettingTest>& tests, const std::vector<Comparison>& comparisons,
               Headlines& headlines) {
  for (const SettingTest& test : tests) {
    if (!test.under_trained && test.shift.shown) headlines.push_back(test.text);
  }
  Comparisons shown;
  for (const Comparison& comparison : comparisons) {
    if (!comparison.under_trained && comparison.shift.shown) shown.push_back(&comparison);
  }
  if (shown.size() <= kMostPoints) {
    for (const Comparison* comparison : shown) {
      headlines.push_back(comparison->label + ":" + ShiftText(*comparison));
    }
  } else {
    const auto tested = std::ranges::count_if(comparisons, [](const Comparison& comparison) {
      return !comparison.under_trained && comparison.shift.p_holm;
    });
    headlines.push_back(fmt::format(
        "Of two {}, the mean answer shifts in {} of {} comparisons after Holm; each is in its "
        "table.",
        SidesWord(comparisons[0].factor), shown.size(), tested));
  }
  std::vector<std::string> tested;
  for (const SettingTest& test : tests) {
    if (test.under_trained || test.shift.shown || test.shift.replicates == 0) continue;
    const std::string p = test.shift.p_holm
                              ? fmt::format("p = {} after Holm", PValue(*test.shift.p_holm))
                              : test.shift.note;
    tested.push_back(fmt::format("{} ({})", test.setting, p));
  }
  if (!tested.empty()) {
    headlines.push_back(fmt::format("No shift of the mean answer by the {} is claimed in {}.",
                                    Word(tests[0].factor), Listed(tested)));
  }
}

// Of one question (an axis, or plans) the sides that differ, and how many were set against each
// other.
void SayContrasts(const Study& study, Headlines& headlines) {
  const int64_t tests = TestsOf(study);
  std::vector<std::pair<std::string, std::vector<const Contrast*>>> by_subject;
  for (const Contrast& contrast : study.contrasts) {
    if (contrast.under_trained) continue;
    if (by_subject.empty() || by_subject.back().first != contrast.subject) {
      by_subject.push_back({contrast.subject, {}});
    }
    by_subject.back().second.push_back(&contrast);
  }
  for (const auto& [subject, contrasts] : by_subject) {
    std::vector<std::string> claims;
    std::vector<int64_t> tested;  // Of those that have a test, the draws of that with fewest.
    for (const Contrast* contrast : contrasts) {
      const std::string claim = ClaimOf(*contrast, tests);
      if (!claim.empty()) claims.push_back(claim);
      std::optional<int64_t> fewest;
      for (const FigureContrast& figure : contrast->figures) {
        if (figure.p) fewest = std::min(fewest.value_or(figure.estimate.n), figure.estimate.n);
      }
      if (fewest) tested.push_back(*fewest);
    }
    const auto all = static_cast<int64_t>(contrasts.size());
    const int64_t untested = all - std::ssize(tested);
    const std::string rest = untested == 0 ? "" : fmt::format("; {} cannot be tested", untested);
    if (tested.empty()) {
      headlines.push_back(
          fmt::format("{}: churn and top-1 cannot be tested with so few draws ({}).", subject,
                      Counted(all, "contrast")));
    } else if (claims.empty()) {
      headlines.push_back(fmt::format(
          "{}: no difference of churn or top-1 is shown in {} (n = {} or more){}.", subject,
          Counted(std::ssize(tested), "contrast"), *std::ranges::min_element(tested), rest));
    } else if (claims.size() <= kMostPoints) {
      for (std::string& claim : claims) headlines.push_back(std::move(claim));
    } else {
      headlines.push_back(fmt::format(
          "{}: in {} of {} contrasts a difference is shown after Holm over {}; each is in its "
          "table{}.",
          subject, claims.size(), tested.size(), OverTests(tests), rest));
    }
  }
}

// A share whose interval is wider than the whole says nothing, nor does one of two draws.
bool IsNarrow(const SourceShare& share) {
  return share.share.n > 2 && share.share.low && *share.share.high - *share.share.low < 1;
}

void SayDecompositions(const Study& study, Headlines& headlines) {
  std::vector<std::string> texts;
  for (const SourceDecomposition& of : study.decompositions) {
    if (of.figure != "churn" || of.under_trained) continue;
    if (std::ranges::any_of(of.shares, IsNarrow)) texts.push_back(of.text);
  }
  if (texts.empty()) return;
  if (texts.size() <= kMostPoints) {
    for (std::string& text : texts) headlines.push_back(std::move(text));
    return;
  }
  headlines.push_back(fmt::format(
      "What share of the churn each source has is in its table, for each of {} settings.",
      texts.size()));
}

}  // namespace

std::vector<std::string> BuildHeadlines(const Study& study) {
  Headlines headlines;
  SayInterim(study, headlines);
  SayUntil(study, headlines);
  SayWhatWasNotTrained(study, headlines);
  SayEnds(study, headlines);
  SayControls(study, headlines);
  SayPlans(study, headlines);
  SayDecompositions(study, headlines);
  if (!study.interim) SayContrasts(study, headlines);
  SayFactorAlone(study.hardware, headlines);
  SayShifts(study.hardware_tests, study.hardware, headlines);
  SayFactorAlone(study.stacks, headlines);
  SayShifts(study.stack_tests, study.stacks, headlines);
  if (!study.worst_classes.text.empty()) headlines.push_back(study.worst_classes.text);
  for (const WorstClasses& worst : study.worst_groups) headlines.push_back(worst.text);
  return headlines;
}

}  // namespace noisefloor::report
