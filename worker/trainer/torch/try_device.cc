#include "worker/trainer/torch/try_device.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Version.h>
#include <c10/core/DeviceGuard.h>

#include <charconv>
#include <cmath>
#include <exception>
#include <string_view>
#include <vector>

#include "common/trainer_protocol/hardware_class.h"
#include "worker/trainer/torch/facts/adapter.h"
#include "worker/trainer/torch/facts/device.h"
#include "worker/trainer/torch/facts/environment.h"
#include "worker/trainer/torch/facts/machine.h"
#include "worker/trainer/torch/failure.h"
#include "worker/trainer/torch/intake.h"

namespace noisefloor::trainer {

namespace {

// float32 with other orders of summation, on numbers of size 1; TF32 would be at 1e-3 and more.
constexpr double kTolerance = 1e-4;
constexpr int64_t kSize = 64;  // Of the matrices.
constexpr int64_t kImages = 2, kChannels = 8, kSide = 16, kFilters = 16, kWindow = 3;

// From -1 to 1, never the same twice in a row.
std::vector<float> Numbers(int64_t count, double seed) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(std::sin(seed + 1.7 * static_cast<double>(i)));
  }
  return numbers;
}

at::Tensor On(const at::Device& device, std::vector<float>& numbers, at::IntArrayRef shape) {
  return at::from_blob(numbers.data(), shape, at::kFloat).to(device);
}

std::vector<double> PlainProduct(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<double> product(kSize * kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t k = 0; k < kSize; ++k) {
      for (int64_t j = 0; j < kSize; ++j) {
        product[i * kSize + j] += double{a[i * kSize + k]} * b[k * kSize + j];
      }
    }
  }
  return product;
}

// Without padding: kSide - kWindow + 1 places each way.
std::vector<double> PlainConvolution(const std::vector<float>& images,
                                     const std::vector<float>& filters) {
  std::vector<double> sums;
  constexpr int64_t kPlaces = kSide - kWindow + 1;
  for (int64_t n = 0; n < kImages; ++n) {
    for (int64_t f = 0; f < kFilters; ++f) {
      for (int64_t at = 0; at < kPlaces * kPlaces; ++at) {
        double sum = 0;
        for (int64_t c = 0; c < kChannels; ++c) {
          for (int64_t w = 0; w < kWindow * kWindow; ++w) {
            const int64_t y = at / kPlaces + w / kWindow;
            const int64_t x = at % kPlaces + w % kWindow;
            sum += double{images[((n * kChannels + c) * kSide + y) * kSide + x]} *
                   filters[(f * kChannels + c) * kWindow * kWindow + w];
          }
        }
        sums.push_back(sum);
      }
    }
  }
  return sums;
}

std::string Compute(const at::Device& device) {
  // The format of the numbers is a switch of a training's, not what is asked here.
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  std::vector<float> a = Numbers(kSize * kSize, 1);
  std::vector<float> b = Numbers(kSize * kSize, 2);
  const at::Tensor product =
      at::matmul(On(device, a, {kSize, kSize}), On(device, b, {kSize, kSize}));
  std::string difference = Difference("matrix product", product, PlainProduct(a, b));
  if (!difference.empty()) return difference;
  std::vector<float> images = Numbers(kImages * kChannels * kSide * kSide, 3);
  std::vector<float> filters = Numbers(kFilters * kChannels * kWindow * kWindow, 4);
  const at::Tensor sums = at::conv2d(On(device, images, {kImages, kChannels, kSide, kSide}),
                                     On(device, filters, {kFilters, kChannels, kWindow, kWindow}));
  return Difference("convolution", sums, PlainConvolution(images, filters));
}

// Each computes, and what lies on it comes to the first as it is.
std::string ComputeOnAll(const std::vector<at::Device>& devices) {
  for (const at::Device& device : devices) {
    const c10::DeviceGuard current(device);
    std::string difference = Compute(device);
    if (!difference.empty()) return difference;
    std::vector<float> numbers = Numbers(kSize * kSize, 5);
    const at::Tensor there = On(device, numbers, {kSize, kSize});
    const at::Tensor here = there.to(devices.front());
    const std::vector<double> expected(numbers.begin(), numbers.end());
    difference = Difference("copy from one GPU to another", here, expected);
    if (!difference.empty()) return difference;
  }
  return "";
}

