#include "coordinator/query/study_files.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>

namespace noisefloor::query {

namespace {

std::string NameOf(const ArtifactRow& artifact) {
  return fmt::format("{} ({}, SHA-256 {})", artifact.kind, artifact.path, artifact.blob.sha256);
}

absl::Status NotOfShape(const ArtifactRow& artifact, std::string_view expected,
                        const NpyView& found) {
  return InvalidInput(fmt::format("{}: expected {}, got {} {}", NameOf(artifact), expected,
                                  Name(found.type()), ToText(found.shape())));
}

std::vector<uint8_t> ChannelsLast(std::span<const uint8_t> pixels, const Shape& shape) {
  const size_t channels = static_cast<size_t>(shape[1]);
  const size_t area = static_cast<size_t>(shape[2] * shape[3]);
  std::vector<uint8_t> out(pixels.size());
  for (size_t image = 0; image < static_cast<size_t>(shape[0]); ++image) {
    const size_t start = image * channels * area;
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = 0; p < area; ++p) {
        out[start + p * channels + c] = pixels[start + c * area + p];
      }
    }
  }
  return out;
}

template <typename T>
absl::StatusOr<std::vector<int32_t>> Narrow(const NpyView& array) {
  NF_ASSIGN_OR_RETURN(const std::span<const T> values, array.Values<T>());
  return std::vector<int32_t>(values.begin(), values.end());
}

// "a.conv1.bias" -> "a.bn1.running_mean"; empty for what is no bias of a convolution.
std::string NormAfter(std::string_view bias) {
  constexpr std::string_view kBias = ".bias";
  if (!bias.ends_with(kBias)) return "";
  const std::string_view layer = bias.substr(0, bias.size() - kBias.size());
  const size_t last = layer.rfind('.') + 1;  // 0 without a point.
  if (!layer.substr(last).starts_with("conv")) return "";
  return fmt::format("{}bn{}.running_mean", layer.substr(0, last), layer.substr(last + 4));
}

}  // namespace

bool IsWithoutEffect(std::string_view tensor_name, const std::set<std::string>& all_names) {
  return all_names.contains(NormAfter(tensor_name));
}

bool IsBuffer(std::string_view tensor_name) {
  return tensor_name.ends_with("running_mean") || tensor_name.ends_with("running_var") ||
         tensor_name.ends_with("num_batches_tracked");
}

absl::StatusOr<NpyView*> StudyFiles::OpenNpy(const ArtifactRow& artifact) {
  NF_RETURN_IF_ERROR(Annotate(blobs_.Verify(artifact.blob), NameOf(artifact)));
  absl::StatusOr<NpyView> array = NpyView::Open(blobs_.PathOf(artifact.blob.sha256));
  if (!array.ok()) return Annotate(array.status(), NameOf(artifact));
  arrays_.push_back(*std::move(array));
  return &arrays_.back();
}

absl::StatusOr<StudyFiles::Matrix> StudyFiles::Predictions(const ArtifactRow& artifact) {
  NF_ASSIGN_OR_RETURN(NpyView * array, OpenNpy(artifact));
  const Shape& shape = array->shape();
  if (shape.size() != 2 || array->type() != ElementType::kFloat32) {
    return NotOfShape(artifact, "float32 [examples, classes]", *array);
  }
  NF_ASSIGN_OR_RETURN(const std::span<const float> values, array->Values<float>());
  return Matrix{shape[0], shape[1], values};
}

absl::StatusOr<report::WeightsView> StudyFiles::Weights(const ArtifactRow& artifact) {
  NF_RETURN_IF_ERROR(Annotate(blobs_.Verify(artifact.blob), NameOf(artifact)));
  absl::StatusOr<SafetensorsFile> opened =
      SafetensorsFile::Open(blobs_.PathOf(artifact.blob.sha256));
  if (!opened.ok()) return Annotate(opened.status(), NameOf(artifact));
  const SafetensorsFile& file = weights_.emplace_back(*std::move(opened));
  report::WeightsView view;
  std::set<std::string> names;
  for (const TensorView& tensor : file.tensors()) names.emplace(tensor.name);
  for (const TensorView& tensor : file.tensors()) {
    if (tensor.type != ElementType::kFloat32) continue;
    const absl::StatusOr<std::span<const float>> values = Floats(tensor);
    if (!values.ok()) return Annotate(values.status(), NameOf(artifact));
    if (IsWithoutEffect(tensor.name, names)) {
      view.without_effect += static_cast<int64_t>(values->size());
      continue;
    }
    (IsBuffer(tensor.name) ? view.buffers : view.parameters).push_back(*values);
  }
  return view;
}

