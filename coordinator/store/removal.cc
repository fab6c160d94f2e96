#include "coordinator/store/removal.h"

#include <optional>
#include <string>

#include "SQLiteCpp/Statement.h"

namespace noisefloor {

namespace {

std::optional<int64_t> First(SQLite::Database& database, const char* sql, int64_t sweep = 0) {
  SQLite::Statement row(database, sql);
  if (row.getBindParameterCount() > 0) row.bind(1, sweep);
  if (!row.executeStep()) return std::nullopt;
  return row.getColumn(0).getInt64();
}

// What is left of a piece.
class Piece {
 public:
  Piece(SQLite::Database& database, uint32_t most) : database_(database), left_(most) {}

  bool spent() const { return left_ == 0; }
  // Those rows of `table`, known by `keys`, for which `condition` holds with ?1 = `value`.
  void Remove(const std::string& table, const std::string& keys, const std::string& condition,
              int64_t value) {
    if (spent()) return;
    SQLite::Statement rows(database_, "DELETE FROM " + table + " WHERE (" + keys + ") IN (SELECT " +
                                          keys + " FROM " + table + " WHERE " + condition +
                                          " LIMIT ?2)");
    rows.bind(1, value);
    rows.bind(2, left_);
    const auto removed = static_cast<uint32_t>(rows.exec());
    left_ -= removed < left_ ? removed : left_;
  }

 private:
  SQLite::Database& database_;
  uint32_t left_;
};

// All that was kept of it, what refers to others first.
void RemoveLease(Piece& piece, int64_t lease) {
  piece.Remove("record", "lease, batch, item", "lease = ?1", lease);
  piece.Remove("attempt_hash", "lease, name", "lease = ?1", lease);
  piece.Remove("attempt_metric", "lease, name", "lease = ?1", lease);
  piece.Remove("artifact", "lease, kind, path", "lease = ?1", lease);
  piece.Remove("attempt", "lease", "lease = ?1", lease);
  piece.Remove("lease", "lease", "lease = ?1", lease);
}

void RemoveSweep(SQLite::Database& database, Piece& piece, int64_t sweep) {
  while (!piece.spent()) {
    const auto lease =
        First(database, "SELECT lease FROM lease WHERE sweep = ? ORDER BY cell LIMIT 1", sweep);
    if (!lease) break;
    RemoveLease(piece, *lease);
  }
  piece.Remove("event", "event", "sweep = ?1 AND kind <> 'sweep_deleted'", sweep);
  piece.Remove("member", "sweep, cell, replicate", "sweep = ?1", sweep);
  piece.Remove("specification", "sweep, cell, version", "sweep = ?1", sweep);
  piece.Remove("cell", "sweep, cell", "sweep = ?1", sweep);
  piece.Remove("plan_source", "sweep, plan, source", "sweep = ?1", sweep);
  piece.Remove("sweep_data", "sweep, data_set", "sweep = ?1", sweep);
  if (piece.spent()) return;
  SQLite::Statement row(database,
                        "UPDATE sweep SET definition = '', file = '', notes = '', tags = '{}' "
                        "WHERE sweep = ?");
  row.bind(1, sweep);
  row.exec();
}

}  // namespace

bool RemoveRows(SQLite::Database& database, uint32_t most) {
  Piece piece(database, most);
  while (!piece.spent()) {
    const auto sweep =
        First(database,
              "SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL AND definition <> '' LIMIT 1");
    if (!sweep) return false;
    RemoveSweep(database, piece, *sweep);
  }
  return true;
}

}  // namespace noisefloor
