// Who calls.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "grpcpp/server_context.h"

namespace noisefloor {

// As gRPC keeps what a call says beside its message.
using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// The value of that name; empty: there is none.
std::string_view ValueIn(const CallMetadata& metadata, std::string_view name);
// The token of a call; empty: it has none.
std::string_view TokenIn(const CallMetadata& metadata);
std::string_view TokenOf(const grpc::CallbackServerContext& context);
std::string_view TokenOf(const grpc::ServerContext& context);

// Name of the caller, for the event log: the identity of its token, which the gate has checked when
// access is set up; else what it says that its name is ("noisefloor-user"), unproved, as is all
// that can be known of callers on loopback. Empty: it does not say. A name (IsName) in any case.
// The owner of the data directory ("owner") is shown by the name that it gives, if it gives one.
std::string CallerOf(const grpc::CallbackServerContext& context);
std::string CallerOf(const grpc::ServerContext& context);

}  // namespace noisefloor
