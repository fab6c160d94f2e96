// Settings that are right each by itself and wrong together, with the exact words.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/networks.h"
#include "tests/common/trainer_protocol/problems_of.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

TEST(CheckTogetherTest, DefaultsFitTogether) { EXPECT_THAT(ProblemsOf({}), ElementsAre()); }

TEST(CheckTogetherTest, ABatchMustBeDivisibleByItsShards) {
  Specification specification;
  specification.train.batch_size = 128;
  specification.train.shards = 3;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.batch_size: 128 is not divisible by train.shards 3; the nearest "
                          "that are: 126 or 129"));

  specification.train.batch_size = 126;
  specification.train.shards = 9;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.batch_size: the last batch of 6000 examples has 78, not divisible "
                          "by train.shards 9; set train.drop_last: true or another batch size"));
}

TEST(CheckTogetherTest, ShardsMustBeDivisibleByTheirDevices) {
  Specification specification;
  specification.train.batch_size = 120;
  specification.train.shards = 6;
  specification.train.devices = 4;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.shards: 6 is not divisible by train.devices 4; the nearest that "
                          "are: 4 or 8"));
  specification.train.shards = 3;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.shards: 3 is not divisible by train.devices 4; the nearest that "
                          "are: 4"));
  specification.train.devices = 3;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

// A processor has as many copies of the weights as are asked for.
TEST(CheckTogetherTest, AClassOfGpusHasExactlyTheDevicesOfTheMember) {
  Specification specification;
  specification.train.batch_size = 120;
  specification.train.shards = 4;
  const auto problems = [&](const char* hardware, int64_t devices) {
    specification.hardware_class = hardware;
    specification.train.devices = devices;
    return ProblemsOf(specification);
  };
  for (const char* any : {"", "cpu-amd-avx2", "tpu-v4-x2"}) {
    EXPECT_THAT(problems(any, 1), ElementsAre()) << any;
    EXPECT_THAT(problems(any, 4), ElementsAre()) << any;
  }
  EXPECT_THAT(problems("nvidia-h200", 1), ElementsAre());
  EXPECT_THAT(problems("nvidia-h200-x4", 4), ElementsAre());
  EXPECT_THAT(problems("nvidia-h200", 4),
              ElementsAre("train.devices: 4 asked, nvidia-h200 has one GPU; expected 1, or the "
                          "class nvidia-h200-x4"));
  EXPECT_THAT(problems("nvidia-h200-x4", 2),
              ElementsAre("train.devices: 2 asked, nvidia-h200-x4 has 4 GPUs; expected 4, or the "
                          "class nvidia-h200-x2"));
  EXPECT_THAT(problems("nvidia-h200-x4", 1),
              ElementsAre("train.devices: 1 asked, nvidia-h200-x4 has 4 GPUs; expected 4, or the "
                          "class nvidia-h200"));
}

TEST(CheckTogetherTest, ABatchMustExistToBeTrained) {
  Specification specification;
  specification.data.train_examples = 300;
  specification.train.batch_size = 1000;
  specification.train.drop_last = true;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.batch_size: 300 examples make no batch of 1000, and "
                          "train.drop_last leaves out what is less"));
  specification.train.batch_size = 300;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

TEST(CheckTogetherTest, TwoShardsCannotShowTheOrderOfASum) {
  Specification specification;
  specification.train.shards = 2;
  specification.Source(NoiseSource::kReduceOrder).state = SourceState::kFree;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.shards: with 2 shards the order of a sum changes nothing (a + b = "
                          "b + a); reduce_order: free needs 1 shard (no effect) or at least 3"));
}

TEST(CheckTogetherTest, OptimiserAndScheduleMustFitTheirSettings) {
  Specification specification;
  specification.train.optimizer.name = "adam";
  specification.train.optimizer.momentum = 0.9;
  specification.train.schedule.name = "step";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.optimizer.momentum: adam has no momentum setting; use beta1",
                          "train.schedule.milestones: schedule step needs at least one milestone"));

  specification = {};
  specification.train.optimizer.nesterov = true;
  specification.train.schedule.milestones = {3, 2};
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.optimizer.nesterov: needs train.optimizer.momentum above 0",
                          "train.schedule.milestones: only the schedules step and list have "
                          "milestones, not constant",
                          "train.schedule.milestones: expected rising epochs"));
}

