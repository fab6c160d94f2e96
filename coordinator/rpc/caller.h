// Who makes a call.
#pragma once

#include <string>

#include "grpcpp/server_context.h"

namespace noisefloor {

// The name under which a client says who it is.
inline constexpr char kUserKey[] = "noisefloor-user";

// As the caller says: one line of at most 100 bytes that can be kept and shown; "" when it says
// nothing. Nobody has checked it.
std::string CallerOf(const grpc::ServerContextBase& context);

}  // namespace noisefloor
