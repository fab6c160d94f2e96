// Reads that nobody waits for any more are not run.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/rpc/server.h"
#include "coordinator/rpc/coordinator_service.h"
#include "tests/coordinator/loop/loop_fixture.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"
#include "tests/coordinator/rpc/held_query.h"

namespace noisefloor::test {
namespace {

class DeadlineTest : public LoopTest {
 protected:
  DeadlineTest()
      : access_(clock_, {}, /*enforced=*/false),
        watches_(10),
        blobs_(*BlobStore::Open(home_.path())),
        garbage_(*Garbage::Open({*loop_, blobs_, pins_, clock_, home_.path(), NoProblem})),
        service_({.loop = *loop_,
                  .query = query_,
                  .watches = watches_,
                  .access = access_,
                  .storage_problem = NoProblem,
                  .garbage = *garbage_,
                  .stacks = stacks_,
                  .blobs = blobs_,
                  .pins = pins_,
                  .clock = clock_,
                  .version = "test",
                  .home = home_.path()}) {
    auto server = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {&service_});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const auto channel = MakeChannel(server_->address());
    EXPECT_TRUE(WaitUntilConnected(*channel, server_->address(), kPatience).ok());
    people_ = v1::CoordinatorService::NewStub(channel);
  }

  ~DeadlineTest() override { query_.Close(); }

  static std::string NoProblem() { return ""; }

  // What the client said before on the same connection, that it waits no more, the server has read.
  void AwaitServer() {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::GetVersionResponse response;
    EXPECT_TRUE(people_->GetVersion(&context, v1::GetVersionRequest(), &response).ok());
  }

