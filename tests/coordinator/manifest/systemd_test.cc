#include "coordinator/manifest/systemd.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;
using testing::Not;

SystemdWish SmallUnitWish() { return {.name = "lab", .program = "noisefloor-worker"}; }

std::string LineOf(const std::string& text, const std::string& begin) {
  const size_t at = text.find("\n" + begin);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(SystemdTest, TheUnitOfThePackagesIsFilledIn) {
  SystemdWish wish = SmallUnitWish();
  ASSERT_TRUE(Check(wish).ok());

  const std::string text = SystemdUnit(wish);

  EXPECT_EQ(LineOf(text, "ExecStart="),
            "ExecStart=noisefloor-worker --name=%l-lab --state=${STATE_DIRECTORY} "
            "--drain-timeout=${NOISEFLOOR_DRAIN_SECONDS}");
  EXPECT_EQ(LineOf(text, "StateDirectory="), "StateDirectory=noisefloor-worker/lab");
  EXPECT_THAT(text, Not(HasSubstr("%i")));
  EXPECT_THAT(text, HasSubstr("systemctl enable --now noisefloor-worker-lab.service"));
  const std::string group = LineOf(text, "SupplementaryGroups=").substr(20);
  EXPECT_THAT(text, HasSubstr("#   install -D -g " + group + " -m 0640 worker.access "));
  // What hardens it is that of the packages, word for word.
  const std::string unit(WorkerUnit());
  const size_t hardened = unit.find("CapabilityBoundingSet=");
  ASSERT_NE(hardened, std::string::npos);
  EXPECT_THAT(text, HasSubstr(unit.substr(hardened)));
}

TEST(SystemdTest, OptionsAreWordsWhateverIsInThem) {
  SystemdWish wish = SmallUnitWish();
  wish.program = "/opt/noise floor/bin/noisefloor-worker";
  wish.hardware = "cpu-amd-avx2";
  wish.idle_seconds = 60;
  wish.worker_options = {"--slots=4", "--trainer=mine=python \"a\\b\" 100% $HOME"};
  wish.variables = {{"A", "x y"}};
  ASSERT_TRUE(Check(wish).ok());

  const std::string text = SystemdUnit(wish);

  EXPECT_THAT(text, HasSubstr("\nExecStart=\"/opt/noise floor/bin/noisefloor-worker\" --name="));
  EXPECT_THAT(text, HasSubstr(" --idle-timeout=60 --classes=cpu-amd-avx2 --slots=4 "
                              "\"--trainer=mine=python \\\"a\\\\b\\\" 100%% $$HOME\"\n"));
  EXPECT_THAT(text, HasSubstr("\nEnvironment=\"A=x y\"\n"));
}

TEST(SystemdTest, AClassOfSeveralGpusIsSaidWithThem) {
  SystemdWish wish = SmallUnitWish();
  wish.hardware = "nvidia-h200-x2";
  wish.gpus_per_slot = 2;
  ASSERT_TRUE(Check(wish).ok());
  EXPECT_THAT(SystemdUnit(wish), HasSubstr(" --classes=nvidia-h200-x2 --gpus-per-slot=2\n"));
  wish.worker_options = {"--gpus-per-slot=4"};
  EXPECT_THAT(Check(wish).message(), HasSubstr("--gpus-per-slot is said already"));
}

TEST(SystemdTest, WhatIsPutInIsNotTakenForTheNameOrAVariable) {
  SystemdWish wish = SmallUnitWish();
  wish.worker_options = {"--trainer=x=100%ideal"};
  wish.variables = {{"A", "a$b c"}};
  const std::string text = SystemdUnit(wish);
  EXPECT_THAT(text, HasSubstr("\"--trainer=x=100%%ideal\""));
  EXPECT_THAT(text, HasSubstr("\nEnvironment=\"A=a$b c\"\n")) << "it has no variables there";
}

TEST(SystemdTest, SystemdWaitsLongerThanAWorkerNeeds) {
  SystemdWish wish = SmallUnitWish();
  wish.grace_seconds = 120;
  const std::string text = SystemdUnit(wish);
  EXPECT_THAT(LineOf(text, "ExecStart="), HasSubstr("--grace=120"));
  EXPECT_EQ(LineOf(text, "TimeoutStopSec="), "TimeoutStopSec=580s");
  EXPECT_EQ(LineOf(SystemdUnit(SmallUnitWish()), "TimeoutStopSec="), "TimeoutStopSec=360s");
}

TEST(SystemdTest, MistakesAreNamed) {
  const auto refusal = [](auto change) {
    SystemdWish wish = SmallUnitWish();
    change(wish);
    return std::string(Check(wish).message());
  };
  EXPECT_THAT(refusal([](SystemdWish& w) { w.name = "a b"; }), HasSubstr("name: expected"));
  EXPECT_THAT(refusal([](SystemdWish& w) { w.worker_options = {"--state=/x"}; }),
              HasSubstr("--state is said already"));
  EXPECT_THAT(refusal([](SystemdWish& w) { w.worker_options = {"--a=1\nUser=root"}; }),
              HasSubstr("on one line"));
  EXPECT_THAT(refusal([](SystemdWish& w) {
                w.variables = {{"T", "nfl_w_0"}};
              }),
              HasSubstr("holds a token"));
}

}  // namespace
}  // namespace noisefloor
