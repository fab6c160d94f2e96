// The calls by which workers get what they lack, on threads of their own: neither the loop nor
// reads wait for a large file, and a slow reader holds no thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "coordinator/query/work_queue.h"
#include "coordinator/rpc/access_book.h"
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

  // What one stream needs of the others.
  struct Shared {
    const AccessBook& access;
    const TreeLimits limits;
    TreeBook book;
    std::atomic<size_t> streams{0};  // That are open.
    query::WorkQueue reads;
    query::WorkQueue describes;  // One thread: those who ask for the same set wait for one reading.
  };

 private:
  Shared shared_;
};

}  // namespace noisefloor
