// The scripts of deploy/ in a checkout of their own, with programs that only pretend.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kSummary[] =
    "100% tests passed, 0 tests failed out of 2\n"
    "\n"
    "Total Test time (real) =   0.10 sec\n";

// As ctest writes it: a program with a part that was skipped, and one that ran nothing.
constexpr char kLog[] = R"(Start testing: Nov 21 07:58 UTC
----------------------------------------------------------
1/2 Testing: trainer_test
1/2 Test: trainer_test
Output:
----------------------------------------------------------
[ RUN      ] SwitchesTest.AreRead
SKIPPED: is not the word of a part that ran
[       OK ] SwitchesTest.AreRead (0 ms)
[ RUN      ] KnownDataTest.Cifar10
/a/known_data_test.cc:74: Skipped
NOT RUN: reading the full set cifar-10-batches-bin: no such folder
[  SKIPPED ] KnownDataTest.Cifar10 (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] KnownDataTest.Cifar10
<end of output>
2/2 Testing: trainer_on_gpu
2/2 Test: trainer_on_gpu
Output:
----------------------------------------------------------
SKIPPED: no NVIDIA GPU here
<end of output>
)";

struct Answer {
  int code = 0;
  std::string out;
  std::string err;
};

std::string Content(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class DeployTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* source = std::getenv("NOISEFLOOR_SOURCE");
    ASSERT_NE(source, nullptr) << "run through ctest, which sets NOISEFLOOR_SOURCE";
    fs::create_directories(checkout_.Path("programs"));
    fs::create_directories(checkout_.Path("deploy/sweeps"));
    fs::create_directories(checkout_.Path("build/release/bin"));
    fs::create_directories(checkout_.Path("build/release/Testing/Temporary"));
    for (const char* script : {"check", "try"}) {
      fs::copy_file(std::string(source) + "/deploy/" + script,
                    checkout_.Path(std::string("deploy/") + script));
    }
    Pretend("deploy/setup", "echo setting up");
    Pretend("programs/git", "true");
    Pretend("programs/clang-format-14", "true");
    Pretend("programs/cmake", "echo chatter; case $1 in --preset) echo 'no data' >&2;; esac");
  }

  void Pretend(const std::string& program, const std::string& does) const {
    fs::permissions(checkout_.Put(program, "#!/bin/sh\n" + does + "\n"), fs::perms::owner_all);
  }

  // A ctest that leaves `log`, says `summary` and ends with `code`.
  void PretendToTest(const std::string& log, const std::string& summary, int code) const {
    (void)checkout_.Put("log", log);
    (void)checkout_.Put("summary", summary);
    Pretend("programs/ctest",
            "cp log build/release/Testing/Temporary/LastTest.log\n"
            "while [ \"$1\" != --output-log ]; do shift; done\n"
            "(echo '1/2 Test: passed'; cat summary) | tee \"$2\"\n"
            "exit " +
                std::to_string(code));
  }

  Answer Run(const std::string& script) const {
    const std::string command =
        "cd " + checkout_.folder() + " && unset LC_ALL && PATH=" + checkout_.Path("programs") +
        ":$PATH NOISEFLOOR_CACHE=" + checkout_.Path("cache") + " " + script + " >out 2>err";
    Answer answer;
    answer.code = WEXITSTATUS(std::system(command.c_str()));
    answer.out = Content(checkout_.Path("out"));
    answer.err = Content(checkout_.Path("err"));
    return answer;
  }

  const Scratch checkout_;
};

// The coordinator as a job, with a program that says how it is called. Job 7 of `study`.
class CoordinatorJobTest : public DeployTest {
 protected:
  void SetUp() override {
    DeployTest::SetUp();
    fs::copy_file(std::string(std::getenv("NOISEFLOOR_SOURCE")) + kScript,
                  checkout_.Path("coordinator.sbatch"));
    fs::create_directories(checkout_.Path("study/access"));
    fs::create_directories(checkout_.Path("study/logs"));
    fs::create_directories(checkout_.Path("study/handover"));
    for (const char* name : {"admin", "submitter", "worker", "reader"}) {
      (void)checkout_.Put(fmt::format("study/access/{}.access", name), "of job 3\n");
    }
    (void)checkout_.Put("study/logs/coordinator-3.log", "");
    Pretend("programs/squeue", "true");
    Pretend("programs/noisefloor", R"(echo "$1" >>called; ls study/access >>called; exit 5)");
  }
  // What the program was asked, and which access files were there.
  std::string Called(const std::string& home = "") const {
    const Answer job = Run("SLURM_JOB_ID=7 NOISEFLOOR_LOCAL=" + checkout_.Path("local") +
                           " bash coordinator.sbatch study " + home);
    EXPECT_NE(job.code, 0) << "the program ends with 5";
    return Content(checkout_.Path("called"));
  }

