#include "coordinator/pools/pool_keeper.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <string_view>
#include <utility>

#include "fmt/format.h"

#include "common/files/directory.h"
#include "common/log/log.h"
#include "coordinator/pools/last_words.h"
#include "coordinator/pools/worker_options.h"
#include "coordinator/slurm/script.h"

namespace noisefloor {

namespace {

constexpr size_t kMostItems = 1000;
constexpr absl::Duration kSoon = absl::Seconds(3);
constexpr absl::Duration kSleep = absl::Minutes(1);  // While there is no pool.

// Names of the workers of all live launches, as they are before the cluster starts one again.
std::set<std::string, std::less<>> NamesIn(const fleet::Fleet& fleet) {
  std::set<std::string, std::less<>> names;
  for (const auto& [number, pool] : fleet.pools()) {
    for (const auto& [launch, one] : pool.live) {
      names.insert(fleet::WorkerName(pool.record, one.record));
    }
  }
  return names;
}

// "a100-9f8e-0" of "a100-9f8e-0-r1".
std::string_view WithoutRestarts(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const bool again = digits < name.size() && name.substr(0, digits).ends_with("-r");
  return again ? name.substr(0, digits - 2) : name;
}

// The cluster has not answered, and will not answer the next question soon.
bool IsSilent(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// A job whose output cannot be written ends without a word, and with nobody's.
absl::Status MakeLogs(const std::string& folder) {
  NF_RETURN_IF_ERROR(CreateDirectories(folder));
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return InvalidInput(fmt::format("{}: nothing can be written there", folder));
}

// Those that are not there, `folder` and above it, the innermost first. A link to nowhere counts.
std::vector<std::string> MissingFolders(const std::string& folder) {
  std::vector<std::string> missing;
  std::filesystem::path path = folder;
  while (path.has_relative_path() && !PathExists(path.string())) {
    missing.push_back(path.string());
    path = path.parent_path();
  }
  return missing;
}

// Only folders, and only empty ones: a link, or what somebody has written meanwhile, stays.
void RemoveFolders(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) (void)::rmdir(folder.c_str());
}

// Of jobs that have just failed, behind the cluster's reason, what their workers said last. False:
// it was told to stop before it had looked at all of them, which lie where reading may take long.
bool AddLastWords(const fleet::Fleet& fleet, std::vector<fleet::Job>& jobs,
                  const std::function<bool()>& stopping) {
  const fleet::JobIndex index(jobs);
  for (const auto& [number, pool] : fleet.pools()) {
    for (const auto& [launch, one] : pool.live) {
      const fleet::Job* found =
          index.Find(fleet::JobName(pool.record, one.record), one.record.index);
      if (found == nullptr || found->phase != fleet::JobPhase::kBroken) continue;
      if (stopping()) return false;
      const std::string words =
          LastWords(LogPathOf(pool.record.wish, fleet::WorkerName(pool.record, one.record)));
      fleet::Job& job = jobs[static_cast<size_t>(found - jobs.data())];
      if (!words.empty()) job.reason += (job.reason.empty() ? "" : ": ") + words;
    }
  }
  return true;
}

fleet::SeenWorker SeenOf(const scheduler::WorkerStatus& worker) {
  fleet::SeenWorker seen;
  seen.connected = worker.connected;
  if (worker.inventory == nullptr) return seen;
  for (const Inventory::Offer& offer : worker.inventory->offers) {
    const auto add = [](std::vector<std::string>& all, const std::string& one) {
      if (std::ranges::find(all, one) == all.end()) all.push_back(one);
    };
    add(seen.classes, offer.hardware_class);
    add(seen.stacks, offer.stack);
  }
  seen.slots = static_cast<uint32_t>(worker.inventory->slots.size());
  return seen;
}

}  // namespace

std::vector<std::string> PoolClasses(const PoolsNow& now) {
  std::vector<std::string> classes;
  for (const auto& [number, pool] : now.pools) {
    if (pool.record.state != fleet::PoolState::kActive) continue;
    classes.insert(classes.end(), pool.record.classes.begin(), pool.record.classes.end());
  }
  return classes;
}

std::string PoolsStand(const PoolsNow& now, absl::Time at) {
  std::string text;
  for (const auto& [number, pool] : now.pools) {
    text += fmt::format("\nPool {}: {}.", pool.record.wish.name, fleet::Explain(pool, at));
  }
  if (!now.cluster_problem.empty()) {
    text += "\nThe cluster does not answer: " + now.cluster_problem + ".";
  }
  return text;
}

std::string LogPathOf(const fleet::PoolWish& wish, const std::string& worker) {
  return wish.logs + "/" + worker + ".log";
}

PoolKeeper::PoolKeeper(Parts parts, PoolKeeperOptions options, fleet::Fleet fleet)
    : parts_(std::move(parts)), options_(options), mailbox_(kMostItems), fleet_(std::move(fleet)) {
  Publish();
}

PoolKeeper::~PoolKeeper() { Stop(); }

void PoolKeeper::Start() {
  thread_ = std::thread([this] { Run(); });
}

void PoolKeeper::Stop() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
  for (Item& item : mailbox_.TakeAll(absl::ZeroDuration())) {  // It was never started.
    std::visit([](auto& one) { one.done(NotTaken(true)); }, item);
  }
}

