// What sweeps are checked against: the hardware classes that are there, and the settings of every
// stack that a worker has or will bring back.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "common/base/inventory.h"
#include "common/base/mutex.h"
#include "coordinator/loop/live_board.h"
#include "coordinator/store/stack_rows.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor {

// The settings of each stack that this worker offers, into `known`. Those of a connected one stand
// before those of others.
void AddStacks(const Inventory& inventory, const std::vector<SettingsSchemaRef>& schemas,
               bool connected, sweep::Known& known);

// Remembers who had a stack last. Our own stacks are not remembered: their settings are those that
// this program ships, as long as no worker says otherwise. Thread-safe.
class StackBook {
 public:
  // As the store had them at the start.
  explicit StackBook(std::vector<OfferedStack> offered);

  // A stack counts as known while a worker on the board has it, or had it before this coordinator
  // started and has not been back. Of others it is told who had them.
  sweep::Known KnownNow(const LiveBoard& live, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Note(const scheduler::WorkerStatus& worker, const sweep::Known& known, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<std::string, OfferedStack, std::less<>> last_ ABSL_GUARDED_BY(mutex_);  // By stack.
};

}  // namespace noisefloor
