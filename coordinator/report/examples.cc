#include "coordinator/report/examples.h"

#include <array>
#include <string_view>

#include "fmt/format.h"

#include "coordinator/analysis/divergent.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

std::string Base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (at + k < bytes.size() ? bytes[at + k] : 0);
    for (size_t k = 0; k < 4; ++k) {
      const bool filler = at + k > bytes.size();
      text += filler ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

Picture PictureOf(const EvaluationSet& evaluation, int64_t example) {
  const size_t size = static_cast<size_t>(evaluation.height) *
                      static_cast<size_t>(evaluation.width) *
                      static_cast<size_t>(evaluation.channels);
  const size_t begin = static_cast<size_t>(example) * size;
  if (size == 0 || evaluation.images.size() < begin + size) return {};
  return {evaluation.height, evaluation.width, evaluation.channels,
          Base64(evaluation.images.subspan(begin, size))};
}

// Members whose disagreement means something: neither control (equal by promise) nor
// under-trained (equal to guessing), unless nothing else is there.
std::vector<size_t> PoolOf(const Gathered& gathered, std::string& who) {
  std::vector<size_t> all;
  std::vector<size_t> chosen;
  for (const CellFacts& cell : gathered.cells) {
    for (const size_t m : cell.done) {
      if (!gathered.members[m].row) continue;
      all.push_back(m);
      if (!cell.all_fixed && !cell.under_trained) chosen.push_back(m);
    }
  }
  if (chosen.size() >= 4) {
    who = "members of all cells but control and under-trained ones";
    return chosen;
  }
  who = "all members";
  return all;
}

struct Halves {
  std::vector<size_t> pool;
  std::vector<size_t> selecting;
  std::vector<size_t> measuring;
};

// By replicate, so that a pair on two hardware classes, which shares its seeds, stays together.
Halves Split(const Gathered& gathered, std::vector<size_t> pool) {
  Halves halves;
  for (const size_t m : pool) {
    const bool even = gathered.members[m].input->replicate % 2 == 0;
    (even ? halves.selecting : halves.measuring).push_back(m);
  }
  halves.pool = std::move(pool);
  return halves;
}

DivergentExample ExampleOf(const Gathered& gathered, const Halves& halves,
                           analysis::Divergent divergent) {
  const EvaluationSet& evaluation = gathered.input->evaluation;
  const size_t at = static_cast<size_t>(divergent.example);
  DivergentExample example;
  example.example = divergent.example;
  example.label = evaluation.labels[at];
  example.label_name = ClassName(evaluation, example.label);
  example.selected_by = divergent.selected_by;
  example.disagreement = std::move(divergent.disagreement);
  example.accuracy = std::move(divergent.accuracy);
  for (const size_t m : halves.pool) {
    example.said.push_back(gathered.answers->Row(*gathered.members[m].row)[at]);
  }
  example.picture = PictureOf(evaluation, divergent.example);
  return example;
}

DivergentExamples Nothing(const std::string& note) {
  DivergentExamples examples;
  examples.subset_disagreement = analysis::Absent("fraction", 0, note);
  examples.subset_accuracy = examples.subset_disagreement;
  examples.note = note;
  return examples;
}

}  // namespace

DivergentExamples BuildExamples(const Gathered& gathered) {
  if (!gathered.answers) return Nothing("No member has usable predictions.");
  if (!gathered.labels_known) return Nothing("The labels of the evaluation set are not known.");
  std::string who;
  const Halves halves = Split(gathered, PoolOf(gathered, who));
  if (halves.selecting.size() < 2 || halves.measuring.empty()) {
    return Nothing("Needs two members that select examples and one that measures on them.");
  }
  const Answers selecting = AnswersOf(gathered, halves.selecting);
  const Answers measuring = AnswersOf(gathered, halves.measuring);
  analysis::DivergentSet set = analysis::FindDivergent(
      *selecting.matrix, *measuring.matrix, gathered.input->evaluation.labels, kMostExamples);
  DivergentExamples examples;
  for (const size_t m : halves.pool) {
    const MemberInput& member = *gathered.members[m].input;
    examples.members.push_back(member.id);
    examples.cells.push_back(member.cell);
    examples.selecting.push_back(member.replicate % 2 == 0);
  }
  for (analysis::Divergent& divergent : set.examples) {
    examples.examples.push_back(ExampleOf(gathered, halves, std::move(divergent)));
  }
  examples.subset_disagreement = std::move(set.subset_disagreement);
  examples.subset_accuracy = std::move(set.subset_accuracy);
  examples.note = fmt::format(
      "Of {}: chosen by the {} with an even replicate number (most disagreeing pairs, at most {} "
      "examples), measured on the {} with an odd one, so that choosing does not bias the figures.",
      who, halves.selecting.size(), kMostExamples, halves.measuring.size());
  if (examples.examples.empty()) examples.note += " The choosing members agree on every example.";
  return examples;
}

}  // namespace noisefloor::report
