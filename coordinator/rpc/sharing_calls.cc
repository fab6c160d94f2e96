// The calls by which people share the fleet: selections of members, updates of sweeps and workers.
#include <utility>

#include "common/base/reason.h"
#include "common/rpc/status.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/convert_answers.h"
#include "coordinator/rpc/coordinator_service.h"
#include "coordinator/rpc/unary.h"

namespace noisefloor {

namespace {

// What the request is about, and which of its members.
template <typename Change, typename Request>
absl::StatusOr<Change> ChangeFrom(const Request& request, std::string caller) {
  NF_ASSIGN_OR_RETURN(const SweepId sweep, SweepFrom(request.sweep_id()));
  Change change;
  change.sweep = sweep;
  change.caller = std::move(caller);
  NF_ASSIGN_OR_RETURN(change.selection, SelectionFrom(sweep, request.selection()));
  return change;
}

absl::Status OfSweep(uint64_t sweep, const absl::Status& status) {
  return BecauseIf(absl::StatusCode::kNotFound, status, Reason::kSweepNotFound,
                   {{"sweep", ToText(SweepId{sweep})}});
}

template <typename Response>
CallDone AnswerMembers(Unary* reactor, uint64_t sweep, Response* response) {
  return [reactor, sweep, response](const CallResult& result) {
    response->set_members(result.members);
    reactor->Finish(ToGrpc(OfSweep(sweep, result.status)));
  };
}

}  // namespace

Unary* CoordinatorServiceImpl::CancelSweep(Context* context, const v1::CancelSweepRequest* request,
                                           v1::CancelSweepResponse* response) {
  Unary* reactor = context->DefaultReactor();
  auto change = ChangeFrom<scheduler::SweepCancelled>(*request, CallerOf(*context));
  if (!change.ok()) return FinishWith(reactor, change.status());
  parts_.loop.Call(*std::move(change), AnswerMembers(reactor, request->sweep_id(), response),
                   WhileAwaited(*context));
  return reactor;
}

Unary* CoordinatorServiceImpl::RetrySweep(Context* context, const v1::RetrySweepRequest* request,
                                          v1::RetrySweepResponse* response) {
  Unary* reactor = context->DefaultReactor();
  auto change = ChangeFrom<scheduler::SweepRetried>(*request, CallerOf(*context));
  if (!change.ok()) return FinishWith(reactor, change.status());
  parts_.loop.Call(*std::move(change), AnswerMembers(reactor, request->sweep_id(), response),
                   WhileAwaited(*context));
  return reactor;
}

// Answered with what is on disk then.
Unary* CoordinatorServiceImpl::UpdateSweep(Context* context, const v1::UpdateSweepRequest* request,
                                           v1::UpdateSweepResponse* response) {
  Unary* reactor = context->DefaultReactor();
  const absl::StatusOr<SweepId> sweep = SweepFrom(request->sweep_id());
  if (!sweep.ok()) return FinishWith(reactor, sweep.status());
  absl::StatusOr<scheduler::SweepUpdated> event = UpdateFrom(*request);
  if (!event.ok()) return FinishWith(reactor, event.status());
  event->caller = CallerOf(*context);
  parts_.loop.Call(
      *std::move(event),
      [this, reactor, response, id = sweep->value](const CallResult& result) {
        if (!result.status.ok()) return reactor->Finish(ToGrpc(OfSweep(id, result.status)));
        const bool posted = parts_.query.Post(query::Work::kRead, [this, reactor, response, id] {
          absl::StatusOr<v1::SweepSummary> found =
              Told(parts_.query, parts_.query.SummariseSweep(SweepId{id}, query::SweepView::kFull));
          if (found.ok()) *response->mutable_sweep() = *std::move(found);
          reactor->Finish(ToGrpc(found.status()));
        });
        if (!posted) reactor->Finish(grpc::Status::OK);  // It is done, though nobody can look.
      },
      WhileAwaited(*context));
  return reactor;
}

Unary* CoordinatorServiceImpl::UpdateWorker(Context* context,
                                            const v1::UpdateWorkerRequest* request,
                                            v1::UpdateWorkerResponse* response) {
  Unary* reactor = context->DefaultReactor();
  absl::StatusOr<scheduler::WorkerUpdated> event = UseFrom(*request);
  if (!event.ok()) return FinishWith(reactor, event.status());
  event->caller = CallerOf(*context);
  parts_.loop.Call(
      *std::move(event),
      [this, reactor, request, response](const CallResult& result) {
        if (!result.status.ok()) {
          return reactor->Finish(
              ToGrpc(BecauseIf(absl::StatusCode::kNotFound, result.status, Reason::kWorkerNotFound,
                               {{"worker", request->worker().substr(0, 100)}})));
        }
        const bool posted =
            parts_.query.Post(query::Work::kRead, [this, reactor, request, response] {
              absl::StatusOr<v1::ListWorkersResponse> found = WorkersNow();
              if (found.ok()) {
                // As the change was: of several of one name the connected one, or the newest.
                for (v1::WorkerSummary& worker : *found->mutable_workers()) {
                  if (worker.name() != request->worker()) continue;
                  if (!response->worker().connected()) *response->mutable_worker() = worker;
                }
              }
              reactor->Finish(ToGrpc(found.status()));
            });
        if (!posted) reactor->Finish(grpc::Status::OK);
      },
      WhileAwaited(*context));
  return reactor;
}

}  // namespace noisefloor
