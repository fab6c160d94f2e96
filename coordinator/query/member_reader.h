// Reads members one by one with statements that are prepared once.
#pragma once

#include <optional>
#include <string>

#include "SQLiteCpp/Column.h"
#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"

#include "common/base/ids.h"
#include "coordinator/query/query.h"

namespace noisefloor::query {

// UTC, "2026-01-01 10:00:00".
std::string TimeText(int64_t us);

// One thread, within one read transaction. SQLite's exceptions pass through.
class MemberReader {
 public:
  explicit MemberReader(SQLite::Database& database);

  // All but specification and progress, as far as the view goes. Nullopt when there is no such
  // member.
  std::optional<v1::Member> Read(const MemberId& id, v1::MemberView view);
  // A line for each attempt, first to last.
  std::vector<std::string> History(const MemberId& id);

 private:
  void ReadSources(const MemberId& id, v1::Member& member);
  void ReadLastWorker(const MemberId& id, v1::Member& member);
  void ReadOutcome(const MemberId& id, v1::MemberView view, v1::Member& member);
  void ReadWhyTogether(const MemberId& id, v1::Member& member);
  void ReadMetrics(int64_t lease, v1::Outcome& outcome);
  void ReadDetails(v1::Outcome& outcome);

  SQLite::Statement member_;
  SQLite::Statement sources_;
  SQLite::Statement worker_;
  SQLite::Statement outcome_;
  SQLite::Statement together_;
  SQLite::Statement hashes_;
  SQLite::Statement metrics_;
  SQLite::Statement artifacts_;
  SQLite::Statement history_;
};

}  // namespace noisefloor::query
