#include "tests/simulation/fake_store.h"

#include <algorithm>

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the writes are named so often here.

namespace {

std::string Text(LeaseId id) { return "lease " + std::to_string(id.value); }

template <typename T>
std::string Compare(const char* what, const T& a, const T& b) {
  return a == b ? "" : std::string(what) + " differs";
}

bool Same(const RecoveredMember& a, const RecoveredMember& b) {
  return a.state == b.state && a.attempt == b.attempt && a.forgiven == b.forgiven &&
         a.accepted == b.accepted;
}

std::string DifferenceOf(const RecoveredSweep& a, const RecoveredSweep& b) {
  const std::string name = ToText(a.id) + ": ";
  if (a.id != b.id) return name + "number";
  if (a.request_id != b.request_id) return name + "request";
  if (a.specification_sha256 != b.specification_sha256) return name + "hash";
  if (a.sharing != b.sharing) return name + "sharing";
  if (a.revision != b.revision) return name + "revision";
  if (a.gpu_time != b.gpu_time) return name + "GPU time";
  if (a.content.notes != b.content.notes || a.content.tags != b.content.tags) return name + "notes";
  if (a.content != b.content) return name + "content";
  if (a.identities != b.identities) return name + "identities";
  if (a.cells_with_evaluation_set != b.cells_with_evaluation_set) return name + "evaluation sets";
  if (a.cells.size() != b.cells.size()) return name + "cells";
  for (size_t i = 0; i < a.cells.size(); ++i) {
    const RecoveredCell& x = a.cells[i];
    const RecoveredCell& y = b.cells[i];
    const bool pins = x.cell.hardware == y.cell.hardware && x.cell.stack == y.cell.stack &&
                      x.fingerprint == y.fingerprint && x.build == y.build;
    if (!pins) return name + "pins of cell " + std::to_string(i);
    if (x.cell.replicates != y.cell.replicates) return name + "size of cell " + std::to_string(i);
    if (x.untouched != y.untouched) return name + "the rest of cell " + std::to_string(i);
    for (uint32_t r = 0; r < x.cell.replicates; ++r) {
      if (x.members.contains(r) == y.members.contains(r) && Same(x.At(r), y.At(r))) continue;
      return name + "member c" + std::to_string(i) + "r" + std::to_string(r) + ": " +
             std::string(Name(x.At(r).state)) + " attempt " + std::to_string(x.At(r).attempt) +
             " against " + std::string(Name(y.At(r).state)) + " attempt " +
             std::to_string(y.At(r).attempt);
    }
  }
  return "";
}

bool Same(const RecoveredLease& a, const RecoveredLease& b) {
  return a.lease == b.lease && a.member == b.member && a.attempt == b.attempt &&
         a.worker == b.worker && a.specification == b.specification && a.sequence == b.sequence &&
         a.slot == b.slot && a.unit == b.unit && a.granted == b.granted && a.gpus == b.gpus;
}

bool Same(const PastLease& a, const PastLease& b) {
  return a.lease == b.lease && a.member == b.member && a.attempt == b.attempt &&
         a.worker == b.worker && a.cause == b.cause && a.reason == b.reason &&
         a.has_outcome == b.has_outcome && a.unit == b.unit;
}

bool Same(const RecoveredWorker& a, const RecoveredWorker& b) {
  return a.worker == b.worker && a.name == b.name && a.identity == b.identity &&
         a.drained == b.drained && a.quarantined == b.quarantined && a.seen == b.seen;
}

bool IsFresh(const RecoveredMember& member) {
  return member.state == MemberState::kWaiting && member.attempt == 0;
}

template <typename T>
bool SameLists(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return Same(x, y); });
}

