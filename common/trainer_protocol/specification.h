// One training, fully resolved: what a trainer is asked to do. Nothing is left to a default.
//
// The settings are listed once, in fields.cc: the sweep file, the axes, the JSON and the checks of
// limits all go through that table. Plain values; no threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/noise_source.h"
#include "common/base/seed.h"

namespace noisefloor {

struct ModelSettings {
  std::string name = "small_cnn";
  bool batch_norm = true;
  double batch_norm_momentum = 0.01;  // Share of the new batch in the running statistics.
  double batch_norm_epsilon = 1e-3;
  double dropout = 0.0;         // Probability of a zero, in models with dropout layers.
  int64_t hidden = 128;         // Width of the MLP's two hidden layers.
  int64_t kernel = 3;           // Side of kernel_cnn's convolutions.
  int64_t width = 64;           // Half of the channels of a ResNet-9's layer1.
  bool zero_last_norm = false;  // The last batch norm of residual blocks begins at 0.
  std::string init = "glorot_uniform";
};

struct DataSettings {
  std::string name = "fashion-mnist-sample";  // Of a known set, or the folder of own images.
  std::string identity;        // Expected identity hash; empty: the first hello pins it.
  int64_t train_examples = 0;  // The first n in canonical order; 0: all.
  int64_t test_examples = 0;
  int64_t image_size = 0;  // Side in pixels that own images are made; 0: the set is a known one.
  std::string labels;      // Of own images: a column, or attributes separated by commas.
  std::string groups;      // Columns separated by commas that go with the test set.
};

struct AugmentSettings {
  int64_t crop_padding = 0;  // Pixels of zero padding before a random crop; 0: no crop.
  bool flip = false;
  int64_t cutout = 0;        // Side of the blanked square in pixels; 0: none.
  bool standardise = false;  // Per image, also at test time.
};

struct OptimizerSettings {
  std::string name = "sgd";
  std::string formula = "torch";  // Whose formula, where PyTorch's and Keras' differ.
  double learning_rate = 0.05;
  double momentum = 0.0;
  bool nesterov = false;
  double bias_rate = 1.0;     // Learning rate of biases, as a multiple of the others'.
  double weight_decay = 0.0;  // Added to the gradient; of adamw: taken from the weights.
  std::string decayed = "all";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;  // Of Adam, as in Keras.
};

struct ScheduleSettings {
  std::string name = "constant";
  std::vector<int64_t> milestones;  // Epochs after which the rate is multiplied by `factor`.
  double factor = 0.1;
  std::string factors;         // Of list: ReadFactors.
  int64_t every_epochs = 10;   // Of staircase.
  int64_t power = 1;           // Of polynomial.
  double start = 0.2;          // Of triangular: shares of the learning rate, and where it is
  double peak = 0.23;          // whole, as a share of all steps.
  double end = 0.0;            // Of triangular and polynomial: share of the rate at the end.
  double warmup_epochs = 0.0;  // Linear from 0, before any schedule.
};

// Of fp16: the loss is multiplied by it, so that small gradients are no zeros.
struct LossScaleSettings {
  double initial = 65536;
  int64_t growth_interval = 2000;  // Steps in a row with finite gradients before it is doubled.
};

struct TrainSettings {
  int64_t epochs = 2;
  int64_t batch_size = 128;
  int64_t shards = 1;   // Gradient shards, one thread each.
  int64_t devices = 1;  // That share the shards: GPUs; of a processor copies of the weights.
  int64_t threads = 1;  // Intra-op threads, when the source `threads` is off.
  bool drop_last = false;
  double label_smoothing = 0.0;
  std::string loss = "cross_entropy";
  std::string precision = "fp32";
  LossScaleSettings loss_scale;
  double clip_norm = 0.0;      // Longest gradient, over all weights; 0: any.
  double average_decay = 0.0;  // Of the moving average of the weights; 0: none.
  OptimizerSettings optimizer;
  ScheduleSettings schedule;
};

// Settings of the noise sources that are neither fixed nor free.
struct SourceSettings {
  int64_t shuffle_window = 0;  // data_order: 0 = full permutation.
  std::string augment_key = "example";
  std::string kernels_kind = "stock";  // Of free kernels; "noisy": sums by atomic additions, too.
  int64_t poke_step = 0;               // Optimiser steps done before the poke.
  std::string poke_parameter;          // Empty: the first of two dimensions or more, by name.
  int64_t poke_element = 0;
  std::vector<int64_t> thread_choices;
  double dial_size = 0;         // Deviation of the noise, as a share of each gradient element.
  std::string dial_parameters;  // Patterns separated by commas; empty: all parameters.
  std::vector<int64_t> load_choices;
  std::string load_kind = "compute";
};

struct EvaluateSettings {
  int64_t every_epochs = 1;  // 0: only at the end.
  std::string predictions = "final";
  std::string weights = "final";
  int64_t batch_size = 1000;
};

// A member that measures what determinism costs, and trains nothing that is kept. Two arms take the
// same steps in turn: one as the noise plan says, one with all physical sources held still.
struct MeasureSettings {
  int64_t steps = 0;         // Timed, of each arm; 0: the member trains.
  int64_t warmup = 10;       // Steps of each arm before the first that is timed.
  int64_t image_size = 224;  // Side in pixels of the images in three colours, which are drawn.
  int64_t classes = 1000;
};

// What the member has of one noise source.
struct SourceSpec {
  SourceState state = SourceState::kFixed;
  Lane lane;
  uint64_t seed = 0;  // DeriveSeed(sweep seed, source, lane).
};

using NoiseSpec = std::array<SourceSpec, kAllNoiseSources.size()>;

// Everything fixed, but for what acts only when asked for.
inline NoiseSpec QuietNoise() {
  NoiseSpec noise;
  for (const NoiseSource source : kAllNoiseSources) {
    if (IsOffUnlessAsked(source)) noise[static_cast<size_t>(source) - 1].state = SourceState::kOff;
  }
  return noise;
}

struct Specification {
  ModelSettings model;
  DataSettings data;
  AugmentSettings augment;
  TrainSettings train;
  SourceSettings sources;
  EvaluateSettings evaluate;
  MeasureSettings measure;
  NoiseSpec noise = QuietNoise();  // In the order of kAllNoiseSources.
  std::string hardware_class;      // "cpu-amd-avx2"; empty until the cell has one.
  std::string stack;               // "torch-2.11-cu130"

  SourceSpec& Source(NoiseSource source) { return noise[static_cast<size_t>(source) - 1]; }
  const SourceSpec& Source(NoiseSource source) const {
    return noise[static_cast<size_t>(source) - 1];
  }
};

}  // namespace noisefloor
