#include "coordinator/scheduler/placement.h"

#include <algorithm>
#include <limits>

#include "coordinator/scheduler/leases.h"
#include "coordinator/scheduler/quarantine.h"
#include "coordinator/scheduler/retry.h"

namespace noisefloor::scheduler {

namespace {

// How far behind the head of a pool to look for a member that spreads better.
constexpr size_t kSpreadWindow = 16;

// Members with an attempt behind them that no free worker may have: after so many the others of
// their kind are left for the next time.
constexpr size_t kMostPassedOver = 64;

using FreeWorkers = std::vector<const Worker*>;

// Order in which what waits is leased: that of WaitKey, but within a replicate the class that
// trains longest first, so that no long training is left to run alone at the end. A class of which
// nothing has ended yet comes before those that are known.
struct Rank {
  SweepId sweep;
  uint32_t replicate = 0;
  double minus_seconds = 0;
  uint32_t cell = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

Rank RankOf(const State& state, const Pool& pool, const WaitKey& key) {
  const auto& times = state.sweeps.at(key.sweep).times;
  const auto known = times.find(pool.hardware);
  const double seconds = known == times.end() ? std::numeric_limits<double>::infinity()
                                              : known->second.sum / known->second.count;
  return {key.sweep, key.replicate, -seconds, key.cell};
}

bool IsFree(const Worker& worker, const Options& options, absl::Time now) {
  return TakesLeases(worker, options, now) && !IsResting(worker, now) &&
         worker.leases.size() < worker.slots;
}

// A pool, and the free workers that offer what it asks for. At least one.
struct Candidate {
  const Pool* pool = nullptr;
  FreeWorkers workers;
};

std::vector<Candidate> FindCandidates(const State& state, absl::Time now) {
  if (state.waiting.empty()) return {};
  FreeWorkers free;
  for (const WorkerId id : state.ready) {
    const Worker& worker = state.workers.at(id);
    if (IsFree(worker, state.options, now)) free.push_back(&worker);
  }
  state.looked_at += state.ready.size();
  std::vector<Candidate> candidates;
  if (free.empty()) return candidates;
  for (const auto& [pool, queue] : state.waiting) {
    Candidate candidate = {&pool, {}};
    for (const Worker* worker : free) {
      if (Offers(*worker, pool)) candidate.workers.push_back(worker);
    }
    state.looked_at += free.size();
    if (!candidate.workers.empty()) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

void RemoveWorker(std::vector<Candidate>& candidates, WorkerId id) {
  for (Candidate& candidate : candidates) {
    std::erase_if(candidate.workers, [&](const Worker* worker) { return worker->id == id; });
  }
  std::erase_if(candidates, [](const Candidate& candidate) { return candidate.workers.empty(); });
}

uint32_t LeasesOn(const CellState& cell, const std::string& unit) {
  const auto it = cell.leases_by_unit.find(unit);
  return it == cell.leases_by_unit.end() ? 0 : it->second;
}

// The worker of `free` that may have the member: of a control cell the one whose unit has had the
// fewest of it, then the one with the smallest share of its slots in use. Null: none may.
const Worker* BestWorker(const State& state, const MemberId& id, const FreeWorkers& free,
                         absl::Time now) {
  const CellState& cell = CellOf(state, id);
  const Worker* best = nullptr;
  const auto before = [&](const Worker& a, const Worker& b) {
    const uint32_t on_a = cell.control ? LeasesOn(cell, a.unit) : 0;
    const uint32_t on_b = cell.control ? LeasesOn(cell, b.unit) : 0;
    if (on_a != on_b) return on_a < on_b;
    return a.leases.size() * b.slots < b.leases.size() * a.slots;
  };
  state.looked_at += free.size();
  for (const Worker* worker : free) {
    if (best != nullptr && !before(*worker, *best)) continue;
    if (Obstacle(state, *worker, id, now).empty()) best = worker;
  }
  return best;
}

// Whether a unit that is busy now has had fewer members of this control cell.
bool SpreadsBadly(const State& state, const MemberId& id, const Worker& worker, const Pool& pool,
                  absl::Time now) {
  const CellState& cell = CellOf(state, id);
  if (!cell.control) return false;
  const uint32_t here = LeasesOn(cell, worker.unit);
  if (here == 0) return false;
  state.looked_at += state.workers.size();
  return std::ranges::any_of(state.workers, [&](const auto& entry) {
    const Worker& other = entry.second;
    return TakesLeases(other, state.options, now) && Offers(other, pool) &&
           LeasesOn(cell, other.unit) < here;
  });
}

// Whether none of the free workers may train anything of this sweep.
bool AllExcluded(const State& state, SweepId sweep, const FreeWorkers& free) {
  const auto& excluded = state.sweeps.at(sweep).excluded;
  return std::ranges::all_of(free, [&](const Worker* w) { return excluded.contains(w->id); });
}

// Walks what waits in a queue, in its order. Of the fresh members of a cell it sees the first: what
// keeps a worker from that one keeps it from the others.
class Walk {
 public:
  explicit Walk(const Queue& queue)
      : queue_(queue), cell_(queue.cells.begin()), again_(queue.again.begin()) {}

  bool ended() const { return cell_ == queue_.cells.end() && again_ == queue_.again.end(); }
  // The rest only while it has not ended.
  bool IsFresh() const {
    if (cell_ == queue_.cells.end()) return false;
    return again_ == queue_.again.end() || *cell_ < *again_;
  }
  const WaitKey& key() const { return IsFresh() ? *cell_ : *again_; }
  void Next() { ++(IsFresh() ? cell_ : again_); }
  void SkipSweep() {
    const WaitKey next = {SweepId{key().sweep.value + 1}, 0, 0};
    cell_ = queue_.cells.lower_bound(next);
    again_ = queue_.again.lower_bound(next);
  }
  void SkipAgain() { again_ = queue_.again.end(); }

 private:
  const Queue& queue_;
  std::set<WaitKey>::const_iterator cell_;
  std::set<WaitKey>::const_iterator again_;
};

// The first member of the pool that a free worker may have, or one shortly behind it that spreads
// its control cell better.
std::optional<Choice> ChooseFrom(const State& state, const Pool& pool, const FreeWorkers& free,
                                 absl::Time now) {
  std::optional<Choice> first;
  size_t seen = 0;
  size_t passed_over = 0;
  Walk walk(state.waiting.at(pool));
  while (!walk.ended() && seen < kSpreadWindow) {
    if (AllExcluded(state, walk.key().sweep, free)) {
      walk.SkipSweep();
      continue;
    }
    const MemberId member = MemberOf(walk.key());
    const bool fresh = walk.IsFresh();
    walk.Next();
    ++state.looked_at;
    const Worker* worker = BestWorker(state, member, free, now);
    if (worker == nullptr) {
      // What has failed on these workers waits for another; what has not is behind it.
      if (!fresh && ++passed_over == kMostPassedOver) walk.SkipAgain();
      continue;
    }
    const Choice choice = {member, worker->id};
    if (!SpreadsBadly(state, member, *worker, pool, now)) return choice;
    if (!first) first = choice;
    ++seen;
  }
  return first;
}

// Of what all pools would have leased next, what comes first.
std::optional<Choice> ChooseNext(const State& state, const std::vector<Candidate>& candidates,
                                 absl::Time now) {
  std::optional<Choice> next;
  Rank rank;  // Of next.
  state.looked_at += candidates.size();
  for (const auto& [pool, workers] : candidates) {
    if (next && rank < RankOf(state, *pool, state.waiting.at(*pool).first())) continue;
    const auto choice = ChooseFrom(state, *pool, workers, now);
    if (!choice) continue;
    const Rank found = RankOf(state, *pool, KeyOf(choice->member));
    if (next && rank < found) continue;
    next = choice;
    rank = found;
  }
  return next;
}

}  // namespace

bool Offers(const Worker& worker, const Pool& pool) {
  if (!pool.hardware.empty() &&
      std::ranges::find(worker.classes, pool.hardware) == worker.classes.end()) {
    return false;
  }
  return std::ranges::any_of(worker.stacks, [&](const StackOffer& stack) {
    return (pool.stack.empty() || stack.name == pool.stack) &&
           (pool.fingerprint.empty() || stack.fingerprint == pool.fingerprint);
  });
}

bool IsSilent(const Worker& worker, const Options& options, absl::Time now) {
  return now - worker.heard >= options.lease_ttl;
}

bool TakesLeases(const Worker& worker, const Options& options, absl::Time now) {
  return worker.session && !worker.draining && !IsQuarantined(worker, now) &&
         !IsSilent(worker, options, now);
}

std::string Obstacle(const State& state, const Worker& worker, const MemberId& id, absl::Time now) {
  const auto& excluded = state.sweeps.at(id.sweep).excluded;
  if (const auto it = excluded.find(worker.id); it != excluded.end()) return it->second;
  if (Avoids(state, id, worker.id) && HasUntriedWorker(state, id, now)) {
    return "it failed this member before, and another worker can have it";
  }
  return "";
}

bool HasUntriedWorker(const State& state, const MemberId& id, absl::Time now) {
  const Pool pool = PoolOf(CellOf(state, id));
  const auto& excluded = state.sweeps.at(id.sweep).excluded;
  state.looked_at += state.workers.size();
  return std::ranges::any_of(state.workers, [&](const auto& entry) {
    const Worker& worker = entry.second;
    return TakesLeases(worker, state.options, now) && Offers(worker, pool) &&
           !excluded.contains(worker.id) && !Avoids(state, id, worker.id);
  });
}

void Place(Turn& turn) {
  State& state = turn.state;
  if (!state.placement_due || state.storage_failed_since) return;
  state.placement_due = false;
  std::vector<Candidate> candidates = FindCandidates(state, turn.now);
  for (uint32_t granted = 0; !candidates.empty(); ++granted) {
    if (granted == state.options.most_at_once) {
      state.placement_due = true;
      return;
    }
    const std::optional<Choice> next = ChooseNext(state, candidates, turn.now);
    if (!next) return;
    const uint64_t pools = state.pools_changed;
    Grant(turn, next->member, next->worker);
    if (state.pools_changed != pools) {
      candidates = FindCandidates(state, turn.now);
    } else if (!IsFree(state.workers.at(next->worker), state.options, turn.now)) {
      RemoveWorker(candidates, next->worker);
    }
  }
}

}  // namespace noisefloor::scheduler
