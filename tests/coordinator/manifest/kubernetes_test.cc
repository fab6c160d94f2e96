#include "coordinator/manifest/kubernetes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using Json = nlohmann::ordered_json;

KubernetesWish SmallWish() {
  return {.name = "a100",
          .image = "registry.example/noisefloor:0.2",
          .program = "noisefloor-worker",
          .gpu_product = "NVIDIA-A100-SXM4-40GB",
          .gpus = 1,
          .cpus = "4",
          .memory = "16Gi",
          .scratch = "32Gi",
          .idle_seconds = 300,
          .secret = "noisefloor-worker"};
}

// What is refused of a wish that `change` has changed.
template <typename Change>
std::string Refusal(Change change) {
  KubernetesWish wish = SmallWish();
  change(wish);
  const absl::Status status = Check(wish);
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

const Json& PodOf(const Json& jobs) { return jobs["items"][0]["spec"]["template"]["spec"]; }
std::vector<std::string> ArgumentsOf(const KubernetesWish& wish) {
  return PodOf(KubernetesJobs(wish))["containers"][0]["args"];
}

TEST(KubernetesTest, EachWorkerIsAJobThatEndsWhenItLeaves) {
  KubernetesWish wish = SmallWish();
  wish.workers = 3;
  ASSERT_TRUE(Check(wish).ok());

  const Json jobs = KubernetesJobs(wish);

  ASSERT_EQ(jobs["items"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const Json& job = jobs["items"][i];
    EXPECT_EQ(job["metadata"]["name"], "a100-" + std::to_string(i));
    EXPECT_EQ(job["spec"]["completions"], 1);
    EXPECT_EQ(job["spec"]["template"]["spec"]["restartPolicy"], "Never");
  }
  EXPECT_THAT(ArgumentsOf(wish), Contains("--idle-timeout=300"));
  wish.idle_seconds = 0;
  EXPECT_THAT(ArgumentsOf(wish), Not(Contains(HasSubstr("--idle-timeout"))));
}

TEST(KubernetesTest, ThereIsTimeForACheckpointAndForLastWords) {
  KubernetesWish wish = SmallWish();
  wish.grace_seconds = 100;
  const Json jobs = KubernetesJobs(wish);
  EXPECT_THAT(ArgumentsOf(wish), Contains("--grace=100"));
  EXPECT_THAT(ArgumentsOf(wish), Contains("--drain-timeout=1"));
  EXPECT_THAT(ArgumentsOf(wish), Contains("--stopped-code=75"));
  EXPECT_EQ(PodOf(jobs)["terminationGracePeriodSeconds"], 1 + 2 * 100 + 15);
}

TEST(KubernetesTest, ItLeavesBeforeItsTimeIsUp) {
  KubernetesWish wish = SmallWish();
  EXPECT_FALSE(PodOf(KubernetesJobs(wish)).contains("activeDeadlineSeconds"));
  EXPECT_THAT(ArgumentsOf(wish), Not(Contains(HasSubstr("--leave-after"))));
  wish.time_seconds = 3600;
  wish.drain_before_seconds = 600;
  EXPECT_EQ(PodOf(KubernetesJobs(wish))["activeDeadlineSeconds"], 3600 + 1800);
  EXPECT_THAT(ArgumentsOf(wish), Contains("--leave-after=3000"));
  EXPECT_THAT(ArgumentsOf(wish), Contains("--lifetime=3600"));
}

TEST(KubernetesTest, AClassOfSeveralGpusHasSlotsOfSoMany) {
  KubernetesWish wish = SmallWish();
  wish.hardware = "nvidia-a100-x4";
  wish.gpus_per_slot = 4;
  wish.gpus = 8;
  ASSERT_TRUE(Check(wish).ok());
  EXPECT_THAT(ArgumentsOf(wish), IsSupersetOf({"--classes=nvidia-a100-x4", "--gpus-per-slot=4"}));
  for (const uint32_t gpus : {2, 6}) {
    wish.gpus = gpus;
    wish.gpu_product = "";
    EXPECT_EQ(Check(wish).message(), "--gpus=" + std::to_string(gpus) +
                                         ": expected 4 for each slot with --class=nvidia-a100-x4");
  }
  wish.gpus = 0;
  EXPECT_EQ(Check(wish).message(), "--gpus=0: expected 1 or more with --class=nvidia-a100-x4");
  wish.gpus = 4;
  wish.worker_options = {"--gpus-per-slot=2"};
  EXPECT_THAT(Check(wish).message(), HasSubstr("--gpus-per-slot is said already"));
  wish.hardware = "nvidia-a100";
  wish.gpus_per_slot = 1;
  EXPECT_TRUE(Check(wish).ok());
  EXPECT_THAT(ArgumentsOf(wish), Not(Contains("--gpus-per-slot=1")));
}

TEST(KubernetesTest, WhatLooksLikeAVariableStaysAsItIs) {
  KubernetesWish wish = SmallWish();
  wish.worker_options = {"--trainer=mine=sh -c '$(HOSTNAME) $x'"};
  wish.variables = {{"A", "$(POD_NAME)$"}};
  ASSERT_TRUE(Check(wish).ok());
  EXPECT_EQ(ArgumentsOf(wish).back(), "--trainer=mine=sh -c '$$(HOSTNAME) $$x'");
  const Json jobs = KubernetesJobs(wish);
  EXPECT_EQ(PodOf(jobs)["containers"][0]["env"].back()["value"], "$$(POD_NAME)$$");
}

TEST(KubernetesTest, WhatKubernetesWouldRefuseIsNamed) {
  for (const char* name : {"", "A100", "-a", "a-", "1a", "a_b", "a.b", "a b", "a\n",
                           "a23456789012345678901234567890123456789012"}) {
    EXPECT_THAT(Refusal([&](KubernetesWish& w) { w.name = name; }), HasSubstr("name: expected"));
  }
  EXPECT_EQ(Refusal([](KubernetesWish& w) { w.name = "a23456789012345678901234567890123456789x"; }),
            "");
  EXPECT_EQ(Refusal([](KubernetesWish& w) { w.workers = 0; }), "--max=0: expected 1 to 1000");
  EXPECT_EQ(Refusal([](KubernetesWish& w) { w.workers = 1001; }), "--max=1001: expected 1 to 1000");
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.image = ""; }), HasSubstr("--image="));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.image = "a b"; }), HasSubstr("--image=a b"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.space = "Team.A"; }), HasSubstr("--namespace"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.gpu_product = "A 100"; }),
              HasSubstr("--gpu=A 100"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.gpus = 0; }), HasSubstr("--gpus=0"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.user = 0; }), HasSubstr("not root"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.secret = "a/b"; }), HasSubstr("--access-secret"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.data_claim = "A"; }), HasSubstr("--data-claim"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) {
                w.nodes = {{"a b", "c"}};
              }),
              HasSubstr("--node-selector=a b=c"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) {
                w.nodes = {{"nvidia.com/gpu.product", "x"}};
              }),
              HasSubstr("one value"));
}

