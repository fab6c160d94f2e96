// What the scheduler is told. Plain values; the edges translate into them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "common/base/ids.h"
#include "common/base/inventory.h"
#include "coordinator/access/access_list.h"
#include "coordinator/fleet/pool.h"
#include "coordinator/ingest/outcome.h"
#include "coordinator/scheduler/member_selection.h"
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
  int32_t priority = 0;              // As in Sharing.
  uint32_t max_failures = 0;
  std::map<std::string, uint32_t> limits = {};
  uint32_t weight = 1;   // As in Sharing; never 0.
  double gpu_hours = 0;  // As in Sharing; finite, from 0.
};
struct SweepCancelled {
  RequestNumber request = 0;
  SweepId sweep;
  std::string caller;
  Selection selection = {};
};
struct SweepRetried {
  RequestNumber request = 0;
  SweepId sweep;
  std::string caller;
  Selection selection = {};
};
// What sweep::Extend or sweep::Settled has made of a kept sweep.
struct SweepExtended {
  RequestNumber request = 0;
  SweepId sweep;
  std::string from_sha256;  // Specification hash of what was extended: no longer so, then refused.
  sweep::Sweep content;
  std::string specification_sha256;  // Of it.
  std::string caller;
  std::string settled = "";  // What its `until` has decided, in words; "": a person extends it.
};
// A sweep that has ended goes for good.
struct SweepDeleted {
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
struct CollectedArtifact {
  LeaseId lease;
  std::string kind;
  std::string path;
  friend bool operator==(const CollectedArtifact&, const CollectedArtifact&) = default;
};
// Files of members of a sweep make room; what is told of them stays. The files themselves go when
// this is kept.
struct ArtifactsCollected {
  RequestNumber request = 0;
  SweepId sweep;
  std::vector<CollectedArtifact> artifacts;
  std::string caller;
};
// What a fleet::Fleet has decided: it is kept before the cluster hears of it.
struct FleetDecided {
  RequestNumber request = 0;
  std::vector<fleet::PoolRecord> pools;
  std::vector<fleet::LaunchRecord> launches;
  std::vector<uint64_t> gone;  // Pools that are no more.
  std::vector<fleet::Happening> happenings;
  std::string caller;
};
// The store is a backup's: whoever holds a lease of it holds it of a coordinator that is no more.
struct DataRestored {
  std::string reason;  // In words.
};
// What is left out stays as it is. Limits are checked where it is read.
struct SweepUpdated {
  RequestNumber request = 0;
  SweepId sweep;
  std::optional<int32_t> priority = {};
  std::optional<bool> paused = {};
  std::optional<uint32_t> max_failures = {};
  std::optional<bool> archived = {};
  std::optional<std::string> notes = {};
  std::map<std::string, std::string> set_tags = {};
  std::set<std::string> remove_tags = {};
  std::string caller = {};
  std::map<std::string, uint32_t> set_limits = {};  // As in Sharing; 0 takes one away.
  std::optional<uint32_t> weight = {};              // Never 0.
  std::optional<double> gpu_hours = {};             // Finite, from 0.
};
// What an owner gets of the fleet, from the next lease on.
struct ShareUpdated {
  RequestNumber request = 0;
  std::string owner;
  uint32_t weight = 1;  // Never 0.
  std::string caller = {};
};
// Takes a worker, or devices of it, out of use or back into it. What is left out stays as it is.
struct WorkerUpdated {
  RequestNumber request = 0;
  std::string worker;  // Its name.
  std::optional<bool> drained = {};
  std::string unit = {};  // A device, of which `quarantined` tells; "" = all that it has.
  std::optional<bool> quarantined = {};
  std::string caller = {};
};
// What a fingerprint was taken of.
struct Software {
  std::string fingerprint;
  std::shared_ptr<const Versions> versions;  // shared: with copies of the state. Never null.
  std::string text;                          // The same as a JSON object, for the store.
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
  std::vector<Software> software = {};  // Of the offers that tell of it, each fingerprint once.
  std::string version;
  std::vector<HeldLease> held;
  absl::Duration lives = absl::InfiniteDuration();  // Until a cluster ends it.
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
  bool resumes = false;  // Cut off, another attempt goes on, on whatever worker.
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
    std::variant<SweepSubmitted, SweepCancelled, SweepRetried, SweepUpdated, SweepExtended,
                 SweepDeleted, ShareUpdated, WorkerUpdated, TokenAdded, TokensRevoked, FleetDecided,
                 ArtifactsCollected, DataRestored, WorkerConnected, SessionLost, Heartbeat,
                 WorkerDraining, AttemptStarted, RecordsArrived, AttemptFinished, StorageFailed,
                 StorageRecovered, Tick, Continue>;

}  // namespace noisefloor::scheduler
