// Calls by name, of a server that answers what a test tells it to.
#include "coordinator/live/read_call.h"

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "common/rpc/channel.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor::live {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Minutes(2);

class Scripted final : public v1::CoordinatorService::Service {
 public:
  // As many messages as its sweep has as number; then it waits for the end of the call.
  grpc::Status WatchSweep(grpc::ServerContext* context, const v1::WatchSweepRequest* request,
                          grpc::ServerWriter<v1::WatchSweepResponse>* writer) override {
    Note(*context);
    for (uint64_t i = 1; i <= request->sweep_id(); ++i) {
      v1::WatchSweepResponse response;
      response.set_resume_token(i);
      response.add_lines(std::string(1000, 'x'));
      writer->Write(response);
    }
    if (request->resume_token() == 1) return grpc::Status::OK;
    if (request->resume_token() == 2) return {grpc::StatusCode::NOT_FOUND, "no such sweep"};
    WaitForTheEnd(*context);
    return grpc::Status::CANCELLED;
  }
  // Of sweep 1 an answer; of others none.
  grpc::Status GetSweep(grpc::ServerContext* context, const v1::GetSweepRequest* request,
                        v1::GetSweepResponse* response) override {
    Note(*context);
    response->mutable_sweep()->set_id(request->sweep_id());
    if (request->sweep_id() != 1) WaitForTheEnd(*context);
    ++answered;
    answered.notify_all();
    return grpc::Status::OK;
  }

  std::atomic<int> ended = 0;  // Calls that somebody has ended.
  std::atomic<int> answered = 0;
  std::atomic<int> with_deadline = 0;
  std::string token;  // Of the last call.

 private:
  void Note(const grpc::ServerContext& context) {
    const auto found = context.client_metadata().find("authorization");
    token = found == context.client_metadata().end()
                ? ""
                : std::string(found->second.data(), found->second.size());
    with_deadline += context.deadline() != std::chrono::system_clock::time_point::max();
  }
  void WaitForTheEnd(const grpc::ServerContext& context) {
    while (!context.IsCancelled()) std::this_thread::yield();
    ++ended;
    ended.notify_all();
  }
};

class ReadCallTest : public testing::Test {
 protected:
  using Said = absl::StatusOr<std::optional<v1::WatchSweepResponse>>;

  ReadCallTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    channel_ = server_->InProcessChannel({});
  }
  ~ReadCallTest() override {
    // It would wait for ever for a call that was lost.
    HasFailure() ? (void)server_.release() : server_->Shutdown();
  }

  std::shared_ptr<ReadCall> Start(const std::string& method,
                                  const google::protobuf::Message& request,
                                  absl::Duration within = absl::InfiniteDuration(),
                                  const std::string& token = "") {
    const auto* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            v1::CoordinatorService::service_full_name());
    return ReadCall::Start(channel_, *service->FindMethodByName(method), request, token, within);
  }
  // `then` 0: it goes on; 1: it ends; 2: it ends as not found.
  std::shared_ptr<ReadCall> Watch(uint64_t messages, uint64_t then = 0) {
    v1::WatchSweepRequest request;
    request.set_sweep_id(messages);
    request.set_resume_token(then);
    return Start("WatchSweep", request);
  }
  // What Next says; of another method nothing but that it is there.
  static std::future<Said> Ask(ReadCall& call) {
    const auto promise = std::make_shared<std::promise<Said>>();
    std::future<Said> said = promise->get_future();
    call.Next([promise](absl::StatusOr<const google::protobuf::Message*> message) {
      if (!message.ok()) return promise->set_value(message.status());
      if (*message == nullptr) return promise->set_value(std::nullopt);
      const auto* news = dynamic_cast<const v1::WatchSweepResponse*>(*message);
      promise->set_value(news == nullptr ? v1::WatchSweepResponse() : *news);
    });
    return said;
  }
  static Said Next(ReadCall& call) {
    std::future<Said> said = Ask(call);
    if (said.wait_for(absl::ToChronoSeconds(kPatience)) == std::future_status::ready) {
      return said.get();
    }
    ADD_FAILURE() << "nothing is said";
    return absl::DeadlineExceededError("nothing is said");
  }
  // Whether it goes once nobody holds it.
  static bool Goes(std::shared_ptr<ReadCall>&& held) {
    std::shared_ptr<ReadCall> call = std::move(held);
    const std::weak_ptr<ReadCall> seen = call;
    call.reset();
    const absl::Time give_up = SystemClock().Now() + kPatience;
    while (!seen.expired() && SystemClock().Now() < give_up) std::this_thread::yield();
    return seen.expired();
  }

  Scripted service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(ReadCallTest, MessagesComeInOrderAndThenTheEnd) {
  auto call = Watch(3, 1);
  for (uint64_t i = 1; i <= 3; ++i) {
    const Said said = Next(*call);
    ASSERT_TRUE(said.ok() && said->has_value()) << said.status();
    EXPECT_EQ((*said)->resume_token(), i);
  }
  const Said end = Next(*call);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_FALSE(end->has_value());
  EXPECT_TRUE(Goes(std::move(call)));
}

TEST_F(ReadCallTest, AnErrorComesAfterTheMessages) {
  const auto call = Watch(1, 2);
  EXPECT_TRUE(Next(*call).ok());
  const Said said = Next(*call);
  EXPECT_EQ(said.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(said.status()), HasSubstr("no such sweep"));
}

