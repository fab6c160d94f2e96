#include "worker/trainer/torch/member.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "common/files/sha256.h"
#include "worker/trainer/checkpoint/checkpoint_folder.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/images/image_set.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/facts/device.h"
#include "worker/trainer/torch/facts/hardware.h"
#include "worker/trainer/torch/facts/machine.h"
#include "worker/trainer/torch/facts/probe.h"
#include "worker/trainer/torch/facts/surroundings.h"
#include "worker/trainer/torch/failure.h"
#include "worker/trainer/torch/measure_member.h"
#include "worker/trainer/torch/step/infer.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/results.h"
#include "worker/trainer/torch/step/signs_of_life.h"
#include "worker/trainer/torch/step/stop.h"
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

absl::Status CheckMeasuresAlone(const TrainerRequest& request) {
  if (request.weights.empty()) return absl::OkStatus();
  return InvalidInput("weights: a member that measures (measure.steps above 0) takes none");
}

// Unavailable without the devices, InvalidArgument with others.
absl::StatusOr<std::vector<at::Device>> DevicesOf(const Specification& specification,
                                                  const HardwareClass& hardware) {
  NF_ASSIGN_OR_RETURN(std::vector<at::Device> devices,
                      OpenDevices(hardware.gpu, specification.train.devices));
  if (hardware.gpu) {
    NF_RETURN_IF_ERROR(CheckGpuClass(specification.hardware_class, GpusJson()));
  }
  return devices;
}

std::string NotFiniteMessage(const TrainReport& report) {
  return "the loss is not finite after " + std::to_string(report.steps) + " steps";
}

absl::StatusOr<Dataset> LoadOwnImages(const TrainerRequest& request, const Process& process,
                                      ExampleLimits limits, const Clock& clock,
                                      Reporter& reporter) {
  SignsOfLife signs(clock, reporter);
  const DataSettings& data = request.specification.data;
  return LoadImages({.name = data.name,
                     .image_size = data.image_size,
                     .labels = data.labels,
                     .groups = data.groups,
                     .attributes = request.specification.train.loss == "binary_cross_entropy"},
                    {.data_root = request.data_root,
                     .cache = process.cache ? &*process.cache : nullptr,
                     .threads = UsableProcessors(),
                     .go_on = [&] { return signs.GoOn(); }},
                    limits, clock.Now());
}

// The data, with nothing left in memory of how they were read.
absl::StatusOr<Dataset> Load(const TrainerRequest& request, const Process& process,
                             const Clock& clock, Reporter& reporter) {
  const DataSettings& data = request.specification.data;
  const ExampleLimits limits = {data.train_examples, data.test_examples};
  const auto known = [&] {
    return process.cache
               ? LoadDataset(data.name, request.data_root, limits, *process.cache, clock.Now())
               : LoadDataset(data.name, request.data_root, limits);
  };
  auto dataset =
      data.image_size > 0 ? LoadOwnImages(request, process, limits, clock, reporter) : known();
  ReleaseKeptMemory();
  if (!dataset.ok()) return dataset;
  for (const std::string& note : dataset->notes) std::fprintf(stderr, "%s\n", note.c_str());
  return dataset;
}

CauseClass CauseOfUnread(const absl::Status& status) {
  if (absl::IsCancelled(status)) return CauseClass::kInterrupted;
  // A disk that is full is the machine's fault.
  return absl::IsResourceExhausted(status) ? CauseOf(status) : CauseClass::kBadData;
}

// What a checkpoint of this member must have been made with. The folder's name follows from member,
// specification, build and fingerprint, as it does for scripts in Python.
CheckpointIdentity IdentityOf(const TrainerRequest& request, const Process& process,
                              const Dataset& dataset) {
  const std::string& said = request.specification_sha256;
  return {{"member", request.member},
          {"specification",
           said.empty() ? Sha256Hex(SpecificationToJson(request.specification)) : said},
          {"stack", process.build.stack},
          {"build", process.build.build},
          {"fingerprint", process.build.fingerprint},
          {"data", dataset.identity},
          {"libraries", Sha256Hex(process.observed.dump())}};
}

std::string FolderNameOf(const CheckpointIdentity& identity) {
  return Sha256Hex(identity.at("member") + "\n" + identity.at("specification") + "\n" +
                   identity.at("build") + "\n" + identity.at("fingerprint"))
      .substr(0, 32);
}

// None: there is no folder for them, or it cannot be used, which is said.
std::unique_ptr<Checkpointer> MakeCheckpointer(const TrainerRequest& request,
                                               const Process& process, const Dataset& dataset,
                                               const Clock& clock) {
  if (process.checkpoints.empty()) return nullptr;
  CheckpointIdentity identity = IdentityOf(request, process, dataset);
  const std::string name = FolderNameOf(identity);
  CheckpointFolder folder(process.checkpoints, name, std::move(identity));
  if (const absl::Status opened = folder.Open(); !opened.ok()) {
    std::fprintf(stderr, "no checkpoints: %s\n", Message(opened).c_str());
    return nullptr;
  }
  return std::make_unique<Checkpointer>(std::move(folder), process.checkpoint_every,
                                        request.work_directory, clock);
}

