#include "common/rpc/channel.h"

#include <netdb.h>
#include <sys/socket.h>

#include <chrono>

#include "fmt/format.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace noisefloor {

namespace {

constexpr char kServiceConfig[] = R"({
  "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
  "methodConfig": [{
    "name": [{"service": "noisefloor.v1.CoordinatorService"}],
    "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s",
                    "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}
  }]
})";

std::chrono::system_clock::time_point After(absl::Duration timeout) {
  return std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout);
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const Address& address) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kServiceConfig);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Also how long one attempt to connect may take: on a busy machine a short one never ends well.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // A connection of its own for each channel: a coordinator that was killed must not hang on in a
  // shared subchannel, and proxies of the environment never stand between our own programs.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(ToText(address), grpc::InsecureChannelCredentials(), arguments);
}

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  context.set_deadline(After(timeout));
}

namespace {

// Empty when it does, or is no name. Asks the system's resolver, which may take its time.
std::string WhyNotResolved(const Address& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = getaddrinfo(address.host.c_str(), nullptr, &hints, &found);
  if (unknown != 0) return gai_strerror(unknown);
  freeaddrinfo(found);
  return "";
}

}  // namespace

absl::Status WaitUntilConnected(grpc::Channel& channel, const Address& address,
                                absl::Duration timeout) {
  if (channel.WaitForConnected(After(timeout))) return absl::OkStatus();
  if (const std::string why = WhyNotResolved(address); !why.empty()) {
    return MakeError(absl::StatusCode::kUnavailable,
                     fmt::format("no coordinator answers at {}: the name does not resolve: {}",
                                 ToText(address), why));
  }
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("no coordinator answers at {} within {}", ToText(address),
                               absl::FormatDuration(timeout)));
}

}  // namespace noisefloor
