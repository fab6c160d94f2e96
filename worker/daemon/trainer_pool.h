// The trainer processes of a worker: those that train and those that stand by, by slot.
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

#include "worker/daemon/stacks.h"
#include "worker/daemon/trainer_process.h"
#include "worker/devices/class_variables.h"
#include "worker/devices/gpu.h"
#include "worker/slots/message.h"

namespace noisefloor {

struct PoolSettings {
  Stacks stacks;
  std::vector<std::vector<int>> slot_cores;  // One list per slot.
  std::vector<Gpu> gpus;                     // Slot i has number i modulo their count.
  std::string state_directory;               // Marks the processes as ours.
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

  struct Work {
    std::string request;  // JSON.
    std::string log_path;
  };
  // The number of the process that has the request now: the slot's standby or a fresh one.
  absl::StatusOr<uint64_t> Start(const slots::StartTrainer& start, const Work& work);

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
  absl::StatusOr<uint64_t> StartProcess(uint32_t slot, const slots::TrainerKey& key);

  const PoolSettings settings_;
  const Sink sink_;
  std::map<uint64_t, std::unique_ptr<TrainerProcess>> processes_;
  std::map<uint32_t, uint64_t> standbys_;  // Slot to process.
  uint64_t last_ = 0;
};

}  // namespace noisefloor
