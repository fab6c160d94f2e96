#include <torch/csrc/autograd/profiler_kineto.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "worker/trainer/torch/facts/kernels.h"
#include "worker/trainer/torch/facts/probe.h"

namespace noisefloor::trainer {

namespace {

namespace kineto = torch::autograd::profiler;
namespace profiler = torch::profiler::impl;

void OnOthers(const OnOtherThreads& on_others, const std::function<void()>& work) {
  if (on_others) on_others(work);
}

// Unavailable with what LibTorch says.
absl::Status Begin(at::Device device, const OnOtherThreads& on_others) {
  std::set<profiler::ActivityType> activities = {profiler::ActivityType::CPU};
  if (device.is_cuda()) activities.insert(profiler::ActivityType::CUDA);
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
  try {
    kineto::prepareProfiler(config, activities);
    kineto::enableProfiler(config, activities, {at::RecordScope::FUNCTION});
    OnOthers(on_others, kineto::enableProfilerInChildThread);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return MakeError(absl::StatusCode::kUnavailable,
                     "profiling: " + text.substr(0, text.find('\n')));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<KernelTime>> ProfileKernels(at::Device device,
                                                       const OnOtherThreads& on_others,
                                                       const std::function<void()>& work) {
  NF_RETURN_IF_ERROR(Begin(device, on_others));
  work();
  OnOthers(on_others, kineto::disableProfilerInChildThread);
  const std::unique_ptr<kineto::ProfilerResult> result = kineto::disableProfiler();
  std::vector<Call> calls;
  for (const kineto::KinetoEvent& event : result->events()) {
    if (event.deviceType() != device.type()) continue;
    // Kernels of several streams may overlap: each counts whole, as on a thread of its own.
    const uint64_t thread = device.is_cuda() ? calls.size() : event.startThreadId();
    calls.push_back({event.name(), thread, event.startNs(), event.startNs() + event.durationNs()});
  }
  return OwnTimes(std::move(calls));
}

absl::StatusOr<std::vector<KernelTime>> ProfilePrimitives(const std::function<void()>& work) {
  NF_ASSIGN_OR_RETURN(const std::string output, VerboseOutputOf(work));
  return ParsePrimitives(output);
}

}  // namespace noisefloor::trainer
