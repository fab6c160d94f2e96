// What the scheduler knows, as plain data, and the small steps that keep its parts in agreement.
// The files of this folder share it; nobody else includes it. Not thread-safe.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "common/trainer_protocol/specification_template.h"
#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/event.h"
#include "coordinator/scheduler/lease.h"
#include "coordinator/scheduler/lease_set.h"
#include "coordinator/scheduler/queue.h"
#include "coordinator/scheduler/recovered.h"
#include "coordinator/scheduler/replicate_set.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/scheduler/small_state.h"
#include "coordinator/scheduler/undo.h"

namespace noisefloor::scheduler {

struct Member {
  MemberState state = MemberState::kWaiting;
  bool touched = false;  // Something happened to it: it has a row of its own.
  uint32_t attempt = 0;
  uint32_t forgiven = 0;
  LeaseId lease;  // Live, or that of the accepted result; else 0.
};

struct CellState {
  sweep::Cell cell;  // Pins filled in.
  // Of replicate 0 up to the highest that is touched; the others are as `untouched` says.
  std::vector<Member> members;
  MemberState untouched = MemberState::kWaiting;
  ReplicateSet fresh;  // Waiting, and never attempted.
  std::string fingerprint;
  std::string build;
  std::string data_set;
  std::string own_identity;  // Expected by the specification; empty: none.
  sweep::EvaluationKey evaluation;
  std::string schema;   // Of its sweep.
  int64_t devices = 0;  // That its members train on; 0: its trainers have no such setting.
  bool control = false;
  bool has_waited = false;                         // For a faster class: see patience.h. Soft.
  absl::Duration longest;                          // Of its attempts: see lifetime.h. Soft.
  std::map<std::string, uint32_t> leases_by_unit;  // Ever granted since the start. Soft.
  // What its members are given now, and the identity in it; made at its first lease. Soft.
  // shared: with copies of this state.
  std::shared_ptr<const SpecificationTemplate> specification;
  std::string specification_identity;
};

struct SweepState {
  SweepId id;
  sweep::Sweep content;
  std::string specification_sha256;
  std::string request_id;
  std::map<std::string, std::string> identities;
  std::set<uint32_t> cells_with_evaluation_set;
  std::set<sweep::EvaluationKey> kept_evaluations;            // Of the cells above.
  std::map<sweep::EvaluationKey, LeaseId> evaluation_leases;  // Who was asked. Soft.
  std::vector<CellState> cells;
  Sharing sharing;
  uint32_t owner = 0;     // Whose sharing.owner it is: see State::owners.
  uint32_t revision = 0;  // How often notes or tags were changed.
  LeaseId last_lease;     // Granted since the start; 0: none. Soft.
  SweepCounts counts;
  std::map<std::string, uint32_t> running;       // Members with a live lease, by class; no zeros.
  std::map<std::string, TrainTimes> times;       // By hardware class.
  std::map<std::string, bool> resumes;           // By stack: see lifetime.h. Soft.
  Rate ended;                                    // Members that did. Soft.
  bool spent = false;                            // Its GPU hours are: see gpu_use.h. Soft.
  std::map<WorkerId, std::string> excluded;      // And why. Soft.
  std::optional<absl::Time> without_data_since;  // See data_grace. Soft.
};

// How a unit of a worker has done lately.
struct Health {
  std::vector<MemberId> failed_in_row;
  absl::Time quarantined_until = absl::InfinitePast();
  uint32_t lost_in_row = 0;  // Attempts that ended with lost_device since the last success.
  absl::Time rests_until = absl::InfinitePast();
};

// Slots of a worker on one unit that offer the same.
struct SlotGroup {
  std::string unit;
  std::vector<uint32_t> offers;  // Places in the inventory, the preferred first.
  uint32_t count = 0;
  std::set<uint32_t> free;  // Slots without a lease.
};

struct Worker {
  WorkerId id;
  std::string name;
  uint64_t identity = 0;
  bool drained = false;               // A person lets it take nothing.
  std::set<std::string> quarantined;  // Devices that a person took out of use; "" = all.
  std::optional<SessionId> session;   // From here on soft.
  // What it said when it connected; null: not since the start.
  // shared: see WorkerConnected.
  std::shared_ptr<const Inventory> inventory;
  std::vector<SettingsSchemaRef> schemas;  // Of its offers, but those of version 0.2.
  std::vector<SlotGroup> groups;
  std::vector<uint32_t> group_of_slot;
  std::vector<LeaseId> lease_of_slot;    // 0: none.
  std::map<std::string, Health> health;  // By unit; of those without a failure none.
  bool draining = false;
  absl::Time heard;  // Last sign of life; of one with a live lease not before a restart.
  absl::Time seen;   // The same as far as it is kept. Not soft.
  absl::Time ends = absl::InfiniteFuture();  // A cluster ends it: nothing longer begins.
  std::map<LeaseId, MemberId> leases;
  uint32_t unheard = 0;  // Leases that it has lost, and of whose end it may still tell.
  uint32_t past = 0;     // Of State::past_leases.
};

// A worker that is forgotten, while something that is kept names it.
struct GoneWorker {
  std::string name;
  uint32_t past = 0;  // As in Worker; never 0.
};

// Where a member can be trained.
struct Place {
  const Worker* worker = nullptr;
  const SlotGroup* group = nullptr;
  friend bool operator==(const Place&, const Place&) = default;
};

// What is left of a sweep that was deleted.
struct Removed {
  SweepState sweep;
  uint32_t cell = 0;  // Where forgetting it goes on.
  uint32_t replicate = 0;
};

// What grows with sweeps, fleet and leases: it is taken back by what was touched.
struct LargeState {
  UndoMap<SweepId, SweepState> sweeps;
  UndoMap<std::string, SweepId> sweeps_by_request;
  UndoMap<std::string, UndoSet<SweepId>> sweeps_by_hash;  // No empty ones.
  UndoMap<WorkerId, Worker> workers;
  // Connected, not draining, with a free slot: only these are looked at to place something.
  UndoSet<WorkerId> ready;
  UndoMap<Pool, UndoSet<WorkerId>> ready_by_offer;  // The same by what they offer; no empty ones.
  UndoMap<uint64_t, WorkerId> workers_by_identity;
  UndoMap<std::string, WorkerId> connected_by_name;
  UndoMap<SessionId, WorkerId> sessions;
  UndoMap<LeaseId, Lease> leases;
  UndoSet<std::pair<absl::Time, LeaseId>> expiry;
  UndoMap<LeaseId, PastLease> past_leases;  // See past_leases.h for which, and their bounds.
  UndoMap<MemberId, std::vector<LeaseId>> past_by_member;  // By number; no empty ones.
  // Of past_leases, those of which their worker, which is not forgotten, may still tell the end.
  UndoSet<std::pair<WorkerId, LeaseId>> unheard;
  UndoMap<WorkerId, GoneWorker> gone_workers;
  LeaseSet accepted;
  UndoMap<Pool, Queue> waiting;  // None without a line.
  // Why a worker of this name and identity was turned away the last time. At most kMostRefused of
  // sessions.cc. Soft.
  UndoMap<std::pair<std::string, uint64_t>, std::string> refused_workers;
  UndoQueue<Removed> removed;  // Sweeps that are deleted, and not forgotten whole yet. Soft.