TEST(CheckTogetherTest, DataLimitsMustBeThere) {
  Specification specification;
  specification.data.train_examples = 6001;
  specification.data.identity = "XYZ";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("data.train_examples: 6001 asked, fashion-mnist-sample has 6000",
                          "data.identity: expected 64 lower-case hexadecimal digits"));

  specification = {};
  specification.data.train_examples = 6000;
  specification.data.test_examples = 1001;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("data.test_examples: 1001 asked, fashion-mnist-sample has 1000"));
  specification.data.test_examples = 1000;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

TEST(CheckTogetherTest, TheThreadsSourceNeedsChoices) {
  Specification specification;
  specification.Source(NoiseSource::kThreads).state = SourceState::kFree;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("sources.threads.choices: the source threads is free: a list of thread "
                          "counts to draw from is needed"));
}

TEST(CheckTogetherTest, ADialNeedsASizeAndALoadChoices) {
  Specification specification;
  specification.Source(NoiseSource::kDial).state = SourceState::kFixed;
  specification.Source(NoiseSource::kLoad).state = SourceState::kFree;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("sources.dial.size: the source dial is fixed: a size above 0 is needed",
                          "sources.load.choices: the source load is free: a list of numbers of "
                          "busy threads to draw from is needed"));
  specification.sources.dial_size = 1e-300;
  specification.sources.load_choices = {0};
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

// The kernel adds floats. What kernels there are where they are fixed, is left alone.
TEST(CheckTogetherTest, NoisySumsAreOfFloats) {
  Specification specification;
  specification.sources.kernels_kind = "noisy";
  specification.Source(NoiseSource::kKernels).state = SourceState::kFree;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
  specification.train.precision = "fp64";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("sources.kernels.kind: noisy; its sums are of floats; expected stock "
                          "with fp64"));
}

// Of a network with one setting changed.
std::vector<std::string> ProblemsOf(const char* model, std::string_view path, SettingValue value) {
  Specification specification;
  specification.model.name = model;
  EXPECT_TRUE(SetField(specification, path, std::move(value)).ok());
  return ProblemsOf(specification);
}

TEST(CheckTogetherTest, EveryNetworkTakesTheDefaultsWithImagesThatAreLargeEnough) {
  for (const KnownNetwork& network : KnownNetworks()) {
    Specification specification;
    specification.model.name = network.name;
    EXPECT_EQ(ProblemsOf(specification).empty(), network.least_side <= 28) << network.name;
    specification.data.name = "cifar10";
    EXPECT_EQ(ProblemsOf(specification).empty(), network.least_side <= 32) << network.name;
  }
}

TEST(CheckTogetherTest, ImagesThatAreTooSmallForTheNetworkAreRefused) {
  Specification specification;
  specification.model.name = "vgg16";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("model.name: vgg16 needs images of at least 32 x 32 pixels, "
                          "fashion-mnist-sample has 28 x 28"));
  specification.model.name = "inception_v3";
  specification.data.name = "cifar10";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("model.name: inception_v3 needs images of at least 75 x 75 pixels, "
                          "cifar10 has 32 x 32"));
  EXPECT_TRUE(CheckImages("inception_v3", "faces", 75, 299).ok());
  EXPECT_EQ(Message(CheckImages("inception_v3", "faces", 74, 299)),
            "inception_v3 needs images of at least 75 x 75 pixels, faces has 74 x 299");
}

TEST(CheckTogetherTest, AKernelHasItsPixelInTheMiddle) {
  EXPECT_THAT(ProblemsOf("kernel_cnn", "model.kernel", int64_t{7}), ElementsAre());
  EXPECT_THAT(ProblemsOf("kernel_cnn", "model.kernel", int64_t{4}),
              ElementsAre("model.kernel: expected 1, 3, 5 or 7, got 4: a kernel has its pixel in "
                          "the middle"));
}