// As it is told in the hello; what others do to the machine comes with the outcome.
Json EnvironmentAtStart(const Specification& spec, const Process& process, bool on_gpu,
                        const std::vector<SwitchReading>& readings) {
  Json environment = ProcessEnvironment(process.build);
  environment["switches"] = SwitchesJson(readings);
  environment["observed"] = process.observed;
  environment["notes"] = NotesJson(spec, WasObserved(process.observed));
  environment["hardware_class"] = spec.hardware_class;
  if (on_gpu && spec.train.devices > 1) environment["gpus"] = GpusJson();
  return environment;
}

std::string StoppedMessage(const TrainReport& report) {
  return "asked to stop after " + std::to_string(report.steps) + " steps" +
         (report.is_kept ? ", which are kept" : "");
}

CauseClass TellOutcome(const TrainReport& report, Json environment, Surroundings& surroundings,
                       Checkpointer* checkpoints, Results& results, Reporter& reporter) {
  if (report.ending == Ending::kInterrupted) {
    return TellFailure(CauseClass::kInterrupted, StoppedMessage(report), reporter);
  }
  environment["measured"] = MeasuredJson(report);
  environment["measured"]["surroundings"] = surroundings.Finish();
  if (checkpoints != nullptr) {
    Json cost = checkpoints->Measured();
    if (!cost.is_null()) environment["measured"]["checkpoints"] = std::move(cost);
  }
  Outcome& outcome = results.outcome();
  outcome.kind =
      report.ending == Ending::kDiverged ? Outcome::Kind::kDiverged : Outcome::Kind::kDone;
  if (report.ending == Ending::kDiverged) outcome.message = NotFiniteMessage(report);
  outcome.environment = environment.dump();
  outcome.train_seconds = report.train_seconds;
  reporter.Outcome(outcome);
  if (checkpoints != nullptr && reporter.status().ok()) checkpoints->Forget();
  return CauseClass::kNone;
}

}  // namespace

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
  const auto devices = DevicesOf(spec, *hardware);
  if (!devices.ok()) return fail(CauseOf(devices.status()), devices.status());
  const absl::Status precision =
      CheckPrecision(spec.train.precision, hardware->gpu ? GpuJson() : Json());
  if (!precision.ok()) return fail(CauseClass::kBadSpecification, precision);

  const Streams streams = MakeStreams(spec);
  SwitchPlan switches = PlanSwitches(spec, streams.threads);
  switches.aten_capability = hardware->aten_capability;
  const auto readings = SetSwitches(switches);
  Json environment = EnvironmentAtStart(spec, process, hardware->gpu, readings);
  Surroundings surroundings(clock, hardware->gpu ? GpuUuid() : "");
  if (spec.measure.steps > 0) {
    const absl::Status alone = CheckMeasuresAlone(request);
    if (!alone.ok()) return fail(CauseClass::kBadSpecification, alone);
    reporter.Hello({.stack = build.stack, .build = build.build, .environment = environment.dump()});
    return MeasureMember(request, {spec, streams, switches, *devices, clock},
                         std::move(environment), surroundings, reporter);
  }
  const auto dataset = Load(request, process, clock, reporter);
  if (dataset.ok()) environment["data_identity"] = dataset->identity;
  const bool trains = request.weights.empty();
  const auto checkpoints =
      trains && dataset.ok() ? MakeCheckpointer(request, process, *dataset, clock) : nullptr;
  reporter.Hello({.stack = build.stack,
                  .build = build.build,
                  .environment = environment.dump(),
                  .data_identity = dataset.ok() ? dataset->identity : "",
                  .resumes = checkpoints != nullptr});
  if (!dataset.ok()) return fail(CauseOfUnread(dataset.status()), dataset.status());
  const absl::Status as_asked = CheckReadings(readings);
  if (!as_asked.ok()) return fail(CauseClass::kBug, as_asked);
  const absl::Status identity = CheckIdentity(*dataset, spec.data.identity);
  if (!identity.ok()) return fail(CauseClass::kBadData, identity);

  Results results(request, *dataset, reporter);
  if (request.write_evaluation_set) {
    const absl::Status written = results.WriteEvaluationSet();
    if (!written.ok()) return fail(CauseOf(written), written);
  }
  const auto between_steps = [&] {
    surroundings.LookIfDue();
    return StopAsked();
  };
  const TrainInput input = {spec,     *dataset, streams,       switches,
                            *devices, clock,    between_steps, checkpoints.get()};
  const auto report =
      trains ? Train(input, results, reporter) : Infer(input, request.weights, results);
  if (!report.ok()) return fail(CauseOf(report.status()), report.status());
  return TellOutcome(*report, std::move(environment), surroundings, checkpoints.get(), results,
                     reporter);
}

}  // namespace noisefloor::trainer
