// The programs as a person uses them: `run` on the bundled sample with the real trainer, then every
// command that reads what it left.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/files/directory.h"
#include "tests/integration/process.h"
#include "worker/daemon/leftovers.h"

namespace noisefloor::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Minutes(5);  // Against hanging.

struct Ended {
  int code = -1;
  std::string out;
  std::string err;
};

class RunTest : public testing::Test {
 protected:
  RunTest() {
    std::string pattern = testing::TempDir() + "nf-run-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~RunTest() override { (void)RemoveTree(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::string Sweep(const std::string& text) const {
    std::ofstream(Path("sweep.yaml")) << text;
    return Path("sweep.yaml");
  }

  Ended Do(std::vector<std::string> arguments) const { return Do({}, std::move(arguments)); }

  // `before`: a command that runs the program.
  Ended Do(const std::vector<std::string>& before, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), NOISEFLOOR);
    arguments.insert(arguments.begin(), before.begin(), before.end());
    arguments.push_back("--home=" + Path("home"));
    std::filesystem::remove(Path("err"));
    auto process = Process::Start(arguments, Path("err"));
    EXPECT_TRUE(process.ok()) << process.status();
    Ended ended;
    if (!process.ok()) return ended;
    while (true) {
      const auto line = process->ReadLine(kPatience);
      if (!line.ok()) break;
      ended.out += *line + "\n";
    }
    ended.code = process->Wait(kPatience).value_or(-1);
    ended.err = EndOfFile(Path("err"), 1 << 16);
    return ended;
  }

  json Json(std::vector<std::string> arguments) const {
    arguments.push_back("--output=json");
    const Ended ended = Do(std::move(arguments));
    EXPECT_EQ(ended.code, 0) << ended.err;
    return json::parse(ended.out, nullptr, false);
  }

  std::string HardwareHere() const {
    const std::string any =
        Sweep("name: any\ndata: {name: fashion-mnist-sample}\nnoise: [control]\nhardware: all\n");
    return Json({"plan", any})["cells"][0]["hardware"].get<std::string>();
  }

  std::string folder_;
};

// False when none of these appeared in time. Woken by the file's changes; its folder must be there.
bool WaitForAnyText(const std::string& path, const std::vector<std::string>& texts) {
  const int watch = inotify_init1(IN_CLOEXEC);
  std::ofstream(path, std::ios::app).flush();
  EXPECT_GE(inotify_add_watch(watch, path.c_str(), IN_MODIFY), 0) << path;
  const auto any = [&](const std::string& read) {
    return std::ranges::any_of(
        texts, [&](const auto& text) { return read.find(text) != std::string::npos; });
  };
  bool found = false;
  while (!(found = any(EndOfFile(path, 1 << 16)))) {
    pollfd wait = {watch, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(kPatience))) != 1) break;
    char events[4096];
    if (read(watch, events, sizeof events) <= 0) break;
  }
  close(watch);
  return found;
}

bool WaitForText(const std::string& path, const std::string& text) {
  return WaitForAnyText(path, {text});
}

// Two learning rates, one of which cannot work; 2 x 2 plans x 2 replicates on one class.
std::string HealthyAndHopeless(const std::string& hardware) {
  return fmt::format(R"(name: hopeless
model: {{name: small_cnn}}
data: {{name: fashion-mnist-sample, train_examples: 512, test_examples: 200}}
train:
  epochs: 1
  batch_size: 64
  shards: 4
  optimizer: {{name: sgd, learning_rate: 0.05, momentum: 0.9}}
axes:
  train.optimizer.learning_rate: [0.05, 1000000.0]
noise: [control, algo]
hardware: [{}]
replicates: 2
)",
                     hardware);
}

