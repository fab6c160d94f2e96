#include "worker/trainer/torch/model/load_weights.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/files/safetensors.h"

namespace noisefloor::trainer {

namespace {

constexpr std::string_view kCounter = "num_batches_tracked";
constexpr size_t kMostNamed = 3;

std::vector<NamedTensor> TensorsOf(const Model& model) {
  std::vector<NamedTensor> all = model.parameters();
  all.insert(all.end(), model.buffers().begin(), model.buffers().end());
  return all;
}

bool IsCounter(std::string_view name) {
  return name == kCounter || name.ends_with("." + std::string(kCounter));
}

// "a, b, c, ...", of what the file has and the network lacks.
std::string Strange(const SafetensorsFile& file, const std::vector<NamedTensor>& wanted) {
  std::string text;
  size_t count = 0;
  for (const TensorView& tensor : file.tensors()) {
    const auto is_it = [&](const NamedTensor& one) { return one.name == tensor.name; };
    if (IsCounter(tensor.name) || std::ranges::any_of(wanted, is_it)) continue;
    if (++count > kMostNamed) return text + ", ...";
    text += (text.empty() ? "" : ", ") + tensor.name;
  }
  return text;
}

absl::Status CheckTensor(const NamedTensor& wanted, const TensorView* found) {
  const Shape shape = wanted.value.sizes().vec();
  if (found == nullptr) {
    return InvalidInput("weights: no tensor " + wanted.name +
                        ", which the network has with shape " + ToText(shape));
  }
  if (found->type != ElementType::kFloat32) {
    return InvalidInput("weights: " + wanted.name + ": expected float32, got " +
                        std::string(Name(found->type)));
  }
  if (found->shape != shape) {
    return InvalidInput("weights: " + wanted.name + ": expected shape " + ToText(shape) + ", got " +
                        ToText(found->shape));
  }
  return absl::OkStatus();
}

// What the request names must be a file that can be read; a disk that fails is the machine's.
absl::Status OpenError(const absl::Status& status) {
  const absl::Status named = Annotate(status, "weights");
  const bool is_of_request = absl::IsNotFound(status) || absl::IsPermissionDenied(status) ||
                             absl::IsFailedPrecondition(status);
  return is_of_request ? InvalidInput(Message(named)) : named;
}

}  // namespace

absl::Status LoadWeights(const std::string& path, Model& model) {
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  if (!file.ok()) return OpenError(file.status());
  const std::vector<NamedTensor> wanted = TensorsOf(model);
  for (const NamedTensor& tensor : wanted) {
    NF_RETURN_IF_ERROR(CheckTensor(tensor, file->Find(tensor.name)));
  }
  if (const std::string strange = Strange(*file, wanted); !strange.empty()) {
    return InvalidInput("weights: the network has no " + strange);
  }
  const at::NoGradGuard no_grad;
  for (const NamedTensor& tensor : wanted) {
    const TensorView& values = *file->Find(tensor.name);
    const at::Tensor host = at::empty(tensor.value.sizes(), at::kFloat);
    std::memcpy(host.mutable_data_ptr<float>(), values.bytes.data(), values.bytes.size());
    tensor.value.copy_(host);
  }
  return absl::OkStatus();
}

}  // namespace noisefloor::trainer
