// The service for workers: control over streams on gRPC's callback threads, files on threads that
// may wait for a disk, so that a slow upload never delays the renewal of a lease.
#pragma once

#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/session_registry.h"
#include "coordinator/rpc/stream_places.h"
#include "coordinator/rpc/tree_calls.h"
#include "coordinator/rpc/upload.h"
#include "coordinator/rpc/worker_intake.h"
#include "coordinator/store/blob_store.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"

namespace noisefloor {

// Thread-safe. Borrows what it is given; all of it outlives the server.
class WorkerServiceImpl final
    : public v1::WorkerService::WithCallbackMethod_Session<
          v1::WorkerService::WithCallbackMethod_DescribeTree<
              v1::WorkerService::WithCallbackMethod_ReadTree<v1::WorkerService::Service>>> {
 public:
  WorkerServiceImpl(SessionRegistry& registry, WorkerIntake& intake, const BlobStore& blobs,
                    AccessBook& access, TreeCalls& trees, UploadLimits limits)
      : registry_(registry),
        intake_(intake),
        blobs_(blobs),
        access_(access),
        trees_(trees),
        limits_(WithCount(std::move(limits))),
        uploads_{.what = "uploads", .most = limits_.most_at_once, .idle = limits_.idle} {}

  using grpc::Service::GetHandler;  // For its door.
  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::Status Upload(grpc::ServerContext* context, grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse* response) override;
  grpc::ServerUnaryReactor* DescribeTree(grpc::CallbackServerContext* context,
                                         const v1::DescribeTreeRequest* request,
                                         v1::DescribeTreeResponse* response) override {
    return trees_.Describe(context, request, response);
  }
  grpc::ServerWriteReactor<v1::ReadTreeResponse>* ReadTree(
      grpc::CallbackServerContext* context, const v1::ReadTreeRequest* request) override {
    return trees_.Read(context, request);
  }

  // Why the last file could not be kept, the disk's fault; empty when the last one could, or the
  // lease that it was of is not live any more: nobody offers it again.
  std::string upload_problem() const;

 private:
  UploadLimits WithCount(UploadLimits limits) {
    limits.of_leases = &of_leases_;
    return limits;
  }
  void Note(LeaseId lease, const absl::Status& received);
  void LogFailure(LeaseId lease, const absl::Status& why) const;

  SessionRegistry& registry_;
  WorkerIntake& intake_;
  const BlobStore& blobs_;
  AccessBook& access_;
  TreeCalls& trees_;
  LeaseUploads of_leases_;
  const UploadLimits limits_;
  StreamPlaces uploads_;
  mutable Mutex problem_mutex_;
  std::string problem_ ABSL_GUARDED_BY(problem_mutex_);
  LeaseId problem_lease_ ABSL_GUARDED_BY(problem_mutex_);
};

}  // namespace noisefloor
