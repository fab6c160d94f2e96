#include "worker/trainer/torch/step/measure.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "common/base/philox.h"
#include "worker/trainer/torch/facts/kernels.h"
#include "worker/trainer/torch/facts/machine.h"
#include "worker/trainer/torch/facts/own_gpu.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/step/arm.h"
#include "worker/trainer/torch/step/device_images.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/stop.h"
#include "worker/trainer/torch/step/stopwatch.h"

namespace noisefloor::trainer {

namespace {

constexpr int64_t kProfiledSteps = 3;  // Of each arm, behind those that are timed.
constexpr int64_t kReports = 10;       // Of progress, and of a GPU's pace.

// Every which of so many rounds is told of.
int64_t EveryWhich(int64_t rounds) { return std::max<int64_t>(1, rounds / kReports); }

Json ToJson(const std::vector<KernelTime>& times) {
  Json json = Json::array();
  for (const KernelTime& time : times) json.push_back({time.name, time.launches, time.seconds});
  return json;
}

// The arms of a member, and what is to be said of them.
class Measurement {
 public:
  Measurement(const MeasureInput& input, std::vector<GpuKernels> kernels, Reporter& reporter)
      : input_(input),
        kernels_(std::move(kernels)),
        reporter_(reporter),
        watch_(input.devices.front(), input.clock),
        gpu_(input.devices.front().is_cuda() ? GpuUuid() : ""),
        total_(PlannedSteps(input.specification)) {
    const Examples drawn = DrawBatch(input.specification, input.devices.front());
    std::vector<Examples> batch;  // By device.
    for (const at::Device device : input.devices) {
      batch.push_back({drawn.images.to(device), drawn.labels.to(device)});
    }
    const Specification held = HeldStill(input.specification);
    SwitchPlan still = PlanSwitches(held, input.switches.threads);
    still.aten_capability = input.switches.aten_capability;
    const std::vector<cuda::KernelLauncher*> launchers = LaunchersOf(kernels_);
    arms_.emplace_back(kDeterministicArm, held, input.streams, still, batch, launchers);
    arms_.emplace_back(kPlanArm, input.specification, input.streams, input.switches, batch,
                       launchers);
    report_.hashes["init"] = HostTensors::Parameters(arms_.front().model()).Hash();
  }

  absl::StatusOr<MeasureReport> Run() {
    const MeasureSettings& measure = input_.specification.measure;
    for (int64_t round = 0; round < measure.warmup + measure.steps; ++round) {
      NF_RETURN_IF_ERROR(RunRound(round));
      if (report_.ending == Ending::kInterrupted) return std::move(report_);
      if (report_.ending == Ending::kDiverged) break;
    }
    for (const Arm& arm : arms_) {
      report_.skipped_steps += arm.skipped();
      report_.hashes[arm.name() + "/weights"] =
          HostTensors::ParametersAndBuffers(arm.model()).Hash();
    }
    if (report_.ending == Ending::kDiverged) return std::move(report_);
    reporter_.Flush();
    NF_RETURN_IF_ERROR(Profile());
    return std::move(report_);
  }

 private:
  // Each arm once.
  absl::Status RunRound(int64_t round) {
    const uint64_t seed = input_.specification.Source(NoiseSource::kDataOrder).seed;
    const int64_t timed = round - input_.specification.measure.warmup + 1;
    for (const size_t place : RoundOrder(seed, round)) {
      if (StopAsked() || !reporter_.status().ok()) {
        report_.ending = Ending::kInterrupted;
        return absl::OkStatus();
      }
      Arm& arm = arms_[place];
      NF_RETURN_IF_ERROR(CheckReadings(arm.Prepare()));
      const StepTime time = watch_.Time([&] { arm.Step(); });
      if (timed >= 1) Note(arm, timed, time);
      ++report_.steps;
    }
    if (timed >= 1 && (timed - 1) % EveryWhich(input_.specification.measure.steps) == 0) {
      NotePace(timed);
    }
    if (round % EveryWhich(total_ / kMeasuredArms) == 0) reporter_.Progress(report_.steps, total_);
    CheckLoss();
    return absl::OkStatus();
  }