// Train-on x infer-on: on the class that trained them the predictions are theirs to the bit, and a
// file of weights gives what these weights gave.
TEST_F(RunTest, WeightsThatAreEvaluatedWhereTheyWereTrainedPredictTheSame) {
  const std::string here = HardwareHere();
  const Ended run = Do({"run", Sweep(fmt::format(R"(name: trained
model: {{name: small_cnn, batch_norm: true}}
data: {{name: fashion-mnist-sample, train_examples: 256, test_examples: 200}}
train: {{epochs: 1, batch_size: 64}}
noise: [algo]
hardware: [{}]
replicates: 2
)",
                                                 here))});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(Do({"infer", "s1", "--member=s2c0r0"}).code, 1) << "no member of s1";
  const Ended elsewhere = Do({"infer", "s1", "--hardware=nvidia-none"});
  EXPECT_EQ(elsewhere.code, 1);
  EXPECT_THAT(elsewhere.err, HasSubstr("this machine has no nvidia-none; it has cpu-"));

  const json members = Json({"infer", "s1"})["members"];

  std::set<std::string> classes;
  int same = 0;
  for (const json& member : members) {
    EXPECT_EQ(member["state"], "done") << member;
    EXPECT_EQ(member["train_hardware"], here);
    classes.insert(member["infer_hardware"].get<std::string>());
    if (member["infer_hardware"] != here) continue;
    ++same;
    EXPECT_EQ(member["same_logits"], "yes") << member;
    EXPECT_EQ(member["top1"], member["train_top1"]);
    EXPECT_EQ(member["loss"], member["train_loss"]);
  }
  EXPECT_EQ(same, 2);
  EXPECT_EQ(members.size(), 2 * classes.size());
  EXPECT_TRUE(classes.contains(here));
  EXPECT_THAT(Do({"sql", "SELECT count(*), sum(same_logits) FROM v_infer WHERE infer_hardware = '" +
                             here + "'"})
                  .out,
              HasSubstr("2"));

  ASSERT_EQ(Do({"export", "s2", "--to", Path("inferred")}).code, 0);
  EXPECT_TRUE(PathExists(Path("inferred/predictions/s2c0r0.npy")));
  EXPECT_FALSE(PathExists(Path("inferred/study.json")));
  std::ifstream csv(Path("inferred/infer.csv"));
  std::string line;
  std::getline(csv, line);
  EXPECT_TRUE(line.starts_with("member,subject,weights_file,train_hardware,infer_hardware,"))
      << line;
  std::getline(csv, line);
  EXPECT_TRUE(line.starts_with("s2c0r0,s1c0r0,," + here + ",")) << line;

  ASSERT_EQ(Do({"export", "s1", "--to", Path("trained")}).code, 0);
  const json given = Json({"infer", "s1", "--hardware=" + here,
                           "--weights=" + Path("trained/weights/s1c0r1.safetensors")})["members"];
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0]["weights_file"], "s1c0r1.safetensors");
  EXPECT_EQ(given[0]["subject"], "s1c0r0");
  EXPECT_EQ(given[0]["same_logits"], "");
  const json trained = Json({"members", "s1"})["members"];
  EXPECT_EQ(given[0]["logits_sha256"], trained[1]["hashes"]["logits"]);
  EXPECT_EQ(Do({"infer", "s1", "--weights=" + Path("sweep.yaml")}).code, 1) << "no weights";
}

// Without data: a measurement draws its images. On a processor it says that it is vacuous.
TEST_F(RunTest, AMeasurementSaysWhatDeterminismCosts) {
  const std::string here = HardwareHere();
  const Ended run = Do({"run", Sweep(fmt::format(R"(name: cost
kind: measure
measure: {{steps: 5, warmup: 1, image_size: 16, classes: 7}}
train: {{batch_size: 8, optimizer: {{learning_rate: 0.01}}}}
axes: {{model.name: [small_cnn, mlp]}}
noise: [impl]
hardware: [{}]
)",
                                                 here))});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("vacuous here"));
  EXPECT_THAT(run.out, HasSubstr("aten::convolution_backward"));
  EXPECT_THAT(Do({"sql", "SELECT kind FROM sweep"}).out, HasSubstr("measure"));

  const json study = Json({"report", "s1"});
  ASSERT_EQ(study["rows"].size(), 2u);
  for (const json& row : study["rows"]) {
    EXPECT_EQ(row["hardware"], here);
    EXPECT_EQ(row["bits"], "equal");
    EXPECT_EQ(row["ratio"]["n"], 5);
    EXPECT_GT(row["ratio"]["value"], 0);
    EXPECT_EQ(row["samples"][0]["rounds"], (std::vector<int>{1, 2, 3, 4, 5}));
    EXPECT_FALSE(row["kernels"]["plan"].empty());
  }
  EXPECT_EQ(study["rows"][1]["network"], "mlp");
  EXPECT_THAT(Do({"sql", "SELECT count(*) FROM v_record WHERE metric = 'plan/wall_seconds'"}).out,
              HasSubstr("10"));

  ASSERT_EQ(Do({"export", "s1", "--to", Path("cost")}).code, 0);
  EXPECT_TRUE(PathExists(Path("cost/kernels/s1c0r0.json")));
  EXPECT_TRUE(PathExists(Path("cost/study.csv")));
  EXPECT_TRUE(PathExists(Path("cost/report.html")));
  EXPECT_THAT(Do({"replay", "s1c0r0"}).err, HasSubstr("s1c0r0 is a measurement"));
  EXPECT_THAT(Do({"infer", "s1"}).err, HasSubstr("s1 is of kind measure"));
}

