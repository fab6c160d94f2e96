// How a SHA-256 looks as text. Pure.
#pragma once

#include <string_view>

namespace noisefloor {

// 64 lower-case hexadecimal digits.
constexpr bool IsSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace noisefloor
