#include "coordinator/cli/application.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/cli/command_line.h"
#include "tests/support/loopback_port.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ExitCodes, HelpIsDone) {
  CommandLine line;
  const Printed printed = line.Run({"--help"});
  EXPECT_EQ(printed.code, kDone);
  for (const auto& command : AllCommands()) {
    EXPECT_THAT(printed.out, HasSubstr(std::string(command->Name())));
  }
  EXPECT_THAT(printed.out, HasSubstr("3 unreachable"));
  EXPECT_THAT(
      printed.out,
      HasSubstr("5 a replay, check or comparison did not hold, 6 a comparison was not decided"));
  EXPECT_THAT(printed.out, HasSubstr("--output FORM  "));
}

TEST(ExitCodes, EveryCommandHasHelpWithExamples) {
  for (const auto& command : AllCommands()) {
    CommandLine line;
    const Printed printed = line.Run({std::string(command->Name()), "--help"});
    EXPECT_EQ(line.Run({"help", std::string(command->Name())}).out, printed.out);
    EXPECT_EQ(printed.code, kDone) << command->Name();
    EXPECT_THAT(printed.out, HasSubstr("noisefloor " + std::string(command->Name())));
    EXPECT_THAT(printed.out, HasSubstr("\nGlobal options:\n  --coordinator HOST:PORT"));
    EXPECT_THAT(printed.out, HasSubstr("\n  --home DIR"));
    EXPECT_THAT(printed.out, Not(HasSubstr("{")));
    EXPECT_THAT(printed.out, Not(HasSubstr("INT")));
    EXPECT_THAT(printed.out, Not(HasSubstr("HOME/"))) << "reads as $HOME/";
    EXPECT_THAT(printed.out, Not(HasSubstr("\n\n\n")));
  }
}

TEST(Conform, AsksAPythonAndEndsAsItDoes) {
  CommandLine line;
  setenv("NOISEFLOOR_PYTHON", "/bin/echo", 1);
  const Printed asked = line.Run({"conform", "--set=a=1", "--set=b=x y", "--jobs=3", "--timeout=9",
                                  "--data-root=/d", "--", "python", "train.py", "--epochs", "1"});
  EXPECT_EQ(asked.code, kDone) << asked.err;
  EXPECT_EQ(asked.out,
            "-m noisefloor.conform --set=a=1 --set=b=x y --data-root=/d --jobs=3 --timeout=9 -- "
            "python train.py --epochs 1\n");
  EXPECT_EQ(line.Run({"conform", "--output=json", "--", "x.py"}).out,
            "-m noisefloor.conform --output=json -- x.py\n");
  setenv("NOISEFLOOR_PYTHON", "/bin/false", 1);
  EXPECT_EQ(line.Run({"conform", "--", "x.py"}).code, 1);
  setenv("NOISEFLOOR_PYTHON", "/no/such/python", 1);
  const Printed none = line.Run({"conform", "--", "x.py"});
  EXPECT_EQ(none.code, kRefused);
  EXPECT_THAT(none.err, HasSubstr("/no/such/python: No such file or directory; expected Python"));
  unsetenv("NOISEFLOOR_PYTHON");
}