TEST_F(RunTest, AHopelessLearningRateEndsAsDivergedBesideHealthyMembers) {
  const std::string file = Sweep(HealthyAndHopeless(HardwareHere()));
  const Ended run = Do({"run", file});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("report: "));

  const json members = Json({"members", "s1"})["members"];
  ASSERT_EQ(members.size(), 8u);
  int diverged = 0;
  for (const json& member : members) {
    const json& training = member["specification"]["train"];
    const bool hopeless = training["optimizer"]["learning_rate"].get<double>() > 1;
    EXPECT_EQ(member["state"], hopeless ? "diverged" : "done") << member["id"];
    if (hopeless) {
      EXPECT_EQ(member["metrics"]["loss"], "nan") << member["id"];
    }
    diverged += hopeless ? 1 : 0;
  }
  EXPECT_EQ(diverged, 4);

  const Ended again = Do({"run", file});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("already ended")) << "the same command does nothing twice";

  // One of each plan, and one that diverged.
  std::set<std::string> replayed;
  for (const json& member : members) {
    const bool done = member["state"] == "done";
    const std::string kind = done ? member["plan"].get<std::string>() : "diverged";
    if (!replayed.insert(kind).second) continue;
    const Ended replay = Do({"replay", member["id"].get<std::string>()});
    EXPECT_EQ(replay.code, 0) << kind << ": " << replay.err;
    EXPECT_THAT(replay.out, HasSubstr("held: equal bits")) << kind;
  }
  EXPECT_EQ(replayed.size(), 3u);
}

TEST_F(RunTest, ARunThatWasKilledGoesOnWhereItWas) {
  const std::string file = Sweep(
      "name: killed\nmodel: {name: small_cnn}\ndata: {name: fashion-mnist-sample}\n"
      "train: {epochs: 2, shards: 4}\nnoise: [control]\nhardware: [" +
      HardwareHere() + "]\nreplicates: 9\n");
  // Several may end between two lines of progress, so which of these is seen is not known.
  std::vector<std::string> on_its_way;
  for (int done = 1; done < 9; ++done) {
    on_its_way.push_back(fmt::format("\n{}/9 members", done));
  }
  {
    auto killed = Process::Start({NOISEFLOOR, "run", file, "--home=" + Path("home")}, Path("log"));
    ASSERT_TRUE(killed.ok()) << killed.status();
    ASSERT_TRUE(WaitForAnyText(Path("log"), on_its_way)) << EndOfFile(Path("log"), 1 << 12);
    ASSERT_TRUE(killed->Signal(SIGKILL));
    ASSERT_TRUE(killed->Wait(kPatience).ok());
  }

  const Ended again = Do({"run", file});

  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("going on with s1"));
  EXPECT_THAT(again.out, HasSubstr("9 members, 9 done"));
  EXPECT_THAT(again.out, HasSubstr("The control cohort is bit-identical (at most "));
  // What was done is not trained again.
  const Ended members = Do({"members", "s1", "--output=json"});
  ASSERT_EQ(members.code, 0) << members.err;
  int once = 0;
  const json told = json::parse(members.out);
  for (const json& member : told["members"]) {
    EXPECT_LE(member["attempt"], 2) << member;
    once += member["attempt"] == 1 ? 1 : 0;
  }
  EXPECT_GE(once, 1);
}

