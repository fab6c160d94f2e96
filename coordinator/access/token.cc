#include "coordinator/access/token.h"

#include <openssl/crypto.h>

#include "fmt/format.h"

#include "common/base/names.h"

namespace noisefloor::access {

namespace {
constexpr size_t kDigits = 64;
}  // namespace

std::string MakeToken(std::string_view identity, const Sha256Digest& chance) {
  return fmt::format("{}{}_{}", kTokenPrefix, identity, ToHex(chance));
}

std::optional<std::string_view> IdentityIn(std::string_view token) {
  if (!token.starts_with(kTokenPrefix)) return std::nullopt;
  token.remove_prefix(kTokenPrefix.size());
  if (token.size() <= kDigits + 1) return std::nullopt;
  const std::string_view digits = token.substr(token.size() - kDigits);
  const std::string_view identity = token.substr(0, token.size() - kDigits - 1);
  const bool whole = token[identity.size()] == '_' &&
                     digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!whole || !IsName(identity)) return std::nullopt;
  return identity;
}

Sha256Digest HashOf(std::string_view token) { return Sha256().Update(token).Digest(); }

bool SameHash(const Sha256Digest& a, const Sha256Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace noisefloor::access
