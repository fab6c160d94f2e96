// What a worker said last, for those who ask why it failed.
#pragma once

#include <string>

namespace noisefloor {

// The last line of the file that says anything, in ASCII, at most 300 characters of it; empty:
// there is none, or it cannot be read. Reads the end of a regular file alone.
std::string LastWords(const std::string& path);

}  // namespace noisefloor
