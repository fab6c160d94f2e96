#include "coordinator/scheduler/state.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/trainer_protocol/datasets.h"

namespace noisefloor::scheduler {

void Turn::Happened(const MemberId& member, std::string kind, std::string text) {
  Keep(AppendEvent{member.sweep, member, std::move(kind), std::move(text), now});
}

void Turn::Happened(std::optional<SweepId> sweep, std::string kind, std::string text) {
  Keep(AppendEvent{sweep, std::nullopt, std::move(kind), std::move(text), now});
}

const Member* FindMember(const State& state, const MemberId& id) {
  const auto it = state.sweeps.find(id.sweep);
  if (it == state.sweeps.end()) return nullptr;
  const SweepState& sweep = it->second;
  if (id.cell >= sweep.cells.size()) return nullptr;
  const std::span<const Member> members = MembersOf(sweep, sweep.cells[id.cell]);
  return id.replicate < members.size() ? &members[id.replicate] : nullptr;
}

Member* FindMember(State& state, const MemberId& id) {
  return const_cast<Member*>(FindMember(std::as_const(state), id));
}

SweepState* FindSweep(State& state, SweepId id) {
  const auto it = state.sweeps.find(id);
  return it == state.sweeps.end() ? nullptr : &it->second;
}

const CellState& CellOf(const State& state, const MemberId& id) {
  return state.sweeps.at(id.sweep).cells.at(id.cell);
}

CellState& CellOf(State& state, const MemberId& id) {
  return state.sweeps.at(id.sweep).cells.at(id.cell);
}

Worker* WorkerOf(State& state, SessionId session) {
  const auto it = state.sessions.find(session);
  return it == state.sessions.end() ? nullptr : &state.workers.at(it->second);
}

WaitKey KeyOf(const MemberId& id) { return {id.sweep, id.replicate, id.cell}; }

MemberId MemberOf(const WaitKey& key) { return {key.sweep, key.cell, key.replicate}; }

Pool PoolOf(const CellState& cell) {
  return {cell.cell.hardware, cell.cell.stack, cell.fingerprint};
}

void AddCell(SweepState& sweep, CellState cell) {
  cell.first_member = sweep.members.size();
  sweep.members.resize(sweep.members.size() + cell.cell.replicates);
  sweep.cells.push_back(std::move(cell));
}

std::span<Member> MembersOf(SweepState& sweep, const CellState& cell) {
  return std::span(sweep.members).subspan(cell.first_member, cell.cell.replicates);
}

std::span<const Member> MembersOf(const SweepState& sweep, const CellState& cell) {
  return std::span(sweep.members).subspan(cell.first_member, cell.cell.replicates);
}

bool IsUntouched(const SweepState& sweep, uint32_t cell) {
  return std::ranges::all_of(MembersOf(sweep, sweep.cells[cell]),
                             [](const Member& member) { return member.lease == LeaseId{}; });
}

void AddWaiting(State& state, const MemberId& id) {
  state.waiting[PoolOf(CellOf(state, id))].insert(KeyOf(id));
  state.placement_due = true;
}

void RemoveWaiting(State& state, const MemberId& id) {
  const auto it = state.waiting.find(PoolOf(CellOf(state, id)));
  NF_CHECK(it != state.waiting.end() && it->second.erase(KeyOf(id)) == 1);
  if (it->second.empty()) state.waiting.erase(it);
}

CellState MakeCell(const sweep::Sweep& sweep, sweep::Cell cell) {
  const Specification specification = sweep::CellSpecification(sweep, cell);
  CellState made;
  made.data_set = specification.data.name;
  made.own_identity = specification.data.identity;
  made.evaluation_key = made.data_set + "/" + std::to_string(specification.data.test_examples);
  made.control = sweep::IsControl(cell.states);
  made.cell = std::move(cell);
  return made;
}

std::string ExpectedIdentity(const SweepState& sweep, const CellState& cell) {
  if (!cell.own_identity.empty()) return cell.own_identity;
  const auto pinned = sweep.identities.find(cell.data_set);
  if (pinned != sweep.identities.end()) return pinned->second;
  const KnownDataset* known = FindDataset(cell.data_set);
  return known == nullptr ? "" : std::string(known->identity);
}

void SetState(Turn& turn, const MemberId& id, MemberState state) {
  Member* member = FindMember(turn.state, id);
  NF_CHECK(member != nullptr);
  if (member->state == MemberState::kWaiting) RemoveWaiting(turn.state, id);
  member->state = state;
  if (state == MemberState::kWaiting) AddWaiting(turn.state, id);
  turn.Keep(SetMemberState{id, state, member->attempt, member->forgiven});
}

std::string WorkerName(const State& state, WorkerId id) {
  const auto it = state.workers.find(id);
  return it == state.workers.end() ? "worker " + std::to_string(id.value) : it->second.name;
}

std::string Count(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string Text(LeaseId id) { return "lease " + std::to_string(id.value); }

}  // namespace noisefloor::scheduler
