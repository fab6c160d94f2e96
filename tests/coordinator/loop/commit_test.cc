// What is kept together, what is said after it, and what a full disk holds back; every part of the
// loop but its thread is in the test's hand.
#include <future>
#include <optional>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/loop/event_loop.h"
#include "coordinator/loop/kept.h"
#include "tests/coordinator/loop/fake_parts.h"
#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::test {
namespace {

using ::testing::HasSubstr;

absl::Status Full() { return MakeError(absl::StatusCode::kResourceExhausted, "the disk is full"); }

class CommitTest : public ::testing::Test {
 protected:
  void Start(EventLoopOptions options = {}) {
    const EventLoop::Parts parts{.store = store_,
                                 .links = links_,
                                 .clock = clock_,
                                 .changed = [this](const auto& sweeps) { Note(sweeps); },
                                 .fatal = fatal_,
                                 .figures = &figures_};
    options.tick = absl::Milliseconds(1);
    options.storage_retry = storage_retry_;
    loop_.emplace(parts, options, scheduler::Scheduler(scheduler::Options{}), kT0);
    loop_->Start();
  }

  std::future<CallResult> Call(CallEvent event) {
    auto answer = std::make_shared<std::promise<CallResult>>();
    loop_->Call(std::move(event),
                [answer](const CallResult& result) { answer->set_value(result); });
    return answer->get_future();
  }

  std::string Explain(const std::string& member) {
    Settle();
    return loop_->Explain(*ParseMemberId(member));
  }

  // The kinds of the events that were kept.
  std::vector<std::string> Notes() {
    Settle();
    std::vector<std::string> kinds;
    for (const auto& writes : store_.kept()) {
      for (const auto& write : writes) {
        const auto* event = std::get_if<scheduler::AppendEvent>(&write);
        if (event != nullptr) kinds.push_back(event->kind);
      }
    }
    return kinds;
  }

  void Note(const std::set<SweepId>& sweeps) {
    MutexLock lock(news_mutex_);
    news_.push_back(sweeps);
  }
  std::vector<std::set<SweepId>> News() {
    Settle();
    MutexLock lock(news_mutex_);
    return news_;
  }

  // Every event until now has been dealt with.
  void Settle() {
    std::promise<void> settled;
    loop_->FindRequest("nobody's", [&](const CallResult&) { settled.set_value(); });
    settled.get_future().get();
  }

  // One worker with one slot, and one member that it has been told to start.
  LeaseId LeaseOne() {
    EXPECT_TRUE(loop_->Post(SessionId{1}, Join(1, 1, "unit"), true));
    EXPECT_TRUE(Call(Submit(MakeSweep({"control"}, 1))).get().status.ok());
    return links_.Wait<scheduler::SendStart>().lease;
  }

  // The loop cannot commit the first records of the lease: it is read-only from now on.
  void FillTheDisk(LeaseId lease) {
    store_.Fail(Full());
    const int tries = store_.tries();
    const SessionId session{1};
    const ingest::RecordBatch first{1, {{10, 1.0, "loss", 0.5}}};
    ASSERT_TRUE(loop_->Post(session, scheduler::RecordsArrived{session, lease, first}, true));
    store_.WaitForTries(tries + 1);
  }
  void EmptyTheDisk() {
    Settle();
    store_.Fail(absl::OkStatus());
    clock_.Advance(absl::Milliseconds(1));
  }

