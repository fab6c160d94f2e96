#include "worker/daemon/options.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/access/access_file.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    std::string pattern = testing::TempDir() + "nf-options-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ + "/build/release/bin");
    std::filesystem::create_directories(folder_ + "/deploy/data");
    place_.executable = folder_ + "/build/release/bin/noisefloor-worker";
  }
  ~OptionsTest() override { std::filesystem::remove_all(folder_); }

  ParsedOptions Parse(std::vector<std::string> arguments) const {
    return ParseOptions(arguments, place_);
  }
  // The complaint about one argument beside good ones, without the way to the help.
  std::string Complaint(const std::string& argument) const {
    const ParsedOptions parsed = Parse({"--coordinator=box:7411", "--trainer=noop", argument});
    EXPECT_TRUE(parsed.exit);
    EXPECT_EQ(parsed.exit_code, 2);
    const std::string help = "See `noisefloor-worker --help`.\n";
    EXPECT_TRUE(parsed.text.ends_with(help)) << parsed.text;
    return parsed.text.substr(0, parsed.text.size() - help.size());
  }

  std::string folder_;
  ProgramPlace place_;
};

TEST_F(OptionsTest, ACoordinatorAndATrainerAreEnough) {
  const ParsedOptions parsed = Parse({"--coordinator=box:7411", "--trainer=noop"});
  ASSERT_FALSE(parsed.exit) << parsed.text;
  EXPECT_EQ(ToText(parsed.options.coordinator), "box:7411");
  EXPECT_THAT(parsed.options.trainers, ElementsAre(Pair("noop", IsEmpty())));
  EXPECT_THAT(parsed.options.data_roots, ElementsAre(folder_ + "/deploy/data"));
  EXPECT_THAT(parsed.options.classes, IsEmpty());
  EXPECT_EQ(parsed.options.drain_timeout, absl::InfiniteDuration());
  EXPECT_EQ(parsed.options.lifetime, absl::InfiniteDuration());
  EXPECT_EQ(parsed.options.hello_timeout, absl::Minutes(10));
  EXPECT_EQ(parsed.options.silence_timeout, absl::Hours(1));
  EXPECT_EQ(parsed.options.kill_timeout, absl::Minutes(5));
  EXPECT_EQ(parsed.options.grace, absl::Seconds(10));
  EXPECT_EQ(parsed.options.checkpoint_every, absl::Minutes(1));
  EXPECT_EQ(parsed.options.give_up_after, absl::InfiniteDuration());
  EXPECT_EQ(parsed.options.idle_timeout, absl::InfiniteDuration());
  EXPECT_EQ(parsed.options.leave_after, absl::InfiniteDuration());
  EXPECT_EQ(parsed.options.state_wait, absl::ZeroDuration());
  EXPECT_EQ(parsed.options.spool_limit_bytes, uint64_t{16} << 30);
  EXPECT_EQ(parsed.options.stopped_code, 0);
  EXPECT_FALSE(parsed.options.state_is_temporary);
  EXPECT_FALSE(parsed.options.follows);
  EXPECT_TRUE(parsed.options.standby);
  EXPECT_TRUE(parsed.options.use_cache);
  EXPECT_EQ(parsed.options.cache, "") << "in the state directory";
  EXPECT_EQ(parsed.options.cache_limit_mib, 4096u);
}

TEST_F(OptionsTest, TheCacheOfTheEnvironmentIsUsedUnlessAnotherIsNamed) {
  place_.noisefloor_cache = "/shared";
  EXPECT_EQ(Parse({"--coordinator=b:1", "--trainer=noop"}).options.cache, "/shared");
  EXPECT_EQ(Parse({"--coordinator=b:1", "--trainer=noop", "--cache=/own"}).options.cache, "/own");
  EXPECT_EQ(Parse({"--coordinator=b:1", "--trainer=noop", "--cache=own"}).options.cache,
            std::filesystem::absolute("own").string());
  EXPECT_EQ(Complaint("--cache-limit=0"),
            "noisefloor-worker: --cache-limit=0: expected 1 to 1073741824 MiB\n");
}

