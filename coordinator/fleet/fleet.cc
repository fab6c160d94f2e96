#include "coordinator/fleet/fleet.h"

#include <algorithm>
#include <utility>

namespace noisefloor::fleet {

namespace {

absl::Duration TimeOf(const LaunchRecord& launch, absl::Time until) {
  if (launch.began == absl::InfiniteFuture()) return absl::ZeroDuration();
  return std::max(std::min(launch.ended, until) - launch.began, absl::ZeroDuration());
}

bool IsComing(const Launch& launch) { return !launch.record.heard; }
bool IsQueued(const Launch& launch) {
  return launch.record.phase == LaunchPhase::kIntended ||
         launch.record.phase == LaunchPhase::kWaiting;
}

template <typename Predicate>
uint32_t CountLive(const Pool& pool, Predicate predicate) {
  return static_cast<uint32_t>(
      std::ranges::count_if(pool.live, [&](const auto& entry) { return predicate(entry.second); }));
}

LaunchEnd EndOf(JobPhase phase) {
  if (phase == JobPhase::kWell) return LaunchEnd::kWell;
  return phase == JobPhase::kTaken ? LaunchEnd::kTaken : LaunchEnd::kBroken;
}

// A worker of that name, started again or not.
const SeenWorker* Seen(const std::map<std::string, SeenWorker>& workers, const std::string& name) {
  const auto found = workers.lower_bound(name);
  if (found == workers.end()) return nullptr;
  const bool ours = found->first == name || found->first.starts_with(name + "-r");
  return ours ? &found->second : nullptr;
}

bool Has(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

absl::Status NoPool(const std::string& name) {
  return MakeError(absl::StatusCode::kNotFound, "no pool " + name);
}

std::string By(const std::string& caller) { return caller.empty() ? "" : " by " + caller; }

}  // namespace

Fleet::Fleet(Rules rules, std::vector<PoolRecord> pools, std::vector<LaunchRecord> launches,
             const std::map<uint64_t, absl::Duration>& used, uint64_t last_pool,
             uint64_t last_launch)
    : rules_(std::move(rules)), last_pool_(last_pool), last_launch_(last_launch) {
  for (PoolRecord& record : pools) {
    const uint64_t number = record.number;
    pools_[number].record = std::move(record);
    if (const auto found = used.find(number); found != used.end()) {
      pools_[number].used = found->second;
    }
  }
  std::ranges::sort(launches, {}, &LaunchRecord::ended);
  for (LaunchRecord& launch : launches) {
    const auto pool = pools_.find(launch.pool);
    if (pool == pools_.end()) continue;
    if (launch.phase == LaunchPhase::kEnded) {
      Count(pool->second, launch);
    } else {
      pool->second.live[launch.number].record = std::move(launch);
    }
  }
}

Pool* Fleet::FindMutable(std::string_view name) {
  for (auto& [number, pool] : pools_) {
    if (pool.record.wish.name == name) return &pool;
  }
  return nullptr;
}

const Pool* Fleet::Find(std::string_view name) const {
  return const_cast<Fleet*>(this)->FindMutable(name);
}

absl::StatusOr<Decisions> Fleet::Add(const PoolWish& wish, std::string tag, std::string caller,
                                     absl::Time now) {
  NF_RETURN_IF_ERROR(Check(wish));
  if (const Pool* there = Find(wish.name); there != nullptr) {
    return MakeError(
        absl::StatusCode::kAlreadyExists,
        "there is a pool " + wish.name + " already" +
            (there->record.state == PoolState::kRemoving ? ": it is being removed" : ""));
  }
  Pool& pool = pools_[++last_pool_];
  pool.record.number = last_pool_;
  pool.record.wish = wish;
  pool.record.tag = std::move(tag);
  pool.record.created_by = std::move(caller);
  pool.record.created = now;
  Decisions decisions;
  decisions.pools.push_back(pool.record);
  decisions.happenings.push_back({"pool_added", "pool " + wish.name + " added"});
  return decisions;
}

absl::StatusOr<Decisions> Fleet::Pause(const std::string& name, const std::string& caller) {
  Pool* pool = FindMutable(name);
  if (pool == nullptr) return NoPool(name);
  Decisions decisions;
  if (pool->record.state == PoolState::kActive) PauseFor(*pool, "paused" + By(caller), decisions);
  return decisions;
}

absl::StatusOr<Decisions> Fleet::Resume(const std::string& name, const std::string& caller) {
  Pool* pool = FindMutable(name);
  if (pool == nullptr) return NoPool(name);
  if (pool->record.state == PoolState::kRemoving) {
    return MakeError(absl::StatusCode::kFailedPrecondition, "pool " + name + " is being removed");
  }
  Decisions decisions;
  pool->record.state = PoolState::kActive;
  pool->record.why.clear();
  pool->record.forgiven = last_launch_;
  pool->crashes = pool->refusals = 0;
  pool->next_submit = absl::InfinitePast();
  decisions.pools.push_back(pool->record);
  decisions.happenings.push_back({"pool_resumed", "pool " + name + " resumed" + By(caller)});
  return decisions;
}

absl::StatusOr<Decisions> Fleet::Remove(const std::string& name, const std::string& caller) {
  Pool* pool = FindMutable(name);
  if (pool == nullptr) return NoPool(name);
  Decisions decisions;
  pool->record.state = PoolState::kRemoving;
  decisions.pools.push_back(pool->record);
  decisions.happenings.push_back({"pool_removed", "pool " + name + " removed" + By(caller)});
  return decisions;
}

Decisions Fleet::Look(const View& view) {
  Decisions decisions;
  for (auto& [number, pool] : pools_) {
    std::vector<uint64_t> live;
    for (const auto& [launch, unused] : pool.live) live.push_back(launch);
    for (const uint64_t launch : live) See(pool, pool.live.at(launch), view, decisions);
    if (view.jobs) EndStrays(pool, *view.jobs, decisions);
    CheckBounds(pool, view.now, decisions);
  }
  const std::map<uint64_t, uint64_t> shares = Share(pools_, view.waiting);
  for (auto& [number, pool] : pools_) pool.too_long = TooLongFor(pool, view.waiting);
  for (auto it = pools_.begin(); it != pools_.end();) {
    Pool& pool = it->second;
    const auto share = shares.find(it->first);
    Size(pool, share == shares.end() ? 0 : share->second, view, decisions);
    const bool gone = pool.record.state == PoolState::kRemoving && pool.live.empty() && view.jobs &&
                      pool.strays == 0;
    if (gone) decisions.gone.push_back(it->first);
    it = gone ? pools_.erase(it) : std::next(it);
  }
  return decisions;
}

void Fleet::See(Pool& pool, Launch& launch, const View& view, Decisions& decisions) {
  Hear(pool, launch, view, decisions);
  if (!view.jobs) return;
  const std::string name = JobName(pool.record, launch.record);
  const auto job = std::ranges::find_if(*view.jobs, [&](const Job& one) {
    return one.name == name && one.index == launch.record.index;
  });
  if (job != view.jobs->end()) return SeeJob(pool, launch, *job, view.now, decisions);
  const bool here = Seen(view.workers, WorkerName(pool.record, launch.record)) != nullptr;
  launch.absent = here ? 0 : launch.absent + 1;
  if (launch.absent < rules_.polls_until_gone) return;
  const bool asked = launch.record.phase != LaunchPhase::kIntended;
  End(pool, launch, LaunchEnd::kGone,
      asked ? "the cluster knows nothing of it any more" : "the cluster never got it", view.now,
      decisions);
}

void Fleet::SeeJob(Pool& pool, Launch& launch, const Job& job, absl::Time now,
                   Decisions& decisions) {
  launch.absent = 0;
  const LaunchRecord before = launch.record;
  LaunchRecord& record = launch.record;
  record.job = job.key;
  if (record.phase == LaunchPhase::kIntended) pool.refusals = 0;  // It was taken.
  if (!job.node.empty()) record.node = job.node;
  const bool waits = job.phase == JobPhase::kWaiting;
  if (!waits && record.began == absl::InfiniteFuture()) {
    record.began = job.begins == absl::InfinitePast() ? now : job.begins;
  }
  if (waits || job.phase == JobPhase::kAlive) {
    record.phase = waits ? LaunchPhase::kWaiting : LaunchPhase::kAlive;
    record.reason = waits ? job.reason : "";
    if (record != before) decisions.launches.push_back(record);
    if (!waits || !NeverBegins(job.reason)) return;
    const std::string why = "the cluster would never begin its jobs: " + job.reason;
    decisions.cancels.push_back({pool.record.number, JobName(pool.record, record), job.key});
    End(pool, launch, LaunchEnd::kRefused, why, now, decisions);
    return PauseFor(pool, why, decisions);
  }
  const std::string reason =
      job.reason.empty() || job.reason == "None" ? job.state : job.state + ": " + job.reason;
  record.ended = std::min(job.ends, now);
  End(pool, launch, EndOf(job.phase), reason, now, decisions);
}

// What was given up and is there all the same is ended: its place has been filled, or nothing waits
// for it, or a cancellation was lost.
void Fleet::EndStrays(Pool& pool, const std::vector<Job>& jobs, Decisions& decisions) const {
  pool.strays = 0;
  for (const Job& job : jobs) {
    const bool lives = job.phase == JobPhase::kWaiting || job.phase == JobPhase::kAlive;
    if (!lives || !job.name.starts_with(JobPrefix(pool.record))) continue;
    const bool known = std::ranges::any_of(pool.live, [&](const auto& launch) {
      return launch.second.record.index == job.index &&
             JobName(pool.record, launch.second.record) == job.name;
    });
    if (known) continue;
    ++pool.strays;
    const bool said = std::ranges::any_of(
        decisions.cancels, [&](const Cancel& cancel) { return cancel.job == job.key; });
    if (!said) decisions.cancels.push_back({pool.record.number, job.name, job.key});
  }
}

void Fleet::Hear(Pool& pool, Launch& launch, const View& view, Decisions& decisions) {
  const std::string name = WorkerName(pool.record, launch.record);
  const SeenWorker* worker = Seen(view.workers, name);
  if (worker == nullptr || launch.record.heard) return;
  launch.record.heard = true;
  decisions.launches.push_back(launch.record);
  PoolRecord& record = pool.record;
  if (worker->classes.empty()) {
    return PauseFor(pool, "its worker " + name + " offers nothing: `noisefloor explain` says why",
                    decisions);
  }
  const std::string& wished = record.wish.hardware;
  if (!wished.empty() && !Has(worker->classes, wished)) {
    std::string has;
    for (const std::string& one : worker->classes) has += (has.empty() ? "" : ", ") + one;
    decisions.cancels.push_back({record.number, JobName(record, launch.record), launch.record.job});
    return PauseFor(
        pool,
        "its worker " + name + " has no " + wished + " but " + (has.empty() ? "nothing" : has),
        decisions);
  }
  PoolRecord learned = record;
  learned.classes = wished.empty() ? worker->classes : std::vector<std::string>{wished};
  learned.stacks = worker->stacks;
  learned.slots = std::max(worker->slots, 1u);
  if (learned == record) return;
  record = std::move(learned);
  decisions.pools.push_back(record);
}

void Fleet::End(Pool& pool, Launch& launch, LaunchEnd how, std::string reason, absl::Time now,
                Decisions& decisions) {
  LaunchRecord record = std::move(launch.record);
  pool.live.erase(record.number);  // `launch` is no more.
  record.phase = LaunchPhase::kEnded;
  record.end = how;
  record.reason = std::move(reason);
  record.ended = std::min(record.ended, now);
  pool.used += TimeOf(record, now);
  Count(pool, record);
  decisions.launches.push_back(record);
  if (pool.crashes < rules_.most_crashes || pool.record.state != PoolState::kActive) return;
  PauseFor(pool,
           "its last " + std::to_string(pool.crashes) + " workers failed, the last one (" +
               WorkerName(pool.record, record) + ") with " + record.reason,
           decisions);
}

void Fleet::Count(Pool& pool, const LaunchRecord& ended) const {
  if (ended.number <= pool.record.forgiven) return;
  const bool ran = ended.began != absl::InfiniteFuture();
  const bool crashed =
      ended.end == LaunchEnd::kBroken || (ended.end == LaunchEnd::kWell && ran && !ended.heard);
  if (crashed) {
    ++pool.crashes;
    pool.last_crash = ended;
  } else if (ended.heard) {
    pool.crashes = 0;
  }
}

void Fleet::PauseFor(Pool& pool, const std::string& why, Decisions& decisions) {
  if (pool.record.state != PoolState::kActive) return;
  pool.record.state = PoolState::kPaused;
  pool.record.why = why;
  decisions.pools.push_back(pool.record);
  decisions.happenings.push_back({"pool_paused", "pool " + pool.record.wish.name + ": " + why});
}

void Fleet::CheckBounds(Pool& pool, absl::Time now, Decisions& decisions) {
  const PoolWish& wish = pool.record.wish;
  if (wish.gpu_hours == 0 || pool.record.state != PoolState::kActive) return;
  if (GpuHours(pool, now) < wish.gpu_hours) return;
  PauseFor(pool, "its GPU hours are used up", decisions);
}

void Fleet::Size(Pool& pool, uint64_t members, const View& view, Decisions& decisions) {
  const PoolRecord& record = pool.record;
  if (record.state == PoolState::kRemoving) {
    if (view.jobs) TakeBack(pool, static_cast<uint32_t>(pool.live.size()), view.now, decisions);
    return;
  }
  const auto live = static_cast<uint32_t>(pool.live.size());
  const uint32_t coming = CountLive(pool, IsComing);
  // The first worker comes unasked: sweeps are checked against what it has, and who adds a pool
  // learns at once whether it works.
  const uint64_t unseen =
      record.classes.empty() && record.state == PoolState::kActive && live == coming ? 1 : 0;
  const uint64_t wanted = std::max((members + record.slots - 1) / record.slots, unseen);
  const uint32_t staying = CountLive(pool, [](const Launch& l) { return l.record.stays; });
  const uint32_t surplus =
      coming > wanted && live > record.wish.least
          ? static_cast<uint32_t>(std::min<uint64_t>(coming - wanted, live - record.wish.least))
          : 0;
  if (!view.jobs && !view.unasked) return;  // Nothing can be asked of a cluster that is not heard.
  pool.surplus_looks = surplus == 0 ? 0 : pool.surplus_looks + 1;
  if (pool.surplus_looks >= rules_.looks_until_surplus)
    TakeBack(pool, surplus, view.now, decisions);
  if (record.state != PoolState::kActive || view.now < pool.next_submit) return;
  const uint32_t queued = CountLive(pool, IsQueued);
  uint32_t room = std::min(record.wish.most - std::min(record.wish.most, live + pool.strays),
                           record.wish.backlog - std::min(record.wish.backlog, queued));
  const uint32_t stays = std::min(room, record.wish.least - std::min(record.wish.least, staying));
  Launches(pool, stays, /*stays=*/true, view, decisions);
  room -= stays;
  const uint64_t needed = wanted > coming + stays ? wanted - coming - stays : 0;
  Launches(pool, static_cast<uint32_t>(std::min<uint64_t>(room, needed)), /*stays=*/false, view,
           decisions);
}

void Fleet::Launches(Pool& pool, uint32_t count, bool stays, const View& view,
                     Decisions& decisions) {
  if (count == 0) return;
  // Those that stay are submitted apart: their script is another.
  const std::string nonce = view.nonce + (stays ? "s" : "");
  for (uint32_t index = 0; index < count; ++index) {
    LaunchRecord record;
    record.number = ++last_launch_;
    record.pool = pool.record.number;
    record.nonce = nonce;
    record.index = index;
    record.stays = stays;
    record.created = view.now;
    decisions.launches.push_back(record);
    pool.live[record.number].record = std::move(record);
  }
  decisions.submits.push_back({pool.record.number, nonce, count, stays});
}

// The newest first. Of a pool that is removed all: those that run, too.
void Fleet::TakeBack(Pool& pool, uint32_t surplus, absl::Time now, Decisions& decisions) {
  const bool all = pool.record.state == PoolState::kRemoving;
  std::vector<uint64_t> chosen;
  for (auto it = pool.live.rbegin(); it != pool.live.rend() && chosen.size() < surplus; ++it) {
    const LaunchRecord& launch = it->second.record;
    if (all || (launch.phase == LaunchPhase::kWaiting && !launch.stays && !launch.heard))
      chosen.push_back(it->first);
  }
  for (const uint64_t number : chosen) {
    Launch& launch = pool.live.at(number);
    decisions.cancels.push_back(
        {pool.record.number, JobName(pool.record, launch.record), launch.record.job});
    // What is removed is gone when the cluster says so, and not before.
    if (!all) End(pool, launch, LaunchEnd::kSurplus, "nothing waits for it", now, decisions);
  }
}

Decisions Fleet::Submitted(const Submit& submit, const absl::StatusOr<std::string>& job,
                           absl::Time now) {
  Decisions decisions;
  const auto found = pools_.find(submit.pool);
  if (found == pools_.end()) return decisions;
  Pool& pool = found->second;
  std::vector<uint64_t> numbers;
  for (const auto& [number, launch] : pool.live) {
    if (launch.record.nonce == submit.nonce) numbers.push_back(number);
  }
  if (job.ok()) {
    pool.refusals = 0;
    for (const uint64_t number : numbers) {
      LaunchRecord& record = pool.live.at(number).record;
      record.phase = LaunchPhase::kWaiting;
      record.job = submit.count > 1 ? *job + "_" + std::to_string(record.index) : *job;
      decisions.launches.push_back(record);
    }
    return decisions;
  }
  const size_t last = rules_.delays.size() - 1;
  pool.next_submit = now + rules_.delays[std::min<size_t>(pool.refusals, last)];
  ++pool.refusals;
  if (!absl::IsInvalidArgument(job.status())) return decisions;  // Found by name, or gone.
  for (const uint64_t number : numbers) {
    End(pool, pool.live.at(number), LaunchEnd::kRefused, Message(job.status()), now, decisions);
  }
  if (pool.refusals < rules_.most_refusals) return decisions;
  PauseFor(pool, "the cluster refuses its jobs: " + Message(job.status()), decisions);
  return decisions;
}

double GpuHours(const Pool& pool, absl::Time now) {
  absl::Duration used = pool.used;
  for (const auto& [number, launch] : pool.live) used += TimeOf(launch.record, now);
  return absl::ToDoubleHours(used) * GpusOf(pool.record.wish);
}

}  // namespace noisefloor::fleet