TEST(ExitCodes, MistakesOfUsageAreTwo) {
  const std::vector<std::vector<std::string>> mistakes = {
      {},
      {"fly"},
      {"members", "--swep=s1"},
      {"members", "--sweep=s1", "--sweep=s2"},
      {"members", "--home", ""},
      {"members", "--home=", "s1"},
      {"members", "--plan=", "s1"},
      {"export", "s1", "--to=", "--force"},
      {"fleet", "add", "a", "--logs="},
      {"members", "--output=xml"},
      {"members", "--output=1"},
      {"members", "s1", "--sweep=s1"},
      {"members", "--state=dne"},
      {"members", "--colour=blue"},
      {"report", "--form=xml"},
      {"members", "one", "two"},
      {"run"},
      {"export", "s1"},
      {"data"},
      {"completion", "fish"},
      {"run", "sweep.yaml", "--slots=0"},
  };
  for (const auto& arguments : mistakes) {
    CommandLine line;
    const Printed printed = line.Run(arguments);
    EXPECT_EQ(printed.code, kUsage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(printed.err, HasSubstr("noisefloor: ")) << ::testing::PrintToString(arguments);
    EXPECT_EQ(printed.out, "");
  }
}

TEST(ExitCodes, AnUnknownCommandNamesTheNearest) {
  CommandLine line;
  EXPECT_EQ(line.Run({"statsu"}).err,
            "noisefloor: unknown command statsu; did you mean status?\nSee `noisefloor --help`.\n");
  EXPECT_EQ(line.Run({"zzzzzz"}).err,
            "noisefloor: unknown command zzzzzz\nSee `noisefloor --help`.\n");
}

TEST(ExitCodes, AShortWordIsNotTakenForJustAnyCommand) {
  CommandLine line;
  EXPECT_EQ(line.Run({"bogus"}).err,
            "noisefloor: unknown command bogus\nSee `noisefloor --help`.\n");
  EXPECT_THAT(line.Run({"ubmit"}).err, HasSubstr("did you mean submit?"));
}

TEST(ExitCodes, AnUnknownOptionNamesTheNearest) {
  CommandLine line;
  EXPECT_EQ(line.Run({"members", "--outptu=json"}).err,
            "noisefloor: unknown option --outptu; did you mean --output?\n"
            "See `noisefloor members --help`.\n");
  EXPECT_EQ(line.Run({"members", "--stat=failed"}).err,
            "noisefloor: unknown option --stat; did you mean --state?\n"
            "See `noisefloor members --help`.\n");
  EXPECT_EQ(line.Run({"members", "--zzzzzzzz"}).err,
            "noisefloor: unknown option --zzzzzzzz\nSee `noisefloor members --help`.\n");
  EXPECT_EQ(line.Run({"members", "one", "two"}).err,
            "noisefloor: unexpected argument two\nSee `noisefloor members --help`.\n");
}

TEST(ExitCodes, AnUnknownOptionIsSaidBeforeWhatIsMissing) {
  CommandLine line;
  EXPECT_THAT(line.Run({"run", "--slot=2"}).err,
              HasSubstr("unknown option --slot; did you mean --slots?"));
  EXPECT_THAT(line.Run({"--colou=never"}).err,
              HasSubstr("unknown option --colou; did you mean --colour?"));
  EXPECT_THAT(line.Run({"run"}).err, HasSubstr("missing file: the sweep file"));
}

TEST(ExitCodes, ACommandThatIsMissingIsNamed) {
  CommandLine line;
  EXPECT_EQ(line.Run({}).err,
            "noisefloor: expected a command, such as run, plan or report\n"
            "See `noisefloor --help`.\n");
  EXPECT_EQ(line.Run({"data"}).err,
            "noisefloor: data: expected get, list or verify\nSee `noisefloor data --help`.\n");
}

TEST(ExitCodes, AnEmptyValueIsNotTheNextWord) {
  CommandLine line;
  EXPECT_EQ(line.Run({"export", "s1", "--to=", "--force"}).err,
            "noisefloor: --to: expected DIR, got nothing\nSee `noisefloor export --help`.\n");
  EXPECT_EQ(line.Run({"--home=", "members"}).err,
            "noisefloor: --home: expected DIR, got nothing\nSee `noisefloor members --help`.\n");
  EXPECT_THAT(line.Run({"members", "--output=", "json"}).err,
              HasSubstr("--output=: expected table or json"));
  // Behind a "--" nothing is an option.
  setenv("NOISEFLOOR_PYTHON", "/bin/echo", 1);
  EXPECT_EQ(line.Run({"conform", "--set=a=", "--", "x.py", "--name=", "y"}).out,
            "-m noisefloor.conform --set=a= -- x.py --name= y\n");
  unsetenv("NOISEFLOOR_PYTHON");
}

TEST(ExitCodes, AnAddressThatIsNoneIsAMistakeOfUsage) {
  CommandLine line;
  const Printed printed = line.Run({"status", "--coordinator=foo"});
  EXPECT_EQ(printed.code, kUsage);
  EXPECT_EQ(printed.err,
            "noisefloor: --coordinator: address 'foo': expected HOST:PORT\n"
            "See `noisefloor status --help`.\n");
}

TEST(ExitCodes, WhatIsNoUtf8IsAMistakeOfUsage) {
  CommandLine line;
  const Printed printed = line.Run({"update", "s1", "--notes=caf\xe9"});
  EXPECT_EQ(printed.code, kUsage);
  EXPECT_THAT(printed.err, HasSubstr("--notes=caf\xef\xbf\xbd: expected UTF-8\n"));
  EXPECT_EQ(line.Run({"update", "s1", "--notes", "caf\xe9"}).code, kUsage);
  EXPECT_EQ(line.Run({"explain", "caf\xe9"}).code, kUsage);
  // Files and folders may have any name.
  const std::string page = line.home() + "/caf\xe9.html";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan", "/tmp/caf\xe9.yaml"},
        {"report", "--to=" + page},
        {"report", "--to", page}}) {
    EXPECT_THAT(line.Run(words).err, Not(HasSubstr("expected UTF-8"))) << words[0];
  }
}

