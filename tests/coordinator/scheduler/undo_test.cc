// What is stepped and taken back leaves nothing, and costs what it touches: the loop remembers
// before each call of a person, and must not take longer where there is more.
#include "coordinator/scheduler/undo.h"

#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/scheduler/queue.h"
#include "coordinator/scheduler/small_state.h"
#include "tests/coordinator/scheduler/fleet.h"

namespace {
size_t allocations = 0;
}  // namespace

// Both forms: std::stable_sort takes its room by the second.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(size_t size) {
  void* const found = operator new(size, std::nothrow);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, size_t) noexcept { std::free(pointer); }

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Started;
using testing::ElementsAre;
using testing::Pair;

using Numbers = UndoMap<int, std::string>;

std::map<int, std::string> All(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

template <typename Container>
auto Listed(const Container& container) {
  return std::vector(container.begin(), container.end());
}

Numbers OneToThree() {
  Numbers numbers;
  for (const int i : {1, 2, 3}) numbers[i] = std::to_string(i);
  return numbers;
}

TEST(UndoMap, TakesBackWhatWasChangedAddedAndErased) {
  Numbers numbers = OneToThree();
  numbers.Remember();
  numbers.at(1) = "one";
  numbers.find(1)->second += "!";
  numbers.erase(2);
  numbers[2] = "another";
  numbers.erase(3);
  numbers[4] = "four";
  for (auto& [number, text] : numbers) text += "?";
  EXPECT_EQ(numbers.at(1), "one!?");

  numbers.TakeBack();

  EXPECT_THAT(All(numbers), ElementsAre(Pair(1, "1"), Pair(2, "2"), Pair(3, "3")));
  numbers.TakeBack();
  EXPECT_EQ(All(numbers).size(), 3u) << "nothing is remembered any more";
}

TEST(UndoMap, WhatStaysIsNotTakenBackLater) {
  Numbers numbers = OneToThree();
  numbers.Remember();
  numbers.at(1) = "one";
  numbers.Forget();
  numbers.Remember();
  numbers.erase(numbers.find(3));

  numbers.TakeBack();

  EXPECT_THAT(All(numbers), ElementsAre(Pair(1, "one"), Pair(2, "2"), Pair(3, "3")));
}

TEST(UndoMap, WhatWasNotErasedKeepsItsPlace) {
  Numbers numbers = OneToThree();
  const std::string* const one = &numbers.at(1);
  numbers.Remember();
  numbers.at(1) = "one";
  numbers.TakeBack();
  EXPECT_EQ(one, &numbers.at(1));
  EXPECT_EQ(*one, "1");
}

TEST(UndoMap, AValueThatRemembersIsAskedTo) {
  UndoMap<SweepId, Line> lines;
  const WaitKey first = {SweepId{1}, 0, 0};
  const WaitKey second = {SweepId{1}, 0, 1};
  lines[SweepId{1}].cells.insert(first);
  lines[SweepId{2}].again.insert(first);
  lines.Remember();
  lines.at(SweepId{1}).cells.erase(first);
  lines.at(SweepId{1}).cells.insert(second);
  lines.at(SweepId{2}).again.insert(second);
  lines.erase(SweepId{2});
  lines[SweepId{2}].cells.insert(second);

  lines.TakeBack();

  EXPECT_THAT(Listed(lines.at(SweepId{1}).cells), ElementsAre(first));
  EXPECT_THAT(Listed(lines.at(SweepId{2}).again), ElementsAre(first));
  EXPECT_TRUE(lines.at(SweepId{2}).cells.empty());
}

TEST(UndoSet, TakesBackWhatWasAddedAndErased) {
  UndoSet<int> set;
  for (const int i : {1, 2}) set.insert(i);
  set.Remember();
  set.erase(1);
  set.insert(1);
  set.erase(2);
  set.insert(3);
  set.clear();
  set.emplace(4);

  set.TakeBack();

  EXPECT_THAT(Listed(set), ElementsAre(1, 2));
}

TEST(UndoQueue, TakesBackWhatCameToIt) {
  UndoQueue<int> queue;
  queue.push_back(1);
  queue.Remember();
  queue.push_back(2);
  queue.TakeBack();
  EXPECT_THAT(Listed(queue), ElementsAre(1));
}

TEST(UndoDeathTest, AQueueThatRemembersGivesNothingAway) {
  UndoQueue<int> queue;
  queue.push_back(1);
  queue.Remember();
  EXPECT_DEATH(queue.pop_front(), "check failed");
}

// Calls of each kind, on sweeps that wait, run and have ended.
std::vector<Event> Calls() {
  SweepCancelled named{5, SweepId{1}, "a"};
  named.selection.members = {{0, 0}, {0, 3}};
  return {test::Submit(MakeSweep({"control", "algo"}, 7)),
          SweepCancelled{2, SweepId{1}, "a"},
          SweepRetried{3, SweepId{2}, "a"},
          named,
          SweepUpdated{.request = 6, .sweep = SweepId{1}, .priority = 4, .paused = true},
          SweepDeleted{7, SweepId{2}, "a"},
          WorkerUpdated{.request = 8, .worker = "w1", .drained = true}};
}

// s1 waits and runs, some of it again; s2 is cancelled.
Scheduler InUse() {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 2, "unit"), kT0);
  (void)scheduler.Step(Join(2, 2, "other"), kT0);
  (void)scheduler.Step(test::Submit(MakeSweep({"control"}, 20)), kT0);
  (void)scheduler.Step(test::Submit(MakeSweep({"algo"}, 20)), kT0);
  (void)scheduler.Step(Finish(1, 1), kT0);
  (void)scheduler.Step(Fail(1, 2, CauseClass::kBug), kT0);
  (void)scheduler.Step(SweepCancelled{1, SweepId{2}, "a"}, kT0);
  return scheduler;
}