std::shared_ptr<const PoolsNow> PoolKeeper::pools() const {
  MutexLock lock(mutex_);
  return now_;
}

void PoolKeeper::Add(fleet::PoolWish wish, bool dry_run, std::string caller, Tried done) {
  const absl::Status posted = Post(AddWanted{std::move(wish), dry_run, std::move(caller), done});
  if (!posted.ok()) done(posted);
}

void PoolKeeper::SetPaused(std::string name, bool paused, std::string caller, Done done) {
  const auto decide = [name = std::move(name), paused, caller](fleet::Fleet& fleet) {
    return paused ? fleet.Pause(name, caller) : fleet.Resume(name, caller);
  };
  const absl::Status posted = Post(Change{decide, std::move(caller), done});
  if (!posted.ok()) done(posted);
}

void PoolKeeper::Remove(std::string name, std::string caller, Done done) {
  const auto decide = [name = std::move(name), caller](fleet::Fleet& fleet) {
    return fleet.Remove(name, caller);
  };
  const absl::Status posted = Post(Change{decide, std::move(caller), done});
  if (!posted.ok()) done(posted);
}

absl::Status PoolKeeper::Post(Item item) {
  if (!options_.reachable) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "pools need a coordinator that workers can reach: `noisefloor serve`");
  }
  return mailbox_.Post(std::move(item)) ? absl::OkStatus() : NotTaken(mailbox_.closed());
}

void PoolKeeper::Run() {
  while (true) {
    const std::vector<Item> items = mailbox_.TakeAll(fleet_.empty() ? kSleep : options_.look);
    const bool closed = mailbox_.closed();
    for (Item item : items) {
      if (!closed) {
        std::visit([this](auto& one) { On(one); }, item);
      } else {
        std::visit([](auto& one) { one.done(NotTaken(true)); }, item);
      }
    }
    if (closed) return;
    if (!fleet_.empty()) LookNow();
  }
}

void PoolKeeper::On(AddWanted& wanted) {
  const std::vector<std::string> made = MissingFolders(wanted.wish.logs);
  const absl::StatusOr<PoolTried> tried = Try(wanted.wish);
  if (!tried.ok() || wanted.dry_run) {
    RemoveFolders(made);
    return wanted.done(tried);
  }
  fleet::Fleet next = fleet_;
  const absl::StatusOr<fleet::Decisions> decided =
      next.Add(wanted.wish, parts_.chance().substr(0, 8), wanted.caller, parts_.clock.Now());
  if (!decided.ok()) {
    RemoveFolders(made);
    return wanted.done(decided.status());
  }
  const absl::Status kept = Keep(std::move(next), *decided, wanted.caller);
  if (!kept.ok()) return wanted.done(kept);
  wanted.done(tried);
}

