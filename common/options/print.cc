#include "common/options/print.h"

#include <cstdio>

namespace noisefloor {

int PrintWhole(std::string_view program, const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  std::perror((std::string(program) + ": standard output").c_str());
  return 1;
}

}  // namespace noisefloor
