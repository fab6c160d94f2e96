// The store of the simulation and the real one hold the same after the same history: what is proved
// on the one then holds of the other.
#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"

#include "coordinator/store/store.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/simulation/chance.h"
#include "tests/simulation/fake_store.h"
#include "tests/simulation/simulation.h"

namespace noisefloor::test {
namespace {

uint64_t SeedCount() {
  const char* text = std::getenv("NOISEFLOOR_TWIN_SEEDS");
  return text == nullptr ? 3 : std::strtoull(text, nullptr, 10);
}

class Twin {
 public:
  explicit Twin(uint64_t seed) : chance_(seed) { Open(); }

  // Some transactions come again, as after a commit whose answer was lost, and the process dies now
  // and then.
  void See(const std::vector<scheduler::Write>& writes, const scheduler::RecoveredState& kept) {
    if (writes.empty()) return;
    Apply(writes);
    if (chance_.OneIn(7)) {
      --step_;
      Apply(writes);
    }
    if (chance_.OneIn(25)) Open();
    if (chance_.OneIn(3)) Compare(kept);
  }

  void Compare(const scheduler::RecoveredState& kept) {
    ++comparisons_;
    const auto recovered = store_->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    EXPECT_EQ(Difference(kept, *recovered), "");
  }

  size_t comparisons() const { return comparisons_; }

 private:
  void Apply(const std::vector<scheduler::Write>& writes) {
    const absl::Status applied = store_->Apply(++step_, writes);
    ASSERT_TRUE(applied.ok()) << applied;
  }

  void Open() {
    store_.reset();
    auto opened = SqliteStore::Open(home_.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  TempHome home_;
  Chance chance_;
  StepNumber step_ = 0;
  std::unique_ptr<SqliteStore> store_;
  size_t comparisons_ = 0;
};

TEST(StoreTwin, TheRealStoreHoldsWhatTheSimulatedOneHolds) {
  size_t comparisons = 0;
  for (uint64_t seed = 1; seed <= SeedCount(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Twin twin(seed);
    scheduler::RecoveredState last;
    const SimulationResult result =
        Simulate(seed, Mutant::kNone, [&](const auto& writes, const auto& kept) {
          if (::testing::Test::HasFailure()) return;  // The first difference says enough.
          twin.See(writes, kept);
          last = kept;
        });
    twin.Compare(last);
    EXPECT_GT(result.restarts, 0u);
    comparisons += twin.comparisons();
  }
  EXPECT_GT(comparisons, 10 * SeedCount());
}

}  // namespace
}  // namespace noisefloor::test
