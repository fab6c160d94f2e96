#include "worker/trainer/cuda/driver.h"

#include <dlfcn.h>

namespace noisefloor::cuda {

namespace {

constexpr int kOutOfMemory = 2;      // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kMajorAttribute = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kMinorAttribute = 76;

}  // namespace

// The names with _v2 are what cuda.h's macros call: they take sizes of 64 bits.
struct Driver::Functions {
  int (*init)(unsigned) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*get_current)(void**) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*load)(Module*, const void*) = nullptr;
  int (*find)(Function*, Module, const char*) = nullptr;
  int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void*, void**, void**) = nullptr;
  int (*allocate)(DevicePointer*, size_t) = nullptr;
  int (*free)(DevicePointer) = nullptr;
  int (*copy_in)(DevicePointer, const void*, size_t) = nullptr;
  int (*copy_out)(void*, DevicePointer, size_t) = nullptr;
};

Driver::Driver(void* library, std::unique_ptr<Functions> functions)
    : library_(library), functions_(std::move(functions)) {}

Driver::~Driver() {
  if (context_ != nullptr) functions_->release(device_);
  dlclose(library_);
}

absl::StatusOr<std::unique_ptr<Driver>> Driver::Open(const std::string& library, int device) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::unique_ptr<Driver>();
  std::unique_ptr<Driver> driver(new Driver(handle, std::make_unique<Functions>()));
  NF_RETURN_IF_ERROR(driver->Find());
  NF_RETURN_IF_ERROR(driver->Start(device));
  return driver;
}

absl::Status Driver::Find() {
  absl::Status status;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library_, name));
    if (function == nullptr && status.ok()) {
      status =
          MakeError(absl::StatusCode::kUnavailable, std::string("CUDA driver: it has no ") + name);
    }
  };
  find(functions_->init, "cuInit");
  find(functions_->error_string, "cuGetErrorString");
  find(functions_->device_get, "cuDeviceGet");
  find(functions_->device_attribute, "cuDeviceGetAttribute");
  find(functions_->retain, "cuDevicePrimaryCtxRetain");
  find(functions_->release, "cuDevicePrimaryCtxRelease_v2");
  find(functions_->get_current, "cuCtxGetCurrent");
  find(functions_->set_current, "cuCtxSetCurrent");
  find(functions_->load, "cuModuleLoadData");
  find(functions_->find, "cuModuleGetFunction");
  find(functions_->launch, "cuLaunchKernel");
  find(functions_->allocate, "cuMemAlloc_v2");
  find(functions_->free, "cuMemFree_v2");
  find(functions_->copy_in, "cuMemcpyHtoD_v2");
  find(functions_->copy_out, "cuMemcpyDtoH_v2");
  return status;
}

absl::Status Driver::Start(int device) {
  NF_RETURN_IF_ERROR(Check(functions_->init(0), "cuInit"));
  NF_RETURN_IF_ERROR(Check(functions_->device_get(&device_, device), "cuDeviceGet"));
  NF_RETURN_IF_ERROR(
      Check(functions_->device_attribute(&capability_.first, kMajorAttribute, device_),
            "cuDeviceGetAttribute"));
  NF_RETURN_IF_ERROR(
      Check(functions_->device_attribute(&capability_.second, kMinorAttribute, device_),
            "cuDeviceGetAttribute"));
  return Check(functions_->retain(&context_, device_), "cuDevicePrimaryCtxRetain");
}

absl::Status Driver::Check(int result, const char* call) const {
  if (result == 0) return absl::OkStatus();
  const char* text = nullptr;
  if (functions_->error_string(result, &text) != 0 || text == nullptr) text = "unknown error";
  return MakeError(
      result == kOutOfMemory ? absl::StatusCode::kResourceExhausted
                             : absl::StatusCode::kUnavailable,
      std::string("CUDA driver: ") + call + ": " + text + " (" + std::to_string(result) + ")");
}

absl::Status Driver::Enter() const {
  void* current = nullptr;
  NF_RETURN_IF_ERROR(Check(functions_->get_current(&current), "cuCtxGetCurrent"));
  if (current == context_) return absl::OkStatus();
  return Check(functions_->set_current(context_), "cuCtxSetCurrent");
}

absl::StatusOr<Driver::Module> Driver::LoadModule(const void* image) const {
  NF_RETURN_IF_ERROR(Enter());
  Module module = nullptr;
  NF_RETURN_IF_ERROR(Check(functions_->load(&module, image), "cuModuleLoadData"));
  return module;
}

absl::StatusOr<Driver::Function> Driver::FindFunction(Module module, const char* name) const {
  NF_RETURN_IF_ERROR(Enter());
  Function function = nullptr;
  NF_RETURN_IF_ERROR(
      Annotate(Check(functions_->find(&function, module, name), "cuModuleGetFunction"), name));
  return function;
}

absl::Status Driver::Launch(Function function, uint32_t grid, uint32_t block,
                            const void* arguments) const {
  NF_RETURN_IF_ERROR(Enter());
  void* parameters[] = {const_cast<void*>(arguments)};  // Read, not written.
  return Check(functions_->launch(function, grid, 1, 1, block, 1, 1, /*shared bytes=*/0,
                                  /*stream=*/nullptr, parameters, nullptr),
               "cuLaunchKernel");
}

absl::StatusOr<DevicePointer> Driver::Allocate(size_t bytes) const {
  NF_RETURN_IF_ERROR(Enter());
  DevicePointer memory = 0;
  NF_RETURN_IF_ERROR(Check(functions_->allocate(&memory, bytes), "cuMemAlloc"));
  return memory;
}

absl::Status Driver::Free(DevicePointer memory) const {
  NF_RETURN_IF_ERROR(Enter());
  return Check(functions_->free(memory), "cuMemFree");
}

absl::Status Driver::CopyIn(DevicePointer to, const void* from, size_t bytes) const {
  NF_RETURN_IF_ERROR(Enter());
  return Check(functions_->copy_in(to, from, bytes), "cuMemcpyHtoD");
}

absl::Status Driver::CopyOut(void* to, DevicePointer from, size_t bytes) const {
  NF_RETURN_IF_ERROR(Enter());
  return Check(functions_->copy_out(to, from, bytes), "cuMemcpyDtoH");
}

}  // namespace noisefloor::cuda