// The pilot of five spreads by more than half a percent, so that the run trains on, to the most.
TEST_F(RunTest, APilotDecidesHowManyMembersARunTrains) {
  const std::string file = Sweep(
      "name: enough\nmodel: {name: small_cnn}\n"
      "data: {name: fashion-mnist-sample, train_examples: 128, test_examples: 100}\n"
      "train: {epochs: 1, batch_size: 64}\nnoise: [control, algo]\nhardware: [" +
      HardwareHere() + "]\nreplicates: 5\nuntil: {figure: churn, half_width: 0.5%, most: 7}\n");

  const Ended ended = Do({"run", file});

  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err,
              HasSubstr("s1 extended by 2 members, 0 new cells: 12 members in 2 cells, by "
                        "its `until`: algo takes 7 replicates: churn spreads by"));
  EXPECT_THAT(ended.out, HasSubstr("12 members, 12 done"));
  EXPECT_THAT(ended.out, HasSubstr("algo has 7 after a pilot of 5"));
  EXPECT_FALSE(Json({"status", "s1"})["sweep"]["undecided"].get<bool>());
  const Ended again = Do({"run", file});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("already ended: s1: 12 members"));
}

TEST_F(RunTest, ASecondInterruptEndsTheWorkerAndItsTrainersAtOnce) {
  const std::string file = Sweep(
      "name: long\nmodel: {name: small_cnn}\ndata: {name: fashion-mnist-sample}\n"
      "train: {epochs: 9000}\nnoise: [control]\nhardware: [" +
      HardwareHere() + "]\n");
  auto run = Process::Start({NOISEFLOOR, "run", file, "--home=" + Path("home")}, Path("log"));
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_TRUE(WaitForText(Path("log"), "started s1"));
  ASSERT_TRUE(WaitForText(Path("home/worker.log"), "trainer_started"));
  const std::string state = Path("home/worker");
  const std::vector<int> trained = FindLeftovers(state);
  ASSERT_FALSE(trained.empty());
  ASSERT_TRUE(run->Signal(SIGINT));
  ASSERT_TRUE(WaitForText(Path("log"), "Ctrl-C again: at once"));
  ASSERT_TRUE(run->Signal(SIGINT));
  const auto code = run->Wait(kPatience);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, 130);

  // Its worker has gone with it: the state is free, and nobody trains on.
  const int lock = open((state + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(lock, 0);
  EXPECT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0) << "the worker is still there";
  close(lock);
  for (const int process : FindLeftovers(state)) {
    const int ended = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (ended < 0) continue;
    pollfd wait = {ended, POLLIN, 0};
    EXPECT_EQ(poll(&wait, 1, 10000), 1) << "process " << process << " trains on";
    close(ended);
  }
}

TEST_F(RunTest, AHomeThatCannotBeWrittenToCanBeRead) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root may mount";
  const std::string file = Sweep(
      "name: kept\nmodel: {name: mlp}\ndata: {name: fashion-mnist-sample, train_examples: 256, "
      "test_examples: 100}\ntrain: {epochs: 1}\nnoise: [control]\nreplicates: 2\nhardware: [" +
      HardwareHere() + "]\n");
  ASSERT_EQ(Do({"run", file}).code, 0);
  const Ended before = Do({"report", "s1"});
  std::ofstream(Path("home/blobs/00/1.aside-x")) << "what a killed writer left";
  const std::vector<std::string> read_only = {
      "/usr/bin/unshare",
      "--mount",
      "--propagation",
      "private",
      "/bin/sh",
      "-c",
      R"(mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@")",
      Path("home")};

  const Ended report = Do(read_only, {"report", "s1"});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_EQ(report.out, before.out);
  const Ended asked = Do(read_only, {"sql", "SELECT name FROM v_sweep"});
  EXPECT_EQ(asked.out, "name\nkept\n") << asked.err;
  EXPECT_EQ(Do(read_only, {"export", "s1", "--to", Path("exported")}).code, 0);
  const Ended retry = Do(read_only, {"retry", "s1"});
  EXPECT_EQ(retry.code, 1);
  EXPECT_THAT(retry.err, HasSubstr("cannot be written to (Read-only file system)"));
}

