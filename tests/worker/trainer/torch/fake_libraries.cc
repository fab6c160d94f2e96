// Stands in for libraries of CUDA that LibTorch opens: they know their versions, and nothing else.
#include <cstddef>

extern "C" {
int cublasGetProperty(int part, int* value) {
  *value = part == 0 ? 13 : part;
  return 0;
}
int cudaRuntimeGetVersion(int* version) {
  *version = 13010;
  return 0;
}
size_t cudnnGetVersion() { return 91302; }
}
