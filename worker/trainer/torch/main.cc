// noisefloor-trainer: trains one member and exits. See worker/trainer/README.md.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "common/base/clock.h"
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

// What LibTorch does only once, done while nobody waits for it.
void WarmUp() {
  at::set_num_threads(1);
  const at::Tensor ones = at::ones({1, 1, 3, 3});
  at::conv2d(ones, ones);
}

int Describe() {
  const Build build = IdentifyBuild();
  Json environment = ProcessEnvironment(build);
  environment["observed"] = ObserveLibraries("/proc/self/exe");
  const Json description = {{"protocol", kTrainerProtocolVersion},
                            {"stack", build.stack},
                            {"build", build.build},
                            {"fingerprint", build.fingerprint},
                            {"environment", environment}};
  std::printf("%s\n", description.dump().c_str());
  return 0;
}

absl::StatusOr<TrainerRequest> TakeRequest(const Options& options, char** argv) {
  if (options.mode == Options::Mode::kServe) {
    WarmUp();
    return ReadRequest(STDIN_FILENO);
  }
  NF_ASSIGN_OR_RETURN(TrainerRequest request, RequestOf(options));
  NF_RETURN_IF_ERROR(BecomeClass(request.specification, argv));
  return request;
}

CauseClass TrainMember(const Options& options, char** argv, Reporter& reporter) {
  if (options.gpu) {
    const absl::Status opened = OpenCuda();
    if (!opened.ok()) return TellFailure(CauseClass::kLostDevice, Message(opened), reporter);
  }
  const Build build = IdentifyBuild();
  const auto request = TakeRequest(options, argv);
  if (request.ok()) return RunMember(*request, build, SystemClock(), reporter);
  const bool stopped = request.status().code() == absl::StatusCode::kCancelled;
  return TellFailure(stopped ? CauseClass::kInterrupted : CauseClass::kBadSpecification,
                     Message(request.status()), reporter);
}

int Main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  if (options.mode == Options::Mode::kExit) return options.exit_code;
  if (options.mode == Options::Mode::kExampleSpec) {
    std::printf("%s\n", SpecificationToJson(ExampleSpecification()).c_str());
    return 0;
  }
  UseKeptMemory();
  if (options.mode == Options::Mode::kProbe) return RunProbe(), 0;
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
