#include "coordinator/query/work_queue.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace noisefloor::query {
namespace {

TEST(WorkQueue, PostedWorkIsDoneBeforeTheQueueIsGoneAndTooMuchIsRefused) {
  int done = 0;
  int accepted = 0;
  {
    std::latch running(1);
    std::latch gate(1);
    WorkQueue queue(1, 2);
    ASSERT_TRUE(queue.Post([&] {
      running.count_down();
      gate.wait();
      ++done;
    }));
    running.wait();
    for (int i = 0; i < 10; ++i) accepted += queue.Post([&] { ++done; });
    gate.count_down();
  }
  EXPECT_EQ(accepted, 2) << "one runs, two wait";
  EXPECT_EQ(done, 3);
}

TEST(WorkQueue, OneThreadKeepsTheOrderOfArrival) {
  std::vector<int> order;
  {
    WorkQueue queue(1, 1000);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(queue.Post([&order, i] { order.push_back(i); }));
    }
  }
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(WorkQueue, ManyPostersAndManyThreadsLoseNothing) {
  constexpr int kPosters = 4;
  constexpr int kEach = 2000;
  std::atomic<int> done = 0;
  std::atomic<int> accepted = 0;
  {
    WorkQueue queue(3, 50);
    std::vector<std::thread> posters;
    for (int i = 0; i < kPosters; ++i) {
      posters.emplace_back([&] {
        for (int n = 0; n < kEach; ++n) accepted += queue.Post([&] { ++done; });
      });
    }
    for (std::thread& poster : posters) poster.join();
  }
  EXPECT_GT(accepted, 0);
  EXPECT_EQ(done, accepted);
}

}  // namespace
}  // namespace noisefloor::query
