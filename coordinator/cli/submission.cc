#include "coordinator/cli/submission.h"

#include <unistd.h>

#include "fmt/format.h"

namespace noisefloor::cli {

absl::StatusOr<v1::PlanSweepResponse> PlanSweep(Connection& connection, const SweepFile& file) {
  v1::PlanSweepRequest request;
  *request.mutable_sweep() = file.sweep;
  absl::StatusOr<v1::PlanSweepResponse> answer = connection.Call(&Stub::PlanSweep, request);
  if (!answer.ok()) return WithPlaces(answer.status(), file);
  return answer;
}

absl::StatusOr<v1::SubmitSweepResponse> SubmitSweep(const Context& context, Connection& connection,
                                                    const SweepFile& file, bool resume) {
  v1::SubmitSweepRequest request;
  *request.mutable_sweep() = file.sweep;
  request.set_resume(resume);
  request.set_request_id(fmt::format("cli-{:x}-{:x}-{:x}", absl::ToUnixNanos(context.clock.Now()),
                                     absl::ToInt64Nanoseconds(context.clock.Steady()), getpid()));
  absl::StatusOr<v1::SubmitSweepResponse> answer = connection.Call(&Stub::SubmitSweep, request);
  if (!answer.ok()) return WithPlaces(answer.status(), file);
  return answer;
}

}  // namespace noisefloor::cli
