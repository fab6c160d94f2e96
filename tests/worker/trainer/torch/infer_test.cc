// Weights that are evaluated and not trained: on the class that trained them the predictions are
// theirs to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "common/files/safetensors.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/torch/trainer_process.h"

namespace noisefloor::trainer {
namespace {

std::string WeightsOf(const TrainerRequest& request) {
  return request.work_directory + "/weights.safetensors";
}

// The same member with its weights given, in a new folder.
TrainerRequest Given(const TrainerRequest& trained) {
  TrainerRequest request = SmallRequest();
  request.specification = trained.specification;
  request.data_root = trained.data_root;
  request.weights = WeightsOf(trained);
  return request;
}

std::vector<std::string> KindsOf(const Ran& ran) {
  std::vector<std::string> kinds;
  for (const TrainerEvent& event : ran.events) {
    if (const auto* artifact = std::get_if<Artifact>(&event)) kinds.push_back(artifact->kind);
  }
  return kinds;
}

// With everything that could make an evaluation differ: batch norm's statistics, shards, drawn
// threads, kernels that may be any.
TEST(InferTest, ThePredictionsAreThoseOfTheTrainingToTheBit) {
  for (const char* model : {"small_cnn", "resnet18", "mlp"}) {
    TrainerRequest request = SmallRequest(model);
    Specification& spec = request.specification;
    spec.train.epochs = 1;
    spec.train.shards = 2;
    spec.evaluate.batch_size = 70;
    if (model == std::string("small_cnn")) spec.model.batch_norm = true;
    spec.augment.standardise = true;
    spec.evaluate.predictions = "none";
    Free(spec, NoiseSource::kKernels);
    const Ran trained = RunTrainer(request);
    ASSERT_EQ(trained.exit_code, 0) << trained.outcome().message;
    EXPECT_EQ(KindsOf(trained), std::vector<std::string>{"weights"}) << "no predictions";
    const TrainerRequest given = Given(request);

    const Ran ran = RunTrainer(given);

    ASSERT_EQ(ran.exit_code, 0) << model << ": " << ran.outcome().message;
    EXPECT_EQ(ran.outcome().kind, Outcome::Kind::kDone);
    EXPECT_EQ(ran.Hash("weights"), trained.Hash("weights")) << model;
    EXPECT_EQ(ran.Hash("logits"), trained.Hash("logits")) << model;
    EXPECT_EQ(ran.outcome().metrics, trained.outcome().metrics) << model;
    EXPECT_EQ(ran.outcome().per_class_accuracy, trained.outcome().per_class_accuracy);
    EXPECT_EQ(ran.outcome().hashes.size(), 2u) << "nothing was drawn or trained";
    EXPECT_EQ(KindsOf(ran), std::vector<std::string>{"predictions"}) << "they are what it is for";
    ASSERT_EQ(ran.RecordsOf("test_top1").size(), 1u);
    EXPECT_EQ(ran.RecordsOf("test_top1")[0].step, 0);
    EXPECT_TRUE(ran.RecordsOf("train_loss").empty());
    EXPECT_EQ(ran.outcome().train_seconds, 0);
  }
}

// The file has doubles rounded to floats: what it says is evaluated as the training evaluates.
TEST(InferTest, OfATrainingInDoublesTestsAreInDoubles) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 1;
  request.specification.train.precision = "fp64";
  const Ran trained = RunTrainer(request);
  ASSERT_EQ(trained.exit_code, 0) << trained.outcome().message;

  const Ran given = RunTrainer(Given(request));

  ASSERT_EQ(given.exit_code, 0) << given.outcome().message;
  EXPECT_NE(given.Hash("weights"), trained.Hash("weights"));
  EXPECT_EQ(given.outcome().per_class_accuracy, trained.outcome().per_class_accuracy);
  EXPECT_NEAR(given.outcome().metrics.at("loss"), trained.outcome().metrics.at("loss"), 1e-6);
  TrainerRequest in_floats = Given(request);
  in_floats.specification.train.precision = "fp32";
  EXPECT_NE(RunTrainer(in_floats).Hash("weights"), given.Hash("weights")) << "of another type";
}

TEST(InferTest, WhoMeasuresTakesNoWeights) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 1;
  ASSERT_EQ(RunTrainer(request).exit_code, 0);
  TrainerRequest given = Given(request);
  given.specification.measure.steps = 2;

  const Ran ran = RunTrainer(given);

  EXPECT_EQ(ran.outcome().cause, CauseClass::kBadSpecification) << ran.outcome().message;
}

