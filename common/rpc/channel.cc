#include "common/rpc/channel.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "fmt/format.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

#include "common/rpc/caller_metadata.h"
#include "common/rpc/greeting.h"
#include "common/rpc/proxy.h"

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

// Puts the token into each call.
class TokenPlugin final : public grpc::MetadataCredentialsPlugin {
 public:
  TokenPlugin(std::function<std::string()> token, bool may_wait)
      : token_(std::move(token)), may_wait_(may_wait) {}
  bool IsBlocking() const override { return may_wait_; }
  const char* GetType() const override { return "noisefloor"; }
  grpc::string DebugString() override { return "noisefloor token"; }  // Never the token.
  grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    metadata->emplace(std::string(kTokenMetadata), std::string(kTokenScheme) + token_());
    return grpc::Status::OK;
  }

 private:
  const std::function<std::string()> token_;
  const bool may_wait_;
};

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const ChannelAccess* access) {
  if (access == nullptr) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = access->certificate;
  return grpc::CompositeChannelCredentials(
      grpc::SslCredentials(options),
      grpc::MetadataCredentialsFromPlugin(
          std::make_unique<TokenPlugin>(access->token, access->token_may_wait)));
}

std::shared_ptr<grpc::Channel> MakeChannel(const Address& address, const ChannelAccess* access) {
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
  // shared subchannel.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // gRPC alone would send loopback to a proxy, too.
  const Proxy proxy = ProxyTo(address, ProxyVariablesOfThisProcess());
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, proxy.is_used ? 1 : 0);
  if (proxy.is_used) arguments.SetString(GRPC_ARG_HTTP_PROXY, ToUri(proxy));
  return grpc::CreateCustomChannel(ToText(address), CredentialsOf(access), arguments);
}

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  context.set_deadline(After(timeout));
}

namespace {

// A greeting that cannot be understood fails at once and for ever: nobody waits for it as long as
// for one who does not answer.
constexpr absl::Duration kGreeting = absl::Seconds(1);

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

absl::Status NotConnected(const Address& address, absl::Duration timeout) {
  const Proxy proxy = ProxyTo(address, ProxyVariablesOfThisProcess());
  if (proxy.is_used) {
    return MakeError(absl::StatusCode::kUnavailable,
                     fmt::format("no coordinator answers at {} within {} {}", ToText(address),
                                 absl::FormatDuration(timeout), Described(proxy)));
  }
  if (const std::string why = WhyNotResolved(address); !why.empty()) {
    return MakeError(absl::StatusCode::kUnavailable,
                     fmt::format("no coordinator answers at {}: the name does not resolve: {}",
                                 ToText(address), why));
  }
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("no coordinator answers at {} within {}", ToText(address),
                               absl::FormatDuration(timeout)));
}

}  // namespace

absl::Status WaitUntilConnected(grpc::Channel& channel, const Address& address,
                                absl::Duration timeout, const ChannelAccess* access) {
  if (channel.WaitForConnected(After(std::min(timeout, kGreeting)))) return absl::OkStatus();
  const std::string stranger =
      WhyNotUnderstood(address, access == nullptr ? "" : access->certificate);
  if (!stranger.empty()) return MakeError(absl::StatusCode::kFailedPrecondition, stranger);
  const absl::Duration left = std::max(timeout - kGreeting, absl::ZeroDuration());
  if (channel.WaitForConnected(After(left))) return absl::OkStatus();
  return NotConnected(address, timeout);
}

}  // namespace noisefloor
