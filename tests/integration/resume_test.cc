// Members of our own trainer that are cut off go on from their checkpoints, on the same worker and
// on another one, to the bits of those that were not.
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/base/clock.h"
#include "tests/integration/fleet.h"

namespace noisefloor::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr absl::Duration kPatience = absl::Minutes(3);  // Against hanging.

class ResumeTest : public testing::Test {
 protected:
  ResumeTest() : folder_(testing::TempDir() + "/nf-resume-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~ResumeTest() override { fs::remove_all(folder_); }

  absl::StatusOr<Fleet> Start(const std::string& name, const std::vector<std::string>& arguments) {
    FleetSettings settings;
    settings.folder = folder_ + "/" + name;
    fs::create_directories(settings.folder);
    settings.program = NOISEFLOOR;
    settings.worker = WORKER;
    settings.workers = 1;
    settings.worker_arguments = {
        "--data-root=" + std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/deploy/data",
        "--checkpoints=" + Checkpoints()};
    settings.worker_arguments.insert(settings.worker_arguments.end(), arguments.begin(),
                                     arguments.end());
    return Fleet::Start(settings);
  }

  std::string Checkpoints() const { return folder_ + "/checkpoints"; }

  // Steps of the newest whole checkpoint of the one member that has some; 0: none.
  int64_t Kept() const {
    int64_t newest = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(Checkpoints(), error), end; at != end && !error;
         at.increment(error)) {
      if (at->path().filename() != "manifest.json") continue;
      const std::string step = at->path().parent_path().filename();
      newest = std::max<int64_t>(newest, std::strtoll(step.c_str(), nullptr, 10));
    }
    return newest;
  }
  // False when nothing newer than that came in time.
  bool KeepsMoreThan(int64_t steps) const {
    const absl::Duration give_up = SystemClock().Steady() + kPatience;
    while (Kept() <= steps) {
      if (SystemClock().Steady() > give_up) return false;
      poll(nullptr, 0, 2);
    }
    return true;
  }

  static void Set(v1::Sweep& sweep, const std::string& path, int64_t value) {
    v1::Setting& setting = *sweep.add_training();
    setting.set_path(path);
    setting.mutable_value()->set_integer(value);
  }
  static void Set(v1::Sweep& sweep, const std::string& path, const std::string& value) {
    v1::Setting& setting = *sweep.add_training();
    setting.set_path(path);
    setting.mutable_value()->set_text(value);
  }
  // One member, long enough to be met at work many times.
  static v1::Sweep One(const std::string& hardware) {
    v1::Sweep sweep;
    sweep.set_name("resume");
    Set(sweep, "model.name", std::string("mlp"));
    Set(sweep, "data.name", std::string("fashion-mnist-sample"));
    Set(sweep, "data.train_examples", 512);
    Set(sweep, "data.test_examples", 200);
    Set(sweep, "evaluate.batch_size", 200);
    Set(sweep, "evaluate.every_epochs", 100);
    Set(sweep, "evaluate.predictions", std::string("all"));
    Set(sweep, "evaluate.weights", std::string("all"));
    Set(sweep, "train.epochs", 800);
    sweep.add_noise()->set_name("algo");
    sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
    sweep.mutable_hardware()->add_classes(hardware);
    sweep.set_replicates(1);
    sweep.set_blocks(1);
    return sweep;
  }

  static absl::StatusOr<uint64_t> Submit(Fleet& fleet) {
    NF_ASSIGN_OR_RETURN(const v1::WorkerSummary worker, fleet.AWorker());
    return fleet.Submit(One(worker.inventory().offers(0).hardware_class()), "resume-1");
  }
  static v1::Member End(Fleet& fleet, uint64_t sweep) {
    EXPECT_TRUE(fleet.WatchUntil(sweep, [](const auto& s) { return s.done() == 1; }).ok());
    const auto members = fleet.Members(sweep);
    EXPECT_TRUE(members.ok() && members->size() == 1) << members.status();
    EXPECT_TRUE(fleet.Stop().ok()) << fleet.Logs();
    return members.ok() && !members->empty() ? members->front() : v1::Member();
  }

  static std::map<std::string, std::string> HashesOf(const v1::Member& member) {
    return {member.outcome().hashes().begin(), member.outcome().hashes().end()};
  }
  static std::map<std::string, std::string> FilesOf(const v1::Member& member) {
    std::map<std::string, std::string> files;
    for (const v1::Artifact& file : member.outcome().artifacts()) {
      if (file.kind() != "log") files[file.kind()] = file.sha256();
    }
    return files;
  }
  static json MeasuredOf(const v1::Member& member) {
    return json::parse(member.outcome().environment())["measured"];
  }

  std::string folder_;
  std::mt19937_64 random_{7};
};

TEST_F(ResumeTest, AfterKilledTrainersAndAKilledWorkerTheBitsAreThoseOfACalmOne) {
  auto calm = Start("calm", {"--checkpoint-every=0"});
  ASSERT_TRUE(calm.ok()) << calm.status();
  const auto undisturbed = Submit(*calm);
  ASSERT_TRUE(undisturbed.ok()) << undisturbed.status();
  const v1::Member expected = End(*calm, *undisturbed);
  ASSERT_FALSE(MeasuredOf(expected).contains("checkpoints")) << "not asked to stop, none is kept";
  ASSERT_EQ(Kept(), 0);

  auto fleet = Start("cut", {"--checkpoint-every=0.001"});
  ASSERT_TRUE(fleet.ok()) << fleet.status();
  const auto sweep = Submit(*fleet);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  ASSERT_TRUE(KeepsMoreThan(0)) << fleet->Logs();
  ASSERT_TRUE(fleet->KillTrainer(0, random_));
  ASSERT_TRUE(KeepsMoreThan(Kept() + 20)) << fleet->Logs();
  ASSERT_TRUE(fleet->KillWorker(0).ok());
  ASSERT_TRUE(KeepsMoreThan(Kept() + 20)) << fleet->Logs();
  ASSERT_TRUE(fleet->KillTrainer(0, random_));
  const v1::Member member = End(*fleet, *sweep);

  EXPECT_EQ(HashesOf(member), HashesOf(expected));
  EXPECT_EQ(FilesOf(member), FilesOf(expected));
  EXPECT_GE(FilesOf(member).size(), 10u);
  const json resumed = MeasuredOf(member)["resumed_at"];
  EXPECT_EQ(resumed.size(), 3u) << resumed.dump();
  EXPECT_TRUE(std::ranges::is_sorted(resumed.get<std::vector<int64_t>>()));
  EXPECT_GE(MeasuredOf(member)["checkpoints"]["written"].get<int>(), 1);
  EXPECT_TRUE(fs::is_empty(Checkpoints())) << "a member that is done needs none any more";
}

}  // namespace
}  // namespace noisefloor::test
