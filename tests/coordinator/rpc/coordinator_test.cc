// The coordinator as one object: where it listens, what it refuses, how it ends.
#include "coordinator/coordinator.h"

#include <unistd.h>

#include "tests/coordinator/rpc/call_with_bytes.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using Code = absl::StatusCode;

// protobuf of grpc.health.v1.HealthCheckRequest and of its answer are one field each.
absl::StatusOr<bool> IsServing(const std::shared_ptr<grpc::Channel>& channel,
                               const std::string& service) {
  const std::string request = std::string("\x0a") + static_cast<char>(service.size()) + service;
  NF_ASSIGN_OR_RETURN(const std::string answer,
                      CallWithBytes(channel, "/grpc.health.v1.Health/Check", request));
  return answer == std::string("\x08\x01");
}

TEST(Coordinator, AnAddressThatOthersReachIsRefusedWithoutTlsAndTokens) {
  const TempHome home;
  for (const std::string listen : {"0.0.0.0:0", "[::]:0", "box:0", "192.0.2.1:0"}) {
    EXPECT_EQ(
        Coordinator::Start({.home = home.path(), .listen = listen, .use_access = true}).status(),
        InvalidInput("refusing to listen on " + listen +
                     ": everybody who reaches it could submit and read; expected a loopback "
                     "address, or TLS and tokens, which `noisefloor access init` makes"));
  }
  for (const std::string listen : {"127.0.0.1:0", "[::1]:0", "localhost:0"}) {
    const auto open = Coordinator::Start({.home = home.path(), .listen = listen});
    EXPECT_TRUE(open.ok()) << listen << ": " << open.status();
  }
}

TEST(Coordinator, AnAddressThatMakesNoSenseIsRefusedBeforeTheHomeIsTouched) {
  const TempHome home;
  const auto started = Coordinator::Start({.home = home.path() + "/new", .listen = "here"});
  EXPECT_EQ(started.status(), InvalidInput("address 'here': expected HOST:PORT"));
  EXPECT_NE(::access((home.path() + "/new").c_str(), F_OK), 0);
}

TEST(Coordinator, APortInUseIsNamed) {
  const TempHome home;
  const TempHome other;
  const auto first = Coordinator::Start({.home = home.path(), .listen = "127.0.0.1:0"});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Coordinator::Start({.home = other.path(), .listen = (*first)->address()});
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_THAT(std::string(Message(second.status())),
              HasSubstr("cannot listen on " + (*first)->address()));
}

TEST(Coordinator, AHomeThatIsHeldIsRefusedWithTheAddressOfItsHolder) {
  const TempHome home;
  auto first = Coordinator::Start({.home = home.path(), .listen = "127.0.0.1:0"});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Coordinator::Start({.home = home.path(), .listen = ""});
  EXPECT_EQ(second.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(second.status())), HasSubstr("in use by the coordinator"));
  EXPECT_THAT(std::string(Message(second.status())), HasSubstr((*first)->address()));
  first->reset();
  EXPECT_TRUE(Coordinator::Start({.home = home.path(), .listen = ""}).ok());
}

TEST(Coordinator, WithoutAnAddressItAnswersInTheProcess) {
  const TempHome home;
  const auto coordinator = Coordinator::Start({.home = home.path(), .listen = ""});
  ASSERT_TRUE(coordinator.ok()) << coordinator.status();
  EXPECT_EQ((*coordinator)->address(), "");
  const auto stub = v1::CoordinatorService::NewStub((*coordinator)->InProcessChannel());
  grpc::ClientContext context;
  v1::GetVersionResponse version;
  ASSERT_TRUE(stub->GetVersion(&context, {}, &version).ok());
  EXPECT_EQ(version.home(), home.path());
}

using RunningTest = CoordinatorTest;

TEST_F(RunningTest, HealthIsAnsweredForEachService) {
  for (const char* service :
       {"", "noisefloor.v1.CoordinatorService", "noisefloor.v1.WorkerService"}) {
    const auto serving = IsServing(channel_, service);
    ASSERT_TRUE(serving.ok()) << serving.status();
    EXPECT_TRUE(*serving) << service;
  }
  EXPECT_EQ(IsServing(channel_, "noisefloor.v1.Nothing").status().code(), Code::kNotFound);
}

// Field 7 of ServerReflectionRequest is list_services; the answer holds each name as a field 1.
TEST_F(RunningTest, ReflectionListsTheServices) {
  const auto names =
      CallWithBytes(channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                    std::string("\x3a\x00", 2));

  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, HasSubstr("\x0a\x20noisefloor.v1.CoordinatorService"));
  EXPECT_THAT(*names, HasSubstr("noisefloor.v1.WorkerService"));
}

TEST_F(RunningTest, StoppingEndsOpenStreamsAndLosesNothing) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  (void)worker.Started();
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WatchSweepRequest request;
  request.set_sweep_id(1);
  const auto watch = people_->WatchSweep(&context, request);
  v1::WatchSweepResponse news;
  ASSERT_TRUE(watch->Read(&news));

  coordinator_->Stop();

  EXPECT_EQ(worker.End(), absl::UnavailableError("the coordinator is stopping"));
  while (watch->Read(&news)) {
  }
  EXPECT_EQ(FromGrpc(watch->Finish()), absl::UnavailableError("the coordinator is stopping"));
  Restart();
  EXPECT_EQ(Member("s1c0r0").state(), v1::MEMBER_STATE_LEASED);
}

}  // namespace
}  // namespace noisefloor::test
