// `backup`, `restore`, `gc` and `doctor` with real coordinators; what doctor makes of figures.
#include <sys/stat.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/cli/doctor_checks.h"
#include "tests/coordinator/cli/command_line.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kUpkeepSweep[] = "name: tiny\nnoise: [control]\nhardware: any\n";

class UpkeepCommands : public ::testing::Test {
 protected:
  UpkeepCommands() : line_(Coordinator::Start) { std::ofstream(file_) << kUpkeepSweep; }

  Printed Run(std::vector<std::string> arguments, const std::string& home) {
    arguments.push_back("--home=" + home);
    return line_.Run(arguments);
  }
  Printed Run(std::vector<std::string> arguments) { return Run(std::move(arguments), home_); }

  const TempHome other_;
  CommandLine line_;
  const std::string home_ = line_.home() + "/study";
  const std::string file_ = line_.home() + "/tiny.yaml";
  const std::string backup_ = other_.path() + "/backup";
  const std::string restored_ = other_.path() + "/restored";
};

TEST_F(UpkeepCommands, ABackupBesideACoordinatorBecomesAHomeOfTheNextEpoch) {
  auto holder = Coordinator::Start({.home = home_, .listen = "127.0.0.1:0"});
  ASSERT_TRUE(holder.ok()) << holder.status();
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const Printed made = Run({"backup", backup_});
  EXPECT_EQ(made.code, kDone) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("1 sweep, database"), HasSubstr("not in it: access/")));
  EXPECT_THAT(Run({"restore", backup_, "--check"}).out, HasSubstr(" is whole: state of "));
  EXPECT_FALSE(std::filesystem::exists(restored_));
  const Printed restored = Run({"restore", backup_}, restored_);
  EXPECT_EQ(restored.code, kDone) << restored.err;
  EXPECT_THAT(restored.out, AllOf(HasSubstr(restored_ + ": state of "), HasSubstr("; epoch 1\n")));
  EXPECT_THAT(Run({"status"}, restored_).out, HasSubstr("tiny"));
  EXPECT_THAT(Run({"doctor"}, restored_).out, HasSubstr("epoch 1"));
  EXPECT_EQ(Run({"restore", backup_}, restored_).code, kRefused) << "it is not empty";
}

TEST_F(UpkeepCommands, SayWhatIsWrong) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const auto refusal = [this](std::vector<std::string> arguments) {
    const Printed printed = line_.Run(arguments);
    EXPECT_EQ(printed.code, kRefused);
    return printed.err;
  };
  EXPECT_THAT(refusal({"restore", backup_}), HasSubstr("expected --home=DIR"));
  EXPECT_THAT(refusal({"restore", backup_, "--check"}), HasSubstr("no backup"));
  EXPECT_THAT(refusal({"backup", backup_, "--home=" + other_.path()}),
              HasSubstr("no data directory"));
  EXPECT_THAT(refusal({"backup", backup_, "--coordinator=127.0.0.1:1"}),
              HasSubstr("works on the files of a data directory"));
  EXPECT_THAT(refusal({"gc", "--kind=weights", "--home=" + home_}), HasSubstr("together"));
  EXPECT_THAT(refusal({"gc", "--kind=weights", "--older-than=30", "--home=" + home_}),
              HasSubstr("expected a time such as 30d"));
  EXPECT_THAT(refusal({"gc", "--kind=predictions", "--older-than=1d", "--home=" + home_}),
              HasSubstr("what reports are made of"));
  EXPECT_THAT(refusal({"gc", "--kind=weights-3", "--older-than=1d", "--home=" + home_}),
              HasSubstr("expected weights-N"));
  EXPECT_EQ(refusal({"gc", "--kind=log", "--kind=foo", "--older-than=1d", "--home=" + home_}),
            "noisefloor gc: --kind=foo: expected weights, weights-N, predictions-N, log or "
            "kernels\n");
  EXPECT_EQ(refusal({"gc", "--kind=log", "--older-than=1d", "--sweep=s1", "--sweep=s9",
                     "--home=" + home_}),
            "noisefloor gc: s9: no such sweep; the newest is s1\n");
}