  std::function<void(const absl::Status&)> fatal_ = [](const absl::Status& status) {
    FAIL() << status;
  };
  absl::Duration storage_retry_ = absl::Milliseconds(1);  // As of Start.
  HandClock clock_;
  HandStore store_;
  HandLinks links_;
  figures::LoopFigures figures_;
  Mutex news_mutex_;
  std::vector<std::set<SweepId>> news_ ABSL_GUARDED_BY(news_mutex_);
  std::optional<EventLoop> loop_;  // Last: it ends before its parts.
};

TEST_F(CommitTest, WhatArrivesWhileTheDiskSyncsIsKeptInOneTransaction) {
  Start();
  store_.Hold(true);
  std::vector<std::future<CallResult>> answers;
  answers.push_back(Call(Submit(MakeSweep({"control"}, 1))));
  store_.WaitForTries(1);
  for (int i = 0; i < 20; ++i) answers.push_back(Call(Submit(MakeSweep({"control"}, 1))));

  store_.Hold(false);
  for (auto& answer : answers) EXPECT_TRUE(answer.get().status.ok());

  EXPECT_EQ(store_.CountKept<scheduler::KeepSweep>(), 21);
  EXPECT_EQ(store_.tries(), 2);
}

TEST_F(CommitTest, WhatOneEventOfATransactionChangedIsToldWhateverComesBehindIt) {
  Start();
  store_.Hold(true);
  auto submitted = Call(Submit(MakeSweep({"control"}, 1)));
  store_.WaitForTries(1);
  const SessionId session{1};
  EXPECT_TRUE(loop_->Post(session, Join(1, 1, "unit"), true));
  EXPECT_TRUE(loop_->Post(session, scheduler::Heartbeat{session, {}}, true));

  store_.Hold(false);

  EXPECT_TRUE(submitted.get().status.ok());
  links_.WaitForConsumed(session, 2);
  EXPECT_EQ(store_.tries(), 2) << "or this shows nothing";
  EXPECT_THAT(loop_->live().classes(), ::testing::ElementsAre("cpu"));
}

TEST_F(CommitTest, WhatArrivesIsKeptInPiecesOfSoManyRows) {
  Start({.rows_at_once = 3000});
  const LeaseId lease = LeaseOne();
  const SessionId session{1};
  Settle();
  store_.Hold(true);
  const int tries = store_.tries();
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
    const size_t records = sequence == 1 ? 1 : 1000;
    const ingest::RecordBatch batch{sequence, {records, Record{10, 1.0, "loss", 0.5}}};
    ASSERT_TRUE(loop_->Post(session, scheduler::RecordsArrived{session, lease, batch}, true));
    if (sequence == 1) store_.WaitForTries(tries + 1);
  }
  EXPECT_EQ(loop_->waiting(), 9u);

  store_.Hold(false);

  store_.WaitForKept<scheduler::KeepRecords>(10);
  EXPECT_EQ(store_.tries() - tries, 4) << "the first, and three of three thousand rows";
  EXPECT_EQ(links_.Wait<scheduler::SendRecordsKept>(10).sequence, 10u) << "in their order";
  EXPECT_EQ(loop_->waiting(), 0u);
}

TEST_F(CommitTest, CallsAreKeptInPiecesOfSoManyRowsEachWhole) {
  Start({.rows_at_once = 30});
  store_.Hold(true);
  std::vector<std::future<CallResult>> answers;
  answers.push_back(Call(Submit(MakeSweep({"control"}, 1))));
  store_.WaitForTries(1);
  for (int i = 0; i < 20; ++i) answers.push_back(Call(Submit(MakeSweep({"control"}, 1))));

  store_.Hold(false);

  for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].get().sweep, SweepId{i + 1});
  // A row of the sweep, of its cell, of the event, and of each source of its plan: 12.
  EXPECT_EQ(store_.tries(), 1 + 7) << "three sweeps in each, two in the last";
}

TEST_F(CommitTest, ThePieceThatTakesLongestIsTold) {
  links_.on_deliver_ = [&](const scheduler::Send& send) {
    if (std::holds_alternative<scheduler::SendStart>(send)) clock_.Advance(absl::Milliseconds(7));
  };
  Start();
  (void)LeaseOne();
  Settle();
  Settle();  // The piece of the first answer is over.
  EXPECT_DOUBLE_EQ(figures_.longest_piece_seconds, 0.007);
  EXPECT_DOUBLE_EQ(figures_.piece_seconds.sum(), 0.007) << "waiting is no piece";
}

