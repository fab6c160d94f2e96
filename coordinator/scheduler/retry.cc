#include "coordinator/scheduler/retry.h"

#include "coordinator/scheduler/placement.h"

namespace noisefloor::scheduler {

namespace {

bool MayBeItsOwn(CauseClass cause) {
  switch (cause) {
    case CauseClass::kBadSpecification:
    case CauseClass::kBadData:
    case CauseClass::kOutOfMemory:
    case CauseClass::kBug: return true;
    case CauseClass::kNone:
    case CauseClass::kLostDevice:
    case CauseClass::kInterrupted:
    case CauseClass::kLostWorker: return false;
  }
  return true;
}

// Whether another machine could do better.
bool IsOfTheWorker(CauseClass cause) {
  return cause == CauseClass::kBadData || cause == CauseClass::kOutOfMemory ||
         cause == CauseClass::kBug || cause == CauseClass::kLostDevice;
}

std::string OfBudget(uint32_t spent, uint32_t most) {
  return "after " + std::to_string(spent) + " of " + std::to_string(most) + " attempts";
}

template <typename Visit>
void EachCounted(const State& state, const MemberId& id, const Visit& visit) {
  const auto past = state.past_by_member.find(id);
  const std::optional<Member> member = FindMember(state, id);
  if (past == state.past_by_member.end() || !member) return;
  for (const LeaseId lease : past->second) {
    const PastLease& ended = state.past_leases.at(lease);
    if (ended.attempt > member->forgiven) visit(ended);
  }
}

}  // namespace

Spent CountAttempts(const State& state, const MemberId& id) {
  Spent spent;
  EachCounted(state, id, [&](const PastLease& ended) {
    ++(MayBeItsOwn(ended.cause) ? spent.own : spent.lost);
  });
  return spent;
}

Retry DecideRetry(CauseClass cause, const Spent& spent, const Options& options) {
  if (cause == CauseClass::kBadSpecification) return {false, "another attempt would end the same"};
  const bool own = MayBeItsOwn(cause);
  const uint32_t count = own ? spent.own : spent.lost;
  const uint32_t most = own ? options.most_attempts : options.most_lost;
  return {count < most, OfBudget(count, most)};
}

bool Avoids(const State& state, const MemberId& id, const Place& place) {
  bool avoids = false;
  EachCounted(state, id, [&](const PastLease& ended) {
    if (ended.worker != place.worker->id || !IsOfTheWorker(ended.cause)) return;
    avoids = avoids || ended.cause == CauseClass::kBadData || ended.unit == place.group->unit;
  });
  return avoids;
}

bool HasFailed(const State& state, const MemberId& id, WorkerId worker) {
  bool failed = false;
  EachCounted(state, id, [&](const PastLease& ended) {
    failed = failed || (ended.worker == worker && IsOfTheWorker(ended.cause));
  });
  return failed;
}

void RetryOrFail(Turn& turn, const MemberId& id, CauseClass cause, const std::string& message) {
  Retry retry = DecideRetry(cause, CountAttempts(turn.state, id), turn.state.options);
  if (retry.again && cause == CauseClass::kBadData && !HasUntriedPlace(turn.state, id, turn.now)) {
    retry = {false, "no other connected worker could have better data"};
  }
  const std::string what =
      ToText(id) + " " + std::string(Name(cause)) + (message.empty() ? "" : ": " + message);
  SetState(turn, id, retry.again ? MemberState::kWaiting : MemberState::kFailed);
  turn.Happened(id, retry.again ? "member_waits_again" : "member_failed",
                what + " (" + retry.reason + ")");
}

}  // namespace noisefloor::scheduler