TEST_F(OptionsTest, EverythingCanBeSaid) {
  const ParsedOptions parsed = Parse({"--coordinator",       "[::1]:1",
                                      "--name=a.b-c_1",      "--state=/x",
                                      "--slots=3",           "--classes=cpu-amd-sse,cpu-amd-avx2",
                                      "--data-root=/d1:/d2", "--trainer=t1=/p=1",
                                      "--trainer=t2=/p2",    "--grace=0.5",
                                      "--drain-timeout=60",  "--give-up-after=5",
                                      "--hello-timeout=7",   "--silence-timeout=0",
                                      "--spool-limit=10",    "--no-standby",
                                      "--no-cache",          "--cache=/c",
                                      "--cache-limit=7",     "--log-level=debug",
                                      "--log-format=json",   "--checkpoints=/k",
                                      "--idle-timeout=9",    "--state-temporary",
                                      "--lifetime=14400",    "--checkpoint-every=0",
                                      "--kill-timeout=0.5",  "--stopped-code=75",
                                      "--leave-after=11",    "--state-wait=3"});
  ASSERT_FALSE(parsed.exit) << parsed.text;
  const Options& options = parsed.options;
  EXPECT_EQ(options.layout.cpu_slots, 3u);
  EXPECT_THAT(options.classes, ElementsAre("cpu-amd-sse", "cpu-amd-avx2"));
  EXPECT_THAT(options.data_roots, ElementsAre("/d1", "/d2", folder_ + "/deploy/data"));
  EXPECT_THAT(options.trainers,
              ElementsAre(Pair("t1", ElementsAre("/p=1")), Pair("t2", ElementsAre("/p2"))));
  EXPECT_EQ(options.grace, absl::Milliseconds(500));
  EXPECT_EQ(options.drain_timeout, absl::Seconds(60));
  EXPECT_EQ(options.give_up_after, absl::Seconds(5));
  EXPECT_EQ(options.idle_timeout, absl::Seconds(9));
  EXPECT_EQ(options.lifetime, absl::Hours(4));
  EXPECT_EQ(options.leave_after, absl::Seconds(11));
  EXPECT_EQ(options.state_wait, absl::Seconds(3));
  EXPECT_TRUE(options.state_is_temporary);
  EXPECT_EQ(options.hello_timeout, absl::Seconds(7));
  EXPECT_EQ(options.silence_timeout, absl::InfiniteDuration());
  EXPECT_EQ(options.kill_timeout, absl::Milliseconds(500));
  EXPECT_EQ(options.stopped_code, 75);
  EXPECT_EQ(options.spool_limit_bytes, 10u << 20);
  EXPECT_FALSE(options.standby);
  EXPECT_FALSE(options.use_cache);
  EXPECT_EQ(options.cache, "/c");
  EXPECT_EQ(options.cache_limit_mib, 7u);
  EXPECT_EQ(options.checkpoints, "/k");
  EXPECT_EQ(options.checkpoint_every, absl::InfiniteDuration());
  EXPECT_EQ(options.log_format, LogFormat::kJson);
  EXPECT_EQ(options.log_level, LogLevel::kDebug);
  EXPECT_EQ(ToText(options.coordinator), "[::1]:1");
  EXPECT_EQ(options.name, "a.b-c_1");
  EXPECT_EQ(options.state, "/x");
}

