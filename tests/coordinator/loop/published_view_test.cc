// Many read what one publishes. Under the sanitizers this is where a view that dies under its
// reader would be seen; that the usual way to make one die does not compile is said first.
#include "coordinator/loop/published_view.h"

#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace noisefloor::test {
namespace {

template <typename View>
concept GivesMembersOf = requires {
  std::declval<View>()->running;
};
template <typename View>
concept GivesAll = requires {
  *std::declval<View>();
};

static_assert(GivesMembersOf<const TakenView&> && GivesAll<TakenView&>);
static_assert(!GivesMembersOf<TakenView> && !GivesMembersOf<const TakenView>);
static_assert(!GivesAll<TakenView> && !GivesAll<const TakenView>);

constexpr int kViews = 3000;
constexpr uint64_t kLeases = 20;

// Every lease of one view is at the same step, and no two views share a lease.
LiveView ViewNumber(int number) {
  LiveView view;
  for (uint64_t i = 0; i < kLeases; ++i) {
    const LeaseId lease{static_cast<uint64_t>(number) * kLeases + i};
    scheduler::RunningAttempt attempt;
    attempt.lease = lease;
    attempt.step = number;
    view.running.emplace(lease, attempt);
  }
  return view;
}

TEST(PublishedView, IsEmptyUntilSomethingIsPublished) {
  const PublishedView published;
  const TakenView taken = published.Take();
  EXPECT_TRUE(taken->running.empty());
}

TEST(PublishedView, WhatWasTakenStaysAsItWas) {
  PublishedView published;
  published.Publish(ViewNumber(1));
  const TakenView taken = published.Take();
  published.Publish(ViewNumber(2));
  const TakenView newer = published.Take();
  EXPECT_EQ(taken->running.begin()->second.step, 1);
  EXPECT_EQ(newer->running.begin()->second.step, 2);
}

// Reads until the last view was seen; how many leases were of another view than the first one.
int64_t LeasesThatDoNotBelong(const PublishedView& published) {
  int64_t wrong = 0;
  for (int64_t last = -1; last < kViews - 1;) {
    const TakenView taken = published.Take();
    if (taken->running.empty()) continue;
    const int64_t step = taken->running.begin()->second.step;
    wrong += step < last || taken->running.size() != kLeases;
    for (const auto& [lease, attempt] : taken->running) {
      wrong += attempt.step != step || attempt.lease != lease;
    }
    last = step;
  }
  return wrong;
}

TEST(PublishedView, ReadersSeeWholeViewsWhileNewerOnesAreMade) {
  PublishedView published;
  constexpr int kReaders = 3;
  std::latch ready(kReaders + 1);
  std::vector<int64_t> wrong(kReaders, -1);
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      ready.arrive_and_wait();
      wrong[static_cast<size_t>(i)] = LeasesThatDoNotBelong(published);
    });
  }
  ready.arrive_and_wait();
  for (int number = 0; number < kViews; ++number) published.Publish(ViewNumber(number));
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, std::vector<int64_t>(kReaders, 0));
}

}  // namespace
}  // namespace noisefloor::test