TEST_F(RunTest, WhyMembersFailedStandsWhereOneLooks) {
  const std::string data = Path("data/fashion-mnist");
  std::filesystem::create_directories(data);
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                           "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    std::ofstream(data + "/" + name) << "no images";
  }
  const Ended run =
      Do({"run",
          Sweep("name: broken\ndata: {name: fashion-mnist}\nnoise: [control]\nhardware: [" +
                HardwareHere() + "]\nreplicates: 2\n"),
          "--data-root=" + Path("data")});
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_THAT(run.err, HasSubstr("s1c0r0 bad_data: "));
  EXPECT_THAT(run.err, HasSubstr("2 members failed, bad_data: "));
}

TEST_F(RunTest, ADataSetThatIsNotHereIsRefusedWithWhatToDo) {
  std::filesystem::create_directory(Path("empty"));
  const Ended run = Do({"run",
                        Sweep("name: absent\ndata: {name: cifar100}\nnoise: [control]\n"
                              "hardware: all\n"),
                        "--data-root=" + Path("empty")});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err,
              HasSubstr("data set cifar100: no folder cifar-100-binary in " + Path("empty")));
  EXPECT_FALSE(std::filesystem::exists(Path("home/worker.log")));
}

TEST_F(RunTest, ASweepThatHasEndedIsReportedAgainWithoutItsData) {
  const std::string file = Sweep(
      "name: gone\ndata: {name: cifar100}\nnoise: [control]\nhardware: [" + HardwareHere() + "]\n");
  ASSERT_EQ(Do({"submit", file}).code, 0);
  ASSERT_EQ(Do({"cancel", "s1"}).code, 0);

  const Ended again = Do({"run", file, "--data-root=" + Path("gone")});

  EXPECT_EQ(again.code, 4) << "what was cancelled is not done: " << again.err;
  EXPECT_THAT(again.err, HasSubstr("already ended: s1: "));
  EXPECT_THAT(again.err, HasSubstr("report: "));
  EXPECT_FALSE(std::filesystem::exists(Path("home/worker.log")));

  const Ended anew = Do({"run", file, "--again", "--data-root=" + Path("gone")});
  EXPECT_EQ(anew.code, 1);
  EXPECT_THAT(anew.err, HasSubstr("there is no folder " + Path("gone")));
}

TEST_F(RunTest, WhatThisMachineDoesNotHaveIsRefusedBeforeAnythingStarts) {
  const Ended run = Do({"run", Sweep(HealthyAndHopeless("nvidia-none"))});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("this machine has no nvidia-none; it has cpu-"));
  EXPECT_FALSE(std::filesystem::exists(Path("home/worker.log")));
}

TEST_F(RunTest, AScriptOfOnesOwnTrainsBesideOurs) {
  const std::string source = std::getenv("NOISEFLOOR_SOURCE");
  const std::string script = source + "/tests/worker/python/scripts/plain_clouds.py";
  const std::string trainer =
      "--trainer=plain_clouds=env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + source +
      "/worker/python python3 " + script;
  const std::string hardware = HardwareHere();
  const auto sweep = [&](const std::string& settings) {
    return Sweep("name: own\nstack: plain_clouds\nlearn: {" + settings + "}\nhardware: [" +
                 hardware + "]\nreplicates: 3\nnoise: [control, {name: draw, init: free}]\n");
  };
  const Ended wrong = Do({"run", sweep("rate: 11"), trainer});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr(":3:15: learn.rate: expected a number from 0 to 10, got 11"));

  const Ended run = Do({"run", sweep("epochs: 2"), trainer});
  EXPECT_EQ(run.code, 0) << run.err;
  const json members = Json({"members", "s1"})["members"];
  ASSERT_EQ(members.size(), 6u);
  std::set<std::string> control;
  std::set<std::string> draw;
  for (const json& member : members) {
    (member["cell"] == 0 ? control : draw).insert(member["hashes"]["weights"].get<std::string>());
  }
  EXPECT_EQ(control.size(), 1u);
  EXPECT_EQ(draw.size(), 3u);

  const Ended replay = Do({"replay", "s1c1r2", trainer});
  EXPECT_EQ(replay.code, 0) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr("equal"));
}

TEST_F(RunTest, AWrongSweepIsRefusedBeforeAnythingStarts) {
  const Ended run = Do({"run", Sweep("name: wrong\nmodel: {name: small_cnn, dropout: 2}\n")});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("sweep.yaml:2:"));
  EXPECT_FALSE(std::filesystem::exists(Path("home/worker.log")));
}

}  // namespace
}  // namespace noisefloor::test