TEST(InferTest, LanesChangeNothingAndOtherWeightsChangeThePredictions) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 1;
  const Ran trained = RunTrainer(request);
  TrainerRequest given = Given(request);
  Free(given.specification, NoiseSource::kInit, 5);
  EXPECT_EQ(RunTrainer(given).Hash("logits"), trained.Hash("logits"));

  const auto file = SafetensorsFile::Open(WeightsOf(request));
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::vector<float>> values;
  std::vector<TensorView> tensors;
  for (const TensorView& tensor : file->tensors()) values.push_back(*CopyValues<float>(tensor));
  values.front().front() += 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorView& tensor = file->tensors()[i];
    tensors.push_back(MakeTensorView<float>(tensor.name, tensor.shape, values[i]));
  }
  const std::string changed = given.work_directory + "-changed.safetensors";
  ASSERT_TRUE(WriteSafetensors(changed, tensors).ok());
  TrainerRequest other = Given(request);
  other.weights = changed;
  const Ran ran = RunTrainer(other);
  ASSERT_EQ(ran.exit_code, 0) << ran.outcome().message;
  EXPECT_NE(ran.Hash("weights"), trained.Hash("weights"));
  EXPECT_NE(ran.Hash("logits"), trained.Hash("logits"));
  std::filesystem::remove(changed);
}

class StrangeWeightsTest : public testing::Test {
 protected:
  StrangeWeightsTest() : request_(SmallRequest("mlp")) {
    request_.specification.model.hidden = 8;
    request_.specification.train.epochs = 1;
    trained_ = RunTrainer(request_);
    const auto file = SafetensorsFile::Open(WeightsOf(request_));
    EXPECT_TRUE(file.ok()) << file.status();
    for (const TensorView& tensor : file->tensors()) {
      values_.push_back({tensor.name, tensor.shape, *CopyValues<float>(tensor)});
    }
  }
  struct Values {
    std::string name;
    Shape shape;
    std::vector<float> values;
  };
  Values& Of(const std::string& name) { return *std::ranges::find(values_, name, &Values::name); }
  // Evaluates what `values_` is now, and `more`.
  Ran Run(const std::vector<TensorView>& more = {}) {
    std::vector<TensorView> tensors = more;
    for (const Values& one : values_) {
      tensors.push_back(MakeTensorView<float>(one.name, one.shape, one.values));
    }
    TrainerRequest given = Given(request_);
    given.weights = request_.work_directory + "/strange.safetensors";
    EXPECT_TRUE(WriteSafetensors(given.weights, tensors).ok());
    return RunTrainer(given);
  }
  static std::string Refusal(const Ran& ran) {
    EXPECT_EQ(ran.exit_code, ExitCodeOf(CauseClass::kBadSpecification)) << ran.output;
    return ran.outcome().message;
  }

  TrainerRequest request_;
  Ran trained_;
  std::vector<Values> values_;
};

TEST_F(StrangeWeightsTest, AreRefusedByTheNameOfTheTensor) {
  Of("dense2.bias").name = "dense2.offset";
  EXPECT_EQ(Refusal(Run()), "weights: no tensor dense2.bias, which the network has with shape [8]");
  Of("dense2.offset").name = "dense2.bias";
  Of("dense2.weight").shape = {4, 16};
  EXPECT_EQ(Refusal(Run()), "weights: dense2.weight: expected shape [8, 8], got [4, 16]");
  Of("dense2.weight").shape = {8, 8};
  const std::vector<int64_t> whole(8, 1);
  Of("dense1.bias").name = "a";
  EXPECT_EQ(Refusal(Run({MakeTensorView<int64_t>("dense1.bias", {8}, whole)})),
            "weights: dense1.bias: expected float32, got int64");
  Of("a").name = "dense1.bias";
  EXPECT_EQ(Refusal(Run({MakeTensorView<int64_t>("ema.decay", {8}, whole)})),
            "weights: the network has no ema.decay");
}

// A counter of PyTorch's, which evaluates nothing.
TEST_F(StrangeWeightsTest, TheCounterOfABatchNormIsNoStranger) {
  const std::vector<int64_t> one = {7};
  const Ran ran = Run({MakeTensorView<int64_t>("bn1.num_batches_tracked", {}, one)});
  ASSERT_EQ(ran.exit_code, 0) << ran.outcome().message;
  EXPECT_EQ(ran.Hash("logits"), trained_.Hash("logits"));
}

TEST_F(StrangeWeightsTest, ThatAreNotFiniteHaveDiverged) {
  Of("dense3.bias").values.front() = std::numeric_limits<float>::infinity();
  const Ran ran = Run();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.outcome().kind, Outcome::Kind::kDiverged);
}

TEST_F(StrangeWeightsTest, AFileThatIsNoneIsSaidToBeNone) {
  const std::string& folder = request_.work_directory;
  const std::string none = folder + "/none.safetensors";
  std::ofstream(none) << "not weights";
  for (const std::string& path : {none, folder + "/nowhere.safetensors", none + "/below", folder}) {
    TrainerRequest given = Given(request_);
    given.weights = path;
    const std::string message = Refusal(RunTrainer(given));
    EXPECT_TRUE(message.starts_with("weights: " + path + ": ")) << message;
  }
}

TEST(InferTest, TheDescriptionSaysThatItInfers) {
  const Ran ran = RunTrainer("", {.arguments = {"--describe"}});
  EXPECT_EQ(Json::parse(ran.output, nullptr, false)["infers"], kInferVersion);
}

}  // namespace
}  // namespace noisefloor::trainer
