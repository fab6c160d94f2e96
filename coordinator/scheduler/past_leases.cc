#include "coordinator/scheduler/past_leases.h"

#include <algorithm>
#include <map>

#include "common/base/check.h"

namespace noisefloor::scheduler {

namespace {

// `last`: of its member.
bool IsNeeded(const State& state, const Member& member, const PastLease& past, LeaseId last) {
  if (state.unheard.contains({past.worker, past.lease})) return true;
  if (HasResult(member.state)) return false;
  return past.attempt > member.forgiven || past.lease == last;
}

// One more or less of what is kept names the worker.
void CountPast(State& state, WorkerId id, bool more) {
  if (const auto worker = state.workers.find(id); worker != state.workers.end()) {
    worker->second.past += more ? 1 : -1;
    return;
  }
  const auto gone = state.gone_workers.try_emplace(id).first;
  gone->second.past += more ? 1 : -1;
  if (gone->second.past == 0) state.gone_workers.erase(gone);
}

// No word of its end is waited for from now on.
void StopWaiting(State& state, WorkerId id, LeaseId lease) {
  if (state.unheard.erase({id, lease}) == 1) --state.workers.at(id).unheard;
}

void Forget(State& state, LeaseId lease) {
  const auto past = state.past_leases.find(lease);
  const WorkerId worker = past->second.worker;
  StopWaiting(state, worker, lease);
  state.past_leases.erase(past);
  CountPast(state, worker, false);
}

// The oldest of the worker's.
LeaseId FirstUnheard(const State& state, WorkerId id) {
  const auto first = state.unheard.lower_bound({id, LeaseId{}});
  NF_CHECK(first != state.unheard.end() && first->first == id);
  return first->second;
}

void GiveUpFirstUnheard(State& state, WorkerId id) {
  const LeaseId lease = FirstUnheard(state, id);
  StopWaiting(state, id, lease);
  ForgetPast(state, MemberId(std::as_const(state).past_leases.at(lease).member));
}

}  // namespace

void AddPast(State& state, PastLease past) {
  const WorkerId id = past.worker;
  const MemberId member = past.member;
  CountPast(state, id, true);
  state.past_by_member[member].push_back(past.lease);
  const bool awaited = !past.has_outcome && state.workers.contains(id);
  if (awaited) {
    state.unheard.insert({id, past.lease});
    ++state.workers.at(id).unheard;
  }
  const LeaseId lease = past.lease;
  state.past_leases.emplace(lease, std::move(past));
  ForgetPast(state, member);
  if (awaited && state.workers.at(id).unheard > kMostUnheard) GiveUpFirstUnheard(state, id);
}

void SetHeard(State& state, LeaseId lease) {
  PastLease& past = state.past_leases.at(lease);
  past.has_outcome = true;
  StopWaiting(state, past.worker, lease);
  ForgetPast(state, MemberId(past.member));
}

void ForgetPast(State& state, const MemberId& id) {
  const auto& known = std::as_const(state);
  const auto kept = known.past_by_member.find(id);
  const std::optional<Member> member = FindMember(state, id);
  if (kept == known.past_by_member.end() || !member) return;
  std::vector<LeaseId> needless;
  for (const LeaseId lease : kept->second) {
    const PastLease& past = known.past_leases.at(lease);
    if (!IsNeeded(state, *member, past, kept->second.back())) needless.push_back(lease);
  }
  if (needless.empty()) return;
  for (const LeaseId lease : needless) Forget(state, lease);
  std::vector<LeaseId>& left = state.past_by_member.at(id);
  std::erase_if(left, [&](LeaseId lease) { return std::ranges::binary_search(needless, lease); });
  if (left.empty()) state.past_by_member.erase(id);
}

void ForgetAllPast(State& state, const MemberId& id) {
  const auto kept = state.past_by_member.find(id);
  if (kept == state.past_by_member.end()) return;
  for (const LeaseId lease : kept->second) Forget(state, lease);
  state.past_by_member.erase(kept);
}

void ForgetWorkerOf(State& state, WorkerId id) {
  while (std::as_const(state).workers.at(id).unheard > 0) GiveUpFirstUnheard(state, id);
  const Worker& worker = std::as_const(state).workers.at(id);
  if (worker.past > 0) state.gone_workers.emplace(id, {worker.name, worker.past});
  state.workers_by_identity.erase(worker.identity);
  state.workers.erase(id);
}

std::vector<std::string> BrokenPast(const State& state) {
  std::vector<std::string> broken;
  std::map<WorkerId, uint32_t> past_of;
  std::map<WorkerId, uint32_t> unheard_of;
  for (const auto& [id, lease] : state.unheard) ++unheard_of[id];
  for (const auto& [lease, past] : state.past_leases) {
    ++past_of[past.worker];
    const std::optional<Member> member = FindMember(state, past.member);
    if (!member) continue;  // Of a sweep that is being forgotten.
    const LeaseId last = state.past_by_member.at(past.member).back();
    if (!IsNeeded(state, *member, past, last)) {
      broken.push_back(Text(lease) + " is kept, and nothing needs it");
    }
  }
  for (const auto& [id, worker] : state.workers) {
    if (worker.past == past_of[id] && worker.unheard == unheard_of[id]) continue;
    broken.push_back(worker.name + " counts other leases than it lost");
  }
  for (const auto& [id, gone] : state.gone_workers) {
    if (gone.past == 0 || gone.past != past_of[id]) {
      broken.push_back(gone.name + ", which is forgotten, counts other leases than it lost");
    }
  }
  return broken;
}

}  // namespace noisefloor::scheduler
