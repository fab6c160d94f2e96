// What is asked of the keeper of pools before and after it runs, and what its pools offer.
#include "coordinator/pools/pool_keeper.h"

#include <future>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/loop/fake_parts.h"

namespace noisefloor::test {
namespace {

using testing::ElementsAre;

class PoolKeeperTest : public testing::Test {
 protected:
  PoolKeeperTest()
      : loop_({.store = store_,
               .links = links_,
               .clock = clock_,
               .changed = [](const std::set<SweepId>&) {},
               .fatal = [](const absl::Status& status) { FAIL() << status; }},
              {}, scheduler::Scheduler(scheduler::Options()), clock_.Now()) {}

  void Make(PoolKeeperOptions options) {
    keeper_.emplace(PoolKeeper::Parts{.loop = loop_,
                                      .clock = clock_,
                                      .slurm = Slurm({}),
                                      .address = [] { return std::string(); },
                                      .chance = [] { return std::string(16, 'a'); }},
                    options, fleet::Fleet());
  }
  std::future<absl::Status> Pause() {
    auto answer = std::make_shared<std::promise<absl::Status>>();
    keeper_->SetPaused("a100", true, "alice",
                       [answer](const absl::Status& status) { answer->set_value(status); });
    return answer->get_future();
  }

  HandClock clock_;
  HandStore store_;
  HandLinks links_;
  EventLoop loop_;
  std::optional<PoolKeeper> keeper_;
};

TEST_F(PoolKeeperTest, WhatIsAskedBeforeItStartsWaits) {
  Make({});
  std::future<absl::Status> asked = Pause();

  keeper_->Start();

  EXPECT_EQ(Message(asked.get()), "no pool a100");
}

TEST_F(PoolKeeperTest, WhatWaitsIsAnsweredWhenItStopsWithoutHavingStarted) {
  Make({});
  std::future<absl::Status> asked = Pause();
  keeper_->Stop();
  EXPECT_EQ(asked.get().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Pause().get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(PoolKeeperTest, WhereNoWorkerCouldComeAllIsRefused) {
  Make({.reachable = false});
  EXPECT_EQ(Pause().get().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PoolClasses, AreThoseOfActivePools) {
  PoolsNow now;
  now.pools[1].record.classes = {"a100"};
  now.pools[2].record.classes = {"h100"};
  now.pools[2].record.state = fleet::PoolState::kPaused;
  EXPECT_THAT(PoolClasses(now), ElementsAre("a100"));
}

}  // namespace
}  // namespace noisefloor::test
