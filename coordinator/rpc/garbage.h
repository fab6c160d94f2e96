// Makes room: files that nobody names, and files of members that a person no longer wants.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "coordinator/loop/event_loop.h"
#include "coordinator/query/storage_reader.h"
#include "coordinator/query/work_queue.h"
#include "coordinator/store/blob_pins.h"
#include "coordinator/store/blob_store.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor {

// Thread-safe. Works on one thread of its own, in pieces: the loop keeps that some hundred files
// are gone, and only then are they removed, so that a loss of power leaves files that nobody names,
// never names without a file.
//
// A file that has arrived for a lease which is not settled is pinned. Pins are of this process:
// while a lease lives that is older than it, nothing is removed (FailedPrecondition), unless its
// worker cannot come, or has not come back in the time of a lease.
class Garbage {
 public:
  struct Parts {
    EventLoop& loop;
    const BlobStore& blobs;
    BlobPins& pins;
    const Clock& clock;
    std::string home;
    std::function<std::string()> storage_problem;
    bool listens = true;                           // Else no worker can come.
    absl::Duration lease_ttl = absl::Seconds(15);  // So long leases of before wait for theirs.
  };
  // After the store is open and before the loop starts. An error is the store's.
  static absl::StatusOr<std::unique_ptr<Garbage>> Open(Parts parts);
  // Gives up what it is at.
  ~Garbage();

  template <typename Response>
  using Done = std::function<void(const absl::Status&, const Response&)>;

  // What is where. Counted at most every few seconds, files that nobody names every few minutes:
  // that looks into every folder. `done` is called on its thread.
  void GetStorage(const Done<v1::GetStorageResponse>& done);

  // InvalidArgument for kinds that reports are made of. `cancelled`: asked between pieces.
  void Collect(const v1::CollectGarbageRequest& request, const std::string& caller,
               const std::function<bool()>& cancelled,
               const Done<v1::CollectGarbageResponse>& done);

 private:
  class Run;
  Garbage(Parts parts, std::unique_ptr<query::StorageReader> reader, LeaseId newest)
      : parts_(std::move(parts)),
        opened_at_(parts_.clock.Steady()),
        reader_(std::move(reader)),
        newest_at_start_(newest) {}

  absl::StatusOr<v1::GetStorageResponse> Look();
  absl::StatusOr<v1::StorageShare> Unused();

  const Parts parts_;
  const absl::Duration opened_at_;
  std::atomic<bool> ending_{false};
  // Its thread only.
  const std::unique_ptr<query::StorageReader> reader_;
  const LeaseId newest_at_start_;
  absl::Duration looked_at_;
  absl::Duration unused_at_;
  std::optional<v1::GetStorageResponse> looked_;
  std::optional<v1::StorageShare> unused_;
  query::WorkQueue work_{1, 16};  // Last: its thread ends before what it uses.
};

}  // namespace noisefloor
