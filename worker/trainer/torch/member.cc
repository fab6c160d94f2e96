#include "worker/trainer/torch/member.h"

#include <cstdio>
#include <utility>

#include "worker/trainer/data/dataset.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/facts/device.h"
#include "worker/trainer/torch/facts/hardware.h"
#include "worker/trainer/torch/facts/machine.h"
#include "worker/trainer/torch/facts/probe.h"
#include "worker/trainer/torch/measure_member.h"
#include "worker/trainer/torch/step/infer.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/results.h"
#include "worker/trainer/torch/step/train.h"

namespace noisefloor::trainer {

namespace {

// InvalidArgument when this process is not what the specification asks for.
absl::Status CheckPlace(const Specification& specification, const HardwareClass& hardware,
                        const Build& build) {
  if (!specification.stack.empty() && specification.stack != build.stack) {
    return InvalidInput("stack: the member asks for " + specification.stack +
                        ", this trainer is built with " + build.stack);
  }
  if (!hardware.vendor.empty() && hardware.vendor != CpuVendor()) {
    return InvalidInput("hardware_class: the member asks for " + specification.hardware_class +
                        ", this processor's vendor is " + CpuVendor());
  }
  return absl::OkStatus();
}

// Unavailable without the device, InvalidArgument with another one.
absl::StatusOr<at::Device> DeviceOf(const Specification& specification,
                                    const HardwareClass& hardware) {
  NF_ASSIGN_OR_RETURN(const at::Device device, OpenDevice(hardware.gpu));
  if (hardware.gpu) {
    NF_RETURN_IF_ERROR(CheckGpuClass(specification.hardware_class, GpuJson()));
  }
  return device;
}

std::string NotFiniteMessage(const TrainReport& report) {
  return "the loss is not finite after " + std::to_string(report.steps) + " steps";
}

// The data, with nothing left in memory of how they were read.
absl::StatusOr<Dataset> Load(const TrainerRequest& request, const Process& process,
                             const Clock& clock) {
  const DataSettings& data = request.specification.data;
  const ExampleLimits limits = {data.train_examples, data.test_examples};
  auto dataset =
      process.cache ? LoadDataset(data.name, request.data_root, limits, *process.cache, clock.Now())
                    : LoadDataset(data.name, request.data_root, limits);
  ReleaseKeptMemory();
  if (!dataset.ok()) return dataset;
  for (const std::string& note : dataset->notes) std::fprintf(stderr, "%s\n", note.c_str());
  return dataset;
}

CauseClass TellOutcome(const TrainReport& report, Json environment, Results& results,
                       Reporter& reporter) {
  if (report.ending == Ending::kInterrupted) {
    return TellFailure(CauseClass::kInterrupted,
                       "asked to stop after " + std::to_string(report.steps) + " steps", reporter);
  }
  environment["measured"] = MeasuredJson(report);
  environment["load_at_end"] = MachineJson()["load"];
  Outcome& outcome = results.outcome();
  outcome.kind =
      report.ending == Ending::kDiverged ? Outcome::Kind::kDiverged : Outcome::Kind::kDone;
  if (report.ending == Ending::kDiverged) outcome.message = NotFiniteMessage(report);
  outcome.environment = environment.dump();
  outcome.train_seconds = report.train_seconds;
  reporter.Outcome(outcome);
  return CauseClass::kNone;
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

CauseClass TellFailure(CauseClass cause, std::string message, Reporter& reporter) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kFailed;
  outcome.cause = cause;
  outcome.message = std::move(message);
  outcome.environment = "{}";
  reporter.Outcome(outcome);
  return cause;
}

CauseClass RunMember(const TrainerRequest& request, const Process& process, const Clock& clock,
                     Reporter& reporter) {
  const Specification& spec = request.specification;
  const Build& build = process.build;
  const auto fail = [&](CauseClass cause, const absl::Status& status) {
    return TellFailure(cause, Message(status), reporter);
  };
  const auto hardware = HardwareOf(spec);
  if (!hardware.ok()) return fail(CauseClass::kBadSpecification, hardware.status());
  const absl::Status place = CheckPlace(spec, *hardware, build);
  if (!place.ok()) return fail(CauseClass::kBadSpecification, place);
  const auto device = DeviceOf(spec, *hardware);
  if (!device.ok()) return fail(CauseOf(device.status()), device.status());

  const Streams streams = MakeStreams(spec);
  SwitchPlan switches = PlanSwitches(spec, streams.threads);
  switches.aten_capability = hardware->aten_capability;
  const auto readings = SetSwitches(switches);
  Json environment = ProcessEnvironment(build);
  environment["switches"] = SwitchesJson(readings);
  environment["observed"] = process.observed;
  environment["notes"] = NotesJson(spec, WasObserved(process.observed));
  environment["hardware_class"] = spec.hardware_class;

  if (spec.measure.steps > 0) {
    reporter.Hello({.stack = build.stack, .build = build.build, .environment = environment.dump()});
    return MeasureMember(request, {spec, streams, switches, *device, clock}, std::move(environment),
                         reporter);
  }
  const auto dataset = Load(request, process, clock);
  if (dataset.ok()) environment["data_identity"] = dataset->identity;
  reporter.Hello({.stack = build.stack,
                  .build = build.build,
                  .environment = environment.dump(),
                  .data_identity = dataset.ok() ? dataset->identity : ""});
  if (!dataset.ok()) return fail(CauseClass::kBadData, dataset.status());
  const absl::Status as_asked = CheckReadings(readings);
  if (!as_asked.ok()) return fail(CauseClass::kBug, as_asked);
  const absl::Status identity = CheckIdentity(*dataset, spec.data.identity);
  if (!identity.ok()) return fail(CauseClass::kBadData, identity);

  Results results(request, *dataset, reporter);
  if (request.write_evaluation_set) {
    const absl::Status written = results.WriteEvaluationSet();
    if (!written.ok()) return fail(CauseOf(written), written);
  }
  const TrainInput input = {spec, *dataset, streams, switches, *device, clock};
  const auto report = request.weights.empty() ? Train(input, results, reporter)
                                              : Infer(input, request.weights, results);
  if (!report.ok()) return fail(CauseOf(report.status()), report.status());
  return TellOutcome(*report, std::move(environment), results, reporter);
}

}  // namespace noisefloor::trainer