void PoolKeeper::On(Change& change) {
  fleet::Fleet next = fleet_;
  const absl::StatusOr<fleet::Decisions> decided = change.decide(next);
  if (!decided.ok()) return change.done(decided.status());
  change.done(Keep(std::move(next), *decided, change.caller));
  next_poll_ = std::min(next_poll_, parts_.clock.Steady() + options_.look);  // It shows soon.
}

fleet::View PoolKeeper::Seen() {
  fleet::View view;
  view.now = parts_.clock.Now();
  view.nonce = parts_.chance();
  for (const scheduler::Need& need : parts_.loop.Needs()) {
    view.waiting.push_back({need.hardware, need.stack, need.members, need.time});
  }
  const auto names = NamesIn(fleet_);
  std::set<std::string, std::less<>> here;
  for (const LiveBoard::Worker& worker : parts_.loop.live().Workers()) {
    // One that came and went between two looks was here, too.
    if (!names.contains(WithoutRestarts(worker->name))) continue;
    view.workers[worker->name] = SeenOf(*worker);
    if (worker->connected) here.insert(worker->name);
  }
  // Where one has left, its job has ended, or will have soon.
  const bool left = std::ranges::any_of(here_, [&](const std::string& name) {
    return !here.contains(name) && names.contains(WithoutRestarts(name));
  });
  here_ = std::move(here);
  if (left) next_poll_ = std::min(next_poll_, parts_.clock.Steady() + options_.look);
  return view;
}

void PoolKeeper::PollWhenDue(fleet::View& view) {
  const absl::Duration now = parts_.clock.Steady();
  if (now < next_poll_) {
    view.unasked = cluster_problem_.empty();
    return;
  }
  // One question for all pools: nobody else's jobs have names that begin so.
  absl::StatusOr<std::vector<fleet::Job>> jobs = parts_.slurm.Poll("nf-");
  next_poll_ = parts_.clock.Steady() + options_.poll;
  const std::string problem = jobs.ok() ? "" : Message(jobs.status());
  if (problem != cluster_problem_) {
    cluster_problem_ = problem;
    if (problem.empty()) LogInfo("cluster_answers");
    if (!problem.empty()) LogWarning("cluster_does_not_answer", {{"error", problem}});
    Publish();
  }
  if (!jobs.ok()) return;
  // Else they are seen by the next coordinator, with their words.
  if (AddLastWords(fleet_, *jobs, [this] { return mailbox_.closed(); })) {
    view.jobs = *std::move(jobs);
  }
}

void PoolKeeper::LookNow() {
  fleet::View view = Seen();
  PollWhenDue(view);
  fleet::Fleet next = fleet_;
  const fleet::Decisions decisions = next.Look(view);
  if (!Keep(std::move(next), decisions, "").ok()) return;  // Decided anew at the next look.
  Do(decisions);
}

// Nothing that is decided is so before it is on disk.
absl::Status PoolKeeper::Keep(fleet::Fleet next, const fleet::Decisions& decisions,
                              const std::string& caller) {
  const bool nothing = decisions.pools.empty() && decisions.launches.empty() &&
                       decisions.gone.empty() && decisions.happenings.empty();
  if (!nothing) {
    std::promise<absl::Status> kept;
    parts_.loop.Call(scheduler::FleetDecided{0, decisions.pools, decisions.launches, decisions.gone,
                                             decisions.happenings, caller},
                     [&kept](const CallResult& result) { kept.set_value(result.status); });
    const absl::Status status = kept.get_future().get();
    if (!status.ok()) {
      LogWarning("fleet_not_kept", {{"error", status}});
      return status;
    }
  }
  fleet_ = std::move(next);
  if (!nothing) Publish();
  return absl::OkStatus();
}

