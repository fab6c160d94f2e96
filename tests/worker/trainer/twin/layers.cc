#include "tests/worker/trainer/twin/layers.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "common/base/check.h"

namespace noisefloor::trainer::twin {

namespace {

// Adds a parameter and its gradient.
void DeclareParameter(State& state, const std::string& name, const std::vector<int64_t>& shape) {
  NF_CHECK(state.parameters.emplace(name, Array(shape, std::nan(""))).second);
  state.gradients.emplace(name, Array(shape));
}

// y += factor * x over `count` numbers.
void Axpy(double factor, const double* x, double* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

// In four sums, so that a processor need not wait for one.
double Dot(const double* x, const double* y, int64_t count) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int64_t k = 0; k < 4; ++k) sums[k] += x[i + k] * y[i + k];
  }
  for (; i < count; ++i) sums[0] += x[i] * y[i];
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

// {out, taps} to {taps, out} and back.
std::vector<double> Transposed(const std::vector<double>& values, int64_t rows, int64_t columns) {
  std::vector<double> result(values.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      result[static_cast<size_t>(c * rows + r)] = values[static_cast<size_t>(r * columns + c)];
    }
  }
  return result;
}

class Conv final : public Layer {
 public:
  Conv(const std::string& name, const ConvShape& shape)
      : weight_(name + ".weight"), bias_(name + ".bias"), shape_(shape) {}

  void Declare(State& state) const override {
    DeclareParameter(state, weight_, {shape_.out, shape_.in, shape_.kernel, shape_.kernel});
    if (shape_.bias) DeclareParameter(state, bias_, {shape_.out});
  }

  Array Forward(const Array& x, const Pass&, State& state) override {
    x_ = x;
    weights_ = Transposed(state.parameters.at(weight_).values, shape_.out, Taps());
    Array y({x.Size(0), shape_.out, Out(x.Size(2)), Out(x.Size(3))});
    const int64_t plane = y.Size(2) * y.Size(3);
    std::vector<double> sums(static_cast<size_t>(shape_.out));
    for (int64_t n = 0; n < x.Size(0); ++n) {
      for (int64_t place = 0; place < plane; ++place) {
        std::ranges::fill(sums, 0.0);
        if (shape_.bias) sums = state.parameters.at(bias_).values;
        ForEachTap(n, place / y.Size(3), place % y.Size(3), [&](int64_t tap, int64_t pixel) {
          Axpy(*x_.At(pixel), &weights_[static_cast<size_t>(tap * shape_.out)], sums.data(),
               shape_.out);
        });
        for (int64_t c = 0; c < shape_.out; ++c) {
          *y.At((n * shape_.out + c) * plane + place) = sums[static_cast<size_t>(c)];
        }
      }
    }
    return y;
  }

  Array Backward(const Array& gradient, State& state) override {
    Array dx(x_.shape);
    std::vector<double> dw(weights_.size());
    std::vector<double> dy(static_cast<size_t>(shape_.out));
    const int64_t plane = gradient.Size(2) * gradient.Size(3);
    for (int64_t n = 0; n < x_.Size(0); ++n) {
      for (int64_t place = 0; place < plane; ++place) {
        for (int64_t c = 0; c < shape_.out; ++c) {
          dy[static_cast<size_t>(c)] = *gradient.At((n * shape_.out + c) * plane + place);
        }
        if (shape_.bias) Axpy(1, dy.data(), state.gradients.at(bias_).At(0), shape_.out);
        ForEachTap(n, place / gradient.Size(3), place % gradient.Size(3),
                   [&](int64_t tap, int64_t pixel) {
                     const auto row = static_cast<size_t>(tap * shape_.out);
                     Axpy(*x_.At(pixel), dy.data(), &dw[row], shape_.out);
                     *dx.At(pixel) += Dot(&weights_[row], dy.data(), shape_.out);
                   });
      }
    }
    const std::vector<double> back = Transposed(dw, Taps(), shape_.out);
    Axpy(1, back.data(), state.gradients.at(weight_).At(0), static_cast<int64_t>(back.size()));
    return dx;
  }

 private:
  int64_t Taps() const { return shape_.in * shape_.kernel * shape_.kernel; }
  int64_t Out(int64_t side) const {
    return (side + shape_.kernel / 2 * 2 - shape_.kernel) / shape_.stride + 1;
  }

