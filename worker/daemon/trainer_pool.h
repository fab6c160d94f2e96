// The trainer processes of a worker: those that train and those that stand by, by slot, and the
// servers that fork them, by key.
//
// One thread (see spawn.h); the sink is called on the processes' own threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "worker/daemon/fork_server.h"
#include "worker/daemon/stacks.h"
#include "worker/daemon/trainer_process.h"
#include "worker/devices/class_variables.h"
#include "worker/devices/layout.h"
#include "worker/slots/message.h"

namespace noisefloor {

struct PoolSettings {
  Stacks stacks;
  std::vector<SlotPlan> slots;
  std::string state_directory;  // Marks the processes as ours.
  std::string cache;            // NOISEFLOOR_CACHE of the trainers; empty: none.
  std::string checkpoints;      // NOISEFLOOR_CHECKPOINTS.
  absl::Duration checkpoint_every = absl::Seconds(60);  // NOISEFLOOR_CHECKPOINT_SECONDS.
  uint64_t cache_limit_mib = 0;                         // NOISEFLOOR_CACHE_LIMIT.
};

// News of a process, by its number. After ProcessExit: Remove.
struct PoolNews {
  uint64_t process = 0;
  TrainerNews news;
};

class TrainerPool {
 public:
  using Sink = std::function<void(PoolNews)>;
  TrainerPool(PoolSettings settings, Sink sink);

  absl::Status StartStandby(uint32_t slot, const slots::TrainerKey& key);
  void EndStandby(uint32_t slot);

  // Whether a server can fork the trainers of this key: the program offers it, and the class is
  // not a GPU's (what CUDA has opened does not survive a fork).
  bool Forks(const slots::TrainerKey& key) const;
  // Starts a server of the key unless there is one, or too many have been lost. At most four live:
  // a fifth takes the place of the one that was used the longest ago. FailedPrecondition: the one
  // that there was is lost, or has refused; the next call may start another.
  absl::Status KeepForkServer(uint32_t slot, const slots::TrainerKey& key);
  void EndForkServers() { servers_.clear(); }

  struct Work {
    std::string request;  // JSON.
    std::string log_path;
  };
  enum class Origin : uint8_t { kStarted, kStandby, kForked };
  struct Started {
    uint64_t process = 0;
    Origin origin = Origin::kStarted;
    absl::Status not_forked;  // Why, when a server was there and is not any more.
  };
  // The process that has the request now: a fork of the key's server when that is ready, the slot's
  // standby, or a fresh one.
  absl::StatusOr<Started> Start(const slots::StartTrainer& start, const Work& work);

  void Terminate(uint64_t process);
  void Kill(uint64_t process);
  // After every PoolNews: see TrainerProcess::Consumed.
  void Consumed(uint64_t process);
  // Ends what trainers have left behind that do not run any more; the numbers (orphans.h).
  std::vector<int> EndOrphans() const;
  // Forgets a process that has ended. The slot, when it was that slot's standby.
  std::optional<uint32_t> Remove(uint64_t process);

 private:
  absl::StatusOr<Variables> VariablesFor(uint32_t slot, const slots::TrainerKey& key) const;
  absl::StatusOr<TrainerCommand> CommandFor(uint32_t slot, const slots::TrainerKey& key) const;
  absl::StatusOr<uint64_t> StartProcess(uint32_t slot, const slots::TrainerKey& key,
                                        ForkServer* server = nullptr);
  absl::StatusOr<Started> Begin(const slots::StartTrainer& start);
  // From the key's server; OK with no process when there is none, or none that is ready.
  absl::StatusOr<std::optional<uint64_t>> Fork(const slots::StartTrainer& start);

  const PoolSettings settings_;
  const Sink sink_;
  std::map<uint64_t, std::unique_ptr<TrainerProcess>> processes_;
  std::map<uint32_t, uint64_t> standbys_;  // Slot to process.
  struct Server {
    std::unique_ptr<ForkServer> server;
    uint64_t last_use = 0;  // last_ at that time.
  };
  void Lose(std::map<slots::TrainerKey, Server>::iterator server);
  std::map<slots::TrainerKey, Server> servers_;
  std::map<slots::TrainerKey, int> servers_lost_;  // In a row.
  uint64_t last_ = 0;
};

}  // namespace noisefloor
