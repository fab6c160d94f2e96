// `backup`, `restore`, `gc` and `doctor` with real coordinators; what doctor makes of figures; the
// stacks of this machine.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/stacks/known_stacks.h"
#include "coordinator/cli/doctor_checks.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/cli/command_line.h"
#include "tests/coordinator/store/sample_files.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/support/variable.h"

namespace noisefloor::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kUpkeepSweep[] = "name: tiny\nnoise: [control]\nhardware: any\n";

class UpkeepCommands : public ::testing::Test {
 protected:
  UpkeepCommands() : line_(Coordinator::Start) { std::ofstream(file_) << kUpkeepSweep; }

  Printed Run(std::vector<std::string> arguments, const std::string& home) {
    arguments.push_back("--home=" + home);
    return line_.Run(arguments);
  }
  Printed Run(std::vector<std::string> arguments) { return Run(std::move(arguments), home_); }
  // Writes into the home what a coordinator would.
  void Keep(const std::vector<scheduler::Write>& writes) {
    const auto store = SqliteStore::Open(home_);
    ASSERT_TRUE(store.ok()) << store.status();
    const absl::Status kept = (*store)->Apply(writes);
    ASSERT_TRUE(kept.ok()) << kept;
  }
  // One result with two files, an attempt that runs, one that failed.
  void MakeAStory() {
    std::filesystem::create_directories(home_);
    { ASSERT_TRUE(SqliteStore::Open(home_).ok()); }
    const auto blobs = BlobStore::Open(home_);
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    Keep(sample::StoryWithFiles(*blobs));
  }
  nlohmann::json Json(std::vector<std::string> arguments) {
    arguments.push_back("--output=json");
    const Printed printed = Run(std::move(arguments));
    EXPECT_EQ(printed.code, kDone) << printed.err;
    return nlohmann::json::parse(printed.out);
  }

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

TEST_F(UpkeepCommands, ABackupIsToldByItsFigures) {
  MakeAStory();
  // "content of predictions.npy" and "content of images.npy".
  const auto made = Json({"backup", backup_});
  EXPECT_EQ(made["sweeps"], 1);
  EXPECT_EQ(made["epoch"], 0);
  EXPECT_EQ(made["files"], 2);
  EXPECT_EQ(made["file_bytes"], 26 + 21);
  EXPECT_EQ(made["copied"], 2);
  EXPECT_EQ(made["copied_bytes"], 26 + 21);
  EXPECT_THAT(made["missing"], IsEmpty());

  Keep({scheduler::CollectArtifacts{{{LeaseId{2}, "predictions", "predictions.npy"}},
                                    sample::At(100)}});
  const auto again = Json({"backup", backup_});
  EXPECT_EQ(again["files"], 1);
  EXPECT_EQ(again["file_bytes"], 21);
  EXPECT_EQ(again["copied"], 0);
  EXPECT_EQ(again["pruned"], 0) << "nobody has asked for that";
  EXPECT_EQ(Json({"backup", backup_, "--prune"})["pruned"], 1);
}

TEST_F(UpkeepCommands, ABackupWithoutFilesOfResultsIsNoSuccess) {
  MakeAStory();
  const std::string lost = Sha256Hex("content of images.npy");
  ASSERT_TRUE(BlobStore::At(home_).Remove(lost).ok());

  const Printed made = Run({"backup", backup_});

  EXPECT_EQ(made.code, kDidNotHold);
  EXPECT_THAT(made.err, StartsWith("left out: " + lost + ": not there: "));
  EXPECT_EQ(Run({"restore", backup_, "--check"}).code, kDidNotHold);
  const Printed restored = Run({"restore", backup_}, restored_);
  EXPECT_EQ(restored.code, kDone) << "what there is was restored";
  EXPECT_THAT(restored.out, HasSubstr("\n1 attempt that ran are lost; their members wait again\n"));
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

TEST(Gc, AsksForWhatWasNamedAndForNoMore) {
  v1::CollectGarbageRequest asked;
  CannedAnswers answers;
  answers.on_collect = [&asked](const v1::CollectGarbageRequest& request) { asked = request; };
  CommandLine line(answers);
  const Printed named = line.Run({"gc", "--kind=weights", "--kind=log", "--older-than=2d",
                                  "--sweep=s3", "--sweep=s4", "--dry-run"});
  EXPECT_EQ(named.code, kDone) << named.err;
  EXPECT_THAT(asked.kinds(), ElementsAre("weights", "log"));
  EXPECT_EQ(asked.older_than_seconds(), 2 * 86400);
  EXPECT_THAT(asked.sweep_ids(), ElementsAre(3u, 4u));
  EXPECT_TRUE(asked.dry_run());
  EXPECT_EQ(line.Run({"gc"}).code, kDone);
  EXPECT_THAT(asked.kinds(), IsEmpty());
  EXPECT_FALSE(asked.dry_run());
  EXPECT_THAT(line.Run({"gc", "--sweep=s3"}).err, HasSubstr("--sweep: expected --kind with it"));
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
  EXPECT_EQ(JudgeClock(absl::Seconds(3), absl::ZeroDuration()).text,
            "the coordinator's is 3.00 s before this machine's");
  EXPECT_EQ(JudgeClock(absl::Milliseconds(1500), absl::ZeroDuration()).level, Level::kOk);
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
  who.set_expires_unix_seconds(0);
  EXPECT_EQ(JudgeToken(who, now).level, Level::kOk) << "it does not end";
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
  EXPECT_EQ(JudgeVersions("1.1", "1.0", workers).level, Level::kWarning);
  EXPECT_EQ(JudgeVersions("1.1", "1.0", workers).text, "coordinator 1.0, this program 1.1");
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

TEST(DoctorChecks, WhatIsKept) {
  v1::GetStorageResponse storage;
  storage.set_database_bytes(2'500'000'000);
  v1::StorageShare& weights = *storage.add_artifacts();
  weights.set_kind("weights");
  weights.set_bytes(3'000'000);
  EXPECT_EQ(JudgeUse(storage).level, Level::kOk);
  EXPECT_EQ(JudgeUse(storage).text, "database 2.5 GB, weights 3.0 MB, of no member 0.0 MB");
  storage.mutable_unused()->set_files(1);
  storage.mutable_unused()->set_bytes(4'000'000);
  EXPECT_EQ(JudgeUse(storage).level, Level::kWarning);
  EXPECT_THAT(JudgeUse(storage).text, HasSubstr("of no member 4.0 MB"));
  EXPECT_THAT(JudgeUse(storage).help, HasSubstr("noisefloor gc"));
  storage.set_storage_problem("the disk is full");
  EXPECT_EQ(JudgeUse(storage).level, Level::kProblem);
  EXPECT_THAT(JudgeUse(storage).text, StartsWith("the disk is full; database "));
}

TEST(DoctorChecks, Gpus) {
  EXPECT_THAT(JudgeGpus({})[0].text, HasSubstr("no NVIDIA driver"));
  EXPECT_EQ(JudgeGpus({.installed = true, .problem = "version mismatch"})[0].level,
            Level::kProblem);
  const auto findings = JudgeGpus(
      {.installed = true,
       .driver = "570.1",
       .problem = "",
       .gpus = {
           {.unit = "GPU-1", .memory_bytes = 100, .free_bytes = 90},
           {.unit = "GPU-2", .memory_bytes = 100, .free_bytes = 10},
           {.unit = "GPU-3", .memory_bytes = 100, .free_bytes = 90, .fault = "row"},
           {.unit = "GPU-4", .problem = "lost"},
           {.unit = "GPU-5", .memory_bytes = 100, .free_bytes = 90, .uncorrected_errors = 1}}});
  ASSERT_EQ(findings.size(), 6u);
  EXPECT_EQ(findings[5].level, Level::kProblem);
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

constexpr char kStack[] = "torch-2.7-cu126";

class StacksCommand : public ::testing::Test {
 protected:
  StacksCommand() {
    line_.SetCache(line_.home() + "/cache");
    path_.Set(line_.home() + "/bin:" + path_.before());
    PutPython("exit 1");  // Whatever is asked of it.
  }

  // As the command leaves it.
  void Install() const {
    std::filesystem::create_directories(folder_ + "/torch/lib");
    std::ofstream(folder_ + "/torch/lib/libtorch_cpu.so") << "a library";
    std::ofstream(folder_ + "/.libtorch") << PackagesOf(*FindKnownStack(kStack));
  }
  // In the place of Python. `then`: what it does with its words, in shell.
  void PutPython(const std::string& then) const {
    const std::string path = line_.home() + "/bin/python3";
    std::filesystem::create_directories(line_.home() + "/bin");
    std::ofstream(path) << "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + line_.home() + "/words\n"
                        << then << "\n";
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }

  CommandLine line_;
  const test::Variable path_{"PATH", std::nullopt};
  const std::string folder_ = line_.home() + "/cache/stacks/" + kStack;
};

TEST_F(StacksCommand, SaysWhichAreHere) {
  const auto here = [this] {
    std::vector<std::string> names;
    const auto told = nlohmann::json::parse(line_.Run({"stacks", "list", "--output=json"}).out);
    for (const auto& stack : told["stacks"]) {
      if (stack["installed"]) names.push_back(stack["name"]);
    }
    return names;
  };
  EXPECT_THAT(here(), IsEmpty());
  Install();
  EXPECT_THAT(here(), ElementsAre(kStack));
}

TEST_F(StacksCommand, RemovesTheOneThatIsNamed) {
  Install();
  const std::string other = line_.home() + "/cache/stacks/another";
  std::filesystem::create_directories(other);
  EXPECT_EQ(line_.Run({"stacks", "remove", kStack}).code, kDone);
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_FALSE(std::filesystem::exists(folder_ + ".removed"));
  EXPECT_TRUE(std::filesystem::exists(other));
  const Printed again = line_.Run({"stacks", "remove", kStack});
  EXPECT_EQ(again.code, kRefused);
  EXPECT_THAT(again.err, HasSubstr("is not installed"));
}

TEST_F(StacksCommand, OneAtATimeInstallsOrRemovesAStack) {
  Install();
  const int lock = open((folder_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT(line_.Run({"stacks", "remove", kStack}).err, HasSubstr("by another process"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/.libtorch"));
  std::filesystem::remove_all(folder_);
  EXPECT_THAT(line_.Run({"stacks", "install", kStack}).err, HasSubstr("by another process"));
  close(lock);
}

TEST_F(StacksCommand, InstallsWhatItsLockFileNamesAndAllOfIt) {
  std::ofstream(line_.home() + "/noisefloor-trainer-" + kStack) << "a trainer";
  const std::string part = folder_ + ".part";
  const std::string library = part + "/torch/lib/libtorch_cpu.so";
  PutPython("mkdir -p " + part + "/torch/lib && echo half >" + library + "; exit 1");
  const Printed failed = line_.Run({"stacks", "install", kStack});
  EXPECT_NE(failed.code, kDone);
  EXPECT_THAT(failed.err, HasSubstr("pip could not install it"));
  EXPECT_FALSE(std::filesystem::exists(folder_));

  PutPython("mkdir -p " + part + "/torch/lib && test ! -e " + library + " && cp " + part +
            "/lock.txt " + library);
  const Printed installed = line_.Run({"stacks", "install", kStack});

  EXPECT_EQ(installed.code, kDone) << installed.err;
  EXPECT_EQ(Content(folder_ + "/torch/lib/libtorch_cpu.so"), FindKnownStack(kStack)->lock);
  EXPECT_EQ(Content(folder_ + "/.libtorch"), PackagesOf(*FindKnownStack(kStack)));
  EXPECT_EQ(Content(folder_ + "/libexec/noisefloor-trainer"), "a trainer");
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_THAT(Content(line_.home() + "/words"),
              AllOf(StartsWith("-m\npip\ninstall\n"), HasSubstr("\n--no-deps\n"),
                    HasSubstr("\n--only-binary=:all:\n"), HasSubstr("\n--require-hashes\n"),
                    HasSubstr("\n--requirement=" + part + "/lock.txt\n")));
}

}  // namespace
}  // namespace noisefloor::cli
