// A client in Python, of code that protoc makes of our files, reads why it was refused.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/coordinator/store/temp_home.h"
#include "tests/integration/process.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr absl::Duration kPatience = absl::Minutes(2);

std::string PythonGrpc() {
  const char* named = std::getenv("NOISEFLOOR_PYTHON_GRPC");
  return named != nullptr && *named != '\0' ? named : PYTHON_GRPC;
}

class PythonClientTest : public testing::Test {
 protected:
  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Said() const { return EndOfFile(At("log"), 4000); }

  void Generate() const {
    const std::string protos = std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/proto";
    fs::create_directories(At("generated"));
    std::vector<std::string> command = {PROTOC, "--python_out=" + At("generated"), "-I", protos};
    for (const auto& entry : fs::directory_iterator(protos + "/noisefloor/v1")) {
      command.push_back(entry.path().string());
    }
    auto made = Process::Start(command, At("log"));
    ASSERT_TRUE(made.ok()) << made.status();
    const auto code = made->Wait(kPatience);
    ASSERT_TRUE(code.ok() && *code == 0) << code.status() << Said();
  }
  // One that serves, and its address.
  std::pair<Process, std::string> Serve() const {
    auto started = Process::Start(
        {NOISEFLOOR, "serve", "--output=json", "--listen=127.0.0.1:0", "--home=" + At("home")},
        At("log"));
    EXPECT_TRUE(started.ok()) << started.status();
    std::string text;
    while (!Json::accept(text)) {
      const auto line = started->ReadLine(kPatience);
      EXPECT_TRUE(line.ok()) << line.status() << Said();
      if (!line.ok()) break;
      text += *line;
    }
    const Json said = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return {*std::move(started), said.is_object() ? said.value("address", "") : ""};
  }

  TempHome folder_;
};

TEST_F(PythonClientTest, RpcStatusFindsReasonAndFields) {
  if (!fs::exists(PythonGrpc())) {
    GTEST_SKIP() << "no Python with gRPC in " << PythonGrpc() << ": deploy/setup --check";
  }
  Generate();
  const auto [coordinator, address] = Serve();
  auto client = Process::Start(
      {"/usr/bin/env", "PYTHONPATH=" + PythonGrpc() + ":" + At("generated"), "python3",
       std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/tests/clients/refusals.py", address},
      At("log"));
  ASSERT_TRUE(client.ok()) << client.status();
  std::map<std::string, Json> told;
  for (auto line = client->ReadLine(kPatience); line.ok(); line = client->ReadLine(kPatience)) {
    const Json one = Json::parse(*line);
    told[one["method"]] = one;
  }
  const auto code = client->Wait(kPatience);
  ASSERT_TRUE(code.ok() && *code == 0) << code.status() << Said();

  EXPECT_EQ(told["GetSweep"]["code"], "NOT_FOUND") << Said();
  EXPECT_EQ(told["GetSweep"]["domain"], "noisefloor");
  EXPECT_EQ(told["GetSweep"]["reason"], "SWEEP_NOT_FOUND");
  EXPECT_EQ(told["GetSweep"]["metadata"]["sweep"], "s7");
  EXPECT_EQ(told["SubmitSweep"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(told["SubmitSweep"]["reason"], "BAD_SWEEP");
  EXPECT_THAT(told["SubmitSweep"]["fields"].value("train.epochs", ""), HasSubstr("got -1"));
  EXPECT_EQ(told["ListSettings"]["reason"], "STACK_NOT_OFFERED");
  EXPECT_EQ(told["ListSettings"]["metadata"]["stack"], "forest");
  EXPECT_EQ(told["ListSweeps"]["code"], "OK");
}

}  // namespace
}  // namespace noisefloor::test
