#include "coordinator/cli/submission.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/rpc/inventory.h"
#include "common/rpc/settings.h"
#include "coordinator/cli/offers.h"
#include "coordinator/sweep_file/sweep_notes.h"
#include "worker/devices/layout.h"

namespace noisefloor::cli {

using sweep_file::WithPlaces;

namespace {

absl::StatusOr<SettingsSchemaRef> AskForSettings(Connection& connection, const std::string& stack) {
  v1::ListSettingsRequest request;
  request.set_stack(stack);
  NF_ASSIGN_OR_RETURN(const v1::ListSettingsResponse answer,
                      connection.Call(&Stub::ListSettings, request));
  NF_ASSIGN_OR_RETURN(SettingsSchema schema, SchemaFrom(answer));
  return std::make_shared<const SettingsSchema>(std::move(schema));
}

}  // namespace

absl::StatusOr<SweepFile> ReadSweepFile(const Context& context, const std::string& path,
                                        const Connection::Wish& wish,
                                        std::optional<Connection>& connection) {
  const auto ask = [&](const std::string& stack) -> absl::StatusOr<SettingsSchemaRef> {
    absl::StatusOr<SettingsSchemaRef> ours = sweep_file::OwnSettings(stack);
    if (ours.ok()) return ours;
    NF_ASSIGN_OR_RETURN(Connection opened, Connection::Open(context, wish));
    connection.emplace(std::move(opened));
    return AskForSettings(*connection, stack);
  };
  return sweep_file::ReadSweepFile(path, ask);
}

absl::StatusOr<SweepFile> ReadSweepFile(Connection& connection, const std::string& path) {
  return sweep_file::ReadSweepFile(path, [&](const std::string& stack) {
    absl::StatusOr<SettingsSchemaRef> ours = sweep_file::OwnSettings(stack);
    return ours.ok() ? ours : AskForSettings(connection, stack);
  });
}

absl::StatusOr<Connection> OpenUnless(const Context& context, const Connection::Wish& wish,
                                      std::optional<Connection> opened) {
  if (opened) return *std::move(opened);
  return Connection::Open(context, wish);
}

absl::StatusOr<v1::PlanSweepResponse> PlanSweep(Connection& connection, const SweepFile& file,
                                                const std::vector<v1::AssumedWorker>& assumed) {
  v1::PlanSweepRequest request;
  *request.mutable_sweep() = file.sweep;
  request.mutable_assumed_workers()->Assign(assumed.begin(), assumed.end());
  absl::StatusOr<v1::PlanSweepResponse> answer = connection.Call(&Stub::PlanSweep, request);
  if (!answer.ok()) return WithPlaces(answer.status(), file);
  return answer;
}

uint32_t GpusPerSlot(const v1::Sweep& sweep) {
  constexpr int64_t kMost = 64;  // Of the setting.
  for (const v1::Setting& setting : sweep.training()) {
    if (setting.path() != "train.devices") continue;
    const int64_t devices = setting.value().integer();
    return static_cast<uint32_t>(std::clamp<int64_t>(devices, 1, kMost));
  }
  return 1;
}

absl::StatusOr<v1::AssumedWorker> WorkerHere(uint32_t slots, const v1::Sweep& sweep) {
  NF_ASSIGN_OR_RETURN(const Host host, ReadHost());
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> classes, ChooseClasses(host, {}));
  v1::AssumedWorker worker;
  worker.set_name("local");
  const Layout layout =
      LayOut(host, classes, {.cpu_slots = slots, .gpus_per_slot = GpusPerSlot(sweep)});
  *worker.mutable_inventory() = ToProto(AssumedInventory(host, layout));
  return worker;
}

absl::Status CheckEveryCellHasAWorker(const v1::PlanSweepResponse& plan,
                                      const v1::AssumedWorker& here) {
  std::set<std::string> missing;
  for (const v1::PlannedCell& cell : plan.cells()) {
    if (!cell.workers().empty()) continue;
    missing.insert((cell.hardware().empty() ? "any hardware class" : cell.hardware()) +
                   (cell.stack().empty() ? "" : " with stack " + cell.stack()));
  }
  if (missing.empty()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("this machine has no {}; it has {}", fmt::join(missing, ", "),
                               ClassesText(here.inventory())));
}

void SayNotes(const Context& context, const SweepFile& file) {
  for (const std::string& note : sweep_file::NotesOn(file.sweep))
    context.err << "note: " << note << "\n";
}

std::string HardwareText(const v1::SubmitSweepResponse& submitted) {
  const bool any = submitted.hardware_size() == 1 && submitted.hardware(0).empty();
  return any ? "any hardware class" : fmt::format("{}", fmt::join(submitted.hardware(), ", "));
}

namespace {

constexpr int kMostTries = 5;
constexpr absl::Duration kTry = absl::Seconds(60);

bool NoAnswerCame(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status);
}

// Waits for a coordinator that starts again.
absl::StatusOr<v1::SubmitSweepResponse> AskToSubmit(Connection& connection,
                                                    const v1::SubmitSweepRequest& request) {
  grpc::ClientContext context;
  connection.Prepare(context, kTry);
  context.set_wait_for_ready(true);
  v1::SubmitSweepResponse response;
  const grpc::Status status = connection.stub().SubmitSweep(&context, request, &response);
  if (!status.ok()) return connection.Named(FromGrpc(status));
  return response;
}

}  // namespace

std::string MakeRequestId(const Context& context) {
  return fmt::format("cli-{:x}-{:x}-{:x}", absl::ToUnixNanos(context.clock.Now()),
                     absl::ToInt64Nanoseconds(context.clock.Steady()), getpid());
}

// The same request id is the same sweep, so an answer that did not come is asked for again.
absl::StatusOr<v1::SubmitSweepResponse> SubmitSweep(const Context& context, Connection& connection,
                                                    const SweepFile& file, bool resume,
                                                    const SharingOptions& sharing) {
  v1::SubmitSweepRequest request;
  *request.mutable_sweep() = file.sweep;
  request.set_resume(resume);
  request.set_file(file.text);
  request.set_priority(sharing.priority);
  request.set_weight(sharing.weight);
  request.set_max_failures(sharing.max_failures);
  request.set_gpu_hours(sharing.gpu_hours);
  NF_RETURN_IF_ERROR(TakeLimits(sharing.limits, 1, *request.mutable_limits()));
  request.set_request_id(MakeRequestId(context));
  absl::StatusOr<v1::SubmitSweepResponse> answer = connection.Call(&Stub::SubmitSweep, request);
  for (int tries = 1; NoAnswerCame(answer.status()) && connection.remote(); ++tries) {
    const bool gone = tries > 1 && !connection.connected();  // It had a whole try to start again.
    if (tries == kMostTries || gone) {
      return Annotate(answer.status(),
                      fmt::format("no answer came, and the sweep may have been kept: look with {} "
                                  "before you submit it again",
                                  context.Hint("status")));
    }
    context.err << fmt::format(
        "no answer yet; asking again for the same sweep, which makes no second one, for {}\n",
        absl::FormatDuration(kTry));
    answer = AskToSubmit(connection, request);
  }
  if (!answer.ok()) return WithPlaces(answer.status(), file);
  return answer;
}

}  // namespace noisefloor::cli
