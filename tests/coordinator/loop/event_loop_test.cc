#include "coordinator/loop/event_loop.h"

#include "common/base/reason.h"
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

const std::string kRefused =
    "RESOURCE_EXHAUSTED: this was not done, and nothing can be kept at present: the disk is full";

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

TEST_F(LoopTest, WhatNobodyAwaitsBeforeItIsDecidedIsNotDone) {
  Submit("first");
  ASSERT_TRUE(journal_.Await("first: OK"));
  store_->Hold(true);
  Connect(1);
  ASSERT_TRUE(journal_.Await("commit waits"));
  std::atomic<bool> awaited = true;
  const auto cancel = [this](CallAwaited while_awaited) {
    loop_->Call(
        scheduler::SweepCancelled{0, SweepId{1}},
        [this](const CallResult& result) { journal_.Add("cancel: " + InWords(result.status)); },
        std::move(while_awaited));
  };
  cancel([&] { return awaited ? absl::OkStatus() : absl::DeadlineExceededError("late"); });
  cancel([] { return absl::OkStatus(); });
  awaited = false;
  store_->Hold(false);
  ASSERT_TRUE(journal_.Await("cancel: OK"));
  const auto lines = journal_.lines();
  EXPECT_LT(PlaceOf(lines, "cancel: DEADLINE_EXCEEDED: late"), PlaceOf(lines, "cancel: OK"));
}

TEST_F(LoopTest, WhatIsNotDoneTakesNoPlaceOfThoseThatWait) {
  Start({.call_limit = 1});
  for (int i = 0; i < 3; ++i) {
    std::promise<std::string> answer;
    loop_->Call(
        scheduler::SweepCancelled{0, SweepId{1}},
        [&](const CallResult& result) { answer.set_value(InWords(result.status)); },
        [] { return absl::DeadlineExceededError("late"); });
    EXPECT_EQ(answer.get_future().get(), "DEADLINE_EXCEEDED: late");
  }
  EXPECT_EQ(store_->applied(), 0);
  Submit("next");
  ASSERT_TRUE(journal_.Await("next: OK"));
}

// Else its worker would be there for ever.
TEST_F(LoopTest, TheEndOfASessionIsTakenAlsoWhereNothingElseIs) {
  Start({.mailbox_limit = 1});
  store_->Hold(true);
  Connect(1);
  ASSERT_TRUE(journal_.Await("commit waits"));
  const scheduler::RecordsArrived records{SessionId{1}, LeaseId{1}, {1, {{1, 0.5, "loss", 0.25}}}};
  while (loop_->Post(SessionId{1}, records, false)) {
  }
  EXPECT_FALSE(loop_->stopping());
  EXPECT_TRUE(loop_->Post(SessionId{1}, scheduler::SessionLost{SessionId{1}}, false));
  store_->Hold(false);
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
  Submit("first");
  ASSERT_TRUE(journal_.Await("first: OK"));
  store_->Fail(Full());
  Connect(1);
  ASSERT_TRUE(journal_.AwaitCount("commit failed", 3));  // It was tried again.
  EXPECT_EQ(loop_->live().storage_problem(), "the disk is full");
  EXPECT_THAT(loop_->live().Workers(), IsEmpty()) << "a worker that is not on disk";
  EXPECT_FALSE(loop_->live().IsLive(LeaseId{1})) << "a lease that is not on disk";
  EXPECT_THAT(journal_.lines(), Not(Contains("sent lease 1")));

  store_->Fail(absl::OkStatus());

  ASSERT_TRUE(journal_.Await("sent lease 1"));
  ASSERT_TRUE(journal_.AwaitCount("storage changed", 2));
  EXPECT_EQ(loop_->live().storage_problem(), "");
  EXPECT_TRUE(loop_->live().IsLive(LeaseId{1}));
  const auto lines = journal_.lines();
  EXPECT_LT(PlaceOf(lines, "kept lease 1"), PlaceOf(lines, "sent lease 1"));
}

