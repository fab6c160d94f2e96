// A database that has lost steps which were kept is named, whatever became of them.
#include "coordinator/store/step_mark.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/backup.h"
#include "coordinator/store/home_files.h"
#include "coordinator/store/restore.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/support/model_disk.h"
#include "tests/support/model_vfs.h"

namespace noisefloor {
namespace {

using scheduler::Write;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class StepMarkTest : public StoreFixture {
 protected:
  std::string Mark() const { return home_.path() + "/noisefloor.step"; }
  std::optional<uint64_t> Found() const {
    return ReadStepMark(home_.path(), LocalFileSystem()).value();
  }
  absl::Status KeepAnEvent() {
    const auto number = static_cast<uint64_t>(std::stoull(Ask("SELECT count(*) FROM event")));
    return store_->Apply(std::vector<Write>{scheduler::AppendEvent{
        SweepId{1}, {}, "test", "a step", sample::At(70), EventId{number + 1}}});
  }
  // As killed: its log is not in the database.
  void CopyTo(const std::string& folder) const {
    fs::create_directories(folder);
    for (const char* name : {"noisefloor.db", "noisefloor.db-wal", "noisefloor.step"}) {
      fs::copy_file(home_.path() + "/" + name, folder + "/" + name,
                    fs::copy_options::overwrite_existing);
    }
  }
  static std::string Refusal(const std::string& home) {
    return std::string(Message(SqliteStore::Open(home).status()));
  }

  TempHome other_;
};

TEST_F(StepMarkTest, ItSaysTheLastStep) {
  EXPECT_EQ(Found(), std::nullopt) << "nothing was kept";
  for (uint64_t step = 1; step <= 300; ++step) {
    ASSERT_TRUE(KeepAnEvent().ok());
    EXPECT_EQ(Found(), step);
  }
  EXPECT_EQ(fs::file_size(Mark()), 16u);
  Reopen();
  EXPECT_EQ(*store_->LastStep(), 300u);
}

TEST_F(StepMarkTest, AnOlderDatabaseInItsPlaceIsNamedAndStaysUntilThePersonDecides) {
  ASSERT_TRUE(KeepAnEvent().ok());
  CopyTo(other_.path());
  ASSERT_TRUE(KeepAnEvent().ok());
  fs::copy_file(Mark(), other_.path() + "/noisefloor.step", fs::copy_options::overwrite_existing);

  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Refusal(other_.path()), HasSubstr("noisefloor.db: ends with step 1, though step 2 "
                                                  "was kept"));
    EXPECT_THAT(Refusal(other_.path()), HasSubstr("remove " + other_.path() + "/noisefloor.step"));
  }
  EXPECT_EQ(QuickCheck(other_.path()).code(), absl::StatusCode::kDataLoss);
  const SystemClock clock;
  const TempHome third;
  const auto backup = MakeBackup(other_.path(), third.path() + "/backup", clock, {});
  EXPECT_EQ(backup.status().code(), absl::StatusCode::kDataLoss) << backup.status();

  fs::remove(other_.path() + "/noisefloor.step");
  const auto opened = SqliteStore::Open(other_.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const std::vector<Write> next = {
      scheduler::AppendEvent{SweepId{1}, {}, "test", "the next", sample::At(71), EventId{2}}};
  EXPECT_TRUE((*opened)->Apply(2, next).ok()) << "and goes on from there";
}

TEST_F(StepMarkTest, ALostLastTransactionIsNamedAndItsLogIsNotTouched) {
  ASSERT_TRUE(KeepAnEvent().ok());
  const auto before = fs::file_size(home_.path() + "/noisefloor.db-wal");
  ASSERT_TRUE(KeepAnEvent().ok());
  CopyTo(other_.path());
  const std::string log = other_.path() + "/noisefloor.db-wal";
  std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(before + 1000));
  file.put('!');
  file.close();
  const auto size = fs::file_size(log);

  EXPECT_THAT(Refusal(other_.path()), HasSubstr("the end of its log of changes is damaged"));

  EXPECT_EQ(fs::file_size(log), size) << "for whoever looks into it";
  EXPECT_THAT(Refusal(other_.path()), HasSubstr("step 2 was kept"));
}

TEST_F(StepMarkTest, OneThatIsDamagedOrLostSaysNothing) {
  ASSERT_TRUE(KeepAnEvent().ok());
  for (const std::string text : {"", "short", "sixteen bytes...", "longer than sixteen bytes"}) {
    std::ofstream(Mark(), std::ios::binary) << text;
    EXPECT_EQ(Found(), std::nullopt) << text;
    Reopen();
  }
  fs::remove(Mark());
  Reopen();
  ASSERT_TRUE(KeepAnEvent().ok());
  EXPECT_EQ(Found(), 2u) << "and is written again";
}

TEST_F(StepMarkTest, WithoutItsDatabaseItIsALossToo) {
  ASSERT_TRUE(KeepAnEvent().ok());
  fs::copy_file(Mark(), other_.path() + "/noisefloor.step");
  EXPECT_THAT(std::string(Message(CheckDatabaseFile(other_.path()))),
              HasSubstr("missing, though the mark of its last step, noisefloor.step, is there"));
}

TEST_F(StepMarkTest, ARestoredHomeHasNoneUntilItKeepsSomething) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  ASSERT_TRUE(KeepAnEvent().ok());
  const SystemClock clock;
  ASSERT_TRUE(MakeBackup(home_.path(), other_.path() + "/backup", clock, {}).ok());
  ASSERT_TRUE(KeepAnEvent().ok());
  const std::string home = other_.path() + "/home";
  const auto restored = RestoreBackup(other_.path() + "/backup", home, clock, {});
  ASSERT_TRUE(restored.ok()) << restored.status();

  EXPECT_FALSE(fs::exists(home + "/noisefloor.step"));
  const auto opened = SqliteStore::Open(home);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(*(*opened)->LastStep(), 2u) << "as of the backup";
}

// Nothing of it is needed to keep anything.
TEST(StepMarkOnADisk, OneThatCannotBeWrittenStopsNothingAndIsWrittenLater) {
  ModelDisk disk;
  ASSERT_TRUE(disk.MakeFolder("/home").ok());
  const ModelVfs vfs(disk);
  auto store = SqliteStore::Open("/home", disk);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto keep = [&](StepNumber step) {
    return (*store)->Apply(step, std::vector<Write>{scheduler::AppendEvent{
                                     {}, {}, "test", "a step", sample::At(1), EventId{step}}});
  };
  ASSERT_TRUE(keep(1).ok());
  ASSERT_EQ(disk.history().back(), "write /home/noisefloor.step") << "after all else";
  const int64_t of_one = [&] {
    const int64_t before = disk.operations();
    EXPECT_TRUE(keep(2).ok());
    return disk.operations() - before;
  }();

  disk.FailAt(disk.operations() + of_one - 1, ENOSPC, /*lasting=*/false);
  EXPECT_TRUE(keep(3).ok());
  EXPECT_EQ(disk.history().back(), "write /home/noisefloor.step");
  disk.FailNever();
  EXPECT_TRUE(keep(4).ok());

  EXPECT_EQ(*ReadStepMark("/home", disk), std::optional<uint64_t>(4));
}

}  // namespace
}  // namespace noisefloor