absl::StatusOr<std::span<const float>> StudyFiles::Floats(const TensorView& tensor) {
  const size_t count = tensor.bytes.size() / sizeof(float);
  if (reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(float) == 0) {
    return std::span(reinterpret_cast<const float*>(tensor.bytes.data()), count);
  }
  if (copied_bytes_ + tensor.bytes.size() > copy_limit_bytes_) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     fmt::format("its values are not aligned, and a study copies at most {} bytes",
                                 copy_limit_bytes_));
  }
  copied_bytes_ += tensor.bytes.size();
  std::vector<float>& copy = copies_.emplace_back(count);
  std::memcpy(copy.data(), tensor.bytes.data(), count * sizeof(float));
  return std::span<const float>(copy);
}

absl::StatusOr<StudyFiles::Truths> StudyFiles::Labels(const ArtifactRow& artifact) {
  NF_ASSIGN_OR_RETURN(NpyView * array, OpenNpy(artifact));
  const Shape& shape = array->shape();
  const absl::Status wrong =
      NotOfShape(artifact, "whole numbers [examples] or [examples, attributes]", *array);
  if (shape.empty() || shape.size() > 2) return wrong;
  if (shape.size() == 2 && shape[1] < 1) return wrong;
  Truths truths;
  truths.attributes = shape.size() == 2 ? shape[1] : 0;
  switch (array->type()) {
    case ElementType::kInt32: {
      NF_ASSIGN_OR_RETURN(truths.values, Narrow<int32_t>(*array));
      break;
    }
    case ElementType::kInt64: {
      NF_ASSIGN_OR_RETURN(truths.values, Narrow<int64_t>(*array));
      break;
    }
    case ElementType::kUint8: {
      NF_ASSIGN_OR_RETURN(truths.values, Narrow<uint8_t>(*array));
      break;
    }
    case ElementType::kFloat32:
    case ElementType::kFloat64: return wrong;
  }
  return truths;
}

absl::StatusOr<StudyFiles::Matrix> StudyFiles::Decisions(const Matrix& logits) {
  const uint64_t bytes = 2 * logits.values.size_bytes();
  if (copied_bytes_ + bytes > copy_limit_bytes_) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     fmt::format("logits of attributes, and a study copies at most {} bytes",
                                 copy_limit_bytes_));
  }
  copied_bytes_ += bytes;
  std::vector<float>& copy = copies_.emplace_back();
  copy.reserve(2 * logits.values.size());
  for (const float logit : logits.values) {
    copy.push_back(0);
    copy.push_back(logit);
  }
  return Matrix{logits.rows * logits.columns, 2, copy};
}

absl::StatusOr<StudyFiles::Images> StudyFiles::EvaluationImages(const ArtifactRow& artifact) {
  NF_ASSIGN_OR_RETURN(NpyView * array, OpenNpy(artifact));
  const Shape& shape = array->shape();
  if (array->type() != ElementType::kUint8 || shape.size() < 3 || shape.size() > 4) {
    return NotOfShape(artifact, "uint8 [examples, height, width, channels]", *array);
  }
  NF_ASSIGN_OR_RETURN(const std::span<const uint8_t> pixels, array->Values<uint8_t>());
  const auto dimension = [&](size_t i) { return static_cast<int32_t>(shape[i]); };
  if (shape.size() == 3) return Images{shape[0], dimension(1), dimension(2), 1, pixels};
  if (shape[3] <= 4) return Images{shape[0], dimension(1), dimension(2), dimension(3), pixels};
  if (shape[1] > 4) {
    return NotOfShape(artifact, "images of 1 to 4 channels", *array);
  }
  const std::vector<uint8_t>& turned = pixels_.emplace_back(ChannelsLast(pixels, shape));
  return Images{shape[0], dimension(2), dimension(3), dimension(1), turned};
}

}  // namespace noisefloor::query
