// Which stacks workers have offered, and with which settings, as the coordinator needs them once,
// when it starts: until those workers are back, sweeps over their stacks are checked against these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/trainer_protocol/schema.h"

namespace noisefloor {

// A stack, and who has offered it last.
struct OfferedStack {
  std::string stack;
  SettingsSchemaRef schema;  // shared: immutable. Never null.
  WorkerId worker;
  std::string worker_name;
  absl::Time seen;  // Its last sign of life, to the hour.
};

// Workers that are looked at: those that are not forgotten before others, the newest first.
inline constexpr int kMostStackWorkers = 1000;

// By name, each stack once. A worker that is not forgotten stands before any that is. The store of
// `home` is of this program's schema. Reads on a connection of its own. DataLoss: a row that makes
// no sense; the message names it.
absl::StatusOr<std::vector<OfferedStack>> ReadOfferedStacks(const std::string& home);

}  // namespace noisefloor
