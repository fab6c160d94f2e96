// What people ask of many members of a sweep at once, done in pieces: whoever else speaks is heard
// in between. Untouched members are changed together, with their cell.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// What the selection names and the sweep has not: "s3 has no plan contrl; it has control, algo".
// Empty: it has all of it.
std::string FaultOf(const SweepState& sweep, const Selection& selection);

// Whether some of its members may be meant.
bool IsOfCell(const Selection& selection, const CellState& cell);

// What is left to do in a piece.
class Budget {
 public:
  // As many members as are changed in one.
  explicit Budget(uint32_t changes) : looks_(changes * kLooksOfAChange) {}
  bool spent() const { return looks_ == 0; }
  void Look(size_t members) { looks_ -= std::min(looks_, members); }
  void Changed() { Look(kLooksOfAChange); }

 private:
  // So many members are looked at in the time in which one is changed.
  static constexpr size_t kLooksOfAChange = 64;
  size_t looks_ = 0;
};

// More of the sweep waits: it belongs into lists, and failures of before no longer count.
void GoOn(Turn& turn, SweepState& sweep);

// Begins a change behind those that are under way, and does the first piece if none is. Once the
// last piece is done its event is appended and its request, if it has one, answered.
void BeginChange(Turn& turn, Change change);
// The next piece of the first that is under way. Ends as many leases as Options::most_at_once.
void ContinueChanges(Turn& turn);

// Failed members that count against max_failures.
uint32_t FailuresThatCount(const SweepState& sweep);
// Where as many members have failed as may, the members that wait are cancelled.
void StopAtMaxFailures(Turn& turn, const SweepState& sweep);

}  // namespace noisefloor::scheduler
