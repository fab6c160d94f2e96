#include "tests/crash/home_checker.h"

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Exception.h"
#include "SQLiteCpp/Statement.h"

#include "coordinator/store/blob_store.h"
#include "coordinator/store/database.h"

namespace noisefloor::test {

namespace {

// Selects a line for each fault.
struct Rule {
  const char* what;
  const char* sql;
};

std::vector<Rule> Rules() {
  return {
      {"refers to a row that is not there", "SELECT \"table\" FROM pragma_foreign_key_check"},
      {"has accepted results beside its state",
       "SELECT m.member || ' (' || m.state || ', ' || count(a.lease) || ')' FROM v_member m "
       "LEFT JOIN lease l USING (sweep, cell, replicate) "
       "LEFT JOIN attempt a ON a.lease = l.lease AND a.accepted = 1 GROUP BY m.member "
       "HAVING count(a.lease) <> (m.state = 'done' OR m.state = 'diverged')"},
      {"has live leases beside its state",
       "SELECT m.member || ' (' || m.state || ', ' || count(l.lease) || ')' FROM v_member m "
       "LEFT JOIN lease l ON l.sweep = m.sweep AND l.cell = m.cell AND l.replicate = m.replicate "
       "AND l.dropped_us IS NULL GROUP BY m.member HAVING count(l.lease) <> (m.state = 'leased')"},
      {"failed without a reason",
       "SELECT m.member FROM v_member m WHERE m.state = 'failed' AND m.attempt > 0 AND NOT EXISTS "
       "(SELECT * FROM lease l LEFT JOIN attempt a USING (lease) WHERE l.sweep = m.sweep AND "
       "l.cell = m.cell AND l.replicate = m.replicate AND l.attempt = m.attempt AND "
       "coalesce(a.cause, l.drop_cause) NOT IN ('', 'none'))"},
      {"has leases that do not rise with its attempts",
       "SELECT one.lease FROM lease one JOIN lease two USING (sweep, cell, replicate) "
       "WHERE one.attempt < two.attempt AND one.lease > two.lease"},
      {"lacks batches of records",
       "SELECT a.lease FROM attempt a WHERE a.accepted = 1 AND a.record_batches <> "
       "(SELECT count(DISTINCT batch) FROM record r WHERE r.lease = a.lease AND "
       "batch <= a.record_batches)"}};
}

void AddFileFaults(SQLite::Database& database, const std::string& home,
                   std::vector<std::string>& faults) {
  const auto blobs = BlobStore::Open(home);
  if (!blobs.ok()) return faults.push_back("blobs: " + std::string(blobs.status().message()));
  SQLite::Statement row(database,
                        "SELECT member || ' ' || kind, sha256, size_bytes FROM v_artifact "
                        "WHERE accepted = 1 AND file IS NOT NULL");
  while (row.executeStep()) {
    const absl::Status there = blobs->Verify(
        {row.getColumn(1).getString(), static_cast<uint64_t>(row.getColumn(2).getInt64())});
    if (there.ok()) continue;
    faults.push_back(row.getColumn(0).getString() + ": " + std::string(there.message()));
  }
}

std::vector<std::string> RowsOf(SQLite::Database& database, const std::string& sql) {
  SQLite::Statement row(database, sql);
  std::vector<std::string> lines;
  while (row.executeStep()) lines.push_back(row.getColumn(0).getString());
  return lines;
}

}  // namespace

std::vector<std::string> FaultsOf(const std::string& home) {
  std::vector<std::string> faults;
  const auto opened = OpenForReading(DatabasePath(home));
  if (!opened.ok()) return {"cannot read: " + std::string(opened.status().message())};
  try {
    for (const std::string& line : RowsOf(**opened, "PRAGMA integrity_check")) {
      if (line != "ok") faults.push_back("damaged: " + line);
    }
    for (const Rule& rule : Rules()) {
      for (const std::string& row : RowsOf(**opened, rule.sql)) {
        faults.push_back(row + " " + rule.what);
      }
    }
    AddFileFaults(**opened, home, faults);
  } catch (const SQLite::Exception& error) {
    faults.push_back("cannot read: " + Message(ToStatus(error, DatabasePath(home))));
  }
  return faults;
}

std::vector<std::string> StudyOf(const std::string& home) {
  std::vector<std::string> lines;
  for (const char* sql :
       {"SELECT 'sweep ' || sweep || ' ' || name || ' ' || request_id || ' ' || kind || ' ' || "
        "specification_sha256 FROM sweep WHERE deleted_us IS NULL ORDER BY sweep",
        "SELECT 'member ' || member || ' ' || state FROM v_member ORDER BY sweep, cell, replicate",
        "SELECT 'hash ' || member || ' ' || hash || ' ' || sha256 FROM v_hash WHERE accepted "
        "ORDER BY member, hash",
        "SELECT 'metric ' || member || ' ' || metric || ' ' || coalesce(value, special) "
        "FROM v_metric WHERE accepted ORDER BY member, metric",
        "SELECT 'record ' || member || ' ' || metric || ' ' || step || ' ' || epoch || ' ' || "
        "coalesce(value, special) FROM v_record WHERE accepted ORDER BY member, step, metric",
        "SELECT 'file ' || member || ' ' || kind || ' ' || sha256 FROM v_artifact "
        "WHERE accepted AND kind <> 'log' ORDER BY member, kind"}) {
    for (std::string& line : Rows(home, sql)) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> Rows(const std::string& home, const std::string& sql) {
  const auto opened = OpenForReading(DatabasePath(home));
  if (!opened.ok()) return {"cannot read: " + std::string(opened.status().message())};
  try {
    return RowsOf(**opened, sql);
  } catch (const SQLite::Exception& error) {
    return {"cannot read: " + Message(ToStatus(error, DatabasePath(home)))};
  }
}

}  // namespace noisefloor::test
