// People of a simulated world: they submit, share, cancel, retry, extend, delete.
#include <algorithm>
#include <array>

#include "coordinator/sweep/extend.h"
#include "tests/simulation/world.h"

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: events are named so often here.

namespace {

// All sweeps of a large world together have its members.
sweep::SweepRequest LargeRequest(const WorldSize& size, uint64_t number) {
  sweep::SweepRequest request;
  request.name = "large";
  request.seed = number;
  request.training = {{"data.name", std::string("mnist")}};
  sweep::Axis axis;
  axis.columns.push_back({"train.optimizer.learning_rate", {}});
  for (uint32_t i = 0; i < size.points; ++i) axis.columns[0].values.emplace_back(0.001 * (i + 1));
  request.axes = {axis};
  request.noise = {{"algo", "", {}}, {"impl", "", {}}};
  request.hardware = sweep::HardwareKind::kList;
  request.classes = {"a"};
  request.replicates = size.replicates;
  return request;
}

}  // namespace

// Of members that run at once: some of the fleet.
uint32_t World::Limit() {
  const uint64_t share = std::max<uint64_t>(2, size_.fewest_workers);
  return static_cast<uint32_t>(share / 2 + chance_.Below(share));
}

void World::Submit() {
  static constexpr std::array kPlans = {"control", "algo", "impl", "algo+impl"};
  sweep::SweepRequest request;
  request.name = "simulated";
  request.seed = chance_.Below(1000);
  request.training = {{"data.name", std::string("mnist")}};
  const size_t plans = 1 + chance_.Below(kPlans.size());
  for (size_t i = 0; i < plans; ++i) {
    const bool own = chance_.OneIn(3);  // Numbers of its own.
    const auto replicates = own ? static_cast<uint32_t>(1 + chance_.Below(3)) : 0;
    request.noise.push_back({kPlans[i], "", {}, replicates, own ? 2u : 0u});
  }
  request.hardware = chance_.OneIn(3) ? sweep::HardwareKind::kAny : sweep::HardwareKind::kList;
  request.classes =
      chance_.OneIn(2) ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
  request.replicates = static_cast<uint32_t>(1 + chance_.Below(3));
  if (size_.points > 0) request = LargeRequest(size_, submitted_);
  SweepSubmitted event;
  event.sweep = std::get<sweep::Sweep>(sweep::Resolve(request, {}));
  event.specification_sha256 = sweep::CanonicalText(event.sweep);
  event.request_id = "request " + std::to_string(++submitted_);
  event.caller = chance_.OneIn(2) ? "ada" : "grace";
  event.priority = chance_.OneIn(4) ? 1 : 0;
  if (chance_.OneIn(3)) event.weight = 1u << chance_.Below(3);
  if (chance_.OneIn(4)) event.limits["a"] = Limit();
  event.max_failures =
      size_.points == 0 && chance_.OneIn(8) ? static_cast<uint32_t>(1 + chance_.Below(3)) : 0;
  requests_.push_back(event);
  network_.FromPeople(event, clocks_.World());
}

void World::People() {
  if (submitted_ < size_.sweeps && chance_.OneIn(40)) Submit();
  if (!requests_.empty() && chance_.OneIn(40))
    network_.FromPeople(requests_[chance_.Below(requests_.size())], clocks_.World());
  if (submitted_ == 0) return;
  const SweepId sweep = {1 + chance_.Below(submitted_)};
  if (size_.cancels > 0 && chance_.OneIn(size_.cancels))
    network_.FromPeople(SweepCancelled{7, sweep, "", Some()}, clocks_.World());
  if (chance_.OneIn(60)) network_.FromPeople(SweepRetried{7, sweep, "", Some()}, clocks_.World());
  PeopleShare(sweep);
  PeopleGrow(sweep);
}

// All of it, or some members.
Selection World::Some() {
  Selection some;
  if (chance_.OneIn(3)) some.states.insert(MemberState::kFailed);
  if (chance_.OneIn(3)) some.states.insert(MemberState::kWaiting);
  if (chance_.OneIn(4)) some.cells = {0};
  if (chance_.OneIn(6)) some.workers = {"w0"};
  if (chance_.OneIn(6)) some.members = {{0, 0}, {0, 1}};
  return some;
}

