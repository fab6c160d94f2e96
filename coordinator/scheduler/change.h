// A change of many members of a sweep that is under way: it is done in pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "coordinator/scheduler/event.h"

namespace noisefloor::scheduler {

// Soft: a restart forgets what was not done yet.
struct Change {
  enum class Kind { kCancel, kRetry, kExtend };
  Kind kind = Kind::kCancel;
  RequestNumber request = 0;  // Who waits for the answer; 0: nobody asked for it.
  SweepId sweep;
  Selection selection;
  std::string caller;           // Who asked for it.
  std::string reason;           // Of the ends of leases.
  size_t unpinned = 0;          // Cells whose pins were taken back before.
  bool untouched_done = false;  // Untouched members come first: nobody is to lease them meanwhile.
  uint32_t cell = 0;            // Where it goes on.
  uint32_t replicate = 0;
  uint32_t count = 0;  // Changed so far.
  // Of kExtend.
  // shared: with copies of the state; immutable.
  std::shared_ptr<const SweepExtended> extension;
};

}  // namespace noisefloor::scheduler
