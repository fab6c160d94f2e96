#include "coordinator/loop/recovery.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/loop/fake_parts.h"
#include "tests/coordinator/scheduler/fleet.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::test {
namespace {

TEST(RecoverScheduler, GoesOnWhereTheLastProcessEnded) {
  const TempHome home;
  {
    auto store = SqliteStore::Open(home.path());
    ASSERT_TRUE(store.ok()) << store.status();
    auto before = RecoverScheduler(**store, {}, kT0);
    ASSERT_TRUE(before.ok()) << before.status();
    ASSERT_TRUE((*store)->Apply(before->Step(Join(1, 1, "unit"), kT0).writes).ok());
    ASSERT_TRUE((*store)->Apply(before->Step(Submit(MakeSweep({"control"}, 2)), kT0).writes).ok());
    ASSERT_EQ(before->Running().size(), 1u);
  }

  auto store = SqliteStore::Open(home.path());
  ASSERT_TRUE(store.ok()) << store.status();
  auto after = RecoverScheduler(**store, {}, kT0 + absl::Seconds(5));

  ASSERT_TRUE(after.ok()) << after.status();
  ASSERT_EQ(after->Running().size(), 1u);
  EXPECT_EQ(ToText(after->Running()[0].member), "s1c0r0");
  const auto back = after->Step(Join(1, 1, "unit"), kT0 + absl::Seconds(6));
  const auto starts = Of<scheduler::SendStart>(back);  // It did not name its lease: it lost it.
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(ToText(starts[0].member), "s1c0r0");
  EXPECT_EQ(starts[0].attempt, 2u);
  EXPECT_EQ(starts[0].lease, LeaseId{2}) << "numbers of leases rise over restarts";
}

TEST(RecoverScheduler, AnImpossibleStateIsRefusedByName) {
  HandStore store;
  scheduler::RecoveredSweep sweep{SweepId{1}, MakeSweep({"control"}, 1), "hash", "", {}, {}, {},
                                  {}};
  for (const sweep::Cell& cell : sweep::Expand(sweep.content)) {
    scheduler::RecoveredCell& kept = sweep.cells.emplace_back();
    kept.cell = cell;
    kept.fingerprint = "f1";
    kept.members[0] = {MemberState::kLeased, 1, 0, {}};
  }
  store.recovered_.sweeps.push_back(sweep);
  store.recovered_.last_sweep = SweepId{1};

  const auto recovered = RecoverScheduler(store, {}, kT0);

  EXPECT_EQ(recovered.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(recovered.status()),
              testing::AllOf(testing::StartsWith("the store holds an impossible state; "),
                             testing::HasSubstr("s1c0r0")));
}

}  // namespace
}  // namespace noisefloor::test
