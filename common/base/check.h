// Invariants. A check that fails is a bug of ours: the program says where and stops.
// Stays on in every build type. Not for input: that gets an absl::Status.
#pragma once

namespace noisefloor {

// Prints "FILE:LINE: check failed: EXPRESSION" to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* expression);

}  // namespace noisefloor

#define NF_CHECK(condition)                                      \
  do {                                                           \
    if (!(condition)) [[unlikely]]                               \
      ::noisefloor::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)
