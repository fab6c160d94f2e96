// Brings data sets, stacks and weights that this machine lacks from the coordinator into its cache
// (common/cache).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "grpcpp/client_context.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/cache/tree_cache.h"
#include "common/rpc/backoff.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"
#include "worker/daemon/worker_stub.h"

namespace noisefloor {

// A tree that stays in the cache while this lives.
using SharedTree = std::shared_ptr<const TreeUse>;  // shared: with every attempt that trains on it.

// What a coordinator may offer as a tree.
struct TreeName {
  enum class Kind { kDataSet, kStack, kWeights };
  Kind kind = Kind::kDataSet;
  std::string name;  // Of weights the hexadecimal SHA-256.
  friend bool operator==(const TreeName&, const TreeName&) = default;
};
std::string_view KindOf(const TreeName& wanted);  // "data_set"

// Of a tree that was wanted.
struct FetchNews {
  TreeName wanted;
  bool ended = false;           // Nothing more is told of it.
  uint64_t bytes_here = 0;      // On disk, also where another process of this machine brings it.
  uint64_t bytes = 0;           // Of all its files.
  uint64_t bytes_taken = 0;     // By us from the coordinator.
  bool machine_failed = false;  // It failed by this machine: its disk, or the rights there.
  absl::StatusOr<SharedTree> tree = nullptr;  // How it ended.
};

// "61 of 184 MB", for the log; and how often it is told there.
std::string HowFar(const FetchNews& news);
inline constexpr absl::Duration kBetweenFetchLines = absl::Seconds(10);

// One tree at a time, in the order in which they were wanted. What fails for the moment (no
// coordinator, one that was restarted, files that changed in the middle) is tried again with
// back-off and goes on where it was, as long as bytes come; after kPatience without one it is given
// up, and so is what came thrice with a wrong content. A coordinator that is busy serves others,
// and each of them ends: that one is waited for. Any thread.
class TreeFetcher {
 public:
  static constexpr absl::Duration kPatience = absl::Minutes(2);

  // Called on its thread; must not wait. Progress comes about once a second at most.
  using Sink = std::function<void(FetchNews)>;

  // `stub` outlives it.
  TreeFetcher(const WorkerStub& stub, TreeCache cache, const Clock& clock, uint64_t seed, Sink sink,
              absl::Duration patience = kPatience);
  // Stops at once; what has come stays.
  ~TreeFetcher();
  TreeFetcher(const TreeFetcher&) = delete;
  TreeFetcher& operator=(const TreeFetcher&) = delete;

  const std::string& folder() const { return cache_.folder(); }

  // Fine when it is wanted already: the news are for all.
  void Want(const TreeName& wanted) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody wants it any more. No news follow, or some are on their way.
  void Forget(const TreeName& wanted) ABSL_LOCKS_EXCLUDED(mutex_);
  // The coordinator is there again: try now.
  void Wake() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Source;
  // A tree that is being brought, by the thread of this.
  struct Job {
    TreeName wanted;
    std::optional<Tree> tree;  // As described last; nothing: to be described anew.
    std::string identity;      // Of it.
    int slow_answers = 0;
    uint64_t bytes = 0;
    uint64_t bytes_here = 0;
    uint64_t bytes_taken = 0;
    absl::Duration moved_at;          // When a byte came, or the coordinator was busy.
    bool coordinator_failed = false;  // The last try, and not this machine.
    absl::Duration told_at = -absl::InfiniteDuration();
    int wrong_contents = 0;
    std::string failure;  // The last one, for the log.
  };

  void Run();
  absl::StatusOr<SharedTree> Fetch(Job& job);
  absl::StatusOr<SharedTree> TryOnce(Job& job);
  absl::StatusOr<Tree> Describe(Job& job);
  bool MayTryAgain(Job& job, const absl::Status& failed);
  void Tell(Job& job);
  // False when it is not wanted any more.
  bool WaitForNextTry(const absl::Status& failed);
  // The call that is under way, so that Forget can end it; Cancelled when it was.
  absl::Status Enter(grpc::ClientContext& context);
  void LeaveCall();
  bool Wanted();
  // The same, once it has ended.
  bool Release();

  const WorkerStub& stub_;
  const TreeCache cache_;
  const Clock& clock_;
  const Sink sink_;
  const absl::Duration patience_;
  Mutex mutex_;
  CondVar changed_;
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::deque<TreeName> queue_ ABSL_GUARDED_BY(mutex_);
  // Nothing: there is none, or nobody wants it any more.
  std::optional<TreeName> current_ ABSL_GUARDED_BY(mutex_);
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t wakes_ ABSL_GUARDED_BY(mutex_) = 0;  // Calls of Wake.
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace noisefloor