// Past leases that say something: what counts against a member without a result, its last, and what
// a worker that is known may bring late. The store keeps the others, too.
std::vector<PastLease> Needed(const RecoveredState& state) {
  std::map<SweepId, const RecoveredSweep*> sweeps;
  for (const RecoveredSweep& sweep : state.sweeps) sweeps[sweep.id] = &sweep;
  std::set<WorkerId> workers;
  for (const RecoveredWorker& worker : state.workers) workers.insert(worker.worker);
  std::map<MemberId, LeaseId> last;
  for (const PastLease& past : state.past_leases) last[past.member] = past.lease;
  std::vector<PastLease> needed;
  for (const PastLease& past : state.past_leases) {
    const RecoveredMember member =
        sweeps.at(past.member.sweep)->cells.at(past.member.cell).At(past.member.replicate);
    const bool has_result =
        member.state == MemberState::kDone || member.state == MemberState::kDiverged;
    const bool says = past.attempt > member.forgiven || last.at(past.member) == past.lease;
    const bool late = !past.has_outcome && workers.contains(past.worker);
    if (late || (says && !has_result)) needed.push_back(past);
  }
  return needed;
}

std::string NameOfForgotten(const RecoveredState& state, WorkerId worker) {
  const auto name = state.forgotten.find(worker);
  return name == state.forgotten.end() ? "" : name->second;
}

std::string DifferenceOfPast(const RecoveredState& a, const RecoveredState& b) {
  const std::vector<PastLease> needed = Needed(a);
  if (!SameLists(needed, Needed(b))) return "past leases differ";
  for (const PastLease& past : needed) {
    if (NameOfForgotten(a, past.worker) == NameOfForgotten(b, past.worker)) continue;
    return "names of workers that are forgotten differ";
  }
  return "";
}

}  // namespace

std::string Difference(const RecoveredState& a, const RecoveredState& b) {
  if (a.sweeps.size() != b.sweeps.size()) return "the number of sweeps differs";
  for (size_t i = 0; i < a.sweeps.size(); ++i) {
    if (std::string found = DifferenceOf(a.sweeps[i], b.sweeps[i]); !found.empty()) return found;
  }
  if (!SameLists(a.leases, b.leases)) return "live leases differ";
  if (std::string found = DifferenceOfPast(a, b); !found.empty()) return found;
  if (!SameLists(a.workers, b.workers)) return "workers differ";
  if (a.weights != b.weights) return "weights of owners differ";
  const auto same = [](const auto& x, const auto& y) {
    return x.first == y.first && *x.second == *y.second;
  };
  if (!std::ranges::equal(a.software, b.software, same)) return "software differs";
  if (a.last_sweep != b.last_sweep) return "the last sweep differs";
  if (a.last_lease != b.last_lease) return "the last lease differs";
  if (a.last_event != b.last_event) return "the last event differs";
  return Compare("the last worker", a.last_worker, b.last_worker);
}

void FakeStore::Apply(const std::vector<Write>& writes) {
  if (!writes.empty()) Apply(last_step_ + 1, writes);
}

bool FakeStore::Apply(uint64_t step, const std::vector<Write>& writes) {
  if (step == last_step_) return false;
  if (step != last_step_ + 1) Violate("the number of a step does not follow the last one");
  last_step_ = step;
  touched_.clear();
  for (const Write& write : writes) {
    std::visit([this](const auto& one) { On(one); }, write);
  }
  for (const MemberId& id : touched_) CheckMember(id);
  return true;
}

uint64_t FakeStore::StoredBatches(LeaseId lease) const {
  const auto it = batches_.find(lease);
  return it == batches_.end() ? 0 : it->second;
}

bool FakeStore::HasSweep(SweepId id) const {
  return std::ranges::find(state_.sweeps, id, &RecoveredSweep::id) != state_.sweeps.end();
}

bool FakeStore::HasFresh(SweepId sweep, const RecoveredCell& cell) const {
  const bool has_untouched = cell.members.size() < cell.cell.replicates;
  if (has_untouched && cell.untouched == MemberState::kWaiting) return true;
  const auto rows = fresh_rows_.find({sweep, cell.cell.index});
  return rows != fresh_rows_.end() && rows->second > 0;
}

