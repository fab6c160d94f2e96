#include "common/files/tensor_hash.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/files/sha256.h"

namespace noisefloor {

absl::StatusOr<std::string> HashTensors(const std::vector<TensorView>& tensors) {
  std::vector<const TensorView*> order;
  order.reserve(tensors.size());
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const TensorView* a, const TensorView* b) { return a->name < b->name; });
  Sha256 hash;
  for (size_t i = 0; i < order.size(); ++i) {
    const TensorView& tensor = *order[i];
    if (i > 0 && order[i - 1]->name == tensor.name) {
      return InvalidInput(fmt::format("two tensors named '{}'", tensor.name));
    }
    NF_RETURN_IF_ERROR(CheckSize(tensor));
    hash.UpdateU64(tensor.name.size()).Update(tensor.name).UpdateU64(tensor.shape.size());
    for (const int64_t size : tensor.shape) hash.UpdateU64(static_cast<uint64_t>(size));
    hash.Update(tensor.bytes);
  }
  return hash.Hex();
}

}  // namespace noisefloor
