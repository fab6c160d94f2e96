#include "coordinator/store/home_lock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::HasSubstr;

TEST(HomeLockTest, SecondHolderIsRefusedWithTheAddressOfTheFirst) {
  TempHome home;
  absl::StatusOr<HomeLock> first = HomeLock::Acquire(home.path());
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first->SetAddress("127.0.0.1:7070").ok());

  const absl::Status refused = HomeLock::Acquire(home.path()).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("in use by the coordinator at 127.0.0.1:7070"));
  const std::optional<HomeHolder> holder = HomeLock::Holder(home.path());
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->address, "127.0.0.1:7070");
  EXPECT_EQ(holder->process, getpid());
}

TEST(HomeLockTest, LockIsFreeWhenItsHolderIsGone) {
  TempHome home;
  { ASSERT_TRUE(HomeLock::Acquire(home.path() + "/new").ok()); }

  EXPECT_FALSE(HomeLock::Holder(home.path() + "/new").has_value());
  EXPECT_TRUE(HomeLock::Acquire(home.path() + "/new").ok());
}

TEST(HomeLockTest, OneThatWasKilledHasLeftItsName) {
  TempHome home;
  const std::string path = home.path() + "/lock";
  {
    absl::StatusOr<HomeLock> first = HomeLock::Acquire(home.path());
    ASSERT_TRUE(first.ok());
    EXPECT_FALSE(first->was_killed()) << "nobody held it before";
    std::filesystem::copy(path, home.path() + "/left");
    // One that is refused takes nothing away.
    EXPECT_FALSE(HomeLock::Acquire(home.path()).ok());
    EXPECT_EQ(HomeLock::Holder(home.path())->process, getpid());
  }
  EXPECT_EQ(std::filesystem::file_size(path), 0u) << "it has ended by itself";
  EXPECT_FALSE(HomeLock::Acquire(home.path())->was_killed());

  std::filesystem::rename(home.path() + "/left", path);

  EXPECT_TRUE(HomeLock::Acquire(home.path())->was_killed());
}

TEST(HomeLockTest, LockOfAKilledProcessIsFree) {
  TempHome home;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    absl::StatusOr<HomeLock> lock = HomeLock::Acquire(home.path());
    const char byte = lock.ok() ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  EXPECT_FALSE(HomeLock::Acquire(home.path()).ok());

  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);

  EXPECT_TRUE(HomeLock::Acquire(home.path()).ok());
}

// People remove lock files that look stale.
TEST(HomeLockTest, RemovingTheLockFileLetsNobodyElseIn) {
  TempHome home;
  absl::StatusOr<HomeLock> first = HomeLock::Acquire(home.path());
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first->SetAddress("127.0.0.1:7070").ok());
  ASSERT_TRUE(RemoveFile(home.path() + "/lock").ok());

  const absl::Status refused = HomeLock::Acquire(home.path()).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("in use by a coordinator that does not say who it is"));

  EXPECT_TRUE(first->Check().ok());
  first->PutBack();  // With what it said.
  EXPECT_THAT(Message(HomeLock::Acquire(home.path()).status()),
              HasSubstr("in use by the coordinator at 127.0.0.1:7070"));
}

TEST(HomeLockTest, AnotherProcessIsKeptOutWithoutTheLockFileToo) {
  TempHome home;
  absl::StatusOr<HomeLock> first = HomeLock::Acquire(home.path());
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(RemoveFile(home.path() + "/lock").ok());

  const pid_t child = fork();
  if (child == 0) _exit(HomeLock::Acquire(home.path()).ok() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

TEST(HomeLockTest, ADirectoryThatWasRemovedOrReplacedIsNoticed) {
  TempHome home;
  const std::string path = home.path() + "/home";
  absl::StatusOr<HomeLock> lock = HomeLock::Acquire(path);
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(lock->Check().ok());

  ASSERT_EQ(rename(path.c_str(), (home.path() + "/elsewhere").c_str()), 0);
  EXPECT_EQ(lock->Check().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(HomeLock::Acquire(home.path() + "/elsewhere").ok()) << "it is the same directory";

  absl::StatusOr<HomeLock> other = HomeLock::Acquire(path);  // Another one at the same path.
  EXPECT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(lock->Check().code(), absl::StatusCode::kDataLoss);
}

TEST(HomeLockTest, NobodyHoldsADirectoryThatIsNotThere) {
  TempHome home;

  EXPECT_FALSE(HomeLock::Holder(home.path() + "/nothing").has_value());
}

}  // namespace
}  // namespace noisefloor
