// A worker dies, or its disk fails, at each change of its state folder: results that wait, files of
// trainers. Started again, it leaves the study as a calm one leaves it, and nothing behind.
#include <poll.h>
#include <signal.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/store/temp_home.h"
#include "tests/crash/budget.h"
#include "tests/crash/home_checker.h"
#include "tests/crash/served.h"

namespace noisefloor::test {
namespace {

using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr FaultKind kKinds[] = {FaultKind::kKill,  FaultKind::kKillAfter, FaultKind::kTorn,
                                FaultKind::kPower, FaultKind::kEio,       FaultKind::kEnospc};
constexpr int kDrawn = 8;
constexpr int kPauseMs = 20;  // Between two looks.
constexpr int kMostLooks = 60000 / kPauseMs;

v1::Sweep SweepFor(const std::string& hardware) {
  v1::Sweep sweep;
  sweep.set_name("spooled");
  const auto set = [&](const char* path) {
    v1::Setting& setting = *sweep.add_training();
    setting.set_path(path);
    return setting.mutable_value();
  };
  set("data.name")->set_text("fashion-mnist-sample");
  set("train.epochs")->set_integer(2);
  sweep.add_noise()->set_name("algo");
  sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
  sweep.mutable_hardware()->add_classes(hardware);
  sweep.add_stacks("fake");
  sweep.set_replicates(2);
  sweep.set_blocks(1);
  return sweep;
}

struct Told {
  int64_t calls = 0;
  bool fired = false;
  std::vector<std::string> study;
};

class WorkerMatrix : public testing::Test {
 protected:
  class Box {  // A coordinator, and a worker on a disk that fails.
   public:
    explicit Box(const std::string& folder)
        : folder_(fs::canonical(folder).string()),
          disk_(folder_ + "/state"),
          coordinator_(folder_, nullptr) {}

    FaultDisk& disk() { return disk_; }
    std::string home() const { return coordinator_.home(); }
    std::string state() const { return folder_ + "/state"; }
    std::string Logs() const {
      return coordinator_.Log() + EndOfFile(folder_ + "/worker.log", 6000);
    }

    absl::Status Start() {
      NF_RETURN_IF_ERROR(coordinator_.Start());
      return StartWorker();
    }
    absl::Status StartWorker() {
      worker_.reset();
      NF_ASSIGN_OR_RETURN(
          Process worker,
          Process::Start(disk_.Under({WORKER, "--coordinator=" + coordinator_.address(),
                                      "--name=box", "--state=" + state(), "--slots=1", "--grace=1",
                                      "--no-standby", "--trainer=fake=" FAKE_TRAINER}),
                         folder_ + "/worker.log"));
      worker_.emplace(std::move(worker));
      return absl::OkStatus();
    }
    // Looks until it is so; a worker that has died meanwhile is started again, without a fault.
    bool Until(const std::function<bool()>& so) {
      for (int i = 0; i < kMostLooks; ++i) {
        if (so()) return true;
        if (!worker_->EndsWithin(absl::Milliseconds(kPauseMs))) continue;
        EXPECT_GT(disk_.fired(), 0) << Logs();
        died_ = true;
        disk_.Mend();
        const absl::Status again = StartWorker();
        EXPECT_TRUE(again.ok()) << again;
        if (testing::Test::HasFailure()) return false;
      }
      return false;
    }
    bool died() const { return died_; }
    std::string Class() {  // "" while no worker is connected.
      const auto answer = Ask(coordinator_.people(), &v1::CoordinatorService::Stub::ListWorkers,
                              v1::ListWorkersRequest());
      if (!answer.ok() || answer->workers_size() == 0) return "";
      const v1::WorkerSummary& worker = answer->workers(0);
      return worker.inventory().offers_size() == 0 || !worker.connected()
                 ? ""
                 : worker.inventory().offers(0).hardware_class();
    }
    absl::Status Submit(const std::string& hardware) {
      v1::SubmitSweepRequest request;
      *request.mutable_sweep() = SweepFor(hardware);
      return Ask(coordinator_.people(), &v1::CoordinatorService::Stub::SubmitSweep, request)
          .status();
    }
    bool IsDone() {
      v1::GetSweepRequest request;
      request.set_sweep_id(1);
      const auto answer =
          Ask(coordinator_.people(), &v1::CoordinatorService::Stub::GetSweep, request);
      return answer.ok() && answer->sweep().waiting() + answer->sweep().leased() == 0;
    }
    absl::Status Drain() {
      worker_->Signal(SIGTERM);
      NF_ASSIGN_OR_RETURN(const int code, worker_->Wait(absl::Minutes(1)));
      died_ = died_ || (code == -SIGKILL && disk_.fired() > 0);
      // One that was started again a moment ago does not mind signals yet.
      const bool may_be_so = died_ && (code == -SIGKILL || code == -SIGTERM);
      if (code == 0 || may_be_so) return absl::OkStatus();
      return MakeError(absl::StatusCode::kInternal, "worker: " + Logs());
    }
    absl::Status Stop() {
      NF_RETURN_IF_ERROR(Drain());
      return coordinator_.Stop();
    }

