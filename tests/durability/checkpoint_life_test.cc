// The checkpoints of a member, on a disk that loses power at every operation.
//
// Promised is a checkpoint for which Write answered OK: it is found whole, or a later one is, until
// the member is done. What is found is always whole.
#include <algorithm>
#include <cstdint>
#include <string>

#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "tests/durability/seeds.h"
#include "tests/support/model_disk.h"
#include "worker/trainer/checkpoint/checkpoint_folder.h"

namespace noisefloor::trainer {
namespace {

using Survival = ModelDisk::Survival;

const CheckpointIdentity kMine = {{"member", "s1c2r3"}};
constexpr int64_t kSteps = 4;

std::string TensorsAt(int64_t step) {
  return std::string(1500, static_cast<char>('a' + step)) + std::to_string(step);
}
std::string FileAt(int64_t step) { return std::string(700, static_cast<char>('A' + step)); }
std::string NameAt(int64_t step) { return "predictions-" + std::to_string(step) + ".npy"; }

// As a member that evaluates after each step has it.
Checkpoint At(int64_t step) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.facts = {{"at", step}};
  for (int64_t i = 1; i <= step; ++i) {
    checkpoint.told.push_back("event " + std::to_string(i));
    checkpoint.files.push_back({NameAt(i), Sha256Hex(FileAt(i)), FileAt(i).size()});
  }
  return checkpoint;
}

CheckpointFolder FolderOn(ModelDisk& disk) { return {"/state/checkpoints", "m", kMine, disk}; }

CheckpointFolder::Found LoadFrom(CheckpointFolder& folder) {
  return folder.Load(1 << 20, [](const Checkpoint&) { return absl::OkStatus(); });
}

class CheckpointLifeTest : public testing::Test {
 protected:
  CheckpointLifeTest() {
    EXPECT_TRUE(CreateDirectories("/state", empty_).ok());
    EXPECT_TRUE(CreateDirectories("/work", empty_).ok());
    for (int64_t step = 1; step <= 2 * kSteps; ++step) {
      EXPECT_TRUE(WriteFileAtomically("/work/" + NameAt(step), FileAt(step), empty_).ok());
    }
    ModelDisk disk = empty_;
    EXPECT_EQ(Live(disk), kSteps);
    calm_ = disk.operations() - empty_.operations();
  }

  // One attempt: goes on from what it finds, four steps further. The last step that was promised.
  static int64_t Live(ModelDisk& disk) {
    CheckpointFolder folder = FolderOn(disk);
    if (!folder.Open().ok()) return 0;
    const auto found = LoadFrom(folder);
    const int64_t begin = found.checkpoint ? found.checkpoint->step : 0;
    int64_t promised = disk.has_power() ? begin : 0;  // What it goes on from is settled first.
    for (int64_t step = begin + 1; step <= begin + kSteps && step <= 2 * kSteps; ++step) {
      if (folder.Write(At(step), TensorsAt(step), "/work").ok()) promised = step;
    }
    return promised;
  }

  static void Check(ModelDisk disk, int64_t promised) {
    CheckpointFolder folder = FolderOn(disk);
    ASSERT_TRUE(folder.Open().ok());
    const auto found = LoadFrom(folder);
    ASSERT_TRUE(promised == 0 || found.checkpoint.has_value()) << "lost: " << promised;
    if (found.checkpoint) {
      const int64_t step = found.checkpoint->step;
      EXPECT_GE(step, promised);
      EXPECT_EQ(found.checkpoint->facts, At(step).facts);
      EXPECT_EQ(found.checkpoint->told, At(step).told);
      EXPECT_EQ(found.checkpoint->files, At(step).files);
      EXPECT_EQ(found.checkpoint->tensors, TensorsAt(step));
    }
    for (const std::string& note : found.notes) {
      EXPECT_NE(note.find("manifest.json: cannot open"), std::string::npos)
          << "damaged, not absent: " << note;
    }
    EXPECT_GT(Live(disk), promised) << "it does not go on";
  }

  ModelDisk empty_;   // With a folder for the worker's state, and the files of a work directory.
  int64_t calm_ = 0;  // Operations of a whole life.
};

TEST_F(CheckpointLifeTest, PowerGoesAtEveryOperation) {
  for (int64_t i = 0; i <= calm_; ++i) {
    ModelDisk disk = empty_;
    disk.LosePowerAt(empty_.operations() + i);
    const int64_t promised = Live(disk);
    SCOPED_TRACE(disk.history().back() + ", operation " + std::to_string(i));
    Check(disk.AfterPowerLoss(Survival::kNothing), promised);
    Check(disk.AfterPowerLoss(Survival::kEverything), promised);
    for (uint64_t seed = 0; seed < 2 * PowerSeeds(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Check(disk.AfterPowerLoss(Survival::kSome, seed), promised);
    }
    if (HasFailure()) return;
  }
}

// What the killed one had written and not synced, the next one must not build on.
TEST_F(CheckpointLifeTest, ATrainerIsKilledAtEveryOperationAndPowerGoesWhenTheNextIsAtWork) {
  for (int64_t i = 0; i <= calm_; i += 1) {
    ModelDisk killed = empty_;
    killed.LosePowerAt(empty_.operations() + i);
    const int64_t promised = Live(killed);
    SCOPED_TRACE(killed.history().back() + ", operation " + std::to_string(i));
    Check(killed.AfterKill(), promised);
    for (const int64_t later : {int64_t{1}, calm_ / 5, calm_ / 2}) {
      ModelDisk next = killed.AfterKill();
      next.LosePowerAt(next.operations() + later);
      const int64_t then = std::max(promised, Live(next));
      SCOPED_TRACE("and " + std::to_string(later));
      Check(next.AfterPowerLoss(Survival::kNothing), then);
      Check(next.AfterPowerLoss(Survival::kSome, static_cast<uint64_t>(i)), then);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace noisefloor::trainer
