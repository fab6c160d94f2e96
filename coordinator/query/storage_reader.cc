#include "coordinator/query/storage_reader.h"

#include <fmt/format.h>

#include "SQLiteCpp/Statement.h"

#include "coordinator/store/database.h"
#include "coordinator/store/restore.h"

namespace noisefloor::query {

namespace {

std::string Marks(size_t count) {
  std::string marks;
  for (size_t i = 0; i < count; ++i) marks += i == 0 ? "?" : ", ?";
  return marks;
}

// Whether a row is of one of so many kinds. A kind stands for those of evaluations, too: "weights"
// for "weights-3", and "weights-N" for those alone.
std::string IsOfKinds(const std::string& row, size_t count) {
  return fmt::format("({0}.kind IN ({1}) OR rtrim({0}.kind, '0123456789') IN ({1}))", row,
                     Marks(count));
}

// A member has ended when its last lease has. What the same attempt keeps under another kind, too,
// would make no room. In the order of the table's key, so that a page costs what it looks at.
std::string CollectableSql(const Retention& retention) {
  std::string sql =
      "SELECT f.lease, f.kind, f.path, f.sha256, f.size_bytes, l.sweep FROM artifact f "
      "CROSS JOIN lease l ON l.lease = f.lease "
      "CROSS JOIN member m ON m.sweep = l.sweep AND m.cell = l.cell AND m.replicate = l.replicate "
      "WHERE (f.lease, f.kind, f.path) > (?, ?, ?) AND f.collected_us IS NULL "
      "AND l.sweep NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL) "
      "AND l.dropped_us IS NOT NULL AND m.state <> 'waiting' AND m.state <> 'leased' "
      "AND (SELECT max(x.dropped_us) FROM lease x WHERE x.sweep = l.sweep AND x.cell = l.cell "
      "AND x.replicate = l.replicate) <= ? AND " +
      IsOfKinds("f", retention.kinds.size()) +
      " AND NOT EXISTS (SELECT 1 FROM artifact k WHERE k.lease = f.lease AND k.sha256 = f.sha256 "
      "AND k.collected_us IS NULL AND NOT " +
      IsOfKinds("k", retention.kinds.size()) + ")";
  if (!retention.sweeps.empty()) sql += " AND l.sweep IN (" + Marks(retention.sweeps.size()) + ")";
  return sql + " ORDER BY f.lease, f.kind, f.path LIMIT ?";
}

}  // namespace

absl::StatusOr<std::unique_ptr<StorageReader>> StorageReader::Open(const std::string& home) {
  NF_ASSIGN_OR_RETURN(auto database, OpenForReading(DatabasePath(home)));
  return std::unique_ptr<StorageReader>(new StorageReader(DatabasePath(home), std::move(database)));
}

template <typename T, typename F>
absl::StatusOr<T> StorageReader::Read(const F& read) {
  try {
    return read();
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + path_);
  }
}

absl::StatusOr<std::vector<KindShare>> StorageReader::Shares() {
  return Read<std::vector<KindShare>>([&] {
    std::vector<KindShare> shares;
    SQLite::Statement row(*database_,
                          "SELECT of, count(*), sum(size_bytes) FROM (SELECT "
                          "CASE rtrim(kind, '0123456789') WHEN 'weights-' THEN 'weights' "
                          "WHEN 'predictions-' THEN 'predictions' ELSE kind END AS of, "
                          "max(size_bytes) AS size_bytes FROM artifact WHERE collected_us IS NULL "
                          "GROUP BY of, sha256) GROUP BY of ORDER BY of");
    while (row.executeStep()) {
      shares.push_back({row.getColumn(0).getString(),
                        static_cast<uint64_t>(row.getColumn(1).getInt64()),
                        static_cast<uint64_t>(row.getColumn(2).getInt64())});
    }
    return shares;
  });
}

