// Keeps the pools of workers: looks what waits and who is here, asks the cluster, lets fleet::Fleet
// decide, has the loop keep that, and only then does it.
//
// One thread of its own does all of it, since the cluster may take its time to answer; it ends with
// Stop, after the command that runs. While there is no pool it sleeps.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/mailbox.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/loop/event_loop.h"
#include "coordinator/slurm/slurm.h"

namespace noisefloor {

struct PoolKeeperOptions {
  absl::Duration look = absl::Seconds(1);   // Between two looks at what waits.
  absl::Duration poll = absl::Seconds(15);  // Between two questions to the cluster.
  bool reachable = true;                    // By workers. Else all that is asked of it is refused.
};

// What readers see: as of the last decision that is kept.
struct PoolsNow {
  std::map<uint64_t, fleet::Pool> pools;
  std::string cluster_problem;  // Why it cannot be asked; empty: it answers, or was not asked.
};

// Classes that workers of active pools have, each as often as pools have it.
std::vector<std::string> PoolClasses(const PoolsNow& now);
// "Pool a100: waits for the cluster: Resources (...).\n" of each.
std::string PoolsStand(const PoolsNow& now, absl::Time at);

// What is said of a pool that is tried.
struct PoolTried {
  std::string cluster_says;
  std::string script;
};

// Thread-safe. Start and Stop by one owner, once each.
class PoolKeeper {
 public:
  struct Parts {
    EventLoop& loop;  // Outlives it, and is stopped after it.
    const Clock& clock;
    Slurm slurm;
    std::function<std::string()> address;  // Where this coordinator listens. Its thread.
    std::function<std::string()> chance;   // 16 hexadecimal digits that nobody has had. Likewise.
  };
  PoolKeeper(Parts parts, PoolKeeperOptions options, fleet::Fleet fleet);
  ~PoolKeeper();

  void Start();
  void Stop();

  // `done` is called once: on the keeper's thread, from Start on, or, once it is stopped, on the
  // caller's or that of Stop. What is OK is kept. Errors as of fleet::Fleet, of Slurm::Try, and of
  // EventLoop::Call.
  using Tried = std::function<void(const absl::StatusOr<PoolTried>&)>;
  using Done = std::function<void(const absl::Status&)>;
  void Add(fleet::PoolWish wish, bool dry_run, std::string caller, Tried done);
  void SetPaused(std::string name, bool paused, std::string caller, Done done);
  void Remove(std::string name, std::string caller, Done done);

  // shared: with readers, while a newer one takes its place.
  std::shared_ptr<const PoolsNow> pools() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct AddWanted {
    fleet::PoolWish wish;
    bool dry_run = false;
    std::string caller;
    Tried done;
  };
  struct Change {
    std::function<absl::StatusOr<fleet::Decisions>(fleet::Fleet&)> decide;
    std::string caller;
    Done done;
  };
  using Item = std::variant<AddWanted, Change>;

  absl::Status Post(Item item);
  void Run();
  void On(AddWanted& wanted);
  void On(Change& change);
  void LookNow();
  void PollWhenDue(fleet::View& view);
  absl::Status Keep(fleet::Fleet next, const fleet::Decisions& decisions,
                    const std::string& caller);
  void Do(const fleet::Decisions& decisions);
  bool Do(const fleet::Submit& submit);  // Whether the cluster answered.
  void Publish();
  absl::StatusOr<PoolTried> Try(const fleet::PoolWish& wish) const;
  SubmitWish WishOf(const fleet::PoolRecord& pool, const std::string& nonce, uint32_t count,
                    bool stays) const;
  fleet::View Seen();

  Parts parts_;
  const PoolKeeperOptions options_;
  Mailbox<Item> mailbox_;
  fleet::Fleet fleet_;  // Its thread's, from here on.
  absl::Duration next_poll_ = -absl::InfiniteDuration();
  std::set<std::string, std::less<>> here_;  // Workers that were connected at the last look.
  std::string cluster_problem_;
  mutable Mutex mutex_;
  // shared: see pools().
  std::shared_ptr<const PoolsNow> now_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Where the worker of that name writes: LOGS/NAME.log.
std::string LogPathOf(const fleet::PoolWish& wish, const std::string& worker);

}  // namespace noisefloor