  // All of the above: whoever adds to it must name it here.
  template <typename Visit>
  void Each(const Visit& visit) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = *this;
    const auto each = [&](auto&... all) { (visit(all), ...); };
    each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
  }
};

// Has nothing of its own, which nobody would take back.
struct State final : LargeState, SmallState {};
static_assert(sizeof(State) <= sizeof(LargeState) + sizeof(SmallState));

// One Step: what it works on.
struct Turn {
  State& state;
  absl::Time now;
  Effects& effects;

  void Keep(Write write) { effects.writes.push_back(std::move(write)); }
  void Tell(Send send) { effects.sends.push_back(std::move(send)); }
  // The rest of what many need is for the next Step.
  bool IsFull() const { return effects.writes.size() >= state.options.most_writes; }
  void Happened(const MemberId& member, std::string kind, std::string text);
  // `caller`: who asked for it.
  void Happened(std::optional<SweepId> sweep, std::string kind, std::string text,
                std::string caller = "");
};

// So many more members of that class in that state, or fewer.
void CountInClass(State& state, const std::string& hardware, MemberState in, int64_t more);
// All members of the cell; `sign`: 1 when they come, -1 when they go.
void CountCell(State& state, const CellState& cell, int64_t sign);
// Nothing when there is none.
std::optional<Member> FindMember(const State& state, const MemberId& id);
Member MemberOf(const CellState& cell, uint32_t replicate);
// The store keeps whole microseconds.
absl::Time AsKept(absl::Time time);
// Gives the member a row; the store's is the caller's (SetState). It must be there.
Member& Touch(State& state, const MemberId& id);
// Null when there is none.
SweepState* FindSweep(State& state, SweepId id);
CellState& CellOf(State& state, const MemberId& id);
const CellState& CellOf(const State& state, const MemberId& id);
Worker* WorkerOf(State& state, SessionId session);

