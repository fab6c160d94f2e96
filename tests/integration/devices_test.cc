// A coordinator and a worker as real processes on a machine whose GPUs a script plays
// (tests/support/fake_gpus): probing, registration, placement, quarantine and explanation.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "tests/integration/fleet.h"

namespace noisefloor::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class DevicesTest : public testing::Test {
 protected:
  DevicesTest() {
    std::string pattern = testing::TempDir() + "nf-devices-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("NOISEFLOOR_FAKE_GPUS", (folder_ + "/script").c_str(), 1);
    const char* before = std::getenv("LD_LIBRARY_PATH");
    libraries_ = before == nullptr ? "" : before;
    const std::string ours = std::filesystem::path(FAKE_NVML).parent_path();
    setenv("LD_LIBRARY_PATH", (libraries_.empty() ? ours : ours + ":" + libraries_).c_str(), 1);
  }
  ~DevicesTest() override {
    if (fleet_) {
      const absl::Status stopped = fleet_->Stop();
      EXPECT_TRUE(stopped.ok()) << stopped;
    }
    unsetenv("NOISEFLOOR_FAKE_GPUS");
    setenv("LD_LIBRARY_PATH", libraries_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

  void Script(const std::string& text) const {
    const std::string next = folder_ + "/next";
    std::ofstream(next) << text;
    std::filesystem::rename(next, folder_ + "/script");  // Whoever reads sees the old or the new.
  }

  void Start(const std::string& script) {
    Script(script);
    std::filesystem::create_directories(folder_ + "/data/fashion-mnist-sample");
    auto fleet = Fleet::Start(
        {.folder = folder_,
         .program = NOISEFLOOR,
         .worker = WORKER,
         .worker_arguments = {"--trainer=fake=" FAKE_TRAINER, "--data-root=" + folder_ + "/data"},
         .workers = 1});
    ASSERT_TRUE(fleet.ok()) << fleet.status();
    fleet_.emplace(*std::move(fleet));
  }

  // Texts of the first column.
  std::vector<std::string> Rows(const std::string& sql) const {
    const SQLite::Database database(DatabasePath(fleet_->home()), SQLite::OPEN_READONLY);
    SQLite::Statement row(database, sql);
    std::vector<std::string> texts;
    while (row.executeStep()) texts.push_back(row.getColumn(0).getString());
    return texts;
  }

  // Of the trainer that stands in, on these classes.
  static v1::Sweep SweepOn(const std::vector<std::string>& classes, uint32_t replicates) {
    v1::Sweep sweep;
    sweep.set_name("devices");
    v1::Setting& data = *sweep.add_training();
    data.set_path("data.name");
    data.mutable_value()->set_text("fashion-mnist-sample");
    sweep.add_noise()->set_name("algo");
    sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
    for (const std::string& name : classes) sweep.mutable_hardware()->add_classes(name);
    sweep.add_stacks("fake");
    sweep.set_replicates(replicates);
    sweep.set_blocks(1);
    return sweep;
  }

  std::string folder_;
  std::string libraries_;
  std::optional<Fleet> fleet_;
};

// Two GPU models and the processors in one worker, which B1 of the first release refused.
TEST_F(DevicesTest, AWorkerThatStillAsksItsTrainersCanBeStopped) {
  Script("");
  const std::string trainer = folder_ + "/trainer", asked = folder_ + "/asked";
  std::ofstream(trainer) << "#!/bin/sh\nmkfifo " << asked << "\nexec sleep 1000\n";
  std::filesystem::permissions(trainer, std::filesystem::perms::owner_all);
  auto worker = Process::Start({WORKER, "--coordinator=127.0.0.1:1", "--trainer=slow=" + trainer,
                                "--state=" + folder_ + "/state"},
                               folder_ + "/log");
  ASSERT_TRUE(worker.ok()) << worker.status();
  while (!std::filesystem::exists(asked)) {
    ASSERT_FALSE(worker->Ended()) << EndOfFile(folder_ + "/log", 1000);
  }

  ASSERT_TRUE(worker->Signal(SIGTERM));

  const auto code = worker->Wait(absl::Seconds(60));
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 0);
  EXPECT_THAT(EndOfFile(folder_ + "/log", 1000), HasSubstr("worker_stopped_before_start"));
}

TEST_F(DevicesTest, EveryMemberTrainsOnADeviceOfItsClass) {
  Start(
      "gpu GPU-1 name=NVIDIA_H200 gib=140 capability=9.0\n"
      "gpu GPU-2 name=Tesla_T4 gib=15 capability=7.5\n"
      "gpu GPU-3 name=Tesla_V100-SXM2-32GB gib=32 capability=7.0\n");
  const auto worker = fleet_->AWorker();
  ASSERT_TRUE(worker.ok()) << worker.status();
  std::vector<std::string> classes;
  for (const v1::Offer& offer : worker->inventory().offers()) {
    classes.push_back(offer.hardware_class());
  }
  ASSERT_GE(classes.size(), 3u);
  EXPECT_EQ(classes[0], "nvidia-h200");
  EXPECT_EQ(classes[1], "nvidia-t4");
  ASSERT_EQ(worker->inventory().withheld_size(), 1);
  EXPECT_EQ(worker->inventory().withheld(0).reason(),
            "it has no kernels for compute capability 7.0");

  const auto sweep = fleet_->Submit(SweepOn({"nvidia-h200", "nvidia-t4", classes[2]}, 2), "one");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  ASSERT_TRUE(fleet_->WatchUntil(*sweep, [](const auto&) { return false; }).ok());

  const auto members = fleet_->Members(*sweep);
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 6u);
  for (const v1::Member& member : *members) {
    EXPECT_EQ(member.state(), v1::MEMBER_STATE_DONE) << member.id();
  }
  EXPECT_THAT(Rows("SELECT DISTINCT c.hardware || ' on ' || u.name FROM lease l "
                   "JOIN cell c USING (sweep, cell) JOIN unit u USING (unit) "
                   "WHERE c.hardware LIKE 'nvidia%'"),
              UnorderedElementsAre("nvidia-h200 on GPU-1", "nvidia-t4 on GPU-2"));
}

