#include "worker/trainer/torch/measure_member.h"

#include <string>
#include <utility>

#include "common/files/atomic_file.h"
#include "worker/trainer/torch/failure.h"
#include "worker/trainer/torch/member.h"

namespace noisefloor::trainer {

namespace {

constexpr const char* kKernelsFile = "kernels.json";

absl::Status WriteKernels(const TrainerRequest& request, const Json& kernels, Reporter& reporter) {
  NF_RETURN_IF_ERROR(
      WriteFileAtomically(request.work_directory + "/" + kKernelsFile, kernels.dump() + "\n"));
  return reporter.Artifact(request.work_directory, "kernels", kKernelsFile);
}

Outcome OutcomeOf(const MeasureReport& report, Json environment, Json surroundings) {
  environment["measured"] = {{"steps", report.steps},
                             {"train_seconds", report.timed_seconds},
                             {"surroundings", std::move(surroundings)}};
  if (report.skipped_steps > 0) environment["measured"]["skipped_steps"] = report.skipped_steps;
  Outcome outcome;
  outcome.kind =
      report.ending == Ending::kDiverged ? Outcome::Kind::kDiverged : Outcome::Kind::kDone;
  if (outcome.kind == Outcome::Kind::kDiverged) {
    outcome.message = "the loss is not finite after " + std::to_string(report.steps) +
                      " steps of both arms; with a smaller learning rate it stays so longer";
  }
  outcome.hashes = report.hashes;
  outcome.metrics = {{"loss", report.loss}};
  outcome.environment = environment.dump();
  outcome.train_seconds = report.timed_seconds;
  return outcome;
}

}  // namespace

CauseClass MeasureMember(const TrainerRequest& request, const MeasureInput& input, Json environment,
                         Surroundings& surroundings, Reporter& reporter) {
  const auto report = Measure(input, reporter);
  if (!report.ok())
    return TellFailure(CauseOf(report.status()), Message(report.status()), reporter);
  if (report->ending == Ending::kInterrupted) {
    return TellFailure(CauseClass::kInterrupted,
                       "asked to stop after " + std::to_string(report->steps) + " steps", reporter);
  }
  if (report->ending == Ending::kDone) {
    const absl::Status written = WriteKernels(request, report->kernels, reporter);
    if (!written.ok()) return TellFailure(CauseOf(written), Message(written), reporter);
  }
  reporter.Outcome(OutcomeOf(*report, std::move(environment), surroundings.Finish()));
  return CauseClass::kNone;
}

}  // namespace noisefloor::trainer
