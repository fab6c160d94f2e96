// How a SHA-256 looks as text. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace noisefloor {

// 64 lower-case hexadecimal digits.
constexpr bool IsSha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace noisefloor
