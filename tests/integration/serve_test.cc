// `noisefloor serve` as a process of its own: what happens around it must not lose anything.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/rpc/address.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"
#include "tests/coordinator/rpc/scripted_worker.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/integration/process.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class ServeTest : public testing::Test {
 protected:
  std::string home() const { return folder_.path() + "/home"; }
  std::string log() const { return folder_.path() + "/log"; }

  // `shell` around the program, such as "exec %s 2>&1".
  absl::StatusOr<Process> Start(const std::string& before = "", const std::string& after = "") {
    const std::string command = before + " exec " + NOISEFLOOR + " serve --listen=127.0.0.1:0" +
                                " --home=" + home() + " " + after;
    return Process::Start({"/bin/sh", "-c", command}, log());
  }
  // Serves when it says so.
  Process Serve(const std::string& before = "", const std::string& after = "") {
    auto started = Start(before, after);
    EXPECT_TRUE(started.ok()) << started.status();
    constexpr std::string_view kSays = " listens on ";
    while (true) {
      const auto line = started->ReadLine(kPatience);
      EXPECT_TRUE(line.ok()) << line.status() << "\n" << Log();
      if (!line.ok()) break;
      const size_t at = line->find(kSays);
      if (at == std::string::npos) continue;
      const size_t begin = at + kSays.size();
      address_ = line->substr(begin, line->find(',') - begin);
      break;
    }
    return *std::move(started);
  }
  // What a coordinator at the same home says that does not serve.
  std::string Refusal() {
    auto second = Start();
    EXPECT_TRUE(second.ok()) << second.status();
    const auto code = second->Wait(kPatience);
    EXPECT_TRUE(code.ok() && *code == 1) << code.status();
    return Log();
  }

  std::shared_ptr<grpc::Channel> Channel() const { return MakeChannel(*ParseAddress(address_)); }
  absl::Status Ask() {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::GetVersionResponse response;
    return FromGrpc(v1::CoordinatorService::NewStub(Channel())->GetVersion(
        &context, v1::GetVersionRequest(), &response));
  }
  absl::StatusOr<v1::SubmitSweepResponse> Submit() {
    v1::SubmitSweepRequest request;
    request.mutable_sweep()->set_name("kept");
    request.mutable_sweep()->add_noise()->set_name("control");
    request.mutable_sweep()->mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
    request.mutable_sweep()->mutable_hardware()->add_classes("cpu-amd-avx2");
    request.mutable_sweep()->set_replicates(1);
    request.mutable_sweep()->set_blocks(1);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::SubmitSweepResponse response;
    const absl::Status status = FromGrpc(
        v1::CoordinatorService::NewStub(Channel())->SubmitSweep(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  std::string Log() const {
    std::stringstream text;
    text << std::ifstream(log()).rdbuf();
    return text.str();
  }

  TempHome folder_;
  std::string address_;
};

TEST_F(ServeTest, OutlivesTheReaderOfItsLog) {
  Process serve = Serve("", "2>&1");
  serve.CloseOutput();
  const auto workers = v1::WorkerService::NewStub(Channel());

  { ScriptedWorker worker(*workers, "box", 7); }  // Is logged, and nobody reads it.

  EXPECT_TRUE(Ask().ok());
  EXPECT_TRUE(Submit().ok());
  serve.Signal(SIGTERM);
  const auto code = serve.Wait(kPatience);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_GE(*code, 0) << "ended by a signal";
}

TEST_F(ServeTest, AClosedTerminalStopsItInOrder) {
  signal(SIGHUP, SIG_DFL);  // Also when the tests themselves run under nohup.
  Process serve = Serve();
  serve.Signal(SIGHUP);
  const auto code = serve.Wait(kPatience);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 0);
}

TEST_F(ServeTest, UnderNohupAClosedTerminalIsNothingToIt) {
  Process serve = Serve("trap '' HUP;");
  serve.Signal(SIGHUP);
  EXPECT_TRUE(Ask().ok());
  EXPECT_TRUE(Submit().ok());
  EXPECT_FALSE(serve.Ended());
}

TEST_F(ServeTest, EndsWhenItsHomeIsRemovedAndAcknowledgesNothing) {
  Process serve = Serve();
  ASSERT_TRUE(Submit().ok());
  fs::rename(home(), home() + "-away");  // At once, as no removal of a folder's content is.
  fs::remove_all(home() + "-away");

  EXPECT_FALSE(Submit().ok());

  const auto code = serve.Wait(kPatience);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 1);
  EXPECT_THAT(Log(), HasSubstr("was removed or replaced while a coordinator had it open"));
}

TEST_F(ServeTest, EndsWhenItsDatabaseIsRemovedThoughNobodyAsksForAnything) {
  Process serve = Serve();
  fs::remove(home() + "/noisefloor.db");
  const auto code = serve.Wait(kPatience);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 1);
  EXPECT_THAT(Log(), HasSubstr("noisefloor.db: was removed while a coordinator had it open"));
}

TEST_F(ServeTest, RemovingItsLockLetsNoSecondOneIn) {
  Process serve = Serve();
  fs::remove(home() + "/lock");

  EXPECT_THAT(Refusal(), HasSubstr("in use by "));

  EXPECT_TRUE(Submit().ok());
  EXPECT_FALSE(serve.Ended());
}

}  // namespace
}  // namespace noisefloor::test