  HeldQuery query_;
  AccessBook access_;
  WatchHub watches_;
  BlobStore blobs_;
  BlobPins pins_{[](LeaseId) { return false; }};
  std::unique_ptr<Garbage> garbage_;
  StackBook stacks_{{}};
  CoordinatorServiceImpl service_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::CoordinatorService::Stub> people_;
};

// What the server has read it marks on another thread: a call that is not marked yet may be run,
// and one that has not come in time is never there, so a few are tried.
constexpr int kMostTries = 100;
constexpr absl::Duration kSoon = absl::Seconds(2);

TEST_F(DeadlineTest, AReadWhoseDeadlinePassedWhileItWaitedIsNotRun) {
  int not_run = 0;
  for (int i = 0; i < kMostTries && not_run == 0; ++i) {
    grpc::ClientContext context;
    SetDeadline(context, absl::Milliseconds(100));
    v1::GetSweepResponse response;
    const grpc::Status status = people_->GetSweep(&context, v1::GetSweepRequest(), &response);
    ASSERT_EQ(status.error_code(), grpc::DEADLINE_EXCEEDED);
    AwaitServer();
    const int before = query_.reads();
    if (!query_.RunNext(kSoon)) continue;
    not_run += query_.reads() == before;
  }
  EXPECT_EQ(not_run, 1);
}

TEST_F(DeadlineTest, AStudyThatNobodyWaitsForIsNotMade) {
  v1::GetStudyRequest request;
  request.set_form(v1::GetStudyRequest::FORM_JSON);
  int not_made = 0;
  for (int i = 0; i < kMostTries && not_made == 0; ++i) {
    grpc::ClientContext context;
    SetDeadline(context, absl::Milliseconds(100));
    const auto reader = people_->GetStudy(&context, request);
    v1::GetStudyResponse piece;
    EXPECT_FALSE(reader->Read(&piece));
    ASSERT_EQ(reader->Finish().error_code(), grpc::DEADLINE_EXCEEDED);
    AwaitServer();
    const int before = query_.reads();
    if (!query_.RunNext(kSoon)) continue;
    not_made += query_.reads() == before;
  }
  EXPECT_EQ(not_made, 1);
}

// A sweep that is there, for calls that change it.
TEST_F(DeadlineTest, WhatWouldChangeSomethingIsNotDoneAfterItsDeadline) {
  Submit("sweep");
  ASSERT_TRUE(journal_.Await("sweep: OK"));
  using Call = std::function<grpc::Status(grpc::ClientContext&)>;
  const auto of = [this](auto method, auto request, auto response) -> Call {
    if constexpr (requires { request.set_sweep_id(1); }) request.set_sweep_id(1);
    return [=, this](grpc::ClientContext& context) mutable {
      return std::invoke(method, *people_, &context, request, &response);
    };
  };
  using Stub = v1::CoordinatorService::Stub;
  v1::UpdateSweepRequest paused;
  paused.set_paused(true);
  v1::UpdateWorkerRequest drained;
  drained.set_worker("w1");
  drained.set_draining(true);
  v1::UpdateShareRequest share;
  share.set_owner("ada");
  share.set_weight(3);
  v1::SubmitSweepRequest submitted;
  *submitted.mutable_sweep() = SmallSweep("late", 1);
  const std::vector<Call> calls = {
      of(&Stub::SubmitSweep, submitted, v1::SubmitSweepResponse()),
      of(&Stub::RetrySweep, v1::RetrySweepRequest(), v1::RetrySweepResponse()),
      of(&Stub::UpdateShare, share, v1::UpdateShareResponse()),
      of(&Stub::CancelSweep, v1::CancelSweepRequest(), v1::CancelSweepResponse()),
      of(&Stub::UpdateSweep, paused, v1::UpdateSweepResponse()),
      of(&Stub::UpdateWorker, drained, v1::UpdateWorkerResponse())};
  uint64_t session = 0;
  for (const Call& call : calls) {
    int not_done = 0;
    for (int i = 0; i < kMostTries && not_done == 0; ++i) {
      store_->Hold(true);
      Connect(++session);
      ASSERT_TRUE(journal_.AwaitCount("commit waits", static_cast<int>(session)));
      const int before = store_->applied();
      grpc::ClientContext context;
      SetDeadline(context, absl::Milliseconds(100));
      ASSERT_EQ(call(context).error_code(), grpc::DEADLINE_EXCEEDED);
      AwaitServer();
      store_->Hold(false);
      ASSERT_TRUE(journal_.AwaitCount("consumed", static_cast<int>(session)));
      (void)Found("");  // After the calls of the same round, or in a later one.
      (void)Found("");
      not_done += store_->applied() == before + 1;
    }
    EXPECT_EQ(not_done, 1);
  }
}

TEST_F(DeadlineTest, OneThatIsAwaitedIsRun) {
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::GetSweepResponse response;
  std::thread turn([this] { EXPECT_TRUE(query_.RunNext(kPatience)); });
  EXPECT_TRUE(people_->GetSweep(&context, v1::GetSweepRequest(), &response).ok());
  turn.join();
  EXPECT_EQ(query_.reads(), 1);
}

using SweepWatchTest = DeadlineTest;

// The counts of a sweep are taken before its rows are read: a change may be among the events
// already while the counts are of before.
TEST_F(SweepWatchTest, WhatWasSetIsToldThoughItsEventWasToldBefore) {
  const auto news = [](uint64_t event, int32_t priority) {
    query::SweepNews told;
    told.sweep.facts = std::make_shared<const query::SweepFacts>();
    told.sweep.now.waiting = 1;
    told.sweep.now.priority = priority;
    told.place = {SweepId{1}, EventId{event}, std::nullopt};
    return told;
  };
  query_.AddNews(news(1, 0));
  query_.AddNews(news(2, 0));
  query_.AddNews(news(2, 5));
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WatchSweepRequest request;
  request.set_sweep_id(1);
  const auto reader = people_->WatchSweep(&context, request);
  std::vector<int32_t> priorities;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(query_.RunNext(kPatience));
    v1::WatchSweepResponse response;
    if (!reader->Read(&response)) break;
    priorities.push_back(response.sweep().priority());
  }
  EXPECT_THAT(priorities, testing::ElementsAre(0, 0, 5));
  context.TryCancel();
  (void)reader->Finish();
}

}  // namespace
}  // namespace noisefloor::test
