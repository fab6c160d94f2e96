// What is told of pools: the ends of their logs, and to whom what is secret.
#include "coordinator/rpc/fleet_service.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <sys/stat.h>

#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "common/files/directory.h"
#include "common/rpc/server.h"
#include "tests/coordinator/loop/loop_fixture.h"
#include "tests/coordinator/rpc/scripted_worker.h"
#include "tests/coordinator/rpc/tokens.h"

namespace noisefloor::test {
namespace {

using Code = absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FleetServiceTest : public LoopTest {
 protected:
  FleetServiceTest() : FleetServiceTest(/*has_pool=*/true) {}
  explicit FleetServiceTest(bool has_pool)
      : logs_(home_.path() + "/logs"),
        keeper_({.loop = *loop_,
                 .clock = clock_,
                 .slurm = Slurm({"PATH=" + home_.path() + "/bin:/usr/bin:/bin"}),
                 .address = [] { return std::string(); },
                 .chance = [] { return std::string(16, 'a'); }},
                {}, has_pool ? OnePool() : fleet::Fleet()),
        access_(clock_, {}, /*enforced=*/true),
        service_(keeper_, clock_, access_) {
    EXPECT_TRUE(CreateDirectories(logs_).ok());
    auto server = RpcServer::Start({.in_process_only = true}, {&service_});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    fleet_ = v1::FleetService::NewStub(server_->InProcessChannel());
  }

  fleet::Fleet OnePool() const {
    fleet::PoolRecord pool;
    pool.number = 1;
    pool.tag = "tag";
    pool.wish.name = "a100";
    pool.wish.cluster = {"--gres=gpu:a100:1"};
    pool.wish.worker = {"--trainer=mine=KEY=secret train"};
    pool.wish.prologue = "export KEY=secret";
    pool.wish.program = "/opt/noisefloor-worker";
    pool.wish.logs = logs_;
    pool.wish.hardware = "nvidia-a100";
    pool.wish.access = "/home/ada/worker.access";
    pool.wish.least = 1;
    pool.wish.most = 2;
    pool.wish.backlog = 3;
    pool.wish.idle = absl::Milliseconds(4500);
    pool.wish.time_limit = absl::Milliseconds(9'000'500);
    pool.wish.drain_before = absl::Milliseconds(6500);
    pool.wish.gpu_hours = 700.5;
    pool.state = fleet::PoolState::kPaused;
    pool.why = "paused by ada";
    pool.created_by = "ada";
    pool.created = absl::FromUnixSeconds(8);
    pool.classes = {"nvidia-a100"};
    pool.stacks = {"cuda"};
    pool.slots = 9;
    fleet::LaunchRecord waits;
    waits.number = 1;
    waits.pool = 1;
    waits.nonce = "9f8e";
    waits.job = "10_0";
    waits.phase = fleet::LaunchPhase::kWaiting;
    waits.reason = "Priority";
    waits.created = absl::FromUnixSeconds(11);
    fleet::LaunchRecord lives = waits;
    lives.number = 2;
    lives.index = 1;
    lives.job = "10_1";
    lives.phase = fleet::LaunchPhase::kAlive;
    lives.reason = "";
    lives.node = "n7";
    lives.heard = true;
    lives.began = absl::FromUnixSeconds(12);
    return fleet::Fleet({}, {pool}, {waits, lives}, {}, 1, 2);
  }
  void Write(const std::string& file, const std::string& content) const {
    std::ofstream(home_.path() + "/" + file, std::ios::binary) << content;
  }
  absl::StatusOr<v1::GetPoolLogResponse> Log(const std::string& worker, uint32_t most = 0) {
    v1::GetPoolLogRequest request;
    request.set_pool("a100");
    request.set_worker(worker);
    request.set_most_bytes(most);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::GetPoolLogResponse response;
    const absl::Status status = FromGrpc(fleet_->GetPoolLog(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  absl::Status Add(const v1::PoolWish& wish) {
    v1::AddPoolRequest request;
    *request.mutable_wish() = wish;
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::AddPoolResponse response;
    return FromGrpc(fleet_->AddPool(&context, request, &response));
  }
  // As it is told to whoever has that token.
  v1::PoolWish ToldTo(const std::string& token) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    if (!token.empty()) SetToken(context, token);
    v1::ListPoolsResponse response;
    const absl::Status status = FromGrpc(fleet_->ListPools(&context, {}, &response));
    EXPECT_TRUE(status.ok()) << status;
    return response.pools_size() == 1 ? response.pools(0).wish() : v1::PoolWish();
  }

  const std::string logs_;
  PoolKeeper keeper_;
  AccessBook access_;
  FleetServiceImpl service_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::FleetService::Stub> fleet_;
};

TEST_F(FleetServiceTest, ALogIsReadFromItsEnd) {
  Write("logs/a100-9f8e-0.log", std::string(2 << 20, 'x') + "the end");

  EXPECT_EQ(Log("a100-9f8e-0", 7)->text(), "the end");
  EXPECT_EQ(Log("a100-9f8e-0")->text().size(), size_t{64} << 10) << "as much as is usual";
  const auto most = Log("a100-9f8e-0", 100 << 20);
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(most->text().size(), size_t{1} << 20) << "whatever is asked for";
  EXPECT_EQ(most->worker(), "a100-9f8e-0");
  EXPECT_EQ(most->path(), logs_ + "/a100-9f8e-0.log");
  EXPECT_EQ(Log("a100-9f8e-1").status(),
            MakeError(Code::kNotFound, logs_ + "/a100-9f8e-1.log: nothing is written there"));
}

TEST_F(FleetServiceTest, ANameThatLeadsOutOfTheFolderIsNobodys) {
  Write("secret.log", "secret");
  ASSERT_TRUE(CreateDirectories(logs_ + "/a100-").ok());
  for (const std::string worker : {"a100-/../../secret", "../secret", "b100-9f8e-0"}) {
    EXPECT_EQ(Log(worker).status(),
              MakeError(Code::kNotFound, "pool a100 has no worker " + worker));
  }
}

// Nobody writes to it, and whoever opens it waits.
TEST_F(FleetServiceTest, ALogThatIsAPipeHoldsNobodyUp) {
  ASSERT_EQ(mkfifo((logs_ + "/a100-9f8e-0.log").c_str(), 0600), 0);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Log("a100-9f8e-0").status(),
              MakeError(Code::kFailedPrecondition, logs_ + "/a100-9f8e-0.log: not a regular file"));
  }
}

TEST_F(FleetServiceTest, EachFigureOfAPoolIsToldAsItself) {
  const std::string admin = AddToken(access_, "admin", access::Role::kAdmin).token;
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  SetToken(context, admin);
  v1::ListPoolsResponse told;
  ASSERT_TRUE(fleet_->ListPools(&context, {}, &told).ok());
  ASSERT_EQ(told.pools_size(), 1);
  const double hours = absl::ToDoubleHours(clock_.Now() - absl::FromUnixSeconds(12));
  EXPECT_NEAR(told.pools(0).gpu_hours_used(), hours, 1) << "of the one that runs";
  told.mutable_pools(0)->clear_gpu_hours_used();
  v1::Pool wanted;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "wish { name: 'a100' hardware: 'nvidia-a100' cluster: '--gres=gpu:a100:1' "
      "worker: '--trainer=mine=KEY=secret train' prologue: 'export KEY=secret' "
      "program: '/opt/noisefloor-worker' access: '/home/ada/worker.access' min: 1 max: 2 "
      "backlog: 3 idle_seconds: 4.5 time_limit_seconds: 9000.5 drain_before_seconds: 6.5 "
      "gpu_hours: 700.5 } state: POOL_STATE_PAUSED standing: 'paused: paused by ada' "
      "classes: 'nvidia-a100' stacks: 'cuda' slots: 9 "
      "launches { worker: 'a100-9f8e-0' job: '10_0' phase: LAUNCH_PHASE_WAITING "
      "reason: 'Priority' created_unix_seconds: 11 } "
      "launches { worker: 'a100-9f8e-1' job: '10_1' phase: LAUNCH_PHASE_ALIVE node: 'n7' "
      "heard: true created_unix_seconds: 11 began_unix_seconds: 12 } "
      "created_unix_seconds: 8 created_by: 'ada'",
      &wanted));
  wanted.mutable_wish()->set_logs(logs_);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(told.pools(0), wanted))
      << told.pools(0).DebugString();
}

