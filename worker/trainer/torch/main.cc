// noisefloor-trainer: trains one member and exits. See worker/trainer/README.md.
#include <ATen/ATen.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "common/base/clock.h"
#include "common/base/printable.h"
#include "common/options/print.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/fork_json.h"
#include "common/trainer_protocol/hardware_class.h"
#include "worker/trainer/torch/facts/device.h"
#include "worker/trainer/torch/facts/environment.h"
#include "worker/trainer/torch/facts/probe.h"
#include "worker/trainer/torch/failure.h"
#include "worker/trainer/torch/fork_server.h"
#include "worker/trainer/torch/intake.h"
#include "worker/trainer/torch/member.h"
#include "worker/trainer/torch/options.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/stop.h"
#include "worker/trainer/torch/try_device.h"

namespace noisefloor::trainer {
namespace {

constexpr int kUsage = 2;

// The descriptor for events: NOISEFLOOR_EVENTS, else standard output.
int EventsDescriptor() {
  const char* text = std::getenv("NOISEFLOOR_EVENTS");
  const int descriptor = text == nullptr ? STDOUT_FILENO : std::atoi(text);
  return descriptor > 0 ? descriptor : STDOUT_FILENO;
}

int Print(const std::string& text) { return PrintWhole("noisefloor-trainer", text); }

int Describe() {
  const Build build = IdentifyBuild();
  Json environment = ProcessEnvironment(build);
  environment["observed"] = ObserveLibraries();
  const Json description = {{"protocol", kTrainerProtocolVersion},
                            {"stack", build.stack},
                            {"build", build.build},
                            {"fingerprint", build.fingerprint},
                            {"serves_forks", kForkProtocolVersion},
                            {"probes", kProbeVersion},
                            {"infers", kInferVersion},
                            {"settings", Json::parse(OwnSchema()->ToJson())},
                            {"environment", environment}};
  return Print(description.dump() + "\n");
}

// Without taking apart what the process made, of which the kernel gets rid much faster: what is to
// be kept is on disk, and the outcome is told. CUDA's libraries are left the way they are used to,
// and tools that report at the end get to it.
int Leave(int exit_code, bool at_once) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(NOISEFLOOR_COVERAGE)
  at_once = false;
#endif
  if (!at_once) return exit_code;
  std::fflush(nullptr);
  _exit(exit_code);
}

absl::StatusOr<TrainerRequest> DirectRequest(const Options& options, char** argv) {
  NF_ASSIGN_OR_RETURN(TrainerRequest request, RequestOf(options));
  NF_RETURN_IF_ERROR(BecomeClass(request.specification, argv));
  if (IsGpuClass(request.specification.hardware_class)) NF_RETURN_IF_ERROR(OpenCuda());
  return request;
}

// Unavailable for a GPU class when LibTorch has been asked about CUDA before it was opened.
absl::Status CheckStart(const Options& options, const Specification& specification) {
  if (options.gpu || !IsGpuClass(specification.hardware_class)) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnavailable,
                   "hardware_class: for " + specification.hardware_class +
                       " a trainer must be started with --gpu or CUDA_VISIBLE_DEVICES");
}

// From the worker.
absl::StatusOr<TrainerRequest> WaitForRequest(const Options& options) {
  NF_ASSIGN_OR_RETURN(TrainerRequest request, ReadRequest(STDIN_FILENO));
  NF_RETURN_IF_ERROR(CheckStart(options, request.specification));
  return request;
}

CauseClass CauseOfIntake(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kCancelled: return CauseClass::kInterrupted;
    case absl::StatusCode::kUnavailable: return CauseClass::kLostDevice;
    case absl::StatusCode::kInternal: return CauseClass::kBug;
    default: return CauseClass::kBadSpecification;
  }
}

// What is made of this process before it takes a request.
struct Loaded {
  Build build;
  Json observed;
};

// What LibTorch does only at its first work is then done, too.
Loaded Load() { return {IdentifyBuild(), ObserveLibraries()}; }

CauseClass Run(const absl::StatusOr<TrainerRequest>& request, const Loaded& loaded,
               const Options& options, Reporter& reporter) {
  if (!request.ok()) {
    return TellFailure(CauseOfIntake(request.status()), Message(request.status()), reporter);
  }
  std::optional<DataCache> cache;
  if (!options.cache.empty()) cache.emplace(options.cache, options.cache_limit_bytes);
  const Process process{loaded.build, loaded.observed, cache, options.checkpoints,
                        options.checkpoint_every};
  return RunMember(*request, process, SystemClock(), reporter);
}

// A process that was started for one member.
CauseClass TrainMember(const Options& options, char** argv, Reporter& reporter) {
  if (options.gpu) {
    const absl::Status opened = OpenCuda();
    if (!opened.ok()) return TellFailure(CauseClass::kLostDevice, Message(opened), reporter);
  }
  if (options.mode == Options::Mode::kDirect) {
    const auto request = DirectRequest(options, argv);
    return Run(request, request.ok() ? Load() : Loaded{}, options, reporter);
  }
  const Loaded loaded = Load();  // Before a request is waited for.
  return Run(WaitForRequest(options), loaded, options, reporter);
}

// Tells how it ended and returns the exit code.
int Train(const std::function<CauseClass(Reporter&)>& train) {
  WatchForStop();
  Reporter reporter(EventsDescriptor());
  CauseClass cause = CauseClass::kNone;
  try {
    cause = train(reporter);
  } catch (const std::exception& error) {
    Failure failure = FailureOf(error);
    cause = TellFailure(failure.cause, std::move(failure.message), reporter);
  }
  return cause == CauseClass::kNone ? 0 : ExitCodeOf(cause);
}

// Ends at once in the server; in each process that it forked after that member's training.
int ServeForksAndTrain(const Options& options) {
  if (options.gpu) {
    std::fputs("noisefloor-trainer --serve-forks: not with CUDA, which no fork survives\n", stderr);
    return kUsage;
  }
  const Loaded loaded = Load();
  const absl::StatusOr<bool> is_member = ServeForks(STDIN_FILENO);
  if (!is_member.ok()) {
    std::fprintf(stderr, "noisefloor-trainer --serve-forks: %s\n",
                 Message(is_member.status()).c_str());
    return kUsage;
  }
  if (!*is_member) return 0;
  return Train(
      [&](Reporter& reporter) { return Run(WaitForRequest(options), loaded, options, reporter); });
}

int Main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv, OwnStack());
  if (options.mode == Options::Mode::kPrint) return Print(options.text);
  if (options.mode == Options::Mode::kMistake) {
    std::fputs(Printable(options.text).c_str(), stderr);
    return kUsage;
  }
  if (options.mode == Options::Mode::kExampleSpec) {
    return Print(SpecificationToJson(ExampleSpecification()) + "\n");
  }
  UseKeptMemory();
  if (options.mode == Options::Mode::kDescribe) return Describe();
  if (options.mode == Options::Mode::kProbe) {
    return Print(TryDevice(options.probed_class, argv).dump() + "\n");
  }
  const int exit_code =
      options.mode == Options::Mode::kServeForks
          ? ServeForksAndTrain(options)
          : Train([&](Reporter& reporter) { return TrainMember(options, argv, reporter); });
  return Leave(exit_code, /*at_once=*/!options.gpu && options.mode != Options::Mode::kDirect);
}

}  // namespace
}  // namespace noisefloor::trainer

int main(int argc, char** argv) { return noisefloor::trainer::Main(argc, argv); }
