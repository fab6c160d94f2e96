// Checkpoints of a training under way: when one is due, copying what moves, writing it beside the
// training, and going on from the last one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/files/safetensors.h"
#include "worker/trainer/checkpoint/checkpoint_folder.h"
#include "worker/trainer/torch/step/moving.h"

namespace noisefloor::trainer {

// The loop's thread calls; one thread of its own writes, one checkpoint at a time. The loop waits
// for no disk but at the end: while one is being written the next is due, but not yet taken.
//
// What goes wrong with a disk costs a checkpoint and never the member: it is noted, and tried again
// after the next interval. The bits of a training do not depend on its checkpoints, and a disk
// that takes no results ends the member by itself.
class Checkpointer {
 public:
  // `every`: from one to the next; infinite: only when asked to stop. Borrows the clock.
  Checkpointer(CheckpointFolder folder, absl::Duration every, std::string work_directory,
               const Clock& clock);
  ~Checkpointer();

  // Goes on from the newest checkpoint that is whole and of this training: everything in `moving`
  // is then as it was. Where there is none `moving` is left as it is. Notes go to standard error.
  // Before the first step.
  void Resume(Moving& moving);

  // Between two steps, after this many: whether it is time to, and the last one is written.
  bool Due(int64_t steps) const;
  // Copies what moves, and leaves it to the thread.
  void Take(const Moving& moving);
  // The same, and waits until it is on disk; nothing when these steps are. Whether they are.
  bool TakeLast(const Moving& moving);

  // The member has ended and needs none any more. After its outcome was told: should it be killed
  // in between, another attempt still has them.
  void Forget();

  // What they have cost, in all attempts: {"written", "failed", "bytes", "held_up_seconds",
  // "write_seconds", "error"}. `bytes`: of one; `error`: the last of this attempt. A checkpoint
  // cannot hold how long it took to write: of those that attempts went on from that is missing.
  // Null when nothing was tried. Waits for the thread.
  Json Measured();

 private:
  void Fill(const Moving& moving);
  void NoteHeldUp(absl::Duration time) ABSL_LOCKS_EXCLUDED(mutex_);
  void Start(Checkpoint checkpoint) ABSL_LOCKS_EXCLUDED(mutex_);
  void Done(const Checkpoint& checkpoint, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void Write(const Checkpoint& checkpoint) ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitForWriter();

  CheckpointFolder folder_;  // The thread's, while it writes.
  const absl::Duration every_;
  const std::string work_directory_;
  const Clock& clock_;
  absl::Duration last_;                        // When one was taken.
  int64_t taken_at_ = 0;                       // Steps of the last one, or where this went on.
  size_t size_bytes_ = 0;                      // Of one.
  std::optional<SafetensorsContent> content_;  // The thread's, while it writes.
  bool looked_for_stale_ = false;              // Likewise.
  std::thread writer_;
  mutable Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  CheckpointCost cost_ ABSL_GUARDED_BY(mutex_);
  std::string error_ ABSL_GUARDED_BY(mutex_);
  int64_t kept_at_ ABSL_GUARDED_BY(mutex_) = 0;  // Steps of the last one that is on disk.
};

}  // namespace noisefloor::trainer
