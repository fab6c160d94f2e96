#include "worker/trainer/torch/facts/switches.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <xmmintrin.h>

#include <functional>
#include <utility>

#include "worker/trainer/torch/facts/adapter.h"

namespace noisefloor::trainer {

namespace {

struct Switch {
  std::string name;
  std::string asked;
  std::function<void()> set;
  std::function<std::string()> read;
};

std::string OnOff(bool on) { return on ? "on" : "off"; }

Switch Bool(const char* name, bool asked, std::function<void(bool)> set,
            std::function<bool()> read) {
  return {name, OnOff(asked), [set = std::move(set), asked] { set(asked); },
          [read = std::move(read)] { return OnOff(read()); }};
}

// A switch of at::Context with a plain setter and getter.
using Context = at::Context;
Switch OfContext(const char* name, bool asked, void (Context::*set)(bool),
                 bool (Context::*read)() const) {
  return Bool(
      name, asked, [set](bool on) { (at::globalContext().*set)(on); },
      [read] { return (at::globalContext().*read)(); });
}

std::vector<Switch> DeterminismSwitches(const SwitchPlan& plan) {
  Context& context = at::globalContext();
  return {
      Bool(
          "deterministic_algorithms", plan.deterministic,
          [&](bool on) { context.setDeterministicAlgorithms(on, on && plan.warn_only); },
          [&] { return context.deterministicAlgorithms(); }),
      Bool(
          "deterministic_warn_only", plan.deterministic && plan.warn_only, [](bool) {},
          [&] { return context.deterministicAlgorithmsWarnOnly(); }),
      // We read no memory that nobody wrote; filling it would only cost time.
      OfContext("fill_uninitialised_memory", false,
                &Context::setDeterministicFillUninitializedMemory,
                &Context::deterministicFillUninitializedMemory),
      OfContext("onednn_deterministic", plan.deterministic, &Context::setDeterministicMkldnn,
                &Context::deterministicMkldnn),
      OfContext("onednn", true, &Context::setUserEnabledMkldnn, &Context::userEnabledMkldnn),
      OfContext("nnpack", false, &Context::setUserEnabledNNPACK, &Context::userEnabledNNPACK),
      OfContext("fp16_reduction_cpu", false, &Context::setAllowFP16ReductionCPU,
                &Context::allowFP16ReductionCPU),
  };
}

std::vector<Switch> CudnnSwitches(const SwitchPlan& plan) {
  Context& context = at::globalContext();
  return {
      OfContext("cudnn", true, &Context::setUserEnabledCuDNN, &Context::userEnabledCuDNN),
      OfContext("cudnn_deterministic", plan.deterministic, &Context::setDeterministicCuDNN,
                &Context::deterministicCuDNN),
      OfContext("cudnn_benchmark", plan.autotune, &Context::setBenchmarkCuDNN,
                &Context::benchmarkCuDNN),
      {"cudnn_benchmark_limit", "10", [&] { context.setBenchmarkLimitCuDNN(10); },
       [&] { return std::to_string(context.benchmarkLimitCuDNN()); }},
  };
}

std::string NameOf(at::Float32MatmulPrecision precision) {
  switch (precision) {
    case at::Float32MatmulPrecision::HIGHEST: return "highest";
    case at::Float32MatmulPrecision::HIGH: return "high";
    case at::Float32MatmulPrecision::MEDIUM: return "medium";
  }
  return "unknown";
}

// Of the two interfaces for precision only the older one: mixing them makes its getters throw.
std::vector<Switch> PrecisionSwitches(const SwitchPlan& plan) {
  Context& context = at::globalContext();
  const std::string precision = plan.tf32 ? "high" : "highest";
  return {
      {"float32_matmul_precision", precision,
       [&, precision] { context.setFloat32MatmulPrecision(precision); },
       [&] { return NameOf(context.float32MatmulPrecision()); }},
      OfContext("tf32_cublas", plan.tf32, &Context::setAllowTF32CuBLAS, &Context::allowTF32CuBLAS),
      Bool(
          "tf32_cudnn", plan.tf32, [&](bool on) { context.setAllowTF32CuDNN(on); },
          [&] { return context.allowTF32CuDNN(); }),
      // Only for Intel's GPUs; its setter refuses elsewhere.
      Bool(
          "tf32_onednn", false, [](bool) {}, [&] { return context.allowTF32OneDNN(); }),
      Bool(
          "fp16_reduction_cublas", false, [&](bool on) { context.setAllowFP16ReductionCuBLAS(on); },
          [&] { return ReducesFp16(context); }),
      Bool(
          "bf16_reduction_cublas", false, [&](bool on) { context.setAllowBF16ReductionCuBLAS(on); },
          [&] { return ReducesBf16(context); }),
      OfContext("fp16_accumulation_cublas", false, &Context::setAllowFP16AccumulationCuBLAS,
                &Context::allowFP16AccumulationCuBLAS),
  };
}

// Of attention, which one way computes everywhere.
std::vector<Switch> AttentionSwitches() {
  return {
      OfContext("sdp_math", true, &Context::setSDPUseMath, &Context::userEnabledMathSDP),
      OfContext("sdp_flash", false, &Context::setSDPUseFlash, &Context::userEnabledFlashSDP),
      OfContext("sdp_memory_efficient", false, &Context::setSDPUseMemEfficient,
                &Context::userEnabledMemEfficientSDP),
      OfContext("sdp_cudnn", false, &Context::setSDPUseCuDNN, &Context::userEnabledCuDNNSDP),
      OfContext("sdp_overrideable", false, &Context::setSDPUseOverrideable,
                &Context::userEnabledOverrideableSDP),
      OfContext("sdp_reduced_precision", false, &Context::setAllowFP16BF16ReductionMathSDP,
                &Context::allowFP16BF16ReductionMathSDP),
  };
}

std::vector<Switch> ProcessorSwitches(const SwitchPlan& plan) {
  constexpr unsigned kFlushBits = 0x8040;  // Flush to zero, denormals are zero.
  std::vector<Switch> switches = {
      Bool(
          "flush_denormals", false, [](bool on) { at::globalContext().setFlushDenormal(on); },
          [] { return (_mm_getcsr() & kFlushBits) != 0; }),
      {"threads", std::to_string(plan.threads),
       [threads = plan.threads] { at::set_num_threads(static_cast<int>(threads)); },
       [] { return std::to_string(at::get_num_threads()); }},
      {"threads_between_operations", "1",
       [] {  // May be set once in a process.
         if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
       },
       [] { return std::to_string(at::get_num_interop_threads()); }},
  };
  if (!plan.aten_capability.empty()) {
    switches.push_back({"aten_cpu_capability", plan.aten_capability, [] {}, CpuCapability});
  }
  return switches;
}

}  // namespace

SwitchPlan PlanSwitches(const Specification& specification, int64_t threads) {
  SwitchPlan plan;
  plan.deterministic = specification.Source(NoiseSource::kKernels).state != SourceState::kFree;
  plan.autotune = specification.Source(NoiseSource::kAutotune).state == SourceState::kFree;
  plan.tf32 = specification.train.precision == "tf32";
  plan.threads = threads;
  return plan;
}

std::vector<SwitchReading> SetSwitches(const SwitchPlan& plan) {
  std::vector<SwitchReading> readings;
  for (const auto& group : {DeterminismSwitches(plan), CudnnSwitches(plan), PrecisionSwitches(plan),
                            AttentionSwitches(), ProcessorSwitches(plan)}) {
    for (const Switch& one : group) one.set();
    for (const Switch& one : group) readings.push_back({one.name, one.asked, one.read()});
  }
  return readings;
}

absl::Status CheckReadings(const std::vector<SwitchReading>& readings) {
  for (const SwitchReading& reading : readings) {
    if (reading.asked == reading.read) continue;
    return MakeError(absl::StatusCode::kInternal, "switch " + reading.name + ": asked " +
                                                      reading.asked + ", reads " + reading.read);
  }
  return absl::OkStatus();
}

}  // namespace noisefloor::trainer
