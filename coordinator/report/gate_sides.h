// Which cells of two studies are set against each other, and whether they may be. Internal to this
// folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/report/contrast_side.h"
#include "coordinator/report/gate.h"
#include "coordinator/report/gather.h"

namespace noisefloor::report {

// Where cells of both sides meet.
struct MeetingKey {
  std::string plan;
  std::vector<AxisSetting> axes;
  std::string hardware;  // "" where each side has one class.
  std::string stack;     // "" where each side has one stack.
  friend auto operator<=>(const MeetingKey&, const MeetingKey&) = default;
};

// The cells of one side in one setting: one for each block. Borrows what was gathered.
struct GateSide {
  const Gathered* gathered = nullptr;
  std::vector<const CellFacts*> cells;

  ContrastSide ForContrasts() const;
  // The members that are done, by block and replicate.
  std::map<DrawId, const MemberInput*> Done() const;
  MemberCounts Counts() const;
  bool SharesDraws() const;  // Of a free source, by levels: its members are no draws.
  bool IsUnderTrained() const;
};

struct Sides {
  std::map<MeetingKey, GateSide> a;
  std::map<MeetingKey, GateSide> b;
};
Sides SidesOf(const Gathered& a, const Gathered& b, const GateOptions& options);

// Equal seeds give equal lanes the same draws.
bool ShareDraws(const GateSide& a, const GateSide& b);

// InvalidInput where the sources are in other states, or the test examples are not the same.
absl::Status CheckAlike(const GateSide& a, const GateSide& b);

}  // namespace noisefloor::report
