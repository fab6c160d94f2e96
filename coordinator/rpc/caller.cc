#include "coordinator/rpc/caller.h"

#include "coordinator/ingest/accept.h"

namespace noisefloor {

std::string CallerOf(const grpc::ServerContextBase& context) {
  constexpr size_t kMaxName = 100;  // Bytes.
  const auto& metadata = context.client_metadata();
  const auto said = metadata.find(kUserKey);
  if (said == metadata.end()) return "";
  std::string name = ingest::ToStorableText({said->second.data(), said->second.size()}, kMaxName);
  for (char& c : name) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return name;
}

}  // namespace noisefloor
