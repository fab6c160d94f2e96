// Takes one file of weights that a person brings.
#pragma once

#include <cstdint>
#include <optional>

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "coordinator/query/query.h"
#include "coordinator/rpc/stream_places.h"
#include "coordinator/store/blob_store.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor {

// gRPC owns it from construction; it deletes itself in OnDone. One message is read or written to
// disk at a time, the latter on one of query's threads.
//
// InvalidArgument: no header first, a file or piece above its limit or an empty piece, size or hash
// not as announced.
// ResourceExhausted: the disk is full, or too many others come at this moment; try again.
class WeightsStream final : public grpc::ServerReadReactor<v1::PutWeightsRequest> {
 public:
  struct Parts {
    query::Query& query;
    const BlobStore& blobs;
    StreamPlaces& places;
  };
  WeightsStream(Parts parts, grpc::CallbackServerContext& context,
                v1::PutWeightsResponse& response);

 private:
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

  void ReadNext();
  // The last statement of each path hands this object to gRPC.
  void Take();
  void End();
  absl::Status Begin(const v1::PutWeightsHeader& header);
  // The message that has come.
  absl::Status Accept();

  const Parts parts_;
  StreamPlace place_;
  v1::PutWeightsResponse& response_;
  v1::PutWeightsRequest request_;
  bool begun_ = false;
  uint64_t taken_bytes_ = 0;          // Of messages.
  absl::Status status_;               // Not OK: what comes is thrown away.
  std::optional<BlobWriter> writer_;  // None before the header, and when the content is known.
};

}  // namespace noisefloor