TEST(ExitCodes, AnEmptyNameOfASweepIsNotTheNewest) {
  CommandLine line;
  for (const std::string command : {"show", "export"}) {
    std::vector<std::string> words = {command, ""};
    if (command == "export") words.push_back("--to=" + line.home() + "/out");
    const Printed printed = line.Run(words);
    EXPECT_EQ(printed.code, kRefused) << command;
    EXPECT_THAT(printed.err, HasSubstr("sweep: expected a number such as s3, got nothing"));
  }
}

TEST(ExitCodes, AWrongChoiceIsNamedWithWhatWasExpected) {
  CommandLine line;
  EXPECT_EQ(line.Run({"members", "--output=xml"}).err,
            "noisefloor: --output=xml: expected table or json\n"
            "See `noisefloor members --help`.\n");
  EXPECT_EQ(line.Run({"completion", "fish"}).err,
            "noisefloor: shell fish: expected bash\nSee `noisefloor completion --help`.\n");
}

TEST(ExitCodes, AMistakeInsideACommandNamesTheHelpOfThatCommand) {
  CommandLine line;
  EXPECT_THAT(line.Run({"--home=x", "members", "--swep=s1"}).err,
              HasSubstr("See `noisefloor members --help`."));
  EXPECT_THAT(line.Run({"data", "list", "--bogus"}).err,
              HasSubstr("See `noisefloor data list --help`."));
}

TEST(ExitCodes, AWatchThatIsInterruptedIsStopped) {
  CannedAnswers answers;
  answers.sweep.set_id(1);
  answers.sweep.set_waiting(1);
  answers.on_watch = [] { kill(getpid(), SIGINT); };
  const CannedCoordinator coordinator(answers, true);
  CommandLine line;
  EXPECT_EQ(line.Run({"watch", "s1", "--coordinator=" + coordinator.address()}).code, kStopped);
}

TEST(Watch, IsOpenedAgainWhereTooManyOthersWatch) {
  CannedAnswers answers;
  answers.sweep.set_id(1);
  answers.sweep.set_done(1);
  answers.refused_watches = 2;
  const CannedCoordinator coordinator(answers, true);
  CommandLine line;
  const Printed printed = line.Run({"watch", "s1", "--coordinator=" + coordinator.address()});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(printed.out, "1/1 members  100 %\ns1 has ended: 1 member: 1 done\n");
}

TEST(Watch, GoesOnWhereItBrokeOffAndTellsNothingTwice) {
  CannedAnswers answers;
  answers.sweep.set_id(1);
  answers.sweep.set_done(1);
  answers.broken_watches = 1;
  answers.resume_token = 7;
  std::vector<uint64_t> places;
  answers.on_resume = [&places](uint64_t token) { places.push_back(token); };
  const CannedCoordinator coordinator(answers, true);
  CommandLine line;
  const Printed printed =
      line.Run({"watch", "s1", "--output=json", "--coordinator=" + coordinator.address()});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(std::ranges::count(printed.out, '\n'), 1) << printed.out;
  EXPECT_THAT(printed.out, HasSubstr("\"resume_token\":\"7\""));
  EXPECT_THAT(places, ::testing::ElementsAre(0u, 7u));
}

