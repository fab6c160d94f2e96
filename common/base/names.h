// Which names a sweep, a worker, a hardware class or a stack may have.
#pragma once

#include <string_view>

namespace noisefloor {

// What IsName wants, for messages: "expected " and this.
inline constexpr std::string_view kNameRule = "1 to 100 letters, digits, '-', '_' or '.'";

bool IsName(std::string_view text);

}  // namespace noisefloor
