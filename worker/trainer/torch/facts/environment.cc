#include "worker/trainer/torch/facts/environment.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>
#include <filesystem>

#include "common/base/check.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/hardware_class.h"
#include "worker/trainer/torch/facts/adapter.h"
#include "worker/trainer/torch/facts/machine.h"

namespace noisefloor::trainer {

namespace {

// "path (bytes)" of the library that holds LibTorch's CPU code.
std::string LibraryName() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&at::get_mkl_version), &info) == 0) return "unknown";
  std::error_code error;
  const auto size = std::filesystem::file_size(info.dli_fname, error);
  return std::filesystem::path(info.dli_fname).filename().string() + " (" +
         (error ? "unknown size" : std::to_string(size) + " bytes") + ")";
}

Json VersionsJson() {
  return {{"libtorch", TORCH_VERSION},          {"library", LibraryName()},
          {"onednn", at::get_mkldnn_version()}, {"mkl", at::get_mkl_version()},
          {"openmp", at::get_openmp_version()}, {"compiler", std::string("g++ ") + __VERSION__}};
}

Json CudaJson() {
  if (!at::globalContext().hasCUDA()) return nullptr;
  const CudaLibraries libraries = LoadedCudaLibraries();
  Json json = GpuJson();
  json["cuda_runtime"] = libraries.runtime;
  if (libraries.cudnn > 0) json["cudnn"] = libraries.cudnn;
  json["cublas"] = CublasVersion();
  return json;
}

}  // namespace

std::string_view OwnStack() { return NOISEFLOOR_STACK; }

Build IdentifyBuild() {
  Build build;
  build.stack = OwnStack();
  const auto hash = Sha256File("/proc/self/exe");
  NF_CHECK(hash.ok());
  build.build = *hash;
  build.fingerprint = Sha256Hex(Json{{"stack", build.stack}, {"versions", VersionsJson()}}.dump());
  return build;
}

// LibTorch's own answers are those of when it was built: for where a library hides its functions.
CudaLibraries LoadedCudaLibraries() {
  const auto& hooks = at::detail::getCUDAHooks();
  CudaLibraries libraries{.runtime = CudaRuntimeVersion()};
  if (libraries.runtime == 0) libraries.runtime = hooks.versionCUDART();
  if (!hooks.hasCuDNN()) return libraries;
  libraries.cudnn = CudnnVersion();
  if (libraries.cudnn == 0) libraries.cudnn = hooks.versionCuDNN();
  return libraries;
}

Json ProcessEnvironment(const Build& build) {
  return {{"build", build.build},
          {"stack", build.stack},
          {"stack_fingerprint", build.fingerprint},
          {"versions", VersionsJson()},
          {"aten_cpu_capability", CpuCapability()},
          {"machine", MachineJson()},
          {"gpu", CudaJson()},
          {"variables", VariablesJson()}};
}

Json SwitchesJson(const std::vector<SwitchReading>& readings) {
  Json switches = Json::array();
  for (const SwitchReading& reading : readings) {
    switches.push_back({{"name", reading.name}, {"asked", reading.asked}, {"read", reading.read}});
  }
  return switches;
}

Json NotesJson(const Specification& specification, bool observed) {
  const std::string asked =
      "oneDNN's instruction set and MKL's reproducibility mode are asked for by variables and ";
  Json notes = {
      asked + (observed ? "were observed in this process: see observed"
                        : "could not be observed in this process"),
      "clock rates, temperature and other processes of the machine are not controlled; they can "
      "change times, and bits only through what is free: the order of arrival, and on a GPU "
      "kernels that do not repeat and cuDNN's choice by timing"};
  const auto free = [&](NoiseSource source) {
    return specification.Source(source).state == SourceState::kFree;
  };
  const bool gpu = IsGpuClass(specification.hardware_class);
  if (!gpu && (free(NoiseSource::kKernels) || free(NoiseSource::kAutotune))) {
    notes.push_back("kernels and autotune have no effect on a CPU with a fixed number of threads");
  }
  if (!gpu && specification.train.devices > 1) {
    notes.push_back("train.devices: " + std::to_string(specification.train.devices) +
                    " copies of the weights on one processor");
  }
  if (free(NoiseSource::kReduceOrder) && specification.train.shards < 3) {
    notes.push_back("reduce_order is free but fewer than 3 shards add in only one way");
  }
  return notes;
}

}  // namespace noisefloor::trainer
