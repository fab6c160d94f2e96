// What is told of a sweep and of a member while they run: how long is left, values and events.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/query/query.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class RunningTest : public ::testing::Test {
 protected:
  // By the only sweep of this home, counted so.
  double SecondsLeft(const SweepProgress& now) {
    QueryOptions options;
    options.home = home_.path();
    options.live = {[&](SweepId) { return std::optional(now); },
                    [](const MemberId&) { return std::optional<Progress>(); }};
    const auto query = Query::Open(std::move(options));
    EXPECT_TRUE(query.ok()) << query.status();
    const auto summary = (*query)->SummariseSweep(SweepId{1}, SweepView::kBasic);
    EXPECT_TRUE(summary.ok()) << summary.status();
    return summary.ok() ? summary->seconds_left : -1;
  }

  FilledHome home_;
};

// What is left of members that wait and run, shared by those that run at once.
TEST_F(RunningTest, HowLongASweepTakesFollowsFromAMemberAndHowManyRun) {
  SweepProgress now;
  now.waiting = 7;
  now.leased = 4;
  now.running = 1;  // Two are half done.
  now.done = 5;
  now.mean_seconds = 30;
  now.members_per_hour = 20;
  EXPECT_DOUBLE_EQ(SecondsLeft(now), 10 * 30.0 / 4);
  now.paused = true;
  EXPECT_DOUBLE_EQ(SecondsLeft(now), 10 * 30.0 / 4) << "those that run go on";
  now.leased = 0;
  now.running = 0;
  EXPECT_EQ(SecondsLeft(now), 0) << "nobody knows when it goes on";
}

TEST_F(RunningTest, WithoutARunningOrAnEndedMemberItFollowsFromThoseOfAnHour) {
  SweepProgress now;
  now.waiting = 7;
  now.mean_seconds = 30;
  now.members_per_hour = 20;
  EXPECT_DOUBLE_EQ(SecondsLeft(now), 7.0 / 20 * 3600) << "none runs";
  now.leased = 3;
  now.mean_seconds = 0;
  EXPECT_DOUBLE_EQ(SecondsLeft(now), 10.0 / 20 * 3600) << "none has ended";
  now.members_per_hour = 0;
  EXPECT_EQ(SecondsLeft(now), 0) << "nothing is known";
  now.waiting = now.leased = 0;
  now.members_per_hour = 20;
  EXPECT_EQ(SecondsLeft(now), 0) << "nothing is left";
}

// Whoever stops at the end of a member has heard all that it measured.
TEST_F(RunningTest, ManyValuesComeInSeveralPartsAndTheEndOfTheMemberAfterThem) {
  const MemberId member = sample::Member(2, 0);
  scheduler::KeepRecords records{LeaseId{7}, member, 1, {}};
  records.batch.sequence = 1;
  for (int64_t step = 1; step <= 1001; ++step) {
    records.batch.records.push_back({step, 0.5, "train_loss", 2.5});
  }
  scheduler::KeepOutcome end = sample::Finish(7, member);
  end.outcome.artifacts.clear();
  home_.Apply({sample::Grant(7, member), records, end,
               scheduler::DropLease{LeaseId{7}, CauseClass::kNone, "", sample::At(60)},
               scheduler::SetMemberState{member, MemberState::kDone, 1, 0}});

  const auto first = home_.query().WatchMember({.member = member});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->values, SizeIs(1000));
  EXPECT_TRUE(first->more);
  EXPECT_FALSE(first->ended);
  ASSERT_THAT(first->events, SizeIs(1));
  EXPECT_EQ(first->events[0].kind, EventKind::kLeased);
  const auto second = home_.query().WatchMember(first->place);
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_THAT(second->values, SizeIs(1));
  EXPECT_EQ(second->values[0].step, 1001);
  EXPECT_FALSE(second->more);
  EXPECT_TRUE(second->ended);
  ASSERT_THAT(second->events, SizeIs(1));
  EXPECT_EQ(second->events[0].kind, EventKind::kDone);
}

// Of two that were interrupted the first one's attempt does not count: a person had it stopped.
TEST_F(RunningTest, AnAttemptThatIsForgivenWasStoppedAndIsNotCalledRetried) {
  for (const uint32_t forgiven : {1u, 0u}) {
    const MemberId member = sample::Member(2, 1 - forgiven);
    const uint64_t lease = 20 + 10 * forgiven;
    home_.Apply(
        {sample::Grant(lease, member),
         scheduler::DropLease{LeaseId{lease}, CauseClass::kInterrupted, "stopped", sample::At(20)},
         sample::Grant(lease + 1, member, 2),
         scheduler::SetMemberState{member, MemberState::kLeased, 2, forgiven}});

    const auto whole = home_.query().GetMember(member);

    ASSERT_TRUE(whole.ok()) << whole.status();
    std::vector<EventKind> kinds;
    for (const Event& event : whole->events) kinds.push_back(event.kind);
    EXPECT_THAT(kinds,
                UnorderedElementsAre(EventKind::kLeased, EventKind::kLeased,
                                     forgiven == 1 ? EventKind::kCancelled : EventKind::kRetried));
  }
}

}  // namespace
}  // namespace noisefloor::query
