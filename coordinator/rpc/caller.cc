#include "coordinator/rpc/caller.h"

#include "absl/strings/ascii.h"

#include "common/rpc/caller_metadata.h"
#include "coordinator/access/access_list.h"
#include "coordinator/access/token.h"

namespace noisefloor {

namespace {

constexpr size_t kMostName = 100;  // Bytes.

// Names of users of other systems may hold anything.
std::string AsName(std::string_view said) {
  std::string name(said.substr(0, kMostName));
  for (char& c : name) {
    const bool kept = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.';
    if (!kept) c = '_';
  }
  return name;
}

std::string NameIn(const CallMetadata& metadata) {
  const auto identity = access::IdentityIn(TokenIn(metadata));
  const std::string said = AsName(ValueIn(metadata, kUserMetadata));
  if (!identity) return said;
  return *identity == access::kOwner && !said.empty() ? said : std::string(*identity);
}

}  // namespace

std::string_view ValueIn(const CallMetadata& metadata, std::string_view name) {
  const auto found = metadata.find(grpc::string_ref(name.data(), name.size()));
  if (found == metadata.end()) return "";
  return {found->second.data(), found->second.size()};
}

std::string_view TokenIn(const CallMetadata& metadata) {
  std::string_view value = ValueIn(metadata, kTokenMetadata);
  if (!value.starts_with(kTokenScheme)) return "";
  value.remove_prefix(kTokenScheme.size());
  return value;
}
std::string_view TokenOf(const grpc::CallbackServerContext& context) {
  return TokenIn(context.client_metadata());
}
std::string_view TokenOf(const grpc::ServerContext& context) {
  return TokenIn(context.client_metadata());
}
std::string CallerOf(const grpc::CallbackServerContext& context) {
  return NameIn(context.client_metadata());
}
std::string CallerOf(const grpc::ServerContext& context) {
  return NameIn(context.client_metadata());
}

}  // namespace noisefloor
