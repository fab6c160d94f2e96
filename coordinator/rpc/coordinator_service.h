// The service for people and other tools. Every method checks, translates, posts and answers:
// changes go to the loop and are answered when they are on disk, reads go to query's threads.
#pragma once

#include <string>

#include "coordinator/loop/event_loop.h"
#include "coordinator/query/query.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/garbage.h"
#include "coordinator/rpc/watch_hub.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor {

// Thread-safe. Borrows what it is given; all of it outlives the server.
class CoordinatorServiceImpl final : public v1::CoordinatorService::CallbackService {
 public:
  struct Parts {
    EventLoop& loop;
    query::Query& query;
    WatchHub& watches;
    AccessBook& access;
    Garbage& garbage;
    const Clock& clock;
    std::string version;
    std::string home;    // Absolute.
    uint32_t epoch = 0;  // How often the data were restored.
  };
  explicit CoordinatorServiceImpl(Parts parts) : parts_(std::move(parts)) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* SubmitSweep(Context*, const v1::SubmitSweepRequest*, v1::SubmitSweepResponse*) override;
  Unary* PlanSweep(Context*, const v1::PlanSweepRequest*, v1::PlanSweepResponse*) override;
  Unary* GetSweep(Context*, const v1::GetSweepRequest*, v1::GetSweepResponse*) override;
  Unary* ListSweeps(Context*, const v1::ListSweepsRequest*, v1::ListSweepsResponse*) override;
  Unary* ListMembers(Context*, const v1::ListMembersRequest*, v1::ListMembersResponse*) override;
  Unary* GetMember(Context*, const v1::GetMemberRequest*, v1::GetMemberResponse*) override;
  Unary* ExplainMember(Context*, const v1::ExplainMemberRequest*,
                       v1::ExplainMemberResponse*) override;
  Unary* CancelSweep(Context*, const v1::CancelSweepRequest*, v1::CancelSweepResponse*) override;
  Unary* RetrySweep(Context*, const v1::RetrySweepRequest*, v1::RetrySweepResponse*) override;
  Unary* UpdateSweep(Context*, const v1::UpdateSweepRequest*, v1::UpdateSweepResponse*) override;
  Unary* UpdateWorker(Context*, const v1::UpdateWorkerRequest*, v1::UpdateWorkerResponse*) override;
  Unary* ExplainSweep(Context*, const v1::ExplainSweepRequest*, v1::ExplainSweepResponse*) override;
  Unary* ExplainWorker(Context*, const v1::ExplainWorkerRequest*,
                       v1::ExplainWorkerResponse*) override;
  Unary* ReplayMember(Context*, const v1::ReplayMemberRequest*, v1::ReplayMemberResponse*) override;
  Unary* ListWorkers(Context*, const v1::ListWorkersRequest*, v1::ListWorkersResponse*) override;
  Unary* ListSettings(Context*, const v1::ListSettingsRequest*, v1::ListSettingsResponse*) override;
  Unary* GetStorage(Context*, const v1::GetStorageRequest*, v1::GetStorageResponse*) override;
  Unary* CollectGarbage(Context*, const v1::CollectGarbageRequest*,
                        v1::CollectGarbageResponse*) override;
  Unary* GetVersion(Context*, const v1::GetVersionRequest*, v1::GetVersionResponse*) override;
  grpc::ServerWriteReactor<v1::WatchSweepResponse>* WatchSweep(
      Context*, const v1::WatchSweepRequest*) override;
  grpc::ServerWriteReactor<v1::GetStudyResponse>* GetStudy(Context*,
                                                           const v1::GetStudyRequest*) override;
  grpc::ServerWriteReactor<v1::GetArtifactResponse>* GetArtifact(
      Context*, const v1::GetArtifactRequest*) override;

 private:
  // Posts `read` to query and answers with what it returns.
  template <typename Response, typename Function>
  Unary* Read(Context* context, Response* response, Function read);

  // What the store and the loop know of all workers.
  absl::StatusOr<v1::ListWorkersResponse> WorkersNow();

  Parts parts_;
};

}  // namespace noisefloor
