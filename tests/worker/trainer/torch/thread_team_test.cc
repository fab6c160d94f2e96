// The threads of a training, without LibTorch: the thread sanitizer looks at this test.
#include "worker/trainer/torch/step/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace noisefloor::trainer {
namespace {

TEST(ThreadTeamTest, EachRankWorksOnItsOwnThreadAndItsResultIsSeenAfterwards) {
  std::atomic<int> prepared = 0;
  ThreadTeam team(4, [&] { ++prepared; });
  std::vector<std::thread::id> threads(4);
  std::vector<int64_t> sums(4);

  for (int64_t round = 0; round < 200; ++round) {
    team.Run([&](int64_t rank) {
      sums[rank] += rank;  // Not atomic: the team's hand-over is what orders the rounds.
      threads[rank] = std::this_thread::get_id();
    });
    EXPECT_EQ(sums[3], 3 * (round + 1));
  }

  EXPECT_EQ(prepared, 4);
  EXPECT_EQ(sums, (std::vector<int64_t>{0, 200, 400, 600}));
  EXPECT_EQ(std::set<std::thread::id>(threads.begin(), threads.end()).size(), 4u);
}

TEST(ThreadTeamTest, ATeamOfOneIsTheCaller) {
  int prepared = 0;
  std::thread::id worked;
  ThreadTeam team(1, [&] { ++prepared; });
  team.Run([&](int64_t) { worked = std::this_thread::get_id(); });
  EXPECT_EQ(prepared, 1);
  EXPECT_EQ(worked, std::this_thread::get_id());
}

TEST(ThreadTeamTest, TheLowestRanksExceptionComesOutAfterAllAreDone) {
  ThreadTeam team(4, [] {});
  std::atomic<int> done = 0;
  std::string thrown;

  try {
    team.Run([&](int64_t rank) {
      ++done;
      if (rank % 2 == 1) throw std::runtime_error("rank " + std::to_string(rank));
    });
  } catch (const std::runtime_error& error) {
    thrown = error.what();
  }

  EXPECT_EQ(thrown, "rank 1");
  EXPECT_EQ(done, 4);
  done = 0;
  team.Run([&](int64_t) { ++done; });  // The team goes on, without the old failure.
  EXPECT_EQ(done, 4);
}

}  // namespace
}  // namespace noisefloor::trainer
