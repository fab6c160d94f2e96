// The one place where it is decided which call from the network is let in: whose token is none when
// only its headers have been read; whose role is too low at the doors of our services, where the
// refusal carries its reason.
#pragma once

#include <memory>

#include "grpcpp/security/auth_metadata_processor.h"

#include "common/base/status.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/door.h"
#include "coordinator/rpc/method_rules.h"

namespace noisefloor {

// Whether the owner of `token` may call `path` ("/noisefloor.v1.CoordinatorService/GetSweep").
// Health checks need no token; reflection needs any; what has no rule is nobody's. Unauthenticated
// or PermissionDenied, with the role that is needed and the identity that this is; never the token.
absl::Status MayCall(const AccessBook& book, const MethodRules& rules, std::string_view path,
                     std::string_view token);

// The same for the doors of our services. Calls in process need no token. The book outlives what
// is returned.
MayEnter MakeMayEnter(const AccessBook& book, MethodRules rules);

// The same for gRPC, which calls it with each call's headers; of what is in `rules` it asks for a
// valid token alone: that has a door. The book outlives the server.
// shared: gRPC holds it with the credentials.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessGate(const AccessBook& book,
                                                            MethodRules rules);

}  // namespace noisefloor