// What is not done for want of an answer, or of time, is not lost: a job that was to be cancelled
// is seen as a stray, one that was to be submitted is found nowhere.
void PoolKeeper::Do(const fleet::Decisions& decisions) {
  std::vector<JobToCancel> jobs;
  for (const fleet::Cancel& cancel : decisions.cancels) jobs.push_back({cancel.name, cancel.job});
  const absl::Status cancelled = parts_.slurm.Cancel(jobs);
  if (!cancelled.ok()) LogWarning("cancel_failed", {{"jobs", jobs.size()}, {"error", cancelled}});
  bool answers = !IsSilent(cancelled);
  for (const fleet::Submit& submit : decisions.submits) {
    if (!answers || mailbox_.closed()) break;
    answers = Do(submit);
  }
  // What was asked of the cluster shows soon.
  if (!decisions.submits.empty()) next_poll_ = -absl::InfiniteDuration();
  if (!decisions.cancels.empty()) {
    next_poll_ = std::min(next_poll_, parts_.clock.Steady() + kSoon);
  }
}

bool PoolKeeper::Do(const fleet::Submit& submit) {
  const auto pool = fleet_.pools().find(submit.pool);
  if (pool == fleet_.pools().end()) return true;
  const SubmitWish wish = WishOf(pool->second.record, submit.nonce, submit.count, submit.stays);
  const absl::Status logs = MakeLogs(pool->second.record.wish.logs);
  const absl::StatusOr<std::string> job =
      logs.ok() ? parts_.slurm.Submit(wish) : InvalidInput("its logs: " + Message(logs));
  LogInfo("jobs_submitted", {{"pool", pool->second.record.wish.name},
                             {"count", submit.count},
                             {"job", job.ok() ? *job : Message(job.status())}});
  fleet::Fleet next = fleet_;
  const fleet::Decisions decisions = next.Submitted(submit, job, parts_.clock.Now());
  (void)Keep(std::move(next), decisions, "");  // Else found by its name.
  return !IsSilent(job.status());
}

absl::StatusOr<PoolTried> PoolKeeper::Try(const fleet::PoolWish& wish) const {
  fleet::PoolRecord pool;
  pool.wish = wish;
  pool.tag = "try";
  NF_RETURN_IF_ERROR(fleet::Check(wish));
  NF_RETURN_IF_ERROR(CheckArguments(wish.cluster));
  NF_RETURN_IF_ERROR(MakeLogs(wish.logs));
  const SubmitWish submit = WishOf(pool, "dry", 1, false);
  NF_ASSIGN_OR_RETURN(std::string says, parts_.slurm.Try(submit));
  return PoolTried{std::move(says), submit.script};
}

SubmitWish PoolKeeper::WishOf(const fleet::PoolRecord& pool, const std::string& nonce,
                              uint32_t count, bool stays) const {
  const fleet::PoolWish& wish = pool.wish;
  return {.job_name = fleet::JobPrefix(pool) + nonce,
          .script = BatchScript({.pool = wish.name,
                                 .nonce = nonce,
                                 .prologue = wish.prologue,
                                 .worker_program = wish.program,
                                 .worker_options = WorkerOptions(wish, stays),
                                 .coordinator = wish.access.empty() ? parts_.address() : "",
                                 .access = wish.access,
                                 .logs = wish.logs,
                                 .time_limit = wish.time_limit}),
          .log = wish.logs + "/%x.out",
          .count = count,
          .time_limit = wish.time_limit,
          .warn_before = wish.drain_before,
          .arguments = wish.cluster};
}

void PoolKeeper::Publish() {
  auto now = std::make_shared<const PoolsNow>(PoolsNow{fleet_.pools(), cluster_problem_});
  MutexLock lock(mutex_);
  now_ = std::move(now);
}

}  // namespace noisefloor
