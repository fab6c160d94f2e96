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
