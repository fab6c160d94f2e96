// The coordinator dies, or its disk fails, at each durable transition of each call that changes
// something. Afterwards what was acknowledged is there, and the study ends as the calm one.
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"

#include "noisefloor/v1/access_api.pb.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/crash/budget.h"
#include "tests/crash/home_checker.h"
#include "tests/crash/life.h"

namespace noisefloor::test {
namespace {

using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr FaultKind kKinds[] = {FaultKind::kKill,  FaultKind::kKillAfter, FaultKind::kTorn,
                                FaultKind::kPower, FaultKind::kEio,       FaultKind::kEnospc};
constexpr int kDrawnOfEachStep = 2;
constexpr int kMostTries = 100;
constexpr int kPauseMs = 100;  // Of who was refused, before asking again.

// The call of a step at which something happens, counted from the beginning of the step.
struct Point {
  size_t step = 0;
  int64_t call = 1;
  FaultKind kind = FaultKind::kNone;
  uint64_t seed = 0;  // Of what survives a loss of power.
};

struct Told {
  std::vector<int64_t> calls;       // Of each step.
  std::vector<int64_t> checkpoint;  // Calls of that step that are of the database itself.
  std::vector<std::string> study;
  bool fired = false;
};

class CoordinatorMatrix : public testing::Test {
 protected:
  // A data directory that was used once: the folders of a new one are another test.
  static void SetUpTestSuite() {
    template_ = new TempHome();
    Served coordinator(template_->path(), nullptr);
    const absl::Status access = coordinator.SetUpAccess();
    ASSERT_TRUE(access.ok()) << access;
    const absl::Status started = coordinator.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(coordinator.Stop().ok());
    calm_ = new Told(Live(Point()));
  }
  static void TearDownTestSuite() {
    delete calm_;
    delete template_;
  }

  // A whole life, with what shall happen at `point` in it.
  static Told Live(const Point& point) {
    const TempHome folder;
    for (const char* part : {"/home", "/access"}) {
      fs::copy(template_->path() + part, folder.path() + part, fs::copy_options::recursive);
    }
    FaultDisk disk(folder.path() + "/home");
    Served coordinator(folder.path(), &disk);
    Told told;
    {
      Life life(coordinator);
      absl::Status started = coordinator.Start();
      EXPECT_TRUE(started.ok()) << started;
      for (size_t step = 0; step < Life::Steps() && started.ok(); ++step) {
        // The last step, of thousands of calls: for those lives alone that fail there.
        const bool long_step = Life::NameOf(step) == Life::kCheckpoint;
        if (long_step && point.kind != FaultKind::kNone && point.step != step) break;
        const int64_t before = disk.calls();
        if (step == point.step) Arm(disk, point);
        if (!DoAtLast(coordinator, disk, life, step, told)) return told;
        told.calls.push_back(disk.calls() - before);
        if (long_step) {
          told.checkpoint = CallsOn(disk, before, "/noisefloor.db");
        }
      }
      told.fired = told.fired || disk.fired() > 0;
      disk.Mend();
    }
    coordinator.Kill();
    told.study = StudyOf(coordinator.home());
    EXPECT_THAT(FaultsOf(coordinator.home()), IsEmpty());
    return told;
  }

  // Counted from the one after `before`.
  static std::vector<int64_t> CallsOn(const FaultDisk& disk, int64_t before,
                                      const std::string& file) {
    std::vector<int64_t> calls;
    const std::vector<std::string> history = disk.History();
    for (size_t i = static_cast<size_t>(before); i < history.size(); ++i) {
      if (history[i].ends_with(" " + file)) calls.push_back(static_cast<int64_t>(i) - before + 1);
    }
    return calls;
  }

  static void Arm(FaultDisk& disk, const Point& point) {
    if (point.kind != FaultKind::kNone) disk.FailIn(point.call, point.kind, point.seed);
  }

  // Until it comes through: the coordinator is started again when it has died.
  static bool DoAtLast(Served& coordinator, FaultDisk& disk, Life& life, size_t step, Told& told) {
    for (int i = 0; i < kMostTries; ++i) {
      const absl::Status done = life.Do(step);
      if (done.ok()) return true;
      EXPECT_GT(disk.fired() + told.fired, 0)
          << "without a fault, " << Life::NameOf(step) << ": " << done << coordinator.Log();
      EXPECT_FALSE(done.message().empty());
      told.fired = told.fired || disk.fired() > 0;
      disk.Mend();
      if (!HasEnded(coordinator, done)) {
        poll(nullptr, 0, kPauseMs);
        continue;
      }
      const absl::Status again = coordinator.Start();
      EXPECT_TRUE(again.ok()) << again;
      EXPECT_THAT(life.Broken(), IsEmpty()) << coordinator.Log();
      EXPECT_THAT(FaultsOf(coordinator.home()), IsEmpty());
      if (testing::Test::HasFailure()) return false;
    }
    ADD_FAILURE() << Life::NameOf(step) << " does not come through: " << life.Do(step)
                  << coordinator.Log();
    return false;
  }

