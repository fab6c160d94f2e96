// What a data directory holds, and which of it may go.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "absl/time/time.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor::query {

// Files of members by what they are and when the member ended.
struct Retention {
  // "weights" stands for "weights-3", too, and "weights-N" for those after evaluations alone.
  std::set<std::string> kinds;
  absl::Time ended_before;
  std::set<SweepId> sweeps;  // Empty: all.
};

// One file of an attempt.
struct KeptFile {
  LeaseId lease;
  std::string kind;
  std::string path;
  BlobName blob;
  SweepId sweep;
};

// How much there is of one kind.
struct KindShare {
  std::string kind;
  uint64_t files = 0;  // Different contents.
  uint64_t bytes = 0;
};

// A connection of its own. One thread. Each call sees the newest state; an error is the store's.
class StorageReader {
 public:
  static absl::StatusOr<std::unique_ptr<StorageReader>> Open(const std::string& home);

  // By kind; those after evaluations are of the kind of the end. Looks at every file that rows
  // name, in SQL: a second for some million.
  absl::StatusOr<std::vector<KindShare>> Shares();
  // The next ones, at most `limit`, in order of lease, kind and path behind `after` (its lease 0:
  // from the first). Members that wait or run, and leases that live, have none.
  absl::StatusOr<std::vector<KeptFile>> Collectable(const Retention& retention,
                                                    const KeptFile& after, size_t limit);
  // Of the contents in one folder of the store, those that rows name.
  absl::StatusOr<std::set<std::string>> NamedIn(int folder);
  absl::StatusOr<bool> Names(const std::string& sha256);
  // How many rows name the content.
  absl::StatusOr<uint64_t> CountNames(const std::string& sha256);
  // Leases that live and are not newer than this one.
  absl::StatusOr<uint64_t> LiveUpTo(LeaseId newest);
  absl::StatusOr<LeaseId> NewestLease();

 private:
  StorageReader(std::string path, std::unique_ptr<SQLite::Database> database)
      : path_(std::move(path)), database_(std::move(database)) {}
  template <typename T, typename F>
  absl::StatusOr<T> Read(const F& read);

  const std::string path_;
  std::unique_ptr<SQLite::Database> database_;
};

// "weights" for "weights-3", of which there may be hundreds, and for all others what they are.
std::string KindAtTheEnd(const std::string& kind);
// Kinds that reports are made of: they go only with their sweep.
bool IsOfReports(const std::string& kind);

}  // namespace noisefloor::query
