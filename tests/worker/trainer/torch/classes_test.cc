// Cohorts on every instruction set of this processor, on real data, by the real program: what
// repeats bit for bit, what differs, and what is the same on every class.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "common/trainer_protocol/datasets.h"
#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/torch/trainer_process.h"
#include "worker/devices/class_variables.h"
#include "worker/devices/cpu.h"

namespace noisefloor::trainer {
namespace {

using Strings = std::set<std::string>;

constexpr uint32_t kReplicates = 3;

// What is free in a cohort.
enum class Cohort : uint8_t { kControl, kAlgorithm, kImplementation };

void FreeSources(Cohort cohort, uint32_t replicate, Specification& spec) {
  switch (cohort) {
    case Cohort::kControl: return;
    case Cohort::kAlgorithm:
      Free(spec, NoiseSource::kInit, replicate);
      Free(spec, NoiseSource::kDataOrder, replicate);
      Free(spec, NoiseSource::kAugment, replicate);
      return;
    case Cohort::kImplementation:  // As the plan `impl` frees them.
      for (const NoiseSource source : kAllNoiseSources) {
        const bool acts = spec.Source(source).state != SourceState::kOff;
        if (acts && IsPhysical(source)) Free(spec, source, replicate);
      }
      return;
  }
}

struct DataSet {
  std::string name;
  std::string root;
};

// 16 steps of 4 shards: as they arrive, equal orders in all steps are practically impossible.
Ran RunReplicate(const DataSet& data, const std::string& hardware_class, Cohort cohort,
                 uint32_t replicate) {
  TrainerRequest request = SmallRequest();
  request.member = "s1c2r" + std::to_string(replicate);
  request.data_root = data.root;
  Specification& spec = request.specification;
  spec.hardware_class = hardware_class;
  spec.data.name = data.name;
  spec.data.train_examples = 512;
  spec.data.test_examples = 100;
  spec.augment = {.crop_padding = 2, .flip = true, .cutout = 8, .standardise = true};
  spec.train.batch_size = 32;
  spec.train.epochs = 1;
  spec.train.shards = 4;
  FreeSources(cohort, replicate, spec);
  RunOptions options;
  options.variables = *VariablesOf({.hardware_class = hardware_class});
  Ran ran = RunTrainer(request, options);
  EXPECT_EQ(ran.exit_code, 0) << hardware_class << ": " << ran.outcome().message;
  return ran;
}

struct Hashes {
  Strings init, first_batches, weights, logits;
  void Add(const Ran& ran) {
    init.insert(ran.Hash("init"));
    first_batches.insert(ran.Hash("first_batches"));
    weights.insert(ran.Hash("weights"));
    logits.insert(ran.Hash("logits"));
  }
};

class ClassesTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* root = std::getenv("NOISEFLOOR_DATA");
    const std::string folder(FindDataset(GetParam())->folder);
    if (root == nullptr || !std::filesystem::exists(std::string(root) + "/" + folder)) {
      GTEST_SKIP() << "SKIPPED: set NOISEFLOOR_DATA to a folder with " << folder;
    }
    data_ = {GetParam(), root};
    classes_ = CpuClasses(ReadCpuFacts());
    ASSERT_FALSE(classes_.empty());
  }

  DataSet data_;
  std::vector<std::string> classes_;
};

TEST_P(ClassesTest, ControlRepeatsEveryBitWithinAClassAndNotBetweenClasses) {
  Hashes all;
  Strings observed;
  for (const std::string& hardware_class : classes_) {
    const Ran first = RunReplicate(data_, hardware_class, Cohort::kControl, 0);
    for (uint32_t replicate = 1; replicate < kReplicates; ++replicate) {
      const Ran again = RunReplicate(data_, hardware_class, Cohort::kControl, replicate);
      EXPECT_EQ(first.outcome().hashes, again.outcome().hashes) << hardware_class;
    }
    all.Add(first);
    const Json environment = Json::parse(first.outcome().environment);
    ASSERT_TRUE(environment["observed"]["onednn_isa"].is_string()) << first.outcome().environment;
    observed.insert(environment["observed"]["onednn_isa"].get<std::string>());
  }
  EXPECT_EQ(all.init.size(), 1u);
  EXPECT_EQ(all.first_batches.size(), 1u);
  EXPECT_EQ(all.weights.size(), classes_.size());
  EXPECT_EQ(all.logits.size(), classes_.size());
  EXPECT_EQ(observed.size(), classes_.size());  // The member says under which class it ran.
}

TEST_P(ClassesTest, FreeDrawsDifferByReplicateAndAreTheSameOnEveryClass) {
  Hashes all;
  for (uint32_t replicate = 0; replicate < kReplicates; ++replicate) {
    Hashes of_replicate;
    for (const std::string& hardware_class : classes_) {
      const Ran ran = RunReplicate(data_, hardware_class, Cohort::kAlgorithm, replicate);
      of_replicate.Add(ran);
      all.Add(ran);
    }
    EXPECT_EQ(of_replicate.init.size(), 1u) << replicate;
    EXPECT_EQ(of_replicate.first_batches.size(), 1u) << replicate;
  }
  EXPECT_EQ(all.init.size(), kReplicates);
  EXPECT_EQ(all.first_batches.size(), kReplicates);
  EXPECT_EQ(all.weights.size(), kReplicates * classes_.size());
  EXPECT_EQ(all.logits.size(), kReplicates * classes_.size());
}

TEST_P(ClassesTest, FreePhysicalSourcesDifferWithinACohortOfAClass) {
  Hashes all;
  for (const std::string& hardware_class : classes_) {
    Hashes of_class;
    for (uint32_t replicate = 0; replicate < kReplicates; ++replicate) {
      const Ran ran = RunReplicate(data_, hardware_class, Cohort::kImplementation, replicate);
      of_class.Add(ran);
      all.Add(ran);
    }
    EXPECT_GT(of_class.weights.size(), 1u) << hardware_class;
    EXPECT_GT(of_class.logits.size(), 1u) << hardware_class;
  }
  EXPECT_EQ(all.init.size(), 1u);
  EXPECT_EQ(all.first_batches.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Data, ClassesTest, testing::Values("cifar10", "fashion-mnist"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name == "cifar10" ? "cifar10" : "fashion_mnist";
                         });

TEST(ClassVariablesTest, VariablesThatDoNotMakeTheClassAreNoticed) {
  const auto classes = CpuClasses(ReadCpuFacts());
  if (classes.size() < 2) GTEST_SKIP() << "SKIPPED: this processor has only " << classes[0];
  TrainerRequest request = SmallRequest();
  request.specification.hardware_class = classes[classes.size() - 2];
  RunOptions options;
  options.variables = *VariablesOf({.hardware_class = classes.back()});
  const Ran ran = RunTrainer(request, options);
  EXPECT_EQ(ran.exit_code, 15);
  EXPECT_EQ(ran.outcome().message, "switch aten_cpu_capability: asked AVX2, reads DEFAULT");
  EXPECT_TRUE(ran.RecordsOf("train_loss").empty()) << "it was trained all the same";
}

}  // namespace
}  // namespace noisefloor::trainer
