// Sweeps that evaluate weights on other classes than they were trained on: train-on x infer-on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::sweep {

// Some members of a cell whose weights are there.
struct InferSource {
  Cell cell;             // With its pins.
  std::string identity;  // Of its data; "" = not known.
  std::vector<GivenWeights> weights;
};

// Which inference: on these classes, with this stack; "" = that of each cell, "any": whichever.
struct InferWish {
  SweepId of;
  std::vector<std::string> hardware;
  std::string stack;
};

// The members of `sources`, which are of `original`, on each class. A member has the lanes and
// seeds of its subject: its specification is that of its subject but for the class. Of a cell of
// which some members are left out, the plan names by levels whose lanes the others have, under a
// name of its own ("algo-2") where another cell of that plan has others.
Sweep InferenceOf(const Sweep& original, const std::vector<InferSource>& sources,
                  const InferWish& wish);

// Of an inference: its cells, a class after the other for each subject's cell. See Expand.
std::vector<Cell> InferenceCells(const Sweep& sweep);

// What a member of an inference evaluates; null: it is of no inference, or has no such member.
const GivenWeights* WeightsOf(const Sweep& sweep, const MemberId& member);
// The member that a member is about; nothing: about none.
std::optional<MemberId> SubjectOf(const Sweep& sweep, const MemberId& member);
// The sweep whose members the sweep is about; nothing: it trains its own.
std::optional<SweepId> AboutSweep(const Sweep& sweep);

}  // namespace noisefloor::sweep
