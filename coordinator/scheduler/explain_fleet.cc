// Where a sweep stands, and what a worker does.
#include <algorithm>
#include <map>

#include "coordinator/scheduler/explain.h"
#include "coordinator/scheduler/gpu_use.h"
#include "coordinator/scheduler/placement.h"
#include "coordinator/scheduler/quarantine.h"
#include "coordinator/scheduler/selection.h"
#include "coordinator/sweep/extend.h"

namespace noisefloor::scheduler {

namespace {

constexpr size_t kMostNamed = 8;

// "a, b and 3 more".
std::string List(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() <= kMostNamed) return text;
  return text + " and " + std::to_string(names.size() - kMostNamed) + " more";
}

// "about 3 h", "about 5 min", "about 40 s".
std::string About(absl::Duration length) {
  const int64_t seconds = std::max<int64_t>(1, absl::ToInt64Seconds(length));
  if (seconds >= 2 * 3600) return "about " + std::to_string((seconds + 1800) / 3600) + " h";
  if (seconds >= 2 * 60) return "about " + std::to_string((seconds + 30) / 60) + " min";
  return "about " + std::to_string(seconds) + " s";
}

std::string CountsText(const SweepCounts& counts) {
  std::string text = Count(counts.members, "member");
  const char* between = ": ";
  for (const MemberState state :
       {MemberState::kDone, MemberState::kDiverged, MemberState::kFailed, MemberState::kCancelled,
        MemberState::kLeased, MemberState::kWaiting}) {
    if (counts.In(state) == 0) continue;
    const std::string name(state == MemberState::kLeased ? "running" : Name(state));
    text += between + std::to_string(counts.In(state)) + " " + name;
    between = ", ";
  }
  return text;
}

// "3 run on box, 1 on node7": those that have most of it first.
std::string WhereItRuns(const State& state, SweepId sweep) {
  std::map<WorkerId, size_t> running;
  for (const auto& [id, lease] : state.leases) {
    if (lease.member.sweep == sweep) ++running[lease.worker];
  }
  std::vector<std::pair<size_t, std::string>> workers;
  for (const auto& [id, count] : running) workers.emplace_back(count, WorkerName(state, id));
  std::ranges::stable_sort(workers, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  for (const auto& [count, name] : workers) parts.push_back(std::to_string(count) + " on " + name);
  return "Running: " + List(parts) + ".";
}

// What waits for one pool, and why.
std::string WhyLineWaits(const State& state, const Pool& pool, const Line& line,
                         const SweepState& sweep, absl::Time now) {
  const size_t count = line.size();
  const std::string wanted = Wanted(pool);
  const std::string waits = Count(count, "member") + (count == 1 ? " waits" : " wait") + " for " +
                            (wanted.empty() ? "any worker" : wanted) + ": ";
  if (AtLimit(sweep, pool.hardware)) return waits + LimitText(sweep, pool.hardware);
  return waits + WhyItWaits(state, MemberOf(line.first()), Others(state, pool, sweep), now);
}

std::string Pace(const SweepState& sweep, absl::Time now) {
  const uint32_t left =
      sweep.counts.In(MemberState::kWaiting) + sweep.counts.In(MemberState::kLeased);
  const double rate = sweep.ended.PerHour(now);
  if (rate <= 0)
    return "No member of it has ended in the last ten minutes of this coordinator, so nobody can "
           "say when it ends.";
  return std::to_string(static_cast<int64_t>(rate + 0.5)) +
         " of its members an hour end at present: " + "the last in " +
         About(absl::Hours(left / rate)) + ".";
}

std::string HowItEnded(const SweepState& sweep) {
  std::string text = "It has ended.";
  const uint32_t lacking =
      sweep.counts.In(MemberState::kFailed) + sweep.counts.In(MemberState::kCancelled);
  if (lacking == 0) return text;
  return text + " `retry " + ToText(sweep.id) + "` lets the " + Count(lacking, "member") +
         " that failed or were cancelled wait again.";
}

std::vector<std::string> SweepLines(const State& state, const SweepState& sweep, absl::Time now) {
  const SweepCounts& counts = sweep.counts;
  const Sharing& sharing = sweep.sharing;
  std::vector<std::string> lines = {ToText(sweep.id) + " " + sweep.content.name + ", " +
                                    CountsText(counts) + "; priority " +
                                    std::to_string(sharing.priority) + "."};
  if (counts.In(MemberState::kWaiting) + counts.In(MemberState::kLeased) == 0) {
    if (sweep::IsUndecided(sweep.content)) {
      lines.emplace_back(
          "Its members have ended; their spread is looked at to decide how many more "
          "replicates its `until` takes.");
      return lines;
    }
    lines.push_back(HowItEnded(sweep));
    return lines;
  }
  if (counts.In(MemberState::kLeased) > 0) lines.push_back(WhereItRuns(state, sweep.id));
  if (sharing.paused) {
    const uint32_t waiting = counts.In(MemberState::kWaiting);
    lines.push_back("A person has paused it: " + Count(waiting, "waiting member") +
                    (waiting == 1 ? " gets" : " get") + " no lease. `resume " + ToText(sweep.id) +
                    "` lets it go on.");
    return lines;
  }
  if (sweep.spent) lines.push_back("It begins nothing more: " + SpentText(sweep, now));
  for (const auto& [pool, queue] : state.waiting) {
    const auto line = queue.lines.find(sweep.id);
    if (line == queue.lines.end()) continue;
    lines.push_back(WhyLineWaits(state, pool, line->second, sweep, now));
  }
  if (sharing.max_failures > 0) {
    lines.push_back("It stops when " + Count(sharing.max_failures, "member") + " failed; " +
                    std::to_string(FailuresThatCount(sweep)) + " did so " +
                    (sharing.pardoned == 0 ? "far." : "since people let it go on."));
  }
  lines.push_back(Pace(sweep, now));
  return lines;
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::string Presence(const State& state, const Worker& worker, absl::Time now) {
  const std::string heard =
      std::to_string(std::max<int64_t>(0, absl::ToInt64Seconds(now - worker.heard))) + " s";
  if (!worker.session) return worker.name + " is not connected.";
  std::string text = worker.name + " is connected";
  if (IsSilent(worker, state.options, now)) text += ", but was not heard of for " + heard;
  if (worker.draining) text += "; it leaves when what it has is finished";
  if (worker.ends != absl::InfiniteFuture()) {
    const absl::Duration left = std::max(worker.ends - now, absl::ZeroDuration());
    text += "; its time limit ends it in " + std::to_string(absl::ToInt64Seconds(left)) + " s";
  }
  return text + "; it has " + Count(worker.leases.size(), "member") + ".";
}

// Members that wait for what the place offers, of sweeps that may have leases.
size_t WaitingFor(const State& state, const Place& place) {
  size_t count = 0;
  for (const auto& [pool, queue] : state.waiting) {
    if (OfferFor(place, pool) == nullptr) continue;
    for (const auto& [id, line] : queue.lines) {
      if (MayLease(state.sweeps.at(id), pool)) count += line.size();
    }
  }
  return count;
}

std::string GroupLine(const State& state, const Place& place, absl::Time now) {
  const SlotGroup& group = *place.group;
  std::vector<std::string> running;
  for (const auto& [id, member] : place.worker->leases) {
    const Lease& lease = state.leases.at(id);
    if (lease.unit == group.unit) running.push_back(ToText(lease.member));
  }
  std::string text = group.unit + ", " + Count(group.count, "slot") + ": " +
                     (running.empty() ? "trains nothing" : "trains " + List(running));
  if (const std::string why = WhyPaused(place, now); !why.empty())
    return text + "; it is " + why + ".";
  if (group.free.empty()) return text + "; none is free.";
  const size_t waiting = WaitingFor(state, place);
  return text + "; " + std::to_string(group.free.size()) + " free, and " +
         (waiting == 0 ? "nothing waits for what it offers."
                       : Count(waiting, "member") + (waiting == 1 ? " waits" : " wait") +
                             " for what it offers.");
}

std::vector<std::string> WorkerLines(const State& state, const Worker& worker, absl::Time now) {
  std::vector<std::string> lines = {Presence(state, worker, now)};
  if (worker.drained) {
    lines.push_back("A person has drained it: it gets nothing more. `undrain " + worker.name +
                    "` opens it again.");
  }
  if (worker.session) {
    for (const SlotGroup& group : worker.groups) {
      lines.push_back(GroupLine(state, {&worker, &group}, now));
    }
    for (const Inventory::Withheld& withheld : worker.inventory->withheld) {
      lines.push_back("It withholds " + withheld.what +
                      (withheld.stack.empty() ? "" : " from " + withheld.stack) + ": " +
                      withheld.reason + ".");
    }
  } else {
    for (const Pause& pause : PausesOf(worker, now)) {
      lines.push_back(pause.unit + " is " + pause.reason + ".");
    }
  }
  for (const auto& [id, sweep] : state.sweeps) {
    const auto excluded = sweep.excluded.find(worker.id);
    if (excluded == sweep.excluded.end()) continue;
    lines.push_back("It gets nothing of " + ToText(id) + ": " + excluded->second + ".");
  }
  return lines;
}

}  // namespace

std::optional<std::string> ExplainSweep(const State& state, SweepId id, absl::Time now) {
  const auto sweep = state.sweeps.find(id);
  if (sweep == state.sweeps.end()) return std::nullopt;
  return Join(SweepLines(state, sweep->second, now));
}

std::optional<std::string> ExplainWorker(const State& state, const std::string& name,
                                         absl::Time now) {
  const Worker* found = WorkerNamed(state, name);
  if (found == nullptr) return std::nullopt;
  return Join(WorkerLines(state, *found, now));
}

}  // namespace noisefloor::scheduler
