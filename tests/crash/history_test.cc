// Random clients of a coordinator that is killed and started again: what each was promised holds.
// And the checker of that sees what is planted.
#include "tests/crash/history.h"

#include <poll.h>
#include <signal.h>

#include <atomic>
#include <optional>
#include <thread>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

#include "common/base/mutex.h"
#include "coordinator/store/database.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/crash/budget.h"
#include "tests/crash/home_checker.h"
#include "tests/crash/proxy.h"
#include "tests/crash/served.h"

namespace noisefloor::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Operation::Kind;
using End = Operation::End;
using Stub = v1::CoordinatorService::Stub;

// --- The checker ---

class HistoryChecker : public testing::Test {
 protected:
  // One client: s1 of request "a" with two members; one is done, then it is cancelled.
  HistoryChecker() {
    Add({.kind = Kind::kSubmit, .request = "a", .sweep = 1, .members = 2});
    Add({.kind = Kind::kWatch, .sweep = 1, .counts = {.waiting = 2}, .token = 5});
    Add({.kind = Kind::kRead, .sweep = 1, .counts = {.waiting = 1, .done = 1}});
    Add({.kind = Kind::kCancel, .sweep = 1});
    Add({.kind = Kind::kRead, .sweep = 1, .counts = {.done = 1, .cancelled = 1}});
    kept_.sweeps[1] = {"a", 2, {.done = 1, .cancelled = 1}};
  }

  void Add(Operation operation) {
    operation.began = ++moment_;
    operation.ended = ++moment_;
    history_.push_back(std::move(operation));
  }
  std::vector<std::string> Faults() const { return WhatDoesNotFit(history_, kept_); }
  void ExpectSeen(const char* words) const { EXPECT_THAT(Faults(), Contains(HasSubstr(words))); }

  std::vector<Operation> history_;
  Kept kept_;
  int64_t moment_ = 0;
};

TEST_F(HistoryChecker, AHistoryThatFitsHasNoFault) { EXPECT_THAT(Faults(), IsEmpty()); }

TEST_F(HistoryChecker, AnAcknowledgedSweepThatIsLostIsSeen) {
  Add({.kind = Kind::kSubmit, .request = "b", .sweep = 2});
  ExpectSeen("was acknowledged as s2, which is not there");
}
TEST_F(HistoryChecker, ARequestThatWasDoneTwiceIsSeen) {
  kept_.sweeps[2] = kept_.sweeps[1];
  ExpectSeen("is there more than once");
}
TEST_F(HistoryChecker, TwoAnswersToOneRequestAreSeen) {
  Add({.kind = Kind::kSubmit, .request = "a", .sweep = 2});
  ExpectSeen("was acknowledged as s2");
}
TEST_F(HistoryChecker, ASweepThatNobodyAskedForIsSeen) {
  kept_.sweeps[2] = {"c", 0, {}};
  ExpectSeen("nobody made it");
}
TEST_F(HistoryChecker, AnUnknownOneMayBeThereOrNot) {
  Add({.kind = Kind::kSubmit, .end = End::kUnknown, .request = "b"});
  EXPECT_THAT(Faults(), IsEmpty());
  kept_.sweeps[2] = {"b", 0, {}};
  EXPECT_THAT(Faults(), IsEmpty());
}
TEST_F(HistoryChecker, ACancelledOneThatGoesOnIsSeenUnlessItWasRetried) {
  kept_.sweeps[1].counts = {.waiting = 1, .done = 1};
  ExpectSeen("was cancelled and has members that have not ended");
  Add({.kind = Kind::kRetry, .end = End::kUnknown, .sweep = 1});
  EXPECT_THAT(Faults(), IsEmpty());
}
TEST_F(HistoryChecker, ARetryBeforeTheCancelIsNoExcuse) {
  history_.insert(history_.begin(), {.kind = Kind::kRetry, .began = -2, .ended = -1, .sweep = 1});
  kept_.sweeps[1].counts = {.waiting = 1, .done = 1};
  ExpectSeen("was cancelled and has members that have not ended");
}
TEST_F(HistoryChecker, OnesOwnCancelThatIsNotReadIsSeen) {
  Add({.kind = Kind::kRead, .sweep = 1, .counts = {.waiting = 1, .done = 1}});
  ExpectSeen("waiting after it had cancelled it");
}
TEST_F(HistoryChecker, AResultThatIsUndoneIsSeen) {
  Add({.kind = Kind::kRead, .sweep = 1, .counts = {.cancelled = 2}});
  ExpectSeen("fewer members done than before");
}
TEST_F(HistoryChecker, AResultThatIsLostInTheEndIsSeen) {
  kept_.sweeps[1].counts = {.cancelled = 2};
  ExpectSeen("had 1 members done and has 0");
}
TEST_F(HistoryChecker, CountsThatDoNotSumAreSeen) {
  Add({.kind = Kind::kRead, .sweep = 1, .counts = {.done = 1}});
  ExpectSeen("with 1 members of 2 to 2");
}
TEST_F(HistoryChecker, ATokenThatGoesBackIsSeen) {
  Add({.kind = Kind::kWatch, .sweep = 1, .counts = {.done = 1, .cancelled = 1}, .token = 4});
  ExpectSeen("a token that goes back");
}

