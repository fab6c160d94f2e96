#include "coordinator/scheduler/placement.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/scheduler/leases.h"
#include "coordinator/scheduler/lifetime.h"
#include "coordinator/scheduler/patience.h"
#include "coordinator/scheduler/quarantine.h"
#include "coordinator/scheduler/retry.h"

namespace noisefloor::scheduler {

namespace {

// How far behind the head of a pool to look for a member that spreads better.
constexpr size_t kSpreadWindow = 16;

// Members with an attempt behind them that no free place may have: after so many the others of
// their kind are left for the next time.
constexpr size_t kMostPassedOver = 64;
// Fresh ones of a sweep, which take longer than the free places live: after so many the others of
// their sweep are left.
constexpr size_t kMostTooLong = 1000;

using FreePlaces = std::vector<Place>;

// Order in which what waits is leased: that of Turns between sweeps, and of a sweep that of
// WaitKey, but within a replicate the class that trains longest first, so that no long training is
// left to run alone at the end. A class of which nothing has ended yet comes before those that are
// known.
struct Rank {
  int32_t minus_priority = 0;
  Standing of_owner;
  uint32_t owner = 0;
  Standing of_sweep;
  SweepId sweep;
  uint32_t replicate = 0;
  double minus_seconds = 0;
  uint32_t cell = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

Rank RankOf(const State& state, const Pool& pool, const WaitKey& key) {
  const SweepState& sweep = state.sweeps.at(key.sweep);
  const auto& times = sweep.times;
  const auto known = times.find(pool.hardware);
  const double seconds =
      known == times.end() ? std::numeric_limits<double>::infinity() : known->second.Mean();
  const Turnstile turn = TurnOf(state, sweep);
  return {-turn.priority, turn.of_owner, turn.owner, turn.of_sweep,
          key.sweep,      key.replicate, -seconds,   key.cell};
}

// A pool, and the places that are free and offer what it asks for. At least one.
struct Candidate {
  const Pool* pool = nullptr;
  FreePlaces places;
};

struct Offered {
  std::string_view hardware;
  std::string_view stack;
  std::string_view fingerprint;
  std::string_view schema;
};

// Whatever class the pool asks for.
bool IsStackOf(const Offered& offered, const Pool& pool) {
  return (pool.devices == 0 || HasDevices(offered.hardware, pool.devices)) &&
         (pool.stack.empty() || offered.stack == pool.stack) &&
         (pool.fingerprint.empty() || offered.fingerprint == pool.fingerprint) &&
         Trains(offered.schema, pool.schema);
}

bool IsAskedFor(const Pool& offered, const Pool& pool) {
  return (pool.hardware.empty() || offered.hardware == pool.hardware) &&
         IsStackOf({offered.hardware, offered.stack, offered.fingerprint, offered.schema}, pool);
}

// Those with a free slot that offer what the pool asks for, in order. Others are not looked at.
std::vector<WorkerId> FindReady(const State& state, const Pool& pool) {
  std::vector<WorkerId> found;
  size_t kinds = 0;
  for (const auto& [offered, workers] : state.ready_by_offer) {
    ++state.looked_at;
    if (!IsAskedFor(offered, pool)) continue;
    found.insert(found.end(), workers.begin(), workers.end());
    ++kinds;
  }
  if (kinds > 1) {
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }
  return found;
}

FreePlaces FindFree(const State& state, const Pool& pool, absl::Time now) {
  FreePlaces free;
  for (const WorkerId id : FindReady(state, pool)) {
    const Worker& worker = state.workers.at(id);
    if (!TakesLeases(worker, state.options, now)) continue;
    for (const SlotGroup& group : worker.groups) {
      ++state.looked_at;
      const Place place = {&worker, &group};
      if (group.free.empty() || OfferFor(place, pool) == nullptr) continue;
      if (!IsPaused({&worker, &group}, now)) free.push_back(place);
    }
  }
  return free;
}

std::vector<Candidate> FindCandidates(const State& state, absl::Time now) {
  std::vector<Candidate> candidates;
  if (state.ready.empty()) return candidates;
  for (const auto& [pool, queue] : state.waiting) {
    if (queue.turns.empty()) continue;
    Candidate candidate = {&pool, FindFree(state, pool, now)};
    if (!candidate.places.empty()) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

void RemovePlace(std::vector<Candidate>& candidates, const Place& place) {
  for (Candidate& candidate : candidates) std::erase(candidate.places, place);
  std::erase_if(candidates, [](const Candidate& candidate) { return candidate.places.empty(); });
}

uint32_t LeasesOn(const CellState& cell, const std::string& unit) {
  const auto it = cell.leases_by_unit.find(unit);
  return it == cell.leases_by_unit.end() ? 0 : it->second;
}

// Seconds that members of the cell's sweep train on the class that the place would be, where the
// cell takes any; 0 where none has ended yet, so that each class is tried.
double SecondsThere(const State& state, const MemberId& id, const Place& place) {
  const SweepState& sweep = state.sweeps.at(id.sweep);
  const CellState& cell = sweep.cells[id.cell];
  if (!cell.cell.hardware.empty() || sweep.times.empty()) return 0;
  const Inventory::Offer* offer = OfferFor(place, PoolOf(cell));
  const auto known = offer == nullptr ? sweep.times.end() : sweep.times.find(offer->hardware_class);
  return known == sweep.times.end() ? 0 : known->second.Mean();
}

// The place of `free` that may have the member: rather of a worker that has not failed it; of a
// cell that takes any class one of the class that ends soonest; of a control cell the one whose
// unit has had the fewest of it; then the one with the smallest share of its slots in use. Nothing:
// none may.
std::optional<Place> BestPlace(const State& state, const MemberId& id, const FreePlaces& free,
                               absl::Time now) {
  const CellState& cell = CellOf(state, id);
  std::optional<Place> best;
  const auto before = [&](const Place& first, const Place& second) {
    const bool failed_a = HasFailed(state, id, first.worker->id);
    const bool failed_b = HasFailed(state, id, second.worker->id);
    if (failed_a != failed_b) return failed_b;
    const double seconds_a = SecondsThere(state, id, first);
    const double seconds_b = SecondsThere(state, id, second);
    if (seconds_a != seconds_b) return seconds_a < seconds_b;
    const SlotGroup& a = *first.group;
    const SlotGroup& b = *second.group;
    const uint32_t on_a = cell.control ? LeasesOn(cell, a.unit) : 0;
    const uint32_t on_b = cell.control ? LeasesOn(cell, b.unit) : 0;
    if (on_a != on_b) return on_a < on_b;
    return (a.count - a.free.size()) * b.count < (b.count - b.free.size()) * a.count;
  };
  state.looked_at += free.size();
  for (const Place& place : free) {
    if (best && !before(place, *best)) continue;
    if (Obstacle(state, place, id, now).empty()) best = place;
  }
  return best;
}

// Whether a unit that is busy now has had fewer members of this control cell.
bool SpreadsBadly(const State& state, const MemberId& id, const SlotGroup& group, const Pool& pool,
                  absl::Time now) {
  const CellState& cell = CellOf(state, id);
  if (!cell.control) return false;
  const uint32_t here = LeasesOn(cell, group.unit);
  if (here == 0) return false;
  return AnyPlace(state, pool, now,
                  [&](const Place& other) { return LeasesOn(cell, other.group->unit) < here; });
}

// Whether the place would be on a class of which the sweep has as much as it may. Pools that name
// the class have no turn of the sweep then.
bool IsOfFullClass(const SweepState& sweep, const Place& place, const Pool& pool) {
  if (sweep.sharing.limits.empty() || !pool.hardware.empty()) return false;
  const Inventory::Offer* offer = OfferFor(place, pool);
  return offer != nullptr && AtLimit(sweep, offer->hardware_class);
}

// Whether the trainer of the place cannot do what the sweep asks for. Not part of the pool: what a
// trainer of a pool cannot do is told as what keeps a place from a member.
bool CannotInfer(const SweepState& sweep, const Place& place, const Pool& pool) {
  if (!sweep.content.inference) return false;
  const Inventory::Offer* offer = OfferFor(place, pool);
  return offer != nullptr && !offer->infers;
}

// Whether nothing of this sweep may be trained on any of the free places.
bool AllExcluded(const State& state, const Pool& pool, SweepId id, const FreePlaces& free) {
  const SweepState& sweep = state.sweeps.at(id);
  return std::ranges::all_of(free, [&](const Place& place) {
    return sweep.excluded.contains(place.worker->id) || IsOfFullClass(sweep, place, pool) ||
           CannotInfer(sweep, place, pool);
  });
}

// Walks what waits in a queue, in its order. Of the fresh members of a cell it sees the first: what
// keeps a place from that one keeps it from the others.
class Walk {
 public:
  explicit Walk(const Queue& queue) : queue_(queue), turn_(queue.turns) { Enter(); }

  bool ended() const { return turn_.ended(); }
  // The rest only while it has not ended.
  bool IsFresh() const {
    if (cell_ == line_->cells.end()) return false;
    return again_ == line_->again.end() || *cell_ < *again_;
  }
  const WaitKey& key() const { return IsFresh() ? *cell_ : *again_; }
  void Next() {
    ++(IsFresh() ? cell_ : again_);
    LeaveIfEnded();
  }
  void SkipSweep() {
    turn_.Next();
    Enter();
  }
  // From here on, of this sweep and of the others.
  void SkipAgain() {
    skips_again_ = true;
    if (ended()) return;
    again_ = line_->again.end();
    LeaveIfEnded();
  }

 private:
  bool LineEnded() const { return cell_ == line_->cells.end() && again_ == line_->again.end(); }
  void LeaveIfEnded() {
    if (LineEnded()) SkipSweep();
  }
  void Enter() {
    for (; !turn_.ended(); turn_.Next()) {
      line_ = &queue_.lines.at(turn_.sweep());
      cell_ = line_->cells.begin();
      again_ = skips_again_ ? line_->again.end() : line_->again.begin();
      if (!LineEnded()) return;
    }
  }

  const Queue& queue_;
  Turns::Cursor turn_;
  bool skips_again_ = false;
  const Line* line_ = nullptr;  // Of turn_.
  std::set<WaitKey>::const_iterator cell_;
  std::set<WaitKey>::const_iterator again_;
};

// What would be leased next of the queue, were every place free; nothing: none of it may be.
std::optional<WaitKey> FirstOf(const Queue& queue) {
  const Turns::Cursor turn(queue.turns);
  if (turn.ended()) return std::nullopt;
  return queue.lines.at(turn.sweep()).first();
}

// What is leased next, and where; or what is left for a faster class, for the first time.
struct Choice {
  MemberId member;
  Place place;
  std::optional<Wait> wait = {};
};

// The first member of the pool that a free place may have, or one of its sweep shortly behind it
// that spreads its control cell better.
std::optional<Choice> ChooseFrom(const State& state, const Pool& pool, const FreePlaces& free,
                                 absl::Time now) {
  std::optional<Choice> first;
  size_t seen = 0;
  size_t passed_over = 0;
  size_t too_long = 0;  // Of its last sweep.
  SweepId last;
  Walk walk(state.waiting.at(pool));
  while (!walk.ended() && seen < kSpreadWindow) {
    if (AllExcluded(state, pool, walk.key().sweep, free)) {
      walk.SkipSweep();
      continue;
    }
    const MemberId member = MemberOf(walk.key());
    if (first && first->member.sweep != member.sweep) break;  // It is not the others' turn.
    const bool fresh = walk.IsFresh();
    walk.Next();
    ++state.looked_at;
    const std::optional<Place> place = BestPlace(state, member, free, now);
    if (!place) {
      // What has failed in these places waits for another; what has not is behind it.
      if (!fresh && ++passed_over == kMostPassedOver) walk.SkipAgain();
      if (std::exchange(last, member.sweep) != member.sweep) too_long = 0;
      const bool more = !walk.ended() && walk.key().sweep == member.sweep;
      if (fresh && ++too_long == kMostTooLong && more) walk.SkipSweep();
      continue;
    }
    if (IsPatient(state, member, *place, now)) continue;
    const Choice choice = {member, *place, WorthWaitingFor(state, member, *place, now)};
    if (choice.wait) return choice;
    if (!SpreadsBadly(state, member, *place->group, pool, now)) return choice;
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
  for (const auto& [pool, places] : candidates) {
    const std::optional<WaitKey> best = FirstOf(state.waiting.at(*pool));
    if (!best || (next && rank < RankOf(state, *pool, *best))) continue;
    const auto choice = ChooseFrom(state, *pool, places, now);
    if (!choice) continue;
    const Rank found = RankOf(state, *pool, KeyOf(choice->member));
    if (next && rank < found) continue;
    next = choice;
    rank = found;
  }
  return next;
}

// A place that may train the member, has not failed it, and is `wanted`.
bool AnyUntriedPlace(const State& state, const MemberId& id, absl::Time now,
                     const std::function<bool(const Place&)>& wanted) {
  const SweepState& sweep = state.sweeps.at(id.sweep);
  const Pool pool = PoolOf(sweep.cells[id.cell]);
  return AnyPlace(state, pool, now, [&](const Place& place) {
    return !sweep.excluded.contains(place.worker->id) && !CannotInfer(sweep, place, pool) &&
           !Avoids(state, id, place) && wanted(place);
  });
}

Offered What(const Inventory::Offer& offer) {
  return {offer.hardware_class, offer.stack, offer.fingerprint, offer.schema};
}

}  // namespace

const Inventory::Offer* OfferFor(const Place& place, const Pool& pool) {
  const std::vector<Inventory::Offer>& offers = place.worker->inventory->offers;
  const std::string* hardware = &pool.hardware;
  if (pool.hardware.empty()) {
    const auto best = std::ranges::find_if(
        offers, [&](const Inventory::Offer& offer) { return IsStackOf(What(offer), pool); });
    if (best == offers.end()) return nullptr;
    hardware = &best->hardware_class;
  }
  for (const uint32_t number : place.group->offers) {
    const Inventory::Offer& offer = offers[number];
    if (offer.hardware_class == *hardware && IsStackOf(What(offer), pool)) return &offer;
  }
  return nullptr;
}

bool Offers(const Worker& worker, const Pool& pool) {
  return std::ranges::any_of(worker.groups, [&](const SlotGroup& group) {
    return OfferFor({&worker, &group}, pool) != nullptr;
  });
}

bool IsSilent(const Worker& worker, const Options& options, absl::Time now) {
  return now - worker.heard >= options.lease_ttl;
}

bool TakesLeases(const Worker& worker, const Options& options, absl::Time now) {
  return IsOpen(worker) && !IsSilent(worker, options, now);
}

bool AnyPlace(const State& state, absl::Time now,
              const std::function<bool(const Place&)>& is_wanted) {
  for (const auto& [id, worker] : state.workers) {
    ++state.looked_at;
    if (!TakesLeases(worker, state.options, now)) continue;
    for (const SlotGroup& group : worker.groups) {
      const Place place = {&worker, &group};
      if (!IsQuarantined(place, now) && is_wanted(place)) return true;
    }
  }
  return false;
}

bool AnyPlace(const State& state, const Pool& pool, absl::Time now,
              const std::function<bool(const Place&)>& is_wanted) {
  return AnyPlace(state, now, [&](const Place& place) {
    return OfferFor(place, pool) != nullptr && is_wanted(place);
  });
}

std::string Obstacle(const State& state, const Place& place, const MemberId& id, absl::Time now) {
  const SweepState& sweep = state.sweeps.at(id.sweep);
  const auto excluded = sweep.excluded.find(place.worker->id);
  if (excluded != sweep.excluded.end()) return excluded->second;
  if (CannotInfer(sweep, place, PoolOf(sweep.cells[id.cell]))) {
    return "its trainer evaluates no weights that it is given (no \"infers\" in its --describe)";
  }
  if (!sweep.sharing.limits.empty() && IsOfFullClass(sweep, place, PoolOf(sweep.cells[id.cell]))) {
    return "as many members of " + ToText(id.sweep) + " run on its class as may";
  }
  // One that ends too soon is no other place to wait for.
  const auto has_time = [&](const Place& other) {
    return EndsTooSoon(state, other, id, now).empty();
  };
  if (Avoids(state, id, place) && AnyUntriedPlace(state, id, now, has_time)) {
    return "it failed this member before, and another worker or device can have it";
  }
  return EndsTooSoon(state, place, id, now);
}

bool HasUntriedPlace(const State& state, const MemberId& id, absl::Time now) {
  return AnyUntriedPlace(state, id, now, [](const Place&) { return true; });
}

void PlaceMembers(Turn& turn) {
  State& state = turn.state;
  if (!state.placement_due || state.storage_failed_since || turn.IsFull()) return;
  state.placement_due = false;
  std::vector<Candidate> candidates = FindCandidates(state, turn.now);
  for (uint32_t granted = 0; !candidates.empty(); ++granted) {
    if (granted == state.options.most_at_once || turn.IsFull()) {
      state.placement_due = true;
      return;
    }
    const std::optional<Choice> next = ChooseNext(state, candidates, turn.now);
    if (!next) return;
    const uint64_t pools = state.pools_changed;
    const auto& [member, place, wait] = *next;
    if (wait) {
      BeginWait(state, member, *wait);
      continue;
    }
    Grant(turn, member, place);
    if (state.pools_changed != pools) {
      candidates = FindCandidates(state, turn.now);
    } else if (place.group->free.empty()) {
      RemovePlace(candidates, place);
    }
  }
}

}  // namespace noisefloor::scheduler
