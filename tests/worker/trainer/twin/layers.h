// Layers with their derivatives, as textbooks write them: plain loops in float64 over
// {examples, channels, height, width}.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/worker/trainer/twin/array.h"
#include "worker/trainer/noise/draws.h"

namespace noisefloor::trainer::twin {

struct Pass {
  bool training = false;
  int64_t step = 0;           // Optimiser steps done.
  int64_t first_example = 0;  // Place in the whole batch of the first example given.
  DropoutDraws dropout{0};
};

class Layer {
 public:
  virtual ~Layer() = default;
  // Adds the layer's parameters and buffers, not yet set.
  virtual void Declare(State& state) const {}
  virtual Array Forward(const Array& x, const Pass& pass, State& state) = 0;
  // From the gradient of what the last Forward gave to that of what it was given. Adds the
  // parameters' own to the state.
  virtual Array Backward(const Array& gradient, State& state) = 0;
};
using Layers = std::vector<std::unique_ptr<Layer>>;

struct ConvShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  bool bias = true;
};
// Zeros round the image: kernel / 2.
std::unique_ptr<Layer> MakeConv(const std::string& name, const ConvShape& shape);
std::unique_ptr<Layer> MakeDense(const std::string& name, int64_t in, int64_t out);
// Normalises by the batch's mean and biased variance while training; its statistics are that mean
// and the unbiased variance. Otherwise by the running ones.
std::unique_ptr<Layer> MakeBatchNorm(const std::string& name, int64_t channels, double epsilon);
std::unique_ptr<Layer> MakeRelu();
std::unique_ptr<Layer> MakeDropout(const std::string& name, double probability);
// Of 2 x 2 pixels; an odd last row or column is left out. Of equal values the first has the
// gradient.
std::unique_ptr<Layer> MakeMaxPool();
// Of all pixels of a channel.
std::unique_ptr<Layer> MakeMean();
// To {examples, numbers}.
std::unique_ptr<Layer> MakeFlatten();
// One after the other.
std::unique_ptr<Layer> MakeSequence(Layers layers);
// inner(x) + around(x); no layers around: x itself.
std::unique_ptr<Layer> MakeResidual(Layers inner, Layers around);

}  // namespace noisefloor::trainer::twin
