#include "worker/daemon/trainer_pool.h"

#include <algorithm>
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

constexpr size_t kMostServers = 4;
constexpr int kMostLost = 3;  // Then their key's trainers are started afresh for good.

std::string_view Phrase(TrainerPool::Origin origin) {
  switch (origin) {
    case TrainerPool::Origin::kStarted: return "";
    case TrainerPool::Origin::kStandby: return ", from a standby";
    case TrainerPool::Origin::kForked: return ", forked";
  }
  return "";
}

// That its trainers are pinned to; none: wherever the system puts them.
std::vector<int> CoresOf(const SlotPlan& slot) {
  return slot.pinned ? slot.cores : std::vector<int>();
}

// The first lines of every log: under which conditions the trainer ran.
std::string LogHead(const slots::StartTrainer& start, const Variables& variables,
                    const std::vector<int>& cores, TrainerPool::Origin origin) {
  std::string text =
      fmt::format("# lease {}, slot {}, stack {}, class {}, cores {}{}\n", start.lease.value,
                  start.slot, start.key.stack, start.key.hardware_class,
                  cores.empty() ? "any" : fmt::format("{}", fmt::join(cores, " ")), Phrase(origin));
  for (const auto& [name, value] : variables) text += fmt::format("# {}={}\n", name, value);
  return text;
}

}  // namespace

TrainerPool::TrainerPool(PoolSettings settings, Sink sink)
    : settings_(std::move(settings)), sink_(std::move(sink)) {}

absl::StatusOr<Variables> TrainerPool::VariablesFor(uint32_t slot,
                                                    const slots::TrainerKey& key) const {
  return VariablesOf({.hardware_class = key.hardware_class,
                      .gpu_uuid = UuidsOf(settings_.slots.at(slot)),
                      .kernels_fixed = key.variables.empty()});
}

absl::StatusOr<TrainerCommand> TrainerPool::CommandFor(uint32_t slot,
                                                       const slots::TrainerKey& key) const {
  NF_ASSIGN_OR_RETURN(const Variables variables, VariablesFor(slot, key));
  TrainerCommand command;
  command.words = settings_.stacks.at(key.stack).command;
  command.environment = InheritedEnvironment();
  for (const auto& [name, value] : variables) command.environment[name] = value;
  command.environment[kStateVariable] = settings_.state_directory;
  command.environment["NOISEFLOOR_CACHE"] = settings_.cache;
  command.environment["NOISEFLOOR_CACHE_LIMIT"] = fmt::format("{}", settings_.cache_limit_mib);
  command.environment["NOISEFLOOR_CHECKPOINTS"] = settings_.checkpoints;
  command.environment["NOISEFLOOR_CHECKPOINT_SECONDS"] =
      fmt::format("{}", absl::ToDoubleSeconds(settings_.checkpoint_every));
  command.cores = CoresOf(settings_.slots.at(slot));
  return command;
}

absl::StatusOr<uint64_t> TrainerPool::StartProcess(uint32_t slot, const slots::TrainerKey& key,
                                                   ForkServer* server) {
  NF_ASSIGN_OR_RETURN(TrainerCommand command, CommandFor(slot, key));
  command.server = server;
  const uint64_t number = ++last_;
  command.environment[kTrainerVariable] = std::to_string(number);
  NF_ASSIGN_OR_RETURN(auto process,
                      TrainerProcess::Start(command, [this, number](TrainerNews news) {
                        sink_(PoolNews{number, std::move(news)});
                      }));
  processes_[number] = std::move(process);
  return number;
}

bool TrainerPool::Forks(const slots::TrainerKey& key) const {
  const auto stack = settings_.stacks.find(key.stack);
  return stack != settings_.stacks.end() && stack->second.serves_forks &&
         !IsGpuClass(key.hardware_class);
}

