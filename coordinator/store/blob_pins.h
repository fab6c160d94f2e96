// Which files of attempts are on their way into a result: nobody may remove those.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/base/ids.h"
#include "common/base/mutex.h"

namespace noisefloor {

// A file that has arrived is named by no row until its lease is settled: until then a pin of that
// lease keeps it, whatever else becomes of the upload. Thread-safe. Holds kMostOfLease pins of each
// live lease at most, and about as many of settled ones.
class BlobPins {
 public:
  // Contents: as many as a result may name.
  static constexpr size_t kMostOfLease = 10000;

  // `is_live`: true until what became of the lease is on disk. Any thread; never blocks.
  explicit BlobPins(std::function<bool(LeaseId)> is_live) : is_live_(std::move(is_live)) {}

  // Before it is looked whether the content is there, or it is put there. False: the lease has as
  // many pins as it may. Waits while Unless removes something.
  [[nodiscard]] bool Pin(const std::string& sha256, LeaseId lease) ABSL_LOCKS_EXCLUDED(mutex_);

  // While what is returned lives nothing is removed at all: of whoever looks whether files are
  // there and then commits rows that name them. Waits like Pin.
  // shared: whoever holds all may outlive this.
  [[nodiscard]] std::shared_ptr<const void> HoldAll() ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs `remove` unless the content is pinned or all are held; nothing is pinned meanwhile. False:
  // it is.
  bool Unless(const std::string& sha256, const std::function<void()>& remove)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Pins = std::map<std::string, std::set<LeaseId>>;

  bool IsPinned(const std::string& sha256) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One content less of the lease.
  void Uncount(LeaseId lease) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropSettled(std::set<LeaseId>& leases) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<bool(LeaseId)> is_live_;
  Mutex mutex_;
  // shared: with those who hold all; their number is what tells.
  const std::shared_ptr<const int> held_ = std::make_shared<const int>(0);
  Pins pins_ ABSL_GUARDED_BY(mutex_);
  std::map<LeaseId, size_t> counts_ ABSL_GUARDED_BY(mutex_);  // Of the contents that each pins.
  size_t pinned_ ABSL_GUARDED_BY(mutex_) = 0;                 // Their sum.
  size_t sweep_at_ ABSL_GUARDED_BY(mutex_) = 1024;  // So many pins: look which are settled.
};

}  // namespace noisefloor
