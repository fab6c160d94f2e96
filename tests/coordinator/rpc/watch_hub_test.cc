#include "coordinator/rpc/watch_hub.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace noisefloor::test {
namespace {

class CountingWatcher final : public Watcher {
 public:
  void Wake() override { ++wakes; }
  void Close(const absl::Status& why) override {
    ++closes;
    last = why;
  }

  std::atomic<int> wakes = 0;
  std::atomic<int> closes = 0;
  absl::Status last;
};

constexpr SweepId kOne{1};
constexpr SweepId kTwo{2};

TEST(WatchHub, WakesThoseWhoWatchWhatChanged) {
  WatchHub hub(10);
  CountingWatcher one;
  CountingWatcher same;
  CountingWatcher two;
  ASSERT_TRUE(hub.Add(kOne, &one).ok());
  ASSERT_TRUE(hub.Add(kOne, &same).ok());
  ASSERT_TRUE(hub.Add(kTwo, &two).ok());

  hub.Changed({kOne, SweepId{7}});
  hub.Remove(kOne, &one);
  hub.Changed({kOne});
  EXPECT_EQ(one.wakes, 1);
  EXPECT_EQ(same.wakes, 2);
  EXPECT_EQ(two.wakes, 0);

  hub.AllChanged();
  EXPECT_EQ(one.wakes, 1);
  EXPECT_EQ(same.wakes, 3);
  EXPECT_EQ(two.wakes, 1);
}

TEST(WatchHub, WhenTheLaterOfTwoLeavesTheEarlierStays) {
  WatchHub hub(10);
  CountingWatcher first;
  CountingWatcher second;
  ASSERT_TRUE(hub.Add(kOne, &first).ok());
  ASSERT_TRUE(hub.Add(kOne, &second).ok());

  hub.Remove(kOne, &second);
  hub.Changed({kOne});

  EXPECT_EQ(first.wakes, 1);
  EXPECT_EQ(second.wakes, 0);
}

TEST(WatchHub, TooManyAreRefusedUntilOneLeaves) {
  WatchHub hub(1);
  CountingWatcher one;
  CountingWatcher two;
  ASSERT_TRUE(hub.Add(kOne, &one).ok());
  EXPECT_EQ(hub.Add(kTwo, &two),
            absl::ResourceExhaustedError("1 watches are open; no more are taken"));
  hub.Remove(kOne, &one);
  EXPECT_TRUE(hub.Add(kTwo, &two).ok());
}

TEST(WatchHub, ClosingEndsAllAndWhoeverComesLater) {
  WatchHub hub(10);
  CountingWatcher one;
  CountingWatcher late;
  ASSERT_TRUE(hub.Add(kOne, &one).ok());
  const absl::Status stopping = absl::UnavailableError("stopping");
  hub.CloseAll(stopping);
  EXPECT_EQ(one.closes, 1);
  EXPECT_EQ(one.last, stopping);
  EXPECT_EQ(hub.Add(kTwo, &late), stopping);
}

TEST(WatchHub, WatchesComeAndGoWhileSweepsChange) {
  WatchHub hub(100);
  constexpr int kRounds = 2000;
  std::vector<std::thread> threads;
  for (const SweepId sweep : {kOne, kTwo}) {
    threads.emplace_back([&hub, sweep] {
      for (int i = 0; i < kRounds; ++i) {
        const auto watcher = std::make_unique<CountingWatcher>();
        EXPECT_TRUE(hub.Add(sweep, watcher.get()).ok());
        hub.Changed({sweep});
        EXPECT_GE(watcher->wakes, 1);
        hub.Remove(sweep, watcher.get());  // From here on nobody may wake it.
      }
    });
  }
  for (int i = 0; i < kRounds; ++i) hub.Changed({kOne, kTwo});
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace noisefloor::test
