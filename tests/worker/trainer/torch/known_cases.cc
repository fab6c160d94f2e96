#include "tests/worker/trainer/torch/known_cases.h"

#include "tests/worker/trainer/torch/trainer_process.h"

namespace noisefloor::trainer {

namespace {

// A few examples of the synthetic sample; enough for a sum of gradients to have an order.
TrainerRequest Request(const std::string& model, int64_t train_examples, int64_t test_examples) {
  TrainerRequest request = SmallRequest(model);
  Specification& spec = request.specification;
  spec.data.train_examples = train_examples;
  spec.data.test_examples = test_examples;
  spec.train.batch_size = 8;
  spec.train.epochs = 1;
  return request;
}

TrainerRequest SmallCnnPlain() {
  TrainerRequest request = Request("small_cnn", 24, 20);
  Specification& spec = request.specification;
  spec.model.batch_norm = false;
  spec.model.batch_norm_momentum = ModelSettings().batch_norm_momentum;  // Not read, then.
  return request;
}

TrainerRequest SmallCnnPoked() {
  TrainerRequest request = SmallCnnPlain();
  Specification& spec = request.specification;
  spec.Source(NoiseSource::kPoke).state = SourceState::kFixed;
  spec.sources.poke_step = 1;
  spec.sources.poke_element = 77;
  spec.train.optimizer.learning_rate = 0.5;
  return request;
}

// Every augmentation, batch norm in four shards, the rest of the optimiser's settings.
TrainerRequest SmallCnnFull() {
  TrainerRequest request = Request("small_cnn", 44, 20);
  Specification& spec = request.specification;
  spec.augment = {.crop_padding = 2, .flip = true, .cutout = 6, .standardise = true};
  spec.sources.augment_key = "position";
  spec.sources.shuffle_window = 5;
  spec.train.batch_size = 16;
  spec.train.drop_last = true;
  spec.train.epochs = 2;
  spec.train.shards = 4;
  spec.train.label_smoothing = 0.1;
  spec.train.optimizer = {.momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
  spec.train.schedule = {.name = "cosine", .warmup_epochs = 0.5};
  return request;
}

TrainerRequest SmallCnnColours() {
  TrainerRequest request = Request("small_cnn", 16, 20);
  request.data_root = SyntheticColourRoot();
  request.write_evaluation_set = true;
  Specification& spec = request.specification;
  spec.data.name = "cifar10";
  spec.augment = {.crop_padding = 4, .flip = true};
  spec.train.shards = 2;
  spec.train.optimizer.momentum = 0.9;
  return request;
}

// More batches than are hashed, the last of them short.
TrainerRequest MlpAdam() {
  TrainerRequest request = Request("mlp", 18, 20);
  Specification& spec = request.specification;
  spec.train.batch_size = 4;
  spec.model.dropout = 0.3;
  spec.train.epochs = 2;
  spec.train.shards = 2;
  spec.train.optimizer = {
      .name = "adam", .learning_rate = 0.01, .weight_decay = 0.001, .epsilon = 1e-3};
  spec.train.schedule = {.name = "step", .milestones = {1}};
  return request;
}

TrainerRequest MediumCnnDropout() {
  TrainerRequest request = Request("medium_cnn", 8, 6);
  Specification& spec = request.specification;
  spec.model.dropout = 0.25;
  spec.model.init = "he_normal";
  spec.train.batch_size = 4;
  spec.train.optimizer.momentum = 0.9;
  return request;
}

TrainerRequest ResNet18() {
  TrainerRequest request = Request("resnet18", 2, 2);
  request.specification.train.batch_size = 2;
  request.specification.model.init = "he_normal";
  return request;
}

}  // namespace

void PrintTo(const KnownCase& known, std::ostream* out) { *out << known.name; }

const std::vector<KnownCase>& KnownCases() {
  static const std::vector<KnownCase> cases = {
      {"small_cnn", SmallCnnPlain},
      {"small_cnn_poked", SmallCnnPoked},
      {"small_cnn_full", SmallCnnFull},
      {"small_cnn_colours", SmallCnnColours},
      {"mlp_adam", MlpAdam},
      {"medium_cnn_dropout", MediumCnnDropout, 2e-2},
      {"resnet18", ResNet18, 2e-2},
  };
  return cases;
}

}  // namespace noisefloor::trainer
