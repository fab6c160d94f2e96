// The one place where a call from the network is let in or sent away, before anything of it but its
// headers is read.
#pragma once

#include <memory>

#include "grpcpp/security/auth_metadata_processor.h"

#include "common/base/status.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/method_rules.h"

namespace noisefloor {

// Whether the owner of `token` may call `path` ("/noisefloor.v1.CoordinatorService/GetSweep").
// Health checks need no token; reflection needs any; what has no rule is nobody's. Unauthenticated
// or PermissionDenied, with the role that is needed and the identity that this is; never the token.
absl::Status MayCall(const AccessBook& book, const MethodRules& rules, std::string_view path,
                     std::string_view token);

// The same for gRPC, which calls it with each call's headers. The book outlives the server.
// shared: gRPC holds it with the credentials.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeAccessGate(const AccessBook& book,
                                                            MethodRules rules);

}  // namespace noisefloor