TEST_F(HistoryChecker, AnExtensionThatIsLostIsSeen) {
  Add({.kind = Kind::kExtend, .end = End::kUnknown, .sweep = 1, .members = 3});
  EXPECT_THAT(Faults(), IsEmpty()) << "it may not have been done";
  Add({.kind = Kind::kExtend, .sweep = 1, .members = 3});
  ExpectSeen("s1 is there with 2 members of 3 to 3");
  kept_.sweeps[1].members = 3;
  kept_.sweeps[1].counts.waiting = 1;
  EXPECT_THAT(Faults(), IsEmpty()) << "though it was cancelled before";
  Add({.kind = Kind::kRead, .sweep = 1, .counts = {.done = 1, .cancelled = 1}});
  ExpectSeen("client 0 saw s1 with 2 members of 3 to 3");
}
TEST_F(HistoryChecker, MembersThatNobodyAskedForAreSeen) {
  Add({.kind = Kind::kExtend, .end = End::kRefused, .sweep = 1, .members = 5});
  kept_.sweeps[1].members = 5;
  ExpectSeen("s1 is there with 5 members of 2 to 2");
}
TEST_F(HistoryChecker, AnUpdateThatIsLostOrReplacedByAnOlderOneIsSeen) {
  kept_.sweeps[1].notes = "one";
  ExpectSeen("s1 is there with the notes \"one\"");
  Add({.kind = Kind::kUpdate, .sweep = 1, .notes = "one"});
  EXPECT_THAT(Faults(), IsEmpty());
  Add({.kind = Kind::kUpdate, .end = End::kUnknown, .sweep = 1, .notes = "two"});
  EXPECT_THAT(Faults(), IsEmpty()) << "it may not have been done";
  Add({.kind = Kind::kUpdate, .sweep = 1, .notes = "three"});
  ExpectSeen("s1 is there with the notes \"one\"");
  kept_.sweeps[1].notes = "two";
  EXPECT_THAT(Faults(), IsEmpty()) << "it may have been done late";
  kept_.sweeps[1].notes = "";
  ExpectSeen("s1 is there with the notes \"\"");
  kept_.sweeps[1].notes = "three";
  Add({.kind = Kind::kRead, .sweep = 1, .notes = "one", .counts = {.done = 1, .cancelled = 1}});
  ExpectSeen("client 0 saw s1 with the notes \"one\"");
}
TEST_F(HistoryChecker, ADeletedOneThatIsSeenIsSeen) {
  Add({.kind = Kind::kDelete, .end = End::kUnknown, .sweep = 1});
  EXPECT_THAT(Faults(), IsEmpty()) << "it may not have been done";
  const Kept::Sweep sweep = kept_.sweeps.at(1);
  kept_.sweeps.clear();
  EXPECT_THAT(Faults(), IsEmpty()) << "or it may";
  Add({.kind = Kind::kDelete, .sweep = 1});
  Add({.kind = Kind::kSubmit, .request = "a", .sweep = 2, .members = 2});
  kept_.sweeps[2] = {"a", 2, {.waiting = 2}};
  EXPECT_THAT(Faults(), IsEmpty()) << "its request makes another";
  kept_.sweeps[1] = {"", 2, sweep.counts};
  ExpectSeen("s1 was deleted and is there");
  kept_.sweeps.erase(1);
  Add({.kind = Kind::kRead, .sweep = 1, .counts = {.done = 1, .cancelled = 1}});
  ExpectSeen("client 0 saw s1 after it was deleted");
}

