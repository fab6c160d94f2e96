// What is asked of the keeper of pools before and after it runs, and what its pools offer.
#include "coordinator/pools/pool_keeper.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <future>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/reason.h"
#include "common/files/directory.h"
#include "tests/common/files/scratch.h"
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
              {}, scheduler::Scheduler(scheduler::Options()), clock_.Now()) {
    signal(SIGPIPE, SIG_IGN);  // As main does; the sbatch of these tests reads no script.
  }

  void Make(PoolKeeperOptions options, std::vector<std::string> environment = {}) {
    keeper_.emplace(PoolKeeper::Parts{.loop = loop_,
                                      .clock = clock_,
                                      .slurm = Slurm(std::move(environment)),
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

  absl::StatusOr<PoolTried> TryOut(const fleet::PoolWish& wish) {
    auto answer = std::make_shared<std::promise<absl::StatusOr<PoolTried>>>();
    keeper_->Add(wish, /*dry_run=*/true, "alice",
                 [answer](const absl::StatusOr<PoolTried>& tried) { answer->set_value(tried); });
    return answer->get_future().get();
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

TEST_F(PoolKeeperTest, OneThingMoreThanMayWaitIsRefusedAndMayBeTriedAgain) {
  Make({});
  std::vector<std::future<absl::Status>> asked;
  for (int i = 0; i < 1000; ++i) asked.push_back(Pause());

  const absl::Status refused = Pause().get();

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(refused), "too much is waiting; try again");
  EXPECT_EQ(WhyOf(refused).reason, Reason::kTooBusy);
  keeper_->Stop();
  for (auto& one : asked) EXPECT_EQ(one.get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(PoolKeeperTest, WhereNoWorkerCouldComeAllIsRefused) {
  Make({.reachable = false});
  EXPECT_EQ(Pause().get().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PoolKeeperTest, APoolThatIsOnlyTriedLeavesNoFolderBehind) {
  const Scratch scratch;
  ASSERT_TRUE(CreateDirectories(scratch.Path("bin")).ok());
  ASSERT_TRUE(CreateDirectories(scratch.Path("mine")).ok());
  const std::string sbatch = scratch.Put("bin/sbatch", "#!/bin/sh\necho it would run\n");
  ASSERT_EQ(chmod(sbatch.c_str(), 0755), 0);
  Make({}, {"PATH=" + scratch.Path("bin") + ":/usr/bin:/bin"});
  keeper_->Start();

  const auto with = [&](const std::string& folder) {
    return fleet::PoolWish{.name = "a100", .program = "/w", .logs = scratch.Path(folder)};
  };
  EXPECT_TRUE(TryOut(with("mine")).ok());
  EXPECT_TRUE(TryOut(with("new/logs")).ok());
  (void)scratch.Put("bin/sbatch", "#!/bin/sh\nexit 1\n");
  EXPECT_FALSE(TryOut(with("refused/logs")).ok());
  ASSERT_EQ(symlink("/nowhere/at/all", scratch.Path("elsewhere").c_str()), 0);
  EXPECT_FALSE(TryOut(with("elsewhere/logs")).ok());

  EXPECT_TRUE(PathExists(scratch.Path("mine"))) << "it was there before";
  EXPECT_FALSE(PathExists(scratch.Path("new")));
  EXPECT_FALSE(PathExists(scratch.Path("refused")));
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.Path("elsewhere"))) << "not ours";
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