TEST_F(ReadCallTest, WhatHasOneAnswerIsAStreamOfOne) {
  v1::GetSweepRequest request;
  request.set_sweep_id(1);
  const auto call = Start("GetSweep", request);
  const Said said = Next(*call);
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_TRUE(said->has_value());
  const Said end = Next(*call);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_FALSE(end->has_value());
}

// Through a channel in process gRPC 1.51 loses a message that comes with the end of its call when
// nobody reads yet.
TEST_F(ReadCallTest, AnAnswerIsNotLostHoweverLateItIsAskedFor) {
  v1::GetSweepRequest request;
  request.set_sweep_id(1);
  for (int i = 0; i < 20; ++i) {
    auto call = Start("GetSweep", request);
    service_.answered.wait(i);
    // It leaves after that; were this too short, nothing would be shown.
    for (int turn = 0; turn < 10000; ++turn) std::this_thread::yield();
    const Said said = Next(*call);
    ASSERT_TRUE(said.ok()) << said.status();
    ASSERT_TRUE(said->has_value()) << "it ended without its answer";
    const Said end = Next(*call);
    ASSERT_TRUE(end.ok() && !end->has_value()) << end.status();
    ASSERT_TRUE(Goes(std::move(call)));
  }
}

TEST_F(ReadCallTest, AMethodThatIsNotThereIsUnimplemented) {
  const auto call = Start("ListShares", v1::ListSharesRequest());
  EXPECT_EQ(Next(*call).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(ReadCallTest, CancelledBetweenTwoItEnds) {
  auto call = Watch(2);
  EXPECT_TRUE(Next(*call).ok());
  call->Cancel();
  service_.ended.wait(0);
  EXPECT_TRUE(Goes(std::move(call)));
}

TEST_F(ReadCallTest, CancelledBeforeTheFirstItEnds) {
  auto call = Watch(0);
  call->Cancel();
  EXPECT_TRUE(Goes(std::move(call)));
}

TEST_F(ReadCallTest, CancelledWhileItWaitsItSaysSo) {
  auto call = Watch(0);
  std::future<Said> said = Ask(*call);
  call->Cancel();
  ASSERT_EQ(said.wait_for(absl::ToChronoSeconds(kPatience)), std::future_status::ready);
  EXPECT_EQ(said.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(Goes(std::move(call)));
}

TEST_F(ReadCallTest, CancelledAgainAndAfterItsEndNothingHappens) {
  auto ended = Watch(0, 1);
  EXPECT_TRUE(Next(*ended).ok());
  ended->Cancel();
  ended->Cancel();
  EXPECT_TRUE(Goes(std::move(ended)));
  auto call = Watch(1);
  call->Cancel();
  call->Cancel();
  EXPECT_TRUE(Goes(std::move(call)));
}

// While the message comes, on another thread.
TEST_F(ReadCallTest, CancelledAtAnyMomentWhoWaitsIsAnsweredOnce) {
  for (int i = 0; i < 500; ++i) {
    auto call = Watch(5, 1);
    for (int k = 0; k < i % 7; ++k) {
      const Said said = Next(*call);
      ASSERT_TRUE(said.ok()) << said.status();
      if (!said->has_value()) break;
    }
    if (i % 7 < 6) {
      std::future<Said> said = Ask(*call);
      call->Cancel();
      ASSERT_EQ(said.wait_for(absl::ToChronoSeconds(kPatience)), std::future_status::ready);
      const Said last = said.get();
      EXPECT_TRUE(last.ok() || absl::IsCancelled(last.status())) << last.status();
    } else {
      call->Cancel();
    }
    ASSERT_TRUE(Goes(std::move(call)));
  }
}

TEST_F(ReadCallTest, OneThatTakesTooLongEnds) {
  v1::GetSweepRequest request;
  request.set_sweep_id(2);
  auto call = Start("GetSweep", request, absl::Seconds(1));
  EXPECT_EQ(Next(*call).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(service_.with_deadline, 1);
  EXPECT_TRUE(Goes(std::move(call)));
}

TEST_F(ReadCallTest, OneForEverHasNoDeadline) {
  const auto call = Watch(1, 1);
  EXPECT_TRUE(Next(*call).ok());
  EXPECT_TRUE(Next(*call).ok());
  EXPECT_EQ(service_.with_deadline, 0);
}

TEST_F(ReadCallTest, TheCallersTokenGoesWithIt) {
  v1::GetSweepRequest request;
  request.set_sweep_id(1);
  const auto with = Start("GetSweep", request, kPatience, "nfl_abc");
  EXPECT_TRUE(Next(*with).ok());
  EXPECT_TRUE(Next(*with).ok());
  EXPECT_EQ(service_.token, "Bearer nfl_abc");
  const auto without = Start("GetSweep", request, kPatience);
  EXPECT_TRUE(Next(*without).ok());
  EXPECT_TRUE(Next(*without).ok());
  EXPECT_EQ(service_.token, "");
}

TEST_F(ReadCallTest, TheEndOfTheServerEndsIt) {
  auto call = Watch(1);
  EXPECT_TRUE(Next(*call).ok());
  std::future<Said> said = Ask(*call);
  server_->Shutdown(absl::ToChronoTime(SystemClock().Now()));
  ASSERT_EQ(said.wait_for(absl::ToChronoSeconds(kPatience)), std::future_status::ready);
  EXPECT_FALSE(said.get().ok());
  EXPECT_TRUE(Goes(std::move(call)));
}

}  // namespace
}  // namespace noisefloor::live
