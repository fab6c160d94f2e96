#include "worker/trainer/torch/optim/poke.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "common/base/philox.h"

namespace noisefloor::trainer {

namespace {

const NamedTensor* FirstWeight(const Model& model) {
  const NamedTensor* first = nullptr;
  for (const NamedTensor& parameter : model.parameters()) {
    if (parameter.value.dim() < 2) continue;
    if (first == nullptr || parameter.name < first->name) first = &parameter;
  }
  return first;
}

const NamedTensor* Find(const Model& model, const std::string& name) {
  if (name.empty()) return FirstWeight(model);
  for (const NamedTensor& parameter : model.parameters()) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<Poke> ResolvePoke(const Specification& specification, const Model& model) {
  const SourceSpec& source = specification.Source(NoiseSource::kPoke);
  if (source.state == SourceState::kOff) return Poke{};
  const SourceSettings& settings = specification.sources;
  const NamedTensor* parameter = Find(model, settings.poke_parameter);
  if (parameter == nullptr) {
    return InvalidInput("sources.poke.parameter: the model has no parameter '" +
                        settings.poke_parameter + "'; its first is '" +
                        model.parameters().front().name + "'");
  }
  const int64_t count = parameter->value.numel();
  Poke poke{true, settings.poke_step, parameter->name, settings.poke_element};
  if (source.state == SourceState::kFree) {
    const PhiloxCounter words = PhiloxStream(source.seed, 0).Block(0);
    poke.element = static_cast<int64_t>(UniformBelow(Bits64(words), static_cast<uint64_t>(count)));
  }
  if (poke.element >= count) {
    return InvalidInput("sources.poke.element: " + std::to_string(poke.element) + ", but '" +
                        parameter->name + "' has " + std::to_string(count) + " elements");
  }
  return poke;
}

void ApplyPoke(const Poke& poke, const Model& model) {
  const NamedTensor* parameter = Find(model, poke.parameter);
  NF_CHECK(parameter != nullptr);
  const at::NoGradGuard no_grad;
  const at::Tensor weight = parameter->value.detach();
  // as_strided sees the element in the weight's own storage, whatever its memory layout.
  int64_t rest = poke.element;
  int64_t offset = 0;
  for (int64_t dim = weight.dim() - 1; dim >= 0; --dim) {
    offset += rest % weight.size(dim) * weight.stride(dim);
    rest /= weight.size(dim);
  }
  at::Tensor element = weight.as_strided({}, {}, weight.storage_offset() + offset);
  const auto value = element.item<double>();
  const double away = std::copysign(std::numeric_limits<double>::infinity(), value);
  const bool doubles = element.scalar_type() == at::kDouble;
  element.fill_(doubles ? std::nextafter(value, away)
                        : std::nextafterf(static_cast<float>(value), static_cast<float>(away)));
}

}  // namespace noisefloor::trainer
