// The scheduler at the size that it promises: 1,000 workers, 100,000 members, and with ten times
// the workers. What a life costs must not grow with queue, fleet or cells, and what holds of small
// worlds must hold of these.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "tests/coordinator/scheduler/fleet.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/fake_store.h"
#include "tests/simulation/simulation.h"

namespace noisefloor::test {
namespace {

using namespace scheduler;  // NOLINT: the events are named so often here.
using testing::IsEmpty;

struct Size {
  uint32_t workers = 10;
  uint32_t slots = 1;
  uint32_t points = 1;  // Of an axis: cells of each plan.
  uint32_t replicates = 1000;
};

sweep::Sweep SweepOf(const Size& size) {
  sweep::SweepRequest request;
  request.name = "large";
  request.training = {{"data.name", std::string("mnist")}};
  sweep::Axis axis;
  axis.columns.push_back({"train.optimizer.learning_rate", {}});
  for (uint32_t i = 0; i < size.points; ++i) axis.columns[0].values.emplace_back(0.001 * (i + 1));
  request.axes = {axis};
  request.noise = {{"algo", "", {}}, {"impl", "", {}}};
  request.hardware = sweep::HardwareKind::kList;
  request.classes = {"cpu"};
  request.replicates = size.replicates;
  return std::get<sweep::Sweep>(sweep::Resolve(request, {}));
}

// Workers that do what they are told, and a store that is strict: what a life costs when nothing
// fails.
class CalmWorld {
 public:
  explicit CalmWorld(const Size& size, uint64_t seed = 1) : size_(size), chance_(seed) {
    Step(Submit(SweepOf(size)));
    for (uint64_t number = 1; number <= size.workers; ++number) Connect(number);
  }

  void Step(Event event) {
    Effects effects = scheduler_.Step(std::move(event), now_);
    const bool more = effects.more;
    writes_ += effects.writes.size();
    store_.Apply(effects.writes);
    for (const Send& send : effects.sends) {
      if (const auto* start = std::get_if<SendStart>(&send)) {
        running_.emplace_back(start->session, start->lease);
      }
    }
    if (more) Step(Continue{});
  }

  // A member ends.
  void EndOne() {
    const size_t place = chance_.Below(running_.size());
    std::swap(running_[place], running_.back());
    const auto [session, lease] = running_.back();
    running_.pop_back();
    AttemptFinished event{session, lease, {}, {}};
    event.outcome.kind = Outcome::Kind::kDone;
    event.outcome.train_seconds = 1;
    Step(std::move(event));
  }

  const Scheduler& scheduler() const { return scheduler_; }
  uint64_t writes() const { return writes_; }

 private:
  void Connect(uint64_t number) {
    Step(Join(number, size_.slots, "unit-" + std::to_string(number)));
  }

