// Hashes as the store keeps them: 32 bytes for 64 digits.
#pragma once

#include <string>
#include <string_view>

#include "common/base/sha256_text.h"

namespace noisefloor {

// The bytes of a hash; of a text that is none (a damaged row) its own bytes, so that it stays
// wrong.
inline std::string HashBytes(std::string_view text) {
  if (!IsSha256(text)) return std::string(text);
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  }
  return bytes;
}

// The text of a hash that HashBytes made; of other bytes the bytes.
inline std::string HashText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (bytes.size() != 32) return std::string(bytes);
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

}  // namespace noisefloor
