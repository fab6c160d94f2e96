#include "coordinator/rpc/stream_places.h"

#include "fmt/format.h"
#include "grpc/support/time.h"

#include "common/base/reason.h"

namespace noisefloor {

StreamPlace::StreamPlace(StreamPlaces& places, grpc::ServerContextBase& context)
    : places_(places), admitted_(Take(places)), call_(std::make_shared<Call>()) {
  MutexLock lock(call_->mutex);
  call_->context = &context;
}

StreamPlace::~StreamPlace() {
  {
    MutexLock lock(call_->mutex);
    call_->context = nullptr;  // An alarm that rings now finds nothing to cancel.
  }
  alarm_.reset();
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

void StreamPlace::Await() {
  alarm_ = std::make_unique<grpc::Alarm>();
  const gpr_timespec wait =
      gpr_time_from_millis(absl::ToInt64Milliseconds(places_.idle), GPR_TIMESPAN);
  alarm_->Set(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), wait), [call = call_](bool rang) {
    MutexLock lock(call->mutex);
    if (rang && call->context != nullptr) call->context->TryCancel();
  });
}

}  // namespace noisefloor
