// Interrupted and gone on with is undisturbed, bit for bit, in every precision: with all that moves
// beside weights and momentum. Of every stack.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "common/files/safetensors.h"
#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/resume/resumed_member.h"

namespace noisefloor::trainer {
namespace {

Json FactsOf(const Member& member) {
  std::ifstream file(member.Folders().back() + "/manifest.json");
  return Json::parse(file)["manifest"]["facts"];
}

Specification Arithmetic(const std::string& model, const std::string& precision,
                         const std::string& optimizer, double average_decay) {
  Specification spec = Small(model);
  spec.train.precision = precision;
  spec.train.optimizer = {
      .name = optimizer, .learning_rate = 0.01, .weight_decay = 0.01, .decayed = "matrices"};
  if (optimizer == "sgd") spec.train.optimizer.momentum = 0.9;
  spec.train.average_decay = average_decay;
  return spec;
}

TEST(ArithmeticResumeTest, AdamWInBf16WithAnAverage) {
  Specification spec = Arithmetic("small_cnn", "bf16", "adamw", 0.8);
  spec.train.clip_norm = 0.5;
  const Left undisturbed = Undisturbed(spec);
  for (const int64_t step : {1, 5, 8}) ExpectSame(Interrupted(spec, {step}), undisturbed);
  ExpectSame(Interrupted(spec, {2, 3, 11, 14}), undisturbed);
  Specification without = spec;
  without.train.average_decay = 0;
  EXPECT_NE(Undisturbed(without).metrics, undisturbed.metrics) << "the average is what is tested";
}

// With a scale that is too large at first, and again whenever it has grown: after every step of a
// training, idle ones among them.
TEST(ArithmeticResumeTest, Fp16WhoseScaleFallsAndGrows) {
  Specification spec = Arithmetic("mlp", "fp16", "sgd", 0.7);
  spec.train.loss_scale = {.initial = 4194304, .growth_interval = 3};
  const Left undisturbed = Undisturbed(spec);
  ASSERT_GE(undisturbed.report.skipped_steps, 2);
  std::set<int64_t> exponents, in_a_row, skipped;
  for (int64_t step = 1; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    Member member(spec);
    EXPECT_TRUE(member.Run({.stop_after = step}).report.is_kept);
    const Json counters = FactsOf(member)["update"];
    EXPECT_EQ(counters["steps"].get<int64_t>() + counters["skipped"].get<int64_t>(), step);
    exponents.insert(counters["scale_exponent"].get<int64_t>());
    in_a_row.insert(counters["scale_steps"].get<int64_t>());
    skipped.insert(counters["skipped"].get<int64_t>());
    ExpectSame(member.Run({}), undisturbed);
  }
  EXPECT_LT(*exponents.begin(), 0);
  EXPECT_EQ(in_a_row, (std::set<int64_t>{0, 1, 2}));
  EXPECT_GE(skipped.size(), 2u) << "right after a step that moved nothing, too";
  EXPECT_GT(*skipped.rbegin(), 1) << "it has grown, and fallen again";
}

TEST(ArithmeticResumeTest, Fp64OfKerasFormulas) {
  for (const char* name : {"adam", "sgd"}) {
    Specification spec = Arithmetic("small_cnn", "fp64", name, 0.9);
    spec.train.optimizer.formula = "keras";
    const Left undisturbed = Undisturbed(spec);
    for (const int64_t step : {1, 7, 10}) ExpectSame(Interrupted(spec, {step}), undisturbed);
  }
}

// A double that is no float, by its bits.
TEST(ArithmeticResumeTest, DoublesAreKeptAsTheyAre) {
  Member member(Arithmetic("mlp", "fp64", "adamw", 0.9));
  (void)member.Run({.stop_after = 4});
  const auto file = SafetensorsFile::Open(member.Folders().back() + "/state.safetensors");
  ASSERT_TRUE(file.ok());
  for (const char* of : {"parameters/", "update/first/", "update/second/", "update/average/"}) {
    bool found = false;
    for (const TensorView& tensor : file->tensors()) {
      if (!tensor.name.starts_with(of)) continue;
      found = true;
      EXPECT_EQ(tensor.type, ElementType::kInt64) << tensor.name;
    }
    EXPECT_TRUE(found) << of;
  }
}

// 57 steps an epoch, a record of the loss after every fifth: cut off in between, its sum is kept.
TEST(ArithmeticResumeTest, BetweenTwoRecordsOfTheLossItsSumGoesOn) {
  for (const std::string precision : {"fp32", "fp64"}) {
    SCOPED_TRACE(precision);
    Specification spec = Arithmetic("mlp", precision, "sgd", 0);
    spec.train.batch_size = 1;
    spec.train.epochs = 2;
    ExpectSame(Interrupted(spec, {7, 56, 61}), Undisturbed(spec));
    Member member(spec);
    (void)member.Run({.stop_after = 7});
    const Json journal = FactsOf(member)["journal"];
    EXPECT_EQ(journal["summed"], 2);
    EXPECT_EQ(journal["epoch_summed"], 5);
    EXPECT_EQ(journal["sum_is_double"], precision == "fp64");
  }
}

TEST(ArithmeticResumeTest, ParametersWithRatesOfTheirOwn) {
  Specification spec = Arithmetic("resnet9_whitened", "fp32", "sgd", 0.8);
  spec.model.width = 2;
  spec.train.optimizer.bias_rate = 4;
  spec.train.clip_norm = 0.5;
  const Left undisturbed = Undisturbed(spec);
  for (const int64_t step : {1, 7}) ExpectSame(Interrupted(spec, {step}), undisturbed);
}

TEST(ArithmeticResumeTest, NetworksWithNormsDropoutAndAttention) {
  for (const char* name : {"mobilenet", "efficientnet_b0", "vit"}) {
    SCOPED_TRACE(name);
    Specification spec = Arithmetic(name, "fp32", "adamw", name[0] == 'v' ? 0.0 : 0.8);
    spec.model.dropout = 0.3;
    spec.data.train_examples = 15;
    spec.data.test_examples = 6;
    spec.train.batch_size = 3;
    FreeSource(spec, NoiseSource::kDropout);
    ExpectSame(Interrupted(spec, {7}), Undisturbed(spec));
  }
}

TEST(ArithmeticResumeTest, ShardsAndThreads) {
  for (const int64_t shards : {2, 4}) {
    for (const int64_t threads : {1, 2}) {
      SCOPED_TRACE(std::to_string(shards) + " shards, threads " + std::to_string(threads));
      Specification spec = Arithmetic("small_cnn", shards == 2 ? "bf16" : "fp32", "adamw", 0.8);
      spec.data.train_examples = 56;  // The last batch of an epoch is one for 4 shards, too.
      spec.train.shards = shards;
      spec.train.threads = threads;
      ExpectSame(Interrupted(spec, {3, 9}), Undisturbed(spec));
    }
  }
}

// What a checkpoint is of is said in its manifest; one of something else is named, and not used.
TEST(ArithmeticResumeTest, OfOtherSettingsOrAnotherStackItIsRefused) {
  const Specification spec = Arithmetic("mlp", "fp32", "adamw", 0.8);
  const CheckpointIdentity own = {{"specification", "s1"}, {"stack", "torch-2.11-cu130"}};
  const auto told = [&](const CheckpointIdentity& identity, bool resumes) {
    Member member(spec);
    member.set_identity(own);
    (void)member.Run({.stop_after = 6});
    member.set_identity(identity);
    testing::internal::CaptureStderr();
    const Left left = member.Run({});
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(left.report.resumed_at.empty(), !resumes);
    EXPECT_EQ(left.hashes, Undisturbed(spec).hashes);
    return text;
  };
  EXPECT_EQ(told(own, true), "goes on after 6 steps\n");
  const auto said = [](const std::string& text, const std::string& part) {
    return text.find("is not used: " + part + "\n") != std::string::npos;
  };
  EXPECT_TRUE(said(told({{"specification", "s2"}, {"stack", "torch-2.11-cu130"}}, false),
                   "it is of another specification: 's1', not 's2'"));
  EXPECT_TRUE(said(told({{"specification", "s2"}, {"stack", "torch-2.7-cu126"}}, false),
                   "it is of another specification: 's1', not 's2', of another stack: "
                   "'torch-2.11-cu130', not 'torch-2.7-cu126'"));
}

// Under the same identity: of another precision or optimiser the tensors do not fit.
TEST(ArithmeticResumeTest, TensorsOfAnotherArithmeticDoNotFit) {
  const auto told = [](const Specification& first, const Specification& then) {
    Member member(first);
    (void)member.Run({.stop_after = 6});
    Member next(then, member.checkpoints(), LocalFileSystem());
    testing::internal::CaptureStderr();
    EXPECT_TRUE(next.Run({}).report.resumed_at.empty());
    return testing::internal::GetCapturedStderr();
  };
  const Specification single = Arithmetic("mlp", "fp32", "sgd", 0);
  const Specification twice = Arithmetic("mlp", "fp64", "sgd", 0);
  const Specification more = Arithmetic("mlp", "fp32", "adamw", 0.9);
  const auto said = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(said(told(twice, single), "bytes; this training has"));
  EXPECT_TRUE(said(told(single, twice), "is float32 [16, 784]; expected int64 [16, 784]"));
  // Three layers: weights, biases, their momentum, and the sum of losses.
  const std::string fewer = told(single, more);
  EXPECT_TRUE(said(fewer, "it has 13 tensors; this training has 25")) << fewer;
}

}  // namespace
}  // namespace noisefloor::trainer