TEST_F(UpkeepCommands, GcRemovesWhatNoMemberHas) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  const std::string name(62, 'a');
  std::ofstream(home_ + "/blobs/0a/" + name) << "12345";
  EXPECT_EQ(Run({"gc", "--dry-run"}).out, "of no member: 1 file (0.0 MB) would go\n");
  const auto json = nlohmann::json::parse(Run({"gc", "--output=json"}).out);
  EXPECT_EQ(json["unused"]["files"], 1);
  EXPECT_EQ(json["unused"]["bytes"], 5);
  EXPECT_FALSE(std::filesystem::exists(home_ + "/blobs/0a/" + name));
  EXPECT_EQ(
      Run({"gc", "--kind=weights", "--older-than=30d"}).out,
      "of no member: 0 files (0.0 MB) removed\nno room was made: there is no file of that kind and "
      "age, or others have the same contents\n");
}

TEST_F(UpkeepCommands, DoctorFindsWhatIsWrongWithTheHome) {
  ASSERT_EQ(Run({"submit", file_}).code, kDone);
  chmod(home_.c_str(), 0755);
  const Printed well = Run({"doctor", "--output=json"});
  EXPECT_EQ(well.code, kDone) << well.out;
  std::map<std::string, std::string> levels;
  const auto told = nlohmann::json::parse(well.out);
  for (const auto& one : told["findings"]) levels[one["check"]] = one["level"];
  for (const char* check :
       {"coordinator", "clock", "versions", "workers", "access", "storage", "room", "disk", "home",
        "database", "files", "data", "port", "drivers", "caches", "crashes"}) {
    EXPECT_TRUE(levels.contains(check)) << check;
  }
  EXPECT_EQ(levels["workers"], "warning") << "there is none";
  EXPECT_EQ(levels["database"], "ok");
  chmod(home_.c_str(), 0777);
  const Printed open = Run({"doctor"});
  EXPECT_EQ(open.code, kRefused);
  EXPECT_THAT(open.out, HasSubstr("problem  home: "));
  EXPECT_THAT(open.out, HasSubstr("chmod o-w"));
  const Printed nobody = line_.Run({"doctor", "--home=" + other_.path()});
  EXPECT_EQ(nobody.code, kRefused);
  EXPECT_THAT(nobody.out, HasSubstr("problem  coordinator: "));
}

