// The calls by which people look after the data directory.
#include <utility>

#include "common/rpc/status.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/coordinator_service.h"

namespace noisefloor {

namespace {

// Answers on the thread that did it.
template <typename Response>
Garbage::Done<Response> AnswerWith(Unary* reactor, Response* response) {
  return [reactor, response](const absl::Status& status, const Response& found) {
    if (status.ok()) *response = found;
    reactor->Finish(ToGrpc(status));
  };
}

}  // namespace

Unary* CoordinatorServiceImpl::GetStorage(Context* context, const v1::GetStorageRequest*,
                                          v1::GetStorageResponse* response) {
  Unary* reactor = context->DefaultReactor();
  parts_.garbage.GetStorage(AnswerWith(reactor, response));
  return reactor;
}

// Whoever hangs up has it stop: the call lives until it is answered.
Unary* CoordinatorServiceImpl::CollectGarbage(Context* context,
                                              const v1::CollectGarbageRequest* request,
                                              v1::CollectGarbageResponse* response) {
  Unary* reactor = context->DefaultReactor();
  parts_.garbage.Collect(
      *request, CallerOf(*context), [context] { return context->IsCancelled(); },
      AnswerWith(reactor, response));
  return reactor;
}

}  // namespace noisefloor