  // Calls use(tap, offset of the pixel) for each tap of the window at (row, column) of the result
  // that lies in image n.
  template <typename Use>
  void ForEachTap(int64_t n, int64_t row, int64_t column, Use use) const {
    const int64_t height = x_.Size(2), width = x_.Size(3), kernel = shape_.kernel;
    for (int64_t c = 0; c < shape_.in; ++c) {
      for (int64_t ky = 0; ky < kernel; ++ky) {
        const int64_t y = row * shape_.stride + ky - kernel / 2;
        if (y < 0 || y >= height) continue;
        for (int64_t kx = 0; kx < kernel; ++kx) {
          const int64_t x = column * shape_.stride + kx - kernel / 2;
          if (x < 0 || x >= width) continue;
          use((c * kernel + ky) * kernel + kx, ((n * shape_.in + c) * height + y) * width + x);
        }
      }
    }
  }

  const std::string weight_, bias_;
  const ConvShape shape_;
  Array x_;
  std::vector<double> weights_;  // {taps, out}
};

class Dense final : public Layer {
 public:
  Dense(const std::string& name, int64_t in, int64_t out)
      : weight_(name + ".weight"), bias_(name + ".bias"), in_(in), out_(out) {}

  void Declare(State& state) const override {
    DeclareParameter(state, weight_, {out_, in_});
    DeclareParameter(state, bias_, {out_});
  }

  Array Forward(const Array& x, const Pass&, State& state) override {
    x_ = x;
    Array y({x.Size(0), out_});
    for (int64_t n = 0; n < x.Size(0); ++n) {
      for (int64_t o = 0; o < out_; ++o) {
        *y.At(n * out_ + o) = *state.parameters.at(bias_).At(o) +
                              Dot(state.parameters.at(weight_).At(o * in_), x.At(n * in_), in_);
      }
    }
    return y;
  }

  Array Backward(const Array& gradient, State& state) override {
    Array dx(x_.shape);
    for (int64_t n = 0; n < x_.Size(0); ++n) {
      for (int64_t o = 0; o < out_; ++o) {
        const double dy = *gradient.At(n * out_ + o);
        *state.gradients.at(bias_).At(o) += dy;
        Axpy(dy, x_.At(n * in_), state.gradients.at(weight_).At(o * in_), in_);
        Axpy(dy, state.parameters.at(weight_).At(o * in_), dx.At(n * in_), in_);
      }
    }
    return dx;
  }

 private:
  const std::string weight_, bias_;
  const int64_t in_, out_;
  Array x_;
};

class BatchNorm final : public Layer {
 public:
  BatchNorm(const std::string& name, int64_t channels, double epsilon)
      : name_(name), channels_(channels), epsilon_(epsilon) {}

  void Declare(State& state) const override {
    DeclareParameter(state, name_ + ".weight", {channels_});
    DeclareParameter(state, name_ + ".bias", {channels_});
    for (const char* buffer : {".running_mean", ".running_var"}) {
      state.buffers.emplace(name_ + buffer, Array({channels_}, std::nan("")));
      state.statistics.emplace(name_ + buffer, Array({channels_}));
    }
  }

  Array Forward(const Array& x, const Pass& pass, State& state) override {
    normal_ = x;
    roots_.assign(static_cast<size_t>(channels_), 0);
    Array y = x;
    for (int64_t c = 0; c < channels_; ++c) {
      const auto [mean, variance] =
          pass.training ? BatchMoments(x, c, state) : RunningMoments(c, state);
      const double root = std::sqrt(variance + epsilon_);
      roots_[static_cast<size_t>(c)] = root;
      const double weight = *state.parameters.at(name_ + ".weight").At(c);
      const double bias = *state.parameters.at(name_ + ".bias").At(c);
      ForEach(x, c, [&](int64_t i) {
        *normal_.At(i) = (*x.At(i) - mean) / root;
        *y.At(i) = *normal_.At(i) * weight + bias;
      });
    }
    return y;
  }

  // Of the training pass: mean and variance depend on x, too.
  Array Backward(const Array& gradient, State& state) override {
    Array dx(gradient.shape);
    const double count = CountOf(gradient);
    for (int64_t c = 0; c < channels_; ++c) {
      double sum = 0, product = 0;
      ForEach(gradient, c, [&](int64_t i) {
        sum += *gradient.At(i);
        product += *gradient.At(i) * *normal_.At(i);
      });
      *state.gradients.at(name_ + ".bias").At(c) += sum;
      *state.gradients.at(name_ + ".weight").At(c) += product;
      const double scale =
          *state.parameters.at(name_ + ".weight").At(c) / roots_[static_cast<size_t>(c)];
      ForEach(gradient, c, [&](int64_t i) {
        *dx.At(i) = scale * (*gradient.At(i) - sum / count - *normal_.At(i) * product / count);
      });
    }
    return dx;
  }

