#include "coordinator/store/removal.h"

#include <map>
#include <optional>
#include <string>

#include "SQLiteCpp/Statement.h"

namespace noisefloor {

namespace {

// What is left of a piece. Statements are made once: a piece may be of hundreds of leases.
class Piece {
 public:
  Piece(SQLite::Database& database, uint32_t most) : database_(database), left_(most) {}

  bool spent() const { return left_ == 0; }
  // The first column of the first row; nothing: there is none.
  std::optional<int64_t> First(const char* sql, std::optional<int64_t> sweep = std::nullopt) {
    SQLite::Statement& row = Made(sql);
    if (sweep) row.bind(1, *sweep);
    if (!row.executeStep()) return std::nullopt;
    return row.getColumn(0).getInt64();
  }
  // Those rows of `table`, known by `keys`, for which `condition` holds with ?1 = `value`.
  void Remove(const std::string& table, const std::string& keys, const std::string& condition,
              int64_t value) {
    if (spent()) return;
    SQLite::Statement& rows = Made("DELETE FROM " + table + " WHERE (" + keys + ") IN (SELECT " +
                                   keys + " FROM " + table + " WHERE " + condition + " LIMIT ?2)");
    rows.bind(1, value);
    rows.bind(2, left_);
    const auto removed = static_cast<uint32_t>(rows.exec());
    left_ -= removed < left_ ? removed : left_;
  }

 private:
  // Ready to be run.
  SQLite::Statement& Made(const std::string& sql) {
    SQLite::Statement& made = made_.try_emplace(sql, database_, sql).first->second;
    made.reset();
    return made;
  }

  SQLite::Database& database_;
  uint32_t left_;
  std::map<std::string, SQLite::Statement> made_;
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
        piece.First("SELECT lease FROM lease WHERE sweep = ? ORDER BY cell LIMIT 1", sweep);
    if (!lease) break;
    RemoveLease(piece, *lease);
  }
  piece.Remove("event", "event", "sweep = ?1 AND kind <> 'sweep_deleted'", sweep);
  piece.Remove("member", "sweep, cell, replicate", "sweep = ?1", sweep);
  piece.Remove("specification", "sweep, cell, version", "sweep = ?1", sweep);
  piece.Remove("inference", "sweep, cell, replicate", "sweep = ?1", sweep);
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
    const auto sweep = piece.First(
        "SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL AND definition <> '' LIMIT 1");
    if (!sweep) return false;
    RemoveSweep(database, piece, *sweep);
  }
  return true;
}

}  // namespace noisefloor
