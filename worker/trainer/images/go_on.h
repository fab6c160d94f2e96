// Whether the reading of a set, which may take hours, is to go on.
#pragma once

#include <functional>

#include "common/base/status.h"

namespace noisefloor::trainer {

// Asked again and again meanwhile, by the thread that reads. Empty: always.
using GoOn = std::function<bool()>;

// Cancelled when it is not.
inline absl::Status Ask(const GoOn& go_on) {
  if (!go_on || go_on()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kCancelled, "asked to stop while its data were read");
}

}  // namespace noisefloor::trainer