TEST_F(CommitTest, WhoWatchesIsToldAtOnceAndThenNotMoreOftenThanAgreed) {
  Start();
  ASSERT_TRUE(Call(Submit(MakeSweep({"control"}, 1))).get().status.ok());
  EXPECT_THAT(News(), testing::ElementsAre(testing::ElementsAre(SweepId{1})));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Call(Submit(MakeSweep({"control"}, 1))).get().status.ok());
  }
  EXPECT_EQ(News().size(), 1u) << "too soon after the first";

  clock_.Advance(absl::Milliseconds(100));

  EXPECT_THAT(News(), testing::ElementsAre(
                          testing::_, testing::ElementsAre(SweepId{2}, SweepId{3}, SweepId{4})));
}

TEST_F(CommitTest, ThatMembersHaveMovedOnIsToldLessOften) {
  Start();
  const LeaseId lease = LeaseOne();
  const auto say = [&](uint64_t sequence) {
    const ingest::RecordBatch batch{sequence, {{10, 1.0, "loss", 0.5}}};
    ASSERT_TRUE(
        loop_->Post(SessionId{1}, scheduler::RecordsArrived{SessionId{1}, lease, batch}, true));
    EXPECT_EQ(links_.Wait<scheduler::SendRecordsKept>(static_cast<int>(sequence)).sequence,
              sequence);
  };
  clock_.Advance(absl::Seconds(1));
  (void)News();  // What was left of the lease is told.
  clock_.Advance(absl::Seconds(1));
  say(1);
  const size_t told = News().size();
  clock_.Advance(absl::Milliseconds(500));
  say(2);
  EXPECT_EQ(News().size(), told) << "too soon after the first";

  clock_.Advance(absl::Milliseconds(500));

  EXPECT_EQ(News().size(), told + 1);
}

// People's time goes on while a machine sleeps, and no lease can be renewed.
TEST_F(CommitTest, AfterASleepTheTimeIsThatOfPeopleAndLeasesHaveWhatTheyHad) {
  Start();
  const LeaseId lease = LeaseOne();
  Settle();
  const absl::Time before = loop_->Now();

  clock_.Sleep(absl::Hours(8));
  clock_.Advance(absl::Milliseconds(1));
  Settle();

  EXPECT_EQ(loop_->Now() - before, absl::Hours(8) + absl::Milliseconds(1));
  EXPECT_TRUE(loop_->live().IsLive(lease));
  for (int i = 0; i < 4; ++i) {  // No stall, each.
    clock_.Advance(absl::Seconds(5));
    Settle();
  }
  EXPECT_FALSE(loop_->live().IsLive(lease)) << "it has no more";
}

TEST_F(CommitTest, ASleepThatIsToldAsLessTakesNoTimeBack) {
  Start();
  clock_.Sleep(absl::Minutes(5));
  clock_.Advance(absl::Milliseconds(1));
  Settle();
  const absl::Time before = loop_->Now();

  clock_.Sleep(-absl::Minutes(1));
  clock_.Advance(absl::Milliseconds(1));
  Settle();

  EXPECT_EQ(loop_->Now() - before, absl::Milliseconds(1));
}

// While a commit waits for the disk, the scheduler can be asked.
TEST_F(CommitTest, WhoAsksWhyDoesNotWaitForTheDisk) {
  std::promise<std::string> told;
  links_.on_deliver_ = [&](const scheduler::Send& send) {
    if (!std::holds_alternative<scheduler::SendStart>(send)) return;
    told.set_value(std::async(std::launch::async,
                              [&] {  // Another thread, while the loop's is busy.
                                return loop_->Explain(*ParseMemberId("s1c0r0"));
                              })
                       .get());
  };
  Start();

  (void)LeaseOne();

  EXPECT_THAT(told.get_future().get(), HasSubstr("s1c0r0 is leased: attempt 1"));
}