// --- Clients ---

constexpr int kClients = 4;
constexpr uint64_t kAnswersOfALife = 400;  // Fewer, of a coordinator between two kills.
constexpr int kRequests = 6;  // Different ones of a client; each is made several times.

class Clients {
 public:
  // Each makes calls until so many were answered once a replay was.
  Clients(std::string address, std::string hardware, uint64_t seed, int calls)
      : address_(std::move(address)), hardware_(std::move(hardware)), calls_(calls) {
    for (int i = 0; i < kClients; ++i) {
      threads_.emplace_back([this, i, seed] { Run(i, Chance(seed + static_cast<uint64_t>(i))); });
    }
  }
  // Waits until a member has ended and was replayed: from then on every kind can be answered.
  void AwaitReplay() {
    const MutexLock lock(mutex_);
    while (!replayed_) called_.Wait(mutex_);
  }
  // Waits until so many more were answered; false when they end before.
  bool AwaitAnswers(int more) {
    const MutexLock lock(mutex_);
    const int enough = answered_ + more;
    while (answered_ < enough && ended_ < kClients) called_.Wait(mutex_);
    return answered_ >= enough;
  }
  std::vector<Operation> Join() {
    for (std::thread& thread : threads_) thread.join();
    const MutexLock lock(mutex_);
    return history_;
  }

 private:
  void Run(int client, Chance chance) {
    const auto channel = PlainChannel(address_);
    const auto stub = v1::CoordinatorService::NewStub(channel);
    for (int left = calls_; left > 0;) {
      Operation operation;
      operation.client = client;
      operation.began = ++moment_;
      const absl::Status status = Do(*stub, chance, operation);
      operation.ended = ++moment_;
      operation.end = status.ok() ? End::kOk : IsUnknown(status) ? End::kUnknown : End::kRefused;
      // It starts again; a channel connects while somebody waits for it.
      if (operation.end == End::kUnknown)
        channel->WaitForConnected(gpr_inf_future(GPR_CLOCK_MONOTONIC));
      const MutexLock lock(mutex_);
      history_.push_back(operation);
      if (operation.end != End::kUnknown) ++answered_;
      replayed_ |= operation.kind == Kind::kReplay && status.ok();
      if (replayed_ && operation.end != End::kUnknown) --left;
      called_.NotifyAll();
    }
    const MutexLock lock(mutex_);
    ++ended_;
    called_.NotifyAll();
  }

  static bool IsUnknown(const absl::Status& status) {
    return absl::IsUnavailable(status) || absl::IsCancelled(status) || absl::IsUnknown(status) ||
           absl::IsDeadlineExceeded(status) || absl::IsAborted(status) || absl::IsInternal(status);
  }