// Of a cluster that takes any job when it is tried, and then does not answer.
class NoPoolTest : public FleetServiceTest {
 protected:
  NoPoolTest() : FleetServiceTest(/*has_pool=*/false) {
    EXPECT_TRUE(CreateDirectories(home_.path() + "/bin").ok());
    for (const auto& [program, script] : {std::pair("bin/sbatch", "#!/bin/sh\ncat >/dev/null\n"),
                                          std::pair("bin/squeue", "#!/bin/sh\nexit 1\n")}) {
      Write(program, script);
      EXPECT_EQ(chmod((home_.path() + "/" + program).c_str(), 0755), 0);
    }
    keeper_.Start();
  }
};

TEST_F(NoPoolTest, APoolIsKeptAsItWasAskedFor) {
  v1::PoolWish wish;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'h200' hardware: 'nvidia-h200' cluster: '--gres=gpu:h200:1' cluster: "
      "'--partition=big' "
      "worker: '--trainer=mine=train' prologue: 'module load cuda' program: '/opt/worker' "
      "access: '/home/eve/worker.access' min: 2 max: 7 backlog: 5 idle_seconds: 30.5 "
      "time_limit_seconds: 7200.25 drain_before_seconds: 90.5 gpu_hours: 12.75",
      &wish));
  wish.set_logs(logs_);

  const absl::Status added = Add(wish);

  ASSERT_TRUE(added.ok()) << added;
  const v1::PoolWish told = ToldTo("");
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(told, wish)) << told.DebugString();
}