TEST(ExitCodes, AnAnswerThatDidNotComeIsToldInWords) {
  CannedAnswers answers;
  answers.refusal = "Deadline Exceeded";
  answers.refusal_code = grpc::StatusCode::DEADLINE_EXCEEDED;
  const CannedCoordinator late(answers, true);
  CommandLine line;
  const Printed none = line.Run({"cancel", "s1", "--coordinator=" + late.address()});
  EXPECT_EQ(none.code, kUnreachable);
  EXPECT_EQ(none.err,
            "noisefloor cancel: coordinator " + late.address() + ": gave no answer within 1m\n");
  answers.refusal = "No message returned for unary request";
  answers.refusal_code = grpc::StatusCode::INTERNAL;
  const CannedCoordinator damaged(answers, true);
  EXPECT_THAT(line.Run({"cancel", "s1", "--coordinator=" + damaged.address()}).err,
              HasSubstr("a text in its store is damaged"));
}

TEST(ExitCodes, WhatIsRefusedIsOne) {
  CommandLine line;
  const Printed id = line.Run({"explain", "c1"});
  EXPECT_EQ(id.code, kRefused);
  EXPECT_THAT(id.err, HasSubstr("noisefloor explain: there is no worker c1, and it is no id of a "
                                "sweep or member, such as s1 or s1c2r0"));
  const Printed home = line.Run({"members", "--home=" + line.home() + "/none"});
  EXPECT_EQ(home.code, kRefused);
  EXPECT_THAT(home.err, HasSubstr("no data directory " + line.home() + "/none"));
  const Printed both = line.Run({"run", "x.yaml", "--coordinator=127.0.0.1:1"});
  EXPECT_EQ(both.code, kRefused);
}

TEST(ExitCodes, ABrokenSweepFileIsOneAndNamedByItsPlace) {
  CommandLine line;
  const std::string path = line.home() + "/f.yaml";
  std::ofstream(path) << "name: x\nnoise: [control]\nreplicate: 2\n";
  const Printed printed = line.Run({"plan", path});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_EQ(printed.err, "noisefloor plan: " + path +
                             ":3:1: replicate: unknown key; did you mean replicates?\n");
}

TEST(ExitCodes, ACoordinatorThatCannotBeReachedIsThree) {
  const test::LoopbackPort port;
  CommandLine line;
  const Printed printed = line.Run({"members", "--coordinator=" + port.address()});
  EXPECT_EQ(printed.code, kUnreachable) << printed.err;
  EXPECT_THAT(printed.err, HasSubstr(port.address()));
}

TEST(ExitCodes, FollowTheStatus) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), kDone);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), kUnreachable);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), kUnreachable);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("")), kStopped);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), kRefused);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), kRefused);
}

TEST(Version, NeedsNoCoordinatorAndSpeaksJson) {
  CommandLine line;
  const Printed printed = line.Run({"version", "--output=json"});
  EXPECT_EQ(printed.code, kDone);
  EXPECT_THAT(printed.out, HasSubstr("\"program\""));
}

TEST(Version, AsAFlagPrintsTheSame) {
  CommandLine line;
  const Printed flag = line.Run({"--version"});
  EXPECT_EQ(flag.code, kDone);
  EXPECT_EQ(flag.out, line.Run({"version"}).out);
}

TEST(Hints, NameTheHomeThatWasGiven) {
  CommandLine line;
  line.answers().sweep.set_id(1);
  line.answers().sweep.set_waiting(1);
  EXPECT_THAT(line.Run({"watch", "s1"}).err, HasSubstr("`noisefloor run SWEEP.yaml` goes on"));
  const std::string other = line.home() + "/my data";
  std::filesystem::create_directories(other);
  std::ofstream(other + "/noisefloor.db") << "";
  EXPECT_THAT(line.Run({"watch", "s1", "--home=" + other}).err,
              HasSubstr("`noisefloor run SWEEP.yaml --home='" + other + "'` goes on"));
  const std::string quote = line.home() + "/it's";
  std::filesystem::create_directories(quote);
  std::ofstream(quote + "/noisefloor.db") << "";
  EXPECT_THAT(
      line.Run({"watch", "s1", "--home=" + quote}).err,
      HasSubstr("`noisefloor run SWEEP.yaml --home='" + line.home() + "/it'\\''s'` goes on"));
}

