#include "common/trainer_protocol/fields.h"

#include <algorithm>
#include <utility>

#include "common/trainer_protocol/networks.h"

namespace noisefloor {

namespace {

using S = Specification;

// One getter and one setter per member path; the setter gets a value of the field's kind.
#define NF_ACCESS(type, member)                                            \
  [](const S& s) -> SettingValue { return SettingValue(type(s.member)); }, \
      [](S& s, SettingValue v) { s.member = std::get<type>(std::move(v)); }
#define NF_BOOL(path, member, help) \
  Field { {path, SettingKind::kBool, help, 0, 0, {}, {}}, NF_ACCESS(bool, member) }
#define NF_INT(path, member, least, most, help) \
  Field { {path, SettingKind::kInt, help, least, most, {}, {}}, NF_ACCESS(int64_t, member) }
#define NF_NUMBER(path, member, least, most, help) \
  Field { {path, SettingKind::kNumber, help, least, most, {}, {}}, NF_ACCESS(double, member) }
#define NF_CHOICE(path, member, help, ...)                                                      \
  Field {                                                                                       \
    {path, SettingKind::kChoice, help, 0, 0, {__VA_ARGS__}, {}}, NF_ACCESS(std::string, member) \
  }
#define NF_TEXT(path, member, most, help) \
  Field { {path, SettingKind::kText, help, 0, most, {}, {}}, NF_ACCESS(std::string, member) }
#define NF_INTS(path, member, least, most, help)              \
  Field {                                                     \
    {path, SettingKind::kIntList, help, least, most, {}, {}}, \
        NF_ACCESS(std::vector<int64_t>, member)               \
  }

std::vector<std::string> NetworkNames() {
  std::vector<std::string> names;
  for (const KnownNetwork& network : KnownNetworks()) names.emplace_back(network.name);
  return names;
}

std::vector<Field> FieldsOfModel() {
  return {
      Field{{"model.name", SettingKind::kChoice, "the network", 0, 0, NetworkNames(), {}},
            NF_ACCESS(std::string, model.name)},
      NF_BOOL("model.batch_norm", model.batch_norm,
              "batch normalisation in small_cnn; the others always or never have it"),
      NF_NUMBER("model.batch_norm_momentum", model.batch_norm_momentum, 0, 1,
                "share of a new batch in the running statistics"),
      NF_NUMBER("model.batch_norm_epsilon", model.batch_norm_epsilon, 1e-12, 1,
                "added to the variance"),
      NF_NUMBER("model.dropout", model.dropout, 0, 0.95,
                "probability of a zero, in medium_cnn, mlp, vgg, mobilenet, efficientnet_b0, vit"),
      NF_INT("model.hidden", model.hidden, 1, 8192, "width of the two hidden layers of mlp"),
      NF_INT("model.kernel", model.kernel, 1, 7, "side of the kernels of kernel_cnn"),
      NF_INT("model.width", model.width, 1, 512,
             "of resnet9 and resnet9_whitened: half of the channels of layer1"),
      NF_BOOL("model.zero_last_norm", model.zero_last_norm,
              "the last batch norm of each residual block begins with weights 0"),
      NF_CHOICE("model.init", model.init, "distribution of the initial weights", "glorot_uniform",
                "he_normal", "dirac"),
  };
}

std::vector<Field> FieldsOfData() {
  return {
      NF_TEXT("data.name", data.name, 100,
              "the data set: cifar10, cifar100, mnist, fashion-mnist, fashion-mnist-sample, or the "
              "folder of your own images"),
      NF_TEXT(
          "data.identity", data.identity, 64,
          "identity hash that the data must have; empty: what the first member reads is pinned"),
      NF_INT("data.train_examples", data.train_examples, 0, 1e8,
             "the first n in canonical order; 0: all"),
      NF_INT("data.test_examples", data.test_examples, 0, 1e8,
             "the first n in canonical order; 0: all"),
      NF_INT("data.image_size", data.image_size, 0, 1024,
             "side in pixels that your own images are made; 0: the set is none of them"),
      NF_TEXT(
          "data.labels", data.labels, 4000,
          "of your own images: the column that is the class, or attributes, separated by commas; "
          "empty: label"),
      NF_TEXT("data.groups", data.groups, 4000,
              "of your own images: columns, separated by commas, that are kept with the test set"),
      NF_INT("augment.crop_padding", augment.crop_padding, 0, 64,
             "pixels of zeros round an image before a random crop; 0: no crop"),
      NF_BOOL("augment.flip", augment.flip, "left and right exchanged at random"),
      NF_INT("augment.cutout", augment.cutout, 0, 64,
             "side in pixels of a square blanked at random; 0: none"),
      NF_BOOL("augment.standardise", augment.standardise,
              "each image to mean 0 and deviation 1, also at test time"),
  };
}

std::vector<Field> FieldsOfTraining() {
  return {
      NF_INT("train.epochs", train.epochs, 0, 100000,
             "passes over the training set; 0: the initial weights are tested"),
      NF_INT("train.batch_size", train.batch_size, 1, 65536, "examples of a step, over all shards"),
      NF_INT("train.shards", train.shards, 1, 64,
             "equal parts of a batch, a thread each, whose gradients are added"),
      NF_INT("train.devices", train.devices, 1, 64,
             "GPUs that share the shards; on a processor copies of the weights that do"),
      NF_INT("train.threads", train.threads, 1, 256,
             "threads of each operation, unless the source threads draws their number"),
      NF_BOOL("train.drop_last", train.drop_last,
              "leaves out the last batch of an epoch when it is not full"),
      NF_NUMBER("train.label_smoothing", train.label_smoothing, 0, 0.99,
                "share of a label that is spread over all classes"),
      NF_CHOICE("train.loss", train.loss,
                "of one class out of many, or of several attributes, each yes or no",
                "cross_entropy", "binary_cross_entropy"),
      NF_CHOICE("train.precision", train.precision, "the arithmetic", "fp32", "tf32", "bf16",
                "fp16", "fp64"),
      NF_NUMBER("train.loss_scale.initial", train.loss_scale.initial, 0.001, 16777216,
                "of fp16: what the loss is multiplied by, at first"),
      NF_INT("train.loss_scale.growth_interval", train.loss_scale.growth_interval, 1, 1e9,
             "of fp16: steps in a row with finite gradients after which the scale is doubled"),
      NF_NUMBER("train.clip_norm", train.clip_norm, 0, 1e30,
                "longest gradient, over all weights: a longer one is shortened to it; 0: none is"),
      NF_NUMBER("train.average_decay", train.average_decay, 0, 0.999999,
                "what the moving average of the weights keeps of itself each step; 0: no average"),
  };
}

std::vector<Field> FieldsOfOptimizer() {
  return {
      NF_CHOICE("train.optimizer.name", train.optimizer.name, "the optimiser", "sgd", "adam",
                "adamw"),
      NF_CHOICE("train.optimizer.formula", train.optimizer.formula,
                "whose formula, where the two differ", "torch", "keras"),
      NF_NUMBER("train.optimizer.learning_rate", train.optimizer.learning_rate, 0, 1e30,
                "learning rate, before the schedule"),
      NF_NUMBER("train.optimizer.momentum", train.optimizer.momentum, 0, 0.9999, "of sgd"),
      NF_BOOL("train.optimizer.nesterov", train.optimizer.nesterov, "Nesterov's form of momentum"),
      NF_NUMBER("train.optimizer.bias_rate", train.optimizer.bias_rate, 0, 1000,
                "learning rate of biases, as a multiple of the others'"),
      NF_NUMBER("train.optimizer.weight_decay", train.optimizer.weight_decay, 0, 10,
                "times the weights, added to the gradient"),
      NF_CHOICE("train.optimizer.decayed", train.optimizer.decayed,
                "which parameters weight_decay is for: all, or no biases and norms", "all",
                "matrices"),
      NF_NUMBER("train.optimizer.beta1", train.optimizer.beta1, 0, 0.999999,
                "of adam and adamw: decay of the mean gradient"),
      NF_NUMBER("train.optimizer.beta2", train.optimizer.beta2, 0, 0.999999,
                "of adam and adamw: decay of the mean square"),
      NF_NUMBER("train.optimizer.epsilon", train.optimizer.epsilon, 1e-30, 1,
                "of adam and adamw: added to the denominator"),
  };
}

std::vector<Field> FieldsOfSchedule() {
  return {
      NF_CHOICE("train.schedule.name", train.schedule.name, "the learning rate over time",
                "constant", "step", "cosine", "staircase", "polynomial", "triangular", "list"),
      NF_INTS("train.schedule.milestones", train.schedule.milestones, 1, 100000,
              "of step and list: epochs after which another rate begins"),
      NF_NUMBER("train.schedule.factor", train.schedule.factor, 0, 1,
                "of step and staircase: what the rate is multiplied by"),
      NF_TEXT("train.schedule.factors", train.schedule.factors, 4000,
              "of list: multiples of the learning rate, from the start and from each milestone"),
      NF_INT("train.schedule.every_epochs", train.schedule.every_epochs, 1, 100000,
             "of staircase: epochs between two falls"),
      NF_INT("train.schedule.power", train.schedule.power, 1, 10, "of polynomial"),
      NF_NUMBER("train.schedule.start", train.schedule.start, 0, 1,
                "of triangular: share of the learning rate at the first step"),
      NF_NUMBER("train.schedule.peak", train.schedule.peak, 0, 1,
                "of triangular: share of the steps after which the rate is whole"),
      NF_NUMBER("train.schedule.end", train.schedule.end, 0, 1,
                "of triangular and polynomial: share of the learning rate at the end"),
      NF_NUMBER("train.schedule.warmup_epochs", train.schedule.warmup_epochs, 0, 100000,
                "epochs of a linear rise from 0, before the schedule"),
  };
}

std::vector<Field> FieldsOfSourcesAndEvaluation() {
  return {
      NF_INT("sources.data_order.window", sources.shuffle_window, 0, 1e8,
             "buffer of a windowed shuffle; 0: a full permutation"),
      NF_CHOICE("sources.augment.key", sources.augment_key,
                "what indexes a draw: the example, or its position in the epoch", "example",
                "position"),
      NF_CHOICE("sources.kernels.kind", sources.kernels_kind,
                "which kernels a GPU has where they are free: LibTorch's choice, or gradients of "
                "biases as sums of atomic additions besides",
                "stock", "noisy"),
      NF_INT("sources.poke.step", sources.poke_step, 0, 1e9,
             "optimiser steps done before the poke"),
      NF_TEXT("sources.poke.parameter", sources.poke_parameter, 200,
              "the parameter that is poked; empty: the first weight by name"),
      NF_INT("sources.poke.element", sources.poke_element, 0, 1e9,
             "which element, where poke is fixed; free draws it"),
      NF_INTS("sources.threads.choices", sources.thread_choices, 1, 256,
              "thread counts that the source threads draws from"),
      NF_NUMBER("sources.dial.size", sources.dial_size, 0, 1,
                "deviation of the source dial's noise, as a share of each element of a gradient; "
                "one rounding moves at most 6e-8"),
      NF_TEXT("sources.dial.parameters", sources.dial_parameters, 4000,
              "the parameters whose gradients get it, separated by commas; in a name * stands for "
              "any characters; empty: all"),
      NF_INTS("sources.load.choices", sources.load_choices, 0, 256,
              "numbers of busy threads that the source load draws from"),
      NF_CHOICE("sources.load.kind", sources.load_kind,
                "what the busy threads do: compute in registers, or stream through memory",
                "compute", "memory"),
      NF_INT("evaluate.every_epochs", evaluate.every_epochs, 0, 100000,
             "epochs between tests; 0: only at the end"),
      NF_CHOICE("evaluate.predictions", evaluate.predictions,
                "the logits that are kept: of the last test, of every test, none", "final", "all",
                "none"),
      NF_CHOICE("evaluate.weights", evaluate.weights,
                "the weights that are kept: of the last test, of every test", "final", "all"),
      NF_INT("evaluate.batch_size", evaluate.batch_size, 1, 65536, "examples of a batch of a test"),
  };
}

std::vector<Field> FieldsOfMeasurement() {
  return {
      NF_INT("measure.steps", measure.steps, 0, 10000,
             "timed steps of each arm; 0: the member trains"),
      NF_INT("measure.warmup", measure.warmup, 1, 10000,
             "steps of each arm before the first that is timed"),
      NF_INT("measure.image_size", measure.image_size, 1, 1024,
             "side in pixels of the images, which are drawn"),
      NF_INT("measure.classes", measure.classes, 2, 100000, "classes of the images, or attributes"),
  };
}

std::vector<Field> MakeFields() {
  std::vector<Field> fields;
  const Specification defaults;
  for (const auto& part :
       {FieldsOfModel(), FieldsOfData(), FieldsOfTraining(), FieldsOfOptimizer(),
        FieldsOfSchedule(), FieldsOfSourcesAndEvaluation(), FieldsOfMeasurement()}) {
    fields.insert(fields.end(), part.begin(), part.end());
  }
  for (Field& field : fields) field.rule.otherwise = field.get(defaults);
  return fields;
}

#undef NF_ACCESS
#undef NF_BOOL
#undef NF_INT
#undef NF_NUMBER
#undef NF_CHOICE
#undef NF_TEXT
#undef NF_INTS

}  // namespace

std::span<const Field> AllFields() {
  static const std::vector<Field> fields = MakeFields();
  return fields;
}

const Field* FindField(std::string_view path) {
  const auto fields = AllFields();
  const auto it =
      std::ranges::find_if(fields, [&](const Field& field) { return field.rule.path == path; });
  return it == fields.end() ? nullptr : &*it;
}

const SettingsSchemaRef& OwnSchema() {
  static const SettingsSchemaRef schema = [] {
    std::vector<SettingRule> rules;
    for (const Field& field : AllFields()) rules.push_back(field.rule);
    return std::make_shared<const SettingsSchema>(std::move(rules));
  }();
  return schema;
}

std::string IdentityOf(const SettingsSchema& schema) {
  return schema.identity() == SettingsOf02()->identity() ? "" : schema.identity();
}

SettingsSchemaRef BuiltInSchema(std::string_view identity) {
  if (identity.empty()) return SettingsOf02();
  return identity == IdentityOf(*OwnSchema()) ? OwnSchema() : nullptr;
}

bool Trains(std::string_view offered, std::string_view wanted) {
  return offered == wanted || (wanted.empty() && offered == OwnSchema()->identity());
}

absl::Status SetField(Specification& specification, std::string_view path, SettingValue value) {
  NF_ASSIGN_OR_RETURN(SettingValue taken, OwnSchema()->Take(path, std::move(value)));
  FindField(path)->set(specification, std::move(taken));
  return absl::OkStatus();
}

}  // namespace noisefloor
