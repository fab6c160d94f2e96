// A member's checkpoints: what is found after they were written, damaged, mixed up, put there by
// somebody else.
#include "worker/trainer/checkpoint/checkpoint_folder.h"

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "tests/support/model_disk.h"

namespace noisefloor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kMostBytes = 1 << 20;
const CheckpointIdentity kMine = {{"build", "b1"}, {"member", "s1c2r3"}};

class CheckpointFolderTest : public testing::Test {
 protected:
  CheckpointFolderTest() {
    EXPECT_TRUE(CreateDirectories("/work", disk_).ok());
    for (const char* name : {"predictions-1.npy", "predictions-2.npy"}) {
      EXPECT_TRUE(WriteFileAtomically(std::string("/work/") + name, name, disk_).ok());
    }
  }

  CheckpointFolder Folder(const CheckpointIdentity& identity = kMine) {
    return {"/state/checkpoints", "m", identity, disk_};
  }
  static Checkpoint At(int64_t step) {
    Checkpoint checkpoint;
    checkpoint.step = step;
    checkpoint.facts = {{"sum", 0.1 * static_cast<double>(step)}};
    checkpoint.told = {"{\"event\":\"one\"}", "{\"event\":\"two\"}"};
    checkpoint.files = {{"predictions-1.npy", Sha256Hex("predictions-1.npy"), 17}};
    if (step > 1) {
      checkpoint.files.push_back({"predictions-2.npy", Sha256Hex("predictions-2.npy"), 17});
    }
    return checkpoint;
  }
  static std::string TensorsAt(int64_t step) { return "tensors of " + std::to_string(step); }
  absl::Status Write(CheckpointFolder& folder, int64_t step) {
    return folder.Write(At(step), TensorsAt(step), "/work");
  }
  void WriteAll(std::initializer_list<int64_t> steps) {
    CheckpointFolder folder = Folder();
    ASSERT_TRUE(folder.Open().ok());
    for (const int64_t step : steps) ASSERT_TRUE(Write(folder, step).ok());
  }
  static CheckpointFolder::Found Load(CheckpointFolder folder) {
    return folder.Load(kMostBytes, [](const Checkpoint&) { return absl::OkStatus(); });
  }
  std::vector<std::string> Names(const std::string& folder) { return Names(folder, disk_); }
  static std::vector<std::string> Names(const std::string& folder, ModelDisk& disk) {
    std::vector<std::string> names;
    const auto entries = disk.List(folder);
    if (!entries.ok()) return names;
    for (const FolderEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  std::string Read(const std::string& path) { return ReadFile(path, kMostBytes, disk_).value(); }
  void Put(const std::string& path, std::string_view content) {
    ASSERT_TRUE(WriteFileAtomically(path, content, disk_).ok());
  }

  ModelDisk disk_;
  const std::string m_ = "/state/checkpoints/m/";
};

TEST_F(CheckpointFolderTest, WhereNothingIsNothingIsFoundAndNothingIsMade) {
  ASSERT_TRUE(Folder().Open().ok());
  const auto found = Load(Folder());
  EXPECT_FALSE(found.checkpoint.has_value());
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_THAT(Names("/state/checkpoints"), IsEmpty());
  EXPECT_TRUE(Folder().Remove().ok());
}

TEST_F(CheckpointFolderTest, TheNewestIsFoundAsItWasWrittenAndTwoAreKept) {
  WriteAll({1, 2, 10});
  const auto found = Load(Folder());
  ASSERT_TRUE(found.checkpoint.has_value());
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(found.checkpoint->step, 10);
  EXPECT_EQ(found.checkpoint->facts, At(10).facts);
  EXPECT_EQ(found.checkpoint->told, At(10).told);
  EXPECT_EQ(found.checkpoint->files, At(10).files);
  EXPECT_EQ(found.checkpoint->tensors, TensorsAt(10));
  EXPECT_THAT(Names(m_), ElementsAre("000000000002-0", "000000000010-0", "kept"));
  EXPECT_THAT(Names(m_ + "kept"), SizeIs(2));
}

TEST_F(CheckpointFolderTest, KeptFilesComeBackUnderTheirNames) {
  WriteAll({2});
  ASSERT_TRUE(CreateDirectories("/next", disk_).ok());
  CheckpointFolder folder = Folder();
  ASSERT_TRUE(folder.Unpack(*Load(Folder()).checkpoint, "/next").ok());
  EXPECT_EQ(Read("/next/predictions-1.npy"), "predictions-1.npy");
  EXPECT_EQ(Read("/next/predictions-2.npy"), "predictions-2.npy");
}

// Each byte of each file of the newest, changed: the one before is taken, and the note names it.
TEST_F(CheckpointFolderTest, AnyByteThatIsAnotherMakesItUnused) {
  WriteAll({1, 2});
  for (const char* name : {"manifest.json", "events.jsonl", "state.safetensors"}) {
    const std::string path = m_ + "000000000002-0/" + name;
    const std::string whole = Read(path);
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 1);
      Put(path, damaged);
      const auto found = Load(Folder());
      const bool only_space = name == std::string("manifest.json") && i + 1 == whole.size();
      if (only_space) continue;  // The end of the line: no part of what is said.
      ASSERT_TRUE(found.checkpoint.has_value()) << name << " " << i;
      ASSERT_EQ(found.checkpoint->step, 1) << name << " " << i;
      ASSERT_THAT(found.notes, ElementsAre(HasSubstr("m/000000000002-0 is not used: ")));
    }
    Put(path, whole);
  }
  EXPECT_EQ(Load(Folder()).checkpoint->step, 2);
}

