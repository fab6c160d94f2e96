#include "coordinator/rpc/stream_places.h"

#include "fmt/format.h"

#include "common/base/reason.h"

namespace noisefloor {

StreamPlace::StreamPlace(StreamPlaces& places, grpc::ServerContextBase& context)
    : places_(places), admitted_(Take(places)), patience_(context) {}

StreamPlace::~StreamPlace() {
  if (admitted_) places_.taken.fetch_sub(1);
}

bool StreamPlace::Take(StreamPlaces& places) {
  size_t taken = places.taken;
  while (taken < places.most) {
    if (places.taken.compare_exchange_weak(taken, taken + 1)) return true;
  }
  return false;
}

absl::Status StreamPlace::status() const {
  if (admitted_) return absl::OkStatus();
  return Because(MakeError(absl::StatusCode::kResourceExhausted,
                           fmt::format("{} {} are on their way at this moment, as many as may; try "
                                       "again",
                                       places_.most, places_.what)),
                 Reason::kTooBusy);
}

}  // namespace noisefloor