  // Just behind a step, when the clocks are what they were during it.
  void NotePace(int64_t round) {
    const std::optional<Nvml::Pace> pace = gpu_.Pace();
    if (!pace) return;
    const auto steps = static_cast<double>(round);
    reporter_.Add({round, steps, "gpu/sm_mhz", static_cast<double>(pace->sm_mhz)});
    reporter_.Add({round, steps, "gpu/memory_mhz", static_cast<double>(pace->memory_mhz)});
    reporter_.Add({round, steps, "gpu/throttle_reasons", static_cast<double>(pace->reasons)});
  }

  void Note(const Arm& arm, int64_t round, const StepTime& time) {
    const auto steps = static_cast<double>(round);
    reporter_.Add({round, steps, arm.name() + "/wall_seconds", time.wall_seconds});
    if (input_.devices.front().is_cuda()) {
      reporter_.Add({round, steps, arm.name() + "/device_seconds", time.device_seconds});
    }
    report_.timed_seconds += time.wall_seconds;
  }

  void CheckLoss() {
    report_.loss = ToldLoss(arms_.front().Loss(), arms_.back().Loss());
    if (!std::isfinite(report_.loss)) report_.ending = Ending::kDiverged;
  }

  absl::Status Profile() {
    report_.kernels = {{"device", input_.devices.front().is_cuda() ? "cuda" : "cpu"},
                       {"profiled_steps", kProfiledSteps},
                       {"arms", Json::object()},
                       {"primitives", Json::object()}};
    for (Arm& arm : arms_) {
      NF_RETURN_IF_ERROR(CheckReadings(arm.Prepare()));
      ProfileArm(arm);
    }
    return absl::OkStatus();
  }

  // A measurement without the names of its kernels is still one.
  void ProfileArm(Arm& arm) {
    const auto steps = [&] {
      for (int64_t step = 0; step < kProfiledSteps; ++step) arm.Step();
      (void)arm.Loss();  // Until they are done.
    };
    OnOtherThreads on_others;
    if (arm.team().size() > 1) {
      on_others = [&](const std::function<void()>& work) {
        arm.team().Run([&](int64_t) { work(); });
      };
    }
    Put("arms", arm, ProfileKernels(input_.devices.front(), on_others, steps));
    if (input_.devices.front().is_cpu()) Put("primitives", arm, ProfilePrimitives(steps));
  }

  void Put(const char* what, const Arm& arm, const absl::StatusOr<std::vector<KernelTime>>& times) {
    if (times.ok()) {
      report_.kernels[what][arm.name()] = ToJson(*times);
    } else {
      report_.kernels["error"] = Message(times.status());
    }
  }

  const MeasureInput& input_;
  const std::vector<GpuKernels> kernels_;  // The arms borrow them.
  Reporter& reporter_;
  const Stopwatch watch_;
  const OwnGpu gpu_;
  const int64_t total_;  // Steps of all arms, but for those that are profiled.
  std::deque<Arm> arms_;
  MeasureReport report_;
};

}  // namespace

std::array<size_t, kMeasuredArms> RoundOrder(uint64_t seed, int64_t round) {
  const PhiloxStream rounds(seed, StreamOf("measure.rounds"));
  const size_t first = rounds.Word(static_cast<uint64_t>(round)) % kMeasuredArms;
  return {first, 1 - first};
}

double ToldLoss(double deterministic, double plan) {
  return std::isfinite(deterministic) && !std::isfinite(plan) ? plan : deterministic;
}

absl::StatusOr<MeasureReport> Measure(const MeasureInput& input, Reporter& reporter) {
  ReleaseKeptMemory();
  NF_ASSIGN_OR_RETURN(std::vector<GpuKernels> kernels, OpenGpuKernels(input.devices));
  return Measurement(input, std::move(kernels), reporter).Run();
}

}  // namespace noisefloor::trainer
