// What is said of a sweep that does not move.
#include "coordinator/cli/standstill.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/cli/canned_coordinator.h"
#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

v1::WorkerSummary Worker(const std::string& name, const std::vector<std::string>& classes) {
  v1::WorkerSummary worker;
  worker.set_name(name);
  worker.set_connected(true);
  for (const std::string& name : classes) {
    v1::Offer& offer = *worker.mutable_inventory()->add_offers();
    offer.set_hardware_class(name);
    offer.set_stack("torch");
  }
  return worker;
}

v1::Member Waiting(const std::string& id, const std::string& hardware) {
  v1::Member member;
  member.set_id(id);
  member.set_state(v1::MEMBER_STATE_WAITING);
  member.set_hardware(hardware);
  return member;
}

v1::Member Failed(const std::string& id, const std::string& cause, const std::string& message) {
  v1::Member member;
  member.set_id(id);
  member.set_state(v1::MEMBER_STATE_FAILED);
  member.mutable_outcome()->set_cause(cause);
  member.mutable_outcome()->set_message(message);
  return member;
}

v1::SweepSummary Counts(uint64_t id, uint32_t waiting, uint32_t leased, double progress) {
  v1::SweepSummary sweep;
  sweep.set_id(id);
  sweep.set_name("tiny");
  sweep.set_waiting(waiting);
  sweep.set_leased(leased);
  sweep.set_progress(progress);
  return sweep;
}

// A connection to a server with these answers.
class Asked {
 public:
  explicit Asked(CannedAnswers answers) : coordinator_(std::move(answers), true) {
    context_.options.coordinator = coordinator_.address();
    auto opened = Connection::Open(context_, {});
    EXPECT_TRUE(opened.ok()) << opened.status();
    connection_.emplace(*std::move(opened));
  }
  const Context& context() const { return context_; }
  Connection& connection() { return *connection_; }
  std::string address() const { return coordinator_.address(); }

 private:
  CannedCoordinator coordinator_;
  std::ostringstream out_;
  const SystemClock clock_;
  Context context_{.out = out_,
                   .err = out_,
                   .clock = clock_,
                   .start_coordinator = nullptr,
                   .program = "bin/noisefloor"};
  std::optional<Connection> connection_;
};

TEST(StandstillTest, AnEmptyFleetIsNamedAtOnceWithTheCommandThatHelps) {
  Asked asked({.members = {Waiting("s1c0r0", "cpu-intel-sse")}});
  Standstill standstill(asked.context(), asked.connection(), 1);
  EXPECT_THAT(standstill.News(Counts(1, 1, 0, 0), absl::ZeroDuration()),
              ElementsAre("no worker is connected; `bin/noisefloor-worker --coordinator=" +
                          asked.address() + "` starts one"));
  EXPECT_THAT(standstill.News(Counts(1, 1, 0, 0), absl::Seconds(60)), IsEmpty()) << "said";
}

TEST(StandstillTest, AClassThatNobodyOffersIsNamedThoughOthersTrain) {
  Asked asked({.members = {Waiting("s1c0r0", "cpu-intel-sse"), Waiting("s1c1r0", "nvidia-h200")},
               .workers = {Worker("box", {"cpu-intel-sse", "cpu-intel-avx2"})}});
  Standstill standstill(asked.context(), asked.connection(), 1);
  EXPECT_THAT(standstill.News(Counts(1, 2, 1, 0), absl::ZeroDuration()),
              ElementsAre("members wait for nvidia-h200, which no connected worker offers; they "
                          "offer cpu-intel-avx2, cpu-intel-sse"));
}

TEST(StandstillTest, AStackThatNobodyOffersIsNamedWithWhatIsWithheld) {
  v1::WorkerSummary box = Worker("box", {"nvidia-h200"});
  const auto withhold = [&box](const std::string& what, const std::string& hardware,
                               const std::string& stack) {
    v1::Withheld& withheld = *box.mutable_inventory()->add_withheld();
    withheld.set_what(what);
    withheld.set_hardware_class(hardware);
    withheld.set_stack(stack);
    withheld.set_reason("it burns");
  };
  withhold("GPU-1", "nvidia-h200", "old");
  withhold("GPU-2", "nvidia-h200", "torch");
  withhold("GPU-3", "nvidia-t4", "old");
  withhold("GPU-4", "", "");
  v1::Member member = Waiting("s1c0r0", "nvidia-h200");
  member.set_stack("old");
  Asked asked({.members = {member}, .workers = {box}});
  Standstill standstill(asked.context(), asked.connection(), 1);
  EXPECT_THAT(standstill.News(Counts(1, 1, 1, 0), absl::ZeroDuration()),
              ElementsAre("members wait for nvidia-h200 with stack old, which no connected worker "
                          "offers; they offer nvidia-h200; box withholds GPU-1 from old as "
                          "nvidia-h200: it burns; box withholds GPU-4: it burns"));
}

