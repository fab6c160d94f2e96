#include <fmt/format.h>
#include <sqlite3.h>

#include <optional>
#include <utility>

#include "SQLiteCpp/Statement.h"
#include "SQLiteCpp/Transaction.h"

#include "coordinator/store/database.h"
#include "coordinator/store/migrations.h"
#include "coordinator/store/recover.h"
#include "coordinator/store/removal.h"
#include "coordinator/store/row_writer.h"
#include "coordinator/store/step_mark.h"
#include "coordinator/store/store.h"

namespace noisefloor {

namespace {

// What cannot be mended by waiting is a bug, or a file that a person must look at.
absl::Status WriteError(const SQLite::Exception& error) {
  absl::Status status = ToStatus(error, "writing to the store");
  if (status.code() == absl::StatusCode::kResourceExhausted) return status;
  return MakeError(absl::StatusCode::kInternal, Message(status));
}

absl::Status DoesNotFollow(StepNumber step, StepNumber last) {
  return MakeError(
      absl::StatusCode::kInternal,
      fmt::format("step {} does not follow step {}, the last in the store", step, last));
}

// A database that is behind its mark stays as it is, with its log, for whoever looks into it.
absl::Status CheckAndSpare(const std::string& home, std::optional<uint64_t> mark,
                           SQLite::Database& database) {
  absl::Status whole = CheckStepMark(home, mark, database);
  if (!whole.ok()) {
    sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  return whole;
}

}  // namespace

absl::Status Store::Apply(std::span<const scheduler::Write> writes) {
  if (writes.empty()) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const StepNumber last, LastStep());
  return Apply(last + 1, writes);
}

struct SqliteStore::Connection {
  Connection(std::unique_ptr<SQLite::Database> opened, const std::string& home, FileSystem& files)
      : database(std::move(opened)),
        next_step(*database, "UPDATE step SET step = ?1 WHERE step = ?1 - 1"),
        writer(*database),
        mark(home, files) {}

  // Whether `step` is the next one; then its number is kept with it.
  bool IsNext(StepNumber step) {
    next_step.tryReset();
    next_step.bind(1, static_cast<int64_t>(step));
    const bool is_next = next_step.exec() == 1;
    next_step.tryReset();
    return is_next;
  }

  std::unique_ptr<SQLite::Database> database;
  SQLite::Statement next_step;
  RowWriter writer;
  StepMark mark;
};

SqliteStore::SqliteStore(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

SqliteStore::~SqliteStore() = default;

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& home,
                                                               FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const std::optional<uint64_t> mark, ReadStepMark(home, files));
  NF_ASSIGN_OR_RETURN(
      auto database,
      OpenForWriting(DatabasePath(home), CurrentSchema(), [&](auto& brought_up) -> absl::Status {
        NF_RETURN_IF_ERROR(CheckAndSpare(home, mark, brought_up));
        return ReadRecoveredState(brought_up).status();
      }));
  // The database and its log are there from now on. SQLite syncs their folder once, too, but does
  // not look whether that worked.
  NF_RETURN_IF_ERROR(files.SyncFolder(home));
  try {
    NF_RETURN_IF_ERROR(CheckAndSpare(home, mark, *database));
    return std::unique_ptr<SqliteStore>(
        new SqliteStore(std::make_unique<Connection>(std::move(database), home, files)));
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "opening " + DatabasePath(home));
  }
}

absl::Status SqliteStore::Apply(StepNumber step, std::span<const scheduler::Write> writes) {
  try {
    SQLite::Transaction transaction(*connection_->database, SQLite::TransactionBehavior::IMMEDIATE);
    if (!connection_->IsNext(step)) {
      const StepNumber last = LastStepOf(*connection_->database);
      if (last != step) return DoesNotFollow(step, last);
      (void)connection_->mark.Write(step);
      return absl::OkStatus();  // It was kept when it was tried before.
    }
    for (const scheduler::Write& write : writes) connection_->writer.Apply(write);
    transaction.commit();
    (void)connection_->mark.Write(step);  // It protects less without, and is tried each time.
    return absl::OkStatus();
  } catch (const SQLite::Exception& error) {
    connection_->writer.Forget();
    return WriteError(error);
  }
}

absl::StatusOr<StepNumber> SqliteStore::LastStep() {
  try {
    return LastStepOf(*connection_->database);
  } catch (const SQLite::Exception& error) {
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