TEST_F(CommitTest, AWorkerIsToldToStartWhenItsLeaseIsSeenByUploads) {
  std::promise<bool> seen;
  links_.on_deliver_ = [&](const scheduler::Send& send) {
    const auto* start = std::get_if<scheduler::SendStart>(&send);
    if (start == nullptr) return;
    seen.set_value(loop_->live().IsLive(start->lease));
  };
  Start();

  (void)LeaseOne();

  EXPECT_TRUE(seen.get_future().get());
  EXPECT_THAT(loop_->live().classes(), testing::ElementsAre("cpu"));
  EXPECT_THAT(loop_->live().stacks(), testing::ElementsAre("torch"));
  ASSERT_EQ(loop_->live().Workers().size(), 1u);
  EXPECT_TRUE(loop_->live().Workers()[0]->connected);
}

TEST_F(CommitTest, OnAFullDiskWorkersAreReadAndWhatTheySayAgainIsKeptLater) {
  Start();
  const LeaseId lease = LeaseOne();
  const SessionId session{1};
  const ingest::RecordBatch second{2, {{20, 2.0, "loss", 0.25}}};
  FillTheDisk(lease);
  ASSERT_TRUE(loop_->Post(session, scheduler::RecordsArrived{session, lease, second}, true));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(loop_->Post(session, scheduler::Heartbeat{session, {{lease, 1, 0, 0}}}, true));
    ASSERT_TRUE(loop_->Post(session, test::Finish(1, lease.value), true));
  }
  links_.WaitForConsumed(session, 403);  // The batch that could not be committed among them.
  EXPECT_THAT(Explain("s1c0r0"), HasSubstr("w1"));  // Questions are answered all the same.

  EmptyTheDisk();
  store_.WaitForKept<scheduler::KeepRecords>(1);
  ASSERT_TRUE(loop_->Post(session, scheduler::RecordsArrived{session, lease, second}, true));

  links_.WaitForConsumed(session, 404);
  EXPECT_EQ(store_.CountKept<scheduler::KeepRecords>(), 2);
  EXPECT_EQ(links_.Wait<scheduler::SendRecordsKept>(2).sequence, 2u);
}

TEST_F(CommitTest, WhatWasKeptThoughTheCommitFailedIsNotKeptTwice) {
  Start();
  const LeaseId lease = LeaseOne();
  store_.FailInDoubt(Full());
  const int tries = store_.tries();
  const SessionId session{1};
  const ingest::RecordBatch first{1, {{10, 1.0, "loss", 0.5}}};
  ASSERT_TRUE(loop_->Post(session, scheduler::RecordsArrived{session, lease, first}, true));
  store_.WaitForTries(tries + 1);
  Settle();
  EXPECT_EQ(links_.Count<scheduler::SendRecordsKept>(), 0) << "nothing is said until it is sure";

  store_.FailInDoubt(absl::OkStatus());
  clock_.Advance(absl::Milliseconds(1));

  EXPECT_EQ(links_.Wait<scheduler::SendRecordsKept>().sequence, 1u);
  EXPECT_EQ(store_.CountKept<scheduler::KeepRecords>(), 1);
  EXPECT_THAT(Notes(), testing::IsSupersetOf({"storage_failed", "storage_recovered"}))
      << "what was decided since has a number of its own";
}

// It was told to nobody, and a client that was refused may ask otherwise now.
TEST_F(CommitTest, ARefusedCallThatWasKeptAllTheSameEndsTheProcess) {
  std::promise<std::string> ended;
  fatal_ = [&](const absl::Status& status) {
    ended.set_value(std::string(Message(status)));
    fatal_ = [](const absl::Status&) {};
  };
  Start();
  store_.FailInDoubt(Full());
  EXPECT_EQ(Call(Submit(MakeSweep({"control"}, 1))).get().status.code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_.CountKept<scheduler::KeepSweep>(), 1);

  store_.FailInDoubt(absl::OkStatus());
  clock_.Advance(absl::Milliseconds(1));

  EXPECT_THAT(ended.get_future().get(), HasSubstr("what was refused"));
}

