#include "tests/simulation/simulation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>

#include "coordinator/scheduler/scheduler.h"
#include "coordinator/sweep/extend.h"
#include "tests/coordinator/scheduler/fleet.h"
#include "tests/simulation/bent_sharing.h"
#include "tests/simulation/fake_store.h"
#include "tests/simulation/fake_worker.h"
#include "tests/simulation/grant_checker.h"
#include "tests/simulation/share_checker.h"

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: events and effects are named so often here.

namespace {

constexpr int kChaosRounds = 300;
constexpr int kCalmRounds = 1500;
constexpr absl::Duration kRound = absl::Milliseconds(500);

Options ShortTimes() {
  Options options;
  options.quarantine = absl::Seconds(20);
  options.data_grace = absl::Seconds(10);
  options.most_at_once = 2;
  options.forget_after = absl::Seconds(17);
  return options;
}

// With a bug planted: those of the scheduler, not those that it is judged by.
Options WithBug(Options options, Mutant mutant) {
  if (mutant == Mutant::kRetriesTooOften) options.most_attempts = options.most_lost = 30;
  if (mutant == Mutant::kEndsQuarantinesEarly) options.quarantine = absl::Seconds(1);
  // A store that believes a lease to be live could not be read back without its worker.
  if (mutant == Mutant::kForgetsDrops) options.forget_after = absl::InfiniteDuration();
  return options;
}

class World {
 public:
  World(uint64_t seed, Mutant mutant, Witness witness);
  SimulationResult Run();

 private:
  struct ToWorker {
    size_t worker = 0;
    Send send;
  };

  void AddWorker(size_t number);
  void Deliver(Event event);
  void People();
  void PeopleShare(SweepId sweep);
  void PeopleGrow(SweepId sweep);
  Selection Some();
  void OpenEverything();
  void Mishaps();
  void Round();
  void StepAll(std::vector<Event> events);
  void Commit(Effects effects);
  void Keep(const std::vector<Write>& writes);
  void Tell(const std::vector<Send>& sends);
  void RestartCoordinator();
  void Hand(absl::Time until);
  std::vector<Write> Mutated(std::vector<Write> writes);
  void Submit();
  void Check();
  void CheckTold();
  bool AllEnded() const;
  std::string WhoHasNotEnded() const;
  bool Stopped() const;

  Chance chance_;
  const Mutant mutant_;
  bool calm_ = false;
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  Scheduler scheduler_{WithBug(ShortTimes(), mutant_)};
  FakeStore store_;
  const Witness witness_;
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::multimap<absl::Time, Event> to_coordinator_;
  std::multimap<absl::Time, ToWorker> to_workers_;
  uint64_t next_session_ = 0;
  uint64_t submitted_ = 0;
  std::vector<SweepSubmitted> requests_;
  SimulationResult result_;
  GrantChecker grants_{ShortTimes(), result_.problems};
  ShareChecker shares_{result_.problems};
  BentSharing bent_{mutant_};
};

World::World(uint64_t seed, Mutant mutant, Witness witness)
    : chance_(seed), mutant_(mutant), witness_(std::move(witness)) {
  const size_t count = 2 + chance_.Below(4);
  for (size_t i = 0; i < count; ++i) AddWorker(i);
}

// The first worker can do everything, so that every member can end.
void World::AddWorker(size_t number) {
  WorkerTraits traits;
  traits.name = "w" + std::to_string(number);
  traits.identity = 100 + number;
  SameSlots slots = {.unit = "unit-" + traits.name, .classes = {"a", "b"}};
  slots.slots = static_cast<uint32_t>(1 + chance_.Below(3));
  if (number > 0 && chance_.OneIn(2)) slots.classes.erase(slots.classes.begin() + 1);
  slots.stacks.front().fingerprint = number > 0 && chance_.OneIn(4) ? "f2" : "f1";
  const uint64_t devices = chance_.OneIn(3) ? 1 + chance_.Below(2) : 0;  // Of class a alone.
  const auto inventory = [&](const SameSlots& own) {
    Inventory made;
    AddSlots(own, made);
    for (uint64_t i = 0; i < devices; ++i) {
      AddSlots({"device" + std::to_string(i) + "-" + traits.name, 1, {"a"}, own.stacks}, made);
    }
    return std::make_shared<const Inventory>(std::move(made));
  };
  traits.inventory = inventory(slots);
  traits.data_identity =
      number > 0 && chance_.OneIn(5) ? std::string(64, '0') : std::string(64, 'd');
  grants_.Know(traits);
  shares_.Know(traits);
  if (mutant_ == Mutant::kFillsMoreThanTheSlots) ++slots.slots;
  if (mutant_ == Mutant::kIgnoresClasses) slots.classes = {"a", "b"};
  traits.inventory = inventory(slots);
  workers_.push_back(
      std::make_unique<FakeWorker>(traits, [this](Event event) { Deliver(std::move(event)); }));
}

// Lost, doubled, or late by up to two seconds; the order does not hold.
void World::Deliver(Event event) {
  if (!calm_ && chance_.OneIn(15)) return;
  const int copies = !calm_ && chance_.OneIn(15) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const absl::Duration delay =
        calm_ ? absl::ZeroDuration()
              : absl::Milliseconds(chance_.Below(chance_.OneIn(10) ? 2000 : 400));
    to_coordinator_.emplace(now_ + delay, event);
  }
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
  SweepSubmitted event;
  event.sweep = std::get<sweep::Sweep>(sweep::Resolve(request, {}));
  event.specification_sha256 = sweep::CanonicalText(event.sweep);
  event.request_id = "request " + std::to_string(++submitted_);
  event.caller = chance_.OneIn(2) ? "ada" : "grace";
  event.priority = chance_.OneIn(4) ? 1 : 0;
  if (chance_.OneIn(3)) event.weight = 1u << chance_.Below(3);
  if (chance_.OneIn(4)) event.limits["a"] = static_cast<uint32_t>(1 + chance_.Below(2));
  event.max_failures = chance_.OneIn(8) ? static_cast<uint32_t>(1 + chance_.Below(3)) : 0;
  requests_.push_back(event);
  Deliver(std::move(event));
}

