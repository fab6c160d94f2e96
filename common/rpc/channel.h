// Client channels and call contexts with the settings that every client of ours uses.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/security/credentials.h"

#include "common/base/status.h"
#include "common/rpc/address.h"

namespace noisefloor {

// The largest message either side takes: a page of members or a record batch.
inline constexpr int kMaxMessageBytes = 16 << 20;
// The largest piece of a streamed file or study.
inline constexpr size_t kPieceBytes = 1 << 20;
// The largest file of an attempt.
inline constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30;

// What proves the coordinator to us and us to the coordinator.
struct ChannelAccess {
  std::string certificate;             // Of the authority that signs coordinators'; PEM.
  std::function<std::string()> token;  // Asked for with each call: it may be another by then.
  bool token_may_wait = false;         // For a disk, say: gRPC asks on a thread for that.
};

// Of TLS and a token when there is an `access`; else of plain text.
// shared: gRPC's channels hold their credentials that way.
std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const ChannelAccess* access);

// With those; without an `access` to a coordinator on loopback. Through the proxy that the
// environment names, where that is elsewhere: see proxy.h.
// Connects on first use, again after 0.1 to 2 s. What fails with Unavailable before anything was
// answered is tried up to four times. Keepalive finds a dead peer within 50 s. Thread-safe.
// shared: gRPC's stubs hold their channel that way.
std::shared_ptr<grpc::Channel> MakeChannel(const Address& address,
                                           const ChannelAccess* access = nullptr);

// Gives the call a deadline; every call but a session or a watch has one.
void SetDeadline(grpc::ClientContext& context, absl::Duration timeout);

// Unavailable when no connection stands within `timeout`; the message names the address.
// FailedPrecondition when somebody answers there who cannot be spoken to so: without TLS, only with
// it, or with a certificate of another authority. `access`: what the channel was made with.
absl::Status WaitUntilConnected(grpc::Channel& channel, const Address& address,
                                absl::Duration timeout, const ChannelAccess* access = nullptr);

}  // namespace noisefloor
