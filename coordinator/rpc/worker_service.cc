#include "coordinator/rpc/worker_service.h"

#include <memory>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/time/time.h"
#include "grpc/support/time.h"
#include "grpcpp/alarm.h"

#include "common/base/reason.h"
#include "common/log/log.h"
#include "common/rpc/status.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/worker_session.h"

namespace noisefloor {

namespace {

// Reads as the reader that it is made of, but cancels the call when a message does not come in
// time: a thread of the server waits for it.
class ImpatientReader final : public grpc::ServerReaderInterface<v1::UploadRequest> {
 public:
  ImpatientReader(grpc::ServerContext& context, grpc::ServerReader<v1::UploadRequest>& reader,
                  absl::Duration patience)
      : reader_(reader), patience_(patience), call_(std::make_shared<Call>()) {
    MutexLock lock(call_->mutex);
    call_->context = &context;
  }
  ~ImpatientReader() override {
    MutexLock lock(call_->mutex);
    call_->context = nullptr;  // An alarm that rings now finds nothing to cancel.
  }

  bool Read(v1::UploadRequest* request) override {
    grpc::Alarm alarm;  // Ends with the wait.
    const gpr_timespec wait =
        gpr_time_from_millis(absl::ToInt64Milliseconds(patience_), GPR_TIMESPAN);
    alarm.Set(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), wait), [call = call_](bool rang) {
      MutexLock lock(call->mutex);
      if (rang && call->context != nullptr) call->context->TryCancel();
    });
    return reader_.Read(request);
  }
  bool NextMessageSize(uint32_t* size) override { return reader_.NextMessageSize(size); }
  void SendInitialMetadata() override { reader_.SendInitialMetadata(); }

 private:
  struct Call {
    Mutex mutex;
    grpc::ServerContext* context ABSL_GUARDED_BY(mutex) = nullptr;
  };

  grpc::ServerReader<v1::UploadRequest>& reader_;
  const absl::Duration patience_;
  const std::shared_ptr<Call> call_;  // shared: with alarms that ring while this is destroyed.
};

}  // namespace

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* WorkerServiceImpl::Session(
    grpc::CallbackServerContext* context) {
  // gRPC's from here on.
  return new WorkerSession(registry_, intake_, access_, TokenOf(*context), CallerOf(*context),
                           limits_.register_by);
}

grpc::Status WorkerServiceImpl::Upload(grpc::ServerContext* context,
                                       grpc::ServerReader<v1::UploadRequest>* reader,
                                       v1::UploadResponse* response) {
  const absl::Cleanup leave = [this] { uploads_.fetch_sub(1); };
  if (uploads_.fetch_add(1) >= limits_.most_at_once) {
    return ToGrpc(Because(MakeError(absl::StatusCode::kResourceExhausted,
                                    "too many uploads run at this moment; try again"),
                          Reason::kTooBusy));
  }
  ImpatientReader impatient(*context, *reader, limits_.idle);
  const OpenStream open(access_, TokenOf(*context),
                        [context](const absl::Status&) { context->TryCancel(); });
  LeaseId lease;
  absl::StatusOr<v1::UploadResponse> received = ReceiveUpload(impatient, blobs_, limits_, &lease);
  Note(lease, received.status());
  if (received.ok()) *response = std::move(*received);
  return ToGrpc(received.status());
}

void WorkerServiceImpl::LogFailure(LeaseId lease, const absl::Status& why) const {
  std::vector<LogField> fields = {{"lease", lease.value}};
  if (const auto by = limits_.whose ? limits_.whose(lease) : std::nullopt) {
    fields.emplace_back("sweep", ToText(by->member.sweep));
    fields.emplace_back("member", ToText(by->member));
    fields.emplace_back("attempt", by->attempt);
    fields.emplace_back("worker", by->worker);
  }
  fields.emplace_back("status", why);
  LogWith(LogLevel::kError, "upload_failed", fields);
}

void WorkerServiceImpl::Note(LeaseId lease, const absl::Status& received) {
  // What a worker did wrong says nothing of the disk.
  if (absl::IsInvalidArgument(received) || absl::IsFailedPrecondition(received)) return;
  std::string problem = received.ok() ? "" : "an uploaded file: " + Message(received);
  MutexLock lock(problem_mutex_);
  if (problem == problem_) return;
  if (problem.empty()) {
    LogInfo("uploads_recovered", {});
  } else {
    LogFailure(lease, received);
  }
  problem_ = std::move(problem);
}

std::string WorkerServiceImpl::upload_problem() const {
  MutexLock lock(problem_mutex_);
  return problem_;
}

}  // namespace noisefloor
