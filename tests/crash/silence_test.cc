// Workers that fall silent for longer than their leases live, and come back; two that claim to be
// the same one.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/store/temp_home.h"
#include "tests/crash/home_checker.h"
#include "tests/crash/proxy.h"
#include "tests/crash/served.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

class SilenceTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status started = coordinator_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_EQ(mkfifo(gate().c_str(), 0600), 0);
  }

  std::string gate() const { return folder_.path() + "/gate"; }
  std::string LogOf(const std::string& name) const { return folder_.path() + "/" + name + ".log"; }
  std::string StateOf(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Logs() const {
    std::string logs = coordinator_.Log();
    for (const auto& [name, process] : workers_)
      logs += name + ":\n" + EndOfFile(LogOf(name), 4000);
    return logs;
  }

  void StartWorker(const std::string& name, const std::string& address) {
    auto worker = Process::Start(
        {WORKER, "--coordinator=" + address, "--name=" + name, "--state=" + StateOf(name),
         "--slots=1", "--grace=1", "--no-standby", "--trainer=fake=" FAKE_TRAINER},
        LogOf(name));
    ASSERT_TRUE(worker.ok()) << worker.status();
    workers_.emplace(name, *std::move(worker));
  }

  // Looks until it is so, for two minutes.
  static bool Until(const std::function<bool()>& so) {
    for (int i = 0; i < 2400; ++i) {
      if (so()) return true;
      poll(nullptr, 0, 50);
    }
    return false;
  }

  int Count(const std::string& what) const {
    const auto rows = Rows(coordinator_.home(), "SELECT count(*) FROM " + what);
    return rows.empty() ? -1 : std::atoi(rows[0].c_str());
  }
  int Connected() {
    const auto answer = Ask(coordinator_.people(), &v1::CoordinatorService::Stub::ListWorkers,
                            v1::ListWorkersRequest());
    int connected = 0;
    if (!answer.ok()) return 0;
    for (const v1::WorkerSummary& worker : answer->workers()) {
      connected += worker.connected();
      hardware_ = worker.inventory().offers(0).hardware_class();
    }
    return connected;
  }

  // Whose trainers wait at the gate.
  void Submit(uint32_t replicates) {
    v1::SubmitSweepRequest request;
    v1::Sweep& sweep = *request.mutable_sweep();
    sweep.set_name("silent");
    const auto set = [&](const char* path, const std::string& value) {
      v1::Setting& setting = *sweep.add_training();
      setting.set_path(path);
      setting.mutable_value()->set_text(value);
    };
    set("data.name", "fashion-mnist-sample");
    set("sources.poke.parameter", "gate:" + gate());
    sweep.add_noise()->set_name("algo");
    sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
    sweep.mutable_hardware()->add_classes(hardware_);
    sweep.add_stacks("fake");
    sweep.set_replicates(replicates);
    sweep.set_blocks(1);
    const auto answer =
        Ask(coordinator_.people(), &v1::CoordinatorService::Stub::SubmitSweep, request);
    ASSERT_TRUE(answer.ok()) << answer.status();
  }
  // For everybody who comes to it from now on.
  void OpenGate() { held_ = open(gate().c_str(), O_RDWR | O_CLOEXEC); }

  void FinishAll(int members) {
    EXPECT_TRUE(Until([&] { return Count("member WHERE state = 'done'") == members; })) << Logs();
    EXPECT_EQ(Count("attempt WHERE accepted = 1"), members);
    EXPECT_THAT(FaultsOf(coordinator_.home()), IsEmpty());
  }

  TempHome folder_;
  Served coordinator_{folder_.path(), nullptr};
  std::map<std::string, Process> workers_;
  std::string hardware_;
  int held_ = -1;
};

TEST_F(SilenceTest, OneIsStoppedAndOneCutOffForLongerThanTheirLeasesLive) {
  Proxy proxy(coordinator_.address());
  StartWorker("stopped", coordinator_.address());
  StartWorker("cut", proxy.address());
  ASSERT_TRUE(Until([&] { return Connected() == 2; })) << Logs();
  Submit(2);
  ASSERT_TRUE(Until([&] { return Count("lease") == 2; })) << Logs();

  ASSERT_TRUE(workers_.at("stopped").Signal(SIGSTOP));
  proxy.Stall(Proxy::Stalls::kBoth);
  ASSERT_TRUE(Until([&] { return Count("lease WHERE dropped_us IS NOT NULL") == 2; })) << Logs();
  StartWorker("third", coordinator_.address());
  ASSERT_TRUE(Until([&] { return Count("lease") == 3; })) << Logs();
  OpenGate();
  ASSERT_TRUE(workers_.at("stopped").Signal(SIGCONT));
  proxy.Stall(Proxy::Stalls::kNothing);

  FinishAll(2);
  EXPECT_EQ(Count("lease WHERE drop_cause = 'lost_worker'"), 2) << Logs();
  EXPECT_TRUE(Until([&] { return Connected() == 3; })) << "they come back: " << Logs();
  for (auto& [name, worker] : workers_) {
    EXPECT_TRUE(Until([&] {
      return !fs::exists(StateOf(name) + "/spool") || fs::is_empty(StateOf(name) + "/spool");
    })) << name
        << " keeps what nobody wants";
    EXPECT_FALSE(worker.Ended());
  }
}

TEST_F(SilenceTest, OfTwoWithOneIdentityTheSecondIsRefusedAndToldWhy) {
  StartWorker("first", coordinator_.address());
  ASSERT_TRUE(Until([&] { return Connected() == 1; })) << Logs();
  fs::copy(StateOf("first"), StateOf("twin"), fs::copy_options::recursive);
  StartWorker("twin", coordinator_.address());

  EXPECT_TRUE(Until([&] {
    return EndOfFile(LogOf("twin"), 10000).find("was the directory copied?") != std::string::npos;
  })) << Logs();

  Submit(3);
  OpenGate();
  FinishAll(3);
  EXPECT_EQ(Count("lease WHERE worker <> 1"), 0);
  EXPECT_EQ(Connected(), 1);
}

}  // namespace
}  // namespace noisefloor::test