TEST_F(LoopTest, ASubmitThatMeetsTheFullDiskIsRefusedAtOnceAndIsNeverKept) {
  Connect(1);
  ASSERT_TRUE(journal_.Await("sent welcome"));
  store_->Fail(Full());
  Submit("first", "id");
  ASSERT_TRUE(journal_.Await("first: " + kRefused));
  EXPECT_EQ(Found("id"), "NOT_FOUND: no such request");
  Submit("second", "id");
  ASSERT_TRUE(journal_.Await("second: " + kRefused));

  store_->Fail(absl::OkStatus());
  ASSERT_TRUE(journal_.AwaitCount("storage changed", 2));

  EXPECT_EQ(Found("id"), "NOT_FOUND: no such request");
  Submit("third", "id");
  ASSERT_TRUE(journal_.Await("third: OK"));
  ASSERT_TRUE(journal_.Await("sent lease 1"));
  const auto recovered = sqlite_->Recover();
  ASSERT_EQ(recovered->sweeps.size(), 1u);
  EXPECT_EQ(recovered->sweeps[0].id, SweepId{1}) << "the number was told to nobody";
  EXPECT_EQ(recovered->leases.size(), 1u);
}

TEST_F(LoopTest, WhatNeedsNoWriteIsAnsweredOnAFullDisk) {
  Submit("kept", "id");
  ASSERT_TRUE(journal_.Await("kept: OK"));
  store_->Fail(Full());
  Submit("new", "other");
  ASSERT_TRUE(journal_.Await("new: " + kRefused));

  Submit("repeat", "id");

  ASSERT_TRUE(journal_.Await("repeat: OK"));
  EXPECT_EQ(Found("id"), "OK");
}

TEST_F(LoopTest, ACancelThatMeetsTheFullDiskChangesNothing) {
  Submit("submit");
  ASSERT_TRUE(journal_.Await("submit: OK"));
  store_->Fail(Full());
  Cancel("first");
  ASSERT_TRUE(journal_.Await("first: " + kRefused));

  store_->Fail(absl::OkStatus());
  ASSERT_TRUE(journal_.AwaitCount("storage changed", 2));
  Connect(1);

  ASSERT_TRUE(journal_.Await("sent lease 1"));
  EXPECT_EQ(sqlite_->Recover()->sweeps[0].cells[0].members[1].state, MemberState::kWaiting);
}