RecoveredSweep& FakeStore::SweepOf(SweepId id) {
  return *std::ranges::find(state_.sweeps, id, &RecoveredSweep::id);
}

RecoveredCell* FakeStore::FindCell(const MemberId& id) {
  const auto sweep = std::ranges::find(state_.sweeps, id.sweep, &RecoveredSweep::id);
  if (sweep == state_.sweeps.end() || id.cell >= sweep->cells.size()) return nullptr;
  RecoveredCell& cell = sweep->cells[id.cell];
  return id.replicate < cell.cell.replicates ? &cell : nullptr;
}

// After a transaction: what the state says and what the leases say.
void FakeStore::CheckMember(const MemberId& id) {
  if (deleted_.contains(id.sweep)) return;  // In this very transaction.
  const RecoveredCell* cell = FindCell(id);
  if (cell == nullptr) return Violate(ToText(id) + " is not in the store");
  const RecoveredMember member = cell->At(id.replicate);
  const size_t live = live_[id].size();
  if (live > 1) Violate(ToText(id) + " has two live leases");
  if ((live == 1) != (member.state == MemberState::kLeased)) {
    Violate(ToText(id) + " is " + std::string(Name(member.state)) + " with " +
            std::to_string(live) + " live leases");
  }
  const bool result = member.state == MemberState::kDone || member.state == MemberState::kDiverged;
  if (result != results_.contains(id)) Violate(ToText(id) + ": state and result disagree");
}

// What a pin that is taken back must not leave behind.
void FakeStore::CheckUntouched(SweepId sweep, uint32_t cell) {
  for (const auto& [member, lease] : results_) {
    if (member.sweep == sweep && member.cell == cell) {
      Violate(ToText(member) + " has a result, and its cell is unpinned");
    }
  }
  for (const auto& [member, leases] : live_) {
    if (member.sweep == sweep && member.cell == cell && !leases.empty()) {
      Violate(ToText(member) + " is leased, and its cell is unpinned");
    }
  }
}

void FakeStore::On(const KeepSweep& write) {
  if (HasSweep(write.sweep)) return Violate(ToText(write.sweep) + " is kept twice");
  RecoveredSweep& sweep = state_.sweeps.emplace_back();
  sweep.id = state_.last_sweep = write.sweep;
  sweep.content = write.content;
  sweep.request_id = write.request_id;
  sweep.specification_sha256 = write.specification_sha256;
  sweep.sharing = write.sharing;
  for (const sweep::Cell& cell : write.cells) sweep.cells.emplace_back().cell = cell;
}

void FakeStore::On(const KeepSharing& write) {
  if (!HasSweep(write.sweep)) return Violate(ToText(write.sweep) + " shares and is not kept");
  Sharing& sharing = SweepOf(write.sweep).sharing;
  if (sharing.owner != write.sharing.owner) Violate(ToText(write.sweep) + " changes its owner");
  sharing = write.sharing;
}

// Lanes and specifications follow from what stays: plan, class, stack, block and axes of each cell.
void FakeStore::On(const KeepExtension& write) {
  if (!HasSweep(write.sweep)) return Violate(ToText(write.sweep) + " is extended and is not kept");
  RecoveredSweep& sweep = SweepOf(write.sweep);
  const std::vector<sweep::Cell> cells = sweep::Expand(write.content);
  if (cells.size() != sweep.cells.size() + write.cells.size()) {
    return Violate(ToText(write.sweep) + " is extended by other cells than are kept");
  }
  for (size_t i = 0; i < sweep.cells.size(); ++i) {
    sweep::Cell& kept = sweep.cells[i].cell;
    const sweep::Cell& cell = cells[i];
    const bool same = kept.plan == cell.plan && kept.block == cell.block &&
                      kept.axes == cell.axes && kept.rules == cell.rules &&
                      (cell.hardware.empty() || kept.hardware == cell.hardware);
    if (!same) Violate(ToText(write.sweep) + ": a cell became another when it was extended");
    if (cell.replicates < kept.replicates) Violate(ToText(write.sweep) + " became smaller");
    const bool wider = cell.replicates > kept.replicates;
    if (wider && sweep.cells[i].untouched != MemberState::kWaiting &&
        sweep.cells[i].members.size() < kept.replicates) {
      Violate(ToText(write.sweep) + ": members that had ended wait again, as it was extended");
    }
    kept.replicates = cell.replicates;
  }
  for (const sweep::Cell& cell : write.cells) sweep.cells.emplace_back().cell = cell;
  sweep.content = write.content;
  sweep.specification_sha256 = write.specification_sha256;
  sweep.revision = write.revision;
}

