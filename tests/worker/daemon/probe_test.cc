// What is offered and what is withheld, with GPUs that a script plays and two stacks.
#include "worker/daemon/probe.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/sha256.h"
#include "worker/devices/class_variables.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kAnswer[] =
    R"({"probes":1,"works":true,"reason":"","devices":[{"name":"Tesla T4","memory_bytes":16}],)"
    R"("facts":{"cudnn":9}})";

TEST(ProbeAnswerTest, IsReadStrictly) {
  const auto answer = ParseProbeAnswer(kAnswer);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->works);
  ASSERT_EQ(answer->devices.size(), 1u);
  EXPECT_EQ(answer->devices[0].name, "Tesla T4");
  EXPECT_EQ(answer->devices[0].memory_bytes, 16u);
  EXPECT_EQ(answer->facts, R"({"cudnn":9})");
  EXPECT_EQ(answer->versions, (Versions{{"cudnn", "9"}}));
  const auto broken = [](const std::string& from, const std::string& to) {
    std::string text = kAnswer;
    text.replace(text.find(from), from.size(), to);
    return Message(ParseProbeAnswer(text).status());
  };
  EXPECT_THAT(broken("\"probes\":1", "\"probes\":2"), HasSubstr("version 1"));
  EXPECT_THAT(broken("true", "1"), HasSubstr("works"));
  EXPECT_THAT(broken("[", "7,\"x\":["), HasSubstr("devices"));
  EXPECT_THAT(broken("{\"cudnn\":9}", "[]"), HasSubstr("facts"));
  EXPECT_THAT(broken("\"memory_bytes\":16", "\"memory\":16"), HasSubstr("devices[0]"));
  EXPECT_THAT(broken("16", "-1"), HasSubstr("devices[0].memory_bytes"));
  EXPECT_FALSE(ParseProbeAnswer("").ok());
}

TEST(FingerprintTest, HoldsTheFactsAndTheDriverOfAGpuAndIsThatOfTheStackOnProcessors) {
  const Stack stack = {{"program"}, "build", "base"};
  EXPECT_EQ(FingerprintOf(stack, "", ""), "base");
  EXPECT_EQ(FingerprintOf(stack, "{}", "1"), Sha256Hex("base\n{}\n1"));
  EXPECT_NE(FingerprintOf(stack, "{\"cudnn\":9}", "1"),
            FingerprintOf(stack, "{\"cudnn\":10}", "1"));
  EXPECT_NE(FingerprintOf(stack, "{}", "1"), FingerprintOf(stack, "{}", "2"));
}

TEST(VersionsTest, AreTheScalarsOfAnObjectWithinBounds) {
  EXPECT_EQ(VersionsFrom(Json::parse(
                R"({"cuda":"13.0","cudnn":91200,"ok":true,"":"x","none":null,"list":[1]})")),
            (Versions{{"cuda", "13.0"}, {"cudnn", "91200"}, {"ok", "true"}}));
  EXPECT_THAT(VersionsFrom(Json::parse("[1]")), IsEmpty());
  EXPECT_THAT(VersionsFrom(Json()), IsEmpty());
  Json many;
  for (int i = 0; i < 40; ++i) many[std::to_string(i)] = std::string(300, 'v');
  const Versions bounded = VersionsFrom(many);
  EXPECT_EQ(bounded.size(), 32u);
  EXPECT_EQ(bounded.begin()->second.size(), 200u);
}

class ProbeTest : public testing::Test {
 protected:
  ProbeTest() {
    std::string pattern = testing::TempDir() + "nf-probe-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("NOISEFLOOR_FAKE_GPUS", (folder_ + "/script").c_str(), 1);
    setenv("LD_LIBRARY_PATH", std::filesystem::path(FAKE_NVML).parent_path().c_str(), 1);
    WriteTrainer("old", "7.0 7.5");
    WriteTrainer("new", "7.5 9.0");
  }
  ~ProbeTest() override {
    unsetenv("NOISEFLOOR_FAKE_GPUS");
    unsetenv("LD_LIBRARY_PATH");
    std::filesystem::remove_all(folder_);
  }

