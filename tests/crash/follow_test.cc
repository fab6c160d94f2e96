// logs -f and watches, with a real coordinator that is killed in the middle.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/integration/fleet.h"

namespace noisefloor::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr absl::Duration kPatience = absl::Minutes(3);

class FollowTest : public testing::Test {
 protected:
  FollowTest() {
    std::string pattern = testing::TempDir() + "nf-follow-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    EXPECT_EQ(mkfifo(gate().c_str(), 0600), 0);
    auto fleet = Fleet::Start({.folder = folder_,
                               .program = NOISEFLOOR,
                               .worker = WORKER,
                               .worker_arguments = {"--no-standby", "--trainer=fake=" FAKE_TRAINER},
                               .workers = 1});
    EXPECT_TRUE(fleet.ok()) << fleet.status();
    if (fleet.ok()) fleet_.emplace(*std::move(fleet));
  }
  ~FollowTest() override {
    if (fleet_) {
      const absl::Status stopped = fleet_->Stop();
      EXPECT_TRUE(stopped.ok()) << stopped;
    }
    if (held_ >= 0) close(held_);
    std::filesystem::remove_all(folder_);
  }

  std::string gate() const { return folder_ + "/gate"; }

  // One member, whose trainer waits at the gate when it has told half of its losses.
  v1::Sweep Gated() {
    v1::Sweep sweep;
    sweep.set_name("followed");
    const auto set = [&](const char* path, const std::string& value) {
      v1::Setting& setting = *sweep.add_training();
      setting.set_path(path);
      setting.mutable_value()->set_text(value);
    };
    set("data.name", "fashion-mnist-sample");
    set("sources.poke.parameter", "gate:" + gate());
    v1::Setting& epochs = *sweep.add_training();
    epochs.set_path("train.epochs");
    epochs.mutable_value()->set_integer(8);
    sweep.add_noise()->set_name("algo");
    sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_ANY);
    sweep.add_stacks("fake");
    sweep.set_replicates(1);
    sweep.set_blocks(1);
    return sweep;
  }

  absl::StatusOr<Process> Command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), NOISEFLOOR);
    arguments.push_back("--home=" + fleet_->home());
    return Process::Start(arguments, folder_ + "/said");
  }

  std::string folder_;
  std::optional<Fleet> fleet_;
  int held_ = -1;
};

TEST_F(FollowTest, LossesAreToldOnceEachThoughTheCoordinatorIsKilled) {
  ASSERT_TRUE(fleet_.has_value());
  const auto sweep = fleet_->Submit(Gated(), "follow");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  auto follower = Command({"logs", "s1c0r0", "-f", "--output=json"});
  ASSERT_TRUE(follower.ok()) << follower.status();

  std::vector<std::pair<int64_t, std::string>> told;
  std::vector<std::string> kinds;
  std::string log;
  const auto read = [&] {
    const auto line = follower->ReadLine(kPatience);
    if (!line.ok()) return false;
    const Json news = Json::parse(*line, nullptr, /*allow_exceptions=*/false);
    if (!news.is_object()) return true;
    for (const Json& value : news.value("values", Json::array())) {
      told.emplace_back(value["step"], value["name"]);
    }
    for (const Json& event : news.value("events", Json::array())) kinds.push_back(event["kind"]);
    log = news.value("log", log);
    return true;
  };
  while (told.empty() && read()) {
  }
  ASSERT_FALSE(told.empty()) << fleet_->Logs();

  const absl::Status killed = fleet_->KillCoordinator();
  ASSERT_TRUE(killed.ok()) << killed;
  held_ = open(gate().c_str(), O_RDWR | O_CLOEXEC);
  while (read()) {
  }
  const auto ended = follower->Wait(kPatience);

  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(*ended, 0) << EndOfFile(folder_ + "/said", 4000);
  EXPECT_EQ(std::set(told.begin(), told.end()).size(), told.size()) << "one was told twice";
  EXPECT_TRUE(std::ranges::is_sorted(told, {}, &std::pair<int64_t, std::string>::first));
  EXPECT_THAT(kinds, ElementsAre("EVENT_KIND_LEASED", "EVENT_KIND_DONE"));
  auto counted = Command({"sql", "SELECT count(*) FROM record", "--csv"});
  ASSERT_TRUE(counted.ok());
  (void)counted->ReadLine(kPatience);  // The column's name.
  EXPECT_EQ(counted->ReadLine(kPatience).value_or(""), std::to_string(told.size()));
}

TEST_F(FollowTest, AWatchHearsOfEveryEventOnceThoughTheCoordinatorIsKilled) {
  ASSERT_TRUE(fleet_.has_value());
  ASSERT_TRUE(fleet_->Submit(Gated(), "watch").ok());
  const absl::Status leased =
      fleet_->WatchUntil(1, [](const v1::SweepSummary& sweep) { return sweep.leased() == 1; });
  ASSERT_TRUE(leased.ok()) << leased;
  const absl::Status killed = fleet_->KillCoordinator();
  ASSERT_TRUE(killed.ok()) << killed;
  held_ = open(gate().c_str(), O_RDWR | O_CLOEXEC);
  const absl::Status done =
      fleet_->WatchUntil(1, [](const v1::SweepSummary& sweep) { return sweep.done() == 1; });
  ASSERT_TRUE(done.ok()) << done;
  uint64_t last = 0;
  uint64_t lease = 0;  // Of the last that was given: on a busy machine the first may run out.
  int ends = 0;
  for (const v1::Event& event : fleet_->events()) {
    EXPECT_GT(event.number(), last) << "none twice, in order";
    last = event.number();
    if (event.kind() == v1::EVENT_KIND_LEASED) lease = event.lease();
    if (event.kind() != v1::EVENT_KIND_DONE) continue;
    ++ends;
    EXPECT_EQ(event.member(), "s1c0r0");
    EXPECT_EQ(event.worker(), "box-0");
    EXPECT_GT(event.lease(), 0u);
    // A lease that was given before the watch began is in its first counts, and no event of it.
    if (lease > 0) {
      EXPECT_EQ(event.lease(), lease);
    }
  }
  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace noisefloor::test
