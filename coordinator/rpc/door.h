// The door of a service: asks whether the caller may before anything of a call's message is parsed,
// and refuses in the call itself, so that the refusal carries google.rpc.Status.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "google/protobuf/descriptor.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "grpcpp/impl/service_type.h"

#include "common/base/status.h"

namespace noisefloor {

// Who calls what.
struct Knock {
  std::string_view path;    // "/noisefloor.v1.CoordinatorService/GetSweep"
  bool in_process = false;  // Through no socket.
  std::string_view token;   // Empty without one.
};
// Not OK: the call is refused with it. Any thread; never blocks.
using MayEnter = std::function<absl::Status(const Knock& knock)>;

// The service that is registered in place of the one behind it, with the same methods. Immutable
// after construction; its handlers may be called from any thread. Methods that are new in the
// descriptor have the door by themselves.
//
// gRPC has read the one message of a call that does not stream by then (at most the server's limit
// of 16 MiB): of one that is refused it is thrown away as it came. Who has no valid token does not
// come so far: see AccessGate.
class Door final : public grpc::Service {
 public:
  // `behind` has the methods of `service` and shows their handlers (GetHandler); all are of the
  // callback kind but `blocking`, which streams from the client. Both outlive the door.
  template <typename Implementation>
  Door(const google::protobuf::ServiceDescriptor& service, Implementation& behind,
       MayEnter may_enter, std::string_view blocking = "")
      : may_enter_(std::move(may_enter)) {
    for (int i = 0; i < service.method_count(); ++i) {
      Add(*service.method(i), behind.GetHandler(i), service.method(i)->name() == blocking);
    }
  }

 private:
  void Add(const google::protobuf::MethodDescriptor& method, grpc::internal::MethodHandler* handler,
           bool blocking);

  const MayEnter may_enter_;
  std::deque<std::string> paths_;  // A deque: gRPC keeps pointers into it.
};

}  // namespace noisefloor
