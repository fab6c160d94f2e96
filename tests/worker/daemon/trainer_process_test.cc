#include "worker/daemon/trainer_process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <variant>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/mailbox.h"
#include "common/files/atomic_file.h"
#include "worker/daemon/leftovers.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;

// Two workers of one machine may have been given a device each.
TEST(InheritedEnvironmentTest, SaysWhichDevicesTheWorkerWasGiven) {
  ASSERT_EQ(setenv("ROCR_VISIBLE_DEVICES", "3", 1), 0);
  ASSERT_EQ(setenv("NF_TEST_OTHER", "x", 1), 0);
  const auto inherited = InheritedEnvironment();
  unsetenv("ROCR_VISIBLE_DEVICES");
  unsetenv("NF_TEST_OTHER");
  EXPECT_EQ(inherited.at("ROCR_VISIBLE_DEVICES"), "3");
  EXPECT_FALSE(inherited.contains("NF_TEST_OTHER"));
}

// worker/python/README.md names them: where programs and devices are found, and nothing else.
TEST(InheritedEnvironmentTest, IsWhereProgramsAndDevicesAreFoundAndNothingElse) {
  const std::vector<const char*> kept = {"PATH",
                                         "HOME",
                                         "USER",
                                         "TMPDIR",
                                         "PYTHONPATH",
                                         "LD_LIBRARY_PATH",
                                         "VIRTUAL_ENV",
                                         "CONDA_PREFIX",
                                         "ROCR_VISIBLE_DEVICES",
                                         "GPU_DEVICE_ORDINAL",
                                         "HIP_VISIBLE_DEVICES",
                                         "ZE_AFFINITY_MASK",
                                         "NOISEFLOOR_NF_TEST",
                                         "NVIDIA_NF_TEST",
                                         "TPU_NF_TEST",
                                         "HABANA_NF_TEST",
                                         "ASCEND_NF_TEST"};
  const std::vector<const char*> left = {"LD_PRELOAD_NF_TEST",
                                         "NF_NOISEFLOOR_",
                                         "OMP_NUM_THREADS",
                                         "MKL_CBWR",
                                         "PYTHONSTARTUP",
                                         "XPATH",
                                         "PATHS",
                                         "AWS_SECRET_TEST",
                                         "LANG"};
  std::map<std::string, std::string> before;
  const auto set = [&](const char* name) {
    if (const char* value = getenv(name)) before[name] = value;
    ASSERT_EQ(setenv(name, "nf=1", 1), 0);
  };
  for (const char* name : kept) set(name);
  for (const char* name : left) set(name);
  const auto inherited = InheritedEnvironment();
  for (const auto* names : {&kept, &left}) {
    for (const char* name : *names) unsetenv(name);
  }
  for (const auto& [name, value] : before) setenv(name.c_str(), value.c_str(), 1);

  for (const char* name : kept) {
    ASSERT_TRUE(inherited.contains(name)) << name;
    EXPECT_EQ(inherited.at(name), "nf=1") << name;
  }
  for (const char* name : left) EXPECT_FALSE(inherited.contains(name)) << name;
}

// Numbers and sorted names are written as they are read, whatever language the worker was started
// in.
TEST(InheritedEnvironmentTest, TrainersHaveTheLocaleOfPrograms) {
  ASSERT_EQ(setenv("LC_ALL", "de_DE.UTF-8", 1), 0);
  const auto inherited = InheritedEnvironment();
  unsetenv("LC_ALL");
  EXPECT_EQ(inherited.at("LC_ALL"), "C");
  EXPECT_EQ(inherited.at("PYTHONHASHSEED"), "0");
}

class TrainerProcessTest : public testing::Test {
 protected:
  TrainerProcessTest() : news_(1 << 16) {
    std::string pattern = testing::TempDir() + "nf-process-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/work");
    command_.words = {FAKE_TRAINER};
    command_.environment = InheritedEnvironment();
    command_.environment[kStateVariable] = folder_;
  }
  ~TrainerProcessTest() override {
    process_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    auto process = TrainerProcess::Start(
        command_, [this](TrainerNews news) { (void)news_.Post(std::move(news)); });
    ASSERT_TRUE(process.ok()) << process.status();
    process_ = *std::move(process);
  }
  std::string Request(const std::string& behaviour, int64_t epochs = 200) const {
    TrainerRequest request;
    request.member = "s1c0r0";
    request.specification.sources.poke_parameter = behaviour;
    request.specification.train.epochs = epochs;
    request.work_directory = folder_ + "/work";
    return RequestToJson(request);
  }
  void Give(const std::string& behaviour, int64_t epochs = 200) {
    ASSERT_TRUE(process_->Give(Request(behaviour, epochs), folder_ + "/log").ok());
  }
  // The next news; ProcessExit{true, 0} when none comes for two minutes.
  TrainerNews Next() {
    if (waiting_.empty()) {
      for (TrainerNews& news : news_.TakeAll(absl::Minutes(2))) waiting_.push_back(std::move(news));
    }
    if (waiting_.empty()) return ProcessExit{true, 0};
    TrainerNews news = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    process_->Consumed();
    return news;
  }
  ProcessExit NextExit() {
    while (true) {
      const TrainerNews news = Next();
      if (const auto* exit = std::get_if<ProcessExit>(&news)) return *exit;
    }
  }

  std::string folder_;
  TrainerCommand command_;
  Mailbox<TrainerNews> news_;
  std::vector<TrainerNews> waiting_;
  std::unique_ptr<TrainerProcess> process_;
};