void FakeStore::On(const DeleteSweep& write) {
  if (!HasSweep(write.sweep)) return Violate(ToText(write.sweep) + " is deleted and is not kept");
  deleted_.insert(write.sweep);
  for (const RecoveredCell& cell : SweepOf(write.sweep).cells) {
    for (uint32_t r = 0; r < cell.cell.replicates; ++r) {
      if (!HasEnded(cell.At(r).state))
        return Violate(ToText(write.sweep) + " is deleted too early");
    }
  }
  std::erase_if(state_.sweeps, [&](const RecoveredSweep& one) { return one.id == write.sweep; });
  std::erase_if(state_.past_leases,
                [&](const PastLease& past) { return past.member.sweep == write.sweep; });
  const size_t live = std::erase_if(state_.leases, [&](const RecoveredLease& lease) {
    return lease.member.sweep == write.sweep;
  });
  if (live > 0) Violate(ToText(write.sweep) + " is deleted with live leases");
}

void FakeStore::On(const KeepNotes& write) {
  if (!HasSweep(write.sweep)) return Violate(ToText(write.sweep) + " has notes and is not kept");
  sweep::Sweep& content = SweepOf(write.sweep).content;
  if (sweep::CanonicalText(content) != sweep::CanonicalText(write.content)) {
    Violate(ToText(write.sweep) + " becomes another with its notes");
  }
  content = write.content;
  SweepOf(write.sweep).revision = write.revision;
}

void FakeStore::On(const KeepShare& write) {
  if (write.weight == 0) return Violate("an owner has no weight");
  state_.weights[write.owner] = write.weight;
  if (write.weight == 1) state_.weights.erase(write.owner);
}

void FakeStore::On(const scheduler::KeepSoftware& write) {
  state_.software.emplace(write.software.fingerprint, write.software.versions);
}

void FakeStore::On(const KeepWorkerUse& write) {
  const auto it = std::ranges::find(state_.workers, write.worker, &RecoveredWorker::worker);
  if (it == state_.workers.end()) return Violate("a worker that is not known is out of use");
  it->drained = write.drained;
  it->quarantined = write.quarantined;
}

void FakeStore::On(const PinCell& write) {
  const auto sweep = std::ranges::find(state_.sweeps, write.sweep, &RecoveredSweep::id);
  RecoveredCell& cell = sweep->cells.at(write.cell);
  if (write.fingerprint.empty()) {
    CheckUntouched(write.sweep, write.cell);
  } else if (!cell.fingerprint.empty()) {
    Violate(ToText(write.sweep) + ": a cell is pinned twice");
  }
  cell.cell.hardware = write.hardware;
  cell.cell.stack = write.stack;
  cell.fingerprint = write.fingerprint;
  cell.build = write.build;
}

void FakeStore::On(const KeepSpecification& write) {
  const auto kept = specifications_.find({write.sweep, write.cell});
  if (kept != specifications_.end() && kept->second.text() == write.text) return;
  const auto shared = SpecificationTemplate::Parse(write.text, SweepOf(write.sweep).content.seed);
  if (!shared.ok()) return Violate(ToText(write.sweep) + ": a specification that is none");
  specifications_.insert_or_assign({write.sweep, write.cell}, *shared);
}