TEST_F(DevicesTest, WhatNoDeviceOffersIsExplainedWithWhatIsWithheld) {
  Start("gpu GPU-3 name=Tesla_V100-SXM2-32GB gib=32 capability=7.0\n");
  const auto sweep = fleet_->Submit(SweepOn({"nvidia-v100-32gb"}, 1), "one");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const auto why = fleet_->Explain("s1c0r0");
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_THAT(*why,
              HasSubstr("no connected worker offers hardware class nvidia-v100-32gb and stack "
                        "fake. Connect one, or mend this: box-0 withholds GPU-3 (Tesla "
                        "V100-SXM2-32GB) from fake: it has no kernels for compute capability "
                        "7.0."));
}

TEST_F(DevicesTest, AGpuThatIsLostRestsAndTheOtherTakesItsMembers) {
  const std::string good = "gpu GPU-1 name=NVIDIA_H200 gib=140\n";
  Start(good + "gpu GPU-2 name=NVIDIA_H200 gib=140\n");
  Script(good + "gpu GPU-2 name=NVIDIA_H200 gib=140 lost=1\n");  // It falls off the bus.

  const auto sweep = fleet_->Submit(SweepOn({"nvidia-h200"}, 6), "one");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  ASSERT_TRUE(fleet_->WatchUntil(*sweep, [](const auto&) { return false; }).ok());

  const auto members = fleet_->Members(*sweep);
  ASSERT_TRUE(members.ok()) << members.status();
  for (const v1::Member& member : *members) {
    EXPECT_EQ(member.state(), v1::MEMBER_STATE_DONE) << member.id();
  }
  EXPECT_THAT(Rows("SELECT DISTINCT u.name FROM attempt a JOIN lease l USING (lease) "
                   "JOIN unit u USING (unit) WHERE a.accepted = 1"),
              ElementsAre("GPU-1"));
  EXPECT_THAT(Rows("SELECT DISTINCT a.cause || ': ' || a.message FROM attempt a "
                   "JOIN lease l USING (lease) JOIN unit u USING (unit) "
                   "WHERE u.name = 'GPU-2'"),
              ElementsAre("lost_device: CUDA: cuMemAlloc_v2: CUDA-capable device(s) is/are busy or "
                          "unavailable"));
}

TEST_F(DevicesTest, ADriverMismatchLeavesTheProcessors) {
  Start("nvml 18\n");
  const auto worker = fleet_->AWorker();
  ASSERT_TRUE(worker.ok()) << worker.status();
  ASSERT_GT(worker->inventory().slots_size(), 0);
  ASSERT_EQ(worker->inventory().withheld_size(), 1);
  EXPECT_EQ(worker->inventory().withheld(0).what(), "the GPUs of this machine");
  EXPECT_EQ(worker->inventory().withheld(0).reason(),
            "NVML: init: Driver/library version mismatch");
}

}  // namespace
}  // namespace noisefloor::test
