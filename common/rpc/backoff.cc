#include "common/rpc/backoff.h"

#include <algorithm>

#include "common/base/philox.h"

namespace noisefloor {

absl::Duration Backoff::Next() {
  absl::Duration whole = settings_.first;
  for (int i = 0; i < tries_ && whole < settings_.most; ++i) whole *= 2;
  whole = std::min(whole, settings_.most);
  if (whole < settings_.most) ++tries_;
  const uint32_t word = PhiloxStream(seed_, StreamOf("backoff")).Word(draws_++);
  return whole * static_cast<double>(UniformFloat(word));
}

}  // namespace noisefloor