// 13000: "13.0".
std::string CudaText(int64_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// 91200: "9.12.0"; before 9.0 8902 was 8.9.2.
std::string CudnnText(int64_t version) {
  const int64_t unit = version < 90000 ? 1000 : 10000;
  return std::to_string(version / unit) + "." + std::to_string(version % unit / 100) + "." +
         std::to_string(version % 100);
}

// What makes results on a GPU besides the build, as people write it.
Json FactsOf(const Json& gpu) {
  Json facts = {{"cublas", CublasVersion()}, {"driver_api", CudaText(gpu.value("driver", 0))}};
  const CudaLibraries libraries = LoadedCudaLibraries();
  facts["cuda"] = CudaText(libraries.runtime);
  if (libraries.cudnn > 0) facts["cudnn"] = CudnnText(libraries.cudnn);
  return facts;
}

Json DeviceOf(const Json& gpu) {
  const std::string memory = gpu.value("memory_bytes", "0");
  int64_t bytes = 0;
  std::from_chars(memory.data(), memory.data() + memory.size(), bytes);
  return {{"name", gpu.value("name", "")}, {"memory_bytes", bytes}};
}

// Fills `answer`; why it does not work, or "".
std::string Try(const std::string& hardware_class, char** argv, Json& answer) {
  Specification specification = ExampleSpecification();
  specification.hardware_class = hardware_class;
  const absl::Status begun = BecomeClass(specification, argv);
  if (!begun.ok()) return Message(begun);
  const auto hardware = ParseHardwareClass(hardware_class, /*kernels_fixed=*/true);
  if (!hardware.ok()) return Message(hardware.status());
  if (hardware->declared) return "this trainer knows processors and NVIDIA GPUs";
  if (!hardware->gpu && hardware->vendor != CpuVendor()) {
    return "this processor's vendor is " + CpuVendor();
  }
  if (!hardware->gpu && CpuCapability() != hardware->aten_capability) {
    return "LibTorch runs as " + CpuCapability() + " instead of " + hardware->aten_capability;
  }
  const uint32_t count = hardware->gpu ? CountGpus(hardware_class).count : 1;
  const auto devices = OpenDevices(hardware->gpu, count);
  if (!devices.ok()) return Message(devices.status());
  if (hardware->gpu) {
    const Json gpus = GpusJson();
    if (gpus.size() < count) return "CUDA does not say what the GPU is";
    for (uint32_t i = 0; i < count; ++i) answer["devices"].push_back(DeviceOf(gpus[i]));
    answer["facts"] = FactsOf(gpus.front());
  }
  return ComputeOnAll(*devices);
}

}  // namespace

std::string Difference(std::string_view what, const at::Tensor& computed,
                       const std::vector<double>& expected) {
  const at::Tensor here = computed.to(at::kCPU).contiguous();
  if (here.numel() != static_cast<int64_t>(expected.size())) {
    return "its " + std::string(what) + " has " + std::to_string(here.numel()) + " numbers";
  }
  const float* values = here.const_data_ptr<float>();
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double off = std::abs(values[i] - expected[i]);
    worst = std::isfinite(off) ? std::max(worst, off) : HUGE_VAL;
  }
  if (worst <= kTolerance) return "";
  return "its " + std::string(what) + " is off by " + std::to_string(worst);
}

Json TryDevice(const std::string& hardware_class, char** argv) {
  Json answer = {{"probes", kProbeVersion}, {"devices", Json::array()}, {"facts", Json::object()}};
  std::string reason;
  try {
    reason = Try(hardware_class, argv, answer);
  } catch (const std::exception& error) {
    reason = FirstLineOf(error);
  }
  answer["works"] = reason.empty();
  answer["reason"] = reason;
  return answer;
}

}  // namespace noisefloor::trainer
