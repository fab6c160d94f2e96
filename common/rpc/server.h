// A gRPC server with the settings that every server of ours uses: keepalive, limits, health
// checking and reflection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/security/auth_metadata_processor.h"
#include "grpcpp/server.h"
#include "grpcpp/support/server_interceptor.h"

#include "common/base/status.h"
#include "common/rpc/address.h"

namespace noisefloor {

// Calls of one connection at one time. A worker has some ten: its session, four uploads, what it
// asks for and fetches.
inline constexpr int kMostCallsOfConnection = 256;

struct ServerSettings {
  Address listen;  // Port 0: a free one.
  // PEM file of the server's key and certificate, read again every second: what is put in its place
  // is used for the next connection. Empty: plain text, on loopback only.
  std::string key_and_certificate = "";
  // Asked before a call reaches its service; only with TLS.
  // shared: gRPC holds it with the credentials.
  std::shared_ptr<grpc::AuthMetadataProcessor> gate = nullptr;
  // No socket: only InProcessChannel reaches it, and `listen` is not looked at.
  bool in_process_only = false;
  // Names that health checking answers for, beside "": "noisefloor.v1.WorkerService".
  std::vector<std::string> health_names = {};
  // Makes what sees each call begin and end, once for the server. Empty: nothing does.
  std::function<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>()> meter =
      nullptr;
};

// Owns the listening server. Construct through Start; any thread may call the rest.
class RpcServer {
 public:
  // The services are borrowed and outlive the server. InvalidArgument when the address is off
  // loopback and there is no certificate, or it cannot be read; Unavailable when it cannot be
  // bound.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const ServerSettings& settings, const std::vector<grpc::Service*>& services);
  ~RpcServer();

  // With the port that was bound; empty without a socket.
  const Address& address() const { return address_; }
  // Calls without a socket. Not to be used after Shutdown.
  // shared: gRPC's stubs hold their channel that way.
  std::shared_ptr<grpc::Channel> InProcessChannel();
  // Health says NOT_SERVING from now on; calls still work.
  void StopServing();
  // Refuses new calls, waits up to `grace` for those that run, then cancels them. Repeatable.
  void Shutdown(absl::Duration grace);

 private:
  RpcServer(Address address, std::unique_ptr<grpc::Server> server);

  const Address address_;
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace noisefloor
