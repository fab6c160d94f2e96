#include "coordinator/report/sensitive.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "fmt/format.h"

#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/sensitive.h"
#include "coordinator/analysis/shrinkage.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/pairing.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

constexpr size_t kLeastDraws = 3;

// The same draws on both sides, with predictions: positions in Gathered::members. Empty where
// replicates are no draws.
std::vector<std::vector<size_t>> DrawsOf(const Gathered& gathered, const Comparison& comparison) {
  std::vector<std::vector<size_t>> draws(2);
  const CellFacts& first = CellOf(gathered, comparison.cells_a[0]);
  if (!ReplicatesAreDraws(first, comparison.cells_a.size())) return draws;
  for (const auto& matched : MatchBlocks(gathered, comparison.cells_a, comparison.cells_b)) {
    const auto of_block = WithPredictions(gathered, matched);
    for (size_t side = 0; side < 2; ++side) {
      draws[side].insert(draws[side].end(), of_block[side].begin(), of_block[side].end());
    }
  }
  return draws;
}

// What most rows answer to x, by name; ties to the lowest, undefined answers last.
std::string MostGiven(const EvaluationSet& evaluation, const analysis::PredictionMatrix& answers,
                      int64_t x) {
  std::map<int32_t, int64_t> counts;
  for (int64_t r = 0; r < answers.members(); ++r) ++counts[answers.Row(r)[static_cast<size_t>(x)]];
  const auto more = [](const auto& a, const auto& b) {
    return std::tuple(a.second, a.first >= 0, -a.first) <
           std::tuple(b.second, b.first >= 0, -b.first);
  };
  const int32_t most = std::ranges::max_element(counts, more)->first;
  return most < 0 ? "undefined" : ClassName(evaluation, most);
}

// Examples that flip, by p and then by their flips.
std::vector<size_t> MostSensitive(const std::vector<int64_t>& flips,
                                  const std::vector<std::optional<analysis::FollowsSide>>& tests) {
  std::vector<size_t> examples;
  for (size_t x = 0; x < flips.size(); ++x) {
    if (flips[x] > 0) examples.push_back(x);
  }
  const auto key = [&](size_t x) {
    return std::tuple(tests[x] ? tests[x]->p : 2, -flips[x], x);  // Untested ones last.
  };
  const size_t most = std::min(examples.size(), kMostSensitive);
  std::ranges::partial_sort(examples, examples.begin() + static_cast<std::ptrdiff_t>(most), {},
                            key);
  examples.resize(most);
  return examples;
}

// `things`: what is answered, "test examples" or "decisions".
std::string TextOf(const SensitiveExamples& s, const Comparison& comparison,
                   std::string_view things) {
  std::string text =
      fmt::format("{}: {} of {} {} are answered otherwise in one of {} draws or more{}", s.label,
                  s.flipped, s.examples, things, s.draws, AtOneDraw(comparison.held, 1));
  if (!comparison.shift.shown) {
    return text + (comparison.shift.note.empty()
                       ? "; no shift of the mean answer is shown, so that none of them is tested."
                       : fmt::format("; none of them is tested: {}.", comparison.shift.note));
  }
  if (s.tested == 0) {
    return text + "; none flips so often that it could be told from what seeds do.";
  }
  text +=
      fmt::format("; of {} that flip so often that it could be told, {}", s.tested, s.found.size());
  text += s.factor == Factor::kHardware ? " go with the hardware" : " go with the stack";
  // What is bounded is an expectation, and of nothing there is none.
  return text + (s.found.empty() ? "." : " (at most 5 % of these are expected to be chance).");
}

}  // namespace

std::vector<SensitiveExamples> BuildSensitive(const Gathered& gathered,
                                              const std::vector<Comparison>& comparisons) {
  std::vector<SensitiveExamples> all;
  for (const Comparison& comparison : comparisons) {
    if (comparison.under_trained) continue;
    const std::vector<std::vector<size_t>> draws = DrawsOf(gathered, comparison);
    if (draws[0].size() < kLeastDraws) continue;
    const Answers a = AnswersOf(gathered, draws[0]);
    const Answers b = AnswersOf(gathered, draws[1]);
    const EvaluationSet& evaluation = *gathered.sets[gathered.members[draws[0][0]].set].input;
    const std::vector<int64_t> flips = analysis::FlipsByExample(*a.matrix, *b.matrix);
    SensitiveExamples& out = all.emplace_back();
    out.factor = comparison.factor;
    out.label = comparison.label;
    const bool of_hardware = comparison.factor == Factor::kHardware;
    out.side_a = of_hardware ? comparison.hardware_a : comparison.stack_a;
    out.side_b = of_hardware ? comparison.hardware_b : comparison.stack_b;
    out.draws = a.matrix->members();
    out.examples = a.matrix->examples();
    out.flipped = std::ranges::count_if(flips, [](int64_t count) { return count > 0; });
    const auto prior = analysis::PriorOfShares(flips, out.draws);
    if (prior) {
      out.alpha = prior->alpha;
      out.beta = prior->beta;
    }
    std::vector<std::optional<analysis::FollowsSide>> tests(flips.size());
    if (comparison.shift.shown) {
      tests = analysis::TestExamples(*a.matrix, *b.matrix, flips, analysis::kLevel);
    }
    for (size_t x = 0; x < tests.size(); ++x) {
      if (!tests[x]) continue;
      ++out.tested;
      if (tests[x]->p_fdr <= analysis::kLevel) out.found.push_back(static_cast<int64_t>(x));
    }
    for (const size_t x : MostSensitive(flips, tests)) {
      SensitiveExample& one = out.most.emplace_back();
      one.example = static_cast<int64_t>(x);
      if (x < evaluation.labels.size()) {
        one.label = evaluation.labels[x];
        one.label_name = ClassName(evaluation, one.label);
      }
      one.flips = flips[x];
      one.rate = prior ? analysis::ShrunkenShare(*prior, flips[x], out.draws)
                       : analysis::Absent("fraction", out.draws,
                                          "flips spread no more than one rate for all");
      one.said_a = MostGiven(evaluation, *a.matrix, one.example);
      one.said_b = MostGiven(evaluation, *b.matrix, one.example);
      if (!tests[x]) continue;
      one.p = tests[x]->p;
      one.p_fdr = tests[x]->p_fdr;
    }
    out.text = TextOf(out, comparison, evaluation.attributes > 0 ? "decisions" : "test examples");
  }
  return all;
}

}  // namespace noisefloor::report
