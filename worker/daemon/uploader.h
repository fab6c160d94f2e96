// Carries the files of finished attempts to the coordinator, again and again until it has them.
#pragma once

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
#include "common/rpc/backoff.h"
#include "common/trainer_protocol/json.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"
#include "worker/daemon/attempt_folder.h"

namespace noisefloor {

struct UploadJob {
  LeaseId lease;
  // shared: with the attempt, which may be forgotten before its upload notices. None: no files.
  std::shared_ptr<const AttemptFolder> folder;
  std::vector<ArtifactEvent> artifacts;  // As the trainer reported them; the log comes of itself.
};

struct UploadDone {
  LeaseId lease;
  // What the coordinator has, the log included; or InvalidArgument, why a file can never be
  // uploaded: it is not what the trainer said, or its bytes are not what the coordinator takes.
  absl::StatusOr<std::vector<ArtifactEvent>> artifacts;
};

// One thread, one upload at a time; whatever is not InvalidArgument is tried again, with back-off,
// until it works or is cancelled. Add, Cancel and Wake from any thread.
class Uploader {
 public:
  using Sink = std::function<void(UploadDone)>;  // Called on the uploader's thread; must not wait.
  using Check = std::function<decltype(CheckArtifact)>;

  Uploader(v1::WorkerService::StubInterface& stub, const Clock& clock, uint64_t seed, Sink sink,
           Check check = CheckArtifact);
  // Stops at once; what was not uploaded is uploaded by the next process.
  ~Uploader();

  void Add(UploadJob job);
  // The lease's files are not wanted any more; no UploadDone follows, or one is on its way.
  void Cancel(LeaseId lease);
  // The coordinator is there again: try now.
  void Wake();

 private:
  // A job with what has been done of it.
  struct Work {
    UploadJob job;
    std::vector<std::string> paths;  // In the folder, of all that is uploaded; after the check.
    bool checked = false;
    size_t uploaded = 0;
    std::string failure;  // The last one, for the log.
  };

  void Run();
  std::optional<Work> Next();
  // OK when nothing is left, InvalidArgument for good, any other error: try again later.
  absl::Status Advance(Work& work);
  absl::Status CheckFiles(Work& work) const;
  absl::Status UploadOne(const UploadJob& job, const std::string& path,
                         const ArtifactEvent& artifact);
  // The work goes to the end of the queue, so that it does not hold up others; then waits.
  void TryLater(Work work, const absl::Status& why);
  bool IsCancelled(LeaseId lease);

  v1::WorkerService::StubInterface& stub_;
  const Clock& clock_;
  const Sink sink_;
  const Check check_;
  Backoff backoff_;  // The thread's.
  Mutex mutex_;
  CondVar changed_;
  std::deque<Work> queue_ ABSL_GUARDED_BY(mutex_);
  LeaseId current_ ABSL_GUARDED_BY(mutex_);  // 0: none.
  bool current_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool wake_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace noisefloor
