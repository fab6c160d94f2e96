// The part of what the scheduler knows that does not grow with sweeps, fleet and leases.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "coordinator/scheduler/change.h"
#include "coordinator/scheduler/event.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/scheduler/turns.h"

namespace noisefloor::scheduler {

// Who submits sweeps.
struct Owner {
  std::string name;
  Standing standing;
};

// A cell that takes any class leaves a free slot for one of a faster class: see patience.h.
struct Wait {
  std::string hardware;      // That it waits for.
  double seconds_there = 0;  // Mean time of its sweep's members there, and on what it leaves.
  double seconds_here = 0;
  absl::Time until;
};

// It is taken back as a whole, from a copy.
struct SmallState {
  Options options;
  std::vector<Owner> owners;  // Of sweeps or of weights, in the order in which they came.
  std::map<std::string, uint32_t> owners_by_name;
  std::map<std::string, SettingsSchemaRef> schemas;  // Told since the start, by identity.
  // What fingerprints were taken of; never null.
  // shared: immutable.
  std::map<std::string, std::shared_ptr<const Versions>> software;
  std::map<std::string, uint32_t> offered_classes;  // By how many connected workers.
  std::map<std::string, uint32_t> offered_stacks;
  uint64_t pools_changed = 0;  // How often one of `waiting` came to have turns, or went.
  // Workers, members and queues that were looked at to decide: what grows with the fleet or the
  // queue would show here. Soft.
  mutable uint64_t looked_at = 0;
  // Members by the hardware class of their cell ("": any) and state; none of zeros alone.
  ClassCounts by_class;
  SweepId last_sweep;
  LeaseId last_lease;
  WorkerId last_worker;
  EventId last_event;
  std::optional<absl::Time> storage_failed_since;
  std::deque<Change> changes;  // In the order in which they were asked for.
  // By sweep and cell; at most kMostWaiting. Soft.
  std::map<std::pair<SweepId, uint32_t>, Wait> waits;
  bool placement_due = false;  // Something changed that may let a member be leased.
  std::optional<absl::Time> last_tick;
  absl::Time restored = absl::InfinitePast();    // When it was, if it was.
  absl::Time expires_at = absl::InfinitePast();  // Leases up to then are over: of the last Tick.
  absl::Time now = absl::InfinitePast();         // Of the last Step.
};

}  // namespace noisefloor::scheduler
