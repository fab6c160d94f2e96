// The service for people and other tools. Every method checks, translates, posts and answers:
// changes go to the loop and are answered when they are on disk, reads go to query's threads.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "coordinator/loop/event_loop.h"
#include "coordinator/query/query.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/garbage.h"
#include "coordinator/rpc/stack_book.h"
#include "coordinator/rpc/stream_places.h"
#include "coordinator/rpc/unary.h"
#include "coordinator/rpc/watch_hub.h"
#include "coordinator/store/blob_pins.h"
#include "coordinator/store/blob_store.h"
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
    std::function<std::string()> storage_problem;  // Why nothing can be kept at present, or empty.
    Garbage& garbage;
    StackBook& stacks;
    const BlobStore& blobs;  // Where weights that people bring go.
    BlobPins& pins;          // Of those.
    const Clock& clock;
    std::string version;
    std::string home;    // Absolute.
    uint32_t epoch = 0;  // How often the data were restored.
    // Hardware classes of workers that come when members wait, and where their pools stand, a line
    // each. May be empty.
    std::function<std::vector<std::string>()> pool_classes = nullptr;
    std::function<std::string()> pools_stand = nullptr;
    // A stream of which a piece is not given or taken in that time ends.
    absl::Duration idle = absl::Minutes(1);
    size_t most_artifacts = 256;  // On their way at once.
  };
  explicit CoordinatorServiceImpl(Parts parts) : parts_(std::move(parts)) {}

  using grpc::Service::GetHandler;  // For its door.
  using Context = grpc::CallbackServerContext;

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
  Unary* ExtendSweep(Context*, const v1::ExtendSweepRequest*, v1::ExtendSweepResponse*) override;
  Unary* DeleteSweep(Context*, const v1::DeleteSweepRequest*, v1::DeleteSweepResponse*) override;
  Unary* ListShares(Context*, const v1::ListSharesRequest*, v1::ListSharesResponse*) override;
  Unary* UpdateShare(Context*, const v1::UpdateShareRequest*, v1::UpdateShareResponse*) override;
  Unary* UpdateWorker(Context*, const v1::UpdateWorkerRequest*, v1::UpdateWorkerResponse*) override;
  Unary* ExplainSweep(Context*, const v1::ExplainSweepRequest*, v1::ExplainSweepResponse*) override;
  Unary* ExplainWorker(Context*, const v1::ExplainWorkerRequest*,
                       v1::ExplainWorkerResponse*) override;
  Unary* ReplayMember(Context*, const v1::ReplayMemberRequest*, v1::ReplayMemberResponse*) override;
  Unary* InferMembers(Context*, const v1::InferMembersRequest*, v1::InferMembersResponse*) override;
  grpc::ServerReadReactor<v1::PutWeightsRequest>* PutWeights(Context*,
                                                             v1::PutWeightsResponse*) override;
  Unary* ListWorkers(Context*, const v1::ListWorkersRequest*, v1::ListWorkersResponse*) override;
  Unary* ListSettings(Context*, const v1::ListSettingsRequest*, v1::ListSettingsResponse*) override;
  Unary* GetStorage(Context*, const v1::GetStorageRequest*, v1::GetStorageResponse*) override;
  Unary* CollectGarbage(Context*, const v1::CollectGarbageRequest*,
                        v1::CollectGarbageResponse*) override;
  Unary* GetVersion(Context*, const v1::GetVersionRequest*, v1::GetVersionResponse*) override;
  grpc::ServerWriteReactor<v1::WatchSweepResponse>* WatchSweep(
      Context*, const v1::WatchSweepRequest*) override;
  grpc::ServerWriteReactor<v1::WatchMemberResponse>* WatchMember(
      Context*, const v1::WatchMemberRequest*) override;
  grpc::ServerWriteReactor<v1::GetStudyResponse>* GetStudy(Context*,
                                                           const v1::GetStudyRequest*) override;
  grpc::ServerWriteReactor<v1::GetArtifactResponse>* GetArtifact(
      Context*, const v1::GetArtifactRequest*) override;

 private:
  // Posts `read` to query and answers with what it returns.
  template <typename Response, typename Function>
  Unary* Read(Context* context, Response* response, Function read);

  // What sweeps are checked against now.
  sweep::Known KnownNow();

  // Of a request that is refused for what may have changed since it was first made: what it came to
  // then, or the refusal where there was none.
  void AnswerRepeat(const std::string& request_id, const absl::Status& refusal,
                    const CallDone& answer);

  // What the store and the loop know of all workers.
  absl::StatusOr<v1::ListWorkersResponse> WorkersNow();

  // Fills in how the sweep is now, and finishes; what was asked is done already.
  template <typename Response>
  void FinishWithSweep(Unary* reactor, Response* response, uint64_t sweep);
  // On a thread of query's. Again where somebody else was first, `tries` times in all.
  void Extend(Context* context, Unary* reactor, const v1::ExtendSweepRequest* request,
              v1::ExtendSweepResponse* response, int tries);

  Parts parts_;
  StreamPlaces weights_{.what = "files of weights", .most = 16, .idle = parts_.idle};
  StreamPlaces studies_{.what = "studies", .most = 64, .idle = parts_.idle};  // Each has its text.
  StreamPlaces artifacts_{
      .what = "files of members", .most = parts_.most_artifacts, .idle = parts_.idle};
};

}  // namespace noisefloor