absl::StatusOr<std::vector<KeptFile>> StorageReader::Collectable(const Retention& retention,
                                                                 const KeptFile& after,
                                                                 size_t limit) {
  return Read<std::vector<KeptFile>>([&] {
    std::vector<KeptFile> found;
    if (retention.kinds.empty()) return found;
    SQLite::Statement row(*database_, CollectableSql(retention));
    int next = 0;
    row.bind(++next, static_cast<int64_t>(after.lease.value));
    row.bind(++next, after.kind);
    row.bind(++next, after.path);
    row.bind(++next, absl::ToUnixMicros(retention.ended_before));
    for (int of_row = 0; of_row < 2; ++of_row) {
      for (const std::string& kind : retention.kinds) row.bind(++next, kind);
      for (const std::string& kind : retention.kinds) {
        row.bind(++next, kind.ends_with("-N") ? kind.substr(0, kind.size() - 1) : kind + "-");
      }
    }
    for (const SweepId sweep : retention.sweeps)
      row.bind(++next, static_cast<int64_t>(sweep.value));
    row.bind(++next, static_cast<int64_t>(limit));
    while (row.executeStep()) {
      found.push_back(
          {LeaseId{static_cast<uint64_t>(row.getColumn(0).getInt64())},
           row.getColumn(1).getString(),
           row.getColumn(2).getString(),
           {row.getColumn(3).getString(), static_cast<uint64_t>(row.getColumn(4).getInt64())},
           SweepId{static_cast<uint64_t>(row.getColumn(5).getInt64())}});
    }
    return found;
  });
}

absl::StatusOr<std::set<std::string>> StorageReader::NamedIn(int folder) {
  return Read<std::set<std::string>>([&] {
    std::set<std::string> named;
    SQLite::Statement row(*database_,
                          "SELECT sha256 FROM artifact WHERE collected_us IS NULL AND sha256 >= ?1 "
                          "AND sha256 < ?2 UNION SELECT sha256 FROM inference WHERE sha256 >= ?1 "
                          "AND sha256 < ?2");
    row.bind(1, fmt::format("{:02x}", folder));
    row.bind(2, fmt::format("{:02x}g", folder));  // Behind every digit.
    while (row.executeStep()) named.insert(row.getColumn(0).getString());
    return named;
  });
}

absl::StatusOr<bool> StorageReader::Names(const std::string& sha256) {
  return Read<bool>([&] { return IsNamed(*database_, sha256); });
}

absl::StatusOr<uint64_t> StorageReader::CountNames(const std::string& sha256) {
  return Read<uint64_t>([&] {
    SQLite::Statement row(*database_,
                          "SELECT (SELECT count(*) FROM artifact WHERE sha256 = ?1 AND "
                          "collected_us IS NULL) + (SELECT count(*) FROM inference WHERE sha256 = "
                          "?1)");
    row.bind(1, sha256);
    row.executeStep();
    return static_cast<uint64_t>(row.getColumn(0).getInt64());
  });
}

absl::StatusOr<uint64_t> StorageReader::LiveUpTo(LeaseId newest) {
  return Read<uint64_t>([&] {
    SQLite::Statement row(*database_,
                          "SELECT count(*) FROM lease WHERE dropped_us IS NULL AND lease <= ?");
    row.bind(1, static_cast<int64_t>(newest.value));
    row.executeStep();
    return static_cast<uint64_t>(row.getColumn(0).getInt64());
  });
}

absl::StatusOr<LeaseId> StorageReader::NewestLease() {
  return Read<LeaseId>([&] {
    return LeaseId{static_cast<uint64_t>(
        database_->execAndGet("SELECT coalesce(max(lease), 0) FROM lease").getInt64())};
  });
}

std::string KindAtTheEnd(const std::string& kind) {
  const std::string stem = kind.substr(0, kind.find_last_not_of("0123456789") + 1);
  return stem == "weights-" || stem == "predictions-" ? stem.substr(0, stem.size() - 1) : kind;
}

bool IsOfReports(const std::string& kind) {
  return kind == "predictions" || kind == "evaluation_images" || kind == "evaluation_labels" ||
         kind == "evaluation_groups";
}

}  // namespace noisefloor::query
