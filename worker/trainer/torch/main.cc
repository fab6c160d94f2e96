// noisefloor-trainer: trains one member and exits. See worker/trainer/README.md.
#include <ATen/ATen.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "common/base/clock.h"
#include "common/trainer_protocol/hardware_class.h"
#include "worker/trainer/torch/device.h"
#include "worker/trainer/torch/environment.h"
#include "worker/trainer/torch/intake.h"
#include "worker/trainer/torch/member.h"
#include "worker/trainer/torch/memory.h"
#include "worker/trainer/torch/options.h"
#include "worker/trainer/torch/probe.h"
#include "worker/trainer/torch/stop.h"

namespace noisefloor::trainer {
namespace {

// The descriptor for events: NOISEFLOOR_EVENTS, else standard output.
int EventsDescriptor() {
  const char* text = std::getenv("NOISEFLOOR_EVENTS");
  const int descriptor = text == nullptr ? STDOUT_FILENO : std::atoi(text);
  return descriptor > 0 ? descriptor : STDOUT_FILENO;
}

// Third-party code throws; this is the one place where that becomes a cause.
CauseClass CauseOfException(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return CauseClass::kOutOfMemory;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error)) return CauseClass::kOutOfMemory;
  if (dynamic_cast<const c10::AcceleratorError*>(&error)) return CauseClass::kLostDevice;
  return CauseClass::kBug;
}

std::string FirstLineOf(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

int Describe() {
  const Build build = IdentifyBuild();
  Json environment = ProcessEnvironment(build);
  environment["observed"] = ObserveLibraries();
  const Json description = {{"protocol", kTrainerProtocolVersion},
                            {"stack", build.stack},
                            {"build", build.build},
                            {"fingerprint", build.fingerprint},
                            {"environment", environment}};
  std::printf("%s\n", description.dump().c_str());
  return 0;
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

struct Intake {
  TrainerRequest request;
  Json observed;  // Under the variables of the request's class.
};

absl::StatusOr<Intake> TakeRequest(const Options& options, char** argv) {
  const bool direct = options.mode == Options::Mode::kDirect;
  Intake intake;
  if (direct) {
    NF_ASSIGN_OR_RETURN(intake.request, DirectRequest(options, argv));
  }
  // Before a request is waited for: what LibTorch does only at its first work is then done, too.
  intake.observed = ObserveLibraries();
  if (!direct) {
    NF_ASSIGN_OR_RETURN(intake.request, ReadRequest(STDIN_FILENO));
    NF_RETURN_IF_ERROR(CheckStart(options, intake.request.specification));
  }
  return intake;
}

CauseClass CauseOfIntake(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kCancelled: return CauseClass::kInterrupted;
    case absl::StatusCode::kUnavailable: return CauseClass::kLostDevice;
    default: return CauseClass::kBadSpecification;
  }
}

CauseClass TrainMember(const Options& options, char** argv, Reporter& reporter) {
  if (options.gpu) {
    const absl::Status opened = OpenCuda();
    if (!opened.ok()) return TellFailure(CauseClass::kLostDevice, Message(opened), reporter);
  }
  const Build build = IdentifyBuild();
  const auto intake = TakeRequest(options, argv);
  if (intake.ok()) {
    return RunMember(intake->request, {build, intake->observed}, SystemClock(), reporter);
  }
  return TellFailure(CauseOfIntake(intake.status()), Message(intake.status()), reporter);
}

int Main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  if (options.mode == Options::Mode::kExit) return options.exit_code;
  if (options.mode == Options::Mode::kExampleSpec) {
    std::printf("%s\n", SpecificationToJson(ExampleSpecification()).c_str());
    return 0;
  }
  UseKeptMemory();
  if (options.mode == Options::Mode::kDescribe) return Describe();
  WatchForStop();
  Reporter reporter(EventsDescriptor());
  CauseClass cause = CauseClass::kNone;
  try {
    cause = TrainMember(options, argv, reporter);
  } catch (const std::exception& error) {
    cause = TellFailure(CauseOfException(error), FirstLineOf(error), reporter);
  }
  return cause == CauseClass::kNone ? 0 : ExitCodeOf(cause);
}

}  // namespace
}  // namespace noisefloor::trainer

int main(int argc, char** argv) { return noisefloor::trainer::Main(argc, argv); }