TEST(CheckTogetherTest, ASettingThatTheNetworkDoesNotReadIsRefused) {
  EXPECT_THAT(ProblemsOf("small_cnn", "model.dropout", 0.5),
              ElementsAre("model.dropout: small_cnn has no dropout; expected 0, the default"));
  EXPECT_THAT(ProblemsOf("resnet18", "model.dropout", 0.5),
              ElementsAre("model.dropout: resnet18 has no dropout; expected 0, the default"));
  EXPECT_THAT(ProblemsOf("resnet18", "model.batch_norm", false),
              ElementsAre("model.batch_norm: resnet18 has no batch normalisation to switch off; "
                          "expected true, the default"));
  EXPECT_THAT(ProblemsOf("medium_cnn", "model.batch_norm", false),
              ElementsAre("model.batch_norm: medium_cnn has no batch normalisation to switch off; "
                          "expected true, the default"));
  EXPECT_THAT(ProblemsOf("mlp", "model.batch_norm_momentum", 0.1),
              ElementsAre("model.batch_norm_momentum: mlp has no batch normalisation; expected "
                          "0.01, the default"));
  EXPECT_THAT(ProblemsOf("medium_cnn", "model.batch_norm_epsilon", 0.1),
              ElementsAre("model.batch_norm_epsilon: medium_cnn has no batch normalisation; "
                          "expected 0.001, the default"));
  EXPECT_THAT(ProblemsOf("medium_cnn", "model.kernel", int64_t{5}),
              ElementsAre("model.kernel: medium_cnn has no kernels of a side to choose; expected "
                          "3, the default"));
  EXPECT_THAT(ProblemsOf("resnet20", "model.width", int64_t{16}),
              ElementsAre("model.width: resnet20 has no number of channels to choose; expected 64, "
                          "the default"));
  EXPECT_THAT(ProblemsOf("resnet9", "model.zero_last_norm", true),
              ElementsAre("model.zero_last_norm: resnet9 has no residual blocks that end in batch "
                          "normalisation; expected false, the default"));
  EXPECT_THAT(ProblemsOf("small_cnn", "model.hidden", int64_t{64}),
              ElementsAre("model.hidden: small_cnn has no hidden layers of a width to choose; "
                          "expected 128, the default"));
}

TEST(CheckTogetherTest, AStemThatWhitensImagesWantsThemAsTheyAre) {
  EXPECT_THAT(ProblemsOf("resnet9_whitened", "augment.standardise", true),
              ElementsAre("augment.standardise: true; expected false: the stem of resnet9_whitened "
                          "whitens images as they are"));
  EXPECT_THAT(ProblemsOf("resnet9", "augment.standardise", true), ElementsAre());
}

TEST(CheckTogetherTest, ASettingThatTheNetworkReadsIsTaken) {
  EXPECT_THAT(ProblemsOf("small_cnn", "model.batch_norm", false), ElementsAre());
  EXPECT_THAT(ProblemsOf("small_cnn", "model.batch_norm_momentum", 0.1), ElementsAre());
  EXPECT_THAT(ProblemsOf("resnet18", "model.batch_norm_momentum", 0.1), ElementsAre());
  EXPECT_THAT(ProblemsOf("resnet18", "model.batch_norm_epsilon", 0.1), ElementsAre());
  EXPECT_THAT(ProblemsOf("medium_cnn", "model.dropout", 0.5), ElementsAre());
  EXPECT_THAT(ProblemsOf("mlp", "model.dropout", 0.5), ElementsAre());
  EXPECT_THAT(ProblemsOf("mlp", "model.hidden", int64_t{64}), ElementsAre());
  EXPECT_THAT(ProblemsOf("vit", "model.dropout", 0.1), ElementsAre());
  EXPECT_THAT(ProblemsOf("resnet9", "model.width", int64_t{16}), ElementsAre());
  EXPECT_THAT(ProblemsOf("resnet9_whitened", "model.width", int64_t{16}), ElementsAre());
  EXPECT_THAT(ProblemsOf("resnet50", "model.zero_last_norm", true), ElementsAre());
}