TEST_F(CommitTest, OfSessionsThatCameAndWentOnAFullDiskOnlyTheLastCounts) {
  Start();
  const LeaseId lease = LeaseOne();
  FillTheDisk(lease);
  ASSERT_TRUE(loop_->Post(SessionId{1}, scheduler::SessionLost{SessionId{1}}, false));
  for (uint64_t number = 2; number <= 60; ++number) {
    scheduler::WorkerConnected again = Join(1, 1, "unit");
    again.session = SessionId{number};
    again.held = {{lease, 1, 0, 0}};
    ASSERT_TRUE(loop_->Post(again.session, again, true));
    if (number == 60) break;
    ASSERT_TRUE(loop_->Post(again.session, scheduler::SessionLost{again.session}, false));
    ASSERT_TRUE(loop_->Post(again.session, scheduler::SessionLost{again.session}, false));
  }

  EmptyTheDisk();

  EXPECT_EQ(links_.Wait<scheduler::SendWelcome>(2).session, SessionId{60});
  EXPECT_EQ(store_.CountKept<scheduler::KeepWorker>(), 2);
  EXPECT_EQ(store_.CountKept<scheduler::DropLease>(), 0);
  EXPECT_EQ(store_.CountKept<scheduler::GrantLease>(), 1);
}

TEST_F(CommitTest, OnAFullDiskAHelloIsHeldOnceAndTakenLater) {
  Start();
  const LeaseId lease = LeaseOne();
  const SessionId session{1};
  FillTheDisk(lease);
  for (int i = 0; i < 100; ++i) {
    const std::string identity = i == 0 ? std::string(64, 'd') : std::string(64, 'e');
    ASSERT_TRUE(loop_->Post(session, scheduler::AttemptStarted{session, lease, identity}, true));
    const LeaseId dead{1000u + static_cast<uint64_t>(i)};
    ASSERT_TRUE(loop_->Post(session, scheduler::AttemptStarted{session, dead, identity}, true));
  }

  EmptyTheDisk();

  store_.WaitForKept<scheduler::PinIdentity>(1);
  Settle();
  EXPECT_EQ(store_.CountKept<scheduler::DropLease>(), 0) << "only the first hello was held";
  EXPECT_EQ(links_.Count<scheduler::SendStop>(), 0) << "what was said of dead leases was held";
}

TEST_F(CommitTest, OnAFullDiskAHelloOfEachLeaseIsHeld) {
  Start();
  const SessionId session{1};
  ASSERT_TRUE(loop_->Post(session, Join(1, 2, "unit"), true));
  for (const char* plan : {"algo", "impl"}) {
    ASSERT_TRUE(Call(Submit(MakeSweep({plan}, 1))).get().status.ok());
  }
  const LeaseId first = links_.Wait<scheduler::SendStart>(1).lease;
  const LeaseId second = links_.Wait<scheduler::SendStart>(2).lease;
  FillTheDisk(first);
  for (const LeaseId lease : {first, second}) {
    const std::string identity(64, 'd');
    ASSERT_TRUE(loop_->Post(session, scheduler::AttemptStarted{session, lease, identity}, true));
  }

  EmptyTheDisk();

  store_.WaitForKept<scheduler::PinIdentity>(2);
}

TEST_F(CommitTest, AFullDiskIsTriedAgainOnlyWhenItIsTime) {
  Start();
  store_.Fail(Full());
  (void)Call(Submit(MakeSweep({"control"}, 1)));
  store_.WaitForTries(1);
  for (int i = 0; i < 50; ++i) Settle();
  EXPECT_EQ(store_.tries(), 1);

  clock_.Advance(absl::Milliseconds(1));

  store_.WaitForTries(2);
}

