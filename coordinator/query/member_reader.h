// Reads members one by one with statements that are prepared once.
#pragma once

#include <optional>
#include <string>

#include "SQLiteCpp/Column.h"
#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/query/member.h"

namespace noisefloor::query {

// UTC, "2026-01-01 10:00:00".
std::string TimeText(int64_t us);

// One thread, within one read transaction. SQLite's exceptions pass through.
class MemberReader {
 public:
  explicit MemberReader(SQLite::Database& database);

  // All but specification and progress, as far as the view goes. Nothing when there is no such
  // member; DataLoss for a row that makes no sense.
  absl::StatusOr<std::optional<Member>> Read(const MemberId& id, MemberView view);
  // A line for each attempt, first to last.
  std::vector<std::string> History(const MemberId& id);

 private:
  void ReadSources(const MemberId& id, Member& member);
  void ReadSubject(const MemberId& id, Member& member);
  void ReadLastWorker(const MemberId& id, Member& member);
  absl::Status ReadOutcome(const MemberId& id, MemberView view, Member& member);
  void ReadWhyTogether(const MemberId& id, Member& member);
  void ReadMetrics(int64_t lease, ingest::AttemptOutcome& attempt);
  void ReadDetails(MemberEnd& outcome);
  const Settings& AxesOf(std::string json);

  SQLite::Statement member_;
  SQLite::Statement sources_;
  SQLite::Statement worker_;
  SQLite::Statement outcome_;
  SQLite::Statement together_;
  SQLite::Statement hashes_;
  SQLite::Statement metrics_;
  SQLite::Statement artifacts_;
  SQLite::Statement inference_;
  SQLite::Statement history_;
  std::string axes_text_;  // Of the cell that was read last,
  Settings axes_;          // and what it says.
  // Of the sweep whose member was read last that failed without an attempt: it walks its events.
  std::optional<SweepId> together_of_;
  std::optional<std::string> why_together_;
};

}  // namespace noisefloor::query
