#include "common/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace noisefloor {

void CheckFailed(const char* file, int line, const char* expression) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace noisefloor
