#include "common/rpc/server.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>

#include "fmt/format.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "grpcpp/server_builder.h"

#include "common/rpc/channel.h"

namespace noisefloor {

namespace {

void RegisterPluginsOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

void SetUp(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000);
  // A client with more calls waits with the next one until one of them has ended.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostCallsOfConnection);
  // One who connects and says nothing does not stay.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000);
  // Two coordinators on one port would each get half of the workers.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

constexpr unsigned kCertificateSeconds = 1;  // Between two looks at its file.

// shared: gRPC's builders hold them that way.
std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const ServerSettings& settings) {
  if (settings.key_and_certificate.empty()) return grpc::InsecureServerCredentials();
  const std::string& file = settings.key_and_certificate;
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(file, file,
                                                                           kCertificateSeconds));
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  auto credentials = grpc::experimental::TlsServerCredentials(options);
  if (settings.gate) credentials->SetAuthMetadataProcessor(settings.gate);
  return credentials;
}

// gRPC tells only its log why.
std::string WhyNotBound(const Address& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int unknown = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (unknown != 0) return fmt::format("{}: {}", address.host, gai_strerror(unknown));
  const int probe = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int error = bind(probe, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  if (probe >= 0) close(probe);
  freeaddrinfo(found);
  if (error == EADDRINUSE) return "another program has the port; choose another one";
  if (error == EADDRNOTAVAIL) return "this machine has no such address";
  return error == 0 ? "another program had the port a moment ago" : strerror(error);
}

}  // namespace

RpcServer::RpcServer(Address address, std::unique_ptr<grpc::Server> server)
    : address_(std::move(address)), server_(std::move(server)) {}

RpcServer::~RpcServer() { Shutdown(absl::ZeroDuration()); }

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const ServerSettings& settings, const std::vector<grpc::Service*>& services) {
  const bool allowed = settings.in_process_only || !settings.key_and_certificate.empty() ||
                       IsLoopback(settings.listen);
  if (!allowed) {
    return InvalidInput(fmt::format(
        "refusing to listen on {}: everybody who reaches it could submit and read; expected a "
        "loopback address, or TLS and tokens, which `noisefloor access init` makes",
        ToText(settings.listen)));
  }
  RegisterPluginsOnce();
  int port = 0;
  grpc::ServerBuilder builder;
  SetUp(builder);
  if (!settings.in_process_only) {
    builder.AddListeningPort(ToText(settings.listen), CredentialsOf(settings), &port);
  }
  if (settings.meter) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> meters;
    meters.push_back(settings.meter());
    builder.experimental().SetInterceptorCreators(std::move(meters));
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || (port == 0 && !settings.in_process_only)) {
    return MakeError(absl::StatusCode::kUnavailable,
                     fmt::format("cannot listen on {}: {}", ToText(settings.listen),
                                 WhyNotBound(settings.listen)));
  }
  for (const std::string& name : settings.health_names) {
    server->GetHealthCheckService()->SetServingStatus(name, true);
  }
  Address bound;
  if (!settings.in_process_only) bound = {settings.listen.host, static_cast<uint16_t>(port)};
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(bound), std::move(server)));
}

std::shared_ptr<grpc::Channel> RpcServer::InProcessChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  return server_->InProcessChannel(arguments);
}

void RpcServer::StopServing() {
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
}

void RpcServer::Shutdown(absl::Duration grace) {
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
  server_->Wait();
}

}  // namespace noisefloor
