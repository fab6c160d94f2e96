// The first step of a study: members sorted into cells, their answers as one matrix for each
// evaluation set. Internal to this folder. Borrows the StudyInput.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/analysis/packed_answers.h"
#include "coordinator/analysis/prediction_matrix.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

struct MemberFacts {
  const MemberInput* input = nullptr;
  std::optional<int64_t> row;  // In the answers of its set; only of members that are done.
  size_t set = 0;              // Place in Gathered::sets: its cell's.
  double accuracy = 0;         // Test top-1; nan when there is none.
  double top5 = 0;
  double loss = 0;
};

struct CellFacts {
  const CellInput* input = nullptr;
  size_t set = 0;  // Place in Gathered::sets.
  std::string label;
  std::string axes_label;
  std::vector<size_t> members;  // Positions in Gathered::members, by replicate.
  std::vector<size_t> done;     // Those that are done.
  bool all_fixed = false;       // No source that acts is free: a control cohort.
  // Of the sources that act; one that is free and acts on nothing is `idle`.
  std::vector<NoiseSource> free_seeded;
  std::vector<NoiseSource> free_physical;
  std::vector<NoiseSource> held;  // Seeded, drawn once for each block.
  // Of free_seeded: drawn by some members together, as their levels say. Then members are no
  // independent draws.
  std::vector<NoiseSource> shared;
  std::vector<NoiseSource> idle;  // Free.
  std::vector<NoiseSource> off;
  bool seeded_free = false;  // A seeded source is free.
  bool under_trained = false;
};

// A plan at one point of the axes, over all hardware, blocks and members: too low to be judged.
struct UnderTrained {
  std::string label;  // "algo, learning_rate=0.01"
  double accuracy = 0;
  double least = 0;  // What it should have reached.
};

// One evaluation set, and what members said on it: only these can be compared.
struct SetFacts {
  const EvaluationSet* input = nullptr;
  std::optional<analysis::PredictionMatrix> answers;  // Absent without any usable predictions.
  std::optional<analysis::PackedAnswers> packed;      // The same, for counting over many pairs.
  bool labels_known = false;                          // One label for each example.
  double chance = 0;                                  // Share of the largest class; 0 when unknown.
};

struct Gathered {
  const StudyInput* input = nullptr;
  std::vector<MemberFacts> members;
  std::vector<CellFacts> cells;  // By cell index.
  std::vector<SetFacts> sets;    // As StudyInput::evaluations; at least one.
  std::vector<UnderTrained> under_trained;
  std::vector<Warning> warnings;
  // Members are still to come: some have not ended, or `until` has not decided how many there are.
  bool interim = false;
};

// Cells are under-trained when the mean top-1 of their plan at their point of the axes, over all
// members on all hardware, is below the sweep's reference accuracy; without one, below twice
// chance or half-way from chance to 1, whichever is less.
Gathered Gather(const StudyInput& input);

// The answers of those of these members, all of one set, that have some, in order, and who they
// are.
struct Answers {
  std::vector<size_t> members;
  std::optional<analysis::PredictionMatrix> matrix;  // Absent when there are none.
};
Answers AnswersOf(const Gathered& gathered, std::span<const size_t> members);

// Whether the member has logits of all examples of its set; they are not looked at.
bool HasLogits(const MemberInput& member, const EvaluationSet& set);
// Those, where all are finite; else empty.
std::span<const float> FiniteLogits(const MemberInput& member, const EvaluationSet& set);

// Have the cells several values of it, so that names must say which?
template <typename Field>
bool Varies(const std::vector<CellFacts>& cells, Field CellInput::*field) {
  return std::ranges::any_of(
      cells, [&](const CellFacts& cell) { return cell.input->*field != cells[0].input->*field; });
}

// The cell with this index, which is there.
const CellFacts& CellOf(const Gathered& gathered, uint32_t index);

// One number for each of these members.
std::vector<double> ValuesOf(const Gathered& gathered, std::span<const size_t> members,
                             double MemberFacts::*field);

MemberCounts CountMembers(const Gathered& gathered, std::span<const size_t> members);

// The trainer build a member ran with: what it said, else what was offered to its cell.
std::string BuildOf(const MemberInput& member, const CellInput& cell);

std::string ClassName(const EvaluationSet& evaluation, int32_t label);

// Answers to one example: where answers are decisions, one for each of its attributes.
inline int64_t AnswersToOne(const EvaluationSet& evaluation) {
  return std::max<int64_t>(evaluation.attributes, 1);
}

}  // namespace noisefloor::report