  absl::Status Do(Stub& stub, Chance& chance, Operation& operation) {
    const uint64_t last = last_sweep_;
    const uint64_t what = last == 0 ? 0 : chance.Below(16);
    operation.sweep = last == 0 ? 0 : 1 + chance.Below(last);
    if (what < 3) return Submit(stub, chance, operation);
    if (what == 3) return Replay(stub, operation);
    if (what == 4) return Change(stub, operation, Kind::kCancel);
    if (what == 5) return Change(stub, operation, Kind::kRetry);
    if (what == 12) return Extend(stub, chance, operation);
    if (what == 13) return Update(stub, operation);
    if (what > 13) return Delete(stub, operation);
    return what < 9 ? Read(stub, operation) : Watch(stub, operation);
  }

  void Learn(uint64_t sweep) {
    uint64_t last = last_sweep_;
    while (last < sweep && !last_sweep_.compare_exchange_weak(last, sweep)) {
    }
  }

  absl::Status Submit(Stub& stub, Chance& chance, Operation& operation) {
    operation.kind = Kind::kSubmit;
    const uint64_t which = chance.Below(kRequests);
    operation.request = std::to_string(operation.client) + "-" + std::to_string(which);
    v1::SubmitSweepRequest request;
    request.set_request_id(operation.request);
    v1::Sweep& sweep = *request.mutable_sweep();
    sweep.set_name("sweep-" + operation.request);
    v1::Setting& data = *sweep.add_training();
    data.set_path("data.name");
    data.mutable_value()->set_text("fashion-mnist-sample");
    sweep.add_noise()->set_name("algo");
    sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
    sweep.mutable_hardware()->add_classes(which % 2 == 0 ? hardware_ : "cpu-nobody-has");
    sweep.add_stacks("noop");
    sweep.set_replicates(operation.members = 1 + static_cast<uint32_t>(which));
    sweep.set_blocks(1);
    NF_ASSIGN_OR_RETURN(const auto answer, Ask(stub, &Stub::SubmitSweep, request));
    Learn(operation.sweep = answer.sweep_id());
    return absl::OkStatus();
  }

  absl::Status Replay(Stub& stub, Operation& operation) {
    operation.kind = Kind::kReplay;
    operation.request = "replay-" + std::to_string(operation.sweep);
    operation.members = 1;
    v1::ReplayMemberRequest request;
    request.set_member("s" + std::to_string(operation.sweep) + "c0r0");
    request.set_request_id(operation.request);
    NF_ASSIGN_OR_RETURN(const auto answer, Ask(stub, &Stub::ReplayMember, request));
    Learn(operation.sweep = answer.sweep_id());
    return absl::OkStatus();
  }

  static absl::Status Change(Stub& stub, Operation& operation, Kind kind) {
    operation.kind = kind;
    v1::CancelSweepRequest cancel;
    cancel.set_sweep_id(operation.sweep);
    v1::RetrySweepRequest retry;
    retry.set_sweep_id(operation.sweep);
    return kind == Kind::kCancel ? Ask(stub, &Stub::CancelSweep, cancel).status()
                                 : Ask(stub, &Stub::RetrySweep, retry).status();
  }

  static absl::Status Extend(Stub& stub, Chance& chance, Operation& operation) {
    operation.kind = Kind::kExtend;
    operation.members = 2 + static_cast<uint32_t>(chance.Below(kRequests));
    v1::ExtendSweepRequest request;
    request.set_sweep_id(operation.sweep);
    request.set_replicates(operation.members);
    return Ask(stub, &Stub::ExtendSweep, request).status();
  }

  static absl::Status Update(Stub& stub, Operation& operation) {
    operation.kind = Kind::kUpdate;
    operation.notes = fmt::format("client {} at {}", operation.client, operation.began);
    v1::UpdateSweepRequest request;
    request.set_sweep_id(operation.sweep);
    request.set_notes(operation.notes);
    return Ask(stub, &Stub::UpdateSweep, request).status();
  }

