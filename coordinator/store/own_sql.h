// A data directory read with a person's own SQL, beside a coordinator or without one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"

namespace noisefloor {

struct SqlBlob {
  std::string bytes;
};
using SqlValue =
    std::variant<std::monostate, int64_t, double, std::string, SqlBlob>;  // First: NULL.

// Where the answer to a statement goes, row by row.
class SqlAnswer {
 public:
  virtual ~SqlAnswer() = default;
  virtual void Columns(std::vector<std::string> names) = 0;  // Once, before any row.
  virtual void Row(std::vector<SqlValue> values) = 0;        // As many as there are columns.
};

// The tables and views of the store and, of this program alone, nf_seed(sweep's seed, source,
// block, lane) -> the seed as decimal text, and the view v_seed. One thread.
class OwnSql {
 public:
  // NotFound when `home` has no database; else as OpenForReading. Leaves no lock behind: a
  // coordinator may write, start and end meanwhile.
  static absl::StatusOr<OwnSql> Open(const std::string& home);

  // Runs one statement that only reads, in one state of the store. InvalidArgument for anything
  // else, with the line and column where SQLite could tell.
  absl::Status Ask(const std::string& sql, SqlAnswer& answer);

 private:
  explicit OwnSql(std::unique_ptr<SQLite::Database> database) : database_(std::move(database)) {}

  std::unique_ptr<SQLite::Database> database_;
};

}  // namespace noisefloor
