#include "worker/trainer/torch/step/background_load.h"

#include <dirent.h>

#include <thread>

#include "gtest/gtest.h"

namespace noisefloor::trainer {
namespace {

int ThreadsOfThisProcess() {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  EXPECT_NE(tasks, nullptr);
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(tasks);
  return count;
}

// The kernel takes a thread that was joined from the list a moment later.
void ExpectThreads(int expected) {
  constexpr int kTries = 100'000;
  for (int i = 0; i < kTries && ThreadsOfThisProcess() != expected; ++i) std::this_thread::yield();
  EXPECT_EQ(ThreadsOfThisProcess(), expected);
}

TEST(BackgroundLoadTest, EveryThreadIsBusyBeforeTheConstructorReturns) {
  for (const LoadKind kind : {LoadKind::kCompute, LoadKind::kMemory}) {
    const int before = ThreadsOfThisProcess();
    BackgroundLoad load(kind, 3);
    EXPECT_TRUE(load.is_busy());
    ExpectThreads(before + 3);

    const LoadDone done = load.Stop();

    ExpectThreads(before);
    EXPECT_GE(done.units, 3);
    EXPECT_GT(done.cpu_seconds, 0);
  }
}

TEST(BackgroundLoadTest, StoppedAgainItSaysTheSame) {
  BackgroundLoad load(LoadKind::kCompute, 2);
  const LoadDone first = load.Stop();
  const LoadDone second = load.Stop();
  EXPECT_EQ(second.units, first.units);
  EXPECT_EQ(second.cpu_seconds, first.cpu_seconds);
}

TEST(BackgroundLoadTest, ItsEndStopsIt) {
  const int before = ThreadsOfThisProcess();
  { const BackgroundLoad load(LoadKind::kMemory, 1); }
  ExpectThreads(before);
}

TEST(BackgroundLoadTest, OfNoThreadsDoesNothing) {
  const int before = ThreadsOfThisProcess();
  BackgroundLoad load(LoadKind::kMemory, 0);
  ExpectThreads(before);
  const LoadDone done = load.Stop();
  EXPECT_EQ(done.units, 0);
  EXPECT_EQ(done.cpu_seconds, 0);
}

}  // namespace
}  // namespace noisefloor::trainer
