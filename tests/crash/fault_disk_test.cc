// That the disk of these tests sees what the programs do, and does to it what it says.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/store/temp_home.h"
#include "tests/crash/served.h"

namespace noisefloor::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
namespace fs = std::filesystem;

class FaultDiskTest : public testing::Test {
 protected:
  FaultDiskTest() { fs::create_directories(watched()); }

  std::string watched() const { return folder_.path() + "/watched"; }
  std::string log() const { return folder_.path() + "/log"; }

  // The exit code of a program there, or minus the signal that ended it. It is Python's: a shell
  // writes through the C library's streams, whose calls nobody can come between.
  int Run(const std::string& program) {
    const std::string all = "import os\nos.chdir('" + watched() + "')\nHERE = os.getcwd() + '/'\n" +
                            "def put(name, text, flags=0):\n"
                            "  file = os.open(HERE + name, os.O_WRONLY | os.O_CREAT | flags)\n"
                            "  os.write(file, text.encode())\n"
                            "  return file\n" +
                            program;
    auto python = Process::Start(disk_.Under({"/usr/bin/python3", "-c", all}), log());
    EXPECT_TRUE(python.ok()) << python.status();
    const auto code = python->Wait(absl::Minutes(1));
    EXPECT_TRUE(code.ok()) << code.status();
    return code.value_or(-1);
  }
  std::string Content(const std::string& name) const {
    std::ifstream file(watched() + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  TempHome folder_;
  FaultDisk disk_{watched()};
};

// Without this the matrix would test nothing: SQLite is a library of its own.
TEST_F(FaultDiskTest, SeesTheDatabaseAndTheFilesOfACoordinator) {
  const TempHome folder;
  FaultDisk disk(folder.path() + "/home");
  Served coordinator(folder.path(), &disk);

  ASSERT_TRUE(coordinator.Start().ok()) << coordinator.Log();
  ASSERT_TRUE(coordinator.Stop().ok()) << coordinator.Log();

  const auto history = disk.History();
  EXPECT_EQ(static_cast<int64_t>(history.size()), disk.calls());
  EXPECT_THAT(history, Contains("create /noisefloor.db"));
  EXPECT_THAT(history, Contains("write /noisefloor.db-wal"));
  EXPECT_THAT(history, Contains("datasync /noisefloor.db-wal"));
  EXPECT_THAT(history, Contains("datasync /noisefloor.db"));
  EXPECT_THAT(history, Contains("sync ")) << "the folder's own";
  EXPECT_THAT(history, Contains("unlink /noisefloor.db-wal"));
  EXPECT_THAT(history, Contains("mkdir /blobs/ff"));
  EXPECT_THAT(history, Contains("sync /blobs"));
  EXPECT_THAT(history, testing::Not(Contains(HasSubstr("-shm"))));
}

// Or an empty one could have the place of a whole one when power is back.
TEST_F(FaultDiskTest, SeesKeysAndAccessFilesSyncedBeforeTheyAreInTheirPlace) {
  auto init =
      Process::Start(disk_.Under({NOISEFLOOR, "access", "init", watched() + "/files",
                                  "--home=" + watched() + "/home", "--address=127.0.0.1:7077"}),
                     log());
  ASSERT_TRUE(init.ok()) << init.status();
  ASSERT_EQ(init->Wait(absl::Minutes(2)).value_or(-1), 0) << EndOfFile(log(), 6000);

  const std::vector<std::string> history = disk_.History();
  const auto place = [&](const std::string& beginning) {
    return std::ranges::find_if(
               history, [&](const std::string& call) { return call.starts_with(beginning); }) -
           history.begin();
  };
  for (const std::string path : {"/home/access.new/ca.key", "/home/access.new/ca.pem",
                                 "/home/access.new/server.pem", "/files/worker.access"}) {
    EXPECT_LT(place("rename " + path), std::ssize(history)) << path;
    EXPECT_LT(place("datasync " + path + ".aside-"), place("rename " + path)) << path;
  }
}

TEST_F(FaultDiskTest, KillsInsteadOfACallAfterItAndInTheMiddle) {
  disk_.FailIn(2, FaultKind::kKill);
  EXPECT_EQ(Run("put('file', 'a line')"), -SIGKILL);
  EXPECT_EQ(Content("file"), "");

  disk_.FailIn(2, FaultKind::kKillAfter);
  EXPECT_EQ(Run("put('other', 'a line')"), -SIGKILL);
  EXPECT_EQ(Content("other"), "a line");

  disk_.FailIn(2, FaultKind::kTorn);
  EXPECT_EQ(Run("put('third', 'a line')"), -SIGKILL);
  EXPECT_EQ(Content("third"), "a l");
  EXPECT_EQ(disk_.fired(), 1);
}

TEST_F(FaultDiskTest, FailsOnceOrForGood) {
  disk_.FailIn(1, FaultKind::kEnospc);
  EXPECT_EQ(Run("try: put('file', 'one')\nexcept OSError as e: put('file', e.strerror)"), 0);
  EXPECT_EQ(Content("file"), "No space left on device");

  disk_.FailFrom(1, FaultKind::kEio);
  EXPECT_EQ(Run("try: put('more', 'three')\nexcept OSError: put('more', 'four')"), 1);
  EXPECT_THAT(EndOfFile(log(), 1000), HasSubstr("Input/output error"));
  EXPECT_FALSE(fs::exists(watched() + "/more"));

  disk_.Mend();
  EXPECT_EQ(Run("put('more', 'five')"), 0);
}

constexpr char kHalfSynced[] =
    "old = put('old', 'kept')\nos.fsync(old)\nos.fsync(put('renamed', 'before'))\n"
    "os.fsync(put('unlinked', 'there'))\nhere = os.open(HERE, os.O_RDONLY)\nos.fsync(here)\n"
    "os.write(old, b' and lost')\nput('new', 'lost, too')\n"
    "os.rename(HERE + 'new', HERE + 'renamed')\nos.unlink(HERE + 'unlinked')\n"
    "os.fsync(put('nameless', 'synced, and in a folder that was not'))\n"
    "os.mkdir(HERE + 'folder')\n";

TEST_F(FaultDiskTest, LosesWithThePowerWhatWasNotSynced) {
  ASSERT_EQ(Run(kHalfSynced), 0);
  const int64_t calls = disk_.calls();
  fs::remove_all(watched());
  fs::create_directories(watched());
  disk_.FailIn(calls, FaultKind::kPower);

  EXPECT_EQ(Run(kHalfSynced), -SIGKILL);

  EXPECT_EQ(Content("old"), "kept");
  EXPECT_EQ(Content("renamed"), "before");
  EXPECT_EQ(Content("unlinked"), "there");
  EXPECT_FALSE(fs::exists(watched() + "/new"));
  EXPECT_FALSE(fs::exists(watched() + "/nameless"));
}

TEST_F(FaultDiskTest, KeepsOfTheUnsyncedWhatTheSeedDraws) {
  ASSERT_EQ(Run(kHalfSynced), 0);
  const int64_t calls = disk_.calls();
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    fs::remove_all(watched());
    fs::create_directories(watched());
    disk_.FailIn(calls, FaultKind::kPower, seed);
    ASSERT_EQ(Run(kHalfSynced), -SIGKILL);
    EXPECT_THAT(Content("old"), testing::AnyOf("kept", "kept and lost"));
    seen.insert(Content("old") + (fs::exists(watched() + "/unlinked") ? ", unlinked" : "") +
                (fs::exists(watched() + "/nameless") ? ", nameless" : ""));
  }
  EXPECT_GE(seen.size(), 5u);
}

}  // namespace
}  // namespace noisefloor::test
