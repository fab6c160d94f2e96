// Writes as rows: one prepared statement for each kind of row. Internal to this folder.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"

#include "coordinator/scheduler/effect.h"
#include "coordinator/store/record_rows.h"

namespace noisefloor {

// One thread, inside a transaction of the caller's. SQLite's exceptions pass through; after one,
// or when the transaction is given up, call Forget.
class RowWriter {
 public:
  explicit RowWriter(SQLite::Database& database);

  void Apply(const scheduler::Write& write);
  // What this transaction told of names and their numbers is not to be trusted any more.
  void Forget();

 private:
  void Keep(const scheduler::KeepSweep& write);
  void Keep(const scheduler::KeepSharing& write);
  void Keep(const scheduler::KeepShare& write);
  void Keep(const scheduler::KeepExtension& write);
  void Keep(const scheduler::DeleteSweep& write);
  void Keep(const scheduler::KeepNotes& write);
  void Keep(const scheduler::KeepWorkerUse& write);
  void Keep(const scheduler::PinCell& write);
  void Keep(const scheduler::KeepSpecification& write);
  void Keep(const scheduler::PinIdentity& write);
  void Keep(const scheduler::KeepSchema& write);
  void Keep(const scheduler::KeepSoftware& write);
  void Keep(const scheduler::KeepWorker& write);
  void Keep(const scheduler::KeepSeen& write);
  void Keep(const scheduler::ForgetWorker& write);
  void Keep(const scheduler::GrantLease& write);
  void Keep(const scheduler::DropLease& write);
  void Keep(const scheduler::KeepRecords& write);
  void Keep(const scheduler::KeepOutcome& write);
  void Keep(const scheduler::SetMemberState& write);
  void Keep(const scheduler::SetUntouched& write);
  void Keep(const scheduler::AppendEvent& write);
  void Keep(const scheduler::KeepToken& write);
  void Keep(const scheduler::RevokeToken& write);
  void Keep(const scheduler::KeepPool& write);
  void Keep(const scheduler::KeepLaunch& write);
  void Keep(const scheduler::DropPool& write);
  void Keep(const scheduler::CollectArtifacts& write);

  void KeepInference(const scheduler::KeepSweep& write);
  void KeepCells(SweepId sweep, const std::vector<sweep::Cell>& cells);
  void FillNumbers(uint32_t replicates);
  void KeepDetails(LeaseId lease, const ingest::AttemptOutcome& outcome);

  // Texts that are kept once, and the numbers that stand for them in other rows.
  struct Names {
    SQLite::Statement add;
    SQLite::Statement find;
    std::map<std::string, int64_t, std::less<>> known;  // As far as they were needed.
  };
  static int64_t NumberOf(Names& names, const std::string& name);
  int64_t NumberOfEnvironment(const std::string& facts);
  int64_t NumberOfData(const std::string& identity);

  SQLite::Statement sweep_, cell_, plan_source_, inference_, specification_, pin_cell_,
      pin_identity_, schema_, software_, worker_, seen_, forget_worker_, lease_, drop_lease_,
      attempt_, hash_, metric_, artifact_, member_state_, untouched_, event_, count_numbers_,
      more_numbers_, environment_, identity_, token_, revoke_token_, collect_, sharing_, share_,
      even_share_, extension_, wider_, delete_, notes_, drained_, release_, quarantine_, pool_,
      launch_, drop_pool_;
  RecordRows records_;
  Names metrics_;
  Names units_;
  // Kept in this process, by their texts: nearly all attempts are alike in them.
  std::map<std::string, int64_t, std::less<>> environments_;
  std::map<std::string, int64_t, std::less<>> data_;
  uint32_t numbers_ = 0;  // How many the table `number` has; 0: not looked yet.
};

}  // namespace noisefloor
