// People take workers and devices out of use, and back into it: kept until they take it back,
// whoever restarts meanwhile.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/base/printable.h"
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/quarantine.h"

namespace noisefloor::scheduler {

namespace {

// The devices whose names begin so.
std::vector<std::string> UnitsLike(const Worker& worker, const std::string& beginning) {
  std::set<std::string> known = worker.quarantined;  // Also of what it has not told of yet.
  if (worker.inventory != nullptr) {
    for (const Inventory::Device& device : worker.inventory->devices) known.insert(device.unit);
  }
  std::vector<std::string> like;
  for (const std::string& unit : known) {
    if (unit.starts_with(beginning)) like.push_back(unit);
  }
  return like;
}

// The device that is meant: by its name, or by a beginning that no other has.
WorkerUpdated WithWholeUnit(const Worker& worker, WorkerUpdated event) {
  if (event.unit.empty()) return event;
  std::vector<std::string> like = UnitsLike(worker, event.unit);
  if (like.size() == 1) event.unit = std::move(like.front());
  return event;
}

// Why the device cannot be meant; empty: it can. What a worker has that was not there since the
// start is not known.
std::string FaultOf(const Worker& worker, const WorkerUpdated& event) {
  const bool asks = event.quarantined && !event.unit.empty();
  if (!asks) return "";
  if (!*event.quarantined && worker.quarantined.contains("")) {
    return "all of " + worker.name + " is in quarantine: release it without a device";
  }
  if (worker.inventory == nullptr || worker.quarantined.contains(event.unit)) return "";
  std::string there;
  for (const Inventory::Device& device : worker.inventory->devices) {
    if (device.unit == event.unit) return "";
    there += (there.empty() ? "" : ", ") + device.unit;
  }
  const std::vector<std::string> like = UnitsLike(worker, event.unit);
  if (like.size() > 1) {
    return worker.name + " has several devices that begin with " + PrintableLine(event.unit) +
           ": say which of " + there;
  }
  return worker.name + " has no device " + PrintableLine(event.unit) + "; it has " + there;
}

void Drain(Turn& turn, Worker& worker, bool drained, const std::string& caller) {
  if (worker.drained == drained) return;
  worker.drained = drained;
  turn.Happened(
      std::nullopt, drained ? "worker_drained" : "worker_undrained",
      worker.name + (drained ? " takes no more leases until a person lets it; it finishes " +
                                   Count(worker.leases.size(), "attempt")
                             : " takes leases again"),
      caller);
}

// Released is what failed, too: whoever says so has mended it.
void Quarantine(Turn& turn, Worker& worker, const WorkerUpdated& event) {
  const std::string& unit = event.unit;
  const std::string name = unit.empty() ? worker.name : unit + " of " + worker.name;
  if (*event.quarantined) {
    if (!worker.quarantined.insert(unit).second) return;
    turn.Happened(std::nullopt, "quarantined_by_person",
                  name + " gets no leases until a person releases it", event.caller);
    return;
  }
  const size_t held = worker.quarantined.size() + worker.health.size();
  if (unit.empty()) worker.quarantined.clear();
  worker.quarantined.erase(unit);
  Forgive(worker, unit);
  if (held == worker.quarantined.size() + worker.health.size()) return;
  turn.Happened(std::nullopt, "released_by_person", name + " gets leases again", event.caller);
}

}  // namespace

void On(Turn& turn, const WorkerUpdated& asked) {
  const Worker* found = WorkerNamed(turn.state, asked.worker);
  if (found == nullptr) {
    return turn.Tell(AnswerError{asked.request, absl::StatusCode::kNotFound,
                                 "there is no worker " + PrintableLine(asked.worker)});
  }
  Worker* worker = &turn.state.workers.at(found->id);
  const WorkerUpdated event = WithWholeUnit(*worker, asked);
  if (std::string fault = FaultOf(*worker, event); !fault.empty()) {
    return turn.Tell(
        AnswerError{event.request, absl::StatusCode::kFailedPrecondition, std::move(fault)});
  }
  if (event.drained) Drain(turn, *worker, *event.drained, event.caller);
  if (event.quarantined) Quarantine(turn, *worker, event);
  UpdateReady(turn.state, *worker);
  turn.Keep(KeepWorkerUse{worker->id, worker->drained, worker->quarantined});
  turn.effects.changed.workers.insert(worker->id);
  turn.state.placement_due = true;
  turn.Tell(AnswerCount{event.request, static_cast<uint32_t>(worker->leases.size())});
}

}  // namespace noisefloor::scheduler
