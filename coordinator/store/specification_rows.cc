#include "coordinator/store/specification_rows.h"

#include <utility>

#include "common/files/sha256.h"
#include "coordinator/store/recover_check.h"

namespace noisefloor {

SpecificationRows::SpecificationRows(SQLite::Database& database)
    : rows_(database,
            "SELECT text FROM specification WHERE sweep = ? AND cell = ? ORDER BY version DESC") {}

absl::StatusOr<std::string> SpecificationRows::Of(const MemberId& member, uint64_t sweep_seed,
                                                  std::string_view sha256) {
  Load(member.sweep, member.cell, sweep_seed);
  for (const SpecificationTemplate& shared : templates_) {
    std::string text = shared.ForReplicate(member.replicate);
    if (Sha256Hex(text) == sha256) return text;
  }
  return Damaged(ToText(member), "no specification of its cell gives the hash of its attempt");
}

void SpecificationRows::Load(SweepId sweep, uint32_t cell, uint64_t sweep_seed) {
  if (sweep == sweep_ && cell == cell_) return;
  sweep_ = SweepId{};
  templates_.clear();
  rows_.reset();
  rows_.bind(1, static_cast<int64_t>(sweep.value));
  rows_.bind(2, static_cast<int64_t>(cell));
  while (rows_.executeStep()) {
    // One that is damaged may not be the one that is asked for.
    auto shared = SpecificationTemplate::Parse(rows_.getColumn(0).getString(), sweep_seed);
    if (shared.ok()) templates_.push_back(*std::move(shared));
  }
  sweep_ = sweep;
  cell_ = cell;
}

}  // namespace noisefloor