  static constexpr char kScript[] = "/deploy/slurm/coordinator.sbatch";
};

TEST_F(CoordinatorJobTest, TheFirstOneBeginsAnewAfterOneThatEndedBeforeItsFirstTerm) {
  EXPECT_EQ(Called(), "access\nreader.access\n");
}

TEST_F(CoordinatorJobTest, AJobThatTheClusterHasForgottenDoesNotRun) {
  Pretend("programs/squeue", "echo slurm_load_jobs error: Invalid job id specified >&2; exit 1");
  EXPECT_EQ(Called(), "access\nreader.access\n");
}

TEST_F(CoordinatorJobTest, AJobOfAHigherNumberMayHaveBegunFirst) {
  (void)checkout_.Put("study/logs/coordinator-9.log", "");
  Pretend("programs/squeue", R"(case "$*" in *--jobs=9*) echo it runs;; esac)");
  EXPECT_EQ(Called(), "");
}

TEST_F(CoordinatorJobTest, AHomeThatHasAnAuthorityKeepsIt) {
  fs::create_directories(checkout_.Path("home/access"));
  (void)checkout_.Put("home/access/ca.key", "mine");
  EXPECT_EQ(Called(checkout_.Path("home")), "");
  EXPECT_EQ(Content(checkout_.Path("home/access/ca.key")), "mine");
  EXPECT_TRUE(fs::exists(checkout_.Path("study/access/admin.access")));
}

TEST_F(CoordinatorJobTest, WhereThereWasATermNothingIsRemoved) {
  fs::create_directories(checkout_.Path("study/handover/term-1"));
  EXPECT_EQ(Called(), "serve\nadmin.access\nreader.access\nsubmitter.access\nworker.access\n");
}

TEST_F(CoordinatorJobTest, WhileAnotherOneBeginsNothingIsRemoved) {
  Pretend("programs/squeue", R"(case "$*" in *--jobs=3*) echo it runs;; esac)");
  EXPECT_EQ(Called(), "");
  Pretend("programs/squeue", "echo slurm_load_jobs error: Unable to contact >&2; exit 1");
  EXPECT_EQ(Called(), "") << "it may run";
  EXPECT_THAT(Content(checkout_.Path("study/logs/coordinator-7.log")),
              AllOf(HasSubstr("job 3 begins this study, or tries to"), HasSubstr("Unable to")));
  EXPECT_TRUE(fs::exists(checkout_.Path("study/access/admin.access")));
}

TEST_F(CoordinatorJobTest, ItsHomeIsKeptUnlessItWasHandedOverAndIsNobodyElses) {
  fs::create_directories(checkout_.Path("study/handover/term-1"));
  const std::string home = checkout_.Path("local/noisefloor-coordinator-7");
  const std::string job = "SLURM_JOB_ID=7 NOISEFLOOR_LOCAL=" + checkout_.Path("local") +
                          " bash -c 'umask 022; exec bash coordinator.sbatch study'";
  Pretend("programs/noisefloor", R"(for word; do case $word in --home=*)
    echo it >"${word#--home=}/database";; esac; done; exit 5)");
  EXPECT_EQ(Run(job).code, 5);
  EXPECT_EQ(Content(home + "/database"), "it\n");
  EXPECT_EQ(fs::status(home).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(home + "/database").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);

  Pretend("programs/noisefloor", "exit 0");
  EXPECT_EQ(Run(job).code, 0);
  EXPECT_FALSE(fs::exists(home));
}

TEST_F(CoordinatorJobTest, WhereTheMountIsMissingNothingIsBegun) {
  EXPECT_EQ(Run("SLURM_JOB_ID=7 NOISEFLOOR_LOCAL=" + checkout_.Path("local") +
                " bash coordinator.sbatch elsewhere")
                .code,
            1);
  EXPECT_EQ(Content(checkout_.Path("called")), "");
  EXPECT_FALSE(fs::exists(checkout_.Path("elsewhere")));
}

