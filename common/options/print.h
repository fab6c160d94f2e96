// What a program prints at once: help, a version, a description.
#pragma once

#include <string>
#include <string_view>

namespace noisefloor {

// On standard output. The exit code: 0 says that it is whole; 1, that it is not, and standard error
// says why in the name of `program`.
int PrintWhole(std::string_view program, const std::string& text);

}  // namespace noisefloor