TEST(KubernetesTest, AmountsAreThoseOfKubernetes) {
  for (const char* cpus : {"", "0", "-1", "4Gi", "1.2.3", "m", ".5", "4 ", "0.0"}) {
    EXPECT_THAT(Refusal([&](KubernetesWish& w) { w.cpus = cpus; }), HasSubstr("--cpus="));
  }
  for (const char* memory :
       {"", "0Gi", "16GB", "Gi", "1e3", "16 Gi", "4", "1048575", "1023Ki", "0.9Mi", "1M"}) {
    EXPECT_THAT(Refusal([&](KubernetesWish& w) { w.memory = memory; }), HasSubstr("--memory="));
    EXPECT_THAT(Refusal([&](KubernetesWish& w) { w.scratch = memory; }), HasSubstr("--scratch="));
  }
  for (const char* memory : {"1Mi", "1048576", "1024Ki", "2M", "0.5G", "1.5Ti"}) {
    EXPECT_EQ(Refusal([&](KubernetesWish& w) { w.memory = memory; }), "");
  }
  for (const char* cpus : {"4", "500m", "1.5"}) {
    EXPECT_EQ(Refusal([&](KubernetesWish& w) { w.cpus = cpus; }), "");
  }
}

TEST(KubernetesTest, WhatIsSaidAlreadyIsNotSaidTwice) {
  for (const char* option :
       {"--name=x", "--state=/x", "--coordinator=box:1", "--grace=1", "--idle-timeout=0",
        "--leave-after=1", "--state-temporary", "--stopped-code=0"}) {
    EXPECT_THAT(Refusal([&](KubernetesWish& w) { w.worker_options = {option}; }),
                HasSubstr("is said already"));
  }
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.worker_options = {"slots=2"}; }),
              HasSubstr("expected an option of noisefloor-worker"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) {
                w.hardware = "cpu-amd-avx2";
                w.worker_options = {"--classes=x"};
              }),
              HasSubstr("--classes is said already"));
  for (const char* name : {"POD_NAME", "NOISEFLOOR_ACCESS", "HOME"}) {
    EXPECT_THAT(Refusal([&](KubernetesWish& w) {
                  w.variables = {{name, "x"}};
                }),
                HasSubstr("is said already"));
  }
  EXPECT_THAT(Refusal([](KubernetesWish& w) {
                w.variables = {{"A-B", "x"}};
              }),
              HasSubstr("NAME=VALUE"));
}