TEST_F(DeployTest, TheCheckListsWhatWasSkippedAndEndsWithTheSummary) {
  PretendToTest(kLog, kSummary, 0);

  const Answer check = Run("deploy/check");

  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr(")\n"
                                   "  trainer_test: KnownDataTest.Cifar10: reading the full set "
                                   "cifar-10-batches-bin: no such folder\n"
                                   "  trainer_on_gpu: no NVIDIA GPU here\n"
                                   "\n== result ("));
  EXPECT_THAT(check.out,
              EndsWith(")\n"
                       "100% tests passed, 0 tests failed out of 2; skipped, in whole or "
                       "in part: 2\n"
                       "\n"
                       "Total Test time (real) =   0.10 sec\n"));
}

TEST_F(DeployTest, TheCheckSaysWhenNothingWasSkipped) {
  PretendToTest("1/2 Test: a\n[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n2/2 Test: b\n", kSummary,
                0);

  const Answer check = Run("deploy/check");

  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr(")\n  nothing\n\n== result ("));
  EXPECT_THAT(check.out, HasSubstr("out of 2; skipped, in whole or in part: 0\n"));
}

TEST_F(DeployTest, TheCheckFailsWhenItsLogIsOfOtherTests) {
  PretendToTest("1/2 Test: a\n[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n", kSummary, 0);

  const Answer check = Run("deploy/check");

  EXPECT_EQ(check.code, 1);
  EXPECT_THAT(check.err,
              HasSubstr("deploy/check: build/release/Testing/Temporary/LastTest.log tells "
                        "of 1 tests, 2 ran: what they skipped is not known\n"));
}

TEST_F(DeployTest, TheCheckShowsWhatTheConfigurationWarnsOf) {
  PretendToTest(kLog, kSummary, 0);

  EXPECT_EQ(Run("deploy/check").err, "no data\n");
}

TEST_F(DeployTest, TheCheckFailsAsItsTestsDo) {
  const std::string failed = "50% tests passed, 1 tests failed out of 2";
  PretendToTest(kLog, failed + "\n", 8);

  const Answer check = Run("deploy/check");

  EXPECT_EQ(check.code, 8);
  EXPECT_THAT(check.out, EndsWith(failed + "; skipped, in whole or in part: 2\n"));
}

TEST_F(DeployTest, TryRefusesAMissingSweepBeforeItDoesAnything) {
  const Answer missing = Run("deploy/try nofile.yaml");

  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err, "deploy/try: no sweep file nofile.yaml; see deploy/try --help\n");
  EXPECT_THAT(missing.out, Not(HasSubstr("setting up")));
}

TEST_F(DeployTest, TryTakesOneSweep) {
  (void)checkout_.Put("a.yaml", "");

  const Answer two = Run("deploy/try a.yaml a.yaml");

  EXPECT_EQ(two.code, 2);
  EXPECT_EQ(two.err, "deploy/try: expected one sweep file, got 2; see deploy/try --help\n");
}

TEST_F(DeployTest, TryRunsTheSweepThatItIsGiven) {
  (void)checkout_.Put("a.yaml", "");
  Pretend("build/release/bin/noisefloor", "echo \"$@\"");

  const Answer run = Run("deploy/try a.yaml");

  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, EndsWith("\nrun " + checkout_.Path("a.yaml") + "\n"));
}

