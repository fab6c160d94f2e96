#include "worker/daemon/trainer_pool.h"

#include <set>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/atomic_file.h"
#include "worker/daemon/leftovers.h"
#include "worker/daemon/orphans.h"
#include "worker/devices/class_variables.h"

namespace noisefloor {

namespace {

// The first lines of every log: under which conditions the trainer ran.
std::string LogHead(const slots::StartTrainer& start, const Variables& variables,
                    const std::vector<int>& cores) {
  std::string text =
      fmt::format("# lease {}, slot {}, stack {}, class {}, cores {}{}\n", start.lease.value,
                  start.slot, start.key.stack, start.key.hardware_class, fmt::join(cores, " "),
                  start.use_standby ? ", from a standby" : "");
  for (const auto& [name, value] : variables) text += fmt::format("# {}={}\n", name, value);
  return text;
}

}  // namespace

TrainerPool::TrainerPool(PoolSettings settings, Sink sink)
    : settings_(std::move(settings)), sink_(std::move(sink)) {}

absl::StatusOr<Variables> TrainerPool::VariablesFor(uint32_t slot,
                                                    const slots::TrainerKey& key) const {
  ClassRequest request{.hardware_class = key.hardware_class};
  if (!settings_.gpus.empty()) {
    request.gpu_uuid = settings_.gpus[slot % settings_.gpus.size()].uuid;
  }
  request.kernels_fixed = key.variables.empty();
  return VariablesOf(request);
}

absl::StatusOr<uint64_t> TrainerPool::StartProcess(uint32_t slot, const slots::TrainerKey& key) {
  NF_ASSIGN_OR_RETURN(const Variables variables, VariablesFor(slot, key));
  TrainerCommand command;
  command.program = settings_.stacks.at(key.stack).program;
  command.environment = InheritedEnvironment();
  for (const auto& [name, value] : variables) command.environment[name] = value;
  command.environment[kStateVariable] = settings_.state_directory;
  command.cores = settings_.slot_cores.at(slot);
  const uint64_t number = ++last_;
  command.environment[kTrainerVariable] = std::to_string(number);
  NF_ASSIGN_OR_RETURN(auto process,
                      TrainerProcess::Start(command, [this, number](TrainerNews news) {
                        sink_(PoolNews{number, std::move(news)});
                      }));
  processes_[number] = std::move(process);
  return number;
}

absl::Status TrainerPool::StartStandby(uint32_t slot, const slots::TrainerKey& key) {
  NF_ASSIGN_OR_RETURN(const uint64_t number, StartProcess(slot, key));
  standbys_[slot] = number;
  return absl::OkStatus();
}

void TrainerPool::EndStandby(uint32_t slot) {
  const auto it = standbys_.find(slot);
  if (it == standbys_.end()) return;
  Kill(it->second);
  standbys_.erase(it);
}

absl::StatusOr<uint64_t> TrainerPool::Start(const slots::StartTrainer& start, const Work& work) {
  NF_ASSIGN_OR_RETURN(const Variables variables, VariablesFor(start.slot, start.key));
  NF_RETURN_IF_ERROR(WriteFileAtomically(
      work.log_path, LogHead(start, variables, settings_.slot_cores.at(start.slot))));
  uint64_t number = 0;
  if (const auto it = standbys_.find(start.slot); start.use_standby && it != standbys_.end()) {
    number = it->second;
    standbys_.erase(it);
    if (processes_.at(number)->Give(work.request, work.log_path).ok()) return number;
    Kill(number);  // It died just now; a fresh one takes its place.
  }
  NF_ASSIGN_OR_RETURN(number, StartProcess(start.slot, start.key));
  const absl::Status given = processes_.at(number)->Give(work.request, work.log_path);
  // The end of a trainer that ended by itself says more than this failure.
  if (given.ok() || given.code() == absl::StatusCode::kAborted) return number;
  return given;
}

void TrainerPool::Terminate(uint64_t process) {
  if (const auto it = processes_.find(process); it != processes_.end()) it->second->Terminate();
}

void TrainerPool::Kill(uint64_t process) {
  if (const auto it = processes_.find(process); it != processes_.end()) it->second->Kill();
}

void TrainerPool::Consumed(uint64_t process) {
  if (const auto it = processes_.find(process); it != processes_.end()) it->second->Consumed();
}

std::vector<int> TrainerPool::EndOrphans() const {
  std::set<int> ours;
  std::set<std::string> living;
  for (const auto& [number, process] : processes_) {
    ours.insert(process->pid());
    living.insert(std::to_string(number));
  }
  return noisefloor::EndOrphans(ours, living);
}

std::optional<uint32_t> TrainerPool::Remove(uint64_t process) {
  processes_.erase(process);
  for (const auto& [slot, standby] : standbys_) {
    if (standby != process) continue;
    const uint32_t found = slot;
    standbys_.erase(found);
    return found;
  }
  return std::nullopt;
}

}  // namespace noisefloor
