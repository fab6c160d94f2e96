// Read-only connections to the database, lent to one caller at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace noisefloor::query {

class ReaderPool;

// A connection with a read transaction open: everything read through it is of one moment. Goes
// back to the pool at its end. Move-only; one thread.
class Reader {
 public:
  ~Reader();
  Reader(Reader&& other) noexcept = default;
  Reader& operator=(Reader&&) = delete;

  SQLite::Database& database() { return *database_; }

 private:
  friend class ReaderPool;
  Reader(ReaderPool& pool, std::unique_ptr<SQLite::Database> database)
      : pool_(&pool), database_(std::move(database)) {}

  ReaderPool* pool_;
  std::unique_ptr<SQLite::Database> database_;  // Null when moved from.
};

// Thread-safe. Opens a connection when none is idle. Outlives its readers.
class ReaderPool {
 public:
  explicit ReaderPool(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<Reader> Borrow() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class Reader;
  void Return(std::unique_ptr<SQLite::Database> database) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string path_;
  Mutex mutex_;
  std::vector<std::unique_ptr<SQLite::Database>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor::query