TEST(KubernetesTest, MountsHaveAPlaceOfTheirOwn) {
  for (const char* path :
       {"data", "/", "/a/", "/a/../b", "/a:b", "/a//b", "/..", "/tmp", "/var/lib/noisefloor"}) {
    EXPECT_THAT(Refusal([&](KubernetesWish& w) {
                  w.mounts = {{"c", path, true}};
                }),
                HasSubstr("--volume=c:"))
        << path;
  }
  EXPECT_EQ(Refusal([](KubernetesWish& w) { w.mounts = {{"c", "/data", true}}; }), "");
  EXPECT_THAT(Refusal([](KubernetesWish& w) {
                w.data_claim = "d";
                w.mounts = {{"c", "/data", true}};
              }),
              HasSubstr("nothing else is mounted"));
}

TEST(KubernetesTest, NoSecretAndNoSecondLineIsPrinted) {
  EXPECT_THAT(Refusal([](KubernetesWish& w) {
                w.variables = {{"T", "nfl_w_0123"}};
              }),
              HasSubstr("holds a token"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.worker_options = {"--x=nfl_w_0123"}; }),
              HasSubstr("holds a token"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) {
                w.variables = {{"T", "a\nb"}};
              }),
              HasSubstr("on one line"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.worker_options = {"--x=\xff"}; }),
              HasSubstr("UTF-8"));
  KubernetesWish wish = SmallWish();
  wish.access = "/home/ada/a b\nkind: Pod/worker.access";
  EXPECT_THAT(KubernetesManifest(wish),
              HasSubstr("--from-file=worker.access='/home/ada/a b\\nkind: Pod/worker.access'\n"));
}

TEST(KubernetesTest, TimesFitIntoEachOther) {
  EXPECT_THAT(Refusal([](KubernetesWish& w) {
                w.time_seconds = 120;
                w.drain_before_seconds = 120;
              }),
              HasSubstr("--drain-before=120s: expected less than --time"));
  EXPECT_THAT(Refusal([](KubernetesWish& w) { w.grace_seconds = 0; }), HasSubstr("--grace=0s"));
}

}  // namespace
}  // namespace noisefloor
