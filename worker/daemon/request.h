// From a lease to what a trainer is told: checks that the member can run here. Pure but for
// looking where the data lie.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/inventory.h"
#include "common/base/status.h"
#include "common/trainer_protocol/json.h"
#include "worker/daemon/attempt_result.h"
#include "worker/daemon/stacks.h"
#include "worker/devices/class_variables.h"
#include "worker/slots/message.h"

namespace noisefloor {

// A StartMember of the protocol.
struct MemberOrder {
  LeaseId lease;
  std::string member;
  uint32_t attempt = 0;
  std::string specification;  // Canonical JSON.
  std::string specification_sha256;
  bool write_evaluation_set = false;
  uint32_t slot = 0;
  std::string weights_sha256 = {};  // Of an inference; else "".
};

// What this worker can do.
struct Offer {
  Stacks stacks;
  Inventory inventory;
  std::vector<std::string> data_roots;
  bool may_fetch = false;  // Data sets that are in none of them, from the coordinator.
};

struct PreparedMember {
  PassedRequest request;  // Without its work directory.
  slots::TrainerKey key;
  std::optional<Specification> built_in;  // For the trainer without a program, which reads it here.
  std::string fetch;            // The data set that must come before it starts; empty: none.
  bool can_do_without = false;  // It may be one that its trainer makes by itself.
  std::string weights;          // SHA-256 of those that must come before it starts; empty: none.
  AttemptResult refusal;        // When `runs` is false: what the coordinator is told at once.
  bool runs = false;
};
PreparedMember Prepare(const MemberOrder& order, const Offer& offer);

// That a data set is in none of the roots, for people.
std::string NotInRoots(const std::string& data_set, const std::vector<std::string>& roots);

}  // namespace noisefloor
