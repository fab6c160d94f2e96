// Takes one file of weights that a person brings.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "common/base/mutex.h"
#include "coordinator/query/query.h"
#include "coordinator/store/blob_store.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor {

// gRPC owns it from construction; it deletes itself in OnDone. One message is read or written to
// disk at a time, the latter on one of query's threads.
//
// InvalidArgument: no header first, a file or piece above its limit, size or hash not as announced.
// ResourceExhausted: the disk is full, or `most` others come at this moment; try again.
class WeightsStream final : public grpc::ServerReadReactor<v1::PutWeightsRequest> {
 public:
  struct Parts {
    query::Query& query;
    const BlobStore& blobs;
    std::atomic<size_t>& on_their_way;
    size_t most = 16;                        // Each holds a piece.
    absl::Duration idle = absl::Minutes(1);  // One whose next piece does not come for so long ends.
  };
  WeightsStream(Parts parts, grpc::CallbackServerContext& context,
                v1::PutWeightsResponse& response);

 private:
  // shared: with an alarm that rings while the stream is destroyed.
  struct Call {
    Mutex mutex;
    grpc::CallbackServerContext* context ABSL_GUARDED_BY(mutex) = nullptr;
  };

  void OnReadDone(bool ok) override;
  void OnDone() override;

  void ReadNext();
  // The last statement of each path hands this object to gRPC.
  void Take();
  void End();
  absl::Status Begin(const v1::PutWeightsHeader& header);
  // The message that has come.
  absl::Status Accept();

  const Parts parts_;
  const std::shared_ptr<Call> call_;  // shared: see Call.
  v1::PutWeightsResponse& response_;
  std::unique_ptr<grpc::Alarm> alarm_;  // While a message is awaited.
  v1::PutWeightsRequest request_;
  bool begun_ = false;
  uint64_t taken_bytes_ = 0;          // Of messages.
  absl::Status status_;               // Not OK: what comes is thrown away.
  std::optional<BlobWriter> writer_;  // None before the header, and when the content is known.
};

}  // namespace noisefloor