TEST_F(CommitTest, TheSchedulerIsToldThatNothingCanBeKept) {
  Start();
  const LeaseId lease = LeaseOne();
  FillTheDisk(lease);
  EXPECT_TRUE(Call(Submit(MakeSweep({"control"}, 1))).get().status.code() ==
              absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(loop_->Post(SessionId{1}, test::Finish(1, lease.value), true));

  EmptyTheDisk();

  EXPECT_THAT(Notes(), testing::IsSupersetOf({"storage_failed", "storage_recovered"}));
}

// No heartbeat is heard on a full disk: the leases get all of that time back, and only once.
TEST_F(CommitTest, TheTimeOfAFullDiskIsGivenBackOnce) {
  Start();
  const LeaseId lease = LeaseOne();
  clock_.Advance(absl::Seconds(7));
  Settle();
  FillTheDisk(lease);
  Settle();
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(absl::Seconds(30));
    Settle();
  }
  EmptyTheDisk();
  Settle();
  for (const int seconds : {7, 14}) {  // Since its records came, without the time of the full disk.
    clock_.Advance(absl::Seconds(7));
    Settle();
    EXPECT_EQ(store_.CountKept<scheduler::DropLease>(), 0) << seconds << " of its 15 seconds";
  }
  clock_.Advance(absl::Seconds(7));
  Settle();
  EXPECT_EQ(store_.CountKept<scheduler::DropLease>(), 1) << "21 of its 15 seconds";
}

TEST_F(CommitTest, LeasesEndByTicksAlone) {
  Start();
  (void)LeaseOne();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(store_.CountKept<scheduler::DropLease>(), 0) << i;
    clock_.Advance(absl::Seconds(7));  // Less than half a ttl: the loop itself did not stand.
    Settle();
  }
  store_.WaitForKept<scheduler::DropLease>(1);
}

TEST_F(CommitTest, WhatHadArrivedIsKeptBeforeItStops) {
  Start();
  store_.Hold(true);
  std::vector<std::future<CallResult>> answers;
  answers.push_back(Call(Submit(MakeSweep({"control"}, 1))));
  store_.WaitForTries(1);
  answers.push_back(Call(Submit(MakeSweep({"control"}, 1))));
  std::thread stopper([&] { loop_->Stop(); });
  while (loop_->Post(SessionId{9}, scheduler::SessionLost{SessionId{9}}, false)) {
    std::this_thread::yield();
  }
  store_.Hold(false);
  stopper.join();

  for (auto& answer : answers) EXPECT_TRUE(answer.get().status.ok());
  EXPECT_EQ(store_.CountKept<scheduler::KeepSweep>(), 2);
}

// Nobody goes on with it, and whoever waits is told so.
TEST_F(CommitTest, WhatIsDoneInPiecesAndNotOverWhenItStopsIsAnswered) {
  Start();
  sweep::Sweep many = MakeSweep({"control"}, 1);
  many.blocks = 3000;  // Cells, of which a piece cancels some 500.
  ASSERT_TRUE(Call(Submit(many)).get().status.ok());
  Settle();
  store_.Hold(true);
  const int tries = store_.tries();
  std::future<CallResult> answer = Call(scheduler::SweepCancelled{0, SweepId{1}});
  store_.WaitForTries(tries + 1);
  std::thread stopper([&] { loop_->Stop(); });
  while (!loop_->stopping()) std::this_thread::yield();
  store_.Hold(false);
  stopper.join();
  loop_.reset();  // One that nobody answered would be known by now.

  const absl::Status status = answer.get().status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Message(status), "the coordinator is stopping");
  EXPECT_GT(store_.CountKept<scheduler::SetUntouched>(), 0) << "what was done is done";
  EXPECT_LT(store_.CountKept<scheduler::SetUntouched>(), 3000) << "or this shows nothing";
}

