// Writes as rows: one prepared statement for each kind of row. Internal to this folder.
#pragma once

#include <map>
#include <string>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"

#include "coordinator/scheduler/effect.h"

namespace noisefloor {

// One thread, inside a transaction of the caller's. SQLite's exceptions pass through; after one,
// or when the transaction is given up, call Forget.
class RowWriter {
 public:
  explicit RowWriter(SQLite::Database& database);

  void Apply(const scheduler::Write& write);
  // The numbers of metrics that this transaction handed out are not to be trusted any more.
  void Forget() { metrics_.clear(); }

 private:
  void Keep(const scheduler::KeepSweep& write);
  void Keep(const scheduler::PinCell& write);
  void Keep(const scheduler::PinIdentity& write);
  void Keep(const scheduler::KeepWorker& write);
  void Keep(const scheduler::GrantLease& write);
  void Keep(const scheduler::DropLease& write);
  void Keep(const scheduler::KeepRecords& write);
  void Keep(const scheduler::KeepOutcome& write);
  void Keep(const scheduler::SetMemberState& write);
  void Keep(const scheduler::AppendEvent& write);

  void KeepMembers(const scheduler::KeepSweep& write, const sweep::Cell& cell);
  void KeepDetails(LeaseId lease, const ingest::AttemptOutcome& outcome);
  void KeepMetric(LeaseId lease, const std::string& name, double value);
  int64_t MetricNumber(const std::string& name);

  SQLite::Statement sweep_, cell_, member_, lane_, pin_cell_, pin_identity_, unit_, worker_, lease_,
      drop_lease_, add_metric_, find_metric_, record_, environment_, attempt_, hash_, metric_,
      artifact_, member_state_, event_;
  std::map<std::string, int64_t> metrics_;  // Names to numbers, as far as they were needed.
};

}  // namespace noisefloor