// One axis of a study may switch off what another setting of it describes.
TEST(CheckTogetherTest, BatchNormThatIsSwitchedOffMayStillBeDescribed) {
  Specification specification;
  specification.model.batch_norm = false;
  specification.model.batch_norm_momentum = 0.1;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

// 1,000 examples in batches of 128: 8 steps an epoch.
Specification WithPoke(int64_t epochs, int64_t step) {
  Specification specification;
  specification.data.train_examples = 1000;
  specification.train.epochs = epochs;
  specification.sources.poke_step = step;
  specification.Source(NoiseSource::kPoke).state = SourceState::kFixed;
  return specification;
}

TEST(CheckTogetherTest, APokeMustComeBeforeTheEnd) {
  EXPECT_THAT(ProblemsOf(WithPoke(2, 15)), ElementsAre());
  EXPECT_THAT(ProblemsOf(WithPoke(2, 16)),
              ElementsAre("sources.poke.step: 16 asked, the training has 16 steps, counted from 0: "
                          "the poke would never happen"));
  EXPECT_THAT(ProblemsOf(WithPoke(0, 0)),
              ElementsAre("sources.poke.step: 0 asked, the training has 0 steps, counted from 0: "
                          "the poke would never happen"));
  Specification free = WithPoke(2, 16);
  free.Source(NoiseSource::kPoke).state = SourceState::kFree;
  EXPECT_THAT(ProblemsOf(free), testing::SizeIs(1));
}

TEST(CheckTogetherTest, OfOwnImagesWhatIsKnownIsChecked) {
  Specification own = WithPoke(2, 16);
  own.data.name = "own";
  own.data.image_size = 32;
  EXPECT_THAT(ProblemsOf(own), ElementsAre(StartsWith("sources.poke.step: 16 asked")));
  own.data.train_examples = 0;
  EXPECT_THAT(ProblemsOf(own), ElementsAre());
  own.model.name = "vgg16";
  own.data.image_size = 16;
  EXPECT_THAT(ProblemsOf(own), ElementsAre(StartsWith("model.name: ")));
}

TEST(CheckTogetherTest, DiracNeedsAConvolution) {
  EXPECT_THAT(ProblemsOf("mlp", "model.init", std::string("dirac")),
              ElementsAre("model.init: dirac; mlp has no convolution that could pass channels on"));
  EXPECT_THAT(ProblemsOf("small_cnn", "model.init", std::string("dirac")), ElementsAre());
}

TEST(CheckTogetherTest, NoDrawComesTwice) {
  Specification specification;
  specification.data.train_examples = 4096;
  specification.train.batch_size = 1;
  specification.train.epochs = 65536;  // 2^28 steps.
  specification.evaluate.every_epochs = 0;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
  specification.train.epochs = 65537;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.epochs: 268439552 steps; expected at most 268435456, so that no "
                          "draw comes twice"));
}

