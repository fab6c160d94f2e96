// Whether the reading of a set, which may take hours, is to go on.
#pragma once

#include <algorithm>
#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "common/base/status.h"

namespace noisefloor::trainer {

// Asked again and again meanwhile, by the thread that reads. Empty: always.
using GoOn = std::function<bool()>;

// Cancelled when it is not.
inline absl::Status Ask(const GoOn& go_on) {
  if (!go_on || go_on()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kCancelled, "asked to stop while its data were read");
}

// Waits so long, in pieces, not to be deaf to a stop.
inline absl::Status WaitOut(absl::Duration rest, const GoOn& go_on) {
  constexpr absl::Duration kPiece = absl::Milliseconds(200);
  for (; rest > absl::ZeroDuration(); rest -= kPiece) {
    NF_RETURN_IF_ERROR(Ask(go_on));
    absl::SleepFor(std::min(rest, kPiece));
  }
  return absl::OkStatus();
}

}  // namespace noisefloor::trainer