   private:
    const std::string folder_;
    FaultDisk disk_;
    Served coordinator_;
    std::optional<Process> worker_;
    bool died_ = false;
  };

  static Told Live(int64_t call, FaultKind kind, uint64_t seed) {
    const TempHome folder;
    Box box(folder.path());
    Told told;
    const absl::Status started = box.Start();
    EXPECT_TRUE(started.ok()) << started;
    std::string hardware;
    EXPECT_TRUE(box.Until([&] { return !(hardware = box.Class()).empty(); })) << box.Logs();
    const int64_t before = box.disk().calls();
    if (kind != FaultKind::kNone) box.disk().FailIn(call, kind, seed);
    EXPECT_TRUE(box.Submit(hardware).ok());
    EXPECT_TRUE(box.Until([&] { return box.IsDone(); })) << box.Logs();
    // The end of a life, too, changes the disk; what a failing one did not let it remove, the next
    // one removes.
    const absl::Status drained = box.Drain();
    EXPECT_TRUE(drained.ok()) << drained;
    told.calls = box.disk().calls() - before;
    told.fired = box.died() || box.disk().fired() > 0;
    box.disk().Mend();
    EXPECT_TRUE(box.StartWorker().ok()) << box.Logs();
    EXPECT_TRUE(box.Until([&] {
      return !box.Class().empty() && IsEmptyFolder(box.state() + "/spool");
    })) << box.Logs();
    const absl::Status stopped = box.Stop();
    EXPECT_TRUE(stopped.ok()) << stopped;
    EXPECT_THAT(FaultsOf(box.home()), IsEmpty());
    told.study = StudyOf(box.home());
    return told;
  }

  static bool IsEmptyFolder(const std::string& path) {
    return !fs::exists(path) || fs::is_empty(path);
  }
};

TEST_F(WorkerMatrix, WhateverHappensToItsStateTheStudyEndsAsTheCalmOne) {
  const Told calm = Live(0, FaultKind::kNone, 0);
  ASSERT_FALSE(HasFailure());
  ASSERT_GE(calm.calls, 20) << "the disk does not see the spool";
  ASSERT_GE(calm.study.size(), 10u);
  std::cout << calm.calls << " calls\n";
  Chance chance(CrashSeed());
  const int64_t all = calm.calls * std::ssize(kKinds);
  const int64_t lives = EveryPoint() ? all : kDrawn;
  int fired = 0;
  for (int64_t i = 0; i < lives && !HasFailure(); ++i) {
    const int64_t point =
        EveryPoint() ? i : static_cast<int64_t>(chance.Below(static_cast<uint64_t>(all)));
    const int64_t call = 1 + point / std::ssize(kKinds);
    const FaultKind kind = kKinds[point % std::ssize(kKinds)];
    const uint64_t seed = call % 2 == 0 ? 0 : CrashSeed() + 1;
    SCOPED_TRACE("call " + std::to_string(call) + ", " + NameOf(kind) + ", seed " +
                 std::to_string(seed));
    const Told told = Live(call, kind, seed);
    EXPECT_EQ(told.study, calm.study);
    fired += told.fired;
  }
  EXPECT_GE(fired * 10, lives * 7);
}

}  // namespace
}  // namespace noisefloor::test