void World::PeopleShare(SweepId sweep) {
  if (chance_.OneIn(30)) {
    SweepUpdated update{.request = 7, .sweep = sweep};
    if (chance_.OneIn(2)) update.paused = chance_.OneIn(2);
    if (chance_.OneIn(2)) update.priority = static_cast<int32_t>(chance_.Below(3)) - 1;
    if (chance_.OneIn(3)) update.weight = 1u << chance_.Below(3);
    if (size_.points == 0 && chance_.OneIn(6))
      update.max_failures = static_cast<uint32_t>(chance_.Below(4));
    if (chance_.OneIn(4)) update.set_limits["a"] = chance_.OneIn(3) ? 0 : Limit();
    if (size_.points == 0 && chance_.OneIn(20))
      update.gpu_hours = 0.005 * static_cast<double>(chance_.Below(3));
    if (chance_.OneIn(6)) update.notes = "note " + std::to_string(result_.steps);
    network_.FromPeople(update, clocks_.World());
  }
  if (chance_.OneIn(40)) {
    const std::string owner = chance_.OneIn(2) ? "ada" : "grace";
    network_.FromPeople(
        ShareUpdated{.request = 7, .owner = owner, .weight = 1u << chance_.Below(3)},
        clocks_.World());
  }
  if (!chance_.OneIn(60)) return;
  const std::string name = workers_[chance_.Below(workers_.size())]->traits().name;
  WorkerUpdated use{.request = 7, .worker = name};
  if (chance_.OneIn(2)) {
    use.drained = chance_.OneIn(2);
  } else {
    use.quarantined = chance_.OneIn(2);
    if (chance_.OneIn(2)) use.unit = "unit-" + name;
  }
  network_.FromPeople(use, clocks_.World());
}

// They make it larger, as they last saw it, or end it and delete it.
void World::PeopleGrow(SweepId id) {
  // A store that believes leases of ended members to be live could not lose their sweep.
  if (size_.deletes > 0 && chance_.OneIn(size_.deletes) && mutant_ != Mutant::kForgetsDrops) {
    network_.FromPeople(SweepCancelled{7, id, "", {}}, clocks_.World());
    network_.FromPeople(SweepDeleted{7, id, ""}, clocks_.World());
  }
  if (!chance_.OneIn(50)) return;
  const auto& kept = store_.Recovered().sweeps;
  const auto seen = std::ranges::find(kept, id, &RecoveredSweep::id);
  if (seen == kept.end()) return;
  const sweep::Sweep& content = seen->content;
  sweep::Extension wish;
  if (chance_.OneIn(2)) wish.plans = {content.plans.front().name};
  const sweep::NoisePlan& plan = content.plans.front();
  if (chance_.OneIn(2)) {
    wish.replicates = sweep::ReplicatesOf(content, plan) + static_cast<uint32_t>(chance_.Below(2));
  }
  if (chance_.OneIn(3)) wish.blocks = sweep::BlocksOf(content, plan) + 1;
  if (chance_.OneIn(3)) wish.hardware = {"b"};
  const auto larger = sweep::Extend(content, wish);
  const auto* extended = std::get_if<sweep::Sweep>(&larger);
  if (extended == nullptr || sweep::MemberCount(*extended) > 60) return;
  SweepExtended event{7, id, seen->specification_sha256, *extended, "", ""};
  event.specification_sha256 = sweep::CanonicalText(*extended);
  network_.FromPeople(event, clocks_.World());
}

// What people have closed; after all that was said before. What was asked of a coordinator that
// ends is asked of the next.
void World::OpenEverything() {
  const absl::Time later = clocks_.World() + absl::Seconds(3);
  for (uint64_t sweep = 1; sweep <= submitted_; ++sweep) {
    SweepUpdated update{.request = 7, .sweep = SweepId{sweep}, .paused = false};
    update.gpu_hours = 0;
    network_.Post(later, update);
  }
  for (const auto& worker : workers_) {
    network_.Post(
        later,
        WorkerUpdated{
            .request = 7, .worker = worker->traits().name, .drained = false, .quarantined = false});
  }
}

}  // namespace noisefloor::test
