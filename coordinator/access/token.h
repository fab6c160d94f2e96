// The text of a token: "nfl_IDENTITY_" and 256 bits of chance as 64 hexadecimal digits. It names
// its identity, so that one who finds it knows whom to tell, and what it opens is known by its hash
// alone. Pure: the chance is the caller's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/files/sha256.h"

namespace noisefloor::access {

inline constexpr std::string_view kTokenPrefix = "nfl_";

// `identity` is a name (IsName).
std::string MakeToken(std::string_view identity, const Sha256Digest& chance);

// Whose token it says that it is; nothing when the text is no token or not a whole one.
std::optional<std::string_view> IdentityIn(std::string_view token);

// What is kept of it.
Sha256Digest HashOf(std::string_view token);

// In a time that does not depend on where they differ.
bool SameHash(const Sha256Digest& a, const Sha256Digest& b);

}  // namespace noisefloor::access