TEST(CheckTogetherTest, APokeThatIsOffMaySayAnyStep) {
  Specification specification = WithPoke(2, 16);
  specification.Source(NoiseSource::kPoke).state = SourceState::kOff;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

Specification WithEvaluations(int64_t epochs, int64_t every, const char* predictions) {
  Specification specification;
  specification.train.epochs = epochs;
  specification.evaluate.every_epochs = every;
  specification.evaluate.predictions = predictions;
  return specification;
}

TEST(CheckTogetherTest, MoreEvaluationsThanAnAttemptMayReportAreRefusedBeforeTheTraining) {
  EXPECT_THAT(ProblemsOf(WithEvaluations(9996, 1, "final")), ElementsAre());
  EXPECT_THAT(ProblemsOf(WithEvaluations(9997, 1, "final")),
              ElementsAre("evaluate.every_epochs: 9997 evaluations asked; expected at most 9996; "
                          "set it to 2 or more"));
  EXPECT_THAT(ProblemsOf(WithEvaluations(100000, 1, "none")),
              ElementsAre("evaluate.every_epochs: 100000 evaluations asked; expected at most 9996; "
                          "set it to 11 or more"));
  EXPECT_THAT(ProblemsOf(WithEvaluations(100000, 11, "none")), ElementsAre());
  EXPECT_THAT(ProblemsOf(WithEvaluations(100000, 0, "all")), ElementsAre());
}

TEST(CheckTogetherTest, MoreFilesThanAnAttemptMayLeaveAreRefusedBeforeTheTraining) {
  EXPECT_THAT(ProblemsOf(WithEvaluations(995, 1, "all")), ElementsAre());
  EXPECT_THAT(ProblemsOf(WithEvaluations(996, 1, "all")),
              ElementsAre("evaluate.every_epochs: 996 evaluations asked; expected at most 995 with "
                          "evaluate.predictions: all; set it to 2 or more"));
  Specification specification = WithEvaluations(995, 1, "final");
  specification.evaluate.weights = "all";
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
  specification.train.epochs = 996;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("evaluate.every_epochs: 996 evaluations asked; expected at most 995 with "
                          "evaluate.weights: all; set it to 2 or more"));
  specification.evaluate.predictions = "all";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("evaluate.every_epochs: 996 evaluations asked; expected at most 497 with "
                          "evaluate.predictions: all and evaluate.weights: all; set it to 3 or "
                          "more"));
  specification.train.epochs = 497;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

Specification OwnImages() {
  Specification specification;
  specification.data.name = "faces";
  specification.data.image_size = 64;
  return specification;
}

TEST(CheckTogetherTest, AFolderOfOwnImagesNeedsASize) {
  EXPECT_THAT(ProblemsOf(OwnImages()), ElementsAre());
  Specification specification = OwnImages();
  specification.data.image_size = 0;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("data.name: 'faces' is not known; expected one of cifar10, cifar100, "
                          "mnist, fashion-mnist, fashion-mnist-sample, or a folder of your own "
                          "images with data.image_size"));
  specification.data.image_size = 7;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("data.image_size: 7; expected 8 or more for your own images"));
  specification.data.image_size = 8;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

TEST(CheckTogetherTest, AFolderOfOwnImagesHasAName) {
  for (const char* name : {"", ".faces", "a/b", ".."}) {
    Specification specification = OwnImages();
    specification.data.name = name;
    EXPECT_THAT(ProblemsOf(specification),
                ElementsAre("data.name: '" + std::string(name) +
                            "' names no folder; expected 1 to 100 letters, digits, '-', '_' or "
                            "'.', and no '.' first"));
  }
}

TEST(CheckTogetherTest, AttributesNeedColumnsAndHaveNoSmoothing) {
  Specification specification = OwnImages();
  specification.train.loss = "binary_cross_entropy";
  specification.train.label_smoothing = 0.1;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("data.labels: binary_cross_entropy needs attributes to learn",
                          "train.label_smoothing: binary_cross_entropy has none; expected 0"));
  specification.data.labels = "smiling,old";
  specification.train.label_smoothing = 0;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
  specification.train.loss = "cross_entropy";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("data.labels: several columns; cross_entropy learns one class, "
                          "binary_cross_entropy (train.loss) attributes"));
}

TEST(CheckTogetherTest, KnownSetsHaveNoneOfThat) {
  Specification specification;
  specification.data.image_size = 64;
  specification.data.labels = "a";
  specification.data.groups = "b";
  specification.train.loss = "binary_cross_entropy";
  const std::string is = "fashion-mnist-sample is no folder of your own images; expected ";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("data.image_size: " + is + "0", "data.labels: " + is + "none",
                          "data.groups: " + is + "none",
                          "train.loss: fashion-mnist-sample has classes and no attributes; "
                          "expected cross_entropy"));
}

TEST(CheckTogetherTest, ShardsOfOwnImagesLeaveOutTheLastBatch) {
  Specification specification = OwnImages();
  specification.train.shards = 4;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.drop_last: false; expected true for your own images with "
                          "train.shards 4: whether the last batch is divisible is not known "
                          "before"));
  specification.train.drop_last = true;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

}  // namespace
}  // namespace noisefloor
