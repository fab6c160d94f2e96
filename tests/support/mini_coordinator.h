// The coordinator's side of the worker conversation, for tests of the worker: a real gRPC server on
// a free loopback port that says what the test tells it to.
//
// Any thread. Waiting functions give up after a minute without any message, with an empty answer.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/cache/tree.h"
#include "common/rpc/server.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"

namespace noisefloor {

struct MiniCoordinatorOptions {
  uint32_t heartbeat_interval_ms = 100;
  uint32_t lease_ttl_ms = 60000;
  bool keeps_records = true;   // Answers records with RecordsKept.
  bool settles = true;         // Answers finished with Settled.
  bool takes_uploads = true;   // Otherwise refuses them with the code below.
  bool takes_sessions = true;  // The same.
  grpc::StatusCode refusal = grpc::StatusCode::UNAVAILABLE;
};

class MiniCoordinator final : private v1::WorkerService::Service {
 public:
  explicit MiniCoordinator(MiniCoordinatorOptions options = {});
  ~MiniCoordinator() override;

  std::string address() const { return ToText(place()); }
  const Address& place() const { return server_->address(); }
  void Set(const MiniCoordinatorOptions& options);

  // Waits for the next message of that kind, in order of arrival; heartbeats that are not asked
  // for are thrown away, other messages stay for later calls.
  std::optional<v1::SessionRequest> Wait(v1::SessionRequest::MessageCase kind);
  // The next heartbeat that arrives from now on.
  std::optional<v1::Heartbeat> NextHeartbeat();
  // Messages of that kind that have come and were not waited for.
  int Waiting(v1::SessionRequest::MessageCase kind);

  // To the open session; false when there is none.
  bool Send(const v1::SessionResponse& message);
  void DropSession();
  // Waits until that many uploads, or sessions, have been tried in all.
  bool WaitForUploadTries(int count) { return WaitForTries(upload_tries_, count); }
  bool WaitForSessionTries(int count) { return WaitForTries(session_tries_, count); }
  int session_tries();
  // Offers a data set, or what it is from now on: files by path below the folder of all sets.
  void OfferData(const std::string& data_set, std::map<std::string, std::string> files);
  // The same for a stack, whose paths are below its own folder; all its files can be run.
  void OfferStack(const std::string& stack, std::map<std::string, std::string> files);
  // The same for weights, known by their content.
  void OfferWeights(std::string content);
  // From now on something else of the same length is sent in the place of this file of a data set.
  void Spoil(const std::string& content);
  // From now on so many bytes more of data sets and stacks are sent; then their calls stand until
  // more may.
  void LetThrough(uint64_t bytes);
  // Ends the calls that stand, as a coordinator does that goes.
  void DropReads();
  // Waits until that many bytes of data sets were sent in all.
  bool WaitForBytesSent(uint64_t bytes);
  uint64_t bytes_sent();
  // Path and offset of each call.
  std::vector<std::pair<std::string, uint64_t>> reads();
  // Content by kind, of the last upload.
  std::map<std::string, std::string> uploads();

 private:
  using Stream = grpc::ServerReaderWriter<v1::SessionResponse, v1::SessionRequest>;
  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override;
  grpc::Status Upload(grpc::ServerContext* context, grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse* response) override;
  grpc::Status DescribeTree(grpc::ServerContext* context, const v1::DescribeTreeRequest* request,
                            v1::DescribeTreeResponse* response) override;
  grpc::Status ReadTree(grpc::ServerContext* context, const v1::ReadTreeRequest* request,
                        grpc::ServerWriter<v1::ReadTreeResponse>* writer) override;
  // At most `wanted`, 1 or more; 0: the call is to end. `drops`: drops_ when it began.
  uint64_t WaitForLeave(const grpc::ServerContext& context, uint64_t drops, uint64_t wanted);
  bool WaitForTries(const int& tries, int count);
  Tree Take(std::map<std::string, std::string> files, bool executable)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(const v1::SessionRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  MiniCoordinatorOptions options_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::SessionRequest> received_ ABSL_GUARDED_BY(mutex_);
  uint64_t heartbeats_ ABSL_GUARDED_BY(mutex_) = 0;
  v1::Heartbeat heartbeat_ ABSL_GUARDED_BY(mutex_);
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int upload_tries_ = 0;  // Both guarded by mutex_.
  int session_tries_ = 0;
  std::map<std::string, std::string> uploads_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Tree> offered_ ABSL_GUARDED_BY(mutex_);       // By kind and name.
  std::map<std::string, std::string> files_ ABSL_GUARDED_BY(mutex_);  // By hash.
  std::vector<std::pair<std::string, uint64_t>> reads_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_sent_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_left_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<uint64_t>::max();
  uint64_t drops_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace noisefloor