TEST_F(OptionsTest, WrongValuesAreRefusedWithWhatWasExpected) {
  EXPECT_EQ(Complaint("--solts=2"),
            "noisefloor-worker: unknown option --solts; did you mean --slots?\n");
  EXPECT_EQ(Complaint("two"), "noisefloor-worker: unexpected argument two\n");
  EXPECT_EQ(Complaint("--slots=0"), "noisefloor-worker: --slots=0: expected 1 or more\n");
  EXPECT_EQ(Complaint("--slots=5000"), "noisefloor-worker: --slots=5000: expected 1 to 512\n");
  EXPECT_EQ(Complaint("--cores-per-slot=0"),
            "noisefloor-worker: --cores-per-slot=0: expected 1 to 4096\n");
  EXPECT_EQ(Complaint("--name=a b"),
            "noisefloor-worker: --name=a b: expected at most 100 letters, digits, '-', '_' or "
            "'.'\n");
  EXPECT_EQ(Complaint("--trainer=torch"),
            "noisefloor-worker: --trainer=torch: expected STACK=COMMAND, noop or ours\n");
  EXPECT_EQ(Complaint("--grace=-1"),
            "noisefloor-worker: --grace=-1: expected seconds from 0 to 1e9\n");
  EXPECT_EQ(Complaint("--checkpoint-every=-1"),
            "noisefloor-worker: --checkpoint-every=-1: expected seconds from 0 to 1e9\n");
  EXPECT_EQ(Complaint("--log-level=loud"),
            "noisefloor-worker: --log-level=loud: expected debug, info, warning, error or off\n");
  EXPECT_EQ(Complaint("--log-format=xml"),
            "noisefloor-worker: --log-format=xml: expected text or json\n");
  EXPECT_EQ(Complaint("--spool-limit=0"),
            "noisefloor-worker: --spool-limit=0: expected 1 to 1073741824 MiB\n");
  EXPECT_EQ(Complaint("--copy-stacks=" + folder_ + "/nowhere"),
            "noisefloor-worker: --copy-stacks=" + folder_ + "/nowhere: there is no such folder\n");
  EXPECT_THAT(
      Parse({"--coordinator=box:1", "--trainer=noop", "--copy-stacks=" + folder_, "--no-cache"})
          .text,
      HasSubstr("--copy-stacks and --no-cache: expected one of them"));
  EXPECT_THAT(Parse({"--coordinator=box:1", "--fetch-stack=torch-2.7", "--no-cache"}).text,
              HasSubstr("--fetch-stack and --no-cache: expected one of them"));
  for (const char* wrong : {"=bin/t", "../up", ".up", "a/b", "torch-2.7="}) {
    EXPECT_THAT(Complaint(std::string("--fetch-stack=") + wrong),
                HasSubstr("expected NAME, or NAME=PROGRAM"))
        << wrong;
  }
  EXPECT_THAT(Complaint("--stacks=torch-1.0"),
              HasSubstr("--stacks=torch-1.0: expected stacks of noisefloor: torch-2.11-cu130, "
                        "torch-2.7-cu126"));
  EXPECT_EQ(ParseStackWish("torch-2.7")->program, "libexec/noisefloor-trainer");
  EXPECT_EQ(*ParseStackWish("mine=bin/t=1"), (StackWish{"mine", "bin/t=1"}));
  EXPECT_THAT(Complaint("--slots=many"), HasSubstr("--slots"));
  EXPECT_THAT(Complaint("--colour"), HasSubstr("--colour"));
}

TEST_F(OptionsTest, TheCoordinatorIsRequiredAndChecked) {
  EXPECT_EQ(Parse({"--trainer=noop"}).text,
            "noisefloor-worker: which coordinator? expected --coordinator=HOST:PORT, "
            "$NOISEFLOOR_COORDINATOR, or an access file in $NOISEFLOOR_ACCESS or "
            "~/.config/noisefloor/access\n"
            "See `noisefloor-worker --help`.\n");
  EXPECT_EQ(Parse({"--trainer=noop", "--coordinator=box"}).text,
            "noisefloor-worker: --coordinator: address 'box': expected HOST:PORT\n"
            "See `noisefloor-worker --help`.\n");
}

// What was said stays; what an access file says may be another address tomorrow.
TEST_F(OptionsTest, OnlyTheAddressOfAnAccessFileIsFollowed) {
  const std::string path = folder_ + "/access";
  ASSERT_TRUE(WriteAccessFile(path, {"box:1", "nfl_a_b", "-----BEGIN CERTIFICATE-----\n"}).ok());
  place_.access_places = {"", path};
  Options options = Parse({"--trainer=noop"}).options;
  EXPECT_EQ(ToText(options.coordinator), "box:1");
  EXPECT_EQ(options.access_file, path);
  EXPECT_TRUE(options.follows);

  options = Parse({"--trainer=noop", "--coordinator=box:1"}).options;
  EXPECT_EQ(options.access_file, path) << "it names that one";
  EXPECT_FALSE(options.follows);
  place_.noisefloor_coordinator = "box:1";
  EXPECT_EQ(Parse({"--trainer=noop"}).options.access_file, path);
  EXPECT_FALSE(Parse({"--trainer=noop"}).options.follows);
}

