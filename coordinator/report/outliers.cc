#include "coordinator/report/outliers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "coordinator/analysis/outlier.h"
#include "coordinator/analysis/paired_ratio.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

constexpr double kLevelOfStudy = 0.01;
// Accuracies are whole numbers of answers: where nearly all members have the same, one that has one
// more is far away in deviations, and no bad training.
constexpr double kFewAnswers = 3;

// How many answers a member is away from the middle one.
double AnswersAway(const Gathered& gathered, const CellFacts& cell, size_t member) {
  std::vector<double> accuracy = ValuesOf(gathered, cell.done, &MemberFacts::accuracy);
  std::erase_if(accuracy, [](double value) { return !std::isfinite(value); });
  const auto& answers = gathered.sets[cell.set].answers;
  const auto examples = answers ? static_cast<double>(answers->examples())
                                : static_cast<double>(gathered.sets[cell.set].input->labels.size());
  return std::abs(gathered.members[member].accuracy - analysis::MedianOf(accuracy)) * examples;
}

bool HaveOtherDraws(const CellFacts& cell, const MemberInput& a, const MemberInput& b) {
  return std::ranges::any_of(cell.free_seeded, [&](NoiseSource source) {
    const auto of_a = a.lanes.find(source);
    const auto of_b = b.lanes.find(source);
    return of_a != a.lanes.end() && of_b != b.lanes.end() && of_a->second != of_b->second;
  });
}

}  // namespace

void AddCopies(const Gathered& gathered, std::vector<Warning>& warnings) {
  for (const CellFacts& cell : gathered.cells) {
    if (cell.input->stack == "noop") continue;           // Its trainer draws nothing.
    std::map<std::string, const MemberInput*> first_of;  // By what they answer.
    std::vector<std::string> copies;
    for (const size_t m : cell.done) {
      const MemberInput& member = *gathered.members[m].input;
      if (member.hashes.logits.empty()) continue;
      const MemberInput& first = *first_of.emplace(member.hashes.logits, &member).first->second;
      if (!HaveOtherDraws(cell, first, member)) continue;
      copies.push_back(fmt::format("{} and {}", first.id, member.id));
    }
    if (copies.empty()) continue;
    const size_t more = copies.size() - 1;
    const bool poked = std::ranges::count(cell.free_seeded, NoiseSource::kPoke) > 0;
    warnings.push_back(
        {"warning", CellSubject(cell.input->index, cell.label),
         fmt::format(
             "{}{} have the same logits to the last bit, though their draws of {} differ: "
             "a copy, or seeds that nobody used{}, is no draw of its own, and every interval "
             "here counts it as one.",
             copies[0], more == 0 ? "" : fmt::format(" (and {} more such)", more),
             Listed(NamesOf(cell.free_seeded)),
             poked ? ", or a poke that reached no answer" : "")});
  }
}

void AddOutliers(const Gathered& gathered, std::vector<Warning>& warnings) {
  std::vector<std::pair<const CellFacts*, analysis::Farthest>> apart;
  int64_t judged = 0;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.all_fixed || !cell.shared.empty()) continue;
    const auto farthest =
        analysis::FarthestValue(ValuesOf(gathered, cell.done, &MemberFacts::accuracy));
    if (!farthest) continue;
    ++judged;
    if (AnswersAway(gathered, cell, cell.done[farthest->place]) <= kFewAnswers) continue;
    apart.emplace_back(&cell, *farthest);
  }
  for (const auto& [cell, farthest] : apart) {
    if (farthest.p * static_cast<double>(judged) > kLevelOfStudy) continue;
    const MemberFacts& member = gathered.members[cell->done[farthest.place]];
    warnings.push_back(
        {"warning", CellSubject(cell->input->index, cell->label),
         fmt::format(
             "{} lies apart from the others ({}, {:.1f} standard deviations from their mean "
             "of {}): top-1 does not spread normally here, so that the interval of its "
             "standard deviation is too narrow, and that of its mean may be.",
             member.input->id, Percent(member.accuracy, 2), farthest.deviations,
             Counted(static_cast<int64_t>(cell->done.size()), "member"))});
  }
}

}  // namespace noisefloor::report