  // A connection that broke may be seen before the process is gone.
  static bool HasEnded(const Served& coordinator, const absl::Status& seen) {
    return coordinator.Ended() ||
           (seen.code() == absl::StatusCode::kUnavailable && coordinator.EndsSoon());
  }

  static void Check(const Point& point) {
    SCOPED_TRACE(Life::NameOf(point.step) + ", call " + std::to_string(point.call) + ", " +
                 NameOf(point.kind) + ", seed " + std::to_string(point.seed));
    const Told told = Live(point);
    EXPECT_EQ(told.study, calm_->study);
    fired_ += told.fired;
    ++lives_;
  }

  static std::vector<Point> PointsOf(size_t step) {
    std::vector<Point> points;
    std::vector<int64_t> calls(static_cast<size_t>(calm_->calls.at(step)));
    std::iota(calls.begin(), calls.end(), 1);
    if (Life::NameOf(step) == Life::kCheckpoint) calls = calm_->checkpoint;
    for (const int64_t call : calls) {
      for (const FaultKind kind : kKinds) {
        points.push_back({step, call, kind});
        if (kind == FaultKind::kPower) points.push_back({step, call, kind, CrashSeed() + 1});
      }
    }
    return points;
  }

  static TempHome* template_;
  static Told* calm_;
  static int fired_;
  static int lives_;
};
TempHome* CoordinatorMatrix::template_ = nullptr;
Told* CoordinatorMatrix::calm_ = nullptr;
int CoordinatorMatrix::fired_ = 0;
int CoordinatorMatrix::lives_ = 0;

// A call that comes new and is in no life is told of here.
TEST(CallsThatChangeSomething, AreEachInALife) {
  constexpr const char* kOnlyRead[] = {"Get",  "List",   "Watch",    "Explain",
                                       "Plan", "WhoAmI", "Describe", "Read"};
  const std::set<std::string> elsewhere = {"CollectGarbage",  // upkeep_matrix_test.cc
                                           "Session"};  // Its messages have steps of their own.
  std::string steps;
  for (size_t step = 0; step < Life::Steps(); ++step) steps += Life::NameOf(step) + "\n";
  int calls = 0;
  for (const auto* file :
       {v1::SubmitSweepRequest::descriptor()->file(), v1::UploadRequest::descriptor()->file(),
        v1::AddTokenRequest::descriptor()->file()}) {
    ASSERT_EQ(file->service_count(), 1) << std::string(file->name());
    const auto* service = file->service(0);
    for (int i = 0; i < service->method_count(); ++i) {
      const std::string method(service->method(i)->name());
      const bool only_reads = std::ranges::any_of(
          kOnlyRead, [&](const char* beginning) { return method.starts_with(beginning); });
      if (only_reads || elsewhere.contains(method)) continue;
      EXPECT_THAT(steps, testing::HasSubstr(method));
      ++calls;
    }
  }
  EXPECT_EQ(calls, 14);
}

TEST_F(CoordinatorMatrix, EveryCallThatChangesSomethingIsDurable) {
  ASSERT_EQ(calm_->calls.size(), Life::Steps());
  for (size_t step = 0; step < Life::Steps(); ++step) {
    std::cout << Life::NameOf(step) << ": " << calm_->calls[step] << " calls\n";
  }
  const std::set<std::string> keep_nothing = {"lease", "AttemptStarted, Heartbeat", "Draining"};
  for (size_t step = 0; step < Life::Steps(); ++step) {
    if (keep_nothing.contains(Life::NameOf(step))) continue;
    EXPECT_GE(calm_->calls[step], 2) << Life::NameOf(step) << ": no write and sync";
  }
  EXPECT_GE(calm_->checkpoint.size(), 2u) << "the log was not brought into the database";
  std::cout << calm_->checkpoint.size() << " calls of the checkpoint\n";
  EXPECT_EQ(calm_->study.size(), 29u) << testing::PrintToString(calm_->study);
}

TEST_F(CoordinatorMatrix, WhateverHappensNothingAcknowledgedIsLostAndTheStudyEndsAsTheCalmOne) {
  Chance chance(CrashSeed());
  for (size_t step = 0; step < Life::Steps(); ++step) {
    const std::vector<Point> points = PointsOf(step);
    if (points.empty()) continue;
    const size_t count = EveryPoint() ? points.size() : kDrawnOfEachStep;
    for (size_t i = 0; i < count && !HasFailure(); ++i) {
      Check(EveryPoint() ? points[i] : points[chance.Below(points.size())]);
    }
  }
  std::cout << lives_ << " lives, in " << fired_ << " of them something happened\n";
  EXPECT_GE(fired_ * 10, lives_ * 8);
}

}  // namespace
}  // namespace noisefloor::test
