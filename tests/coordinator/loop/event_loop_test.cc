#include "coordinator/loop/event_loop.h"

#include "tests/coordinator/loop/loop_fixture.h"

namespace noisefloor::test {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

size_t PlaceOf(const std::vector<std::string>& lines, const std::string& line) {
  return static_cast<size_t>(std::ranges::find(lines, line) - lines.begin());
}

absl::Status Full() { return absl::ResourceExhaustedError("the disk is full"); }

TEST_F(LoopTest, NothingIsSaidBeforeWhatItSaysIsOnDisk) {
  Submit("submit");
  ASSERT_TRUE(journal_.Await("submit: OK"));
  store_->Hold(true);
  Connect(1);
  ASSERT_TRUE(journal_.Await("commit waits"));
  // The scheduler has decided; the commit has not come back.
  EXPECT_FALSE(journal_.Has("sent welcome"));
  EXPECT_FALSE(journal_.Has("sent lease 1"));
  EXPECT_FALSE(journal_.Has("consumed"));

  store_->Hold(false);

  ASSERT_TRUE(journal_.Await("consumed"));
  const auto lines = journal_.lines();
  EXPECT_LT(PlaceOf(lines, "kept sweep"), PlaceOf(lines, "submit: OK"));
  EXPECT_LT(PlaceOf(lines, "kept lease 1"), PlaceOf(lines, "sent welcome"));
  EXPECT_LT(PlaceOf(lines, "sent welcome"), PlaceOf(lines, "sent lease 1"));
  EXPECT_LT(PlaceOf(lines, "sent lease 1"), PlaceOf(lines, "consumed"));
}

TEST_F(LoopTest, ACallIsAnsweredOnlyWhenWhatItAskedForIsOnDisk) {
  store_->Hold(true);
  Submit("submit", "id");
  ASSERT_TRUE(journal_.Await("commit waits"));
  EXPECT_FALSE(journal_.Has("submit: OK"));
  store_->Hold(false);
  ASSERT_TRUE(journal_.Await("submit: OK"));
  const auto recovered = sqlite_->Recover();
  ASSERT_TRUE(recovered.ok());
  EXPECT_EQ(recovered->sweeps.size(), 1u);
}

TEST_F(LoopTest, RecordsAreAcknowledgedAfterTheyAreKept) {
  Submit("submit");
  Connect(1);
  ASSERT_TRUE(journal_.Await("sent lease 1"));
  scheduler::RecordsArrived records{SessionId{1}, LeaseId{1}, {1, {{1, 0.5, "loss", 0.25}}}};
  ASSERT_TRUE(loop_->Post(SessionId{1}, records, true));
  ASSERT_TRUE(journal_.Await("sent kept"));
  const auto lines = journal_.lines();
  EXPECT_LT(PlaceOf(lines, "kept records"), PlaceOf(lines, "sent kept"));
}

TEST_F(LoopTest, OnAFullDiskNothingIsLeasedAndAllGoesOnWhenThereIsRoomAgain) {
  store_->Fail(Full());
  Submit("first", "id");
  ASSERT_TRUE(journal_.AwaitCount("commit failed", 2));  // It was tried again.
  Connect(1);
  Submit("second");
  ASSERT_TRUE(journal_.Await(
      "second: RESOURCE_EXHAUSTED: nothing can be kept at present: the disk is full"));
  ASSERT_TRUE(journal_.AwaitCount("commit failed", 4));
  loop_->FindRequest("id", [this](const CallResult& result) {
    journal_.Add("found: " + result.status.ToString());
  });
  ASSERT_TRUE(journal_.Await(
      "found: RESOURCE_EXHAUSTED: nothing can be kept at present: the disk is full"));
  EXPECT_EQ(loop_->live()->storage_problem, "the disk is full");
  EXPECT_THAT(loop_->live()->running, IsEmpty());
  EXPECT_THAT(journal_.lines(), Not(Contains("first: OK")));
  EXPECT_THAT(journal_.lines(), Not(Contains("sent lease 1")));
  EXPECT_TRUE(sqlite_->Recover()->sweeps.empty());

  store_->Fail(absl::OkStatus());

  ASSERT_TRUE(journal_.Await("first: OK"));
  ASSERT_TRUE(journal_.Await("sent lease 1"));
  Submit("third");
  ASSERT_TRUE(journal_.Await("third: OK"));
  EXPECT_EQ(loop_->live()->storage_problem, "");
  const auto lines = journal_.lines();
  EXPECT_LT(PlaceOf(lines, "kept lease 1"), PlaceOf(lines, "sent lease 1"));
  EXPECT_EQ(sqlite_->Recover()->sweeps.size(), 2u);
}

TEST_F(LoopTest, LeasesGivenBeforeTheDiskWasFullAreKeptAndTheirEndIsTakenLater) {
  Submit("submit");
  Connect(1);
  ASSERT_TRUE(journal_.Await("sent lease 1"));
  store_->Fail(Full());
  ASSERT_TRUE(loop_->Post(SessionId{1}, Finish(1, 1), true));
  ASSERT_TRUE(journal_.AwaitCount("commit failed", 3));
  EXPECT_FALSE(journal_.Has("sent settled"));
  store_->Fail(absl::OkStatus());
  ASSERT_TRUE(journal_.Await("sent settled"));
  ASSERT_TRUE(journal_.Await("sent lease 2"));
}

TEST_F(LoopTest, StoppingWithAFullDiskAnswersWhoWaits) {
  store_->Fail(Full());
  Submit("submit");
  ASSERT_TRUE(journal_.Await("commit failed"));
  loop_->Stop();
  EXPECT_TRUE(journal_.Has("submit: UNAVAILABLE: the coordinator is stopping"));
  Submit("late");
  EXPECT_TRUE(journal_.Has("late: UNAVAILABLE: the coordinator is stopping"));
  EXPECT_FALSE(loop_->Post(SessionId{1}, Join(1, 1, "u"), true));
}

TEST_F(LoopTest, TooManyWaitingCallsAreRefused) {
  Start({.call_limit = 1});
  store_->Hold(true);
  Submit("first");
  ASSERT_TRUE(journal_.Await("commit waits"));
  Submit("second");
  EXPECT_TRUE(journal_.Has("second: RESOURCE_EXHAUSTED: too many calls are waiting; try again"));
  store_->Hold(false);
  ASSERT_TRUE(journal_.Await("first: OK"));
  Submit("third");
  EXPECT_TRUE(journal_.Await("third: OK"));
}

TEST_F(LoopTest, ARestartGoesOnWithTheSameLeasesAndHigherNumbers) {
  Submit("submit", "id");
  Connect(1);
  ASSERT_TRUE(journal_.Await("sent lease 1"));
  Start({});
  EXPECT_EQ(loop_->live()->running.count(LeaseId{1}), 1u);
  Submit("again", "id");
  ASSERT_TRUE(journal_.Await("again: OK"));
  EXPECT_EQ(sqlite_->Recover()->sweeps.size(), 1u);
  Connect(2);
  ASSERT_TRUE(journal_.Await("sent lease 2"));
}

TEST(LoopDeath, AStoreThatCannotBeMendedEndsTheProcess) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        class Broken final : public Store {
         public:
          absl::Status Apply(std::span<const scheduler::Write>) override {
            return absl::InternalError("damaged");
          }
          absl::StatusOr<scheduler::RecoveredState> Recover() override {
            return scheduler::RecoveredState();
          }
        };
        Broken store;
        Journal journal;
        JournalLinks links(journal);
        const SystemClock clock;
        EventLoop loop({store, links, clock, [](const std::set<SweepId>&) {},
                        [](const absl::Status&) { std::_Exit(3); }},
                       {}, scheduler::Scheduler(scheduler::Options()), clock.Now());
        loop.Start();
        (void)loop.Post(SessionId{1}, Join(1, 1, "u"), true);
        (void)journal.Await("never");
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace noisefloor::test