// The first piece of each finds nothing to write: begun now, it would be done when there is room
// again, and nobody could be told before.
TEST_F(LoopTest, OnAFullDiskNothingIsBegunThatWouldWriteLater) {
  sweep::Sweep many = MakeSweep({"control"}, 1);
  many.blocks = 100;
  const auto call = [this](const std::string& name, CallEvent event) {
    loop_->Call(std::move(event), [this, name](const CallResult& result) {
      journal_.Add(name + ": " + InWords(result.status));
    });
  };
  call("to cancel", test::Submit(many));
  call("to wait", test::Submit(many));
  Cancel("cancel");
  ASSERT_TRUE(journal_.Await("cancel: OK"));
  ASSERT_TRUE(journal_.Await("to wait: OK"));
  Start({}, {.most_at_once = 1});  // A piece looks at 64 cells.
  store_->Fail(Full());
  Submit("full");
  ASSERT_TRUE(journal_.Await("full: " + kRefused));

  Cancel("cancel again");
  call("retry", scheduler::SweepRetried{0, SweepId{2}, ""});
  scheduler::SweepExtended extended;
  extended.sweep = SweepId{2};
  extended.from_sha256 = sweep::CanonicalText(many);
  extended.content = many;
  extended.content.replicates = 2;
  extended.specification_sha256 = sweep::CanonicalText(extended.content);
  call("extend", extended);
  EXPECT_EQ(Found("nobody's"), "NOT_FOUND: no such request") << "all has been looked at";

  for (const std::string name : {"cancel again", "retry", "extend"}) {
    EXPECT_TRUE(journal_.Has(name + ": " + kRefused)) << name;
  }
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

TEST_F(LoopTest, WhoCallsAStoppedCoordinatorIsTold) {
  store_->Fail(Full());
  Submit("submit");
  loop_->Stop();
  EXPECT_TRUE(journal_.Has("submit: " + kRefused));
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

TEST_F(LoopTest, WhereTooMuchWaitsNobodyIsToldThatItStops) {
  Start({.mailbox_limit = 1, .call_limit = 1});
  store_->Hold(true);
  Connect(1);
  ASSERT_TRUE(journal_.Await("commit waits"));
  while (loop_->Post(SessionId{1}, scheduler::Heartbeat{SessionId{1}, {}}, false)) {
  }

  for (const char* name : {"first", "second"}) {  // The first takes no place of those that wait.
    Submit(name);
    EXPECT_TRUE(journal_.Has(name + std::string(": RESOURCE_EXHAUSTED: too much is waiting; try "
                                                "again")));
  }
  EXPECT_EQ(Found("id"), "RESOURCE_EXHAUSTED: too much is waiting; try again");
  EXPECT_EQ(WhyOf(NotTaken(false)).reason, Reason::kTooBusy);
  store_->Hold(false);
  loop_->Stop();
  EXPECT_EQ(Found("id"), "UNAVAILABLE: the coordinator is stopping");
}

TEST_F(LoopTest, ARestartGoesOnWithTheSameLeasesAndHigherNumbers) {
  Submit("submit", "id");
  Connect(1);
  ASSERT_TRUE(journal_.Await("sent lease 1"));
  Start({});
  EXPECT_TRUE(loop_->live().IsLive(LeaseId{1}));
  EXPECT_EQ(loop_->live().CountsOf(SweepId{1})->In(MemberState::kLeased), 1u);
  Submit("again", "id");
  ASSERT_TRUE(journal_.Await("again: OK"));
  EXPECT_EQ(sqlite_->Recover()->sweeps.size(), 1u);
  Connect(2);
  ASSERT_TRUE(journal_.Await("sent lease 2"));
}

// Ends with 3 when the check of what was kept finds it gone; with 4 when something was said of it.
class GoneStore final : public Store {
 public:
  absl::Status Apply(StepNumber, std::span<const scheduler::Write>) override {
    applied = true;
    return absl::OkStatus();
  }
  absl::StatusOr<StepNumber> LastStep() override { return 0; }
  absl::StatusOr<scheduler::RecoveredState> Recover() override {
    return scheduler::RecoveredState();
  }
  bool applied = false;
};

void RunUntilGone(bool already) {
  GoneStore store;
  store.applied = already;
  Journal journal;
  JournalLinks links(journal);
  const SystemClock clock;
  EventLoop loop(
      {store, links, clock, [](const std::set<SweepId>&) {},
       [&](const absl::Status&) { std::_Exit(journal.Has("sent welcome") ? 4 : 3); }, [] {},
       [&] { return store.applied ? absl::DataLossError("removed") : absl::OkStatus(); }},
      {.tick = absl::Milliseconds(1)}, scheduler::Scheduler(scheduler::Options()), clock.Now());
  loop.Start();
  if (!already) (void)loop.Post(SessionId{1}, Join(1, 1, "u"), true);
  (void)journal.Await("never");
}

TEST(LoopDeath, WhatWasKeptIsLookedForBeforeAnythingIsSaid) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(RunUntilGone(false), testing::ExitedWithCode(3), "");
}

TEST(LoopDeath, WhatWasKeptIsLookedForAtEachTick) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(RunUntilGone(true), testing::ExitedWithCode(3), "");
}

TEST(LoopDeath, AStoreThatCannotBeMendedEndsTheProcess) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        class Broken final : public Store {
         public:
          absl::Status Apply(StepNumber, std::span<const scheduler::Write>) override {
            return absl::InternalError("damaged");
          }
          absl::StatusOr<StepNumber> LastStep() override { return 0; }
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