absl::Status TrainerPool::KeepForkServer(uint32_t slot, const slots::TrainerKey& key) {
  if (const auto it = servers_.find(key); it != servers_.end()) {
    absl::Status ready = it->second.server->Ready();
    if (!absl::IsFailedPrecondition(ready)) return absl::OkStatus();
    Lose(it);
    return ready;  // Another is started when one is asked for again.
  }
  if (servers_lost_[key] >= kMostLost) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const TrainerCommand command, CommandFor(slot, key));
  if (servers_.size() >= kMostServers) {
    servers_.erase(std::ranges::min_element(
        servers_, {}, [](const auto& entry) { return entry.second.last_use; }));
  }
  auto server = ForkServer::Start(command.words, command.environment, command.cores);
  if (!server.ok()) {
    ++servers_lost_[key];
    return server.status();
  }
  servers_[key] = {*std::move(server), last_};
  return absl::OkStatus();
}

absl::StatusOr<std::optional<uint64_t>> TrainerPool::Fork(const slots::StartTrainer& start) {
  const auto it = servers_.find(start.key);
  if (it == servers_.end()) return std::nullopt;
  ForkServer& server = *it->second.server;
  absl::Status status = server.Ready();
  if (absl::IsUnavailable(status)) return std::nullopt;  // It loads.
  if (status.ok()) {
    it->second.last_use = last_;
    const absl::StatusOr<uint64_t> forked = StartProcess(start.slot, start.key, &server);
    if (forked.ok()) {
      servers_lost_[start.key] = 0;
      return *forked;
    }
    status = forked.status();
  }
  Lose(it);
  return status;
}

void TrainerPool::Lose(std::map<slots::TrainerKey, Server>::iterator server) {
  servers_lost_[server->first] += server->second.server->refused() ? kMostLost : 1;
  servers_.erase(server);
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

absl::StatusOr<TrainerPool::Started> TrainerPool::Begin(const slots::StartTrainer& start) {
  if (const auto it = standbys_.find(start.slot); start.use_standby && it != standbys_.end()) {
    const uint64_t number = it->second;
    standbys_.erase(it);
    return Started{number, Origin::kStandby, absl::OkStatus()};
  }
  const auto forked = Fork(start);
  if (forked.ok() && *forked) return Started{**forked, Origin::kForked, absl::OkStatus()};
  NF_ASSIGN_OR_RETURN(const uint64_t number, StartProcess(start.slot, start.key));
  return Started{number, Origin::kStarted, forked.status()};
}

absl::StatusOr<TrainerPool::Started> TrainerPool::Start(const slots::StartTrainer& start,
                                                        const Work& work) {
  NF_ASSIGN_OR_RETURN(const Variables variables, VariablesFor(start.slot, start.key));
  NF_ASSIGN_OR_RETURN(Started started, Begin(start));
  const absl::Status headed = WriteFileAtomically(
      work.log_path,
      LogHead(start, variables, CoresOf(settings_.slots.at(start.slot)), started.origin));
  if (!headed.ok()) {
    Kill(started.process);
    return headed;
  }
  absl::Status given = processes_.at(started.process)->Give(work.request, work.log_path);
  if (!given.ok() && started.origin == Origin::kStandby) {
    Kill(started.process);  // It died just now; a fresh one takes its place.
    started.origin = Origin::kStarted;
    NF_ASSIGN_OR_RETURN(started.process, StartProcess(start.slot, start.key));
    // Behind what the first one said; without the line the log is of no less use.
    if (const auto log = LocalFileSystem().OpenToAppend(work.log_path); log.ok()) {
      (void)(*log)->Append("# It died before it had its request. A fresh process:\n");
    }
    given = processes_.at(started.process)->Give(work.request, work.log_path);
  }
  // The end of a trainer that ended by itself says more than this failure.
  if (given.ok() || given.code() == absl::StatusCode::kAborted) return started;
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
  for (const auto& [key, server] : servers_) ours.insert(server.server->process());
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