TEST_F(CheckpointFolderTest, AnyFileThatIsShorterOrGoneMakesItUnused) {
  WriteAll({1, 2});
  const std::string kept = "kept/" + Sha256Hex("predictions-2.npy");
  for (const std::string& name :
       {std::string("000000000002-0/manifest.json"), std::string("000000000002-0/events.jsonl"),
        std::string("000000000002-0/state.safetensors"), kept}) {
    const std::string whole = Read(m_ + name);
    Put(m_ + name, std::string_view(whole).substr(0, whole.size() / 2));
    EXPECT_EQ(Load(Folder()).checkpoint->step, 1) << name;
    Put(m_ + name, whole + "x");
    EXPECT_EQ(Load(Folder()).checkpoint->step, 1) << name;
    ASSERT_TRUE(disk_.Remove(m_ + name).ok());
    EXPECT_EQ(Load(Folder()).checkpoint->step, 1) << name;
    Put(m_ + name, whole);
  }
  EXPECT_EQ(Load(Folder()).checkpoint->step, 2);
}

TEST_F(CheckpointFolderTest, WhatIsOfAnotherIdentityOrANewerProgramIsNamedAndLeftOut) {
  WriteAll({1, 2});
  const auto found = Load(Folder({{"build", "b2"}, {"member", "s1c2r3"}}));
  EXPECT_FALSE(found.checkpoint.has_value());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("it is of another build: 'b1', not 'b2'"),
                                       HasSubstr("it is of another build: 'b1', not 'b2'")));

  Json newer = Json::parse(Read(m_ + "000000000002-0/manifest.json"))["manifest"];
  newer["format"] = 2;
  Put(m_ + "000000000002-0/manifest.json",
      Json{{"manifest", newer}, {"sha256", Sha256Hex(newer.dump())}}.dump());
  const auto before = Load(Folder());
  EXPECT_EQ(before.checkpoint->step, 1);
  EXPECT_THAT(before.notes, ElementsAre(HasSubstr("its format is 2, of a newer program; this "
                                                  "program reads 1")));
}

TEST_F(CheckpointFolderTest, WhatTheTrainingDoesNotTakeIsNamedAndTheOneBeforeIsTaken) {
  WriteAll({1, 2});
  const auto found = Folder().Load(kMostBytes, [](const Checkpoint& checkpoint) {
    return checkpoint.step == 2 ? InvalidInput("not mine") : absl::OkStatus();
  });
  EXPECT_EQ(found.checkpoint->step, 1);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("not mine")));
  const auto none = Folder().Load(3, [](const Checkpoint&) { return absl::OkStatus(); });
  EXPECT_FALSE(none.checkpoint.has_value());
  EXPECT_THAT(none.notes[0], HasSubstr("12 bytes; this training has 3"));
}

