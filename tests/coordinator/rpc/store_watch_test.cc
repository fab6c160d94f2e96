// A watch ends when it is told to, whether or not its client reads.
#include "coordinator/rpc/store_watch.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "common/rpc/server.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"
#include "tests/coordinator/rpc/held_query.h"
#include "tests/coordinator/rpc/scripted_worker.h"
#include "tests/coordinator/rpc/tokens.h"

namespace noisefloor::test {
namespace {

// Always has something new: more than waits in buffers of a connection.
class LargeNews final : public StoreWatch<v1::WatchSweepResponse> {
 public:
  LargeNews(WatchHub& hub, query::Query& query, AccessBook& access,
            grpc::CallbackServerContext& context)
      : StoreWatch({hub, query, absl::Milliseconds(50)}, context) {
    Begin(SweepId{1}, access, context);
  }

 private:
  absl::StatusOr<News> Look(bool) override {
    News news;
    news.response.add_lines(std::string(8 << 20, 'x'));
    news.moved = true;
    return news;
  }
};

class WatchService final : public v1::CoordinatorService::CallbackService {
 public:
  WatchService(WatchHub& hub, query::Query& query, AccessBook& access)
      : hub_(hub), query_(query), access_(access) {}

  grpc::ServerWriteReactor<v1::WatchSweepResponse>* WatchSweep(
      grpc::CallbackServerContext* context, const v1::WatchSweepRequest*) override {
    return new LargeNews(hub_, query_, access_, *context);
  }

 private:
  WatchHub& hub_;
  query::Query& query_;
  AccessBook& access_;
};

class StoreWatchTest : public testing::Test {
 protected:
  StoreWatchTest() {
    auto server = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {&service_});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    people_ = v1::CoordinatorService::NewStub(MakeChannel(server_->address()));
  }
  ~StoreWatchTest() override {
    over_ = true;
    turns_.join();
    query_.Close();
  }

  // Of a new watch: OK when it was told something.
  absl::Status WatchOnce() {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    const auto watch = people_->WatchSweep(&context, {});
    v1::WatchSweepResponse news;
    const bool told = watch->Read(&news);
    if (told) context.TryCancel();
    while (watch->Read(&news)) {
    }
    const absl::Status end = FromGrpc(watch->Finish());
    return told ? absl::OkStatus() : end;
  }

  const SystemClock clock_;
  AccessBook access_{clock_, {}, /*enforced=*/true};
  WatchHub hub_{1};
  HeldQuery query_;
  WatchService service_{hub_, query_, access_};
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::CoordinatorService::Stub> people_;
  std::atomic<bool> over_{false};
  std::thread turns_{[this] {
    while (!over_) (void)query_.RunNext(absl::Milliseconds(100));
  }};
};

TEST_F(StoreWatchTest, OneWhoseTokenIsRevokedMakesRoomThoughItsClientDoesNotRead) {
  const AddedToken alice = AddToken(access_, "alice", access::Role::kReader);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  SetToken(context, alice.token);
  const auto unread = people_->WatchSweep(&context, {});
  unread->WaitForInitialMetadata();  // It comes with the first message.
  ASSERT_TRUE(absl::IsResourceExhausted(WatchOnce())) << "or this shows nothing";

  access_.Revoke({alice.number});

  absl::Status next = absl::ResourceExhaustedError("not asked yet");
  const absl::Duration give_up = clock_.Steady() + kPatience;
  while (absl::IsResourceExhausted(next) && clock_.Steady() < give_up) next = WatchOnce();
  EXPECT_TRUE(next.ok()) << next;
  v1::WatchSweepResponse news;
  while (unread->Read(&news)) {
  }
  // What the transport still takes is followed by the reason; its own deadline would be another.
  EXPECT_THAT(unread->Finish().error_code(),
              testing::AnyOf(grpc::StatusCode::CANCELLED, grpc::StatusCode::UNAUTHENTICATED));
}

}  // namespace
}  // namespace noisefloor::test