// deploy/setup itself. Programs that would use the network write their words to `called`, and keep
// what setup had said by then in `told_PROGRAM`.
class SetupTest : public DeployTest {
 protected:
  void SetUp() override {
    DeployTest::SetUp();
    fs::copy_file(std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/deploy/setup",
                  checkout_.Path("deploy/setup"), fs::copy_options::overwrite_existing);
    fs::copy(std::string(std::getenv("NOISEFLOOR_SOURCE")) + "/deploy/stacks",
             checkout_.Path("deploy/stacks"), fs::copy_options::recursive);
    fs::create_directories(checkout_.Path("coordinator/web/app"));
    (void)checkout_.Put("coordinator/web/app/package-lock.json", "{}");
    fs::create_directories(checkout_.Path("deploy/buf"));
    (void)checkout_.Put("deploy/buf/package-lock.json", "{}");
    Pretend("programs/id", "echo 0");
    Pretend("programs/node", "echo 20");
    Pretend("programs/dpkg-query", "for name; do :; done; [ $name = cmake ] || printf installed");
    Pretend("programs/apt-get", Called("apt-get") + R"(
case "$*" in
  *--assume-no*)
    if [ "$LC_ALL" = C ]; then echo 'Need to get 12.3 MB/45.6 MB of archives.'
    else echo 'Es m\303\274ssen 12,3 MB von 45,6 MB an Archiven heruntergeladen werden.'; fi
    exit 1;;
  install*) cp out told_apt-get;;
esac)");
    Pretend("programs/python3",
            "case \"$*\" in '-m pip --version' | -c*) exit 0;; esac\n" + Called("pip") + R"(
cp out told_pip
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/torch/lib" && touch "$2/libtorch.so" "$2/torch/lib/libtorch_python.so")");
    // A LibTorch that lacks one library and one function of it.
    Pretend("programs/ldd", "printf 'libcudnn.so.9 => not found\\nlibc.so.6 => /lib/libc.so.6\\n'");
    Pretend("programs/nm", "printf ' U cudnnCreate@libcudnn.so.9\\n U malloc@GLIBC_2.2.5\\n'");
    Pretend("programs/mmdebstrap", Called("mmdebstrap") + "for image; do :; done; touch $image");
    Pretend("programs/npm", Called("npm") + "cp " + checkout_.Path("out") + " " +
                                checkout_.Path("told_npm") + "\nmkdir node_modules");
  }

  std::string Called(const std::string& program) const {
    return "echo " + program + " \"$@\" >>" + checkout_.Path("called") + "\n";
  }

  // As apt-get, pip and npm end without a network.
  void PretendToBeOffline(const std::string& program, const std::string& when, int code) const {
    Pretend("programs/" + program, "case \"$*\" in " + when +
                                       ") echo 'Could not resolve host' >&2; exit " +
                                       std::to_string(code) + ";; esac");
  }
};

TEST_F(SetupTest, WhenEverythingIsThereNothingUsesTheNetwork) {
  ASSERT_EQ(Run("deploy/setup --check").code, 0) << Content(checkout_.Path("err"));
  ASSERT_THAT(Content(checkout_.Path("called")),
              AllOf(HasSubstr("apt-get install"), HasSubstr("pip"), HasSubstr("npm ci")));
  fs::remove(checkout_.Path("called"));
  Pretend("programs/dpkg-query", "printf installed");

  const Answer again = Run("deploy/setup --check");

  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(Content(checkout_.Path("called")), "");
  // What is looked for side by side has no order.
  EXPECT_THAT(again.out, StartsWith("setup: system packages: all "));
  EXPECT_THAT(again.out, EndsWith("\nsetup: done\n"));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(absl::StripSuffix(again.out, "\n"), '\n')),
              UnorderedElementsAre(MatchesRegex("setup: system packages: all [0-9]+ are there"),
                                   MatchesRegex("setup: google.rpc: in .*/cache/googleapis-.*"),
                                   MatchesRegex("setup: NVRTC: in .*/cache/nvrtc-.*"),
                                   MatchesRegex("setup: libtorch: in .*/cache/stacks/.*"),
                                   MatchesRegex("setup: stack torch-2.7-cu126: in .*/cache/.*"),
                                   MatchesRegex("setup: python: in .*/cache/stacks/.*"),
                                   MatchesRegex("setup: Python with torch: .*/cache/python-torch"),
                                   MatchesRegex("setup: Python with jax: .*/cache/python-jax"),
                                   MatchesRegex("setup: Python with mypy: .*/cache/python-mypy"),
                                   MatchesRegex("setup: Python with client: .*/python-client"),
                                   MatchesRegex("setup: Python with kubernetes: .*-kubernetes"),
                                   MatchesRegex("setup: Debian .minimal.: .*-12-minimal.tar"),
                                   MatchesRegex("setup: Debian .machine.: .*-12-machine.tar"),
                                   MatchesRegex("setup: page packages: in .*"),
                                   MatchesRegex("setup: buf: in .*"), "setup: done"));
}

TEST_F(SetupTest, PythonsTorchFindsLibrariesThatStandInForThoseOfAGpu) {
  Pretend("programs/python3", R"sh(case "$*" in
  "-m pip --version") ;;
  *numpy,torch,*)
     echo "$PYTHONPATH compiled${PYTHONDONTWRITEBYTECODE:+ not} with $(ls "$LD_LIBRARY_PATH")" >&2;;
  -c*) ;;
  *) echo pip "$@" >>called; while [ "$1" != --target ]; do shift; done; mkdir -p "$2/torch/lib"
     touch "$2/torch/lib/libtorch_python.so";;
