#include "coordinator/rpc/worker_service.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/base/reason.h"
#include "common/log/log.h"
#include "common/rpc/status.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/worker_session.h"

namespace noisefloor {

namespace {

// Reads as the reader that it is made of, but no message for ever: a thread of the server waits.
class ImpatientReader final : public grpc::ServerReaderInterface<v1::UploadRequest> {
 public:
  ImpatientReader(StreamPlace& place, grpc::ServerReader<v1::UploadRequest>& reader)
      : place_(place), reader_(reader) {}

  bool Read(v1::UploadRequest* request) override {
    place_.Await();
    const bool came = reader_.Read(request);
    place_.AwaitNoMore();
    return came;
  }
  bool NextMessageSize(uint32_t* size) override { return reader_.NextMessageSize(size); }
  void SendInitialMetadata() override { reader_.SendInitialMetadata(); }

 private:
  StreamPlace& place_;
  grpc::ServerReader<v1::UploadRequest>& reader_;
};

}  // namespace

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* WorkerServiceImpl::Session(
    grpc::CallbackServerContext* context) {
  // gRPC's from here on.
  return new WorkerSession(registry_, intake_, access_, *context,
                           {.register_by = limits_.register_by, .idle = limits_.idle});
}

grpc::Status WorkerServiceImpl::Upload(grpc::ServerContext* context,
                                       grpc::ServerReader<v1::UploadRequest>* reader,
                                       v1::UploadResponse* response) {
  StreamPlace place(uploads_, *context);
  const absl::Status admitted = place.status();
  if (!admitted.ok()) return ToGrpc(admitted);
  ImpatientReader impatient(place, *reader);
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
  // What a worker did wrong says nothing of the disk, nor that it does too much at once.
  if (absl::IsInvalidArgument(received) || absl::IsFailedPrecondition(received)) return;
  if (!received.ok() && WhyOf(received).reason == Reason::kTooBusy) return;
  const std::string problem = received.ok() ? "" : "an uploaded file: " + Message(received);
  MutexLock lock(problem_mutex_);
  const LeaseId before = std::exchange(problem_lease_, lease);
  const bool stood = before == lease || limits_.is_live(before);
  const std::string known = stood ? std::move(problem_) : "";
  problem_ = problem;
  if (problem == known) return;
  if (problem.empty()) {
    LogInfo("uploads_recovered", {});
  } else {
    LogFailure(lease, received);
  }
}

std::string WorkerServiceImpl::upload_problem() const {
  std::string problem;
  LeaseId lease;
  {
    MutexLock lock(problem_mutex_);
    problem = problem_;
    lease = problem_lease_;
  }
  return limits_.is_live(lease) ? problem : "";
}

}  // namespace noisefloor