void FakeStore::On(const PinIdentity& write) {
  const auto sweep = std::ranges::find(state_.sweeps, write.sweep, &RecoveredSweep::id);
  if (!sweep->identities.emplace(write.data_set, write.identity).second) {
    Violate(ToText(write.sweep) + ": an identity is pinned twice");
  }
}

void FakeStore::On(const KeepWorker& write) {
  auto it = std::ranges::find(state_.workers, write.worker, &RecoveredWorker::worker);
  if (it == state_.workers.end()) {
    it = state_.workers.insert(it,
                               RecoveredWorker{.worker = write.worker, .identity = write.identity});
    state_.last_worker = std::max(state_.last_worker, write.worker);
  }
  if (it->identity != write.identity) Violate("a worker changed its identity");
  it->name = write.name;
  it->seen = write.seen;
}

void FakeStore::On(const KeepSeen& write) {
  const auto known = std::ranges::find(state_.workers, write.worker, &RecoveredWorker::worker);
  if (known == state_.workers.end()) return Violate("a worker is gone that is not known");
  known->seen = write.seen;
}

void FakeStore::On(const ForgetWorker& write) {
  const bool holds = std::ranges::any_of(
      state_.leases, [&](const RecoveredLease& lease) { return lease.worker == write.worker; });
  if (holds) Violate("a worker with a live lease is forgotten");
  const auto known = std::ranges::find(state_.workers, write.worker, &RecoveredWorker::worker);
  if (known == state_.workers.end()) return Violate("a worker is forgotten that is not known");
  state_.forgotten[write.worker] = known->name;
  state_.workers.erase(known);
}

void FakeStore::On(const GrantLease& write) {
  touched_.insert(write.member);
  if (granted_.contains(write.lease)) return Violate(Text(write.lease) + " is granted twice");
  if (write.lease <= state_.last_lease) Violate(Text(write.lease) + " does not rise");
  const auto shared = specifications_.find({write.member.sweep, write.member.cell});
  if (shared == specifications_.end() ||
      shared->second.ForReplicate(write.member.replicate) != write.specification) {
    Violate(Text(write.lease) + ": its specification does not follow from its cell's");
  }
  granted_[write.lease] = {write.member, write.attempt, write.worker, write.unit};
  live_[write.member].insert(write.lease);
  state_.last_lease = std::max(state_.last_lease, write.lease);
  state_.leases.push_back({write.lease, write.member, write.attempt, write.worker,
                           write.specification, 0, write.slot, write.unit, write.at, write.gpus});
}

void FakeStore::On(const DropLease& write) {
  const auto it = granted_.find(write.lease);
  if (it == granted_.end()) return Violate(Text(write.lease) + " is dropped but was never granted");
  if (!it->second.live) return Violate(Text(write.lease) + " is dropped twice");
  it->second.live = false;
  live_[it->second.member].erase(write.lease);
  touched_.insert(it->second.member);
  const auto live =
      std::ranges::lower_bound(state_.leases, write.lease, {}, &RecoveredLease::lease);
  if (live != state_.leases.end() && live->lease == write.lease) {
    const absl::Duration used = std::max(write.at - live->granted, absl::ZeroDuration());
    if (write.used) SweepOf(it->second.member.sweep).gpu_time += live->gpus * used;
    state_.leases.erase(live);
  }
  if (write.cause == CauseClass::kNone) return;
  const PastLease past = {write.lease, it->second.member, it->second.attempt,     it->second.worker,
                          write.cause, write.reason,      it->second.has_outcome, it->second.unit};
  const auto place =
      std::ranges::lower_bound(state_.past_leases, past.lease, {}, &PastLease::lease);
  state_.past_leases.insert(place, past);
}