  const Size size_;
  Chance chance_;
  absl::Time now_ = kT0;
  Scheduler scheduler_{Options{}};
  FakeStore store_;
  std::vector<std::pair<SessionId, LeaseId>> running_;
  uint64_t writes_ = 0;
};

// What a thousand lives cost each, once every slot is busy.
struct Cost {
  double looked_at = 0;
  double writes = 0;
};

Cost CostOf(const Size& size) {
  constexpr int kLives = 1000;
  CalmWorld world(size);
  for (int i = 0; i < 200; ++i) world.EndOne();
  const uint64_t looked_at = world.scheduler().looked_at();
  const uint64_t writes = world.writes();
  for (int i = 0; i < kLives; ++i) world.EndOne();
  return {static_cast<double>(world.scheduler().looked_at() - looked_at) / kLives,
          static_cast<double>(world.writes() - writes) / kLives};
}

TEST(Budget, ALifeCostsTheSameWhateverTheQueueTheFleetAndTheCells) {
  const Cost small = CostOf({.workers = 10, .replicates = 1000});
  EXPECT_GT(small.looked_at, 0);
  for (const auto& [name, size] : std::vector<std::pair<const char*, Size>>{
           {"50 times the queue", {.workers = 10, .replicates = 50000}},
           {"100 times the fleet", {.workers = 1000, .replicates = 2000}},
           {"1,000 times the fleet", {.workers = 10000, .replicates = 10000}},
           {"100 times the slots", {.workers = 10, .slots = 100, .replicates = 2000}},
           {"1,000 times the cells", {.workers = 10, .points = 1000, .replicates = 5}}}) {
    const Cost cost = CostOf(size);
    // Turns are kept for each pool, and what is free is looked for in each: where cells are pinned
    // one by one they are two, not one.
    EXPECT_LE(cost.looked_at, small.looked_at + 5) << name;
    // One more for each cell that is pinned, and one for its specification.
    EXPECT_LE(cost.writes, small.writes + 2.1) << name;
  }
  EXPECT_LE(small.looked_at, 10);
  EXPECT_LE(small.writes, 7);
}

TEST(Budget, AFleetThatHasNothingToDoCostsNothing) {
  Scheduler scheduler{Options{}};
  for (uint64_t number = 1; number <= 1000; ++number) {
    (void)scheduler.Step(Join(number, 8, "unit", {"gpu"}), kT0);
  }
  (void)scheduler.Step(Join(1001, 1, "unit", {"cpu"}), kT0);
  (void)scheduler.Step(Submit(SweepOf({.replicates = 1})), kT0);  // Two members.
  (void)scheduler.Step(Finish(1001, 1), kT0);
  const uint64_t before = scheduler.looked_at();
  (void)scheduler.Step(Finish(1001, 2), kT0);
  EXPECT_EQ(scheduler.looked_at(), before);
}

TEST(Budget, ASubmissionWritesNoMoreForMoreMembers) {
  const auto writes = [](uint32_t replicates) {
    return CalmWorld({.workers = 0, .replicates = replicates}).writes();
  };
  EXPECT_EQ(writes(1), writes(50000));
}

uint64_t AskedSeeds() {
  const char* asked = std::getenv("NOISEFLOOR_LARGE_SEEDS");
  return asked == nullptr ? 1 : std::strtoull(asked, nullptr, 10);
}

// Simulates it, and says how it went; all faults came, and all members have ended once.
void LiveThrough(const WorldSize& size, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const SystemClock clock;
  const absl::Duration begun = clock.Steady();

  const SimulationResult result = Simulate(size, seed);

  const double seconds = absl::ToDoubleSeconds(clock.Steady() - begun);
  std::cout << "seed " << seed << ": " << result.steps << " events, " << result.leases
            << " leases, " << result.restarts << " restarts, " << result.retries << " retries, "
            << result.whole_checks << " comparisons of the whole state, "
            << result.network.lost + result.network.held_by_cuts << " messages lost or late, "
            << result.disk.refused + result.disk.in_doubt << " commits failed, " << result.disk.slow
            << " were slow; " << seconds << " s\n";
  ASSERT_THAT(result.problems, IsEmpty());
  // Of four sweeps; one that was lost on its way may have been submitted by nobody again.
  EXPECT_GE(result.members, size.chaos_rounds < 500 ? 75000u : 100000u);
  EXPECT_EQ(result.ended, result.members);
  EXPECT_GT(result.retries, 1000u);
  EXPECT_GE(result.whole_checks, result.steps / size.whole_every);
  EXPECT_GT(result.restarts, 3u);
  EXPECT_GT(result.network.held_by_cuts, 0u);
  EXPECT_GT(result.disk.refused, 0u);
  EXPECT_GT(result.disk.in_doubt, 0u);
  EXPECT_GT(result.disk.slow, 0u);
  EXPECT_GT(result.wall_jumps, 0u);
}

// Half a minute of a machine's time: one seed. NOISEFLOOR_LARGE_SEEDS asks for more.
TEST(LargeWorldTest, AThousandWorkersEndAHundredThousandMembersEachOnce) {
  if (AskedSeeds() == 0) GTEST_SKIP() << "NOISEFLOOR_LARGE_SEEDS is 0";
  for (uint64_t seed = 1; seed <= AskedSeeds(); ++seed) LiveThrough(LargeWorld(), seed);
}

// One for each twenty of those.
TEST(LargeWorldTest, TenThousandWorkersEndAllMembersEachOnce) {
  if (AskedSeeds() < 20) GTEST_SKIP() << "takes three minutes: NOISEFLOOR_LARGE_SEEDS=20";
  for (uint64_t seed = 1; seed <= AskedSeeds() / 20; ++seed) LiveThrough(HugeWorld(), seed);
}

}  // namespace
}  // namespace noisefloor::test
