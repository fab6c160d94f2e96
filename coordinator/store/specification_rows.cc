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
  NF_RETURN_IF_ERROR(Load(member.sweep, member.cell, sweep_seed));
  for (const SpecificationTemplate& shared : templates_) {
    std::string text = shared.ForReplicate(member.replicate);
    if (Sha256Hex(text) == sha256) return text;
  }
  return Damaged(ToText(member), "no specification of its cell gives the hash of its attempt");
}

absl::Status SpecificationRows::Load(SweepId sweep, uint32_t cell, uint64_t sweep_seed) {
  if (sweep == sweep_ && cell == cell_) return absl::OkStatus();
  sweep_ = SweepId{};
  templates_.clear();
  rows_.reset();
  rows_.bind(1, static_cast<int64_t>(sweep.value));
  rows_.bind(2, static_cast<int64_t>(cell));
  while (rows_.executeStep()) {
    auto shared = SpecificationTemplate::Parse(rows_.getColumn(0).getString(), sweep_seed);
    if (!shared.ok()) {
      return Damaged("specification of " + ToText(sweep) + "c" + std::to_string(cell),
                     Message(shared.status()));
    }
    templates_.push_back(*std::move(shared));
  }
  sweep_ = sweep;
  cell_ = cell;
  return absl::OkStatus();
}

}  // namespace noisefloor
