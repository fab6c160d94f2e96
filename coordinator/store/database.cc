#include "coordinator/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "SQLiteCpp/Statement.h"
#include "SQLiteCpp/Transaction.h"

#include "coordinator/store/log_check.h"
#include "coordinator/store/migration_functions.h"
#include "coordinator/store/page_sum.h"
#include "coordinator/store/summed_vfs.h"

namespace noisefloor {

namespace {

constexpr int kBusyTimeoutMs = 10000;  // For another program that holds the file a moment.

// A checkpoint stands in the way of the commit that fills the log: at 16 MiB it takes 15 to 30 ms,
// at 4 MiB 5 to 10.
constexpr const char* kWriterSettings =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;"
    "PRAGMA mmap_size = 0; PRAGMA wal_autocheckpoint = 1000; PRAGMA trusted_schema = OFF;";
constexpr const char* kReaderSettings =
    "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA wal_autocheckpoint = 0;"
    "PRAGMA trusted_schema = OFF;";

// Before the first connection. SQLite would count the memory that it has, which nobody asks, under
// a lock that all its connections share.
void SetUpOnce() {
  static const int done = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)done;  // Too late, when another part of the process has opened one: then it counts.
}

int64_t Pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt64();
}

absl::Status Refuse(std::string_view message) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message);
}

// The version of a file of ours; 0 for an empty one.
absl::StatusOr<int64_t> VersionOf(SQLite::Database& database, int64_t newest) {
  const int64_t application = Pragma(database, "application_id");
  const int64_t version = Pragma(database, "user_version");
  const int64_t tables = database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt64();
  if (application == 0 && version == 0 && tables == 0) return 0;
  if (application != kApplicationId) {
    return Refuse(
        fmt::format("{}: a SQLite file, but not one of noisefloor", database.getFilename()));
  }
  if (version < 1) {
    return MakeError(
        absl::StatusCode::kDataLoss,
        fmt::format("{}: has the tables of noisefloor, but says schema {}; the file is "
                    "damaged: put a backup in its place",
                    database.getFilename(), version));
  }
  if (version > newest) {
    return Refuse(
        fmt::format("{}: written by a newer noisefloor (schema {}, this program knows "
                    "schemas up to {}); use that program",
                    database.getFilename(), version, newest));
  }
  return version;
}

void DropViews(SQLite::Database& database) {
  std::vector<std::string> names;
  SQLite::Statement row(database,
                        "SELECT name FROM sqlite_schema WHERE type = 'view' AND name GLOB 'v_*'");
  while (row.executeStep()) names.push_back(row.getColumn(0).getString());
  for (const std::string& name : names) database.exec(fmt::format("DROP VIEW \"{}\"", name));
}

// Foreign keys are not looked at meanwhile: tables take the place of others.
absl::Status BringUp(SQLite::Database& database, const Schema& schema, int64_t version,
                     const std::function<absl::Status(SQLite::Database&)>& verify) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (version == 0) {
    database.exec(std::string(schema.tables));
  } else {
    RegisterMigrationFunctions(database);
    DropViews(database);
    for (const std::string_view sql : schema.steps.subspan(static_cast<size_t>(version - 1))) {
      database.exec(std::string(sql));
    }
  }
  database.exec(std::string(schema.views));
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", schema.version()));
  if (version > 0 && verify) NF_RETURN_IF_ERROR(verify(database));
  transaction.commit();
  return absl::OkStatus();
}

// Of a file that was made before there were sums: once, all of it. A process that is killed
// meanwhile leaves it as it was, and the next one begins anew.
absl::Status GiveRoomForSums(SQLite::Database& database) {
  if (ReservedBytes(database) == kSumBytes) return absl::OkStatus();
  ReserveSums(database);
  database.exec("VACUUM");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  if (ReservedBytes(database) == kSumBytes) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInternal,
                   database.getFilename() + ": SQLite leaves no room for sums in its pages");
}

absl::Status CheckStructure(SQLite::Database& database) {
  const std::string said = database.execAndGet("PRAGMA integrity_check(1)").getString();
  if (said == "ok") return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("{}: {}; the file is damaged: put a backup in its place",
                               database.getFilename(), said));
}

}  // namespace

