// What happened to a sweep or a member. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/ids.h"

namespace noisefloor::query {

enum class EventKind : uint8_t {
  kLeased,     // A worker got a lease of the member.
  kDone,       // Ended with an accepted result.
  kDiverged,   // Ended with an accepted result that is not finite.
  kRetried,    // An attempt failed; the member waits again.
  kFailed,     // The last attempt failed, and with it the member.
  kCancelled,  // A person or a limit of failures ended it.
  kLost,       // The lease was lost with its worker. The member waits again.
  kRequeued,   // A person lets it wait again.
  kSubmitted,  // Of a sweep, as the next two.
  kUpdated,
  kExtended,
  kOther,  // What only its words tell.
};

struct Event {
  EventId number;  // 0: not known.
  int64_t unix_micros = 0;
  EventKind kind = EventKind::kOther;
  std::optional<MemberId> member;  // Nothing: of the whole sweep.
  uint32_t attempt = 0;            // From 1; 0: of none, as the lease.
  LeaseId lease;
  std::string worker;  // Its name; empty: of none.
  std::string caller;  // Who asked for it; empty: nobody, or not known.
  std::string text;    // In words.
};

}  // namespace noisefloor::query