 private:
  struct Moments {
    double mean = 0, variance = 0;
  };
  Moments BatchMoments(const Array& x, int64_t c, State& state) const {
    double sum = 0, squares = 0;
    ForEach(x, c, [&](int64_t i) { sum += *x.At(i); });
    const double mean = sum / CountOf(x);
    ForEach(x, c, [&](int64_t i) { squares += (*x.At(i) - mean) * (*x.At(i) - mean); });
    *state.statistics.at(name_ + ".running_mean").At(c) = mean;
    *state.statistics.at(name_ + ".running_var").At(c) = squares / (CountOf(x) - 1);
    return {mean, squares / CountOf(x)};
  }
  Moments RunningMoments(int64_t c, const State& state) const {
    return {*state.buffers.at(name_ + ".running_mean").At(c),
            *state.buffers.at(name_ + ".running_var").At(c)};
  }
  static double CountOf(const Array& x) {
    return static_cast<double>(x.Size(0) * x.Size(2) * x.Size(3));
  }
  template <typename Use>
  void ForEach(const Array& x, int64_t c, Use use) const {
    const int64_t plane = x.Size(2) * x.Size(3);
    for (int64_t n = 0; n < x.Size(0); ++n) {
      const int64_t first = (n * channels_ + c) * plane;
      for (int64_t i = first; i < first + plane; ++i) use(i);
    }
  }

  const std::string name_;
  const int64_t channels_;
  const double epsilon_;
  Array normal_;               // (x - mean) / root
  std::vector<double> roots_;  // Of variance + epsilon, by channel.
};

// Multiplies each number by a factor that the forward pass has chosen.
class Masking : public Layer {
 public:
  Array Forward(const Array& x, const Pass& pass, State&) override {
    mask_ = MaskOf(x, pass);
    return Masked(x);
  }
  Array Backward(const Array& gradient, State&) override { return Masked(gradient); }

 private:
  virtual std::vector<float> MaskOf(const Array& x, const Pass& pass) const = 0;

  Array Masked(const Array& x) const {
    Array y = x;
    for (size_t i = 0; i < mask_.size(); ++i) y.values[i] *= static_cast<double>(mask_[i]);
    return y;
  }

  std::vector<float> mask_;
};

class Relu final : public Masking {
  std::vector<float> MaskOf(const Array& x, const Pass&) const override {
    std::vector<float> mask;
    for (const double value : x.values) mask.push_back(value > 0 ? 1 : 0);
    return mask;
  }
};

class Dropout final : public Masking {
 public:
  Dropout(const std::string& name, double probability) : name_(name), probability_(probability) {}

 private:
  std::vector<float> MaskOf(const Array& x, const Pass& pass) const override {
    std::vector<float> mask(x.values.size(), 1);
    if (!pass.training || probability_ == 0) return mask;
    const uint64_t each = x.values.size() / static_cast<uint64_t>(x.Size(0));
    pass.dropout.Fill(static_cast<uint64_t>(pass.step), name_, probability_,
                      static_cast<uint64_t>(pass.first_example) * each, mask);
    return mask;
  }

  const std::string name_;
  const double probability_;
};

class MaxPool final : public Layer {
 public:
  Array Forward(const Array& x, const Pass&, State&) override {
    shape_ = x.shape;
    const int64_t height = x.Size(2) / 2, width = x.Size(3) / 2;
    Array y({x.Size(0), x.Size(1), height, width});
    from_.clear();
    for (int64_t plane = 0; plane < x.Size(0) * x.Size(1); ++plane) {
      for (int64_t place = 0; place < height * width; ++place) {
        const int64_t corner =
            (plane * x.Size(2) + place / width * 2) * x.Size(3) + place % width * 2;
        int64_t best = corner;
        for (const int64_t other : {corner + 1, corner + x.Size(3), corner + x.Size(3) + 1}) {
          if (*x.At(other) > *x.At(best)) best = other;
        }
        y.values[from_.size()] = *x.At(best);
        from_.push_back(best);
      }
    }
    return y;
  }