TEST_F(NoPoolTest, ATimeThatIsNoneIsRefusedByItsName) {
  v1::PoolWish wish;
  wish.set_idle_seconds(-1);
  const absl::Status idle = Add(wish);
  EXPECT_EQ(idle.code(), Code::kInvalidArgument);
  EXPECT_THAT(Message(idle), HasSubstr("idle: expected seconds from 0"));
  wish.set_idle_seconds(1e9);
  wish.set_time_limit_seconds(2e9);
  EXPECT_THAT(Message(Add(wish)), HasSubstr("time limit: expected seconds"));
  wish.set_time_limit_seconds(0);
  wish.set_drain_before_seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(Message(Add(wish)), HasSubstr("drain before: expected seconds"));
}

TEST_F(FleetServiceTest, WhatIsSecretIsToldToThoseWhoAddPools) {
  const std::string reader = AddToken(access_, "reader", access::Role::kReader).token;
  const std::string admin = AddToken(access_, "admin", access::Role::kAdmin).token;

  const v1::PoolWish read = ToldTo(reader);
  EXPECT_EQ(read.prologue(), "");
  EXPECT_THAT(read.worker(), IsEmpty());
  EXPECT_EQ(read.program(), "/opt/noisefloor-worker") << "the rest is told";
  EXPECT_THAT(read.cluster(), ElementsAre("--gres=gpu:a100:1"));
  for (const std::string& token : {admin, std::string()}) {
    EXPECT_EQ(ToldTo(token).prologue(), "export KEY=secret");
    EXPECT_THAT(ToldTo(token).worker(), ElementsAre("--trainer=mine=KEY=secret train"));
  }
}

}  // namespace
}  // namespace noisefloor::test
