// What the trainer of an attempt was given, from what its cell's members share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/trainer_protocol/specification_template.h"

namespace noisefloor {

// One thread, within one read transaction. Remembers the last cell. SQLite's exceptions pass
// through.
class SpecificationRows {
 public:
  explicit SpecificationRows(SQLite::Database& database);

  // The text of the member whose SHA-256 (hexadecimal) is `sha256`. DataLoss: the store has none.
  absl::StatusOr<std::string> Of(const MemberId& member, uint64_t sweep_seed,
                                 std::string_view sha256);

 private:
  void Load(SweepId sweep, uint32_t cell, uint64_t sweep_seed);

  SQLite::Statement rows_;
  SweepId sweep_;
  uint32_t cell_ = 0;
  std::vector<SpecificationTemplate> templates_;  // Newest first.
};

}  // namespace noisefloor
