// Reads from the pipes of a process without letting one of them take all the time.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace noisefloor {

// No pipe holds more, so this much from a pipe whose writer has ended is all it wrote.
inline constexpr size_t kMostPipeBytes = 1 << 20;

// Hands what can be read now from a non-blocking `file` to `take`, piece by piece, until nothing
// is left or `most_bytes` were read. False at the end of the file.
bool ReadAvailable(int file, size_t most_bytes, const std::function<void(std::string_view)>& take);

}  // namespace noisefloor
