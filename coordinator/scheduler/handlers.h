// What each event does. One overload an event; scheduler.cc calls them. Those that carry much are
// taken apart.
#pragma once

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

void On(Turn& turn, const SweepSubmitted& event);
void On(Turn& turn, const SweepCancelled& event);
void On(Turn& turn, const SweepRetried& event);
void On(Turn& turn, const SweepUpdated& event);
void On(Turn& turn, SweepExtended&& event);
void On(Turn& turn, const SweepDeleted& event);

void On(Turn& turn, const TokenAdded& event);
void On(Turn& turn, const TokensRevoked& event);

void On(Turn& turn, const FleetDecided& event);
void On(Turn& turn, const ArtifactsCollected& event);
void On(Turn& turn, const DataRestored& event);

void On(Turn& turn, const ShareUpdated& event);
void On(Turn& turn, const WorkerUpdated& event);
void On(Turn& turn, WorkerConnected&& event);
void On(Turn& turn, const SessionLost& event);
void On(Turn& turn, const Heartbeat& event);
void On(Turn& turn, const WorkerDraining& event);

void On(Turn& turn, const AttemptStarted& event);
void On(Turn& turn, RecordsArrived&& event);
void On(Turn& turn, AttemptFinished&& event);

void On(Turn& turn, const StorageFailed& event);
void On(Turn& turn, const StorageRecovered& event);
void On(Turn& turn, const Tick& event);
void On(Turn& turn, const Continue& event);

// The sweep; null when there is none, which the request is answered with.
SweepState* FindOrAnswer(Turn& turn, RequestNumber request, SweepId id);

// The worker speaks of a lease that is not live, or not its own: says what became of it.
void AnswerDeadLease(Turn& turn, SessionId session, LeaseId lease);

}  // namespace noisefloor::scheduler