  // A stack that has kernels for these.
  void WriteTrainer(const std::string& stack, const std::string& kernels) const {
    const std::string path = folder_ + "/" + stack;
    std::ofstream(path) << "#!/bin/sh\nNOISEFLOOR_FAKE_STACK=" << stack
                        << " NOISEFLOOR_FAKE_KERNELS='" << kernels << "' exec " << FAKE_TRAINER
                        << " \"$@\"\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  // A machine with the GPUs of the script and two cores.
  ProbedSlots Run(const std::string& script, LayoutWish wish = {},
                  std::multimap<std::string, std::vector<std::string>> trainers = {}) {
    std::ofstream(folder_ + "/script") << script;
    Host host;
    host.name = "box";
    host.cpu = {"amd", "EPYC", {"sse2", "sse4_1", "sse4_2"}};
    host.cores = {0, 1};
    host.gpus = FindGpus(FAKE_NVML);
    if (trainers.empty()) trainers = {{"old", {folder_ + "/old"}}, {"new", {folder_ + "/new"}}};
    const auto stacks = FindStacks(trainers);
    EXPECT_TRUE(stacks.ok()) << stacks.status();
    stacks_ = *stacks;
    wish.cpu_slots = 1;
    return Probe(host, LayOut(host, ChooseClasses(host, {}).value(), wish), stacks_);
  }

  // "unit: class on stack, ..." of each slot.
  static std::vector<std::string> Slots(const ProbedSlots& probed) {
    std::vector<std::string> slots;
    for (const Inventory::Slot& slot : probed.inventory.slots) {
      std::string text = UnitOf(probed.inventory, slot) + ":";
      for (const uint32_t place : slot.offers) {
        const Inventory::Offer& offer = probed.inventory.offers[place];
        text += " " + offer.hardware_class + "/" + offer.stack;
      }
      slots.push_back(text);
    }
    return slots;
  }
  static std::vector<std::string> WithheldOf(const ProbedSlots& probed) {
    std::vector<std::string> all;
    for (const Inventory::Withheld& one : probed.inventory.withheld) {
      all.push_back(one.what + " / " + one.hardware_class + " / " + one.stack + ": " + one.reason);
    }
    return all;
  }

  std::string folder_;
  Stacks stacks_;
};

TEST_F(ProbeTest, AStackIsOfferedWhereItHasKernels) {
  const ProbedSlots probed =
      Run("gpu GPU-v name=Tesla_V100-SXM2-32GB gib=32 capability=7.0\n"
          "gpu GPU-h name=NVIDIA_H200 gib=140 capability=9.0\n"
          "gpu GPU-t name=Tesla_T4 gib=15 capability=7.5\n");

  EXPECT_THAT(
      Slots(probed),
      ElementsAre("GPU-h: nvidia-h200/new", "GPU-t: nvidia-t4/new nvidia-t4/old",
                  "GPU-v: nvidia-v100-32gb/old", "box EPYC: cpu-amd-sse/new cpu-amd-sse/old"));
  EXPECT_THAT(
      WithheldOf(probed),
      ElementsAre("GPU-h (NVIDIA H200) / nvidia-h200 / old: it has no kernels for compute "
                  "capability 9.0",
                  "GPU-v (Tesla V100-SXM2-32GB) / nvidia-v100-32gb / new: it has no kernels "
                  "for compute capability 7.0"));
  EXPECT_EQ(probed.slots.size(), 4u);
  for (const Inventory::Offer& offer : probed.inventory.offers) {
    const bool gpu = offer.hardware_class.starts_with("nvidia");
    EXPECT_EQ(offer.versions.contains("cudnn"), gpu) << offer.hardware_class;
    EXPECT_EQ(offer.versions.contains("driver"), gpu) << offer.hardware_class;
  }
}

// More would be refused, and with it all that this worker has.
TEST_F(ProbeTest, OfATrainerThatTellsMuchTheDriverAndWhatARegistrationHoldsAreTold) {
  WriteTrainer("talks", "9.0' NOISEFLOOR_FAKE_FACTS='60");
  const ProbedSlots probed =
      Run("driver 570.1\ngpu GPU-h name=NVIDIA_H200 gib=140 capability=9.0\n", {},
          {{"talks", {folder_ + "/talks"}}});

  ASSERT_FALSE(probed.inventory.offers.empty());
  const Versions& versions = probed.inventory.offers[0].versions;
  EXPECT_EQ(versions.size(), 32u);
  EXPECT_EQ(versions.at("driver"), "570.1");
}

TEST_F(ProbeTest, ManyRemarksAreCutToWhatARegistrationHolds) {
  Layout layout;
  for (int i = 0; i < 300; ++i) layout.withheld.push_back({fmt::format("GPU {}", i), "", "", "x"});
  const ProbedSlots probed = Probe({}, layout, {});
  ASSERT_EQ(probed.inventory.withheld.size(), 256u);
  EXPECT_EQ(probed.inventory.withheld[254].what, "GPU 254");
  EXPECT_EQ(probed.inventory.withheld[255].what, "45 more");
}

TEST_F(ProbeTest, AFingerprintIsOfTheStackAndTheClass) {
  const ProbedSlots probed = Run("driver 570.1\ngpu GPU-t name=Tesla_T4 gib=15 capability=7.5\n");

  ASSERT_EQ(probed.inventory.offers.size(), 4u);
  const std::string base = stacks_.at("new").fingerprint;
  EXPECT_EQ(probed.inventory.offers[0].fingerprint, Sha256Hex(base + "\n{\"cudnn\":91000}\n570.1"));
  EXPECT_EQ(probed.inventory.offers[2].hardware_class, "cpu-amd-sse");
  EXPECT_EQ(probed.inventory.offers[2].fingerprint, base);
  EXPECT_EQ(probed.inventory.offers[2].build, "fake-build");
}

TEST_F(ProbeTest, WhatDoesNotWorkIsWithheldWithTheReasonAndKeepsNothingElseAway) {
  const ProbedSlots probed =
      Run("gpu GPU-1 name=NVIDIA_H200 gib=140 cuda_name=NVIDIA_H100 \n"
          "gpu GPU-2 name=NVIDIA_H200 gib=140 processes=1 free_gib=0\n"
          "gpu GPU-3 name=NVIDIA_H200 gib=140 rows=failed\n"
          "gpu GPU-4 name=NVIDIA_H200 gib=140\n",
          {}, {{"new", {folder_ + "/new"}}});

  EXPECT_THAT(Slots(probed), ElementsAre("GPU-4: nvidia-h200/new", "box EPYC: cpu-amd-sse/new"));
  EXPECT_THAT(WithheldOf(probed),
              ElementsAre("GPU-3 (NVIDIA H200) / nvidia-h200 / : a bad row of its memory could not "
                          "be replaced: it needs service",
                          "GPU-1 (NVIDIA H200) / nvidia-h200 / new: CUDA calls it NVIDIA H100 "
                          "(nvidia-h100), NVML NVIDIA H200 (nvidia-h200)",
                          "GPU-2 (NVIDIA H200) / nvidia-h200 / new: CUDA: cuMemAlloc_v2: out of "
                          "memory"));
  EXPECT_EQ(probed.inventory.devices[2].note, "1 other process uses it");
}

TEST_F(ProbeTest, ADriverThatRefusesKeepsProcessorsInPlay) {
  EXPECT_THAT(WithheldOf(Run("nvml 18\n")),
              ElementsAre("the GPUs of this machine /  / : NVML: init: Driver/library version "
                          "mismatch"));
  const ProbedSlots probed =
      Run("cuda 803\ngpu GPU-1 name=NVIDIA_H200 gib=140\n", {}, {{"new", {folder_ + "/new"}}});
  EXPECT_THAT(Slots(probed), ElementsAre("box EPYC: cpu-amd-sse/new"));
  EXPECT_THAT(WithheldOf(probed),
              ElementsAre("GPU-1 (NVIDIA H200) / nvidia-h200 / new: CUDA: cuInit: system has "
                          "unsupported display driver / cuda driver combination"));
}

TEST_F(ProbeTest, ASlotOfSeveralGpusSeesAllOfThem) {
  const ProbedSlots probed =
      Run("gpu GPU-1 name=NVIDIA_H200 gib=140\n"
          "gpu GPU-2 name=NVIDIA_H200 gib=140\n",
          {.gpus_per_slot = 2}, {{"new", {folder_ + "/new"}}});

  EXPECT_THAT(Slots(probed),
              ElementsAre("GPU-1+GPU-2: nvidia-h200-x2/new", "box EPYC: cpu-amd-sse/new"));
  ASSERT_EQ(probed.slots.size(), 2u);
  EXPECT_EQ(UuidsOf(probed.slots[0]), "GPU-1,GPU-2");
}

TEST_F(ProbeTest, ATrainerThatAnswersNothingIsWithheld) {
  const std::string path = folder_ + "/mute";
  std::ofstream(path) << "#!/bin/sh\n[ $1 = --describe ] && exec " << FAKE_TRAINER
                      << " --describe\nexit 3\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);

  const ProbedSlots probed = Run("", {}, {{"", {path}}});

  EXPECT_THAT(Slots(probed), IsEmpty());
  EXPECT_THAT(WithheldOf(probed), ElementsAre("box EPYC / cpu-amd-sse / fake: " + path +
                                              " --probe cpu-amd-sse: exit code 3"));
}

TEST_F(ProbeTest, TheBuiltInTrainerIsOfferedEverywhere) {
  EXPECT_THAT(Slots(Run("gpu GPU-1 name=NVIDIA_H200 gib=140\n", {}, {{"noop", {}}})),
              ElementsAre("GPU-1: nvidia-h200/noop", "box EPYC: cpu-amd-sse/noop"));
}

}  // namespace
}  // namespace noisefloor
