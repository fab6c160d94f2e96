#include "coordinator/scheduler/explain.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/json.h"
#include "coordinator/scheduler/gpu_use.h"
#include "coordinator/scheduler/patience.h"
#include "coordinator/scheduler/placement.h"
#include "coordinator/scheduler/quarantine.h"

namespace noisefloor::scheduler {

namespace {

std::string Seconds(absl::Duration length) {
  return std::to_string(std::max<int64_t>(0, absl::ToInt64Seconds(length))) + " s";
}

// The first few: a fleet is longer than a sentence.
std::string Join(const std::vector<std::string>& parts) {
  constexpr size_t kMostNamed = 8;
  std::string text;
  for (size_t i = 0; i < std::min(parts.size(), kMostNamed); ++i) {
    text.append(text.empty() ? "" : "; ").append(parts[i]);
  }
  if (parts.size() <= kMostNamed) return text;
  return text + "; and " + std::to_string(parts.size() - kMostNamed) + " more";
}

// What would be of the pool, were it not withheld.
std::vector<std::string> WithheldFrom(const Worker& worker, const Pool& pool) {
  std::vector<std::string> reasons;
  for (const Inventory::Withheld& withheld : worker.inventory->withheld) {
    const bool is_class = withheld.hardware_class.empty() || pool.hardware.empty() ||
                          withheld.hardware_class == pool.hardware;
    const bool is_stack =
        withheld.stack.empty() || pool.stack.empty() || withheld.stack == pool.stack;
    if (!is_class || !is_stack) continue;
    reasons.push_back(worker.name + " withholds " + withheld.what +
                      (withheld.stack.empty() ? "" : " from " + withheld.stack) + ": " +
                      withheld.reason);
  }
  return reasons;
}

// Class and stack as the pool asks, and a trainer that has other settings.
bool OffersOtherSettings(const Worker& worker, const Pool& pool) {
  return std::ranges::any_of(worker.inventory->offers, [&](const Inventory::Offer& offer) {
    return (pool.hardware.empty() || offer.hardware_class == pool.hardware) &&
           (pool.stack.empty() || offer.stack == pool.stack) && !Trains(offer.schema, pool.schema);
  });
}

// "cudnn 9.12.0 instead of 9.1.0, ..." of what a worker has and a cell was pinned to; "" = that is
// not known.
std::string Differences(const State& state, const Worker& worker, const Pool& pool) {
  constexpr size_t kMostNamed = 4;
  const auto pinned = state.software.find(pool.fingerprint);
  const auto offer = std::ranges::find_if(worker.inventory->offers, [&](const auto& one) {
    return one.hardware_class == pool.hardware && one.stack == pool.stack;
  });
  if (pinned == state.software.end() || offer == worker.inventory->offers.end()) return "";
  const auto version = [](const Versions& versions, const std::string& name) -> std::string {
    const auto it = versions.find(name);
    return it == versions.end() ? "none" : it->second;
  };
  Versions names = *pinned->second;
  names.insert(offer->versions.begin(), offer->versions.end());
  std::string text;
  size_t found = 0;
  for (const auto& [name, any] : names) {
    const std::string here = version(offer->versions, name);
    const std::string there = version(*pinned->second, name);
    if (here == there || ++found > kMostNamed) continue;
    text.append(text.empty() ? "" : ", ").append(name + " " + here + " instead of " + there);
  }
  return found > kMostNamed ? text + ", ..." : text;
}

// Where GPUs that the pool asks for are in slots of another number of them; "" = nowhere.
std::string OtherCounts(const State& state, const Pool& pool) {
  const GpuCount named = CountGpus(pool.hardware);
  const auto wanted = pool.hardware.empty() ? static_cast<uint32_t>(pool.devices) : named.count;
  if (!(IsGpuClass(pool.hardware) || (pool.hardware.empty() && wanted > 0))) return "";
  std::vector<std::string> found;
  for (const auto& [id, worker] : state.workers) {
    if (!worker.session) continue;
    for (const std::string& offered : ClassesOf(*worker.inventory)) {
      const GpuCount there = CountGpus(offered);
      const bool is_model = pool.hardware.empty() || there.one == named.one;
      if (!IsGpuClass(offered) || !is_model || there.count == wanted) continue;
      found.push_back(worker.name + " has slots of " + Count(there.count, "GPU") + " (" + offered +
                      ")");
    }
  }
  if (found.empty()) return "";
  return Join(found) + "; it takes slots of exactly " + Count(wanted, "GPU") +
         ", which `noisefloor-worker --gpus-per-slot=" + std::to_string(wanted) + "` makes. ";
}

// Nobody who is connected offers what the pool asks for.
std::string NotOffered(const State& state, const Pool& pool, const MemberId& id) {
  const Pool any_build = {pool.hardware, pool.stack, "", pool.schema, pool.devices};
  std::vector<std::string> other_builds;
  std::vector<std::string> other_settings;
  std::vector<std::string> withheld;
  size_t connected = 0;
  for (const auto& [id, worker] : state.workers) {
    if (!worker.session) continue;
    ++connected;
    if (Offers(worker, any_build)) {
      const std::string differ = Differences(state, worker, pool);
      other_builds.push_back(worker.name + (differ.empty() ? "" : ": " + differ));
    }
    if (OffersOtherSettings(worker, pool)) other_settings.push_back(worker.name);
    std::ranges::move(WithheldFrom(worker, pool), std::back_inserter(withheld));
  }
  if (connected == 0) return "no worker is connected. Start one";
  const bool unbuilt = NothingBuiltOn(CellOf(state, id));
  if (!other_builds.empty()) {
    return "its cell is pinned to fingerprint " + pool.fingerprint.substr(0, 12) + " of stack " +
           pool.stack + ", and what is connected (" + Join(other_builds) +
           ") offers another. Connect a worker with the same build of the stack" +
           (IsGpuClass(pool.hardware) ? " and the same driver" : "") +
           (unbuilt ? ", or `retry` the sweep: the cell has no result yet and will take any" : "");
  }
  if (!other_settings.empty()) {
    return "what " + Join(other_settings) + " offers has other settings than those that " +
           ToText(id.sweep) + " was checked against. Submit it anew, to have it checked against " +
           "these, or connect a worker with the trainer of then";
  }
  return "no connected worker offers " + Wanted(pool) + ". " + OtherCounts(state, pool) +
         (withheld.empty() ? "Connect one" : "Connect one, or mend this: " + Join(withheld));
}

// Why nothing of this worker, which offers everything, has taken it; empty: it depends on the
// slots.
std::string WhyNot(const State& state, const Worker& worker, absl::Time now) {
  if (worker.drained) {
    return worker.name + " was drained by a person; `undrain " + worker.name + "` opens it again";
  }
  if (worker.draining) return worker.name + " is draining";
  if (!IsSilent(worker, state.options, now)) return "";
  return worker.name + " has been silent for " + Seconds(now - worker.heard);
}

// Why this place, which offers everything, has not taken it; empty: its slots are busy.
std::string WhyNot(const State& state, const Place& place, const MemberId& id, absl::Time now) {
  const std::string name = NameOf(*place.worker, place.group->unit);
  const std::string paused = WhyPaused(place, now);
  if (!paused.empty()) return name + " is " + paused;
  const std::string obstacle = Obstacle(state, place, id, now);
  return obstacle.empty() ? "" : name + " is left out: " + obstacle;
}

// Slots that could train the member, and why others that offer what it needs cannot.
struct Able {
  bool offered = false;
  size_t slots = 0;
  std::vector<std::string> reasons;
};

Able FindAble(const State& state, const Pool& pool, const MemberId& id, absl::Time now) {
  Able able;
  for (const auto& [worker_id, worker] : state.workers) {
    if (!worker.session || !Offers(worker, pool)) continue;
    able.offered = true;
    if (std::string why = WhyNot(state, worker, now); !why.empty()) {
      able.reasons.push_back(std::move(why));
      continue;
    }
    for (const SlotGroup& group : worker.groups) {
      const Place place = {&worker, &group};
      if (OfferFor(place, pool) == nullptr) continue;
      std::string why = WhyNot(state, place, id, now);
      if (why.empty()) {
        able.slots += group.count;
      } else {
        able.reasons.push_back(std::move(why));
      }
    }
  }
  return able;
}

// Whether a slot may be for both.
bool MayMeanTheSame(const Pool& a, const Pool& b) {
  const auto same = [](const std::string& x, const std::string& y) {
    return x.empty() || y.empty() || x == y;
  };
  return same(a.hardware, b.hardware) && same(a.stack, b.stack) &&
         same(a.fingerprint, b.fingerprint);
}

bool IsOfPool(const CellState& cell, const Pool& pool) { return PoolOf(cell) == pool; }

// "40 s", "4 m", "3 h": no more is known.
std::string About(double seconds) {
  const auto count = [](double value) { return std::to_string(std::llround(std::ceil(value))); };
  if (seconds < 90) return count(seconds) + " s";
  if (seconds < 90 * 60.0) return count(seconds / 60) + " m";
  return count(seconds / 3600) + " h";
}

// Whether what the sweep has on the pool's class goes to its line in this pool alone, so that the
// line moves by what ends there.
bool HasItsClassAlone(const State& state, const Pool& pool, const SweepState& sweep) {
  for (const auto& [asked, queue] : state.waiting) {
    const bool other = asked != pool && MayMeanTheSame(asked, pool);
    if (other && queue.lines.contains(sweep.id)) return false;
    if (!MayMeanTheSame(asked, pool) || queue.turns.empty()) continue;
    const SweepId first = Turns::Cursor(queue.turns).sweep();  // Of the highest priority.
    if (state.sweeps.at(first).sharing.priority > sweep.sharing.priority) return false;
  }
  return true;
}

// When a member with so many of its line before it starts, if the sweep keeps what it has of its
// class now and its members take as long as they have; empty: that is not known.
std::string ExpectedStart(const State& state, const Pool& pool, const SweepState& sweep,
                          size_t before) {
  const auto times = sweep.times.find(pool.hardware);
  const auto running = sweep.running.find(pool.hardware);
  const bool known = !pool.hardware.empty() && times != sweep.times.end() &&
                     times->second.count > 0 && running != sweep.running.end();
  if (!known || !HasItsClassAlone(state, pool, sweep)) return "";
  const double seconds = static_cast<double>(before + 1) * times->second.Mean() / running->second;
  return "; expected to start in about " + About(seconds);
}

// Cells and members with an attempt behind them that are looked at to say a position: of sweeps
// with more, every so many-th stands for those between.
constexpr size_t kMostLookedAt = 1000;

struct Before {
  size_t members = 0;
  bool exact = true;
};

// Members of the line before this one.
Before CountBefore(const State& state, const Pool& pool, const Line& line, const MemberId& id) {
  const SweepState& sweep = state.sweeps.at(id.sweep);
  const WaitKey key = KeyOf(id);
  const size_t stride = (sweep.cells.size() + kMostLookedAt - 1) / kMostLookedAt;
  Before before;
  before.exact = stride == 1;
  for (size_t i = 0; i < sweep.cells.size(); i += stride) {
    ++state.looked_at;
    const CellState& cell = sweep.cells[i];
    if (cell.fresh.empty() || !IsOfPool(cell, pool)) continue;
    before.members += stride * cell.fresh.CountBelow(key.replicate + (i < key.cell ? 1 : 0));
  }
  size_t again = 0;
  for (auto it = line.again.begin(); it != line.again.end() && *it < key; ++it, ++again) {
    ++state.looked_at;
    if (again < kMostLookedAt) continue;
    before.exact = false;
    break;
  }
  before.members = std::min(before.members + again, line.size() - 1);
  return before;
}

std::string Position(const State& state, const Pool& pool, const MemberId& id) {
  const Line& line = state.waiting.at(pool).lines.at(id.sweep);
  const auto [before, exact] = CountBefore(state, pool, line, id);
  const std::string others = Others(state, pool, state.sweeps.at(id.sweep));
  return (exact ? "position " : "position about ") + std::to_string(before + 1) + " of " +
         std::to_string(line.size()) + (others.empty() ? "" : " of its sweep") +
         " among those that wait for the same" + (others.empty() ? "" : "; " + others) +
         ExpectedStart(state, pool, state.sweeps.at(id.sweep), before);
}

std::string History(const State& state, const MemberId& id) {
  const auto past = state.past_by_member.find(id);
  if (past == state.past_by_member.end()) return "";
  const PastLease& last = state.past_leases.at(past->second.back());
  return " Its attempt " + std::to_string(last.attempt) + " on " + WorkerName(state, last.worker) +
         " ended with " + std::string(Name(last.cause)) +
         (last.reason.empty() ? "." : ": " + last.reason + ".");
}

std::string Waiting(const State& state, const MemberId& id, absl::Time now) {
  const SweepState& sweep = state.sweeps.at(id.sweep);
  if (sweep.sharing.paused) {
    return "a person has paused its sweep. `resume " + ToText(id.sweep) + "` lets it go on.";
  }
  if (sweep.spent) return SpentText(sweep, now);
  const std::string& hardware = CellOf(state, id).cell.hardware;
  if (AtLimit(sweep, hardware)) return LimitText(sweep, hardware);
  if (std::string text = PatienceText(state, id, now); !text.empty()) return text;
  return WhyItWaits(state, id, Position(state, PoolOf(CellOf(state, id)), id), now);
}

std::string Leased(const State& state, const Member& member, absl::Time now) {
  const Lease& lease = state.leases.at(member.lease);
  const Worker& worker = state.workers.at(lease.worker);
  std::string text = "attempt " + std::to_string(lease.attempt) + " runs on " + worker.name + " (" +
                     lease.unit + ") since " + Seconds(now - lease.granted);
  if (lease.step_count > 0) {
    text += ", step " + std::to_string(lease.step) + " of " + std::to_string(lease.step_count);
  } else if (!lease.confirmed) {
    text += "; the worker has not confirmed it yet";
  }
  if (!worker.session) {
    text += ". The worker is not connected; without it " + Text(lease.id) + " ends in " +
            Seconds(lease.expires - now);
  }
  return text + ".";
}

}  // namespace

std::string LimitText(const SweepState& sweep, const std::string& hardware) {
  const uint32_t running = sweep.running.at(hardware);
  return std::to_string(running) + " of " + ToText(sweep.id) + "'s members " +
         (running == 1 ? "runs" : "run") + " on " + hardware + ", its limit. `update " +
         ToText(sweep.id) + " --limit " + hardware + "=N` changes it.";
}

std::string WhyItWaits(const State& state, const MemberId& id, const std::string& turn,
                       absl::Time now) {
  const Pool pool = PoolOf(CellOf(state, id));
  if (state.storage_failed_since) return "nothing is leased while the store cannot keep anything.";
  const Able able = FindAble(state, pool, id, now);
  if (!able.offered) return NotOffered(state, pool, id) + ".";
  std::string text = "no worker may take it.";
  if (able.slots > 0) {
    text = (able.slots == 1 ? "the one slot that can train it is busy"
                            : "all " + Count(able.slots, "slot") + " that can train it are busy") +
           (turn.empty() ? "" : "; " + turn) + ".";
  }
  if (!able.reasons.empty()) text += " " + Join(able.reasons) + ".";
  return text;
}

std::string Others(const State& state, const Pool& pool, const SweepState& sweep) {
  const uint32_t owner = state.owners[sweep.owner].standing.weight;
  bool by_weight = sweep.sharing.weight != 1 || owner != 1;
  size_t higher = 0;
  std::set<SweepId> equals;
  for (const auto& [asked, queue] : state.waiting) {
    if (!MayMeanTheSame(asked, pool)) continue;
    for (const auto& [id, line] : queue.lines) {
      const SweepState& other = state.sweeps.at(id);
      if (id == sweep.id || !MayLease(other, asked)) continue;
      if (other.sharing.priority > sweep.sharing.priority) higher += line.size();
      if (other.sharing.priority != sweep.sharing.priority) continue;
      equals.insert(id);
      by_weight =
          by_weight || other.sharing.weight != 1 || state.owners[other.owner].standing.weight != 1;
    }
  }
  const size_t equal = equals.size();
  std::string text;
  if (higher > 0) {
    text += Count(higher, "member") + " of sweeps of higher priority " +
            (higher == 1 ? "goes" : "go") + " first";
  }
  if (equal == 0) return text;
  return text + (text.empty() ? "" : "; ") + "its sweep takes turns with " + Count(equal, "other") +
         (by_weight ? " by weight (its own " + std::to_string(sweep.sharing.weight) +
                          ", its owner's " + std::to_string(owner) + ")"
                    : "");
}

std::string Wanted(const Pool& pool) {
  const std::string stack = pool.stack.empty() ? "" : "stack " + pool.stack;
  std::string place = pool.hardware.empty() ? "" : "hardware class " + pool.hardware;
  if (pool.devices > 1) place = std::to_string(pool.devices) + " devices";
  if (place.empty() && stack.empty()) place = "slots of one device";
  return place + (place.empty() || stack.empty() ? "" : " and ") + stack;
}

std::string ExplainMember(const State& state, const MemberId& id, absl::Time now) {
  const std::optional<Member> member = FindMember(state, id);
  if (!member) return "There is no member " + ToText(id) + ".";
  const std::string name = ToText(id);
  switch (member->state) {
    case MemberState::kWaiting:
      return name + " waits: " + Waiting(state, id, now) + History(state, id);
    case MemberState::kLeased: return name + " is leased: " + Leased(state, *member, now);
    case MemberState::kDone:
      return name + " is done: attempt " + std::to_string(member->attempt) + " was accepted.";
    case MemberState::kDiverged:
      return name + " diverged: the loss of attempt " + std::to_string(member->attempt) +
             " left the finite numbers, which is a result.";
    case MemberState::kFailed:
      return name + " failed." + History(state, id) + " `retry` makes it wait again.";
    case MemberState::kCancelled: return name + " was cancelled. `retry` makes it wait again.";
  }
  return "corrupt";
}

}  // namespace noisefloor::scheduler