TEST(StandstillTest, WhatStandsIsExplainedAfterSecondsAndOnlyOnce) {
  CannedAnswers answers{.members = {Waiting("s1c0r0", "cpu-intel-sse")},
                        .workers = {Worker("box", {"cpu-intel-sse"})}};
  answers.explanation = "s1c0r0 waits: box has other data of cifar10";
  Asked asked(answers);
  Standstill standstill(asked.context(), asked.connection(), 1);
  const auto news = [&](uint32_t leased, double progress, int second) {
    return standstill.News(Counts(1, 1, leased, progress), absl::Seconds(second));
  };
  EXPECT_THAT(news(0, 0, 0), IsEmpty()) << "it may only have begun";
  EXPECT_THAT(news(1, 0, 10), IsEmpty()) << "something trains";
  EXPECT_THAT(news(0, 0.5, 12), IsEmpty()) << "it has moved";
  EXPECT_THAT(news(0, 0.5, 14), IsEmpty());
  EXPECT_THAT(news(0, 0.5, 15), ElementsAre("s1c0r0 waits: box has other data of cifar10"));
  EXPECT_THAT(news(0, 0.5, 100), IsEmpty());
}

TEST(StandstillTest, OtherSweepsOfTheSameRunAreNamedOnce) {
  Asked asked(
      {.sweeps = {Counts(3, 2, 0, 0), Counts(2, 1, 0, 0), Counts(1, 4, 0, 0), Counts(4, 0, 0, 0)}});
  OtherSweeps others;
  EXPECT_THAT(others.News(asked.connection(), 2),
              ElementsAre("s3 tiny (2 members: 0 done, 2 waiting) was queued here: as long as this "
                          "lasts, what can be trained here of both takes turns",
                          "s1 tiny (4 members: 0 done, 4 waiting) waits here, too: as long as this "
                          "lasts, what can be trained here of both takes turns"));
  EXPECT_THAT(others.News(asked.connection(), 2), IsEmpty());
  EXPECT_THAT(LeftHalfWay(asked.context(), asked.connection(), 3),
              ElementsAre("s2 tiny (1 member: 0 done, 1 waiting) is left as it is; "
                          "`bin/noisefloor run SWEEP.yaml --coordinator=" +
                              asked.address() + "` with its sweep file goes on with it",
                          testing::StartsWith("s1 tiny (4 members")));
}

TEST(StandstillTest, OfOtherSweepsOnesPriorityDecidesWhoGoesFirst) {
  std::vector<v1::SweepSummary> sweeps = {Counts(3, 2, 0, 0), Counts(2, 1, 0, 0),
                                          Counts(1, 4, 0, 0)};
  sweeps[0].set_priority(6);
  sweeps[1].set_priority(5);
  sweeps[2].set_priority(4);
  Asked asked({.sweeps = sweeps});
  OtherSweeps others;
  EXPECT_THAT(others.News(asked.connection(), 2),
              ElementsAre(EndsWith("what can be trained here of it goes first"),
                          EndsWith("what can be trained here of it comes last")));
}

TEST(StandstillTest, OfManyCausesTheCommonestAreTold) {
  CannedAnswers answers;
  for (int i = 0; i < 7; ++i) {
    answers.members.push_back(Failed("s1c0r" + std::to_string(i), "bug", std::to_string(i)));
  }
  answers.members.push_back(Failed("s1c0r7", "", ""));
  answers.members.push_back(Failed("s1c0r8", "", ""));
  answers.explanation = "s1c0r7 failed.";
  Asked asked(answers);
  const auto why = WhyMembersFailed(asked.connection(), 1);
  ASSERT_TRUE(why.ok()) << why.status();
  ASSERT_EQ(why->size(), 6u);
  EXPECT_EQ(why->front(), "s1c0r7 failed. So did 1 more.");
  EXPECT_EQ(why->at(4), "1 member failed, bug: 3 (s1c0r3)");
  EXPECT_EQ(why->back(), "and 3 more causes");
}

TEST(StandstillTest, FailuresAreToldByTheirCauses) {
  CannedAnswers answers{.members = {Failed("s1c0r0", "bug", "no"), Failed("s1c0r1", "", ""),
                                    Failed("s1c0r2", "bad_data", "x: not gzip"),
                                    Failed("s1c0r3", "bad_data", "x: not gzip"),
                                    Failed("s1c0r4", "bad_data", "x: not gzip"),
                                    Failed("s1c0r5", "bad_data", "x: not gzip")}};
  answers.explanation = "s1c0r1 failed. Its attempt 1 on box ended with lost_worker.";
  Asked asked(answers);
  const auto why = WhyMembersFailed(asked.connection(), 1);
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_THAT(*why,
              ElementsAre("4 members failed, bad_data: x: not gzip (s1c0r2, s1c0r3, s1c0r4 and 1 "
                          "more)",
                          "s1c0r1 failed. Its attempt 1 on box ended with lost_worker.",
                          "1 member failed, bug: no (s1c0r0)"));
}

}  // namespace
}  // namespace noisefloor::cli
