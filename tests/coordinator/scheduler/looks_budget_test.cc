// What a decision looks at does not grow with slots that are of no use to it, nor what is told of a
// member with the cells of its sweep.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Submit;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Of a life on the one worker of the class that is wanted, beside so many idle ones of another.
double LooksOfALife(uint64_t idle, int sweeps_that_wait) {
  constexpr int kLives = 50;
  Scheduler scheduler{Options{}};
  for (uint64_t i = 0; i < idle; ++i) (void)scheduler.Step(Join(10 + i, 2, "u", {"idle"}), kT0);
  for (int i = 0; i < sweeps_that_wait; ++i) {
    sweep::Sweep waits = MakeSweep({"algo"}, 3, {"none-" + std::to_string(i % 2)});
    waits.name = std::to_string(i);
    (void)scheduler.Step(Submit(std::move(waits)), kT0);
  }
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1000)), kT0);
  auto granted = Of<GrantLease>(scheduler.Step(Join(1, 1, "u"), kT0));
  const uint64_t before = scheduler.looked_at();
  for (int i = 0; i < kLives; ++i) {
    EXPECT_THAT(granted, SizeIs(1));
    granted = Of<GrantLease>(scheduler.Step(Finish(1, granted.at(0).lease.value), kT0));
  }
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
  return static_cast<double>(scheduler.looked_at() - before) / kLives;
}

TEST(LooksBudget, SlotsThatOfferWhatNothingWaitsForCostNothing) {
  EXPECT_LE(LooksOfALife(1000, 4), LooksOfALife(1, 4));
}

TEST(LooksBudget, WhatWaitsForWhatNobodyHasCostsNoMoreForALongerLine) {
  EXPECT_LE(LooksOfALife(100, 400), LooksOfALife(100, 4));
}

// Looks of `explain` of the last member of a sweep of so many cells, one replicate each.
uint64_t LooksOfExplain(uint32_t cells, std::string* text) {
  Scheduler scheduler{Options{}};
  sweep::Sweep content = MakeSweep({"algo"}, 2);
  const sweep::NoisePlan plan = content.plans.at(0);
  content.plans.assign(cells, plan);
  for (uint32_t i = 0; i < cells; ++i) content.plans[i].name = "p" + std::to_string(i);
  (void)scheduler.Step(Submit(std::move(content)), kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  const uint64_t before = scheduler.looked_at();
  *text = scheduler.Explain({SweepId{1}, cells - 1, 1}, kT0);
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
  return scheduler.looked_at() - before;
}

TEST(LooksBudget, APositionIsExactUpToAThousandCellsAndCostsNoMoreBeyond) {
  std::string text;
  EXPECT_LE(LooksOfExplain(100, &text), 1000u);
  EXPECT_THAT(text, HasSubstr("position 198 of 198 among"))
      << "cell 0, which has begun, waits for its own fingerprint";
  EXPECT_LE(LooksOfExplain(10'000, &text), 1000u);
  EXPECT_THAT(text, HasSubstr("position about 19981 of 19998 among"));
}

}  // namespace
}  // namespace noisefloor::scheduler
