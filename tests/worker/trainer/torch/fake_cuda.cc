// Stands in for libtorch_cuda.so: says when it is opened, and registers nothing.
#include <unistd.h>

__attribute__((constructor)) static void SayThatItIsOpened() {
  constexpr char kSaid[] = "CUDA is opened\n";
  (void)!write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
}
