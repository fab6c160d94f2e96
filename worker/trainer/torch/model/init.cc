#include "worker/trainer/torch/model/init.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "common/base/check.h"
#include "worker/trainer/data/whitening.h"

namespace noisefloor::trainer {

namespace {

struct Fans {
  double in = 0;
  double out = 0;
};

// Of a weight {out, in} or {out, in, height, width}.
Fans FansOf(const at::Tensor& weight) {
  const double taps = weight.dim() == 4 ? static_cast<double>(weight.size(2) * weight.size(3)) : 1;
  return {static_cast<double>(weight.size(1)) * taps, static_cast<double>(weight.size(0)) * taps};
}

void Fill(at::Tensor tensor, std::vector<float>& values) {
  NF_CHECK(tensor.numel() == static_cast<int64_t>(values.size()));
  tensor.copy_(at::from_blob(values.data(), tensor.sizes(), at::kFloat));
}

// Of a weight {out, in, height, width}: `dirac`'s filters over what was drawn.
void PassOn(const at::Tensor& weight, std::vector<float>& values) {
  const int64_t taps = weight.size(2) * weight.size(3);
  const int64_t middle = weight.size(2) / 2 * weight.size(3) + weight.size(3) / 2;
  const int64_t filter = weight.size(1) * taps;
  for (int64_t i = 0; i < std::min(weight.size(0), weight.size(1)); ++i) {
    std::fill_n(values.begin() + i * filter, filter, 0.0f);
    values[static_cast<size_t>(i * filter + i * taps + middle)] = 1.0f;
  }
}

void Draw(const NamedTensor& parameter, std::string_view init, const InitDraws& draws) {
  const at::Tensor& weight = parameter.value;
  std::vector<float> values(static_cast<size_t>(weight.numel()));
  const Fans fans = FansOf(weight);
  if (parameter.begin == Begin::kOneHundredth || parameter.begin == Begin::kOneFiftieth) {
    draws.FillNormal(parameter.name, parameter.begin == Begin::kOneHundredth ? 0.01f : 0.02f,
                     values);
  } else if (init == "he_normal") {
    draws.FillNormal(parameter.name, static_cast<float>(std::sqrt(2.0 / fans.in)), values);
  } else {
    NF_CHECK(init == "glorot_uniform" || init == "dirac");
    const auto limit = static_cast<float>(std::sqrt(6.0 / (fans.in + fans.out)));
    draws.FillUniform(parameter.name, limit, values);
  }
  if (init == "dirac" && weight.dim() == 4) PassOn(weight, values);
  Fill(weight, values);
}

void CheckAllSet(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& tensor : tensors) NF_CHECK(tensor.value.isfinite().all().item<bool>());
}

}  // namespace

void InitWeights(const Model& model, std::string_view init, const InitDraws& draws,
                 const Split* train) {
  const at::NoGradGuard no_grad;
  std::optional<Whitening> whitening;
  for (const NamedTensor& parameter : model.parameters()) {
    at::Tensor value = parameter.value;
    const bool filters = parameter.begin == Begin::kWhitening;
    if (parameter.begin == Begin::kZero) {
      value.zero_();
    } else if (train != nullptr && (filters || parameter.begin == Begin::kCentring)) {
      if (!whitening) whitening = WhitenPatches(*train);
      Fill(value, filters ? whitening->filters : whitening->shifts);
    } else if (value.dim() > 1) {
      Draw(parameter, init, draws);
    } else {
      value.fill_(parameter.name.ends_with(".weight") ? 1.0 : 0.0);
    }
  }
  for (const NamedTensor& buffer : model.buffers()) {
    at::Tensor value = buffer.value;
    value.fill_(buffer.name.ends_with(".running_var") ? 1.0 : 0.0);
  }
  CheckAllSet(model.parameters());
  CheckAllSet(model.buffers());
}

}  // namespace noisefloor::trainer