TEST(Manifests, AClassOfSeveralGpusHasSlotsOfSoMany) {
  CommandLine line;
  const Printed jobs = line.Run({"fleet", "manifest", "a", "--kubernetes", "--image=a/b:1",
                                 "--gpus=4", "--class=nvidia-a100-x4"});
  EXPECT_EQ(jobs.code, kDone) << jobs.err;
  EXPECT_THAT(jobs.out, HasSubstr("--gpus-per-slot=4"));
  const Printed unit = line.Run({"fleet", "manifest", "a", "--systemd", "--class=nvidia-h200-x2"});
  EXPECT_EQ(unit.code, kDone) << unit.err;
  EXPECT_THAT(unit.out, HasSubstr(" --classes=nvidia-h200-x2 --gpus-per-slot=2\n"));
  for (const char* name : {"nvidia-a100", "cpu-amd-avx2", "tpu-x4"}) {
    const Printed one =
        line.Run({"fleet", "manifest", "a", "--systemd", std::string("--class=") + name});
    EXPECT_EQ(one.code, kDone) << one.err;
    EXPECT_THAT(one.out, Not(HasSubstr("--gpus-per-slot")));
  }
}

TEST(Manifests, WhatIsNotSaidIsAsTheHelpSays) {
  CommandLine line;
  const auto printed = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"fleet", "manifest", "a", "--kubernetes", "--image=a/b:1"};
    words.insert(words.end(), more.begin(), more.end());
    const Printed jobs = line.Run(words);
    EXPECT_EQ(jobs.code, kDone) << jobs.err;
    return jobs.out;
  };
  // Of the limits; requests are the same.
  const auto amounts = [&](const std::string& text, const std::string& limits) {
    const std::string plain = absl::StrReplaceAll(text, {{"\"", ""}, {" ", ""}, {"\n", ","}});
    EXPECT_THAT(plain, HasSubstr("limits:," + limits)) << text;
  };
  const std::string none = printed({});
  amounts(none, "cpu:4,memory:16Gi,securityContext:");
  EXPECT_THAT(none, HasSubstr("--idle-timeout=300"));
  EXPECT_THAT(none, HasSubstr("--grace=30"));
  EXPECT_THAT(none, HasSubstr("# 1 worker of noisefloor"));
  amounts(printed({"--gpu=A100"}), "cpu:4,memory:16Gi,nvidia.com/gpu:1,");
  amounts(printed({"--gpus=3"}), "cpu:12,memory:48Gi,nvidia.com/gpu:3,");
  EXPECT_THAT(printed({"--time=1h"}), HasSubstr("--leave-after=3480")) << "2 minutes before";
}

TEST(Report, TakesTheFormFromTheEndingAndRefusesUnknownOnes) {
  CommandLine line;
  const std::string page = line.home() + "/x.html";
  EXPECT_EQ(line.Run({"report", "s1", "--to=" + page}).code, kDone);
  EXPECT_TRUE(std::filesystem::exists(page));
  const std::string pdf = line.home() + "/x.pdf";
  const Printed refused = line.Run({"report", "s1", "--to=" + pdf});
  EXPECT_EQ(refused.code, kRefused);
  EXPECT_EQ(refused.err, "noisefloor report: --to=" + pdf +
                             ": expected a name that ends in .txt, .json, .csv or .html, or "
                             "--form\n");
  EXPECT_FALSE(std::filesystem::exists(pdf));
  EXPECT_EQ(line.Run({"report", "s1", "--form=tables", "--to=" + pdf}).code, kDone);
}

}  // namespace
}  // namespace noisefloor::cli
