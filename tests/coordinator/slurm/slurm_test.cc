// What is asked of Slurm's programs, and what their answers mean. tests/slurm asks real ones.
#include "coordinator/slurm/slurm.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using fleet::Job;
using fleet::JobPhase;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SlurmTest : public ::testing::Test {
 protected:
  SlurmTest() {
    std::string pattern = testing::TempDir() + "nf-slurm-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~SlurmTest() override { std::filesystem::remove_all(folder_); }

  // A program that keeps its words and its input, and answers so.
  void Pretend(const std::string& name, const std::string& script) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\nprintf '%s\\n' \"$@\" >" << folder_ << "/words\ncat >"
                        << folder_ << "/input\n"
                        << script << "\n";
    chmod(path.c_str(), 0755);
  }
  Slurm Make() const { return Slurm({"PATH=" + folder_ + ":/usr/bin:/bin"}, absl::Seconds(60)); }
  std::string Content(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  static SubmitWish Wish() {
    return {.job_name = "nf-a-1-2",
            .script = "#!/bin/bash\necho\n",
            .log = "/l/%x.out",
            .arguments = {"--gres=gpu:1"}};
  }
  std::string folder_;
};

TEST_F(SlurmTest, AsksForAJobInSoManyWords) {
  Pretend("sbatch", "echo 25");
  EXPECT_EQ(*Make().Submit(Wish()), "25");
  EXPECT_EQ(Content("words"),
            "--gres=gpu:1\n--parsable\n--job-name=nf-a-1-2\n--no-requeue\n--open-mode=append\n"
            "--output=/l/%x.out\n--export=PATH,HOME,USER,LOGNAME,LANG\n");
  EXPECT_EQ(Content("input"), "#!/bin/bash\necho\n");
}

TEST_F(SlurmTest, AsksForAnArrayALimitAndAWarning) {
  Pretend("sbatch", "echo '24;cluster'");
  SubmitWish wish = Wish();
  wish.count = 3;
  wish.time_limit = absl::Seconds(61);
  wish.warn_before = absl::Seconds(90);
  EXPECT_EQ(*Make().Submit(wish), "24");
  EXPECT_THAT(Content("words"), HasSubstr("--time=2\n--signal=B:USR1@90\n--array=0-2\n"));
}

TEST_F(SlurmTest, AsksForAWarningHoursBeforeTheEndUpToWhatSlurmTakes) {
  Pretend("sbatch", "echo 24");
  SubmitWish wish = Wish();
  wish.warn_before = absl::Hours(3);
  EXPECT_EQ(*Make().Submit(wish), "24");
  EXPECT_THAT(Content("words"), HasSubstr("--signal=B:USR1@10800\n"));
  wish.warn_before = absl::Hours(20);
  EXPECT_EQ(*Make().Submit(wish), "24");
  EXPECT_THAT(Content("words"), HasSubstr("--signal=B:USR1@65535\n"));
}

TEST_F(SlurmTest, ARefusalIsInItsOwnWordsAndSilenceIsNone) {
  Pretend("sbatch", "echo 'allocation failure: Invalid feature specification' >&2; exit 1");
  absl::Status status = Make().Submit(Wish()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "allocation failure: Invalid feature specification");
  Pretend("sbatch",
          "echo 'sbatch: error: Batch job submission failed: Unable to contact slurm "
          "controller (connect failure)' >&2; exit 1");
  EXPECT_EQ(Make().Submit(Wish()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Make().Try(Wish()).status().code(), absl::StatusCode::kUnavailable);
  Pretend("sbatch", "echo what");
  EXPECT_EQ(Make().Submit(Wish()).status().code(), absl::StatusCode::kUnavailable);
  Pretend("sbatch", "echo '25 jobs'");
  EXPECT_EQ(Make().Submit(Wish()).status().code(), absl::StatusCode::kUnavailable);
  Pretend("sbatch", "exit 4");
  EXPECT_EQ(Make().Submit(Wish()).status().message(), "exit code 4");
  Pretend("sbatch", "echo 'no such account'; exit 1");
  EXPECT_EQ(Make().Submit(Wish()).status().message(), "no such account");
  Pretend("sbatch", "printf '%03000d' 0 >&2; exit 1");
  EXPECT_EQ(Make().Submit(Wish()).status().message(), std::string(2000, '0'));
}

TEST_F(SlurmTest, WhoReachedNobodyWasNotRefused) {
  for (const char* sign :
       {"Unable to contact slurm controller", "Communication connection failure",
        "Communication shutdown failure", "Connection refused", "Connection reset by peer",
        "Connection timed out", "Broken pipe", "Socket timed out", "Message send failure",
        "Message receive failure", "Unexpected message received", "Insane message length",
        "Header lengths are longer", "Zero Bytes were transmitted", "Protocol authentication error",
        "authentication credential", "Slurm temporarily unable", "in standby mode"}) {
    Pretend("sbatch", std::string("echo 'sbatch: error: ") + sign + " (x)' >&2; exit 1");
    EXPECT_EQ(Make().Submit(Wish()).status().code(), absl::StatusCode::kUnavailable) << sign;
  }
}

TEST_F(SlurmTest, ATryPassesOnWhatIsSaid) {
  Pretend("sbatch", "echo 'sbatch: Job 7 to start at X on nodes n1' >&2");
  EXPECT_EQ(*Make().Try(Wish()), "sbatch: Job 7 to start at X on nodes n1");
  EXPECT_THAT(Content("words"), HasSubstr("--test-only\n"));
  EXPECT_EQ(Content("input"), Wish().script);
}

// Times are seconds to us, and a person is told them as a person reads them.
TEST_F(SlurmTest, ATryTellsTimesToPeople) {
  const Slurm slurm({"PATH=" + folder_ + ":/usr/bin:/bin", "SLURM_TIME_FORMAT=%s", "HOME=/h"},
                    absl::Seconds(60));
  Pretend("sbatch", "echo \"${SLURM_TIME_FORMAT-as usual} in $HOME\"");
  EXPECT_EQ(*slurm.Try(Wish()), "as usual in /h");
  Pretend("squeue", "echo \"25|25|N/A|RUNNING|None|nf-$SLURM_TIME_FORMAT|n7|200|100\"");
  const auto jobs = slurm.Poll("nf-");
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ((*jobs)[0].name, "nf-%s");
}

TEST_F(SlurmTest, ASubmissionThatASignalEndedMayHaveBeenTaken) {
  Pretend("sbatch", "kill -9 $$");
  EXPECT_EQ(Make().Submit(Wish()).status().code(), absl::StatusCode::kUnavailable);
  Pretend("sbatch", "exit 255");  // Its usage.
  EXPECT_EQ(Make().Submit(Wish()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SlurmTest, AJobIsCancelledByNumberIfItHasTheName) {
  Pretend("squeue",
          "echo '24_0|24|0|PENDING|None|nf-a-1-2||N/A|N/A'\n"
          "echo '24_1|24|1|RUNNING|None|nf-a-1-2|n|N/A|N/A'\n"
          "echo '25|25|N/A|RUNNING|None|nf-a-1-3|n|N/A|N/A'\n"
          "echo '26|26|N/A|RUNNING|None|training|n|N/A|N/A'");
  Pretend("scancel", "");
  EXPECT_TRUE(Make().Cancel({{"nf-a-1-2", "24_0"}}).ok());
  // With a filter it would be all that wait of the array.
  EXPECT_EQ(Content("words"), "24_0\n");
  EXPECT_TRUE(Make().Cancel({{"nf-a-1", "24_0"}, {"nf-a-1-3", "26"}}).ok());
  EXPECT_EQ(Content("words"), "--me\n-r\n-h\n-t\nall\n-o\n%i|%F|%K|%T|%r|%j|%N|%e|%S\n");
  EXPECT_TRUE(Make().Cancel({{"nf-a-1-2", "24"}}).ok());
  EXPECT_EQ(Content("words"), "24_0\n24_1\n");
  EXPECT_TRUE(Make().Cancel({{"nf-a-1-2", ""}, {"nf-a-1-3", "25"}}).ok());
  EXPECT_EQ(Content("words"), "24_0\n24_1\n25\n") << "all at once";
  EXPECT_FALSE(Make().Cancel({{"", ""}}).ok());
  EXPECT_TRUE(Make().Cancel({}).ok());
}

TEST_F(SlurmTest, WhatHasEndedOrIsGoneNeedNoCancelling) {
  Pretend("scancel", "echo 'scancel: error: x' >&2; exit 1");
  Pretend("squeue", "echo '24|24|N/A|COMPLETED|None|nf-a-1-2|n|1|1'");
  EXPECT_TRUE(Make().Cancel({{"nf-a-1-2", "24"}}).ok());
  Pretend("squeue", "");
  EXPECT_TRUE(Make().Cancel({{"nf-a-1-2", "24"}}).ok());
  Pretend("squeue", "echo '24|24|N/A|RUNNING|None|nf-a-1-2|n|1|1'");
  EXPECT_EQ(Make().Cancel({{"nf-a-1-2", "24"}}).code(), absl::StatusCode::kInvalidArgument);
  Pretend("scancel", "echo 'scancel: error: Socket timed out on send/recv operation' >&2; exit 1");
  EXPECT_EQ(Make().Cancel({{"nf-a-1-2", "24"}}).code(), absl::StatusCode::kUnavailable);
  Pretend(
      "scancel",
      "echo 'scancel: error: Kill job error on job id 24: Invalid job id specified' >&2; exit 1");
  EXPECT_TRUE(Make().Cancel({{"nf-a-1-2", "24"}}).ok());
  Pretend("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
  EXPECT_EQ(Make().Cancel({{"nf-a-1-2", "24"}}).code(), absl::StatusCode::kUnavailable);
}

TEST_F(SlurmTest, APollIsOneQuestionAndAnErrorNoAnswer) {
  Pretend("squeue", "echo '25|25|N/A|RUNNING|None|nf-a-1-2|n7|200|100'");
  const auto jobs = Make().Poll("nf-");
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ(Content("words"), "--me\n-r\n-h\n-t\nall\n-o\n%i|%F|%K|%T|%r|%j|%N|%e|%S\n");
  Pretend("squeue", "echo 'slurm_load_jobs error: x' >&2; exit 1");
  EXPECT_EQ(Make().Poll("nf-").status().code(), absl::StatusCode::kUnavailable);
}

TEST(ParseQueueTest, ReadsWhatIsThereAndPassesOverTheRest) {
  const std::vector<Job> jobs = ParseQueue(
      "24_0|24|0|RUNNING|None|nf-a-1-2|nfa100|1795227579|1795226979\n"
      "24_1|24|1|PENDING|Nodes required for job are DOWN, DRAINED|nf-a-1-2||N/A|N/A\n"
      "30|30|N/A|CANCELLED by 0|None|other|n|1|1\n"
      "31|31|N/A|RUNNING|None|nf-a|n|1\n"
      "32|32|N/A|RUNNING|None|nf-a|n|1|1|1\n"
      "\nrubbish\n",
      "nf-");
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].key, "24_0");
  EXPECT_EQ(jobs[0].index, 0u);
  EXPECT_EQ(jobs[0].phase, JobPhase::kAlive);
  EXPECT_EQ(jobs[0].reason, "");
  EXPECT_EQ(jobs[0].node, "nfa100");
  EXPECT_EQ(jobs[0].ends, absl::FromUnixSeconds(1795227579));
  EXPECT_EQ(jobs[0].begins, absl::FromUnixSeconds(1795226979));
  EXPECT_EQ(jobs[1].index, 1u);
  EXPECT_EQ(jobs[1].reason, "Nodes required for job are DOWN, DRAINED");
  EXPECT_EQ(jobs[1].begins, absl::InfinitePast());
  EXPECT_EQ(jobs[1].ends, absl::InfiniteFuture());
}

TEST(ParseQueueTest, WhatWasCancelledOfAnArrayIsNoneOfItsPlaces) {
  const std::vector<Job> jobs = ParseQueue(
      "34|34|N/A|CANCELLED|Resources|nf-x||1795227579|1795226979\n"
      "34_0|34|0|RUNNING|None|nf-x|nfa100|1795227579|1795226979\n"
      "35|35|N/A|CANCELLED|Resources|nf-y||1795227579|1795226979\n",
      "nf-");
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].key, "34_0");
  EXPECT_EQ(jobs[0].phase, JobPhase::kAlive);
  EXPECT_EQ(jobs[1].key, "35");
  EXPECT_EQ(jobs[1].phase, JobPhase::kTaken);
}

TEST(CheckArgumentsTest, WhatAPoolSaysItselfIsRefused) {
  for (const char* argument :
       {"--array=0-3", "-a0-3", "--job-name=x", "-Jx", "-o/x", "--output=/x", "--wrap=ls",
        "--requeue", "--export=ALL", "--signal=USR1", "-W", "--test-only", "-e/x", "--error=/x",
        "--no-requeue", "--parsable", "--open-mode=truncate", "--wait",
        // To another cluster than that which is asked what became of it.
        "-Mother", "--clusters=other",
        // Shortened, gathered, and what keeps the answer back.
        "--arr=0-1", "--wra=ls", "--test", "-Ha0-3", "-vW", "-IOksua0-3", "-Q", "--quiet", "-h",
        "--help", "--usage", "-V", "--version", "--uid=x", "--gid=x"}) {
    EXPECT_THAT(std::string(CheckArguments({argument}).message()),
                HasSubstr(": a pool says that itself"))
        << argument;
  }
  EXPECT_THAT(std::string(CheckArguments({"script.sh"}).message()),
              HasSubstr("script.sh: expected an option of sbatch"));
  for (const char* argument : {"-", "--", ""}) EXPECT_FALSE(CheckArguments({argument}).ok());
  EXPECT_TRUE(CheckArguments({"-Hpscavenge", "-pAWa", "--wait-all-nodes=1", "--exclusive"}).ok());
  EXPECT_TRUE(CheckArguments({"--gres=gpu:1", "-c8", "-pmain", "--account=x", "--qos=y"}).ok());
}

}  // namespace
}  // namespace noisefloor