TEST_F(TrainerProcessTest, AStandbyWaitsForItsRequestAndThenTrains) {
  Start();
  EXPECT_TRUE(news_.TakeAll(absl::Milliseconds(50)).empty());

  Give("");

  const TrainerNews first = Next();
  ASSERT_TRUE(std::holds_alternative<TrainerLine>(first));
  EXPECT_TRUE(std::holds_alternative<HelloEvent>(std::get<TrainerLine>(first).event));
  int records = 0;
  while (true) {
    const TrainerNews news = Next();
    if (const auto* exit = std::get_if<ProcessExit>(&news)) {
      EXPECT_FALSE(exit->signalled);
      EXPECT_EQ(exit->code, 0);
      break;
    }
    ASSERT_TRUE(std::holds_alternative<TrainerLine>(news));
    const auto& line = std::get<TrainerLine>(news);
    EXPECT_EQ(EventToJson(line.event), line.line);
    records += std::holds_alternative<RecordsEvent>(line.event);
  }
  EXPECT_EQ(records, 200) << "more than may be on the way at once";
  EXPECT_THAT(ReadFile(folder_ + "/log", 1 << 20).value(), HasSubstr("trains s1c0r0 attempt 1"));
}

// Also when events come in one piece: the log is all that tells of a worker that is killed.
TEST_F(TrainerProcessTest, WhatWasPrintedBeforeAnEventIsInTheLogWhenItIsKnown) {
  const std::string gate = folder_ + "/gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  int held = -1;
  std::vector<std::string> logs;  // As they were at each record.
  auto process = TrainerProcess::Start(command_, [&](TrainerNews news) {
    const auto* line = std::get_if<TrainerLine>(&news);
    if (line != nullptr && std::holds_alternative<HelloEvent>(line->event)) {
      // Until the records before the gate are in the pipe.
      held = open(gate.c_str(), O_WRONLY);
    } else if (line != nullptr && std::holds_alternative<RecordsEvent>(line->event)) {
      logs.push_back(ReadFile(folder_ + "/log", 1 << 20).value());
    }
    (void)news_.Post(std::move(news));
  });
  ASSERT_TRUE(process.ok()) << process.status();
  process_ = *std::move(process);
  Give("gate:" + gate, 6);  // So few that a pipe holds them.
  EXPECT_FALSE(NextExit().signalled);
  close(held);

  ASSERT_EQ(logs.size(), 6u);
  for (size_t epoch = 1; epoch <= logs.size(); ++epoch) {
    EXPECT_THAT(logs[epoch - 1], HasSubstr(fmt::format("epoch {}\n", epoch)));
  }
}

TEST_F(TrainerProcessTest, AStandbyThatIsNotNeededGoesQuietly) {
  Start();
  process_->Kill();
  const ProcessExit exit = NextExit();
  EXPECT_TRUE(exit.signalled);
  EXPECT_EQ(exit.code, SIGKILL);
}

TEST_F(TrainerProcessTest, ATrainerWhoseLogCannotBeOpenedIsKilledNotLeftWaiting) {
  Start();
  const absl::Status given = process_->Give(Request(""), folder_ + "/nothing/log");
  EXPECT_EQ(given.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(given), HasSubstr("/nothing/log: cannot open"));
  const ProcessExit exit = NextExit();
  EXPECT_TRUE(exit.signalled);
  EXPECT_EQ(exit.code, SIGKILL);
}

TEST_F(TrainerProcessTest, SigtermReachesTheTrainer) {
  Start();
  Give("wait");
  (void)Next();
  process_->Terminate();
  const ProcessExit exit = NextExit();
  EXPECT_FALSE(exit.signalled);
  EXPECT_EQ(exit.code, ExitCodeOf(CauseClass::kInterrupted));
}

TEST_F(TrainerProcessTest, DestructionEndsWhatHangs) {
  Start();
  Give("hang");
  (void)Next();
  process_.reset();
  const Leftovers left = EndLeftovers(folder_);
  EXPECT_TRUE(left.ended.empty() && left.undying.empty());
}

TEST_F(TrainerProcessTest, ABrokenLineIsReportedOnceAndTheRestIsReadAway) {
  Start();
  Give("huge");
  (void)Next();
  const TrainerNews news = Next();
  ASSERT_TRUE(std::holds_alternative<absl::Status>(news));
  EXPECT_EQ(Message(std::get<absl::Status>(news)), "an event of more than 4194304 bytes");
  EXPECT_TRUE(std::holds_alternative<ProcessExit>(Next()));
}

TEST_F(TrainerProcessTest, TheLogIsCutAtItsLimit) {
  command_.log_limit_bytes = 5000;
  Start();
  Give("chatter");
  (void)NextExit();
  const std::string log = ReadFile(folder_ + "/log", 1 << 20).value();
  EXPECT_EQ(log.substr(5000), "\n(the log is cut here: it reached its limit)\n");
}

TEST_F(TrainerProcessTest, AProgramThatIsNotThereIsNamed) {
  command_.words = {folder_ + "/nothing"};
  const auto process = TrainerProcess::Start(command_, [](TrainerNews) {});
  EXPECT_EQ(process.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(process.status()), HasSubstr(folder_ + "/nothing"));
}

TEST_F(TrainerProcessTest, LeftoversAreFoundByTheirMarkAndForeignersSpared) {
  Start();
  EXPECT_TRUE(EndLeftovers(folder_ + "/another").ended.empty());
  Give("hang");
  (void)Next();

  const Leftovers left = EndLeftovers(folder_);

  EXPECT_EQ(left.ended.size(), 1u);
  EXPECT_TRUE(left.undying.empty());
  EXPECT_TRUE(NextExit().signalled);
}

}  // namespace
}  // namespace noisefloor
