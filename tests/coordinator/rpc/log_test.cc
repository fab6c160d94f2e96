// The log of a coordinator, read as a program would: every line names what it is of.
#include "common/log/log.h"

#include <sstream>

#include "nlohmann/json.hpp"

#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using Json = nlohmann::json;

class LogTest : public CoordinatorTest {
 protected:
  LogTest() {
    testing::internal::CaptureStderr();
    SetUpLog({.program = "test", .level = LogLevel::kDebug, .format = LogFormat::kJson});
  }
  ~LogTest() override { SetUpLog({.program = "test"}); }

  // After the coordinator has ended: all of it is there.
  std::vector<Json> Lines() {
    coordinator_.reset();
    std::istringstream text(testing::internal::GetCapturedStderr());
    std::vector<Json> lines;
    for (std::string line; std::getline(text, line);) {
      lines.push_back(Json::parse(line, nullptr, /*allow_exceptions=*/false));
      EXPECT_TRUE(lines.back().is_object()) << line;
    }
    return lines;
  }
  static std::vector<Json> Of(const std::vector<Json>& lines, const std::string& event) {
    std::vector<Json> found;
    for (const Json& line : lines) {
      if (line.value("event", "") == event) found.push_back(line);
    }
    return found;
  }
};

TEST_F(LogTest, TheLinesOfALifeNameSweepMemberAttemptLeaseAndWorker) {
  auto worker = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t first = worker->Started().lease_id();
  v1::SessionRequest failed = ScriptedWorker::Finish(first, 0);
  failed.mutable_finished()->mutable_outcome()->set_kind(v1::Outcome::KIND_FAILED);
  failed.mutable_finished()->mutable_outcome()->set_cause("bug");
  ASSERT_TRUE(worker->Send(failed));
  (void)worker->Settled();
  const uint64_t second = worker->Started().lease_id();
  ASSERT_TRUE(worker->Send(ScriptedWorker::Finish(second, 0)));
  ASSERT_TRUE(worker->Settled().accepted());
  worker.reset();

  const std::vector<Json> lines = Lines();

  const auto said = [](const Json& line, uint64_t attempt, uint64_t lease) {
    EXPECT_EQ(line.value("sweep", ""), "s1") << line;
    EXPECT_EQ(line.value("member", ""), "s1c0r0") << line;
    EXPECT_EQ(line.value("attempt", 0u), attempt) << line;
    EXPECT_EQ(line.value("lease", uint64_t{0}), lease) << line;
    EXPECT_EQ(line.value("worker", ""), "box") << line;
  };
  const std::vector<Json> leased = Of(lines, "member_leased");
  ASSERT_EQ(leased.size(), 2u);
  said(leased[0], 1, first);
  said(leased[1], 2, second);
  const std::vector<Json> again = Of(lines, "member_waits_again");
  ASSERT_EQ(again.size(), 1u);
  said(again[0], 1, first);
  const std::vector<Json> done = Of(lines, "member_done");
  ASSERT_EQ(done.size(), 1u);
  said(done[0], 2, second);
  ASSERT_EQ(Of(lines, "sweep_submitted").size(), 1u);
  EXPECT_EQ(Of(lines, "sweep_submitted")[0].value("sweep", ""), "s1");
  ASSERT_EQ(Of(lines, "worker_connected").size(), 1u);
  EXPECT_EQ(Of(lines, "worker_connected")[0].value("worker", ""), "box");
  EXPECT_TRUE(Of(lines, "worker_connected")[0].contains("caller"));
}

TEST_F(LogTest, WhatHappensInEveryLifeIsNotSaidUnasked) {
  SetUpLog({.program = "test", .level = LogLevel::kInfo, .format = LogFormat::kJson});
  auto worker = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lease = worker->Started().lease_id();
  ASSERT_TRUE(worker->Send(ScriptedWorker::Finish(lease, 0)));
  ASSERT_TRUE(worker->Settled().accepted());
  worker.reset();
  const std::vector<Json> lines = Lines();
  EXPECT_TRUE(Of(lines, "member_leased").empty());
  EXPECT_TRUE(Of(lines, "member_done").empty());
  EXPECT_EQ(Of(lines, "sweep_submitted").size(), 1u);
}

}  // namespace
}  // namespace noisefloor::test