TEST(TakeBack, OfEachKindOfCallLeavesNothing) {
  for (const Event& call : Calls()) {
    Scheduler untouched = InUse();
    Scheduler scheduler = InUse();
    scheduler.Remember();
    EXPECT_FALSE(scheduler.Step(call, kT0).writes.empty()) << call.index();
    scheduler.TakeBack();

    EXPECT_THAT(scheduler.BrokenInvariants(), testing::IsEmpty()) << call.index();
    for (const SweepId sweep : {SweepId{1}, SweepId{2}, SweepId{3}}) {
      EXPECT_EQ(scheduler.CountsOf(sweep), untouched.CountsOf(sweep)) << call.index();
      EXPECT_EQ(scheduler.ExplainSweep(sweep, kT0), untouched.ExplainSweep(sweep, kT0));
    }
    for (const std::string name : {"w1", "w2"}) {
      EXPECT_EQ(scheduler.ExplainWorker(name, kT0), untouched.ExplainWorker(name, kT0));
    }
    EXPECT_EQ(scheduler.CountsByClass(), untouched.CountsByClass()) << call.index();
    const Effects again = scheduler.Step(Finish(1, 3), kT0);
    const Effects expected = untouched.Step(Finish(1, 3), kT0);
    EXPECT_EQ(Started(again), Started(expected)) << call.index();
    EXPECT_EQ(again.writes.size(), expected.writes.size()) << call.index();
  }
}

TEST(TakeBack, WhatIsForgottenStays) {
  Scheduler scheduler = InUse();
  scheduler.Remember();
  (void)scheduler.Step(SweepCancelled{2, SweepId{1}, "a"}, kT0);
  scheduler.Forget();
  scheduler.TakeBack();
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kWaiting), 0u);
}

// Allocations of a submit that may be taken back, beyond those of one that may not.
size_t CostOf(Scheduler& scheduler) {
  const Event event = test::Submit(MakeSweep({"control"}, 1));
  const auto count = [&](bool remembered) {
    const size_t before = allocations;
    if (remembered) scheduler.Remember();
    (void)scheduler.Step(event, kT0);
    if (remembered) scheduler.Forget();
    return allocations - before;
  };
  const size_t plain = count(false);
  const size_t remembered = count(true);
  return remembered - std::min(plain, remembered);
}

TEST(RememberCost, DoesNotGrowWithSweepsThatHaveEnded) {
  const auto with = [](int sweeps) {
    Scheduler scheduler{Options{}};
    for (int i = 0; i < sweeps; ++i) {
      (void)scheduler.Step(test::Submit(MakeSweep({"control"}, 3)), kT0);
      (void)scheduler.Step(SweepCancelled{1, SweepId{static_cast<uint64_t>(i + 1)}, "a"}, kT0);
    }
    return CostOf(scheduler);
  };
  const size_t few = with(10);
  EXPECT_GT(few, 0u);
  EXPECT_LE(with(1000), few + 5);
}

// Those that wait for the same share one order of turns, which is copied: some objects for each.
TEST(RememberCost, GrowsWithSweepsThatWaitByTheirTurnsAlone) {
  const auto with = [](int sweeps) {
    Scheduler scheduler{Options{}};
    for (int i = 0; i < sweeps; ++i) {
      (void)scheduler.Step(test::Submit(MakeSweep({"control", "algo"}, 3)), kT0);
    }
    return CostOf(scheduler);
  };
  EXPECT_LE(with(1010), with(10) + 1000 * size_t{2});
}

TEST(RememberCost, DoesNotGrowWithWorkersAndTheirLeases) {
  const auto with = [](uint64_t workers) {
    Scheduler scheduler{Options{}};
    (void)scheduler.Step(test::Submit(MakeSweep({"control"}, 5000)), kT0);
    for (uint64_t i = 1; i <= workers; ++i) {
      (void)scheduler.Step(Join(i, 4, "unit" + std::to_string(i)), kT0);
    }
    EXPECT_EQ(scheduler.Running().size(), workers * 4);
    return CostOf(scheduler);
  };
  const size_t few = with(10);
  EXPECT_LE(with(1000), few + 5);
}

TEST(RememberCost, DoesNotGrowWithLeasesThatHaveEnded) {
  const auto with = [](uint64_t lives) {
    Scheduler scheduler{Options{}};
    (void)scheduler.Step(Join(1, 1, "unit"), kT0);
    (void)scheduler.Step(test::Submit(MakeSweep({"control"}, 5000)), kT0);
    for (uint64_t lease = 1; lease <= lives; ++lease) {
      const Event end = lease % 2 == 0 ? Event(Finish(1, lease))
                                       : Event(Fail(1, lease, CauseClass::kBadSpecification));
      EXPECT_EQ(Of<SendStart>(scheduler.Step(end, kT0)).size(), 1u);
    }
    return CostOf(scheduler);
  };
  const size_t few = with(10);
  EXPECT_LE(with(4000), few + 5);
}

}  // namespace
}  // namespace noisefloor::scheduler
