// Carries the files of finished attempts to the coordinator, again and again until it has them.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/client_context.h"

#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/log/log.h"
#include "common/rpc/backoff.h"
#include "common/trainer_protocol/json.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"
#include "worker/daemon/attempt_folder.h"
#include "worker/daemon/worker_stub.h"

namespace noisefloor {

struct UploadJob {
  LeaseId lease;
  // shared: with the attempt, which may be forgotten before its upload notices. None: no files.
  std::shared_ptr<const AttemptFolder> folder;
  std::vector<Artifact> artifacts;  // As the trainer reported them; the log comes of itself.
  std::string member = "";          // With `attempt`: for the log.
  uint32_t attempt = 0;
};

struct UploadDone {
  LeaseId lease;
  // What the coordinator has, the log included; or InvalidArgument, why a file can never be
  // uploaded: it is not what the trainer said, or its bytes are not what the coordinator takes.
  absl::StatusOr<std::vector<Artifact>> artifacts;
};

// The sweep, member and attempt of a line of the log. `fields` keep no pointer to `member`.
void AddMember(const std::string& member, uint32_t attempt, std::vector<LogField>& fields);

// kUploadThreads attempts at one time, one file of each; whatever is not InvalidArgument is tried
// again, with back-off, until it works or is cancelled. A file whose upload broke off is sent again
// from its first byte: the protocol has no word for where to go on; what the coordinator has whole
// is not sent again. Add, Cancel and Wake from any thread.
class Uploader {
 public:
  static constexpr int kUploadThreads = 4;

  using Sink = std::function<void(UploadDone)>;  // Called on its threads; must not wait.
  using Check = std::function<decltype(CheckArtifact)>;

  // `stub` outlives it.
  Uploader(const WorkerStub& stub, const Clock& clock, uint64_t seed, Sink sink,
           Check check = CheckArtifact);
  // Stops at once; what was not uploaded is uploaded by the next process.
  ~Uploader();

  void Add(UploadJob job);
  // The lease's files are not wanted any more; no UploadDone follows, or one is on its way.
  void Cancel(LeaseId lease);
  // The coordinator is there again: try now. It may be one that was moved without the files that
  // the one before had: all of an attempt that is not done goes there from its first file.
  void Wake();

 private:
  // A job with what has been done of it.
  struct Work {
    UploadJob job;
    std::vector<std::string> paths;  // In the folder, of all that is uploaded; after the check.
    bool checked = false;
    size_t uploaded = 0;                                    // Since the last Wake.
    std::string failure;                                    // The last one, for the log.
    absl::Duration not_before = -absl::InfiniteDuration();  // After a failure.
  };
  // What one of the threads does at this moment.
  struct Hand {
    LeaseId lease;  // 0: nothing.
    bool cancelled = false;
    grpc::ClientContext* call = nullptr;
    uint64_t wakes = 0;  // When it took its work, or began it anew.
  };

  void Run(Hand& hand);
  // Waits for work that is due; nothing when it stops.
  std::optional<Work> Next(Hand& hand);
  std::optional<Work> TakeDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK when nothing is left, InvalidArgument for good, any other error: try again later.
  absl::Status Advance(Hand& hand, Work& work);
  absl::Status CheckFiles(Work& work) const;
  absl::Status UploadOne(Hand& hand, const UploadJob& job, const std::string& path,
                         const Artifact& artifact);
  // The work goes to the end of the queue, so that it does not hold up others.
  void TryLater(Hand& hand, Work work, const absl::Status& why);
  bool IsCancelled(const Hand& hand);

  const WorkerStub& stub_;
  const Clock& clock_;
  const Sink sink_;
  const Check check_;
  Mutex mutex_;
  CondVar changed_;
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::deque<Work> queue_ ABSL_GUARDED_BY(mutex_);
  std::array<Hand, kUploadThreads> hands_ ABSL_GUARDED_BY(mutex_);
  uint64_t wakes_ ABSL_GUARDED_BY(mutex_) = 0;  // Calls of Wake.
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace noisefloor