TEST_F(OptionsTest, TheTrainerBesideTheProgramIsTheDefault) {
  EXPECT_EQ(Parse({"--coordinator=box:1"}).text,
            "noisefloor-worker: no trainer: there is no " + folder_ +
                "/build/release/bin/noisefloor-trainer; expected --trainer=STACK=COMMAND\n"
                "See `noisefloor-worker --help`.\n");

  const std::string trainer = folder_ + "/build/release/bin/noisefloor-trainer";
  std::ofstream(trainer) << "";

  EXPECT_THAT(Parse({"--coordinator=box:1"}).options.trainers,
              ElementsAre(Pair("", ElementsAre(trainer))));
}

TEST_F(OptionsTest, StacksAreThoseThatAreInstalledBesideOurs) {
  place_.noisefloor_cache = folder_ + "/cache";
  const std::string programs = folder_ + "/build/release/bin/noisefloor-trainer";
  for (const char* of : {"", "-torch-2.7-cu126"}) std::ofstream(programs + of) << "program" << of;
  const std::string stack = folder_ + "/cache/stacks/torch-2.7-cu126";
  const auto parse = [&] {
    return Parse({"--coordinator=box:1", "--stacks=torch-2.7-cu126,torch-2.11-cu130"});
  };
  EXPECT_EQ(parse().text, "noisefloor-worker: stack torch-2.7-cu126: its LibTorch is not in " +
                              stack +
                              "; `noisefloor stacks install torch-2.7-cu126` gets it\n"
                              "See `noisefloor-worker --help`.\n");

  std::filesystem::create_directories(stack + "/torch/lib");
  std::ofstream(stack + "/torch/lib/libtorch_cpu.so") << "library";
  std::ofstream(stack + "/.libtorch") << "torch==2.7.1\n";

  EXPECT_THAT(
      parse().options.trainers,
      ElementsAre(Pair("", ElementsAre(programs)),
                  Pair("torch-2.7-cu126", ElementsAre(stack + "/libexec/noisefloor-trainer"))));
}

TEST_F(OptionsTest, ATrainerIsAPathOrACommandOfWords) {
  const auto words = [&](const std::string& command) {
    return Parse({"--coordinator=box:1", "--trainer=mine=" + command})
        .options.trainers.find("mine")
        ->second;
  };
  EXPECT_THAT(words("python3 train.py --fast"), ElementsAre("python3", "train.py", "--fast"));
  EXPECT_THAT(words("python3 'my train.py'"), ElementsAre("python3", "my train.py"));
  const std::string path = folder_ + "/my trainer";
  std::ofstream(path) << "";
  EXPECT_THAT(words(path), ElementsAre(path)) << "a file that is there, whatever its name";
  EXPECT_EQ(
      Complaint("--trainer=mine=python $(touch /tmp/x)"),
      "noisefloor-worker: --trainer=mine=python $(touch /tmp/x): expected a path or a command "
      "of plain words\n");
  EXPECT_THAT(Complaint("--trainer=mine=a 'b"), HasSubstr("expected a path or a command"));
  EXPECT_THAT(Complaint("--trainer=mine=a; b"), HasSubstr("expected a path or a command"));
}

TEST_F(OptionsTest, OursMayStandBesideOthers) {
  const std::string trainer = folder_ + "/build/release/bin/noisefloor-trainer";
  EXPECT_THAT(Parse({"--coordinator=box:1", "--trainer=ours", "--trainer=t=/p"}).options.trainers,
              ElementsAre(Pair("t", ElementsAre("/p"))))
      << "where it is not installed, the others do";
  std::ofstream(trainer) << "";
  EXPECT_THAT(Parse({"--coordinator=box:1", "--trainer=t=/p"}).options.trainers,
              ElementsAre(Pair("t", ElementsAre("/p"))));
  EXPECT_THAT(Parse({"--coordinator=box:1", "--trainer=ours", "--trainer=t=/p"}).options.trainers,
              ElementsAre(Pair("", ElementsAre(trainer)), Pair("t", ElementsAre("/p"))));
}

