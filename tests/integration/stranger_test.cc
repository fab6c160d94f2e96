// A trainer that is no part of noisefloor, in another language: deploy/trainers, as its comment
// says.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/integration/fleet.h"

namespace noisefloor::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Minutes(3);

class StrangerTest : public testing::Test {
 protected:
  StrangerTest() {
    std::string pattern = testing::TempDir() + "nf-stranger-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    auto fleet =
        Fleet::Start({.folder = folder_,
                      .program = NOISEFLOOR,
                      .worker = WORKER,
                      .worker_arguments = {"--trainer=blobs=" + trainers_ + "/blobs_trainer.py"},
                      .workers = 1});
    EXPECT_TRUE(fleet.ok()) << fleet.status();
    if (fleet.ok()) fleet_.emplace(*std::move(fleet));
  }
  ~StrangerTest() override {
    if (fleet_) {
      const absl::Status stopped = fleet_->Stop();
      EXPECT_TRUE(stopped.ok()) << stopped;
    }
    std::filesystem::remove_all(folder_);
  }

  // What the command printed, then what it said; its exit code is to be that one.
  std::string Command(std::vector<std::string> arguments, int code) {
    arguments.insert(arguments.begin(), NOISEFLOOR);
    arguments.push_back("--home=" + fleet_->home());
    const std::string log = folder_ + "/said";
    std::filesystem::remove(log);
    auto process = Process::Start(arguments, log);
    EXPECT_TRUE(process.ok()) << process.status();
    std::string said;
    for (auto line = process->ReadLine(kPatience); line.ok(); line = process->ReadLine(kPatience)) {
      said += *line + "\n";
    }
    const auto ended = process->Wait(kPatience);
    EXPECT_TRUE(ended.ok()) << ended.status();
    said += EndOfFile(log, 1 << 16);
    EXPECT_EQ(ended.value_or(-1), code) << said;
    return said;
  }

  const std::string trainers_ = std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/deploy/trainers";
  std::string folder_;
  std::optional<Fleet> fleet_;
};

TEST_F(StrangerTest, ItsStudyIsTrainedReportedAndReplayedAsOurs) {
  ASSERT_TRUE(fleet_.has_value());
  EXPECT_THAT(Command({"settings", "blobs"}, 0),
              AllOf(HasSubstr("learn.rate"), HasSubstr("a number from 0 to 100"),
                    HasSubstr("these are the settings of blobs")));
  EXPECT_THAT(Command({"plan", trainers_ + "/blobs.yaml"}, 0),
              AllOf(HasSubstr("blobs: 6 cells, 24 members"), HasSubstr("learn.rate=0.5")));
  EXPECT_THAT(Command({"submit", trainers_ + "/blobs.yaml"}, 0), HasSubstr("24 members"));
  ASSERT_TRUE(fleet_->WatchUntil(1, [](const auto&) { return false; }).ok());

  const auto members = fleet_->Members(1);
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 24u);
  std::map<uint32_t, std::set<std::string>> weights;  // By cell.
  for (const v1::Member& member : *members) {
    ASSERT_EQ(member.state(), v1::MEMBER_STATE_DONE) << member.id() << fleet_->Logs();
    weights[member.cell()].insert(member.outcome().hashes().at("weights"));
    EXPECT_GT(member.outcome().metrics().at("top1"), 0.35) << member.id();
  }
  for (const uint32_t control : {0u, 3u}) EXPECT_EQ(weights.at(control).size(), 1u) << control;
  for (const uint32_t free : {1u, 2u, 4u, 5u}) EXPECT_EQ(weights.at(free).size(), 4u) << free;

  EXPECT_THAT(Command({"report", "s1"}, 0), AllOf(HasSubstr("churn"), HasSubstr("order")));
  EXPECT_THAT(Command({"replay", "s1c2r1"}, 0), HasSubstr("equal"));
  EXPECT_THAT(Command({"show", "s1", "--resolved"}, 0), HasSubstr("spread: 0.7"));
}

TEST_F(StrangerTest, WhatItWouldRefuseIsRefusedAtItsPlaceBeforeAnythingIsTrained) {
  ASSERT_TRUE(fleet_.has_value());
  const std::string file = folder_ + "/wrong.yaml";
  std::ofstream(file) << "name: w\nstack: blobs\nlearn: {rate: 1000}\ntrain: {epochs: 1}\n"
                         "noise: [control]\n";

  const std::string said = Command({"submit", file}, 1);

  EXPECT_THAT(said,
              HasSubstr(file + ":3:15: learn.rate: expected a number from 0 to 100, got 1000"));
  EXPECT_THAT(said, HasSubstr(file + ":4:1: train"));
}

}  // namespace
}  // namespace noisefloor::test
