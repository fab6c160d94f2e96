#include "coordinator/rpc/call_patience.h"

#include "grpc/support/time.h"

namespace noisefloor {

CallPatience::CallPatience(grpc::ServerContextBase& context) : call_(std::make_shared<Call>()) {
  MutexLock lock(call_->mutex);
  call_->context = &context;
}

CallPatience::~CallPatience() {
  MutexLock lock(call_->mutex);
  call_->context = nullptr;  // An alarm that rings now finds nothing to cancel.
}

void CallPatience::Start(absl::Duration wait) {
  alarm_ = std::make_unique<grpc::Alarm>();
  const gpr_timespec span = gpr_time_from_millis(absl::ToInt64Milliseconds(wait), GPR_TIMESPAN);
  alarm_->Set(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), span), [call = call_](bool rang) {
    MutexLock lock(call->mutex);
    if (rang && call->context != nullptr) call->context->TryCancel();
  });
}

}  // namespace noisefloor
