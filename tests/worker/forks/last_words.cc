// Preloaded into a trainer: says so when the process is taken apart instead of left.
#include <unistd.h>

namespace {

const struct LastWords {
  ~LastWords() { (void)!write(STDERR_FILENO, "taken apart\n", 12); }
} last_words;

}  // namespace
