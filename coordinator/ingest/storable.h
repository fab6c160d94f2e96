// Checks that accept.cc and completeness.cc share. Pure.
#pragma once

#include <string>
#include <string_view>

namespace noisefloor::ingest {

// 64 lower-case hexadecimal digits.
bool IsSha256(std::string_view text);

}  // namespace noisefloor::ingest
