#include "worker/trainer/torch/failure.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <utility>

#include "worker/trainer/torch/facts/adapter.h"

namespace noisefloor::trainer {

namespace {

// Only LibTorch's allocator for GPUs has a type of exception for it. CUDA itself, which also needs
// memory to load a kernel, its libraries (cuBLAS, cuDNN) and the allocator for the host have words.
constexpr std::array<std::string_view, 4> kNoMemory = {
    "out of memory", "_STATUS_ALLOC_FAILED", "_ALLOCATION_FAILED", "DefaultCPUAllocator: "};
// Errors of CUDA that are about what was asked of the GPU.
constexpr std::array<std::string_view, 2> kMistakes = {"invalid configuration argument",
                                                       "device-side assert triggered"};
// cuDNN's library, its frontend, and LibTorch when none of cuDNN's ways ("engines") has worked:
// also where each failed for want of memory, or since the GPU is gone.
constexpr std::string_view kNoEngine = "unable to find an engine";
constexpr std::array<std::string_view, 4> kOfCudnn = {
    "cuDNN error: ", "cuDNN Frontend error: ", "CUDNN_STATUS_", kNoEngine};

template <size_t kCount>
bool HasOneOf(std::string_view words, const std::array<std::string_view, kCount>& wanted) {
  return std::ranges::any_of(
      wanted, [&](std::string_view one) { return words.find(one) != std::string_view::npos; });
}

bool IsOutOfMemory(const std::exception& error, std::string_view words) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         HasOneOf(words, kNoMemory);
}

// `words`: what CUDA said.
CauseClass CauseOfCuda(const std::exception& error, std::string_view words) {
  if (IsOutOfMemory(error, words)) return CauseClass::kOutOfMemory;
  return HasOneOf(words, kMistakes) ? CauseClass::kBug : CauseClass::kLostDevice;
}

Failure FailureOfCudnn(const std::string& words, const std::function<void()>& ask_gpus) {
  try {
    ask_gpus();
  } catch (const std::exception& error) {
    const std::string answer = FirstLineOf(error);
    return {CauseOfCuda(error, answer), words + " (the GPU: " + answer + ")"};
  }
  if (words.find(kNoEngine) == std::string::npos) return {CauseClass::kBug, words};
  return {CauseClass::kOutOfMemory,
          words + " (the GPU works: memory is taken to be what was missing)"};
}

}  // namespace

CauseClass CauseOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument: return CauseClass::kBadSpecification;
    // No device; or what FileError says of a folder that takes no files: full, gone, failing.
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kNotFound: return CauseClass::kLostDevice;
    default: return CauseClass::kBug;
  }
}

void WaitForGpus() {
  if (!at::globalContext().hasCUDA()) return;
  const auto& hooks = at::detail::getCUDAHooks();
  const c10::impl::VirtualGuardImpl gpus(at::kCUDA);
  for (c10::DeviceIndex i = 0; i < gpus.deviceCount(); ++i) {
    // Waiting would make a context, of hundreds of MB, on one that is not used.
    if (hooks.hasPrimaryContext(i)) gpus.synchronizeStream(gpus.getStream({at::kCUDA, i}));
  }
}

Failure FailureOf(const std::exception& error, const std::function<void()>& ask_gpus) {
  const std::string words = FirstLineOf(error);
  if (IsOutOfMemory(error, words)) return {CauseClass::kOutOfMemory, words};
  if (IsErrorOfCuda(error)) return {CauseOfCuda(error, words), words};
  if (HasOneOf(words, kOfCudnn)) return FailureOfCudnn(words, ask_gpus);
  const bool refused = dynamic_cast<const c10::ValueError*>(&error) != nullptr;
  return {refused ? CauseClass::kBadSpecification : CauseClass::kBug, words};
}

std::string FirstLineOf(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace noisefloor::trainer
