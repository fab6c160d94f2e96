// What the coordinator must not forget: sweeps, members, leases, records, results, events.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/status.h"
#include "common/files/file_system.h"
#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/recovered.h"

namespace noisefloor {

// Of what is kept in one transaction: from 1, each one more than the last.
using StepNumber = uint64_t;

// One thread at a time.
class Store {
 public:
  virtual ~Store() = default;

  // All of `writes` in one transaction, in order, as step number `step`; on disk and synced when
  // OK. Otherwise none of them is kept, or, after an I/O error, that is open: who tries again does
  // so with the same number and the same writes, and what is kept already is not written twice.
  // ResourceExhausted: the disk is full, an I/O error, locked by another program: try again.
  // Internal: a bug, a number that does not follow, or a damaged file; the process should end and
  // start again from the store.
  virtual absl::Status Apply(StepNumber step, std::span<const scheduler::Write> writes) = 0;

  // The number of the last step that is kept; 0 before the first. Errors as of Apply.
  virtual absl::StatusOr<StepNumber> LastStep() = 0;

  // As the next step; for who does not try again. Nothing to write is no step.
  absl::Status Apply(std::span<const scheduler::Write> writes);

  // Everything that Scheduler::Restore needs. Times are kept as whole microseconds. DataLoss: a
  // row contradicts the others; the message names it.
  virtual absl::StatusOr<scheduler::RecoveredState> Recover() = 0;

  // Takes away some rows of sweeps that were deleted, about `most`, in one transaction. False: none
  // is left. Errors as of Apply.
  virtual absl::StatusOr<bool> RemoveDeleted(uint32_t /*most*/) { return false; }
};

// HOME/noisefloor.db through the one connection that writes and checkpoints. The caller holds the
// lock on the directory (home_lock.h).
class SqliteStore final : public Store {
 public:
  // Makes or migrates the file. FailedPrecondition: it is of a newer program, or not ours.
  // DataLoss: it is damaged, or behind the mark of its last step (step_mark.h); then nothing is
  // changed. ResourceExhausted: the disk is full. `files`: the disk that SQLite writes to, for what
  // SQLite leaves to chance, and for the mark.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& home,
                                                           FileSystem& files = LocalFileSystem());
  ~SqliteStore() override;

  using Store::Apply;
  absl::Status Apply(StepNumber step, std::span<const scheduler::Write> writes) override;
  absl::StatusOr<StepNumber> LastStep() override;
  absl::StatusOr<scheduler::RecoveredState> Recover() override;
  absl::StatusOr<bool> RemoveDeleted(uint32_t most) override;

  // The database grows no larger than this many pages; for tests of a full disk. 0: no limit.
  absl::Status LimitPages(int64_t pages);

 private:
  struct Connection;
  explicit SqliteStore(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace noisefloor
