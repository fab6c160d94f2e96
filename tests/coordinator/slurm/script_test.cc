// The script of a job, run by bash: whatever is in its texts.
#include "coordinator/slurm/script.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "coordinator/slurm/command.h"
#include "coordinator/slurm/environment.h"

namespace noisefloor {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

class ScriptTest : public ::testing::Test {
 protected:
  ScriptTest() {
    std::string pattern = testing::TempDir() + "nf-script-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    // A worker that says what it was given.
    std::ofstream(folder_ + "/wor ker") << "#!/bin/sh\nprintf '<%s>\\n' \"$@\"\n"
                                           "echo \"access $NOISEFLOOR_ACCESS\"\n"
                                           "echo \"coordinator $NOISEFLOOR_COORDINATOR\"\n";
    chmod((folder_ + "/wor ker").c_str(), 0755);
  }
  ~ScriptTest() override { std::filesystem::remove_all(folder_); }

  ScriptWish Wish() const {
    return {.pool = "a100",
            .nonce = "ab12",
            .prologue = "",
            .worker_program = folder_ + "/wor ker",
            .worker_options = {"--slots=2", "--trainer=x=a 'b' \"c\" $HOME `id` \\ \n;*"},
            .coordinator = "box:7077",
            .access = "",
            .logs = folder_};
  }
  // What the worker said; it lies in LOGS/NAME.log.
  std::string Run(const ScriptWish& wish, const std::string& name,
                  std::vector<std::string> variables = {}) const {
    variables.insert(variables.end(), {"PATH=/usr/bin:/bin", "TMPDIR=/tm p"});
    const auto result =
        RunCommand({.words = {"bash", "-s"}, .input = BatchScript(wish), .environment = variables});
    EXPECT_TRUE(result.ok() && result->exit_code == 0) << result->err;
    std::stringstream text;
    text << std::ifstream(folder_ + "/" + name + ".log").rdbuf();
    return text.str();
  }
  std::string folder_;
};

TEST_F(ScriptTest, GivesTheWorkerItsWordsAsTheyAre) {
  EXPECT_EQ(Run(Wish(), "a100-ab12-0", {"NOISEFLOOR_ACCESS=x", "NOISEFLOOR_COORDINATOR=y"}),
            "<--name=a100-ab12-0>\n<--coordinator=box:7077>\n"
            "<--state=/tm p/noisefloor-a100-ab12-0>\n<--lifetime=0>\n<--slots=2>\n"
            "<--trainer=x=a 'b' \"c\" $HOME `id` \\ \n;*>\naccess \ncoordinator \n");
}

TEST_F(ScriptTest, AnAccessFileTakesThePlaceOfTheAddress) {
  ScriptWish wish = Wish();
  wish.access = "/ho me/it's";
  const std::string said = Run(wish, "a100-ab12-0", {"NOISEFLOOR_COORDINATOR=y"});
  EXPECT_THAT(said, HasSubstr("\naccess /ho me/it's\ncoordinator \n"));
  EXPECT_THAT(said, Not(HasSubstr("--coordinator=")));
}

TEST_F(ScriptTest, NamesItByItsPlaceInTheArrayAndByHowOftenItWasStarted) {
  EXPECT_THAT(Run(Wish(), "a100-ab12-3-r2", {"SLURM_ARRAY_TASK_ID=3", "SLURM_RESTART_COUNT=2"}),
              HasSubstr("<--name=a100-ab12-3-r2>"));
  EXPECT_THAT(Run(Wish(), "a100-ab12-4", {"SLURM_ARRAY_TASK_ID=4", "SLURM_RESTART_COUNT=0"}),
              HasSubstr("<--name=a100-ab12-4>"));
}

TEST_F(ScriptTest, ItsStateIsInTheFolderOfTheJobWhereTheClusterMakesOne) {
  EXPECT_THAT(Run(Wish(), "a100-ab12-0", {"SLURM_TMPDIR=/of/job"}),
              HasSubstr("<--state=/of/job/noisefloor-a100-ab12-0>"));
}

// Nobody would know why it ended.
TEST_F(ScriptTest, WithoutALogNoWorkerBegins) {
  ScriptWish wish = Wish();
  wish.logs = folder_ + "/no/such";
  const auto result = RunCommand(
      {.words = {"bash", "-s"}, .input = BatchScript(wish), .environment = {"PATH=/usr/bin:/bin"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 1);
  EXPECT_EQ(result->out, "");
}

TEST_F(ScriptTest, WhatThePrologueSaysOfACoordinatorIsNotTaken) {
  ScriptWish wish = Wish();
  wish.prologue = "export NOISEFLOOR_ACCESS=x NOISEFLOOR_COORDINATOR=y";
  EXPECT_THAT(Run(wish, "a100-ab12-0"), HasSubstr("\naccess \ncoordinator \n"));
}

TEST_F(ScriptTest, ThePrologueRunsBeforeAndItsWordsAreInTheLog) {
  ScriptWish wish = Wish();
  wish.prologue = "echo first\nexport X=1; echo \"name $name\"";
  EXPECT_THAT(Run(wish, "a100-ab12-0"), HasSubstr("first\nname a100-ab12-0\n<--name"));
}

TEST_F(ScriptTest, TheWorkerIsToldHowLongItLives) {
  const auto lifetime = [&](absl::Duration limit, std::vector<std::string> variables) {
    std::filesystem::remove(folder_ + "/a100-ab12-0.log");
    ScriptWish wish = Wish();
    wish.time_limit = limit;
    const std::string said = Run(wish, "a100-ab12-0", std::move(variables));
    const size_t at = said.find("<--lifetime=");
    return at == std::string::npos ? -1 : std::stol(said.substr(at + 12));
  };
  // The seconds that the script itself takes are gone.
  EXPECT_THAT(lifetime(absl::Hours(4), {}), AllOf(Ge(14400 - 30), Le(14400)));
  const std::string soon = std::to_string(absl::ToUnixSeconds(SystemClock().Now()) + 1000);
  EXPECT_THAT(lifetime(absl::Hours(4), {"SLURM_JOB_END_TIME=" + soon}), AllOf(Ge(970), Le(1000)));
  EXPECT_EQ(lifetime(absl::Hours(4), {"SLURM_JOB_END_TIME=5"}), 1) << "its end has passed";
  EXPECT_THAT(lifetime(absl::Hours(4), {"SLURM_JOB_END_TIME=Unknown"}), Ge(14400 - 30));
  EXPECT_EQ(lifetime({}, {"SLURM_JOB_ID=7"}), 0) << "nobody knows";
  std::ofstream(folder_ + "/squeue") << "#!/bin/sh\n"
                                        "[ \"$*\" = '-h -j 7 -o %e' ] && echo Unknown && exit\n"
                                        "[ \"$*\" = '-h -j 8_3 -o %e' ] && "
                                        "[ \"$SLURM_TIME_FORMAT\" = %s ] && echo "
                                     << soon << "\n";
  chmod((folder_ + "/squeue").c_str(), 0755);
  ScriptWish wish = Wish();
  wish.prologue = "PATH=$PWD/none:" + ShellQuoted(folder_) + ":$PATH";
  const std::string said =
      Run(wish, "a100-ab12-3", {"SLURM_ARRAY_JOB_ID=8", "SLURM_ARRAY_TASK_ID=3"});
  EXPECT_THAT(said, AnyOf(HasSubstr("<--lifetime=9"), HasSubstr("<--lifetime=1000>"))) << said;
  // One that is of no array has no number but its own.
  EXPECT_THAT(Run(wish, "a100-ab12-0", {"SLURM_JOB_ID=8_3"}),
              AnyOf(HasSubstr("<--lifetime=9"), HasSubstr("<--lifetime=1000>")));
  std::filesystem::remove(folder_ + "/a100-ab12-0.log");
  EXPECT_THAT(Run(wish, "a100-ab12-0", {"SLURM_JOB_ID=7"}), HasSubstr("<--lifetime=0>"))
      << "without an end";
}

TEST(EnvironmentTest, OnlyWhatFindsProgramsPasses) {
  const std::vector<std::string> cleared =
      Cleared({"PATH=/bin", "SQUEUE_STATES=PD", "SBATCH_PARTITION=x", "SLURM_JOB_ID=1", "SECRET=a",
               "SLURM_CONF=/c", "PATHS=x", "HOME=/h", "USER=u", "LOGNAME=l", "TMPDIR=/t",
               "LD_LIBRARY_PATH=/l", "SLURM_CLUSTERS=c", "LC_ALL=de_DE", "SLURM_TIME_FORMAT=%c"});
  EXPECT_THAT(cleared, ElementsAre("PATH=/bin", "SLURM_CONF=/c", "HOME=/h", "USER=u", "LOGNAME=l",
                                   "TMPDIR=/t", "LD_LIBRARY_PATH=/l", "SLURM_CLUSTERS=c",
                                   "LC_ALL=C", "SLURM_TIME_FORMAT=%s"));
  EXPECT_THAT(SlurmEnvironment(), Contains("SLURM_TIME_FORMAT=%s"));
}

}  // namespace
}  // namespace noisefloor
