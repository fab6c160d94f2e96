#include "worker/trainer/torch/step/replicas.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "common/base/check.h"

namespace noisefloor::trainer {

Replicas::Replicas(const ModelSettings& settings, const ModelShape& shape, const Model& model,
                   int64_t shards, std::vector<at::Device> devices)
    : model_(&model), devices_(std::move(devices)) {
  NF_CHECK(!devices_.empty() && shards % static_cast<int64_t>(devices_.size()) == 0);
  for (size_t place = 1; place < devices_.size(); ++place) {
    copies_.push_back(MakeModel(settings, shape, devices_[place], nullptr, model.type()));
  }
  const size_t each = static_cast<size_t>(shards) / devices_.size();
  for (size_t rank = 0; rank < static_cast<size_t>(shards); ++rank) {
    const size_t place = rank / each;
    const Model& shared = place == 0 ? model : *copies_[place - 1];
    replicas_.push_back(MakeModel(settings, shape, devices_[place], &shared));
  }
}

void Replicas::Broadcast() const {
  const at::NoGradGuard no_grad;
  for (const auto& copy : copies_) {
    for (size_t i = 0; i < copy->parameters().size(); ++i) {
      at::Tensor weights = copy->parameters()[i].value;
      weights.copy_(model_->parameters()[i].value, /*non_blocking=*/true);
    }
  }
}

}  // namespace noisefloor::trainer