void World::People() {
  if (submitted_ < 3 && chance_.OneIn(40)) Submit();
  if (!requests_.empty() && chance_.OneIn(40)) Deliver(requests_[chance_.Below(requests_.size())]);
  if (submitted_ == 0) return;
  const SweepId sweep = {1 + chance_.Below(submitted_)};
  if (chance_.OneIn(150)) Deliver(SweepCancelled{7, sweep, "", Some()});
  if (chance_.OneIn(60)) Deliver(SweepRetried{7, sweep, "", Some()});
  PeopleShare(sweep);
  PeopleGrow(sweep);
  if (chance_.OneIn(150)) Deliver(StorageFailed{"full"});
  if (chance_.OneIn(20)) Deliver(StorageRecovered{});
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
    if (chance_.OneIn(6)) update.max_failures = static_cast<uint32_t>(chance_.Below(4));
    if (chance_.OneIn(3)) update.weight = 1u << chance_.Below(3);
    if (chance_.OneIn(4)) update.set_limits["a"] = static_cast<uint32_t>(chance_.Below(3));
    if (chance_.OneIn(6)) update.notes = "note " + std::to_string(result_.steps);
    Deliver(update);
  }
  if (chance_.OneIn(40)) {
    const std::string owner = chance_.OneIn(2) ? "ada" : "grace";
    Deliver(ShareUpdated{.request = 7, .owner = owner, .weight = 1u << chance_.Below(3)});
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
  Deliver(use);
}

