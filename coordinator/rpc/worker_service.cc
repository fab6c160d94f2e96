#include "coordinator/rpc/worker_service.h"

#include "common/rpc/status.h"
#include "coordinator/rpc/worker_session.h"

namespace noisefloor {

grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* WorkerServiceImpl::Session(
    grpc::CallbackServerContext*) {
  return new WorkerSession(registry_, intake_);  // gRPC's from here on.
}

grpc::Status WorkerServiceImpl::Upload(grpc::ServerContext*,
                                       grpc::ServerReader<v1::UploadRequest>* reader,
                                       v1::UploadResponse* response) {
  absl::StatusOr<v1::UploadResponse> received = ReceiveUpload(*reader, blobs_, limits_);
  if (received.ok()) *response = std::move(*received);
  return ToGrpc(received.status());
}

}  // namespace noisefloor
