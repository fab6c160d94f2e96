// The layers that networks are made of. A layer holds handles of its weights (at::Tensor counts
// references); copying a layer does not copy weights. Shapes: n examples, c channels, h x w pixels.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "worker/trainer/noise/draws.h"

namespace noisefloor::cuda {
class KernelLauncher;
}  // namespace noisefloor::cuda

namespace noisefloor::trainer {

// What a forward pass needs beside images and weights.
struct ForwardPass {
  bool training = false;
  int64_t step = 0;           // Optimiser steps done: part of a dropout draw's index.
  int64_t first_example = 0;  // Place in the whole batch of the first example given.
  DropoutDraws dropout{0};
  // Borrowed, until gradients are made: makes masks where the images are. Null: the host does, to
  // the same bits.
  cuda::KernelLauncher* launcher = nullptr;
  bool noisy_sums = false;       // Gradients of biases are NoisyBias's. Needs a launcher.
  int64_t images_at_once = 128;  // See InParts; changes no bit.
};

struct Conv {
  at::Tensor weight;  // {out, in / groups, height, width}, channels_last
  at::Tensor bias;    // {out}, or undefined
  int64_t stride = 1;
  std::array<int64_t, 2> padding = {1, 1};  // Zeros above and below, left and right.
  int64_t groups = 1;
  bool learned = true;  // false: the weight has no gradient.

  at::Tensor operator()(const at::Tensor& x, const ForwardPass& pass) const;
};

// Of the last dimension: of rows {n, in}, or of tokens {n, t, in}.
struct Dense {
  at::Tensor weight;  // {out, in}
  at::Tensor bias;    // {out}, or undefined

  at::Tensor operator()(const at::Tensor& x, const ForwardPass& pass) const;
};

// Normalises with the statistics of the examples it is given (one shard's) while training, and
// leaves them in batch_mean and batch_variance; running statistics are updated by the team of
// shards, from all of them.
struct BatchNorm {
  at::Tensor weight, bias;                // {c}; the weight may be undefined, which is 1
  at::Tensor running_mean, running_var;   // {c}, used when not training
  at::Tensor batch_mean, batch_variance;  // {c}, this replica's own; the variance is unbiased
  double epsilon = 1e-3;

  at::Tensor operator()(const at::Tensor& x, const ForwardPass& pass) const;
};

// Normalises each token by its own channels.
struct LayerNorm {
  at::Tensor weight, bias;  // {c}

  at::Tensor operator()(const at::Tensor& x, const ForwardPass& pass) const;
};

// Vaswani and others (2017): softmax(q k' / sqrt(c / heads)) v of each head, as products of
// matrices that have one order of sums on a device, and a dense layer after it.
struct Attention {
  Dense query_key_value;  // {c} to {3 c}: queries, keys, values, each of them by head
  Dense out;
  int64_t heads = 1;

  at::Tensor operator()(const at::Tensor& tokens, const ForwardPass& pass) const;  // {n, t, c}
};

// Zeroes an element with the given probability and scales the others by 1 / (1 - probability).
// An element's draw is indexed by step, layer and its place in the whole batch (logical order:
// example, channel, row, column), so that shards do not change masks.
struct Dropout {
  std::string name;
  double probability = 0;

  at::Tensor operator()(const at::Tensor& x, const ForwardPass& pass) const;
};

// layers(images), for layers that work on each image for itself. On a CPU, when not training, done
// for about `images_at_once` images and then for the next, so that what lies between two layers
// stays in the cache. Dense layers do not belong in it: the bits of a matrix product may depend on
// its number of rows.
at::Tensor InParts(const at::Tensor& images, const ForwardPass& pass,
                   const std::function<at::Tensor(const at::Tensor&)>& layers);

}  // namespace noisefloor::trainer
