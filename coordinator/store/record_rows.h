// Records as rows: the hot table, without what follows from other columns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"

#include "common/base/ids.h"
#include "common/trainer_protocol/json.h"

namespace noisefloor {

// How many steps an epoch has by that record: nothing unless step / steps is its epoch to the bit.
std::optional<int64_t> StepsPerEpoch(const Record& record);

// One thread, inside a transaction of the caller's. SQLite's exceptions pass through; after one,
// or when the transaction is given up, call Forget.
class RecordRows {
 public:
  explicit RecordRows(SQLite::Database& database);

  // A lease that is new: it has no records yet.
  void Begin(LeaseId lease);
  // A batch of that number. `number` gives what stands for the name of a metric. A batch that is
  // there changes nothing.
  void Keep(LeaseId lease, uint64_t sequence, const std::vector<Record>& records,
            const std::function<int64_t(const std::string&)>& number);
  void Forget();

 private:
  using Steps = std::map<LeaseId, std::optional<int64_t>>;
  Steps::iterator Know(LeaseId lease, std::optional<int64_t> steps);
  std::optional<int64_t> StepsOf(LeaseId lease, const std::vector<Record>& records);
  std::optional<int64_t> Kept(LeaseId lease);

  SQLite::Statement row_, find_, set_;
  // Steps of an epoch of those that began or sent records of late; nothing: no record says it.
  Steps leases_;
};

}  // namespace noisefloor