TEST_F(CommitTest, WhatWasDeletedIsRemovedPieceByPieceUntilNoneIsLeft) {
  store_.LeaveDeleted(3);
  Start();
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(absl::Milliseconds(1));  // A tick.
    Settle();
  }
  Settle();
  EXPECT_EQ(store_.removals(), 3);
}

TEST_F(CommitTest, ARemovalThatFailedIsTriedAgainWhenOtherWritesWouldBe) {
  storage_retry_ = absl::Seconds(10);
  store_.LeaveDeleted(1, Full());
  Start();
  const auto removals = [this](absl::Duration later) {
    clock_.Advance(later);
    Settle();
    Settle();  // What followed the answer is over.
    return store_.removals();
  };
  EXPECT_EQ(removals(absl::ZeroDuration()), 1);
  EXPECT_EQ(removals(absl::Seconds(5)), 1);
  EXPECT_EQ(removals(absl::Seconds(5)), 2);
}

TEST_F(CommitTest, HeartbeatsAreCounted) {
  Start();
  const SessionId session{1};
  ASSERT_TRUE(loop_->Post(session, Join(1, 1, "unit"), true));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(loop_->Post(session, scheduler::Heartbeat{session, {}}, true));
  }
  Settle();
  EXPECT_EQ(figures_.heartbeats, 2u);
}

TEST(RowsOf, ALeaseWeighsMoreThanARowAndEachThatIsInferredIsOne) {
  EXPECT_EQ(RowsOf(std::vector<scheduler::Write>{scheduler::GrantLease()}), 4u);
  scheduler::KeepSweep write;
  write.content = MakeSweep({"control"}, 1);
  const size_t trained = RowsOf(std::vector<scheduler::Write>{write});
  sweep::SubjectCell cell;
  cell.weights.resize(7);
  write.content.inference.emplace().cells = {cell, cell};
  EXPECT_EQ(RowsOf(std::vector<scheduler::Write>{write}), trained + 14);
}

TEST(RowsOf, WhatAWriteBringsIsARowEach) {
  scheduler::KeepRecords records;
  records.batch.records.resize(5);
  scheduler::KeepOutcome outcome;
  outcome.outcome.hashes["weights"] = "h";
  outcome.outcome.metrics = {{"top1", 0.5}, {"loss", 1.0}};
  outcome.outcome.artifacts.resize(4);
  scheduler::KeepExtension extension;
  extension.cells.resize(6);
  scheduler::CollectArtifacts collected;
  collected.artifacts.resize(3);
  const auto rows = [](scheduler::Write write) {
    return RowsOf(std::vector<scheduler::Write>{std::move(write)});
  };
  EXPECT_EQ(rows(records), 5u);
  EXPECT_EQ(rows(outcome), 1u + 1 + 2 + 4);
  EXPECT_EQ(rows(extension), 1u + 6);
  EXPECT_EQ(rows(collected), 3u);
  EXPECT_EQ(rows(scheduler::DropLease()), 1u);
  EXPECT_EQ(RowsOf({scheduler::DropLease(), records, scheduler::GrantLease()}), 1u + 5 + 4);
}

TEST(CountKept, CountsExpiredLeasesAndAcceptedResultsByTheirKind) {
  scheduler::AppendEvent expired;
  expired.kind = "lease_expired";
  scheduler::KeepOutcome done;
  done.outcome.kind = Outcome::Kind::kDone;
  done.accepted = true;
  scheduler::KeepOutcome diverged = done;
  diverged.outcome.kind = Outcome::Kind::kDiverged;
  scheduler::KeepOutcome late = diverged;
  late.accepted = false;
  figures::LoopFigures figures;

  CountKept({expired, done, done, diverged, late}, figures);

  EXPECT_EQ(figures.leases_expired, 1u);
  EXPECT_EQ(figures.members_done, 2u);
  EXPECT_EQ(figures.members_diverged, 1u);
}

}  // namespace
}  // namespace noisefloor::test
