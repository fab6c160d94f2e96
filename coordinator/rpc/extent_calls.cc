// The calls that make a sweep larger, and that remove it.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fmt/format.h"

#include "common/files/sha256.h"
#include "common/rpc/status.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/convert_answers.h"
#include "coordinator/rpc/coordinator_service.h"

namespace noisefloor {

namespace {

constexpr int kTries = 5;  // While others extend the same sweep.

// `all`, alone, as a sweep file says it.
absl::Status ResolveClasses(const sweep::Sweep& sweep, const sweep::Known& known,
                            std::vector<std::string>& hardware) {
  if (hardware == std::vector<std::string>{"all"}) {
    auto classes = sweep::ClassesOfAll(sweep, known);
    if (const auto* problem = std::get_if<sweep::Problem>(&classes)) {
      return MakeError(absl::StatusCode::kFailedPrecondition,
                       fmt::format("{}: {}", problem->field, problem->message));
    }
    hardware = std::get<std::vector<std::string>>(std::move(classes));
    return absl::OkStatus();
  }
  for (const std::string& name : hardware) {
    if (ParseHardwareClass(name, /*kernels_fixed=*/true).ok()) continue;
    return InvalidInput(
        fmt::format("hardware: expected all by itself, or {}, got {}", kHardwareClassNames, name));
  }
  return absl::OkStatus();
}

// The larger sweep, for the loop.
absl::StatusOr<scheduler::SweepExtended> ExtensionOf(const v1::ExtendSweepRequest& request,
                                                     const query::Definition& kept,
                                                     const sweep::Known& known) {
  NF_ASSIGN_OR_RETURN(sweep::Extension wish, ExtensionFrom(request));
  NF_RETURN_IF_ERROR(ResolveClasses(kept.sweep, known, wish.hardware));
  auto extended = sweep::Extend(kept.sweep, wish);
  if (const auto* problem = std::get_if<sweep::Problem>(&extended)) {
    if (problem->field == "sweep_id") {
      return MakeError(absl::StatusCode::kFailedPrecondition, problem->message);
    }
    return InvalidInput(fmt::format("{}: {}", problem->field, problem->message));
  }
  scheduler::SweepExtended event;
  event.sweep = SweepId{request.sweep_id()};
  event.from_sha256 = kept.specification_sha256;
  event.content = std::get<sweep::Sweep>(std::move(extended));
  event.specification_sha256 = Sha256Hex(sweep::CanonicalText(event.content));
  return event;
}

}  // namespace

template <typename Response>
void CoordinatorServiceImpl::FinishWithSweep(Unary* reactor, Response* response, uint64_t sweep) {
  absl::StatusOr<v1::SweepSummary> found =
      Told(parts_.query, parts_.query.SummariseSweep(SweepId{sweep}, query::SweepView::kFull));
  if (found.ok()) *response->mutable_sweep() = *std::move(found);
  reactor->Finish(ToGrpc(found.status()));
}

void CoordinatorServiceImpl::Extend(Context* context, Unary* reactor,
                                    const v1::ExtendSweepRequest* request,
                                    v1::ExtendSweepResponse* response, int tries) {
  const uint64_t sweep = request->sweep_id();
  const absl::StatusOr<query::Definition> kept = parts_.query.FindDefinition(SweepId{sweep});
  if (!kept.ok()) return reactor->Finish(ToGrpc(kept.status()));
  absl::StatusOr<scheduler::SweepExtended> event = ExtensionOf(*request, *kept, KnownNow());
  if (!event.ok()) return reactor->Finish(ToGrpc(event.status()));
  const uint64_t members = sweep::MemberCount(event->content) - sweep::MemberCount(kept->sweep);
  response->set_members(static_cast<uint32_t>(members));
  response->set_cells(
      static_cast<uint32_t>(sweep::CellCount(event->content) - sweep::CellCount(kept->sweep)));
  if (request->dry_run() || members == 0) return FinishWithSweep(reactor, response, sweep);
  event->caller = CallerOf(*context);
  const auto read = [this, reactor](std::function<void()> work) {
    if (!parts_.query.Post(query::Work::kRead, std::move(work))) {
      reactor->Finish(ToGrpc(TooManyWait("reads")));
    }
  };
  parts_.loop.Call(
      *std::move(event),
      [=, this](const CallResult& result) {
        if (absl::IsAborted(result.status) && tries > 1) {
          return read([=, this] { Extend(context, reactor, request, response, tries - 1); });
        }
        if (!result.status.ok()) return reactor->Finish(ToGrpc(result.status));
        const bool posted = parts_.query.Post(
            query::Work::kRead, [=, this] { FinishWithSweep(reactor, response, sweep); });
        if (posted) return;
        response->mutable_sweep()->set_id(sweep);  // It is done, though nobody can look.
        reactor->Finish(grpc::Status::OK);
      },
      WhileAwaited(*context));
}

Unary* CoordinatorServiceImpl::ExtendSweep(Context* context, const v1::ExtendSweepRequest* request,
                                           v1::ExtendSweepResponse* response) {
  Unary* reactor = context->DefaultReactor();
  absl::Status status = SweepFrom(request->sweep_id()).status();
  if (status.ok()) {
    const auto work = [=, this] { Extend(context, reactor, request, response, kTries); };
    if (parts_.query.Post(query::Work::kRead, work)) return reactor;
    status = TooManyWait("reads");
  }
  reactor->Finish(ToGrpc(status));
  return reactor;
}

Unary* CoordinatorServiceImpl::DeleteSweep(Context* context, const v1::DeleteSweepRequest* request,
                                           v1::DeleteSweepResponse* response) {
  Unary* reactor = context->DefaultReactor();
  const absl::StatusOr<SweepId> sweep = SweepFrom(request->sweep_id());
  if (!sweep.ok()) {
    reactor->Finish(ToGrpc(sweep.status()));
    return reactor;
  }
  parts_.loop.Call(
      scheduler::SweepDeleted{0, *sweep, CallerOf(*context)},
      [reactor, response](const CallResult& result) {
        response->set_members(result.members);
        reactor->Finish(ToGrpc(result.status));
      },
      WhileAwaited(*context));
  return reactor;
}

}  // namespace noisefloor