esac)sh");

  const Answer setup = Run("PYTHONDONTWRITEBYTECODE=1 deploy/setup --python");

  EXPECT_EQ(setup.code, 0) << setup.err;
  EXPECT_THAT(Content(checkout_.Path("called")), HasSubstr(" numpy=="));
  EXPECT_THAT(setup.err, MatchesRegex(".*/cache/stacks/torch[^/]* compiled with all.c\n"
                                      "libcudnn.so.9\nsymbols\nversions\n"));
  EXPECT_THAT(setup.out, HasSubstr("setup: Python with torch: " + checkout_.Path("cache")));
}

TEST_F(SetupTest, SizesAreSaidBeforeAnythingIsFetched) {
  ASSERT_EQ(Run("deploy/setup").code, 0) << Content(checkout_.Path("err"));

  EXPECT_THAT(Content(checkout_.Path("told_apt-get")),
              EndsWith("installing 1 (download: 12.3 MB/45.6 MB): cmake\n"));
  EXPECT_THAT(Content(checkout_.Path("told_pip")),
              MatchesRegex(".*libtorch: downloading about [0-9]+ MB into [^\n]*\n.*"));
  EXPECT_THAT(Content(checkout_.Path("told_npm")),
              MatchesRegex(".*page packages: downloading about [0-9]+ MB into [^\n]*\n.*"));
}

TEST_F(SetupTest, SystemPackagesThatCannotBeHadAreNamed) {
  for (const char* when : {"update*", "install*-y*"}) {
    PretendToBeOffline("apt-get", when, 100);

    const Answer offline = Run("deploy/setup");

    EXPECT_EQ(offline.code, 1) << when;
    EXPECT_THAT(offline.err, HasSubstr("Could not resolve host\nsetup: system packages: could not "
                                       "get cmake; "));
    EXPECT_THAT(offline.out, Not(HasSubstr("done"))) << when;
  }
}

TEST_F(SetupTest, WithoutRootOrSudoNoNetworkIsBlamed) {
  if (std::system("command -v sudo >/dev/null") == 0) GTEST_SKIP() << "this machine has sudo";
  Pretend("programs/id", "echo 1000");

  const Answer refused = Run("deploy/setup");

  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err,
            "setup: system packages: cmake are missing; installing them takes root or sudo, and "
            "there is neither\n");
  EXPECT_EQ(Content(checkout_.Path("called")), "") << "nothing was tried";
}

TEST_F(SetupTest, LibTorchThatCannotBeHadIsNamedAndTriedAgain) {
  PretendToBeOffline("python3", "*torch==*", 1);

  const Answer offline = Run("deploy/setup");

  EXPECT_EQ(offline.code, 1);
  EXPECT_THAT(offline.err, HasSubstr("setup: libtorch: could not get torch=="));
  EXPECT_THAT(Run("deploy/setup").out, HasSubstr("libtorch: downloading"));
}

TEST_F(SetupTest, ImagesOfDebianThatCannotBeHadAreNamedAndTriedAgain) {
  Pretend("programs/mmdebstrap", "for image; do :; done; echo half >$image; exit 25");

  const Answer offline = Run("deploy/setup --check");

  EXPECT_EQ(offline.code, 1);
  EXPECT_THAT(offline.err, HasSubstr("setup: Debian (minimal): could not get bookworm; "));
  EXPECT_THAT(Run("deploy/setup --check").out, HasSubstr("Debian (minimal): downloading"));
}

TEST_F(SetupTest, OnlyRootMakesImagesOfDebian) {
  Pretend("programs/id", "echo 1000");
  Pretend("programs/dpkg-query", "printf installed");

  const Answer setup = Run("deploy/setup --check");

  EXPECT_EQ(setup.code, 0) << setup.err;
  EXPECT_THAT(setup.out, HasSubstr("Debian (minimal): only root can make it; "));
  EXPECT_THAT(Content(checkout_.Path("called")), Not(HasSubstr("mmdebstrap")));
}

TEST_F(SetupTest, PackagesOfThePageThatCannotBeHadAreNamedAndTriedAgain) {
  PretendToBeOffline("npm", "ci*", 1);

  const Answer offline = Run("deploy/setup");

  EXPECT_EQ(offline.code, 1);
  EXPECT_THAT(offline.err, HasSubstr("setup: page packages: could not get what "
                                     "coordinator/web/app/package-lock.json lists; "));
  EXPECT_THAT(Run("deploy/setup").out, HasSubstr("page packages: downloading"));
}

}  // namespace
}  // namespace noisefloor
