// A library with NVML's functions and two devices, for tests. FAKE_NVML_FAILS makes init fail.
#include <cstdio>
#include <cstdlib>

extern "C" {

struct Memory {
  unsigned long long total, free, used;
};

int nvmlInit_v2() { return std::getenv("FAKE_NVML_FAILS") == nullptr ? 0 : 9; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int) { return "Driver Not Loaded"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "575.57.08");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = reinterpret_cast<void*>(static_cast<unsigned long>(index) + 1);
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size, "Tesla V100");  // A name that does not say the memory.
  return 0;
}
int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%lu", reinterpret_cast<unsigned long>(handle));
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {34359738368ull, 1073741824ull, 33285996544ull};  // Somebody uses most of it.
  return 0;
}
}
