// A network on the devices that train it together: a replica for each shard, and on each device but
// the first a copy of the weights, which is made anew before each pass.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// Shards are placed by rank, in equal parts: those of the first ranks on the first device. A
// replica shares the weights of its device and works on its default stream. A processor may be
// named several times: then each device is a copy of the weights there, which rehearses GPUs.
//
// Nothing but the weights is copied: running statistics, which no training step reads, are those of
// the first device, as are tests, the optimiser and the average. On the other devices they are NaN.
class Replicas {
 public:
  // `devices`: the model's first; their number divides `shards`. Borrows the model for its life,
  // whose type is the replicas'.
  Replicas(const ModelSettings& settings, const ModelShape& shape, const Model& model,
           int64_t shards = 1, std::vector<at::Device> devices = {at::kCPU});

  int64_t shards() const { return static_cast<int64_t>(replicas_.size()); }
  const Model& OfShard(int64_t rank) const { return *replicas_[static_cast<size_t>(rank)]; }
  // The place of the shard's device in the list of devices.
  size_t PlaceOf(int64_t rank) const {
    return static_cast<size_t>(rank) / (replicas_.size() / devices_.size());
  }
  const std::vector<at::Device>& devices() const { return devices_; }

  // Takes the weights of the first device over to the others. Not while a shard computes.
  void Broadcast() const;

 private:
  const Model* model_;
  std::vector<at::Device> devices_;
  std::vector<std::unique_ptr<Model>> copies_;  // Of the devices behind the first.
  std::vector<std::unique_ptr<Model>> replicas_;
};

}  // namespace noisefloor::trainer
