// Decides how many workers each pool has on its cluster, and what became of those that it asked
// for.
//
// Pure: no I/O, clock, thread or chance. A value: whoever cannot keep what it decided throws the
// changed copy away. The caller keeps first, then does:
//
//   Fleet next = fleet; Decisions d = next.Look(view);  ... keep d ...  fleet = next; ... do d ...
//
// so that a job is in the store before the cluster hears of it. One whose submission was not
// answered stays intended, and is found by its name, or found to be nowhere by two polls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "coordinator/fleet/array_size.h"
#include "coordinator/fleet/job.h"
#include "coordinator/fleet/job_index.h"
#include "coordinator/fleet/pool.h"

namespace noisefloor::fleet {

// Members that could be leased now, had they a worker. Empty = any.
struct Waiting {
  std::string hardware;
  std::string stack;
  uint64_t members = 0;
  absl::Duration time;  // That a worker must live for, to end one of them; 0: any does.
};

// A worker that is connected, or that was.
struct SeenWorker {
  std::vector<std::string> classes;
  std::vector<std::string> stacks;
  uint32_t slots = 0;
  bool connected = true;  // If not, and it was so long ago, what it has may not be known.
};

// What is the case.
struct View {
  absl::Time now;
  std::vector<Waiting> waiting;
  std::map<std::string, SeenWorker> workers;  // By name; those of live launches will do.
  std::optional<std::vector<Job>> jobs;       // Of ours; nothing: the cluster was not heard.
  // Nobody has asked the cluster this time, and the last time it answered.
  bool unasked = false;
  std::string nonce;  // Drawn anew for each view.
};

struct Submit {
  uint64_t pool = 0;
  std::string nonce;
  uint32_t count = 0;
  bool stays = false;
};
struct Cancel {
  uint64_t pool = 0;
  std::string name;  // Of the job.
  std::string job;   // Empty: whatever has the name.
};

struct Decisions {
  std::vector<PoolRecord> pools;       // To keep,
  std::vector<LaunchRecord> launches;  // likewise.
  std::vector<uint64_t> gone;          // Pools that are no more.
  std::vector<Submit> submits;         // To do then,
  std::vector<Cancel> cancels;         // likewise.
  std::vector<Happening> happenings;
};

struct Rules {
  uint32_t most_together = 1000;  // Jobs in one array; Slurm's own bound is 1,001.
  uint32_t most_crashes = 3;      // In a row, until a pool is paused.
  uint32_t most_refusals = 10;    // Likewise, of submissions, while it has no job.
  // After so many failed submissions in a row: how long until the next. The last one holds on.
  std::vector<absl::Duration> delays = {absl::ZeroDuration(), absl::Minutes(1), absl::Minutes(5),
                                        absl::Minutes(15), absl::Minutes(60)};
  uint32_t polls_until_gone = 2;  // Good ones, that do not show it.
  uint32_t looks_until_surplus = 2;
};

// What is known of a launch beyond its record.
struct Launch {
  LaunchRecord record;
  uint32_t absent = 0;  // Good polls in a row that have not shown it.
};

struct Pool {
  PoolRecord record;
  std::map<uint64_t, Launch> live;  // By number.
  uint32_t crashes = 0;             // In a row.
  uint32_t refusals = 0;            // In a row, of whatever could not be made smaller.
  std::string refusal;              // What was said of the last one.
  ArraySize array;
  absl::Time next_submit = absl::InfinitePast();
  uint32_t surplus_looks = 0;
  uint32_t strays = 0;  // Jobs that the cluster has of it though they were given up.
  // Of what waits, as of the last look: what it would train if its jobs lived so long.
  std::optional<Waiting> too_long;
  absl::Duration used;  // By jobs that have ended.
  std::optional<LaunchRecord> last_crash;
};

class Fleet {
 public:
  explicit Fleet(Rules rules = {}) : rules_(std::move(rules)) {}
  // As kept: all pools; of each the live launches, and those that ended since the last that ended
  // well; `used` by those that ended, by pool.
  Fleet(Rules rules, std::vector<PoolRecord> pools, std::vector<LaunchRecord> launches,
        const std::map<uint64_t, absl::Duration>& used, uint64_t last_pool, uint64_t last_launch);

