// The calls by which workers get what they lack, on threads of their own: neither the loop nor
// reads wait for a large file, and a slow reader holds no thread.
#pragma once

#include <cstddef>

#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "coordinator/query/work_queue.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/stream_places.h"
#include "coordinator/rpc/tree_book.h"
#include "noisefloor/v1/worker_api.pb.h"

namespace noisefloor {

struct TreeLimits {
  size_t most_at_once = 64;                // Streams that are open; each holds a piece.
  size_t most_waiting = 256;               // Calls that wait for a thread.
  absl::Duration idle = absl::Minutes(1);  // One whose piece nobody takes for so long ends.
};

// Thread-safe. Calls may be answered until it is destroyed, after the server.
class TreeCalls {
 public:
  // `access` outlives it.
  TreeCalls(TreeRoots roots, const AccessBook& access, TreeLimits limits = {});

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const v1::DescribeTreeRequest* request,
                                     v1::DescribeTreeResponse* response);
  grpc::ServerWriteReactor<v1::ReadTreeResponse>* Read(grpc::CallbackServerContext* context,
                                                       const v1::ReadTreeRequest* request);

 private:
  const AccessBook& access_;
  StreamPlaces places_;
  TreeBook book_;
  query::WorkQueue reads_;
  query::WorkQueue describes_;  // One thread: those who ask for the same set wait for one reading.
};

}  // namespace noisefloor