  Array Backward(const Array& gradient, State&) override {
    Array dx(shape_);
    for (size_t i = 0; i < from_.size(); ++i) *dx.At(from_[i]) += gradient.values[i];
    return dx;
  }

 private:
  std::vector<int64_t> shape_;
  std::vector<int64_t> from_;  // [place in the result] = place of its maximum
};

class Mean final : public Layer {
 public:
  Array Forward(const Array& x, const Pass&, State&) override {
    shape_ = x.shape;
    Array y({x.Size(0), x.Size(1)});
    for (size_t i = 0; i < x.values.size(); ++i) y.values[i / Plane()] += x.values[i];
    for (double& value : y.values) value /= static_cast<double>(Plane());
    return y;
  }
  Array Backward(const Array& gradient, State&) override {
    Array dx(shape_);
    for (size_t i = 0; i < dx.values.size(); ++i) {
      dx.values[i] = gradient.values[i / Plane()] / static_cast<double>(Plane());
    }
    return dx;
  }

 private:
  size_t Plane() const { return static_cast<size_t>(shape_.at(2) * shape_.at(3)); }
  std::vector<int64_t> shape_;
};

class Flatten final : public Layer {
 public:
  Array Forward(const Array& x, const Pass&, State&) override {
    shape_ = x.shape;
    Array y = x;
    y.shape = {x.Size(0), static_cast<int64_t>(x.values.size()) / x.Size(0)};
    return y;
  }
  Array Backward(const Array& gradient, State&) override {
    Array dx = gradient;
    dx.shape = shape_;
    return dx;
  }

 private:
  std::vector<int64_t> shape_;
};

class Sequence final : public Layer {
 public:
  explicit Sequence(Layers layers) : layers_(std::move(layers)) {}

  void Declare(State& state) const override {
    for (const auto& layer : layers_) layer->Declare(state);
  }
  Array Forward(const Array& x, const Pass& pass, State& state) override {
    Array y = x;
    for (const auto& layer : layers_) y = layer->Forward(y, pass, state);
    return y;
  }
  Array Backward(const Array& gradient, State& state) override {
    Array dx = gradient;
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      dx = (*layer)->Backward(dx, state);
    }
    return dx;
  }

 private:
  const Layers layers_;
};

class Residual final : public Layer {
 public:
  Residual(Layers inner, Layers around) : inner_(std::move(inner)), around_(std::move(around)) {}

  void Declare(State& state) const override {
    inner_.Declare(state);
    around_.Declare(state);
  }
  Array Forward(const Array& x, const Pass& pass, State& state) override {
    return Sum(inner_.Forward(x, pass, state), around_.Forward(x, pass, state));
  }
  Array Backward(const Array& gradient, State& state) override {
    return Sum(inner_.Backward(gradient, state), around_.Backward(gradient, state));
  }

 private:
  static Array Sum(Array a, const Array& b) {
    Axpy(1, b.values.data(), a.values.data(), static_cast<int64_t>(a.values.size()));
    return a;
  }

  Sequence inner_, around_;
};

}  // namespace

std::unique_ptr<Layer> MakeConv(const std::string& name, const ConvShape& shape) {
  return std::make_unique<Conv>(name, shape);
}
std::unique_ptr<Layer> MakeDense(const std::string& name, int64_t in, int64_t out) {
  return std::make_unique<Dense>(name, in, out);
}
std::unique_ptr<Layer> MakeBatchNorm(const std::string& name, int64_t channels, double epsilon) {
  return std::make_unique<BatchNorm>(name, channels, epsilon);
}
std::unique_ptr<Layer> MakeRelu() { return std::make_unique<Relu>(); }
std::unique_ptr<Layer> MakeDropout(const std::string& name, double probability) {
  return std::make_unique<Dropout>(name, probability);
}
std::unique_ptr<Layer> MakeMaxPool() { return std::make_unique<MaxPool>(); }
std::unique_ptr<Layer> MakeMean() { return std::make_unique<Mean>(); }
std::unique_ptr<Layer> MakeFlatten() { return std::make_unique<Flatten>(); }
std::unique_ptr<Layer> MakeSequence(Layers layers) {
  return std::make_unique<Sequence>(std::move(layers));
}
std::unique_ptr<Layer> MakeResidual(Layers inner, Layers around) {
  return std::make_unique<Residual>(std::move(inner), std::move(around));
}

}  // namespace noisefloor::trainer::twin
