// Hashes as the store keeps them: 32 bytes for 64 digits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/sha256_text.h"
#include "common/files/sha256.h"

namespace noisefloor {

// The bytes of a hash; of a text that is none (a damaged row) its own bytes, so that it stays
// wrong.
inline std::string HashBytes(std::string_view text) {
  if (!IsSha256(text)) return std::string(text);
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes(text.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
  }
  return bytes;
}

// The text of a hash that HashBytes made; of other bytes the bytes.
inline std::string HashText(std::string_view bytes) {
  Sha256Digest digest;
  if (bytes.size() != digest.size()) return std::string(bytes);
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return ToHex(digest);
}

// The key of what has this hash (hexadecimal): its first 63 bits, so that a key which changed on
// the disk leads nowhere. 0 for a text that is none.
inline int64_t NumberOfHash(std::string_view sha256) {
  if (!IsSha256(sha256)) return 0;
  uint64_t number = 0;
  for (const char byte : HashBytes(sha256).substr(0, 8)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return static_cast<int64_t>(number >> 1);
}

}  // namespace noisefloor
