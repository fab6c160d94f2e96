#include "common/trainer_protocol/training.h"

#include <array>
#include <string_view>

#include "common/trainer_protocol/fields.h"

namespace noisefloor {

namespace {

constexpr std::array<std::string_view, 4> kTellOurs = {"model.name", "data.name", "train.epochs",
                                                       "train.batch_size"};

}  // namespace

Training TrainingOf(const Specification& specification) {
  Training training{{}, specification.noise, specification.hardware_class, specification.stack};
  for (const Field& field : AllFields()) {
    training.settings.emplace_back(field.rule.path, field.get(specification));
  }
  return training;
}

std::optional<Specification> Understood(const Training& training) {
  Specification specification;
  for (const auto& [path, value] : training.settings) {
    if (!SetField(specification, path, value).ok()) return std::nullopt;
  }
  for (const std::string_view path : kTellOurs) {
    if (FindSetting(training.settings, path) == nullptr) return std::nullopt;
  }
  specification.noise = training.noise;
  specification.hardware_class = training.hardware_class;
  specification.stack = training.stack;
  return specification;
}

}  // namespace noisefloor
