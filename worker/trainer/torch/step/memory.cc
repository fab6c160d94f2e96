#include "worker/trainer/torch/step/memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/base/mutex.h"

namespace noisefloor::trainer {

namespace {

constexpr size_t kHeaderBytes = 64;  // Keeps the data aligned for AVX-512.
constexpr size_t kBigBytes = size_t{1} << 16;
constexpr size_t kHugePageBytes = size_t{1} << 21;

// Lies before the data of each block.
struct Header {
  size_t block_bytes = 0;  // Whole block; 0: small, from malloc.
};

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

class KeptMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &Free, c10::Device(c10::DeviceType::CPU)};
    std::byte* block = bytes < kBigBytes ? Small(bytes) : Big(bytes);
    if (block == nullptr) {
      C10_THROW_ERROR(OutOfMemoryError, "no memory for " + std::to_string(bytes) + " bytes");
    }
    std::byte* data = block + kHeaderBytes;
    return {data, data, &Free, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &Free; }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  void Release() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    for (const auto& [bytes, blocks] : kept_) {
      for (void* block : blocks) munmap(block, bytes);
    }
    kept_.clear();
  }

 private:
  static void Free(void* data);

  static std::byte* Small(size_t bytes) {
    void* block = nullptr;
    if (posix_memalign(&block, kHeaderBytes, kHeaderBytes + bytes) != 0) return nullptr;
    *static_cast<Header*>(block) = {};
    return static_cast<std::byte*>(block);
  }

  std::byte* Big(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    const bool huge = bytes >= kHugePageBytes / 2;
    const size_t size = RoundUp(bytes + kHeaderBytes, huge ? kHugePageBytes : kBigBytes);
    {
      MutexLock lock(mutex_);
      const auto it = kept_.find(size);
      if (it != kept_.end() && !it->second.empty()) {
        void* block = it->second.back();
        it->second.pop_back();
        return static_cast<std::byte*>(block);
      }
    }
    void* block = Map(size, huge);
    if (block == nullptr) {
      Release();  // What is kept may be what is missing.
      block = Map(size, huge);
    }
    if (block != nullptr) *static_cast<Header*>(block) = {.block_bytes = size};
    return static_cast<std::byte*>(block);
  }

  // A huge block begins at a huge page's boundary.
  static void* Map(size_t size, bool huge) {
    const size_t spare = huge ? kHugePageBytes : 0;
    void* mapped =
        mmap(nullptr, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    if (!huge) return mapped;
    const auto address = reinterpret_cast<uintptr_t>(mapped);
    const size_t before = RoundUp(address, kHugePageBytes) - address;
    auto* block = static_cast<std::byte*>(mapped) + before;
    if (before > 0) munmap(mapped, before);
    if (spare > before) munmap(block + size, spare - before);
    madvise(block, size, MADV_HUGEPAGE);  // Advice: a refusal only costs time.
    return block;
  }

  Mutex mutex_;
  std::map<size_t, std::vector<void*>> kept_ ABSL_GUARDED_BY(mutex_);  // By block size.
};

KeptMemory& TheKeptMemory() {
  static KeptMemory* memory = new KeptMemory;  // Tensors of statics may outlive main.
  return *memory;
}

void KeptMemory::Free(void* data) {
  if (data == nullptr) return;
  std::byte* block = static_cast<std::byte*>(data) - kHeaderBytes;
  const size_t size = reinterpret_cast<Header*>(block)->block_bytes;
  if (size == 0) return std::free(block);
  KeptMemory& memory = TheKeptMemory();
  MutexLock lock(memory.mutex_);
  memory.kept_[size].push_back(block);
}

}  // namespace

void UseKeptMemory() {
  constexpr uint8_t kAboveTheDefault = 1;
  c10::SetCPUAllocator(&TheKeptMemory(), kAboveTheDefault);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // For what oneDNN takes by itself.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

void ReleaseKeptMemory() {
  TheKeptMemory().Release();
  malloc_trim(0);
}

}  // namespace noisefloor::trainer
