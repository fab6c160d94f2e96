// Workers come, say what they hold, drain and go. On every connection and heartbeat both sides are
// brought to agree on the leases.
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/leases.h"

namespace noisefloor::scheduler {

namespace {

// Of up to 256 KiB each, and kept for ever: what one worker could fill the disk with.
constexpr size_t kMostSchemas = 1000;
// Fingerprints of which it is known what they were taken of; of more, `explain` tells the hash.
constexpr size_t kMostSoftware = 10000;

// With those that are gone, until they are forgotten: an identity is a number that anybody may say.
constexpr size_t kMostKnown = 100'000;

// Workers that were turned away whose reasons are known: when one more comes all are forgotten, and
// what is told of them once is told once more.
constexpr size_t kMostRefused = 1000;

// Why it cannot be taken now: who else holds its name or identity, or too much is known already.
// Empty: it can.
std::string Conflict(const State& state, const WorkerConnected& event) {
  const auto identity = state.workers_by_identity.find(event.identity);
  if (identity != state.workers_by_identity.end()) {
    const Worker& worker = state.workers.at(identity->second);
    if (worker.session && worker.name != event.name) {
      return "the identity of its state directory is in use by worker " + worker.name +
             ": was the directory copied?";
    }
  } else if (state.workers.size() >= kMostKnown) {
    return "100,000 workers are known, as many as may be; one that is gone is forgotten after a "
           "day, or after 30 where it may still bring a late result";
  }
  const auto name = state.connected_by_name.find(event.name);
  if (name != state.connected_by_name.end() &&
      state.workers.at(name->second).identity != event.identity) {
    return "the name " + event.name + " is in use by another worker";
  }
  size_t schemas = state.schemas.size();
  for (const SettingsSchemaRef& schema : event.schemas) {
    schemas += state.schemas.contains(schema->identity()) ? 0 : 1;
  }
  if (schemas > std::max(kMostSchemas, state.schemas.size())) {
    return "more than " + std::to_string(kMostSchemas) +
           " different settings of trainers were told since the coordinator started";
  }
  return "";
}

// A refused worker tries again every few seconds; the reason is kept once, until it is another.
void RefuseWorker(Turn& turn, const WorkerConnected& event, const std::string& reason) {
  auto& refused = turn.state.refused_workers;
  const std::pair<std::string, uint64_t> who = {event.name, event.identity};
  if (refused.size() >= kMostRefused && !std::as_const(refused).contains(who)) {
    while (!refused.empty()) refused.erase(refused.begin()->first);
  }
  std::string& told = refused[who];
  if (told != reason) {
    turn.Happened(std::nullopt, "worker_refused", event.name + ": " + reason);
    told = reason;
  }
  turn.Tell(CloseSession{event.session, reason});
}

Worker& FindOrAdd(State& state, uint64_t identity) {
  const auto known = state.workers_by_identity.find(identity);
  if (known != state.workers_by_identity.end()) return state.workers.at(known->second);
  state.last_worker = WorkerId{state.last_worker.value + 1};
  state.workers_by_identity[identity] = state.last_worker;
  Worker& worker = state.workers[state.last_worker];
  worker.id = state.last_worker;
  worker.identity = identity;
  return worker;
}

void Count(std::map<std::string, uint32_t>& offered, const std::string& name, bool added) {
  if (added) {
    ++offered[name];
  } else if (--offered.at(name) == 0) {
    offered.erase(name);
  }
}

// Of a connected worker, when it comes, and when it goes or is about to say something else.
void CountOffers(Turn& turn, const Worker& worker, bool added) {
  turn.effects.changed.offers = true;
  for (const std::string& name : ClassesOf(*worker.inventory)) {
    Count(turn.state.offered_classes, name, added);
  }
  for (const std::string& name : StacksOf(*worker.inventory)) {
    Count(turn.state.offered_stacks, name, added);
  }
}

// Workers with the same trainers share what is known of their settings.
void TakeSchemas(Turn& turn, Worker& worker, std::vector<SettingsSchemaRef> told) {
  for (SettingsSchemaRef& schema : told) {
    const auto [known, is_new] = turn.state.schemas.try_emplace(schema->identity(), schema);
    if (is_new) turn.Keep(KeepSchema{schema});
    schema = known->second;
  }
  worker.schemas = std::move(told);
}

void TakeSoftware(Turn& turn, std::vector<Software> told) {
  for (Software& software : told) {
    auto& known = turn.state.software;
    if (known.size() >= kMostSoftware) return;
    if (!known.try_emplace(software.fingerprint, software.versions).second) continue;
    turn.Keep(KeepSoftware{std::move(software)});
  }
}

void Describe(Turn& turn, Worker& worker, WorkerConnected& event) {
  if (worker.session) CountOffers(turn, worker, false);
  worker.name = event.name;
  SetInventory(turn.state, worker, std::move(event.inventory));
  TakeSchemas(turn, worker, std::move(event.schemas));
  TakeSoftware(turn, std::move(event.software));
  worker.draining = false;
  worker.heard = turn.now;
  worker.seen = AsKept(turn.now);
  worker.ends = turn.now + event.lives;
  worker.session = event.session;
  turn.state.connected_by_name[worker.name] = worker.id;
  CountOffers(turn, worker, true);
  UpdateReady(turn.state, worker);
  turn.effects.changed.workers.insert(worker.id);
  turn.state.sessions[event.session] = worker.id;
  turn.Keep(KeepWorker{worker.id, event.name, event.identity, std::move(event.inventory_text),
                       event.version, turn.now});
}

void TakeProgress(Turn& turn, Lease& lease, const HeldLease& held) {
  lease.confirmed = true;
  SetProgress(turn, lease, held.step, held.step_count);
  Renew(turn, lease);
}

// Renews what the worker holds and tells it of what it should not; gives what it does not name.
std::vector<LeaseId> Reconcile(Turn& turn, const Worker& worker, SessionId session,
                               const std::vector<HeldLease>& held) {
  std::map<LeaseId, MemberId> missing = worker.leases;
  for (const HeldLease& one : held) {
    if (missing.erase(one.lease) == 1) {
      TakeProgress(turn, turn.state.leases.at(one.lease), one);
    } else if (!worker.leases.contains(one.lease)) {
      AnswerDeadLease(turn, session, one.lease);
    }
  }
  std::vector<LeaseId> leases;
  for (const auto& [id, member] : missing) leases.push_back(id);
  return leases;
}

}  // namespace

void AnswerDeadLease(Turn& turn, SessionId session, LeaseId lease) {
  const auto past = turn.state.past_leases.find(lease);
  if (turn.state.accepted.contains(lease)) {
    turn.Tell(SendSettled{session, lease, true, ""});
  } else if (past != turn.state.past_leases.end()) {
    turn.Tell(SendStop{session, lease, past->second.reason});
  } else {
    turn.Tell(SendStop{session, lease, Text(lease) + " is not this worker's"});
  }
}

void On(Turn& turn, WorkerConnected&& event) {
  const std::string conflict = Conflict(turn.state, event);
  if (!conflict.empty()) return RefuseWorker(turn, event, conflict);
  turn.state.refused_workers.erase({event.name, event.identity});
  Worker& worker = FindOrAdd(turn.state, event.identity);
  if (worker.session && *worker.session != event.session) {
    turn.state.sessions.erase(*worker.session);
    turn.Tell(CloseSession{*worker.session, "the worker opened a newer session"});
  }
  Describe(turn, worker, event);
  turn.Tell(SendWelcome{event.session, worker.id});
  for (const LeaseId lease : Reconcile(turn, worker, event.session, event.held)) {
    Lose(turn, lease, CauseClass::kLostWorker, worker.name + " came back without it");
  }
  turn.state.placement_due = true;
}

namespace {

// What a worker was given while it was leaving and has never named. It may have begun what came
// just before it said that it leaves, and loses that if its stream breaks before its next word.
void GiveBack(Turn& turn, const Worker& worker) {
  const std::map<LeaseId, MemberId> leases = worker.leases;
  for (const auto& [id, member] : leases) {
    if (turn.state.leases.at(id).confirmed) continue;
    Lose(turn, id, CauseClass::kInterrupted, worker.name + " left before it began");
  }
}

}  // namespace

void On(Turn& turn, const SessionLost& event) {
  Worker* worker = WorkerOf(turn.state, event.session);
  if (worker == nullptr) return;
  if (worker->draining) GiveBack(turn, *worker);
  CountOffers(turn, *worker, false);
  turn.effects.changed.workers.insert(worker->id);
  worker->session.reset();
  turn.state.connected_by_name.erase(worker->name);
  UpdateReady(turn.state, *worker);
  turn.state.sessions.erase(event.session);
}

void On(Turn& turn, const Heartbeat& event) {
  const Worker* worker = WorkerOf(turn.state, event.session);
  if (worker == nullptr) {
    return turn.Tell(CloseSession{event.session, "the session is not known: register again"});
  }
  for (const LeaseId id : Reconcile(turn, *worker, event.session, event.held)) {
    const Lease& lease = turn.state.leases.at(id);
    if (lease.confirmed) {
      Lose(turn, id, CauseClass::kLostWorker, worker->name + " no longer holds it");
    } else {
      SendStartAgain(turn, lease, event.session);
    }
  }
}

void On(Turn& turn, const WorkerDraining& event) {
  Worker* worker = WorkerOf(turn.state, event.session);
  if (worker == nullptr || worker->draining) return;
  worker->draining = true;
  UpdateReady(turn.state, *worker);
  turn.effects.changed.workers.insert(worker->id);
  turn.Happened(std::nullopt, "worker_draining",
                worker->name + " takes no more leases; it finishes " +
                    Count(worker->leases.size(), "attempt"));
}

}  // namespace noisefloor::scheduler
