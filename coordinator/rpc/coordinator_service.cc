#include "coordinator/rpc/coordinator_service.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/names.h"
#include "common/base/reason.h"
#include "common/files/sha256.h"
#include "common/rpc/settings.h"
#include "common/rpc/status.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/convert_answers.h"
#include "coordinator/rpc/for_now.h"
#include "coordinator/rpc/member_watch.h"
#include "coordinator/rpc/piece_stream.h"
#include "coordinator/rpc/stack_book.h"
#include "coordinator/rpc/sweep_watch.h"

namespace noisefloor {

namespace {

constexpr int kMaxAssumedWorkers = 100;
constexpr uint32_t kMaxReplays = 1000;
absl::Status NotOffered(const std::string& stack, const sweep::Known& known) {
  return Because(MakeError(absl::StatusCode::kNotFound, sweep::NobodyOffers(stack, known)),
                 Reason::kStackNotOffered, {{"stack", stack}});
}

// Whether nothing is wrong but who is connected. Of a stack that nobody offers the settings are not
// known, so that nothing said of them counts.
bool IsOfFleet(const sweep::SweepRequest& request, const std::vector<sweep::Problem>& problems,
               const sweep::Known& known) {
  const auto unknown = [&](const std::string& stack) {
    return IsName(stack) && sweep::SchemaOf(known, stack) == nullptr;
  };
  if (std::ranges::any_of(request.stacks, unknown)) return true;
  return request.hardware == sweep::HardwareKind::kAll &&
         std::ranges::all_of(problems, [](const auto& one) { return one.field == "hardware"; });
}

// All that is wrong with the message and with what it asks for, together.
absl::StatusOr<sweep::Sweep> ResolveSweep(const v1::Sweep& message, const sweep::Known& known,
                                          const sweep_file::Places* places) {
  std::vector<sweep::Problem> problems;
  const sweep::SweepRequest request = SweepRequestFrom(message, problems);
  if (!problems.empty()) return BadSweepFrom(problems, places);
  auto resolved = sweep::Resolve(request, known);
  if (const auto* found = std::get_if<std::vector<sweep::Problem>>(&resolved)) {
    absl::Status refusal = BadSweepFrom(*found, places);
    return IsOfFleet(request, *found, known) ? RefuseForNow(std::move(refusal)) : refusal;
  }
  return std::get<sweep::Sweep>(std::move(resolved));
}

absl::StatusOr<sweep::Sweep> ResolveFile(const std::string& text, const sweep::Known& known) {
  bool not_offered = false;
  const auto settings = [&](const std::string& stack) -> absl::StatusOr<SettingsSchemaRef> {
    const SettingsSchemaRef schema = sweep::SchemaOf(known, stack);
    if (schema != nullptr) return schema;
    not_offered = true;
    return NotOffered(stack, known);
  };
  NF_ASSIGN_OR_RETURN(const sweep_file::Parsed parsed, sweep_file::Parse(text, settings));
  if (!parsed.mistakes.empty()) {
    absl::Status refusal = BadSweepFrom(parsed.mistakes);
    return not_offered ? RefuseForNow(std::move(refusal)) : refusal;
  }
  return ResolveSweep(parsed.sweep, known, &parsed.places);
}

// The sweep of a request that may have it as a file.
template <typename Request>
absl::StatusOr<sweep::Sweep> ResolveAsked(const Request& request, const sweep::Known& known) {
  const bool is_file = !request.has_sweep() && !request.file().empty();
  return is_file ? ResolveFile(request.file(), known)
                 : ResolveSweep(request.sweep(), known, /*places=*/nullptr);
}

absl::Status CheckFile(const std::string& file) {
  if (file.size() <= sweep::kMaxFileBytes) return absl::OkStatus();
  return InvalidInput(
      fmt::format("file: expected at most {} bytes, got {}", sweep::kMaxFileBytes, file.size()));
}

// Of a list of classes only those have limits.
absl::Status CheckLimits(const scheduler::SweepSubmitted& event) {
  const std::vector<std::string>& classes = event.sweep.hardware;
  if (classes == std::vector<std::string>{""}) return absl::OkStatus();
  for (const auto& [hardware, most] : event.limits) {
    if (std::ranges::count(classes, hardware) > 0) continue;
    return InvalidInput(fmt::format("limits: the sweep has no hardware class {}; it has {}",
                                    hardware, fmt::join(classes, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<CallEvent> SubmissionFrom(const v1::SubmitSweepRequest& request,
                                         const std::string& caller, const sweep::Known& known) {
  NF_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  NF_RETURN_IF_ERROR(CheckPriority(request.priority()));
  if (request.weight() != 0) NF_RETURN_IF_ERROR(CheckWeight(request.weight()));
  NF_RETURN_IF_ERROR(CheckGpuHours(request.gpu_hours()));
  NF_RETURN_IF_ERROR(CheckFile(request.file()));
  NF_ASSIGN_OR_RETURN(sweep::Sweep resolved, ResolveAsked(request, known));
  scheduler::SweepSubmitted event;
  event.specification_sha256 = Sha256Hex(sweep::CanonicalText(resolved));
  event.sweep = std::move(resolved);
  event.request_id = request.request_id();
  event.resume = request.resume();
  event.file = request.file();
  event.caller = caller;
  event.priority = request.priority();
  event.weight = std::max(1u, request.weight());
  event.max_failures = request.max_failures();
  event.gpu_hours = request.gpu_hours();
  NF_ASSIGN_OR_RETURN(event.limits, LimitsFrom("limits", request.limits()));
  std::erase_if(event.limits, [](const auto& limit) { return limit.second == 0; });
  NF_RETURN_IF_ERROR(CheckLimits(event));
  return event;
}

// Which sweep the replays are.
absl::StatusOr<CallEvent> ReplayFrom(const v1::ReplayMemberRequest& request,
                                     const std::string& caller, query::Query& query) {
  NF_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  NF_ASSIGN_OR_RETURN(const MemberId member, MemberFrom(request.member()));
  if (request.count() > kMaxReplays) {
    return InvalidInput(
        fmt::format("count: expected at most {}, got {}", kMaxReplays, request.count()));
  }
  if (!request.hardware_class().empty()) {
    const auto known = ParseHardwareClass(request.hardware_class(), /*kernels_fixed=*/true);
    if (!known.ok()) return known.status();
  }
  NF_RETURN_IF_ERROR(CheckStack(request.stack()));
  NF_ASSIGN_OR_RETURN(const query::ReplaySource source, query.FindReplaySource(member));
  sweep::ReplayWish wish = {.of = member,
                            .count = std::max(1u, request.count()),
                            .hardware = request.hardware_class(),
                            .stack = request.stack(),
                            .identity = source.identity};
  if (wish.hardware.empty()) wish.hardware = source.cell.hardware;
  if (wish.stack.empty()) wish.stack = source.cell.stack;
  if (request.stack() == "any") wish.stack.clear();
  scheduler::SweepSubmitted event;
  event.sweep = sweep::ReplayOf(source.sweep, source.cell, wish);
  if (!sweep::HasDevicesOf(event.sweep, wish.hardware)) {
    return InvalidInput("hardware_class: " + wish.hardware +
                        " has another number of devices than " + ToText(member) +
                        " was trained on (train.devices)");
  }
  event.specification_sha256 = Sha256Hex(sweep::CanonicalText(event.sweep));
  event.request_id = request.request_id();
  event.caller = caller;
  return event;
}

std::vector<query::FleetWorker> FleetOf(const LiveBoard& live) {
  std::vector<query::FleetWorker> fleet;
  for (const LiveBoard::Worker& worker : live.Workers()) {
    if (!worker->connected || worker->draining) continue;
    fleet.push_back({worker->name, worker->inventory});
  }
  return fleet;
}

// Whom a sweep is planned for, and what it is checked against with them.
struct PlannedFleet {
  std::vector<query::FleetWorker> workers;
  sweep::Known known;
};

// The fleet as it is, with the workers that the request assumes.
absl::StatusOr<PlannedFleet> FleetFor(const LiveBoard& live, sweep::Known known,
                                      const v1::PlanSweepRequest& request) {
  constexpr std::string_view kField = "assumed_workers.inventory";
  PlannedFleet fleet = {FleetOf(live), std::move(known)};
  std::set<std::string> classes(fleet.known.classes.begin(), fleet.known.classes.end());
  for (const v1::AssumedWorker& worker : request.assumed_workers()) {
    NF_ASSIGN_OR_RETURN(Inventory inventory,
                        InventoryFrom(kField, worker.inventory(), /*assumed=*/true));
    NF_ASSIGN_OR_RETURN(const std::vector<SettingsSchemaRef> schemas,
                        SchemasFrom(kField, worker.inventory(), inventory));
    AddStacks(inventory, schemas, /*connected=*/false, fleet.known);
    for (const Inventory::Offer& offer : inventory.offers) classes.insert(offer.hardware_class);
    fleet.workers.push_back(
        {worker.name(), std::make_shared<const Inventory>(std::move(inventory))});
  }
  fleet.known.classes.assign(classes.begin(), classes.end());
  return fleet;
}

// What the store cannot know of workers.
void FillLive(const LiveBoard& live, v1::ListWorkersResponse& response) {
  const std::vector<LiveBoard::Worker> workers = live.Workers();
  for (v1::WorkerSummary& summary : *response.mutable_workers()) {
    const auto known = std::ranges::lower_bound(workers, WorkerId{summary.id()}, {},
                                                [](const auto& worker) { return worker->worker; });
    if (known == workers.end() || (*known)->worker.value != summary.id()) continue;
    summary.set_connected((*known)->connected);
    summary.set_draining((*known)->draining);
    for (const MemberId& member : (*known)->running) summary.add_running(ToText(member));
    for (const scheduler::Pause& pause : (*known)->paused) {
      v1::PausedUnit& paused = *summary.add_paused();
      paused.set_unit(pause.unit);
      paused.set_reason(pause.reason);
    }
  }
}

}  // namespace

template <typename Response, typename Function>
Unary* CoordinatorServiceImpl::Read(Context* context, Response* response, Function read) {
  Unary* reactor = context->DefaultReactor();
  const bool posted = parts_.query.Post(
      query::Work::kRead, [this, context, reactor, response, read = std::move(read)]() mutable {
        if (const absl::Status awaited = StillAwaited(*context); !awaited.ok()) {
          return reactor->Finish(ToGrpc(awaited));
        }
        absl::StatusOr<Response> found = read();
        if (found.ok()) *response = std::move(*found);
        if constexpr (requires { response->set_storage_problem(""); }) {
          response->set_storage_problem(parts_.storage_problem());
        }
        reactor->Finish(ToGrpc(found.status()));
      });
  if (posted) return reactor;
  return FinishWith(reactor, TooManyWait("reads"));
}

sweep::Known CoordinatorServiceImpl::KnownNow() {
  sweep::Known known = parts_.stacks.KnownNow(parts_.loop.live(), parts_.clock.Now());
  if (!parts_.pool_classes) return known;
  for (std::string& one : parts_.pool_classes()) known.classes.push_back(std::move(one));
  std::ranges::sort(known.classes);
  known.classes.erase(std::ranges::unique(known.classes).begin(), known.classes.end());
  return known;
}

Unary* CoordinatorServiceImpl::SubmitSweep(Context* context, const v1::SubmitSweepRequest* request,
                                           v1::SubmitSweepResponse* response) {
  Unary* reactor = context->DefaultReactor();
  const auto answer = [reactor, response](const CallResult& result) {
    response->set_sweep_id(result.sweep.value);
    response->set_members(result.members);
    response->set_resumed(result.resumed);
    response->mutable_hardware()->Add(result.hardware.begin(), result.hardware.end());
    reactor->Finish(ToGrpc(
        BecauseIf(absl::StatusCode::kAlreadyExists, result.status, Reason::kRequestIdTaken)));
  };
  absl::StatusOr<CallEvent> event = SubmissionFrom(*request, CallerOf(*context), KnownNow());
  if (event.ok()) {
    parts_.loop.Call(*std::move(event), answer, WhileAwaited(*context));
  } else if (!IsRefusedForNow(event.status())) {
    reactor->Finish(ToGrpc(event.status()));
  } else {
    AnswerRepeat(request->request_id(), event.status(), answer);
  }
  return reactor;
}

void CoordinatorServiceImpl::AnswerRepeat(const std::string& request_id,
                                          const absl::Status& refusal, const CallDone& answer) {
  if (request_id.empty()) return answer({refusal});
  parts_.loop.FindRequest(request_id, [answer, refusal](const CallResult& found) {
    answer(absl::IsNotFound(found.status) ? CallResult{refusal} : found);
  });
}

Unary* CoordinatorServiceImpl::ReplayMember(Context* context,
                                            const v1::ReplayMemberRequest* request,
                                            v1::ReplayMemberResponse* response) {
  Unary* reactor = context->DefaultReactor();
  const bool posted =
      parts_.query.Post(query::Work::kRead, [this, context, reactor, request, response] {
        if (const absl::Status awaited = StillAwaited(*context); !awaited.ok()) {
          return reactor->Finish(ToGrpc(awaited));
        }
        absl::StatusOr<CallEvent> event = ReplayFrom(*request, CallerOf(*context), parts_.query);
        if (!event.ok()) return reactor->Finish(ToGrpc(event.status()));
        parts_.loop.Call(
            *std::move(event),
            [reactor, response](const CallResult& result) {
              response->set_sweep_id(result.sweep.value);
              response->set_members(result.members);
              reactor->Finish(ToGrpc(BecauseIf(absl::StatusCode::kAlreadyExists, result.status,
                                               Reason::kRequestIdTaken)));
            },
            WhileAwaited(*context));
      });
  return posted ? reactor : FinishWith(reactor, TooManyWait("reads"));
}

Unary* CoordinatorServiceImpl::ExplainMember(Context* context,
                                             const v1::ExplainMemberRequest* request,
                                             v1::ExplainMemberResponse* response) {
  return Read(context, response, [this, request]() -> absl::StatusOr<v1::ExplainMemberResponse> {
    NF_ASSIGN_OR_RETURN(const MemberId member, MemberFrom(request->member()));
    v1::ExplainMemberResponse answer;
    answer.set_text(parts_.loop.Explain(member));
    return answer;
  });
}

Unary* CoordinatorServiceImpl::PlanSweep(Context* context, const v1::PlanSweepRequest* request,
                                         v1::PlanSweepResponse* response) {
  return Read(context, response, [this, request]() -> absl::StatusOr<v1::PlanSweepResponse> {
    if (request->assumed_workers_size() > kMaxAssumedWorkers) {
      return InvalidInput(fmt::format("assumed_workers: expected at most {}, got {}",
                                      kMaxAssumedWorkers, request->assumed_workers_size()));
    }
    NF_RETURN_IF_ERROR(CheckFile(request->file()));
    NF_ASSIGN_OR_RETURN(const PlannedFleet fleet,
                        FleetFor(parts_.loop.live(), KnownNow(), *request));
    NF_ASSIGN_OR_RETURN(const sweep::Sweep resolved, ResolveAsked(*request, fleet.known));
    NF_ASSIGN_OR_RETURN(const query::Plan plan, parts_.query.PlanSweep(resolved, fleet.workers));
    v1::PlanSweepResponse answer = ToProto(plan);
    answer.set_specification_sha256(Sha256Hex(sweep::CanonicalText(resolved)));
    return answer;
  });
}

Unary* CoordinatorServiceImpl::GetSweep(Context* context, const v1::GetSweepRequest* request,
                                        v1::GetSweepResponse* response) {
  return Read(context, response, [this, request] {
    return Told(parts_.query, parts_.query.GetSweep(SweepId{request->sweep_id()}));
  });
}

Unary* CoordinatorServiceImpl::ListSweeps(Context* context, const v1::ListSweepsRequest* request,
                                          v1::ListSweepsResponse* response) {
  return Read(context, response, [this, request]() -> absl::StatusOr<v1::ListSweepsResponse> {
    NF_ASSIGN_OR_RETURN(const query::SweepQuestion question, QuestionFrom(*request));
    return Told(parts_.query, parts_.query.ListSweeps(question));
  });
}

Unary* CoordinatorServiceImpl::ListMembers(Context* context, const v1::ListMembersRequest* request,
                                           v1::ListMembersResponse* response) {
  return Read(context, response, [this, request]() -> absl::StatusOr<v1::ListMembersResponse> {
    SweepId sweep{request->sweep_id()};
    if (sweep == SweepId{}) {
      NF_ASSIGN_OR_RETURN(sweep, parts_.query.FindSweep(sweep));
    }
    NF_ASSIGN_OR_RETURN(const query::MemberQuestion question, QuestionFrom(sweep, *request));
    return Told(parts_.query, parts_.query.ListMembers(question));
  });
}

Unary* CoordinatorServiceImpl::GetMember(Context* context, const v1::GetMemberRequest* request,
                                         v1::GetMemberResponse* response) {
  return Read(context, response, [this, request]() -> absl::StatusOr<v1::GetMemberResponse> {
    NF_ASSIGN_OR_RETURN(const MemberId member, MemberFrom(request->member()));
    return Told(parts_.query, parts_.query.GetMember(member));
  });
}

Unary* CoordinatorServiceImpl::ListWorkers(Context* context, const v1::ListWorkersRequest*,
                                           v1::ListWorkersResponse* response) {
  return Read(context, response, [this] { return WorkersNow(); });
}

absl::StatusOr<v1::ListWorkersResponse> CoordinatorServiceImpl::WorkersNow() {
  NF_ASSIGN_OR_RETURN(v1::ListWorkersResponse found,
                      Told(parts_.query, parts_.query.ListWorkers()));
  FillLive(parts_.loop.live(), found);
  return found;
}

Unary* CoordinatorServiceImpl::ExplainSweep(Context* context,
                                            const v1::ExplainSweepRequest* request,
                                            v1::ExplainSweepResponse* response) {
  return Read(context, response, [this, request]() -> absl::StatusOr<v1::ExplainSweepResponse> {
    NF_ASSIGN_OR_RETURN(const SweepId sweep, parts_.query.FindSweep(SweepId{request->sweep_id()}));
    v1::ExplainSweepResponse answer;
    std::string text = parts_.loop.ExplainSweep(sweep).value_or("");
    const auto counts = parts_.loop.live().CountsOf(sweep);
    const bool waits = counts && counts->In(MemberState::kWaiting) > 0;
    if (waits && parts_.pools_stand) text += parts_.pools_stand();
    answer.set_text(std::move(text));
    return answer;
  });
}

Unary* CoordinatorServiceImpl::ExplainWorker(Context* context,
                                             const v1::ExplainWorkerRequest* request,
                                             v1::ExplainWorkerResponse* response) {
  return Read(context, response, [this, request]() -> absl::StatusOr<v1::ExplainWorkerResponse> {
    const std::optional<std::string> text = parts_.loop.ExplainWorker(request->worker());
    if (!text) {
      const std::string name = request->worker().substr(0, kMaxQuoted);
      return Because(
          MakeError(absl::StatusCode::kNotFound, fmt::format("there is no worker {}", name)),
          Reason::kWorkerNotFound, {{"worker", name}});
    }
    v1::ExplainWorkerResponse answer;
    answer.set_text(*text);
    return answer;
  });
}

Unary* CoordinatorServiceImpl::ListSettings(Context* context,
                                            const v1::ListSettingsRequest* request,
                                            v1::ListSettingsResponse* response) {
  Unary* reactor = context->DefaultReactor();
  if (const absl::Status named = CheckStack(request->stack()); !named.ok()) {
    return FinishWith(reactor, named);
  }
  const sweep::Known known = KnownNow();
  const SettingsSchemaRef schema = sweep::SchemaOf(known, request->stack());
  if (schema == nullptr) {
    return FinishWith(reactor, NotOffered(request->stack(), known));
  }
  for (const SettingRule& rule : schema->rules()) *response->add_settings() = ToProto(rule);
  for (const std::string& stack : sweep::StacksWith(known, *schema)) response->add_stacks(stack);
  response->set_schema_sha256(schema->identity());
  return FinishWith(reactor, absl::OkStatus());
}

Unary* CoordinatorServiceImpl::GetVersion(Context* context, const v1::GetVersionRequest*,
                                          v1::GetVersionResponse* response) {
  response->set_version(parts_.version);
  response->set_home(parts_.home);
  response->set_unix_micros(absl::ToUnixMicros(parts_.clock.Now()));
  response->set_epoch(parts_.epoch);
  return FinishWith(context->DefaultReactor(), absl::OkStatus());
}

grpc::ServerWriteReactor<v1::WatchSweepResponse>* CoordinatorServiceImpl::WatchSweep(
    Context* context, const v1::WatchSweepRequest* request) {
  // gRPC's from here on.
  return new SweepWatch({.hub = parts_.watches,
                         .query = parts_.query,
                         .access = parts_.access,
                         .idle = parts_.idle,
                         .storage_problem = parts_.storage_problem},
                        *request, *context);
}

grpc::ServerWriteReactor<v1::WatchMemberResponse>* CoordinatorServiceImpl::WatchMember(
    Context* context, const v1::WatchMemberRequest* request) {
  return new MemberWatch({parts_.watches, parts_.query, parts_.access, parts_.idle}, *request,
                         *context);
}

grpc::ServerWriteReactor<v1::GetStudyResponse>* CoordinatorServiceImpl::GetStudy(
    Context* context, const v1::GetStudyRequest* request) {
  return new PieceStream<v1::GetStudyResponse>(
      studies_, *context, PostStudy(parts_.query),
      WhileAwaited(*context, WhileProved(parts_.access, TokenOf(*context),
                                         StudyPieces(parts_.query, *request))));
}

grpc::ServerWriteReactor<v1::GetArtifactResponse>* CoordinatorServiceImpl::GetArtifact(
    Context* context, const v1::GetArtifactRequest* request) {
  return new PieceStream<v1::GetArtifactResponse>(
      artifacts_, *context, PostRead(parts_.query),
      WhileAwaited(*context, WhileProved(parts_.access, TokenOf(*context),
                                         ArtifactPieces(parts_.query, *request))));
}

}  // namespace noisefloor
