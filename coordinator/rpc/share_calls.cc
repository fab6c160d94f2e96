// What each owner of sweeps gets of the fleet. Answered from what the loop keeps up to date.
#include <string>

#include "common/rpc/status.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/coordinator_service.h"

namespace noisefloor {

namespace {

v1::Share ToProto(const std::string& owner, const OwnerShare& share) {
  v1::Share message;
  message.set_owner(owner);
  message.set_weight(share.weight);
  message.set_waiting(static_cast<uint32_t>(share.waiting));
  message.set_running(static_cast<uint32_t>(share.running));
  return message;
}

}  // namespace

grpc::ServerUnaryReactor* CoordinatorServiceImpl::ListShares(Context* context,
                                                             const v1::ListSharesRequest*,
                                                             v1::ListSharesResponse* response) {
  for (const auto& [owner, share] : parts_.loop.live().Shares()) {
    *response->add_shares() = ToProto(owner, share);
  }
  response->set_storage_problem(parts_.storage_problem());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorServiceImpl::UpdateShare(Context* context,
                                                              const v1::UpdateShareRequest* request,
                                                              v1::UpdateShareResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  absl::StatusOr<scheduler::ShareUpdated> event = ShareFrom(*request);
  if (!event.ok()) {
    reactor->Finish(ToGrpc(event.status()));
    return reactor;
  }
  event->caller = CallerOf(*context);
  parts_.loop.Call(
      *std::move(event),
      [this, reactor, request, response](const CallResult& result) {
        if (result.status.ok()) {
          *response->mutable_share() =
              ToProto(request->owner(), parts_.loop.live().ShareOf(request->owner()));
        }
        reactor->Finish(ToGrpc(result.status));
      },
      WhileAwaited(*context));
  return reactor;
}

}  // namespace noisefloor