TEST_F(OptionsTest, HardwareIsDeclaredByNamesThatAreNotFound) {
  EXPECT_EQ(Parse({"--coordinator=b:1", "--trainer=noop", "--declare=tpu-v4"}).options.declared,
            "tpu-v4");
  for (const char* name : {"cpu-amd-avx2", "nvidia-h200", "TPU-v4", "tpu", "-v4", "tpu v4"}) {
    EXPECT_THAT(Complaint(std::string("--declare=") + name),
                HasSubstr("expected lower-case letters"))
        << name;
  }
  EXPECT_EQ(
      Parse({"--coordinator=b:1", "--trainer=noop", "--declare=tpu-v4", "--classes=cpu-amd-sse"})
          .text,
      "noisefloor-worker: --declare and --classes: expected only one of them\n"
      "See `noisefloor-worker --help`.\n");
}

TEST_F(OptionsTest, ASlotHasSeveralGpusOrAGpuSeveralSlots) {
  const auto parse = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--coordinator=b:1", "--trainer=noop"});
    return Parse(more);
  };
  EXPECT_EQ(parse({"--gpus-per-slot=2"}).options.layout.gpus_per_slot, 2u);
  EXPECT_EQ(parse({"--gpus-per-slot=1", "--slots-per-gpu=2"}).options.layout.slots_per_gpu, 2u);
  EXPECT_EQ(parse({"--gpus-per-slot=2", "--slots-per-gpu=2"}).text,
            "noisefloor-worker: --gpus-per-slot and --slots-per-gpu: expected only one of them "
            "above 1\nSee `noisefloor-worker --help`.\n");
}

TEST_F(OptionsTest, TheEnvironmentNamesDataBeforeTheSample) {
  place_.noisefloor_data = "/data:/more";
  EXPECT_THAT(Parse({"--coordinator=box:1", "--trainer=noop"}).options.data_roots,
              ElementsAre("/data", "/more", folder_ + "/deploy/data"));
}

TEST_F(OptionsTest, HelpShowsExamplesAndExitCodes) {
  const ParsedOptions help = Parse({"--help"});
  EXPECT_TRUE(help.exit);
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.text, HasSubstr("Examples:"));
  EXPECT_THAT(help.text,
              HasSubstr("Exit codes: 0 done, 1 refused, 2 usage, 3 unreachable, 4 a trainer"));
  EXPECT_THAT(Parse({"--version"}).text, HasSubstr("noisefloor-worker 0."));
}

TEST_F(OptionsTest, AnEmptyValueIsNotTheNextWord) {
  const std::vector<std::string> good = {"--coordinator=box:7411", "--trainer=noop"};
  for (const auto& [option, type] : {std::pair("--state", "DIR"), std::pair("--cache", "DIR"),
                                     std::pair("--classes", "CLASS"), std::pair("--slots", "N")}) {
    std::vector<std::string> words = good;
    words.insert(words.end(), {std::string(option) + "=", "--no-standby"});
    const ParsedOptions parsed = Parse(words);
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_THAT(parsed.text, HasSubstr(std::string("noisefloor-worker: ") + option + ": expected " +
                                       type + ", got nothing\n"));
  }
}

TEST_F(OptionsTest, HelpSaysWhatEachOptionTakes) {
  const std::string help = Parse({"--help"}).text;
  EXPECT_THAT(help, HasSubstr("--coordinator HOST:PORT"));
  EXPECT_THAT(help, HasSubstr("--grace SECONDS=10"));
  EXPECT_THAT(help, HasSubstr("separated by ','"));
  EXPECT_THAT(help, HasSubstr("--coordinator=127.0.0.1:7077")) << "where serve listens";
  for (const char* word : {"TEXT", "FLOAT", " UINT"}) {
    EXPECT_THAT(help, testing::Not(HasSubstr(word)));
  }
}

}  // namespace
}  // namespace noisefloor
