#include <fmt/format.h>

#include <utility>

#include "SQLiteCpp/Transaction.h"

#include "coordinator/store/database.h"
#include "coordinator/store/migrations.h"
#include "coordinator/store/recover.h"
#include "coordinator/store/removal.h"
#include "coordinator/store/row_writer.h"
#include "coordinator/store/store.h"

namespace noisefloor {

namespace {

// What cannot be mended by waiting is a bug, or a file that a person must look at.
absl::Status WriteError(const SQLite::Exception& error) {
  absl::Status status = ToStatus(error, "writing to the store");
  if (status.code() == absl::StatusCode::kResourceExhausted) return status;
  return MakeError(absl::StatusCode::kInternal, Message(status));
}

}  // namespace

struct SqliteStore::Connection {
  explicit Connection(std::unique_ptr<SQLite::Database> opened)
      : database(std::move(opened)), writer(*database) {}

  std::unique_ptr<SQLite::Database> database;
  RowWriter writer;
};

SqliteStore::SqliteStore(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

SqliteStore::~SqliteStore() = default;

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& home,
                                                               FileSystem& files) {
  NF_ASSIGN_OR_RETURN(auto database,
                      OpenForWriting(DatabasePath(home), CurrentSchema(), [](auto& brought_up) {
                        return ReadRecoveredState(brought_up).status();
                      }));
  // The database and its log are there from now on. SQLite syncs their folder once, too, but does
  // not look whether that worked.
  NF_RETURN_IF_ERROR(files.SyncFolder(home));
  try {
    return std::unique_ptr<SqliteStore>(
        new SqliteStore(std::make_unique<Connection>(std::move(database))));
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "opening " + DatabasePath(home));
  }
}

absl::Status SqliteStore::Apply(std::span<const scheduler::Write> writes) {
  if (writes.empty()) return absl::OkStatus();
  try {
    SQLite::Transaction transaction(*connection_->database, SQLite::TransactionBehavior::IMMEDIATE);
    for (const scheduler::Write& write : writes) connection_->writer.Apply(write);
    transaction.commit();
    return absl::OkStatus();
  } catch (const SQLite::Exception& error) {
    connection_->writer.Forget();
    return WriteError(error);
  }
}

absl::StatusOr<scheduler::RecoveredState> SqliteStore::Recover() {
  try {
    SQLite::Transaction transaction(*connection_->database);  // Everything of one moment.
    return ReadRecoveredState(*connection_->database);
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading the store");
  }
}

absl::StatusOr<bool> SqliteStore::RemoveDeleted(uint32_t most) {
  try {
    SQLite::Transaction transaction(*connection_->database, SQLite::TransactionBehavior::IMMEDIATE);
    const bool more = RemoveRows(*connection_->database, most);
    transaction.commit();
    return more;
  } catch (const SQLite::Exception& error) {
    return WriteError(error);
  }
}

absl::Status SqliteStore::LimitPages(int64_t pages) {
  constexpr int64_t kNoLimit = 4294967294;
  try {
    connection_->database->exec(
        fmt::format("PRAGMA max_page_count = {}", pages == 0 ? kNoLimit : pages));
    return absl::OkStatus();
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "limiting the store");
  }
}

}  // namespace noisefloor