// They make it larger, as they last saw it, or end it and delete it.
void World::PeopleGrow(SweepId id) {
  // A store that believes leases of ended members to be live could not lose their sweep.
  if (chance_.OneIn(90) && mutant_ != Mutant::kForgetsDrops) {
    Deliver(SweepCancelled{7, id, "", {}});
    Deliver(SweepDeleted{7, id, ""});
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
  Deliver(std::move(event));
}

// What people have closed; after all that was said before.
void World::OpenEverything() {
  const absl::Time later = now_ + absl::Seconds(3);
  for (uint64_t sweep = 1; sweep <= submitted_; ++sweep) {
    to_coordinator_.emplace(later,
                            SweepUpdated{.request = 7, .sweep = SweepId{sweep}, .paused = false});
  }
  for (const auto& worker : workers_) {
    to_coordinator_.emplace(
        later,
        WorkerUpdated{
            .request = 7, .worker = worker->traits().name, .drained = false, .quarantined = false});
  }
}

void World::Mishaps() {
  FakeWorker& worker = *workers_[chance_.Below(workers_.size())];
  const absl::Time back = now_ + absl::Seconds(chance_.Below(30));
  if (chance_.OneIn(25)) worker.BreakStream(back);
  if (chance_.OneIn(40)) worker.Crash(back);
  if (chance_.OneIn(200)) worker.Drain();
  if (chance_.OneIn(50)) RestartCoordinator();
}

void World::RestartCoordinator() {
  ++result_.restarts;
  RecoveredState recovered = store_.Recovered();
  if (mutant_ == Mutant::kReusesLeaseNumbers) recovered.last_lease = LeaseId{};
  if (mutant_ == Mutant::kForgetsLeasesAtRestart) recovered.leases.clear();
  scheduler_ = Scheduler::Restore(WithBug(ShortTimes(), mutant_), bent_.Bend(recovered), now_);
  grants_.Restarted();
  shares_.Restarted();
  to_workers_.clear();
  to_coordinator_.clear();
  for (const auto& worker : workers_) {
    worker->BreakStream(now_ + absl::Milliseconds(chance_.Below(calm_ ? 1 : 8000)));
  }
  to_coordinator_.clear();  // Nobody hears of the broken streams.
  Check();
}

std::vector<Write> World::Mutated(std::vector<Write> writes) {
  if (mutant_ == Mutant::kForgetsDrops && chance_.OneIn(4)) {
    std::erase_if(writes, [](const Write& w) { return std::holds_alternative<DropLease>(w); });
  }
  if (mutant_ == Mutant::kForgetsRecords && chance_.OneIn(4)) {
    std::erase_if(writes, [](const Write& w) { return std::holds_alternative<KeepRecords>(w); });
  }
  if (mutant_ == Mutant::kForgetsDeletions) {
    std::erase_if(writes, [](const Write& w) { return std::holds_alternative<DeleteSweep>(w); });
  }
  if (mutant_ == Mutant::kForgetsOldNumbers) {
    for (Write& write : writes) {
      if (auto* extended = std::get_if<KeepExtension>(&write)) extended->content.before.clear();
    }
  }
  if (mutant_ == Mutant::kGrantsTheFirstSlot) {
    for (Write& write : writes) {
      if (auto* grant = std::get_if<GrantLease>(&write)) grant->slot = 0;
    }
  }
  if (mutant_ == Mutant::kAcceptsLateResults) {
    for (Write& write : writes) {
      if (auto* outcome = std::get_if<KeepOutcome>(&write)) outcome->accepted = true;
    }
  }
  return writes;
}

void World::Keep(const std::vector<Write>& writes) {
  store_.Apply(writes);
  grants_.Check(writes, store_.Recovered(), now_);
  shares_.Check(writes);
  if (witness_) witness_(writes, store_.Recovered());
}

// Group commit, with a death before it or between it and the sends.
void World::Commit(Effects effects) {
  const bool dies = !calm_ && chance_.OneIn(60);
  const bool kept = !dies || chance_.OneIn(2);
  for (const Write& write : effects.writes) {
    if (std::holds_alternative<GrantLease>(write)) ++result_.leases;
    const auto* event = std::get_if<AppendEvent>(&write);
    if (event != nullptr && event->kind == "late_result") ++result_.late_results;
  }
  if (kept) Keep(Mutated(std::move(effects.writes)));
  if (!dies) {
    Tell(effects.sends);
    return Check();
  }
  if (mutant_ == Mutant::kTellsBeforeItKeeps) {
    Tell(effects.sends);
    Hand(absl::InfiniteFuture());
  }
  RestartCoordinator();
}

// Gives workers what has arrived by then.
void World::Hand(absl::Time until) {
  while (!to_workers_.empty() && to_workers_.begin()->first <= until) {
    const ToWorker message = std::move(to_workers_.begin()->second);
    to_workers_.erase(to_workers_.begin());
    workers_[message.worker]->Receive(message.send, now_);
  }
}

void World::Tell(const std::vector<Send>& sends) {
  for (const Send& send : sends) {
    std::visit(
        [&](const auto& message) {
          if constexpr (requires { message.session; }) {
            for (size_t i = 0; i < workers_.size(); ++i) {
              if (workers_[i]->session() != message.session) continue;
              if (!calm_ && chance_.OneIn(20)) continue;
              const auto delay = absl::Milliseconds(calm_ ? 0 : chance_.Below(600));
              to_workers_.emplace(now_ + delay, ToWorker{i, send});
            }
          } else if constexpr (requires { message.sweep; }) {
            if (!store_.HasSweep(message.sweep) && !store_.WasDeleted(message.sweep)) {
              result_.problems.insert("an acknowledged sweep is not in the store");
            }
          }
        },
        send);
  }
}

void World::StepAll(std::vector<Event> events) {
  Effects together;
  for (const Event& event : events) {
    ++result_.steps;
    Effects effects = scheduler_.Step(bent_.Bend(event), now_);
    effects.writes = bent_.Straighten(std::move(effects.writes), event);
    std::ranges::move(effects.writes, std::back_inserter(together.writes));
    std::ranges::move(effects.sends, std::back_inserter(together.sends));
    together.more = effects.more;
  }
  const bool more = together.more;
  Commit(std::move(together));
  if (more) StepAll({Continue{}});
}

void World::Round() {
  now_ += kRound;
  if (!calm_) {
    People();
    Mishaps();
    if (Stopped()) return;
  }
  for (const auto& worker : workers_) worker->Live(chance_, now_, next_session_, calm_);
  std::vector<Event> batch;
  while (!to_coordinator_.empty() && to_coordinator_.begin()->first <= now_) {
    batch.push_back(std::move(to_coordinator_.begin()->second));
    to_coordinator_.erase(to_coordinator_.begin());
    if (chance_.OneIn(2)) StepAll(std::exchange(batch, {}));
    if (Stopped()) return;
  }
  batch.push_back(Tick{});
  if (calm_ && mutant_ == Mutant::kNeverGrantsAfterChaos) batch.push_back(StorageFailed{"mutant"});
  StepAll(std::move(batch));
  Hand(now_);
  CheckTold();
}

void World::Check() {
  for (const std::string& broken : scheduler_.BrokenInvariants()) result_.problems.insert(broken);
  result_.problems.insert(store_.violations().begin(), store_.violations().end());
  const std::string difference = Difference(scheduler_.Durable(), store_.Recovered());
  if (!difference.empty()) result_.problems.insert("rebuilt from the store: " + difference);
}

void World::CheckTold() {
  for (const auto& worker : workers_) {
    for (const auto& [lease, sequence] : worker->told().records_kept) {
      if (store_.StoredBatches(lease) < sequence) {
        result_.problems.insert("acknowledged records are not in the store");
      }
    }
    for (const LeaseId lease : worker->told().accepted) {
      if (!store_.HasAccepted(lease)) {
        result_.problems.insert("an acknowledged result is not in the store");
      }
    }
  }
}

std::string World::WhoHasNotEnded() const {
  for (const RecoveredSweep& sweep : store_.Recovered().sweeps) {
    for (const RecoveredCell& cell : sweep.cells) {
      for (uint32_t r = 0; r < cell.cell.replicates; ++r) {
        if (HasEnded(cell.At(r).state)) continue;
        return scheduler_.Explain({sweep.id, cell.cell.index, r}, now_);
      }
    }
  }
  return "";
}

// A planted bug at a restart leaves nothing that could go on.
bool World::Stopped() const {
  const bool stops = mutant_ == Mutant::kReusesLeaseNumbers ||
                     mutant_ == Mutant::kForgetsLeasesAtRestart ||
                     mutant_ == Mutant::kForgetsOldNumbers || mutant_ == Mutant::kForgetsDeletions;
  return stops && !result_.problems.empty();
}

bool World::AllEnded() const { return WhoHasNotEnded().empty(); }

SimulationResult World::Run() {
  Submit();
  for (int i = 0; i < kChaosRounds && !Stopped(); ++i) Round();
  if (Stopped()) return result_;
  calm_ = true;
  for (const auto& worker : workers_) worker->BreakStream(now_);         // Drained ones come back.
  to_coordinator_.emplace(now_ + absl::Seconds(3), StorageRecovered{});  // After late failures.
  OpenEverything();
  for (int i = 0; i < kCalmRounds && !AllEnded(); ++i) Round();
  if (!AllEnded()) result_.problems.insert("a member never ends: " + WhoHasNotEnded());
  result_.results = store_.accepted_count();
  for (const RecoveredSweep& sweep : store_.Recovered().sweeps) {
    result_.members += sweep::MemberCount(sweep.content);
  }
  return result_;
}

}  // namespace

SimulationResult Simulate(uint64_t seed, Mutant mutant, Witness witness) {
  return World(seed, mutant, std::move(witness)).Run();
}

}  // namespace noisefloor::test