// Also at the step of one that could not be used, and with the room of what was there before.
TEST_F(CheckpointFolderTest, AfterADamagedOneTheMemberWritesOnAndTheDamagedOneGoes) {
  WriteAll({1, 2});
  Put(m_ + "000000000002-0/state.safetensors", "damaged");
  CheckpointFolder folder = Folder();
  const auto found = folder.Load(kMostBytes, [](const Checkpoint&) { return absl::OkStatus(); });
  ASSERT_EQ(found.checkpoint->step, 1);
  ASSERT_TRUE(Write(folder, 2).ok());
  EXPECT_THAT(Names(m_), ElementsAre("000000000001-0", "000000000002-1", "kept"));
  EXPECT_EQ(Load(Folder()).checkpoint->step, 2);
  ASSERT_TRUE(Write(folder, 3).ok());
  EXPECT_THAT(Names(m_), ElementsAre("000000000002-1", "000000000003-0", "kept"));
  ASSERT_TRUE(folder.Remove().ok());
  EXPECT_THAT(Names("/state/checkpoints"), IsEmpty());
}

// A kept file that was damaged is written anew by who begins anew, not trusted for its name.
TEST_F(CheckpointFolderTest, ADamagedKeptFileIsWrittenAnew) {
  WriteAll({1, 2});
  Put(m_ + "kept/" + Sha256Hex("predictions-1.npy"), "predictions-x.npy");
  CheckpointFolder folder = Folder();
  const auto found = folder.Load(kMostBytes, [](const Checkpoint&) { return absl::OkStatus(); });
  EXPECT_FALSE(found.checkpoint.has_value());
  EXPECT_THAT(found.notes, SizeIs(2));
  ASSERT_TRUE(Write(folder, 1).ok());
  EXPECT_EQ(Load(Folder()).checkpoint->step, 1);
  EXPECT_THAT(Names(m_ + "kept"), SizeIs(1)) << "what nothing names any more is gone";
}

// As another trainer does that takes it for stale.
TEST_F(CheckpointFolderTest, WhatIsRemovedWhileItsMemberTrainsIsWrittenAnew) {
  CheckpointFolder folder = Folder();
  ASSERT_TRUE(folder.Open().ok());
  ASSERT_TRUE(Write(folder, 2).ok());
  ASSERT_TRUE(disk_.RemoveTree("/state/checkpoints/m").ok());
  ASSERT_TRUE(Write(folder, 3).ok());
  auto found = Load(Folder());
  ASSERT_TRUE(found.checkpoint.has_value());
  EXPECT_EQ(found.checkpoint->step, 3);

  Put(m_ + "kept/" + Sha256Hex("predictions-1.npy"), "half");
  ASSERT_TRUE(Write(folder, 4).ok());
  found = Load(Folder());
  ASSERT_TRUE(found.checkpoint.has_value());
  EXPECT_EQ(found.checkpoint->step, 4);
}

// Every operation of a write fails once: what was there is there, and the next write goes well.
TEST_F(CheckpointFolderTest, AWriteThatFailsLeavesTheOneBefore) {
  WriteAll({1});
  ModelDisk before = disk_;
  CheckpointFolder calm = Folder();
  ASSERT_TRUE(Write(calm, 2).ok());
  const int64_t operations = disk_.operations() - before.operations();
  for (int64_t i = 0; i < operations; ++i) {
    ModelDisk disk = before;
    disk.FailAt(before.operations() + i, ENOSPC, /*lasting=*/false);
    CheckpointFolder folder("/state/checkpoints", "m", kMine, disk);
    const bool written = folder.Write(At(2), TensorsAt(2), "/work").ok();
    disk.FailNever();
    const auto found = Load({"/state/checkpoints", "m", kMine, disk});
    ASSERT_TRUE(found.checkpoint.has_value()) << i;
    EXPECT_EQ(found.checkpoint->step, written ? 2 : 1) << disk.history().back() << i;
    if (!written) {
      EXPECT_THAT(Names(m_, disk), ElementsAre("000000000001-0", "kept")) << i;
    }
    EXPECT_TRUE(folder.Write(At(3), TensorsAt(3), "/work").ok()) << i;
    EXPECT_EQ(Load({"/state/checkpoints", "m", kMine, disk}).checkpoint->step, 3) << i;
  }
}

TEST_F(CheckpointFolderTest, AFileThatIsNotWhatWasToldOfIsNotKept) {
  ASSERT_TRUE(Folder().Open().ok());
  Put("/work/predictions-1.npy", "another");
  CheckpointFolder folder = Folder();
  EXPECT_THAT(Message(Write(folder, 1)), HasSubstr("/work/predictions-1.npy: it is not what was "
                                                   "told of"));
  EXPECT_FALSE(Load(Folder()).checkpoint.has_value());
}

}  // namespace
}  // namespace noisefloor::trainer
