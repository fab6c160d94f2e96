#include "tests/simulation/world.h"

#include <utility>

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: events are named so often here.

namespace {

constexpr absl::Duration kRound = absl::Milliseconds(500);

Options ShortTimes(const WorldSize& size) {
  Options options;
  options.quarantine = absl::Seconds(20);
  options.data_grace = absl::Seconds(10);
  options.most_at_once = size.most_at_once;
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

}  // namespace

World::World(const WorldSize& size, uint64_t seed, Mutant mutant, Witness witness)
    : size_(size),
      chance_(seed),
      mutant_(mutant),
      witness_(std::move(witness)),
      options_(ShortTimes(size)),
      scheduler_(WithBug(options_, mutant)) {
  const size_t count =
      size.fewest_workers + chance_.Below(size.most_workers - size.fewest_workers + 1);
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
      std::make_unique<FakeWorker>(traits, size_.fails, [this, number](const Event& event) {
        if (const auto* joins = std::get_if<WorkerConnected>(&event)) {
          worker_of_[joins->session] = number;
        }
        network_.FromWorker(number, event, clocks_.World());
      }));
  stands_still_until_.push_back(absl::InfinitePast());
}

void World::Mishaps() {
  for (uint64_t i = 0; i < size_.mishaps; ++i) MishapOf(chance_.Below(workers_.size()));
  if (chance_.OneIn(40)) {
    ++result_.wall_jumps;
    const auto by = absl::Seconds(chance_.Below(chance_.OneIn(3) ? 100'000 : 60));
    clocks_.Jump(chance_.OneIn(2) ? by : -by);
  }
  if (chance_.OneIn(150)) {
    ++result_.stalls;  // The coordinator.
    busy_until_ = clocks_.World() + absl::Seconds(chance_.Below(25));
  }
  if (chance_.OneIn(size_.dies_between)) Restart();
}

void World::MishapOf(size_t number) {
  FakeWorker& worker = *workers_[number];
  const absl::Time now = clocks_.World();
  const absl::Time back = now + absl::Seconds(chance_.Below(30));
  if (chance_.OneIn(25)) worker.BreakStream(back);
  if (chance_.OneIn(40)) worker.Crash(back);
  if (chance_.OneIn(200)) worker.Drain();
  if (chance_.OneIn(40)) network_.Cut(number, static_cast<Way>(chance_.Below(3)), back);
  if (chance_.OneIn(60)) worker.JumpClock();
  if (!chance_.OneIn(60)) return;
  ++result_.stalls;
  stands_still_until_[number] = back;
}

void World::Round() {
  clocks_.Pass(kRound);
  if (!calm_) {
    People();
    Mishaps();
    if (Stopped()) return;
  }
  const absl::Time now = clocks_.World();
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (now >= stands_still_until_[i]) workers_[i]->Live(chance_, now, next_session_, calm_);
  }
  if (now >= busy_until_) Listen();
  if (Stopped()) return;
  Hand(now);
  CheckTold();
}

// The coordinator takes what has arrived, some of it together.
void World::Listen() {
  std::vector<Event> batch;
  const absl::Time now = clocks_.World();
  while (auto event = network_.TakeEvent(now)) {
    batch.push_back(*std::move(event));
    if (!chance_.OneIn(size_.batch)) continue;
    Handle(std::exchange(batch, {}), false);
    if (Stopped() || now < busy_until_) return;
  }
  if (calm_ && mutant_ == Mutant::kNeverGrantsAfterChaos) batch.push_back(StorageFailed{"mutant"});
  Handle(std::move(batch), true);
}

// Gives workers what has arrived by then, but those that stand still.
void World::Hand(absl::Time until) {
  std::vector<Network::ToWorker> later;
  while (auto message = network_.TakeSend(until)) {
    if (clocks_.World() < stands_still_until_[message->worker]) {
      later.push_back(*std::move(message));
    } else {
      workers_[message->worker]->Receive(message->send, clocks_.World());
    }
  }
  for (const Network::ToWorker& message : later) {
    network_.PostTo(stands_still_until_[message.worker], message);
  }
}

void World::CheckTold() {
  for (const auto& worker : workers_) {
    const FakeWorker::Told told = worker->TakeTold();
    for (const auto& [lease, sequence] : told.records_kept) {
      if (store_.StoredBatches(lease) < sequence) {
        result_.problems.insert("acknowledged records are not in the store");
      }
    }
    for (const LeaseId lease : told.accepted) {
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
        return scheduler_.Explain({sweep.id, cell.cell.index, r}, Now());
      }
    }
  }
  return "";
}

// A planted bug at a restart leaves nothing that could go on.
bool World::Stopped() const {
  const bool stops =
      mutant_ == Mutant::kReusesLeaseNumbers || mutant_ == Mutant::kForgetsLeasesAtRestart ||
      mutant_ == Mutant::kForgetsOldNumbers || mutant_ == Mutant::kForgetsDeletions ||
      mutant_ >= Mutant::kTakesFailureForSuccess;
  return stops && !result_.problems.empty();
}

// By what the scheduler counts; what is kept has the last word.
bool World::AllEnded() const {
  if (failing_ || !effects_.writes.empty()) return false;
  for (const RecoveredSweep& sweep : store_.Recovered().sweeps) {
    const auto counts = scheduler_.CountsOf(sweep.id);
    if (!counts) return false;
    if (counts->In(MemberState::kWaiting) + counts->In(MemberState::kLeased) > 0) return false;
  }
  return WhoHasNotEnded().empty();
}

void World::Calm() {
  calm_ = true;
  network_.Calm();
  disk_.Calm();
  stands_still_until_.assign(workers_.size(), absl::InfinitePast());
  for (const auto& worker : workers_) worker->BreakStream(clocks_.World());  // Drained ones return.
  OpenEverything();
}

SimulationResult World::Run() {
  for (uint32_t i = 0; i < (size_.points > 0 ? size_.sweeps : 1); ++i) Submit();
  for (int i = 0; i < size_.chaos_rounds && !Stopped(); ++i) Round();
  if (Stopped()) return result_;
  Calm();
  for (int i = 0; i < size_.calm_rounds && !Stopped() && !AllEnded(); ++i) Round();
  if (!AllEnded()) result_.problems.insert("a member never ends: " + WhoHasNotEnded());
  Count();
  return result_;
}

void World::Count() {
  result_.results = store_.accepted_count();
  result_.network = network_.told();
  result_.disk = disk_.told();
  for (const RecoveredSweep& sweep : store_.Recovered().sweeps) {
    result_.members += sweep::MemberCount(sweep.content);
    const auto counts = scheduler_.CountsOf(sweep.id);
    if (!counts) continue;
    result_.ended +=
        counts->members - counts->In(MemberState::kWaiting) - counts->In(MemberState::kLeased);
    result_.retries += counts->retries;
  }
}

}  // namespace noisefloor::test
