// `gc --caches` beside a worker and its trainers, which map the data set that it would remove.
#include <filesystem>
#include <map>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/base/clock.h"
#include "tests/integration/fleet.h"

namespace noisefloor::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr absl::Duration kPatience = absl::Minutes(3);

// One member that trains for longer than the test takes.
v1::Sweep Long() {
  v1::Sweep sweep;
  sweep.set_name("long");
  v1::Setting& data = *sweep.add_training();
  data.set_path("data.name");
  data.mutable_value()->set_text("fashion-mnist-sample");
  v1::Setting& epochs = *sweep.add_training();
  epochs.set_path("train.epochs");
  epochs.mutable_value()->set_integer(5000);
  sweep.add_noise()->set_name("control");
  sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_ANY);
  sweep.set_replicates(1);
  sweep.set_blocks(1);
  return sweep;
}

class CachesTest : public testing::Test {
 protected:
  CachesTest() {
    std::string pattern = testing::TempDir() + "nf-caches-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    auto fleet =
        Fleet::Start({.folder = folder_, .program = NOISEFLOOR, .worker = WORKER, .workers = 1});
    EXPECT_TRUE(fleet.ok()) << fleet.status();
    if (fleet.ok()) fleet_.emplace(*std::move(fleet));
  }
  ~CachesTest() override { fs::remove_all(folder_); }

  absl::StatusOr<std::string> Command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), NOISEFLOOR);
    arguments.push_back("--home=" + fleet_->home());
    NF_ASSIGN_OR_RETURN(Process process, Process::Start(arguments, folder_ + "/said"));
    std::string said;
    for (auto line = process.ReadLine(kPatience); line.ok(); line = process.ReadLine(kPatience)) {
      said += *line + "\n";
    }
    NF_ASSIGN_OR_RETURN(const int code, process.Wait(kPatience));
    if (code == 0) return said;
    return MakeError(absl::StatusCode::kInternal, EndOfFile(folder_ + "/said", 2000));
  }
  // How many there are of each, as "data set in use".
  std::map<std::string, int> Gc(const std::string& more = "--older-than=0s") {
    const auto told =
        Command({"gc", "--caches", "--state=" + fleet_->StateOf(0), more, "--output=json"});
    EXPECT_TRUE(told.ok()) << told.status();
    std::map<std::string, int> counts;
    const Json parsed = Json::parse(told.value_or("{}"), nullptr, /*allow_exceptions=*/false);
    for (const Json& one : parsed.value("caches", Json::array())) {
      counts[one.value("thing", "") + " " + one.value("what", "")] = one.value("count", -1);
    }
    return counts;
  }
  size_t Sets() const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(fleet_->StateOf(0) + "/cache")) {
      count += entry.path().extension() == ".data";
    }
    return count;
  }

  std::string folder_;
  std::optional<Fleet> fleet_;
};

TEST_F(CachesTest, WhatATrainerMapsStaysUntilItHasEnded) {
  ASSERT_TRUE(fleet_.has_value());
  ASSERT_TRUE(fleet_->Submit(Long(), "long").ok());
  const SystemClock clock;
  const absl::Duration give_up = clock.Steady() + kPatience;
  while (Gc("--dry-run")["data set in use"] != 1) {
    ASSERT_LT(clock.Steady(), give_up) << fleet_->Logs();
    absl::SleepFor(absl::Milliseconds(100));  // Between two questions.
  }

  auto beside = Gc();
  EXPECT_EQ(beside["data set removed"], 0);
  EXPECT_EQ(beside["data set in use"], 1);
  EXPECT_EQ(beside["unfinished attempt removed"], 0) << "its worker runs";
  EXPECT_EQ(Sets(), 1u);

  ASSERT_TRUE(Command({"cancel", "s1"}).ok());
  const absl::Status cancelled =
      fleet_->WatchUntil(1, [](const v1::SweepSummary& sweep) { return sweep.cancelled() == 1; });
  ASSERT_TRUE(cancelled.ok()) << cancelled;
  const absl::Status stopped = fleet_->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped << fleet_->Logs();
  EXPECT_EQ(Gc()["data set removed"], 1);
  EXPECT_EQ(Sets(), 0u);
}

}  // namespace
}  // namespace noisefloor::test
