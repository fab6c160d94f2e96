// What is UTF-8 and what is not. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace noisefloor {

// Bytes of the character that a text begins with; 0 when it begins with none, or is empty.
size_t CharacterBytes(std::string_view text);

// Whether all of it is characters. Fast where they are ASCII.
bool IsUtf8(std::string_view text);

}  // namespace noisefloor
