#include "coordinator/query/reader_pool.h"

#include <utility>

#include "coordinator/store/database.h"

namespace noisefloor::query {

Reader::~Reader() {
  if (database_ != nullptr) pool_->Return(std::move(database_));
}

absl::StatusOr<Reader> ReaderPool::Borrow() {
  std::unique_ptr<SQLite::Database> database;
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      database = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (database == nullptr) {
    NF_ASSIGN_OR_RETURN(database, OpenForReading(path_));
  }
  try {
    database->exec("BEGIN");
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + path_);
  }
  return Reader(*this, std::move(database));
}

// One whose transaction cannot be ended is closed rather than lent again.
void ReaderPool::Return(std::unique_ptr<SQLite::Database> database) {
  try {
    database->exec("COMMIT");
  } catch (const SQLite::Exception&) {
    return;
  }
  MutexLock lock(mutex_);
  idle_.push_back(std::move(database));
}

}  // namespace noisefloor::query
