#include "coordinator/rpc/stream_places.h"

#include "grpc/support/time.h"

#include "coordinator/rpc/awaited.h"

namespace noisefloor {

StreamPlace::StreamPlace(StreamPlaces& places, grpc::ServerContextBase& context)
    : places_(places),
      admitted_(places.taken.fetch_add(1) < places.most),
      call_(std::make_shared<Call>()) {
  MutexLock lock(call_->mutex);
  call_->context = &context;
}

StreamPlace::~StreamPlace() {
  {
    MutexLock lock(call_->mutex);
    call_->context = nullptr;  // An alarm that rings now finds nothing to cancel.
  }
  alarm_.reset();
  places_.taken.fetch_sub(1);
}

absl::Status StreamPlace::status() const {
  return admitted_ ? absl::OkStatus() : TooManyWait(places_.what);
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
