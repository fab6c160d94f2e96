#include "coordinator/report/contrast_words.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/report/comparison_words.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

// The same difference the other way round: 3 % fewer, not -3 % more.
Estimate Turned(Estimate estimate) {
  estimate.value = -*estimate.value;
  std::swap(estimate.low, estimate.high);
  if (estimate.low) estimate.low = -*estimate.low;
  if (estimate.high) estimate.high = -*estimate.high;
  return estimate;
}

// "two trainings disagree on 3.1 % [2.2, 4.0] more of the answers"
std::string SizeOf(const FigureContrast& contrast) {
  const Estimate& estimate = contrast.estimate;
  if (contrast.figure == "accuracy_above") {
    return fmt::format("a draw of the first has more top-1 with a probability of {}",
                       WithInterval(estimate));
  }
  if (contrast.figure == "accuracy_sd") {
    return fmt::format("the SD of top-1 is {} times as large", WithInterval(estimate));
  }
  const bool is_more = *estimate.value >= 0;
  const std::string size = WithInterval(is_more ? estimate : Turned(estimate));
  return contrast.figure == "churn"
             ? fmt::format("two trainings disagree on {} {} of the answers", size,
                           is_more ? "more" : "fewer")
             : fmt::format("top-1 is {} by {} of the answers", is_more ? "higher" : "lower", size);
}

std::string Corrected(const FigureContrast& figure, int64_t tests) {
  if (tests == 1) return "p = " + PValue(*figure.p);
  return fmt::format("p = {} after Holm over {}", PValue(*figure.p_holm), OverTests(tests));
}

// ", n = 3, over 2 settings": where a figure has less than the contrast says.
std::string Less(const FigureContrast& figure, const Contrast& contrast) {
  std::string text;
  if (figure.estimate.n != contrast.draws) text += fmt::format(", n = {}", figure.estimate.n);
  if (figure.settings != contrast.settings) {
    text += fmt::format(", over {}", Counted(figure.settings, "setting"));
  }
  return text;
}

// "learning_rate 0.5 against 0.05 (algo, cpu-amd-avx2; n = 6 draws)"
std::string SidesOf(const Contrast& contrast) {
  std::string over;
  for (const std::string& part : {contrast.plan, contrast.over}) {
    if (part.empty()) continue;
    over += (over.empty() ? "" : ", ") + part;
  }
  const std::string at = AtOneDraw(contrast.at_one_draw, 1);
  return fmt::format("{} {} against {} ({}{}n = {}{})", contrast.subject, contrast.b, contrast.a,
                     over, over.empty() ? "" : "; ",
                     Counted(contrast.draws, contrast.over_blocks ? "block" : "draw"), at);
}

std::string Sentence(const Contrast& contrast, const std::vector<std::string>& parts) {
  std::string text = fmt::format("{}: {}.", SidesOf(contrast), fmt::join(parts, "; "));
  if (contrast.stacks_differ) text += " The stacks differ as well.";
  if (contrast.left_out > 0) {
    text += fmt::format(" {} left out, without draws that the others have.",
                        Counted(contrast.left_out, "setting"));
  }
  return text;
}

}  // namespace

std::string_view NounOf(const FigureContrast& contrast) {
  return contrast.figure == "churn"            ? "churn"
         : contrast.figure == "accuracy"       ? "top-1"
         : contrast.figure == "accuracy_above" ? "which has more top-1"
                                               : "the SD of top-1";
}

std::string_view Word(Question question) {
  switch (question) {
    case Question::kAxis: return "axis";
    case Question::kPlan: return "plan";
    case Question::kHardware: return "hardware";
    case Question::kStack: break;
  }
  return "stack";
}

std::string TextOf(const Contrast& contrast, int64_t tests) {
  std::vector<std::string> parts;
  for (const FigureContrast& figure : contrast.figures) {
    const std::string noun(NounOf(figure));
    const std::string less = Less(figure, contrast);
    if (!figure.estimate.value) {
      parts.push_back(fmt::format("nothing is told of {} ({})", noun, figure.estimate.note));
    } else if (figure.shown) {
      parts.push_back(fmt::format("{} ({}{})", SizeOf(figure), Corrected(figure, tests), less));
    } else if (figure.p_holm) {
      parts.push_back(fmt::format("a difference of {} is not shown ({}; {}{})", noun,
                                  WithInterval(figure.estimate), Corrected(figure, tests), less));
    } else if (figure.figure == "accuracy_sd" || figure.figure == "accuracy_above") {
      parts.push_back(fmt::format("{}, which is not tested{}", SizeOf(figure), less));
    } else {
      parts.push_back(
          fmt::format("of a difference of {} ({}{}) nothing is claimed: {}", noun,
                      WithInterval(figure.estimate), less,
                      contrast.under_trained ? "a side is under-trained" : figure.estimate.note));
    }
  }
  return Sentence(contrast, parts);
}

std::string ClaimOf(const Contrast& contrast, int64_t tests) {
  std::vector<std::string> parts;
  for (const FigureContrast& figure : contrast.figures) {
    if (!figure.shown) continue;
    parts.push_back(
        fmt::format("{} ({}{})", SizeOf(figure), Corrected(figure, tests), Less(figure, contrast)));
  }
  return parts.empty() ? "" : Sentence(contrast, parts);
}

}  // namespace noisefloor::report