void FakeStore::On(const KeepRecords& write) {
  if (!granted_.contains(write.lease)) return Violate("records of an unknown lease");
  if (write.batch.sequence != StoredBatches(write.lease) + 1) {
    Violate(Text(write.lease) + ": record batches are not stored one after the other");
  }
  batches_[write.lease] = write.batch.sequence;
  const auto it = std::ranges::lower_bound(state_.leases, write.lease, {}, &RecoveredLease::lease);
  if (it == state_.leases.end() || it->lease != write.lease)
    return Violate(Text(write.lease) + ": records after its end");
  it->sequence = write.batch.sequence;
}

void FakeStore::On(const KeepOutcome& write) {
  const auto it = granted_.find(write.lease);
  if (it == granted_.end() || it->second.member != write.member ||
      it->second.attempt != write.attempt) {
    return Violate(Text(write.lease) + ": an outcome of an unknown attempt");
  }
  if (it->second.has_outcome) Violate(Text(write.lease) + " has two outcomes");
  it->second.has_outcome = true;
  touched_.insert(write.member);
  if (!write.accepted) {
    const auto past =
        std::ranges::lower_bound(state_.past_leases, write.lease, {}, &PastLease::lease);
    if (past != state_.past_leases.end() && past->lease == write.lease) past->has_outcome = true;
    return;
  }
  if (!results_.emplace(write.member, write.lease).second) {
    Violate(ToText(write.member) + " is accepted twice");
  }
  accepted_[write.lease] = write.member;
  if (RecoveredCell* cell = FindCell(write.member)) {
    cell->members[write.member.replicate].accepted = write.lease;
  }
  const bool has_images = std::ranges::any_of(
      write.outcome.artifacts, [](const auto& a) { return a.kind == "evaluation_images"; });
  if (!has_images) return;
  const auto sweep = std::ranges::find(state_.sweeps, write.member.sweep, &RecoveredSweep::id);
  auto& cells = sweep->cells_with_evaluation_set;
  const auto place = std::ranges::lower_bound(cells, write.member.cell);
  if (place == cells.end() || *place != write.member.cell) cells.insert(place, write.member.cell);
}

void FakeStore::On(const SetMemberState& write) {
  touched_.insert(write.member);
  RecoveredCell* cell = FindCell(write.member);
  if (cell == nullptr) return Violate(ToText(write.member) + " is not in the store");
  const auto [row, is_new] = cell->members.try_emplace(write.member.replicate);
  RecoveredMember& member = row->second;
  size_t& fresh = fresh_rows_[{write.member.sweep, write.member.cell}];
  if (!is_new && IsFresh(member)) --fresh;
  if (write.attempt < member.attempt) Violate(ToText(write.member) + ": attempts go back");
  member.state = write.state;
  member.attempt = write.attempt;
  member.forgiven = write.forgiven;
  if (IsFresh(member)) ++fresh;
}

void FakeStore::On(const SetUntouched& write) {
  RecoveredCell* cell = FindCell({write.sweep, write.cell, 0});
  if (cell == nullptr) return Violate(ToText(write.sweep) + ": a cell is not in the store");
  if (cell->members.size() == cell->cell.replicates) {
    Violate(ToText(write.sweep) + ": a cell without untouched members is told what they are");
  }
  cell->untouched = write.state;
}

void FakeStore::On(const AppendEvent& write) {
  if (write.kind.empty() || write.text.empty()) Violate("an event without words");
  if (write.number <= state_.last_event) Violate("the number of an event does not rise");
  state_.last_event = write.number;
}

// No world of the simulation has people who make tokens.
void FakeStore::On(const KeepPool&) { Violate("a pool that nobody asked for"); }
void FakeStore::On(const KeepLaunch&) { Violate("a launch that nobody asked for"); }
void FakeStore::On(const DropPool&) { Violate("a pool that nobody asked to drop"); }
void FakeStore::On(const KeepToken&) { Violate("a token that nobody asked for"); }

void FakeStore::On(const RevokeToken&) { Violate("a token is revoked that nobody has"); }

// Nor people who make room.
void FakeStore::On(const CollectArtifacts&) { Violate("files are removed that nobody named"); }

}  // namespace noisefloor::test
