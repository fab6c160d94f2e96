// Stands in for libcuda.so.1: the few functions that driver.cc asks for, with the host's memory,
// and the rehearsal for what is launched. $FAKE_GPU is its compute capability ("9.0"); none: it has
// no GPU. With $FAKE_GPU_FULL it has no memory for a module.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/worker/trainer/cuda/rehearsal.h"

namespace {

using namespace noisefloor::cuda;

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidImage = 200,
              kInvalidContext = 201, kNotFound = 500, kLaunchFailed = 719;

thread_local bool entered = false;  // A context is current on a thread.

struct Gpu {
  int retained = 0;
  uint64_t launches = 0;
  std::string why;
  std::map<uint64_t, std::unique_ptr<std::vector<std::byte>>> memory;
};
Gpu& TheGpu() {
  static Gpu gpu;
  return gpu;
}

int Capability() {
  const char* text = std::getenv("FAKE_GPU");
  return text == nullptr ? 0 : (text[0] - '0') * 10 + text[2] - '0';
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return Capability() == 0 ? kNoDevice : 0; }
int cuGetErrorString(int error, const char** text) {
  TheGpu().why =
      error == kLaunchFailed && !TheGpu().why.empty() ? TheGpu().why : "error of the fake";
  *text = TheGpu().why.c_str();
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? 0 : 101;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  if (attribute != 75 && attribute != 76) return kInvalidValue;
  *value = attribute == 75 ? Capability() / 10 : Capability() % 10;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  ++TheGpu().retained;
  *context = &TheGpu();
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return --TheGpu().retained < 0 ? kInvalidContext : 0; }
int cuCtxGetCurrent(void** context) {
  *context = entered ? &TheGpu() : nullptr;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  entered = context == &TheGpu();
  return 0;
}
int cuModuleLoadData(void** module, const void* image) {
  if (!entered) return kInvalidContext;
  if (std::getenv("FAKE_GPU_FULL") != nullptr) return kOutOfMemory;
  const auto* bytes = static_cast<const unsigned char*>(image);
  if (std::memcmp(bytes, "\177ELF", 4) != 0) return kInvalidImage;
  const int architecture = Capability() >= 100 ? bytes[49] : bytes[48];
  const bool runs = architecture / 10 == Capability() / 10 && architecture <= Capability();
  *module = const_cast<void*>(image);
  return runs ? 0 : 209;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  if (!entered) return kInvalidContext;
  for (const KernelFacts& facts : AllKernels()) {
    if (facts.name != name) continue;
    *function = const_cast<KernelFacts*>(&facts);
    return 0;
  }
  return kNotFound;
}
int cuLaunchKernel(void* function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block,
                   unsigned block_y, unsigned block_z, unsigned, void*, void** parameters,
                   void** extra) {
  Gpu& gpu = TheGpu();
  if (!entered) return kInvalidContext;
  if (grid == 0 || block == 0 || block > 1024 || grid_y * grid_z * block_y * block_z != 1 ||
      extra != nullptr) {
    return kInvalidValue;
  }
  const auto& facts = *static_cast<const KernelFacts*>(function);
  std::vector<Region> regions;
  for (const auto& [address, bytes] : gpu.memory) {
    regions.push_back({reinterpret_cast<void*>(address), bytes->size(), true});
  }
  const auto* arguments = static_cast<const std::byte*>(parameters[0]);
  const rehearsal::Report report = rehearsal::Run({.name = std::string(facts.name),
                                                   .body = rehearsal::BodyOf(facts.kernel),
                                                   .grid = grid,
                                                   .block = block,
                                                   .arguments = {arguments, facts.argument_size},
                                                   .regions = regions,
                                                   .seed = gpu.launches++});
  if (report.findings.empty()) return 0;
  gpu.why = report.findings[0];
  return kLaunchFailed;
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (!entered) return kInvalidContext;
  if (bytes > (size_t{1} << 30)) return kOutOfMemory;
  auto memory = std::make_unique<std::vector<std::byte>>(bytes);
  *address = reinterpret_cast<uint64_t>(memory->data());
  TheGpu().memory[*address] = std::move(memory);
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  if (!entered) return kInvalidContext;
  return TheGpu().memory.erase(address) == 1 ? 0 : kInvalidValue;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  if (!entered) return kInvalidContext;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  if (!entered) return kInvalidContext;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
}