WaitKey KeyOf(const MemberId& id);
MemberId MemberOf(const WaitKey& key);
Pool PoolOf(const CellState& cell);

// No member of the cell has a live lease or a result: nothing was built on what it is pinned to.
bool NothingBuiltOn(const CellState& cell);

// Call after what changes a worker's session, draining or free slots.
void UpdateReady(State& state, const Worker& worker);
bool HasFreeSlot(const Worker& worker);
// Connected, and neither the worker nor a person says that it shall take nothing.
bool IsOpen(const Worker& worker);

// What the worker has from now on. Leases keep their slots where these are still what they were.
// Call UpdateReady after it.
// shared: see WorkerConnected.
void SetInventory(State& state, Worker& worker, std::shared_ptr<const Inventory> inventory);
// A free one of the group; the lease has it until FreeSlot.
uint32_t TakeSlot(State& state, Worker& worker, SlotGroup& group, const Lease& lease);
void FreeSlot(State& state, Worker& worker, const Lease& lease);

// The sweep's line for the pool, made when there is none; an empty one goes with DropIfEmpty.
Line& LineOf(State& state, const Pool& pool, SweepId sweep);
void DropIfEmpty(State& state, const Pool& pool, SweepId sweep);
// Null when nothing of the sweep waits for the pool.
const Line* FindLine(const State& state, const Pool& pool, SweepId sweep);

// Of a sweep that is new: known by its owner from now on.
void SetOwner(State& state, SweepState& sweep);
// Whether its waiting members may have leases, as far as people have a say.
bool MayLease(const SweepState& sweep);
// The same of those that wait for this pool, which its limits have a say in, too.
bool MayLease(const SweepState& sweep, const Pool& pool);
// As many of its members run on the class as may.
bool AtLimit(const SweepState& sweep, const std::string& hardware);
Standing StandingOf(const SweepState& sweep);
Turnstile TurnOf(const State& state, const SweepState& sweep);
// Shares as `sharing` says from now on, and may or may not begin anything for its GPU hours; the
// store's row is the caller's.
void SetSharing(State& state, SweepState& sweep, Sharing sharing, bool spent);

// Into and out of the waiting members; the state itself is the caller's.
void AddWaiting(State& state, const MemberId& id);
void RemoveWaiting(State& state, const MemberId& id);
// All members of the cell that are not touched.
void AddUntouched(State& state, SweepId sweep, CellState& cell);
void RemoveUntouched(State& state, SweepId sweep, CellState& cell);
// The cell, whose untouched members wait, has so many members from now on. Not fewer than before.
void AddReplicates(State& state, SweepId sweep, CellState& cell, uint32_t replicates);

// A cell as the scheduler sees it.
CellState MakeCell(const sweep::Sweep& sweep, sweep::Cell cell);
// What data of this set must be; empty: nothing is known yet.
std::string ExpectedIdentity(const SweepState& sweep, const CellState& cell);

// Sets the state, in the store too; moves the member into or out of the waiting ones.
void SetState(Turn& turn, const MemberId& id, MemberState state);
// The same for all members of the cell that are not touched. Returns how many they are; none of
// them is in another state than before when they are in this one.
uint32_t SetUntouchedState(Turn& turn, SweepState& sweep, CellState& cell, MemberState state);
uint32_t UntouchedCount(const CellState& cell);

// How far the lease is; the share that the sweep counts for it follows.
void SetProgress(Turn& turn, Lease& lease, int64_t step, int64_t step_count);

std::string WorkerName(const State& state, WorkerId id);
// The one of that name: connected, else the newest. Null: there is none.
const Worker* WorkerNamed(const State& state, const std::string& name);
// "node7", or "GPU-8a3f of node7" where the worker has several units.
std::string NameOf(const Worker& worker, const std::string& unit);
std::string Text(LeaseId id);                              // "lease 17"
std::string Count(size_t count, const std::string& what);  // "1 slot", "2 slots"

}  // namespace noisefloor::scheduler
