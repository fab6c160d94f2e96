// Control on every instruction set of this processor: equal bits within a class, other bits
// between classes, the same initial weights and batches everywhere. On real data.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "tests/worker/trainer/torch/trainer_process.h"
#include "worker/devices/class_variables.h"
#include "worker/devices/cpu.h"

namespace noisefloor::trainer {
namespace {

Ran RunOn(const std::string& hardware_class, const std::string& data, const std::string& root) {
  TrainerRequest request = SmallRequest();
  Specification& spec = request.specification;
  request.data_root = root;
  spec.hardware_class = hardware_class;
  spec.data.name = data;
  spec.data.train_examples = 1024;
  spec.data.test_examples = 500;
  spec.augment = {.crop_padding = 2, .flip = true, .cutout = 8, .standardise = true};
  spec.train.shards = 4;
  RunOptions options;
  options.variables = *VariablesOf({.hardware_class = hardware_class});
  return RunTrainer(request, options);
}

class ClassesTest : public testing::TestWithParam<const char*> {};

TEST_P(ClassesTest, BitsRepeatWithinAClassAndDifferBetweenClasses) {
  const char* root = std::getenv("NOISEFLOOR_DATA");
  if (root == nullptr || *root == '\0') GTEST_SKIP() << "SKIPPED: set NOISEFLOOR_DATA";
  const auto facts = ReadCpuFacts();
  ASSERT_TRUE(facts.ok());
  const auto classes = CpuClasses(*facts);
  std::set<std::string> init, first_batches, weights, logits;
  for (const std::string& hardware_class : classes) {
    const Ran first = RunOn(hardware_class, GetParam(), root);
    ASSERT_EQ(first.exit_code, 0) << hardware_class << ": " << first.outcome().message;
    const Ran second = RunOn(hardware_class, GetParam(), root);
    EXPECT_EQ(first.outcome().hashes, second.outcome().hashes) << hardware_class;
    init.insert(first.Hash("init"));
    first_batches.insert(first.Hash("first_batches"));
    weights.insert(first.Hash("weights"));
    logits.insert(first.Hash("logits"));
  }
  EXPECT_EQ(init.size(), 1u);
  EXPECT_EQ(first_batches.size(), 1u);
  EXPECT_EQ(weights.size(), classes.size());
  EXPECT_EQ(logits.size(), classes.size());
}

INSTANTIATE_TEST_SUITE_P(Data, ClassesTest, testing::Values("cifar10", "fashion-mnist"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name == "cifar10" ? "cifar10" : "fashion_mnist";
                         });

TEST(ClassesTest, VariablesThatDoNotMakeTheClassAreNoticed) {
  const auto classes = CpuClasses(*ReadCpuFacts());
  if (classes.size() < 2) GTEST_SKIP() << "SKIPPED: this processor has only " << classes[0];
  TrainerRequest request = SmallRequest();
  request.specification.hardware_class = classes[1];
  RunOptions options;
  options.variables = *VariablesOf({.hardware_class = classes[0]});
  const Ran ran = RunTrainer(request, options);
  EXPECT_EQ(ran.exit_code, 15);
  EXPECT_EQ(ran.outcome().message, "switch aten_cpu_capability: asked AVX2, reads DEFAULT");
}

}  // namespace
}  // namespace noisefloor::trainer
