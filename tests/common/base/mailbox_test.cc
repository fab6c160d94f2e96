#include "common/base/mailbox.h"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/check.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MailboxTest, AllThatArrivedIsTakenInOrder) {
  Mailbox<int> mailbox(10);

  EXPECT_TRUE(mailbox.Post(3));
  EXPECT_TRUE(mailbox.Post(1));
  EXPECT_TRUE(mailbox.Post(2));

  EXPECT_THAT(mailbox.TakeAll(absl::ZeroDuration()), ElementsAre(3, 1, 2));
  EXPECT_THAT(mailbox.TakeAll(absl::ZeroDuration()), IsEmpty());
}

TEST(MailboxTest, FullMailboxRefusesUntilItIsEmptied) {
  Mailbox<std::unique_ptr<int>> mailbox(2);

  EXPECT_TRUE(mailbox.Post(nullptr));
  EXPECT_TRUE(mailbox.Post(nullptr));
  EXPECT_FALSE(mailbox.Post(nullptr));
  EXPECT_EQ(mailbox.TakeAll(absl::ZeroDuration()).size(), 2u);
  EXPECT_TRUE(mailbox.Post(nullptr));
}

TEST(MailboxTest, WhatMustNotBeLostIsTakenPastTheLimit) {
  Mailbox<int> mailbox(1);
  EXPECT_TRUE(mailbox.Post(1));
  EXPECT_FALSE(mailbox.Post(2));
  EXPECT_TRUE(mailbox.PostPastLimit(3));
  EXPECT_EQ(mailbox.TakeAll(absl::ZeroDuration()), (std::vector<int>{1, 3}));
  mailbox.Close();
  EXPECT_FALSE(mailbox.PostPastLimit(4));
}

TEST(MailboxTest, ClosedMailboxRefusesButKeepsWhatItHolds) {
  Mailbox<int> mailbox(10);
  EXPECT_TRUE(mailbox.Post(1));

  mailbox.Close();

  EXPECT_TRUE(mailbox.closed());
  EXPECT_FALSE(mailbox.Post(2));
  EXPECT_THAT(mailbox.TakeAll(absl::InfiniteDuration()), ElementsAre(1));
  EXPECT_THAT(mailbox.TakeAll(absl::InfiniteDuration()), IsEmpty());
}

TEST(MailboxTest, WaitingTakerIsWokenByAPostAndByClosing) {
  Mailbox<int> mailbox(10);
  std::vector<int> taken;
  std::thread taker([&] {
    while (!mailbox.closed()) {
      for (const int item : mailbox.TakeAll(absl::Seconds(600))) {
        taken.push_back(item);
        mailbox.Close();
      }
    }
  });

  EXPECT_TRUE(mailbox.Post(7));
  taker.join();

  EXPECT_THAT(taken, ElementsAre(7));
}

// What Linux says of a thread of this process: R, it runs; S, it waits.
char StateOf(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string line(std::istreambuf_iterator<char>(stat), {});
  return line.empty() ? ' ' : line.at(line.rfind(')') + 2);
}

// Runs `take` on a thread, and `act` once that thread waits, or has waited for nothing.
template <typename Take, typename Act>
void ActWhileItWaits(Take take, Act act) {
  ASSERT_NE(StateOf(getpid()), ' ') << "no /proc";
  std::atomic<pid_t> id = 0;
  std::atomic<bool> taken = false;
  std::thread taker([&] {
    id = gettid();
    take();
    taken = true;
  });
  while (!taken && (id == 0 || StateOf(id) != 'S')) std::this_thread::yield();
  act();
  taker.join();
}

TEST(MailboxTest, WhoWaitsForNothingIsWokenByClosing) {
  Mailbox<int> mailbox(10);
  ActWhileItWaits([&] { EXPECT_THAT(mailbox.TakeAll(absl::Seconds(600)), IsEmpty()); },
                  [&] { mailbox.Close(); });
}

// Often: a thread may have waited for something else before.
TEST(MailboxTest, AWaitWithoutAnEndWaits) {
  for (int turn = 0; turn < 50; ++turn) {
    Mailbox<int> mailbox(10);
    ActWhileItWaits(
        [&] { EXPECT_THAT(mailbox.TakeAll(absl::InfiniteDuration()), ElementsAre(turn)); },
        [&] { EXPECT_TRUE(mailbox.Post(turn)); });
  }
}

TEST(MailboxTest, NothingIsLostBetweenManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kItems = 2000;
  Mailbox<int> mailbox(kThreads * kItems);
  std::vector<std::thread> posters;
  for (int t = 0; t < kThreads; ++t) {
    posters.emplace_back([&mailbox, t] {
      for (int i = 0; i < kItems; ++i) NF_CHECK(mailbox.Post(t * kItems + i));
    });
  }

  std::vector<int> last(kThreads, -1);
  int count = 0;
  while (count < kThreads * kItems) {
    for (const int item : mailbox.TakeAll(absl::Seconds(600))) {
      EXPECT_LT(last[item / kItems], item % kItems);
      last[item / kItems] = item % kItems;
      ++count;
    }
  }
  for (std::thread& poster : posters) poster.join();

  EXPECT_THAT(last, ::testing::Each(kItems - 1));
  EXPECT_THAT(mailbox.TakeAll(absl::ZeroDuration()), IsEmpty());
}

TEST(MutexTest, CounterOfManyThreadsIsExact) {
  Mutex mutex;
  int64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        MutexLock lock(mutex);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(counter, 40'000);
}

TEST(CondVarTest, WaitingWithoutNewsEndsAtTheTimeout) {
  Mutex mutex;
  CondVar news;
  MutexLock lock(mutex);

  EXPECT_FALSE(news.WaitFor(mutex, absl::ZeroDuration()));
}

}  // namespace
}  // namespace noisefloor