TEST(DoctorChecks, RoomDiskAndClock) {
  EXPECT_EQ(JudgeRoom(500'000'000'000, 1'000'000'000'000).level, Level::kOk);
  EXPECT_EQ(JudgeRoom(50'000'000'000, 1'000'000'000'000).level, Level::kWarning);
  EXPECT_EQ(JudgeRoom(500'000'000, 1'000'000'000).level, Level::kProblem);
  EXPECT_EQ(JudgeSync(absl::Milliseconds(2)).level, Level::kOk);
  EXPECT_EQ(JudgeSync(absl::Milliseconds(100)).level, Level::kWarning);
  EXPECT_EQ(JudgeSync(absl::Seconds(1)).level, Level::kProblem);
  EXPECT_EQ(JudgeClock(absl::Seconds(-5), absl::Milliseconds(1)).level, Level::kWarning);
  EXPECT_THAT(JudgeClock(absl::Seconds(-5), absl::Milliseconds(1)).text, HasSubstr("behind"));
  EXPECT_EQ(JudgeClock(absl::Seconds(5), absl::Seconds(10)).level, Level::kOk)
      << "a slow answer says nothing of the clock";
  EXPECT_EQ(JudgeFileLimit(1024).level, Level::kWarning);
  EXPECT_EQ(JudgeFileLimit(65536).level, Level::kOk);
}

TEST(DoctorChecks, TokensCertificatesAndWorkers) {
  const absl::Time now = absl::FromUnixSeconds(1800000000);
  v1::WhoAmIResponse who;
  EXPECT_EQ(JudgeToken(who, now).level, Level::kOk);
  who.set_proved(true);
  who.set_identity("ada");
  who.set_expires_unix_seconds(1800000000 + 86400);
  EXPECT_EQ(JudgeToken(who, now).level, Level::kWarning);
  EXPECT_EQ(JudgeCertificate(now - absl::Seconds(1), now).level, Level::kProblem);
  EXPECT_EQ(JudgeCertificate(now + absl::Hours(24 * 31), now).level, Level::kOk);

  v1::ListWorkersResponse workers;
  EXPECT_EQ(JudgeWorkers(workers, now).level, Level::kWarning);
  v1::WorkerSummary& box = *workers.add_workers();
  box.set_name("box");
  box.set_version("1.0");
  box.set_connected(true);
  EXPECT_EQ(JudgeWorkers(workers, now).level, Level::kOk);
  EXPECT_EQ(JudgeVersions("1.0", "1.0", workers).level, Level::kOk);
  EXPECT_THAT(JudgeVersions("1.1", "1.1", workers).text, HasSubstr("box 1.0"));
  v1::WorkerSummary& gone = *workers.add_workers();
  gone.set_name("gone");
  gone.set_version("0.9");
  EXPECT_EQ(JudgeVersions("1.0", "1.0", workers).level, Level::kOk) << "it has left";
  box.mutable_inventory()->add_withheld()->set_reason("it burns");
  EXPECT_THAT(JudgeWorkers(workers, now).text, HasSubstr("not all devices in use: box"));
  box.set_connected(false);
  box.add_running("s1c0r0");
  EXPECT_THAT(JudgeWorkers(workers, now).text, HasSubstr("away with members: box"));
}

TEST(DoctorChecks, Gpus) {
  EXPECT_THAT(JudgeGpus({})[0].text, HasSubstr("no NVIDIA driver"));
  EXPECT_EQ(JudgeGpus({.installed = true, .problem = "version mismatch"})[0].level,
            Level::kProblem);
  const auto findings =
      JudgeGpus({.installed = true,
                 .driver = "570.1",
                 .problem = "",
                 .gpus = {{.unit = "GPU-1", .memory_bytes = 100, .free_bytes = 90},
                          {.unit = "GPU-2", .memory_bytes = 100, .free_bytes = 10},
                          {.unit = "GPU-3", .memory_bytes = 100, .free_bytes = 90, .fault = "row"},
                          {.unit = "GPU-4", .problem = "lost"}}});
  ASSERT_EQ(findings.size(), 5u);
  EXPECT_EQ(findings[1].level, Level::kOk);
  EXPECT_EQ(findings[2].level, Level::kWarning);
  EXPECT_EQ(findings[3].level, Level::kProblem);
  EXPECT_EQ(findings[4].level, Level::kProblem);

  GpuHealth busy = {.unit = "GPU-1", .memory_bytes = 100, .free_bytes = 10, .processes = 1};
  busy.users = {{7, "noisefloor-trai"}};
  const auto judged = [&] {
    return JudgeGpus({.installed = true, .driver = "1", .problem = "", .gpus = {busy}})[1];
  };
  EXPECT_EQ(judged().level, Level::kOk) << "a trainer of ours has it";
  EXPECT_THAT(judged().text, HasSubstr("1 process: noisefloor-trai (7)"));
  busy.users.push_back({8, "python3"});
  busy.free_bytes = 90;
  EXPECT_EQ(judged().level, Level::kWarning);
  EXPECT_THAT(judged().text, HasSubstr("python3 (8)"));
  EXPECT_THAT(judged().help, HasSubstr("somebody else uses it"));
}

}  // namespace
}  // namespace noisefloor::cli
