// logs and logs -f, on a real coordinator with a worker that says what it is told to.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/rpc/address.h"
#include "tests/coordinator/cli/command_line.h"
#include "tests/coordinator/rpc/scripted_worker.h"

namespace noisefloor::cli {
namespace {

using test::ScriptedWorker;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr char kLogsSweep[] = R"(name: tiny
noise: [control]
hardware: [cpu-amd-avx2]
replicates: 1
)";

class LogsTest : public ::testing::Test {
 protected:
  LogsTest() : line_(Coordinator::Start), home_(line_.home() + "/study") {
    std::ofstream(file_) << kLogsSweep;
    auto started = Coordinator::Start({.home = home_, .listen = "127.0.0.1:0"});
    EXPECT_TRUE(started.ok()) << started.status();
    coordinator_ = *std::move(started);
    workers_ = v1::WorkerService::NewStub(MakeChannel(*ParseAddress(coordinator_->address())));
    worker_ = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
    EXPECT_EQ(Run({"submit", file_}).code, kDone);
    lease_ = worker_->Started().lease_id();
  }
  ~LogsTest() override { worker_.reset(); }

  Printed Run(std::vector<std::string> arguments) {
    arguments.push_back("--home=" + home_);
    return line_.Run(arguments);
  }

  void SayRecords(uint64_t sequence, const std::vector<std::pair<std::string, double>>& values) {
    v1::SessionRequest request;
    request.mutable_records()->set_lease_id(lease_);
    v1::RecordBatch& batch = *request.mutable_records()->mutable_batch();
    batch.set_sequence(sequence);
    for (const auto& [name, value] : values) {
      batch.add_metric(static_cast<uint32_t>(batch.metric_names_size()));
      batch.add_metric_names(name);
      batch.add_step(static_cast<int64_t>(10 * sequence));
      batch.add_epoch(0.5);
      batch.add_value(value);
    }
    ASSERT_TRUE(worker_->Send(request));
  }
  void Finish(v1::Outcome::Kind kind, uint64_t batches) {
    v1::SessionRequest finish = ScriptedWorker::Finish(lease_, batches);
    finish.mutable_finished()->mutable_outcome()->set_kind(kind);
    ASSERT_TRUE(worker_->Send(finish));
    ASSERT_TRUE(worker_->Settled().accepted());
  }

  CommandLine line_;
  const std::string home_;
  const std::string file_ = line_.home() + "/tiny.yaml";
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
  std::unique_ptr<ScriptedWorker> worker_;
  uint64_t lease_ = 0;
};

TEST_F(LogsTest, FollowingPrintsALineForEachStepAndWhatHappened) {
  SayRecords(1, {{"train_loss", 2.25}});
  SayRecords(2, {{"train_loss", 0.5}, {"test_top1", 0.875}});
  Finish(v1::Outcome::KIND_DONE, 2);
  const Printed printed = Run({"logs", "s1c0r0", "-f"});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, MatchesRegex("[0-9:]+ s1c0r0 attempt 1 on box\n"
                                        "step 10  train_loss 2.25\n"
                                        "step 20  train_loss 0.5  test_top1 0.875\n"
                                        "[0-9:]+ s1c0r0 done on box\n"));
}

TEST_F(LogsTest, OfAMemberThatRunsItSaysHowToFollowIt) {
  const Printed printed = Run({"logs", "s1c0r0"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("s1c0r0 runs, and its log comes with its result"));
  EXPECT_THAT(printed.err, HasSubstr("logs s1c0r0 -f"));
}

TEST_F(LogsTest, WhatATrainerCallsItsValuesCannotMoveTheCursor) {
  SayRecords(1, {{"lo\x1b[2Jss\n", 1}});
  Finish(v1::Outcome::KIND_DONE, 1);
  const Printed printed = Run({"logs", "s1c0r0", "--follow"});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(printed.out, HasSubstr("  lo?[2Jss\\n 1\n"));
}

TEST_F(LogsTest, AsJsonItIsAnObjectALine) {
  SayRecords(1, {{"train_loss", std::numeric_limits<double>::quiet_NaN()}});
  Finish(v1::Outcome::KIND_DONE, 1);
  const Printed printed = Run({"logs", "s1c0r0", "-f", "--output=json"});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  const auto first = nlohmann::json::parse(printed.out.substr(0, printed.out.find('\n')));
  EXPECT_EQ(first["state"], "done");
  EXPECT_EQ(first["values"][0]["value"], "nan");
  EXPECT_EQ(first["values"][0]["step"], 10);
  EXPECT_EQ(first["events"][0]["kind"], "EVENT_KIND_LEASED");
  EXPECT_EQ(first["events"][0]["worker"], "box");
}

TEST_F(LogsTest, AMemberThatIsCancelledEndsItAndIsNoSuccess) {
  EXPECT_EQ(Run({"cancel", "s1"}).code, kDone);
  EXPECT_EQ(Run({"logs", "s1c0r0", "-f"}).code, kFailedMembers);
}

struct Measured {
  int64_t step = 0;
  const char* name = "";
  double value = 0;
};

v1::WatchMemberResponse NewsOf(uint64_t lease, const std::vector<Measured>& values) {
  v1::WatchMemberResponse news;
  news.set_state(v1::MEMBER_STATE_DONE);
  news.set_lease(lease);
  for (const auto& [step, name, value] : values) {
    v1::RecordedValue& recorded = *news.add_values();
    recorded.set_step(step);
    recorded.set_name(name);
    recorded.set_value(value);
  }
  return news;
}

// Of a member whose watches tell this, with a break between any two.
std::string Followed(std::vector<std::vector<v1::WatchMemberResponse>> watches) {
  CannedAnswers answers;
  answers.members.emplace_back().set_id("s1c0r0");
  answers.members[0].set_state(v1::MEMBER_STATE_DONE);
  answers.member_watches = std::move(watches);
  CommandLine line(std::move(answers));
  const Printed printed = line.Run({"logs", "s1c0r0", "-f"});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  return printed.out;
}

TEST(FollowedLogs, AfterABreakTellTheRestOfAStepAndNothingTwice) {
  EXPECT_EQ(Followed({{NewsOf(1, {{10, "loss", 2.5}, {20, "loss", 2.25}})},
                      {NewsOf(1, {{10, "loss", 2.5}, {20, "loss", 2.25}, {20, "top1", 0.5}}),
                       NewsOf(1, {{30, "loss", 2}})}}),
            "step 10  loss 2.5\nstep 20  loss 2.25\nstep 20  top1 0.5\nstep 30  loss 2\n");
}

// The break comes before the second attempt has measured anything.
TEST(FollowedLogs, OfAnotherAttemptAreToldFromItsFirstStep) {
  EXPECT_EQ(Followed({{NewsOf(1, {{10, "loss", 2.5}, {20, "loss", 2.25}}), NewsOf(2, {})},
                      {NewsOf(2, {{10, "loss", 1.5}, {20, "loss", 1.25}})}}),
            "step 10  loss 2.5\nstep 20  loss 2.25\nstep 10  loss 1.5\nstep 20  loss 1.25\n");
}

TEST_F(LogsTest, WithoutACoordinatorNothingIsWaitedFor) {
  worker_.reset();
  coordinator_->Stop();
  coordinator_.reset();
  const Printed printed = Run({"logs", "s1c0r0", "-f"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("s1c0r0 waits and nothing runs on " + home_));
  EXPECT_EQ(Run({"logs", "s1c0r9", "-f"}).code, kRefused);
}

}  // namespace
}  // namespace noisefloor::cli
