// Weights and buffers of a network under stable names ("conv1.weight"), in the order in which the
// network asks for them. Made with values that are not yet set (NaN); init.h sets them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

namespace noisefloor::trainer {

// How a parameter begins.
enum class Begin : uint8_t {
  kBySetting,     // By model.init where it has two dimensions or more; weight 1, bias 0 otherwise.
  kZero,          // 0
  kOneHundredth,  // Normal with deviation 0.01
  kOneFiftieth,   // Normal with deviation 0.02
  kWhitening,     // Filters of worker/trainer/data/whitening.h, and stays so.
  kCentring,      // Shifts of whitening.h.
};

struct NamedTensor {
  std::string name;
  at::Tensor value;
  Begin begin = Begin::kBySetting;
};

// Where and as what the tensors are made. The meta device has shapes alone: nothing is allocated.
struct Place {
  at::Device device = at::kCPU;
  at::ScalarType type = at::kFloat;
};

// Not thread-safe.
class Weights {
 public:
  // With `shared`, a replica's: the same storage and type, gradients and batch statistics of its
  // own. `shared` is borrowed as long as tensors are asked for.
  Weights(const Place& place, const Weights* shared)
      : place_{place.device, shared == nullptr ? place.type : shared->place_.type},
        shared_(shared) {}

  at::Tensor NewParameter(const std::string& name, at::IntArrayRef shape,
                          Begin begin = Begin::kBySetting);
  // A running statistic; `statistic` becomes that of this replica's last training batch.
  at::Tensor NewBuffer(const std::string& name, at::IntArrayRef shape, at::Tensor& statistic);

  at::ScalarType type() const { return place_.type; }
  // All of them, in place: who holds one has the new one.
  void ToType(at::ScalarType type);

  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<NamedTensor>& buffers() const { return buffers_; }
  // One for each buffer, in the same order.
  const std::vector<at::Tensor>& batch_statistics() const { return batch_statistics_; }

 private:
  Place place_;
  const Weights* const shared_;
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<at::Tensor> batch_statistics_;
};

}  // namespace noisefloor::trainer
