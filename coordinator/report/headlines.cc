#include "coordinator/report/headlines.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "fmt/format.h"

#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using Headlines = std::vector<std::string>;

// Cohorts that say something about noise: some source is free and there is a churn.
std::vector<const Cohort*> NoisyCohorts(const Study& study) {
  std::vector<const Cohort*> noisy;
  for (const Cohort& cohort : study.cohorts) {
    if (!cohort.all_fixed && !cohort.under_trained && cohort.churn.value) noisy.push_back(&cohort);
  }
  return noisy;
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
  if (total == 1 && different == 0) {
    headlines.push_back("The control cohort is bit-identical.");
    return;
  }
  std::string text = fmt::format("{} of {} are bit-identical", total - different - unproved,
                                 Counted(total, "control cohort"));
  if (different > 0) text += fmt::format(", {} not", different);
  if (unproved > 0) text += fmt::format(", {} not proved{}", unproved, yet);
  headlines.push_back(text + ".");
}

// One sentence for each plan: the range of its churn and spread over the cells.
void SayPlans(const Study& study, Headlines& headlines) {
  std::map<std::string, std::vector<const Cohort*>> by_plan;
  for (const Cohort* cohort : NoisyCohorts(study)) by_plan[cohort->plan].push_back(cohort);
  for (const auto& [plan, cohorts] : by_plan) {
    const auto less = [](const Cohort* a, const Cohort* b) {
      return *a->churn.value < *b->churn.value;
    };
    const auto [least, most] = std::minmax_element(cohorts.begin(), cohorts.end(), less);
    const Cohort& quiet = **least;
    const Cohort& loud = **most;
    if (*loud.churn.value == 0) {
      headlines.push_back(fmt::format("{}: no two members differ in an answer.", plan));
      continue;
    }
    std::string text = fmt::format("{}: two trainings disagree on {} of the examples (n = {}, {})",
                                   plan, WithInterval(loud.churn), loud.churn.n, loud.label);
    if (cohorts.size() > 1) {
      text += fmt::format(", the most of {} cells; the least is {}", cohorts.size(),
                          Value(quiet.churn));
    }
    if (loud.accuracy_sd.value) {
      text += fmt::format("; accuracy {} with a standard deviation of {}", Value(loud.accuracy),
                          Value(loud.accuracy_sd));
    }
    headlines.push_back(text + ".");
  }
}

using Comparisons = std::vector<const HardwareComparison*>;

// Comparisons of cohorts that say something: where all is fixed, and where something is free.
struct SplitComparisons {
  Comparisons fixed;
  Comparisons free;
};

SplitComparisons SplitByFreedom(const Study& study) {
  std::map<uint32_t, const Cohort*> cohorts;
  for (const Cohort& cohort : study.cohorts) cohorts[cohort.cell] = &cohort;
  SplitComparisons split;
  for (const HardwareComparison& comparison : study.hardware) {
    const Cohort& a = *cohorts.at(comparison.cell_a);
    const Cohort& b = *cohorts.at(comparison.cell_b);
    if (a.under_trained || b.under_trained) continue;
    (a.all_fixed && b.all_fixed ? split.fixed : split.free).push_back(&comparison);
  }
  return split;
}

// By its lower bound, then by its value: how sure is it that the hardware adds much? Additions
// without an interval come last.
std::pair<double, double> RankOf(const Estimate& excess) {
  return {excess.low.value_or(-std::numeric_limits<double>::infinity()), *excess.value};
}

// Where all else is fixed: how much changes.
void SayFixed(const Comparisons& fixed, Headlines& headlines) {
  const HardwareComparison* said = nullptr;
  int64_t changed = 0;
  int64_t compared = 0;
  for (const HardwareComparison* comparison : fixed) {
    const std::optional<double>& churn = comparison->churn_paired.value;
    if (!churn) continue;
    ++compared;
    changed += *churn > 0;
    // Fixed sources leave no noise: the value is what it is, with or without an interval.
    if (said == nullptr || *churn > *said->churn_paired.value) said = comparison;
  }
  if (said == nullptr) return;
  std::string text = said->label + ". " + said->text;
  if (compared > 1) {
    text += fmt::format(" An answer changes in {} of {} comparisons of fixed cohorts.", changed,
                        compared);
  }
  headlines.push_back(text);
}

// Where something is free: does hardware add to its noise?
void SayFree(const Comparisons& free, Headlines& headlines) {
  const HardwareComparison* said = nullptr;
  int64_t above = 0;
  int64_t compared = 0;
  for (const HardwareComparison* comparison : free) {
    const Estimate& excess = comparison->churn_excess;
    if (!excess.value) continue;
    ++compared;
    above += excess.low.value_or(0) > 0;
    if (said == nullptr || RankOf(excess) > RankOf(said->churn_excess)) said = comparison;
  }
  if (said == nullptr) return;
  std::string text = said->label + ". " + said->text;
  if (compared > 1) {
    text += fmt::format(
        " The interval of such an addition lies above 0 in {} of {} comparisons with free sources.",
        above, compared);
  }
  headlines.push_back(text);
}

void SayClasses(const Study& study, Headlines& headlines) {
  const ClassSensitivity* worst = nullptr;
  const Cohort* of = nullptr;
  for (const Cohort* cohort : NoisyCohorts(study)) {
    for (const ClassSensitivity& row : cohort->per_class) {
      if (!row.churn.value || *row.churn.value == 0) continue;
      if (worst != nullptr && *row.churn.value <= *worst->churn.value) continue;
      worst = &row;
      of = cohort;
    }
  }
  if (worst == nullptr) return;
  headlines.push_back(fmt::format("{} pays most: churn {} against {} over all classes ({}; {}).",
                                  worst->name, WithInterval(worst->churn), Value(of->churn),
                                  Counted(worst->examples, "example"), of->label));
}

}  // namespace

std::vector<std::string> BuildHeadlines(const Study& study) {
  Headlines headlines;
  SayControls(study, headlines);
  SayPlans(study, headlines);
  const SplitComparisons comparisons = SplitByFreedom(study);
  SayFixed(comparisons.fixed, headlines);
  SayFree(comparisons.free, headlines);
  SayClasses(study, headlines);
  return headlines;
}

}  // namespace noisefloor::report