  static absl::Status Delete(Stub& stub, Operation& operation) {
    operation.kind = Kind::kDelete;
    v1::DeleteSweepRequest request;
    request.set_sweep_id(operation.sweep);
    return Ask(stub, &Stub::DeleteSweep, request).status();
  }

  static Counts CountsOf(const v1::SweepSummary& sweep) {
    return {sweep.waiting(), sweep.leased(), sweep.done() + sweep.diverged(), sweep.failed(),
            sweep.cancelled()};
  }

  static absl::Status Read(Stub& stub, Operation& operation) {
    operation.kind = Kind::kRead;
    v1::GetSweepRequest request;
    request.set_sweep_id(operation.sweep);
    NF_ASSIGN_OR_RETURN(const auto answer, Ask(stub, &Stub::GetSweep, request));
    operation.counts = CountsOf(answer.sweep());
    operation.notes = answer.sweep().sweep().notes();
    return absl::OkStatus();
  }

  // The first thing that it says.
  static absl::Status Watch(Stub& stub, Operation& operation) {
    operation.kind = Kind::kWatch;
    grpc::ClientContext context;
    SetDeadline(context, absl::Minutes(1));
    v1::WatchSweepRequest request;
    request.set_sweep_id(operation.sweep);
    const auto reader = stub.WatchSweep(&context, request);
    v1::WatchSweepResponse news;
    const bool came = reader->Read(&news);
    operation.counts = CountsOf(news.sweep());
    operation.token = news.resume_token();
    context.TryCancel();
    const absl::Status status = FromGrpc(reader->Finish());
    return came ? absl::OkStatus() : status.ok() ? absl::UnavailableError("ended") : status;
  }

  const std::string address_;
  const std::string hardware_;
  const int calls_;
  std::atomic<int64_t> moment_ = 0;
  std::atomic<uint64_t> last_sweep_ = 0;
  std::vector<std::thread> threads_;
  Mutex mutex_;
  CondVar called_;
  bool replayed_ ABSL_GUARDED_BY(mutex_) = false;
  int answered_ ABSL_GUARDED_BY(mutex_) = 0;
  int ended_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Operation> history_ ABSL_GUARDED_BY(mutex_);
};

Kept KeptIn(const std::string& home) {
  Kept kept;
  const SQLite::Database database(DatabasePath(home), SQLite::OPEN_READONLY);
  SQLite::Statement row(
      database,
      "SELECT v.sweep, s.request_id, v.members, v.waiting, v.leased, v.done, "
      "v.diverged, v.failed, v.cancelled, v.notes FROM v_sweep v JOIN sweep s USING "
      "(sweep)");
  const auto number = [&](int column) {
    return static_cast<uint32_t>(row.getColumn(column).getInt64());
  };
  while (row.executeStep()) {
    kept.sweeps[number(0)] = {row.getColumn(1).getString(),
                              number(2),
                              {number(3), number(4), number(5) + number(6), number(7), number(8)},
                              row.getColumn(9).getString()};
  }
  return kept;
}

class HistoryTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(coordinator_.Start().ok()) << coordinator_.Log(); }

  // A worker with two slots there; its class.
  std::string StartWorker(const std::string& address) {
    auto worker = Process::Start(
        {WORKER, "--coordinator=" + address, "--name=box", "--state=" + folder_.path() + "/state",
         "--slots=2", "--grace=1", "--trainer=noop"},
        folder_.path() + "/worker.log");
    EXPECT_TRUE(worker.ok()) << worker.status();
    worker_.emplace(*std::move(worker));
    while (!worker_->EndsWithin(absl::Milliseconds(50))) {
      const auto there = Ask(coordinator_.people(), &Stub::ListWorkers, v1::ListWorkersRequest());
      EXPECT_TRUE(there.ok()) << there.status();
      if (there.ok() && there->workers_size() == 0) continue;
      return there.ok() ? there->workers(0).inventory().offers(0).hardware_class() : "";
    }
    ADD_FAILURE() << "the worker has ended";
    return "";
  }

  // After the last call: was every kind done, and was what was promised kept?
  void Check(const std::vector<Operation>& history) {
    worker_->Signal(SIGTERM);
    EXPECT_EQ(worker_->Wait(absl::Minutes(2)).value_or(-1), 0);
    const std::string address = coordinator_.address();
    coordinator_.Kill();
    ASSERT_TRUE(coordinator_.Start(address).ok());
    EXPECT_THAT(WhatDoesNotFit(history, KeptIn(coordinator_.home())), IsEmpty());
    EXPECT_THAT(FaultsOf(coordinator_.home()), IsEmpty());
    std::map<Kind, int> done;
    int unknown = 0;
    for (const Operation& operation : history) {
      done[operation.kind] += operation.end == End::kOk;
      unknown += operation.end == End::kUnknown;
    }
    for (const Kind kind :
         {Kind::kSubmit, Kind::kReplay, Kind::kCancel, Kind::kRetry, Kind::kExtend, Kind::kUpdate,
          Kind::kDelete, Kind::kRead, Kind::kWatch}) {
      EXPECT_GT(done[kind], 0) << "of kind " << static_cast<int>(kind);
    }
    std::cout << history.size() << " calls, of " << unknown << " the end is not known\n";
    EXPECT_GT(unknown, 0);
  }

  const TempHome folder_;
  Served coordinator_{folder_.path(), nullptr};
  std::optional<Process> worker_;
};

TEST_F(HistoryTest, WhatClientsWerePromisedHoldsThoughTheCoordinatorIsKilledAgainAndAgain) {
  const std::string address = coordinator_.address();
  const std::string hardware = StartWorker(address);
  Chance chance(CrashSeed());
  Clients clients(address, hardware, CrashSeed(), EveryPoint() ? 3000 : 500);
  clients.AwaitReplay();
  // By answers, not by time: how many kills there are is no matter of the machine's speed.
  int kills = 0;
  while (clients.AwaitAnswers(static_cast<int>(chance.Below(kAnswersOfALife)))) {
    coordinator_.Kill();
    ++kills;
    const absl::Status again = coordinator_.Start(address);
    ASSERT_TRUE(again.ok()) << again;
  }
  Check(clients.Join());
  std::cout << kills << " kills\n";
  EXPECT_GE(kills, 3);
}

// Its own, between people and it, and between its worker and it: a connection breaks in the middle
// of calls, or carries one way only for a while before.
TEST_F(HistoryTest, WhatClientsWerePromisedHoldsThoughTheirConnectionsBreakAndCarryOneWayOnly) {
  using Stalls = Proxy::Stalls;
  constexpr Stalls kStalls[] = {Stalls::kNothing, Stalls::kRequests, Stalls::kAnswers,
                                Stalls::kBoth};
  constexpr int kStallMs = 20;
  Proxy of_people(coordinator_.address());
  Proxy of_worker(coordinator_.address());
  const std::string hardware = StartWorker(of_worker.address());
  Chance chance(CrashSeed());
  Clients clients(of_people.address(), hardware, CrashSeed(), EveryPoint() ? 3000 : 500);
  clients.AwaitReplay();
  std::map<Stalls, int> cuts;
  while (clients.AwaitAnswers(static_cast<int>(chance.Below(kAnswersOfALife / 4)))) {
    Proxy& proxy = chance.OneIn(3) ? of_worker : of_people;
    const Stalls stalls = kStalls[chance.Below(4)];
    proxy.Stall(stalls);
    if (stalls != Stalls::kNothing) poll(nullptr, 0, kStallMs);  // How long the fault lasts.
    proxy.Cut();
    proxy.Stall(Stalls::kNothing);
    ++cuts[stalls];
  }
  Check(clients.Join());
  for (const Stalls stalls : kStalls) EXPECT_GT(cuts[stalls], 0);
}

}  // namespace
}  // namespace noisefloor::test
