// One posts what each commit made different, many read. Under the sanitizers this is where
// something that dies under its reader would be seen.
#include "coordinator/loop/live_board.h"

#include <latch>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::test {
namespace {

using scheduler::RunningAttempt;
using scheduler::SweepCounts;
using scheduler::WorkerStatus;
using testing::ElementsAre;
using testing::IsEmpty;

const MemberId kMember = {SweepId{1}, 2, 3};

BoardChanges Runs(LeaseId lease, const MemberId& member, int64_t step) {
  BoardChanges changes;
  RunningAttempt attempt;
  attempt.lease = lease;
  attempt.member = member;
  attempt.step = step;
  changes.running.push_back(attempt);
  return changes;
}

BoardChanges Worker(uint64_t number, std::vector<MemberId> running) {
  WorkerStatus status;
  status.worker = WorkerId{number};
  for (size_t i = 0; i < running.size(); ++i) status.paused.push_back({"unit", "tired"});
  status.running = std::move(running);
  BoardChanges changes;
  changes.workers.push_back(std::move(status));
  return changes;
}

BoardChanges OfOwner(uint64_t sweep, const std::string& owner, uint32_t waits, uint32_t runs) {
  SweepCounts counts;
  counts.sharing.owner = owner;
  counts.In(MemberState::kWaiting) = waits;
  counts.In(MemberState::kLeased) = runs;
  BoardChanges changes;
  changes.sweeps.emplace_back(SweepId{sweep}, counts);
  return changes;
}

TEST(LiveBoard, SharesAreTheSumsOfWhatEachSweepCameTo) {
  LiveBoard board;
  board.Apply(OfOwner(1, "ada", 10, 0));
  board.Apply(OfOwner(2, "ada", 5, 1));
  board.Apply(OfOwner(3, "grace", 0, 2));
  board.Apply(OfOwner(1, "ada", 7, 3));
  BoardChanges weights;
  weights.weights = {{"ada", 4}, {"emmy", 2}};
  board.Apply(std::move(weights));
  using testing::Pair;
  EXPECT_THAT(board.Shares(),
              ElementsAre(Pair("ada", OwnerShare{4, 12, 4}), Pair("emmy", OwnerShare{2, 0, 0}),
                          Pair("grace", OwnerShare{1, 0, 2})));

  board.Apply(OfOwner(3, "grace", 0, 0));
  BoardChanges gone;
  gone.deleted = {SweepId{2}, SweepId{9}};
  gone.weights = {{"emmy", 1}};
  board.Apply(std::move(gone));
  EXPECT_THAT(board.Shares(), ElementsAre(Pair("ada", OwnerShare{4, 7, 3})));
  EXPECT_EQ(board.ShareOf("grace"), OwnerShare{});
}

TEST(LiveBoard, SaysNothingOfWhatWasNeverPosted) {
  const LiveBoard board;
  EXPECT_FALSE(board.CountsOf(SweepId{1}).has_value());
  EXPECT_FALSE(board.IsLive(LeaseId{1}));
  EXPECT_FALSE(board.AttemptAt(kMember).has_value());
  EXPECT_THAT(board.Workers(), IsEmpty());
  EXPECT_THAT(board.classes(), IsEmpty());
  EXPECT_EQ(board.storage_problem(), "");
}

TEST(LiveBoard, EachEntryIsTheLastThatWasPosted) {
  LiveBoard board;
  BoardChanges first;
  SweepCounts counts;
  counts.members = 7;
  first.sweeps.emplace_back(SweepId{1}, counts);
  first.classes = {"cpu"};
  first.stacks = {"torch"};
  board.Apply(std::move(first));
  board.Apply(Worker(2, {}));
  board.Apply(Worker(1, {kMember}));

  BoardChanges second;
  counts.In(MemberState::kDone) = 3;
  second.sweeps.emplace_back(SweepId{1}, counts);
  board.Apply(std::move(second));

  EXPECT_EQ(board.CountsOf(SweepId{1}), counts);
  EXPECT_FALSE(board.CountsOf(SweepId{2}).has_value());
  EXPECT_THAT(board.classes(), ElementsAre("cpu")) << "what is not named stays";
  EXPECT_THAT(board.stacks(), ElementsAre("torch"));
  ASSERT_EQ(board.Workers().size(), 2u);
  EXPECT_EQ(board.Workers()[0]->worker, WorkerId{1}) << "by number";
  EXPECT_THAT(board.Workers()[0]->running, ElementsAre(kMember));

  BoardChanges forgotten;
  forgotten.gone = {WorkerId{1}, WorkerId{9}};
  board.Apply(std::move(forgotten));
  ASSERT_EQ(board.Workers().size(), 1u);
  EXPECT_EQ(board.Workers()[0]->worker, WorkerId{2});
}

TEST(LiveBoard, ALeaseThatEndedIsForgottenAndTheNextOneOfItsMemberIsNot) {
  LiveBoard board;
  board.Apply(Runs(LeaseId{1}, kMember, 10));
  board.Apply(Runs(LeaseId{1}, kMember, 20));
  EXPECT_EQ(board.AttemptAt(kMember)->step, 20);

  BoardChanges changes = Runs(LeaseId{2}, kMember, 0);
  changes.forgotten = {LeaseId{1}, LeaseId{99}};
  board.Apply(std::move(changes));

  EXPECT_FALSE(board.IsLive(LeaseId{1}));
  EXPECT_TRUE(board.IsLive(LeaseId{2}));
  EXPECT_EQ(board.AttemptAt(kMember)->lease, LeaseId{2});
  BoardChanges last;
  last.forgotten = {LeaseId{2}};
  board.Apply(std::move(last));
  EXPECT_FALSE(board.AttemptAt(kMember).has_value());

  // The end of a lease may be told after the next one was.
  board.Apply(Runs(LeaseId{3}, kMember, 0));
  board.Apply(Runs(LeaseId{4}, kMember, 0));
  BoardChanges late;
  late.forgotten = {LeaseId{3}};
  board.Apply(std::move(late));
  EXPECT_EQ(board.AttemptAt(kMember)->lease, LeaseId{4});
}

TEST(LiveBoard, AProblemStaysUntilItIsTakenBack) {
  LiveBoard board;
  board.SetStorageProblem("full");
  board.Apply({});
  EXPECT_EQ(board.storage_problem(), "full");
  board.SetStorageProblem("");
  EXPECT_EQ(board.storage_problem(), "");
}

constexpr uint64_t kPosts = 1000;

// Reads until the last post was seen; how often something was not of one piece.
uint64_t Torn(const LiveBoard& board) {
  uint64_t torn = 0;
  uint64_t last = 0;
  while (last < kPosts) {
    const std::vector<LiveBoard::Worker> workers = board.Workers();
    if (workers.empty()) continue;
    const WorkerStatus& worker = *workers[0];
    torn += worker.paused.size() != worker.running.size() ? 1 : 0;
    torn += worker.running.size() < last ? 1 : 0;
    last = worker.running.size();
    const auto attempt = board.AttemptAt(kMember);
    torn += attempt && attempt->step != static_cast<int64_t>(attempt->lease.value) ? 1 : 0;
  }
  return torn;
}

TEST(LiveBoard, ReadersSeeWholeEntriesWhileNewerOnesArePosted) {
  LiveBoard board;
  constexpr int kReaders = 3;
  std::latch ready(kReaders + 1);
  std::vector<uint64_t> torn(kReaders, 1);
  std::vector<std::thread> readers;
  for (size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      ready.arrive_and_wait();
      torn[i] = Torn(board);
    });
  }
  ready.arrive_and_wait();
  for (uint64_t number = 1; number <= kPosts; ++number) {
    BoardChanges changes = Runs(LeaseId{number}, kMember, static_cast<int64_t>(number));
    changes.forgotten = {LeaseId{number - 1}};
    changes.workers = Worker(1, std::vector<MemberId>(number, kMember)).workers;
    board.Apply(std::move(changes));
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, std::vector<uint64_t>(kReaders, 0));
}

}  // namespace
}  // namespace noisefloor::test
