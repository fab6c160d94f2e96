// What `doctor` finds on the machine: crashes, the port, drivers, caches.
#include <elf.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/cli/doctor_machine.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/support/loopback_port.h"

namespace noisefloor::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

// As the kernel begins a core, or a linker a program.
void WriteElf(const std::string& path, uint16_t type) {
  std::string start(ELFMAG, SELFMAG);
  start.resize(EI_NIDENT, '\0');
  start.append(reinterpret_cast<const char*>(&type), sizeof type);
  std::ofstream(path, std::ios::binary) << start << std::string(1000 - start.size(), 'x');
}

TEST(DoctorMachine, CoresAreKnownByWhatTheyHold) {
  const TempHome home;
  const std::string work = home.path() + "/spool/7/work";
  fs::create_directories(work);
  WriteElf(home.path() + "/dump.1", ET_CORE);
  WriteElf(work + "/core", ET_CORE);
  WriteElf(home.path() + "/core.of.nothing", ET_DYN);
  std::ofstream(home.path() + "/core") << "short";
  fs::create_symlink(home.path() + "/dump.1", home.path() + "/link");
  const CoreRule rule = {"core", true};

  const std::vector<CrashFile> files = FindCrashFiles({home.path()}, rule);

  ASSERT_EQ(files.size(), 2u);
  const Finding finding = JudgeCrashes(rule, files);
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(finding.text, AllOf(HasSubstr("2 files (0.0 MB)"), HasSubstr(work + "/core"),
                                  HasSubstr(home.path() + "/dump.1")));
}

TEST(DoctorMachine, OfManyCrashesTheFirstAreNamedAndAllCount) {
  std::vector<CrashFile> files;
  for (int i = 0; i < 7; ++i) files.push_back({"/c" + std::to_string(i), 1'000'000});
  EXPECT_EQ(JudgeCrashes({"core", true}, files).text,
            "7 files (7.0 MB) of programs that crashed: /c0, /c1, /c2, /c3, /c4 and 2 more");
}

TEST(DoctorMachine, OfAFolderForAllProgramsOnlyOursCount) {
  const TempHome home;
  const TempHome cores;
  WriteElf(cores.path() + "/core.noisefloor-work.12", ET_CORE);
  WriteElf(cores.path() + "/core.emacs.13", ET_CORE);
  const CoreRule rule = {cores.path() + "/core.%e.%p", true};

  const std::vector<CrashFile> files = FindCrashFiles({home.path(), "/nowhere"}, rule);

  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, cores.path() + "/core.noisefloor-work.12");
  EXPECT_EQ(files[0].bytes, 1000u);
  EXPECT_EQ(FindCrashFiles({cores.path()}, rule).size(), 2u) << "in ours all count, each once";
}

TEST(DoctorMachine, WhatBecomesOfACrashIsTold) {
  const auto told = [](const CoreRule& rule) { return JudgeCrashes(rule, {}).text; };
  EXPECT_THAT(told({"|/usr/share/apport/apport -p%p", false}),
              HasSubstr("goes to /usr/share/apport/apport"));
  EXPECT_THAT(told({"|/lib/collect", false}), HasSubstr("goes to /lib/collect"));
  EXPECT_THAT(told({"core", false}), HasSubstr("`ulimit -c` is 0"));
  EXPECT_THAT(told({"/var/cores/%p", true}), HasSubstr("leaves its core as /var/cores/%p"));
  EXPECT_THAT(told({"core.%p", true}), HasSubstr("core.%p where the program runs"));
  EXPECT_EQ(JudgeCrashes({"core", false}, {}).level, Level::kOk);
  EXPECT_FALSE(ReadCoreRule().pattern.empty());
}

TEST(DoctorMachine, WhoListensOnAPortIsFound) {
  test::LoopbackPort port;

  EXPECT_FALSE(FindPortHolder(port.port()).has_value()) << "bound, and nobody listens";
  port.Listen();
  const auto holder = FindPortHolder(port.port());

  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->process, getpid());
  const Finding taken = JudgePort("127.0.0.1:1", holder);
  EXPECT_EQ(taken.level, Level::kWarning);
  EXPECT_THAT(taken.text, HasSubstr("process " + std::to_string(getpid())));
  EXPECT_THAT(JudgePort("127.0.0.1:1", PortHolder{}).text, HasSubstr("another user"));
  EXPECT_EQ(JudgePort("127.0.0.1:1", std::nullopt).level, Level::kOk);
}

TEST(DoctorMachine, OneModelHasOneDriver) {
  v1::ListWorkersResponse workers;
  EXPECT_THAT(JudgeDrivers(workers).text, HasSubstr("no connected worker has a GPU"));
  const auto add = [&](const std::string& name, const std::string& model,
                       const std::string& driver) {
    v1::WorkerSummary& worker = *workers.add_workers();
    worker.set_name(name);
    worker.set_connected(true);
    auto& device = *worker.mutable_inventory()->add_devices();
    device.set_model(model);
    device.set_driver(driver);
    return &worker;
  };
  add("a", "H200", "575.1");
  add("b", "V100", "570.2");
  add("c", "EPYC", "");
  EXPECT_EQ(JudgeDrivers(workers).text, "H200: 575.1 (a); V100: 570.2 (b)");
  EXPECT_EQ(JudgeDrivers(workers).level, Level::kOk);

  v1::WorkerSummary* other = add("d", "H200", "570.2");
  EXPECT_EQ(JudgeDrivers(workers).level, Level::kWarning);
  EXPECT_EQ(JudgeDrivers(workers).text, "H200: 570.2 (d), 575.1 (a)");
  other->set_connected(false);
  EXPECT_EQ(JudgeDrivers(workers).level, Level::kOk);
}

TEST(DoctorMachine, CachesAreToldAndResultsThatWait) {
  CacheUse use;
  use.sets.young = {2, 3'000'000};
  EXPECT_EQ(JudgeCaches(use).text, "2 data sets (3.0 MB)");
  EXPECT_EQ(JudgeCaches(use).help, "");
  use.sets.old = {1, 1'000'000};
  use.attempts_old = {1, 500'000};
  EXPECT_EQ(JudgeCaches(use).text,
            "3 data sets (4.0 MB), unfinished attempts 0.5 MB; unused for 30 days: 1.5 MB");
  EXPECT_THAT(JudgeCaches(use).help, HasSubstr("gc --caches"));
  EXPECT_EQ(JudgeCaches(use).level, Level::kOk);
  use.trees.young = {1, 2'000'000};
  use.trees.old = {1, 1'000'000};
  EXPECT_EQ(
      JudgeCaches(use).text,
      "3 data sets (4.0 MB), 2 fetched trees (3.0 MB), unfinished attempts 0.5 MB; unused for "
      "30 days: 2.5 MB");
  use.attempts_waiting = {2, 100'000};
  EXPECT_EQ(JudgeCaches(use).level, Level::kWarning);
  EXPECT_THAT(JudgeCaches(use).text, HasSubstr("2 results (0.1 MB) of a worker"));
  EXPECT_EQ(JudgeCaches(absl::UnavailableError("/x: it burns")).text, "/x: it burns");
}

}  // namespace
}  // namespace noisefloor::cli