absl::Status ToStatus(const SQLite::Exception& error, std::string_view context) {
  std::string text =
      fmt::format("{}: {} (SQLite {})", context, error.what(), error.getExtendedErrorCode());
  // The transaction stands in the write-ahead log, and the next one overwrites it; a crash before
  // that recovers it.
  if (error.getExtendedErrorCode() == SQLITE_IOERR_FSYNC) {
    text += "; what was being written may be there after a restart";
  }
  const int code = error.getExtendedErrorCode();  // -1: of a copy, which has one code only.
  if (IsDamagedPage(code == -1 ? error.getErrorCode() : code)) {
    return Annotate(DamagedPage(), context);
  }
  switch (error.getErrorCode() & 0xFF) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN: return MakeError(absl::StatusCode::kResourceExhausted, text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return MakeError(absl::StatusCode::kDataLoss,
                       text + "; the file is damaged: put a backup in its place");
    default: return MakeError(absl::StatusCode::kInternal, text);
  }
}

absl::StatusOr<std::unique_ptr<SQLite::Database>> OpenForWriting(
    const std::string& path, const Schema& schema,
    const std::function<absl::Status(SQLite::Database&)>& verify) {
  NF_RETURN_IF_ERROR(CheckLog(path));
  SetUpOnce();
  try {
    auto database = std::make_unique<SQLite::Database>(
        path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX, kBusyTimeoutMs,
        SummedVfs());
    NF_ASSIGN_OR_RETURN(const int64_t version, VersionOf(*database, schema.version()));
    const bool with_sums = schema.version() >= kFirstVersionWithSums;
    if (version == 0 && with_sums) ReserveSums(*database);
    database->exec(kWriterSettings);
    if (version < schema.version()) {
      NF_RETURN_IF_ERROR(BringUp(*database, schema, version, verify));
    }
    if (with_sums) NF_RETURN_IF_ERROR(GiveRoomForSums(*database));
    database->exec("PRAGMA foreign_keys = ON");
    return database;
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "opening " + path);
  }
}

namespace {

absl::StatusOr<std::unique_ptr<SQLite::Database>> TryToOpenForReading(const std::string& path) {
  auto database = std::make_unique<SQLite::Database>(
      path, SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX, kBusyTimeoutMs, SummedVfs());
  const int64_t newest = CurrentSchema().version();
  NF_ASSIGN_OR_RETURN(const int64_t version, VersionOf(*database, newest));
  if (version != newest) {
    return Refuse(fmt::format("{}: schema {}, expected {}; a coordinator must open it first", path,
                              version, newest));
  }
  database->exec(kReaderSettings);
  return database;
}

absl::StatusOr<int64_t> TryToReadVersion(const std::string& path) {
  SQLite::Database database(path, SQLite::OPEN_READONLY, kBusyTimeoutMs, SummedVfs());
  return VersionOf(database, CurrentSchema().version());
}

// `read` opens `path` for reading. What a writer that was killed had begun is taken back before,
// which a reader may not.
template <typename Read>
auto ReadOrRollBack(const std::string& path, const Read& read) -> decltype(read(path)) {
  SetUpOnce();
  try {
    try {
      return read(path);
    } catch (const SQLite::Exception& error) {
      if (error.getExtendedErrorCode() != SQLITE_READONLY_ROLLBACK) throw;
      SQLite::Database writer(path, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, kBusyTimeoutMs,
                              SummedVfs());
      (void)writer.execAndGet("SELECT count(*) FROM sqlite_schema");
    }
    return read(path);
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "opening " + path);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<SQLite::Database>> OpenForReading(const std::string& path) {
  return ReadOrRollBack(path, TryToOpenForReading);
}

absl::StatusOr<int64_t> SchemaVersion(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return 0;
  return ReadOrRollBack(path, TryToReadVersion);
}

absl::StatusOr<uint64_t> SumWhatOthersWrote(const std::string& path, bool was_killed) {
  std::error_code error;
  if (std::filesystem::file_size(path + "-wal", error) > 0 && !error) return 0;
  if (std::filesystem::file_size(path, error) == 0 || error) return 0;
  SetUpOnce();
  try {
    SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, kBusyTimeoutMs,
                              SummedVfs());
    NF_RETURN_IF_ERROR(VersionOf(database, CurrentSchema().version()).status());
    NF_ASSIGN_OR_RETURN(const bool first, FirstPageIsUnsummed(database));
    if (!first && !was_killed) return 0;
    SQLite::Transaction alone(database, SQLite::TransactionBehavior::IMMEDIATE);
    NF_ASSIGN_OR_RETURN(const uint64_t pages,
                        SumUnsummedPages(database, [&] { return CheckStructure(database); }));
    alone.commit();
    return pages;
  } catch (const SQLite::Exception& problem) {
    return ToStatus(problem, "opening " + path);
  }
}

std::string DatabasePath(const std::string& home) { return home + "/noisefloor.db"; }

}  // namespace noisefloor
