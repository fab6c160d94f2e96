#include "coordinator/fleet/fleet.h"

#include <algorithm>
#include <set>
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

// A worker of that name, started again or not: the one that is connected, if any is.
const SeenWorker* Seen(const std::map<std::string, SeenWorker>& workers, const std::string& name) {
  const SeenWorker* seen = nullptr;
  for (auto it = workers.lower_bound(name); it != workers.end(); ++it) {
    if (!it->first.starts_with(name)) break;
    const bool ours = it->first == name || it->first.starts_with(name + "-r");
    if (ours && (seen == nullptr || !seen->connected)) seen = &it->second;
  }
  return seen;
}

bool Has(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

absl::Status NoPool(const std::string& name) {
  return MakeError(absl::StatusCode::kNotFound, "no pool " + name);
}

std::string By(const std::string& caller) { return caller.empty() ? "" : " by " + caller; }

std::string Listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Places of live launches, as jobs have them: name and index.
std::set<std::pair<std::string, uint32_t>> PlacesOf(const Pool& pool) {
  std::set<std::pair<std::string, uint32_t>> places;
  for (const auto& [number, launch] : pool.live) {
    places.emplace(JobName(pool.record, launch.record), launch.record.index);
  }
  return places;
}

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
  pool->array = {};
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
  std::optional<JobIndex> jobs;
  if (view.jobs) jobs.emplace(*view.jobs);
  polled_ = polled_ || view.jobs.has_value();
  for (auto& [number, pool] : pools_) {
    SeeAll(pool, view, jobs, decisions);
    CheckBounds(pool, view.now, decisions);
  }
  if (jobs) looked_at_ += jobs->looked_at();
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

void Fleet::SeeAll(Pool& pool, const View& view, const std::optional<JobIndex>& jobs,
                   Decisions& decisions) {
  std::vector<uint64_t> live;
  for (const auto& [launch, unused] : pool.live) live.push_back(launch);
  looked_at_ += live.size();
  const size_t cancels_before = decisions.cancels.size();
  for (const uint64_t launch : live) See(pool, pool.live.at(launch), view, jobs, decisions);
  if (jobs) EndStrays(pool, *jobs, cancels_before, decisions);
}

void Fleet::See(Pool& pool, Launch& launch, const View& view, const std::optional<JobIndex>& jobs,
                Decisions& decisions) {
  Hear(pool, launch, view, decisions);
  if (!jobs) return;
  const Job* job = jobs->Find(JobName(pool.record, launch.record), launch.record.index);
  if (job != nullptr) return SeeJob(pool, launch, *job, view.now, decisions);
  const SeenWorker* worker = Seen(view.workers, WorkerName(pool.record, launch.record));
  const bool here = worker != nullptr && worker->connected;
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
// for it, or a cancellation was lost. `cancels_before`: those of this pool come behind them.
void Fleet::EndStrays(Pool& pool, const JobIndex& jobs, size_t cancels_before,
                      Decisions& decisions) const {
  pool.strays = 0;
  const auto places = PlacesOf(pool);
  std::set<std::string> said;
  for (size_t i = cancels_before; i < decisions.cancels.size(); ++i) {
    said.insert(decisions.cancels[i].job);
  }
  for (const Job* job : jobs.Beginning(JobPrefix(pool.record))) {
    const bool lives = job->phase == JobPhase::kWaiting || job->phase == JobPhase::kAlive;
    if (!lives || places.contains({job->name, job->index})) continue;
    ++pool.strays;
    if (!said.contains(job->key)) {
      decisions.cancels.push_back({pool.record.number, job->name, job->key});
    }
  }
}

void Fleet::Hear(Pool& pool, Launch& launch, const View& view, Decisions& decisions) {
  const std::string name = WorkerName(pool.record, launch.record);
  const SeenWorker* worker = Seen(view.workers, name);
  if (worker == nullptr) return;
  const bool is_new = !launch.record.heard;
  if (is_new) {
    launch.record.heard = true;
    decisions.launches.push_back(launch.record);
  }
  PoolRecord& record = pool.record;
  if (worker->classes.empty()) {
    // Of one that was here before this process was, nobody knows what it had.
    if (!is_new || !worker->connected) return;
    return PauseFor(pool, "its worker " + name + " offers nothing: `noisefloor explain` says why",
                    decisions);
  }
  const std::string& wished = record.wish.hardware;
  if (wished.empty() || Has(worker->classes, wished)) {
    // Not only of a new one: it may have been away when it was seen first.
    if (is_new || record.classes.empty()) Learn(pool, *worker, decisions);
    return;
  }
  // Again with each poll that still shows it: a cancellation may have been lost.
  if (is_new || view.jobs) {
    decisions.cancels.push_back({record.number, JobName(record, launch.record), launch.record.job});
  }
  PauseFor(pool, "its worker " + name + " has no " + wished + " but " + Listed(worker->classes),
           decisions);
}

// What workers of the pool have.
void Fleet::Learn(Pool& pool, const SeenWorker& worker, Decisions& decisions) {
  PoolRecord& record = pool.record;
  const std::string& wished = record.wish.hardware;
  PoolRecord learned = record;
  learned.classes = wished.empty() ? worker.classes : std::vector<std::string>{wished};
  learned.stacks = worker.stacks;
  learned.slots = std::max(worker.slots, 1u);
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
  // Where the cluster bounds how many there may be, there is a place again.
  if (how != LaunchEnd::kRefused && how != LaunchEnd::kGone) {
    pool.next_submit = std::min(pool.next_submit, now);
  }
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
    if (view.jobs) CancelAll(pool, decisions);
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
  // Nothing can be asked of a cluster that is not heard, or that was not heard yet: it may have
  // jobs that a process before this one was about to end.
  if (!view.jobs && !(view.unasked && polled_)) return;
  pool.surplus_looks = surplus == 0 ? 0 : pool.surplus_looks + 1;
  if (pool.surplus_looks >= rules_.looks_until_surplus)
    TakeBack(pool, surplus, view.now, decisions);
  // A clock that was set back makes nobody wait longer than is ever waited.
  const absl::Duration pause = pool.next_submit - view.now;
  const bool waits = pause > absl::ZeroDuration() && pause <= rules_.delays.back();
  if (record.state != PoolState::kActive || waits) return;
  const uint32_t queued = CountLive(pool, IsQueued);
  uint32_t room = std::min(record.wish.most - std::min(record.wish.most, live + pool.strays),
                           record.wish.backlog - std::min(record.wish.backlog, queued));
  const uint32_t together = pool.array.Next(rules_.most_together);
  const uint32_t stays =
      std::min({room, together, record.wish.least - std::min(record.wish.least, staying)});
  Launches(pool, stays, /*stays=*/true, view, decisions);
  room -= stays;
  const uint64_t needed = wanted > coming + stays ? wanted - coming - stays : 0;
  Launches(pool, static_cast<uint32_t>(std::min<uint64_t>({room, together, needed})),
           /*stays=*/false, view, decisions);
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

// The newest first.
void Fleet::TakeBack(Pool& pool, uint32_t surplus, absl::Time now, Decisions& decisions) {
  std::vector<uint64_t> chosen;
  for (auto it = pool.live.rbegin(); it != pool.live.rend() && chosen.size() < surplus; ++it) {
    const LaunchRecord& launch = it->second.record;
    if (launch.phase == LaunchPhase::kWaiting && !launch.stays && !launch.heard) {
      chosen.push_back(it->first);
    }
  }
  for (const uint64_t number : chosen) {
    Launch& launch = pool.live.at(number);
    decisions.cancels.push_back(
        {pool.record.number, JobName(pool.record, launch.record), launch.record.job});
    End(pool, launch, LaunchEnd::kSurplus, "nothing waits for it", now, decisions);
  }
}

// Those that were submitted together are one question to the cluster. What is cancelled is gone
// when the cluster says so, and not before.
void Fleet::CancelAll(const Pool& pool, Decisions& decisions) {
  std::set<std::string> names;
  for (const auto& [number, launch] : pool.live) {
    names.insert(JobName(pool.record, launch.record));
  }
  for (const std::string& name : names) {
    decisions.cancels.push_back({pool.record.number, name, ""});
  }
}

Decisions Fleet::Submitted(const Submit& submit, const absl::StatusOr<std::string>& job,
                           absl::Time now) {
  Decisions decisions;
  const auto found = pools_.find(submit.pool);
  if (found == pools_.end()) return decisions;
  Pool& pool = found->second;
  if (!job.ok()) {
    Refused(pool, submit, job.status(), now, decisions);
    return decisions;
  }
  // One that is taken after refusals shows that its number was not what was wrong.
  if (pool.refusals > 0) {
    pool.array = {};
  } else {
    pool.array.Take(submit.count);
  }
  pool.refusals = 0;
  for (auto& [number, launch] : pool.live) {
    LaunchRecord& record = launch.record;
    if (record.nonce != submit.nonce) continue;
    record.phase = LaunchPhase::kWaiting;
    record.job = submit.count > 1 ? *job + "_" + std::to_string(record.index) : *job;
    decisions.launches.push_back(record);
  }
  return decisions;
}

void Fleet::Refused(Pool& pool, const Submit& submit, const absl::Status& why, absl::Time now,
                    Decisions& decisions) {
  // What was not answered is found by name, or gone.
  const bool refused = absl::IsInvalidArgument(why);
  std::vector<uint64_t> numbers;
  for (const auto& [number, launch] : pool.live) {
    if (refused && launch.record.nonce == submit.nonce) numbers.push_back(number);
  }
  for (const uint64_t number : numbers) {
    End(pool, pool.live.at(number), LaunchEnd::kRefused, Message(why), now, decisions);
  }
  if (refused && submit.count > 1) return pool.array.Refuse(submit.count);  // Fewer, then.
  const size_t last = rules_.delays.size() - 1;
  pool.next_submit = now + rules_.delays[std::min<size_t>(pool.refusals, last)];
  ++pool.refusals;
  pool.refusal = Message(why);
  // One that has jobs has as many as it may: there are bounds that only the cluster knows.
  const bool has_jobs = std::ranges::any_of(pool.live, [](const auto& launch) {
    return launch.second.record.phase != LaunchPhase::kIntended;
  });
  if (pool.refusals < rules_.most_refusals || has_jobs) return;
  PauseFor(pool,
           std::string(refused ? "the cluster refuses its jobs: "
                               : "the cluster does not answer when its jobs are submitted: ") +
               Message(why),
           decisions);
}

double GpuHours(const Pool& pool, absl::Time now) {
  absl::Duration used = pool.used;
  for (const auto& [number, launch] : pool.live) used += TimeOf(launch.record, now);
  return absl::ToDoubleHours(used) * GpusOf(pool.record.wish);
}

}  // namespace noisefloor::fleet