  // What people ask for. AlreadyExists, NotFound, InvalidArgument.
  absl::StatusOr<Decisions> Add(const PoolWish& wish, std::string tag, std::string caller,
                                absl::Time now);
  absl::StatusOr<Decisions> Pause(const std::string& name, const std::string& caller);
  absl::StatusOr<Decisions> Resume(const std::string& name, const std::string& caller);
  absl::StatusOr<Decisions> Remove(const std::string& name, const std::string& caller);

  // At least every few seconds while there are pools.
  Decisions Look(const View& view);
  // What became of a submission. OK: its key, "24" of an array, too. InvalidArgument: refused; any
  // other error: it may have been submitted.
  Decisions Submitted(const Submit& submit, const absl::StatusOr<std::string>& job, absl::Time now);

  const std::map<uint64_t, Pool>& pools() const { return pools_; }
  const Pool* Find(std::string_view name) const;
  bool empty() const { return pools_.empty(); }
  // Launches and jobs that looks have cost so far: their budget grows with what there is, not
  // faster.
  uint64_t looked_at() const { return looked_at_; }

 private:
  void SeeAll(Pool& pool, const View& view, const std::optional<JobIndex>& jobs,
              Decisions& decisions);
  void See(Pool& pool, Launch& launch, const View& view, const std::optional<JobIndex>& jobs,
           Decisions& decisions);
  void SeeJob(Pool& pool, Launch& launch, const Job& job, absl::Time now, Decisions& decisions);
  void Hear(Pool& pool, Launch& launch, const View& view, Decisions& decisions);
  void Learn(Pool& pool, const SeenWorker& worker, Decisions& decisions);
  void End(Pool& pool, Launch& launch, LaunchEnd how, std::string reason, absl::Time now,
           Decisions& decisions);
  void Count(Pool& pool, const LaunchRecord& ended) const;
  void PauseFor(Pool& pool, const std::string& why, Decisions& decisions);
  void CheckBounds(Pool& pool, absl::Time now, Decisions& decisions);
  void Size(Pool& pool, uint64_t members, const View& view, Decisions& decisions);
  void Launches(Pool& pool, uint32_t count, bool stays, const View& view, Decisions& decisions);
  void EndStrays(Pool& pool, const JobIndex& jobs, size_t cancels_before,
                 Decisions& decisions) const;
  void Refused(Pool& pool, const Submit& submit, const absl::Status& why, absl::Time now,
               Decisions& decisions);
  void TakeBack(Pool& pool, uint32_t surplus, absl::Time now, Decisions& decisions);
  static void CancelAll(const Pool& pool, Decisions& decisions);
  Pool* FindMutable(std::string_view name);

  Rules rules_;
  std::map<uint64_t, Pool> pools_;
  uint64_t last_pool_ = 0;
  uint64_t last_launch_ = 0;
  uint64_t looked_at_ = 0;
  bool polled_ = false;  // The cluster has answered once.
};

// Of `waiting`, what falls to each pool, by its number: each member to the first pool that offers
// what it needs and has room. Takes them out of `waiting`.
std::map<uint64_t, uint64_t> Share(const std::map<uint64_t, Pool>& pools,
                                   std::vector<Waiting> waiting);

// Of `waiting`, what the pool would train if its jobs lived long enough: how many, and the shortest
// time that one must live for. Nothing: it has time for all.
std::optional<Waiting> TooLongFor(const Pool& pool, const std::vector<Waiting>& waiting);

// What all its jobs have had of GPUs so far.
double GpuHours(const Pool& pool, absl::Time now);

// Where the pool stands, in a sentence.
std::string Explain(const Pool& pool, absl::Time now);

}  // namespace noisefloor::fleet
