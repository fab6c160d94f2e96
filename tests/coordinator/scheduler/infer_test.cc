// Members that evaluate weights: who may have them, and what a worker is told.
#include "coordinator/sweep/infer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Started;
using test::Submit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kFirst(64, '1');
const std::string kThird(64, '3');

// Of members 0 and 2 of s1.
sweep::Sweep Inference() {
  const sweep::Sweep original = MakeSweep({"algo"}, 3);
  const sweep::Cell cell = sweep::Expand(original).at(0);
  return sweep::InferenceOf(original, {{cell, "", {{0, kFirst, 5, ""}, {2, kThird, 5, ""}}}},
                            {SweepId{1}, {"cpu"}, "torch"});
}

WorkerConnected Inferring(uint64_t number, uint32_t slots) {
  WorkerConnected event = Join(number, slots, "u" + std::to_string(number));
  event.inventory = test::MakeInventory({.unit = "u" + std::to_string(number),
                                         .slots = slots,
                                         .stacks = {{"", "torch", "f1", "b", "", {}, true}}});
  return event;
}

// A scheduler with s1 trained, and nobody connected.
Scheduler Trained() {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 3)), kT0);
  (void)scheduler.Step(Join(1, 3, "u1"), kT0);
  for (uint64_t lease = 1; lease <= 3; ++lease) (void)scheduler.Step(test::Finish(1, lease), kT0);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
  return scheduler;
}

TEST(Infer, AStartNamesTheWeightsAlsoWhenItIsSaidAgain) {
  Scheduler scheduler = Trained();
  (void)scheduler.Step(Submit(Inference()), kT0);

  const auto starts = Of<SendStart>(scheduler.Step(Inferring(2, 2), kT0));

  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(ToText(starts[0].member), "s2c0r0");
  EXPECT_EQ(starts[0].weights_sha256, kFirst);
  EXPECT_EQ(starts[1].weights_sha256, kThird);
  EXPECT_FALSE(starts[0].write_evaluation_set) << "who trained has written it";

  (void)scheduler.Step(SessionLost{SessionId{2}}, kT0);
  WorkerConnected back = Inferring(2, 2);
  back.session = SessionId{22};  // It never heard of its leases.
  const auto again = Of<SendStart>(scheduler.Step(back, kT0));
  ASSERT_FALSE(again.empty());
  for (const SendStart& start : again) EXPECT_EQ(start.weights_sha256.size(), 64u);
}

TEST(Infer, WhoTrainsIsToldOfNoWeights) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  EXPECT_EQ(Of<SendStart>(scheduler.Step(Inferring(1, 1), kT0)).at(0).weights_sha256, "");
}

TEST(Infer, ATrainerThatDoesNotSayThatItInfersIsNotGivenAny) {
  Scheduler scheduler = Trained();
  (void)scheduler.Step(Submit(Inference()), kT0);

  EXPECT_THAT(Started(scheduler.Step(Join(3, 4, "u3"), kT0)), IsEmpty());
  EXPECT_THAT(scheduler.Explain({SweepId{2}, 0, 0}, kT0),
              HasSubstr("w3 is left out: its trainer evaluates no weights that it is given"));
  EXPECT_THAT(Started(scheduler.Step(Submit(MakeSweep({"control"}, 1)), kT0)),
              ElementsAre("s3c0r0 w3"))
      << "what trains goes past it";

  EXPECT_THAT(Started(scheduler.Step(Inferring(4, 2), kT0)), ElementsAre("s2c0r0 w4", "s2c0r1 w4"));
}

TEST(Infer, WhatItIsAboutIsNotDeletedBeforeIt) {
  Scheduler scheduler = Trained();
  (void)scheduler.Step(Submit(Inference()), kT0);
  (void)scheduler.Step(SweepCancelled{.request = 1, .sweep = SweepId{2}}, kT0);
  const auto refusal = [&](uint64_t sweep) {
    const auto errors =
        Of<AnswerError>(scheduler.Step(SweepDeleted{.request = 2, .sweep = SweepId{sweep}}, kT0));
    return errors.empty() ? std::string() : errors[0].message;
  };
  EXPECT_EQ(refusal(1), "s2 infers with members of s1: `delete s2` first");
  EXPECT_EQ(refusal(2), "");
  EXPECT_EQ(refusal(1), "");
  const auto late = Of<AnswerError>(scheduler.Step(Submit(Inference()), kT0));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].message, "s1 was deleted meanwhile");
}

}  // namespace
}  // namespace noisefloor::scheduler
