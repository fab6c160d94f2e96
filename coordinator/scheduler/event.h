// What the scheduler is told. Plain values; the edges translate into them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/base/inventory.h"
#include "coordinator/access/access_list.h"
#include "coordinator/ingest/outcome.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::scheduler {

// Number of an API call that waits for its answer; made by the caller of Step.
using RequestNumber = uint64_t;

struct HeldLease {
  LeaseId lease;
  uint64_t sequence = 0;  // Highest record batch sent.
  int64_t step = 0;
  int64_t step_count = 0;
};

struct SweepSubmitted {
  RequestNumber request = 0;
  sweep::Sweep sweep;
  std::string specification_sha256;  // Of CanonicalText.
  std::string request_id;            // Of the client; "" = none.
  bool resume = false;               // Answer with an existing sweep of the same hash.
  std::string file;                  // That it was read from, as submitted; "" = none.
  std::string caller;                // Who asks; "" = not known. So below.
};
struct SweepCancelled {
  RequestNumber request = 0;
  SweepId sweep;
  std::string caller;
};
struct SweepRetried {
  RequestNumber request = 0;
  SweepId sweep;
  std::string caller;
};
// What an AccessList has decided.
struct TokenAdded {
  RequestNumber request = 0;
  access::TokenRecord token;
  std::string caller;
};
struct TokensRevoked {
  RequestNumber request = 0;
  std::string identity;  // Whose all of them are.
  std::vector<uint64_t> tokens;
  std::string caller;
};
// Its limits are checked where it is read: a name, an identity, an inventory whose places are
// there.
struct WorkerConnected {
  SessionId session;
  std::string name;
  uint64_t identity = 0;
  // shared: with states and statuses, while the worker may register again with another.
  std::shared_ptr<const Inventory> inventory;
  std::string inventory_text;  // The same as JSON, for the store.
  // Of its offers, each once, but those of version 0.2.
  // shared: immutable.
  std::vector<SettingsSchemaRef> schemas;
  std::string version;
  std::vector<HeldLease> held;
};
struct SessionLost {
  SessionId session;
};
struct Heartbeat {
  SessionId session;
  std::vector<HeldLease> held;
};
struct WorkerDraining {
  SessionId session;
};
struct AttemptStarted {
  SessionId session;
  LeaseId lease;
  std::string data_identity;
};
struct RecordsArrived {
  SessionId session;
  LeaseId lease;
  ingest::RecordBatch batch;
};
struct AttemptFinished {
  SessionId session;
  LeaseId lease;
  ingest::AttemptOutcome outcome;
  std::vector<std::string> missing_artifacts;  // SHA-256 of those not in the blob store.
};
// The store cannot keep anything (full disk): lease nothing until StorageRecovered.
struct StorageFailed {
  std::string message;
};
struct StorageRecovered {};
struct Tick {};
// What Effects::more asks for.
struct Continue {};

using Event =
    std::variant<SweepSubmitted, SweepCancelled, SweepRetried, TokenAdded, TokensRevoked,
                 WorkerConnected, SessionLost, Heartbeat, WorkerDraining, AttemptStarted,
                 RecordsArrived, AttemptFinished, StorageFailed, StorageRecovered, Tick, Continue>;

}  // namespace noisefloor::scheduler
