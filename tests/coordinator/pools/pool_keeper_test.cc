// What is asked of the keeper of pools before and after it runs, and what its pools offer.
#include "coordinator/pools/pool_keeper.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <future>
#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/reason.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "tests/common/files/scratch.h"
#include "tests/coordinator/loop/fake_parts.h"
#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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
                                      .address = [] { return std::string("box:7077"); },
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

  // A cluster of programs in `scratch`: each job that it takes is in this state from then on. It
  // keeps the words and the script of the last one.
  void MakeWithCluster(const Scratch& scratch, const std::string& state) {
    ASSERT_TRUE(CreateDirectories(scratch.Path("bin")).ok());
    ASSERT_TRUE(CreateDirectories(scratch.Path("logs")).ok());
    const std::string folder = scratch.Path("");
    const std::string sbatch =
        "#!/bin/sh\ncat >" + folder + "script\nprintf '%s\\n' \"$@\" >" + folder +
        "words\n"
        "for word; do\n"
        "  case \"$word\" in --job-name=*) name=${word#*=} ;; --test-only) exit 0 ;; esac\n"
        "done\n"
        "echo \"25|25|N/A|" +
        state + "|$name|n7|200|100\" >" + folder + "queue\necho 25\n";
    for (const auto& [name, script] :
         {std::pair("bin/sbatch", sbatch),
          std::pair("bin/squeue", "#!/bin/sh\ncat " + folder + "queue 2>/dev/null\nexit 0\n")}) {
      ASSERT_EQ(chmod(scratch.Put(name, script).c_str(), 0755), 0);
    }
    loop_.Start();
    Make({.look = absl::Milliseconds(1)}, {"PATH=" + folder + "bin:/usr/bin:/bin"});
    keeper_->Start();
  }
  absl::Status Add(const Scratch& scratch) {
    auto answer = std::make_shared<std::promise<absl::Status>>();
    keeper_->Add({.name = "a100",
                  .cluster = {"--gres=gpu:1"},
                  .program = "/w",
                  .logs = scratch.Path("logs")},
                 /*dry_run=*/false, "alice", [answer](const absl::StatusOr<PoolTried>& tried) {
                   answer->set_value(tried.status());
                 });
    return answer->get_future().get();
  }
  // All of a kind that were kept, in their order.
  template <typename T>
  std::vector<T> Kept() {
    std::vector<T> kept;
    for (const auto& writes : store_.kept()) {
      for (const auto& write : writes) {
        if (const T* one = std::get_if<T>(&write)) kept.push_back(*one);
      }
    }
    return kept;
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

// The first worker of a pool comes unasked, and whoever added it is told why it went.
TEST_F(PoolKeeperTest, WorkersThatFailAreToldOfByTheirLastWordsUntilTheirPoolIsPaused) {
  const Scratch scratch;
  ASSERT_NO_FATAL_FAILURE(MakeWithCluster(scratch, "FAILED|NonZeroExitCode"));
  const std::string worker = "a100-" + std::string(16, 'a') + "-0";
  (void)scratch.Put("logs/" + worker + ".log", "begun\nno such class\n");

  ASSERT_TRUE(Add(scratch).ok());
  store_.WaitForKept<scheduler::AppendEvent>(2);

  const std::string why = "FAILED: NonZeroExitCode: no such class";
  const auto events = Kept<scheduler::AppendEvent>();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].text, "pool a100 added");
  EXPECT_EQ(events[0].caller, "alice");
  EXPECT_EQ(events[1].text,
            "pool a100: its last 3 workers failed, the last one (" + worker + ") with " + why);
  const auto launches = Kept<scheduler::KeepLaunch>();
  ASSERT_THAT(launches, SizeIs(9)) << "three of each: intended, submitted, ended";
  EXPECT_EQ(launches[0].launch.phase, fleet::LaunchPhase::kIntended) << "before it is asked for";
  EXPECT_EQ(launches[0].launch.job, "");
  EXPECT_EQ(launches[1].launch.phase, fleet::LaunchPhase::kWaiting);
  EXPECT_EQ(launches[1].launch.job, "25");
  EXPECT_EQ(launches[2].launch.end, fleet::LaunchEnd::kBroken);
  EXPECT_EQ(launches[2].launch.reason, why);
  EXPECT_EQ(launches[2].launch.node, "n7");
  const std::string name = "nf-a100-" + std::string(8, 'a') + "-" + std::string(16, 'a');
  EXPECT_EQ(*ReadFile(scratch.Path("words"), 4096),
            "--gres=gpu:1\n--parsable\n--job-name=" + name +
                "\n--no-requeue\n--open-mode=append\n--output=" + scratch.Path("logs") +
                "/%x.out\n--export=PATH,HOME,USER,LOGNAME,LANG\n--signal=B:USR1@120\n");
  const std::string script = *ReadFile(scratch.Path("script"), 4096);
  EXPECT_THAT(script, HasSubstr("exec >>'" + scratch.Path("logs") + "/'"));
  EXPECT_THAT(script, HasSubstr("exec '/w' --name=\"$name\" --coordinator='box:7077'"));
}

// Its class is checked against what its first worker has, also where the cluster began it again.
TEST_F(PoolKeeperTest, WhatAWorkerHasIsLearntAlsoWhereItWasStartedAgain) {
  const Scratch scratch;
  ASSERT_NO_FATAL_FAILURE(MakeWithCluster(scratch, "RUNNING|None"));
  EXPECT_TRUE(loop_.Post(SessionId{1}, Join(1, 1, "of no pool"), true));
  ASSERT_TRUE(Add(scratch).ok());
  scheduler::WorkerConnected worker = Join(2, 3, "u", {"cpu-b", "cpu-a"});
  worker.name = "a100-" + std::string(16, 'a') + "-0-r1";

  EXPECT_TRUE(loop_.Post(SessionId{2}, worker, true));
  store_.WaitForKept<scheduler::KeepPool>(2);

  const fleet::PoolRecord pool = Kept<scheduler::KeepPool>().at(1).pool;
  EXPECT_THAT(pool.classes, ElementsAre("cpu-b", "cpu-a"));
  EXPECT_THAT(pool.stacks, ElementsAre("torch")) << "each once";
  EXPECT_EQ(pool.slots, 3u);
  const auto launches = Kept<scheduler::KeepLaunch>();
  EXPECT_TRUE(std::ranges::any_of(launches, [](const auto& kept) { return kept.launch.heard; }));
  for (const auto& kept : launches) EXPECT_EQ(kept.launch.number, 1u) << "one is enough";
}

TEST_F(PoolKeeperTest, OfAClusterThatDoesNotAnswerNothingIsAskedAndItIsTold) {
  const Scratch scratch;
  ASSERT_NO_FATAL_FAILURE(MakeWithCluster(scratch, "RUNNING|None"));
  (void)scratch.Put("bin/squeue", "#!/bin/sh\necho no controller >&2\nexit 1\n");

  ASSERT_TRUE(Add(scratch).ok());
  keeper_->Stop();  // After the look that follows.

  EXPECT_EQ(keeper_->pools()->cluster_problem, "no controller");
  const std::string stand = PoolsStand(*keeper_->pools(), clock_.Now());
  EXPECT_THAT(stand, HasSubstr("\nPool a100: "));
  EXPECT_THAT(stand, HasSubstr("\nThe cluster does not answer: no controller."));
  EXPECT_THAT(Kept<scheduler::KeepLaunch>(), IsEmpty());
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
