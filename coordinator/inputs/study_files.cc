#include "coordinator/inputs/study_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/files/atomic_file.h"
#include "common/files/csv_reader.h"
#include "common/files/sha256.h"
#include "common/files/text_lines.h"
#include "coordinator/analysis/prediction_matrix.h"
#include "coordinator/inputs/digest.h"

namespace noisefloor::inputs {

namespace {

constexpr uint64_t kMostGroupBytes = uint64_t{1} << 30;
constexpr size_t kMostGroups = 1000;  // Of a column.

absl::Status NotOfShape(const InputFile& file, std::string_view expected, const NpyView& found) {
  return InvalidInput(fmt::format("{}: expected {}, got {} {}", NameOf(file), expected,
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

// What does not fit becomes -1, which is no class.
template <typename T>
absl::StatusOr<std::vector<int32_t>> Narrow(const NpyView& array) {
  NF_ASSIGN_OR_RETURN(const std::span<const T> values, array.Values<T>());
  std::vector<int32_t> narrow;
  narrow.reserve(values.size());
  for (const T value : values) {
    narrow.push_back(std::in_range<int32_t>(value) ? static_cast<int32_t>(value) : -1);
  }
  return narrow;
}

absl::StatusOr<std::vector<int32_t>> WholeNumbers(const NpyView& array, const absl::Status& wrong) {
  switch (array.type()) {
    case ElementType::kInt32: return Narrow<int32_t>(array);
    case ElementType::kInt64: return Narrow<int64_t>(array);
    case ElementType::kUint8: return Narrow<uint8_t>(array);
    case ElementType::kFloat32:
    case ElementType::kFloat64: break;
  }
  return wrong;
}

report::ExampleGroups GroupsOf(const std::string& column, const std::vector<std::string>& cells) {
  report::ExampleGroups groups = {.column = column};
  std::map<std::string_view, int32_t> places;
  for (const std::string& cell : cells) places.emplace(cell, 0);
  for (auto& [value, place] : places) {
    place = static_cast<int32_t>(groups.values.size());
    groups.values.emplace_back(value);
  }
  for (const std::string& cell : cells) groups.of_example.push_back(places.at(cell));
  return groups;
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

enum class Role : uint8_t { kParameter, kBuffer, kWithoutEffect };

// Calls each(tensor, role) for the tensors that weights are made of, by name.
template <typename Each>
void ForEachTensor(const SafetensorsFile& file, const Each& each) {
  std::set<std::string> names;
  for (const TensorView& tensor : file.tensors()) names.emplace(tensor.name);
  for (const TensorView& tensor : file.tensors()) {
    if (tensor.type != ElementType::kFloat32) continue;
    each(tensor, IsWithoutEffect(tensor.name, names) ? Role::kWithoutEffect
                 : IsBuffer(tensor.name)             ? Role::kBuffer
                                                     : Role::kParameter);
  }
}

}  // namespace

bool IsWithoutEffect(std::string_view tensor_name, const std::set<std::string>& all_names) {
  return all_names.contains(NormAfter(tensor_name));
}

bool IsBuffer(std::string_view tensor_name) {
  return tensor_name.ends_with("running_mean") || tensor_name.ends_with("running_var") ||
         tensor_name.ends_with("num_batches_tracked");
}

absl::StatusOr<NpyView*> StudyFiles::OpenNpy(const InputFile& file) {
  const absl::StatusOr<std::string> path = find_(file);
  if (!path.ok()) return Annotate(path.status(), NameOf(file));
  absl::StatusOr<NpyView> array = NpyView::Open(*path);
  if (!array.ok()) return Annotate(array.status(), NameOf(file));
  arrays_.push_back(*std::move(array));
  return &arrays_.back();
}

absl::StatusOr<StudyFiles::Matrix> StudyFiles::Predictions(const InputFile& file) {
  NF_ASSIGN_OR_RETURN(NpyView * array, OpenNpy(file));
  const Shape& shape = array->shape();
  if (shape.size() == 2 && array->type() == ElementType::kFloat64) {
    NF_ASSIGN_OR_RETURN(const std::span<const double> values, array->Values<double>());
    NF_RETURN_IF_ERROR(Copying(values.size() * sizeof(float), "logits of float64"));
    std::vector<float>& copy = copies_.emplace_back(values.begin(), values.end());
    const auto width = static_cast<size_t>(std::max<int64_t>(1, shape[1]));
    const std::span<const int16_t> answers = Keep(AnswersOf(values, width));
    return Matrix{shape[0], shape[1], copy, answers};
  }
  if (shape.size() != 2 || array->type() != ElementType::kFloat32) {
    return NotOfShape(file, "float32 [examples, classes]", *array);
  }
  NF_ASSIGN_OR_RETURN(const std::span<const float> values, array->Values<float>());
  return Matrix{shape[0], shape[1], values, {}};
}

absl::StatusOr<Digest> StudyFiles::AnswersOfLogits(const InputFile& file, int64_t attributes) {
  const absl::StatusOr<std::string> path = find_(file);
  if (!path.ok()) return Annotate(path.status(), NameOf(file));
  const absl::StatusOr<NpyView> array = NpyView::Open(*path);
  if (!array.ok()) return Annotate(array.status(), NameOf(file));
  if (attributes == 0) {
    absl::StatusOr<Digest> digest = DigestOf(*array);
    return digest.ok() ? digest : Annotate(digest.status(), NameOf(file));
  }
  const Shape& shape = array->shape();
  if (shape.size() != 2 || shape[1] != attributes || array->type() != ElementType::kFloat32) {
    return NotOfShape(file, fmt::format("float32 [examples, {}]", attributes), *array);
  }
  NF_ASSIGN_OR_RETURN(const std::span<const float> values, array->Values<float>());
  Digest decisions = {2, {}};
  for (const float logit : values) {
    decisions.answers.push_back(analysis::AnswerOf(std::array{0.0F, logit}));
  }
  return decisions;
}

absl::StatusOr<std::span<const int16_t>> StudyFiles::Answers(const InputFile& file) {
  NF_ASSIGN_OR_RETURN(NpyView * array, OpenNpy(file));
  const absl::Status wrong = NotOfShape(file, "whole numbers [examples]", *array);
  if (array->shape().size() != 1) return wrong;
  NF_ASSIGN_OR_RETURN(const std::vector<int32_t> values, WholeNumbers(*array, wrong));
  NF_RETURN_IF_ERROR(Copying(values.size() * sizeof(int16_t), "answers"));
  std::vector<int16_t>& answers = answers_.emplace_back();
  answers.reserve(values.size());
  for (const int32_t value : values) {
    if (value < 0 || value >= std::numeric_limits<int16_t>::max()) {
      return InvalidInput(
          fmt::format("{}: the answer to example {} is no class", NameOf(file), answers.size()));
    }
    answers.push_back(static_cast<int16_t>(value));
  }
  return std::span<const int16_t>(answers);
}

absl::StatusOr<SafetensorsFile> StudyFiles::OpenWeights(const InputFile& file) const {
  const absl::StatusOr<std::string> path = find_(file);
  if (!path.ok()) return Annotate(path.status(), NameOf(file));
  absl::StatusOr<SafetensorsFile> opened = SafetensorsFile::Open(*path);
  return opened.ok() ? std::move(opened) : Annotate(opened.status(), NameOf(file));
}

absl::StatusOr<report::WeightsView::Facts> StudyFiles::FactsOfWeights(const InputFile& file) const {
  NF_ASSIGN_OR_RETURN(const SafetensorsFile opened, OpenWeights(file));
  report::WeightsView::Facts facts = {.content = file.sha256};
  std::string layout;
  ForEachTensor(opened, [&](const TensorView& tensor, Role role) {
    const size_t values = tensor.bytes.size() / sizeof(float);
    if (role == Role::kParameter) {
      facts.parameters += values;
      layout += fmt::format("{} {}\n", tensor.name, fmt::join(tensor.shape, " "));
    }
    if (role == Role::kWithoutEffect) facts.without_effect += static_cast<int64_t>(values);
  });
  facts.layout = Sha256Hex(layout);
  return facts;
}

absl::StatusOr<report::SharedWeights> StudyFiles::Weights(const InputFile& file) {
  // What the pieces view.
  struct Opened {
    SafetensorsFile file;
    uint64_t& copied_bytes;  // Of all.
    std::deque<std::vector<float>> copies;
    report::Weights weights;

    Opened(SafetensorsFile of, uint64_t& copied) : file(std::move(of)), copied_bytes(copied) {}
    ~Opened() {
      for (const std::vector<float>& copy : copies) copied_bytes -= copy.size() * sizeof(float);
    }
  };
  NF_ASSIGN_OR_RETURN(SafetensorsFile tensors, OpenWeights(file));
  const auto opened = std::make_shared<Opened>(std::move(tensors), copied_bytes_);
  absl::Status copied;
  ForEachTensor(opened->file, [&](const TensorView& tensor, Role role) {
    if (role == Role::kWithoutEffect) return;
    const size_t count = tensor.bytes.size() / sizeof(float);
    std::span<const float> values;
    if (reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(float) == 0) {
      values = std::span(reinterpret_cast<const float*>(tensor.bytes.data()), count);
    } else {
      copied.Update(Copying(tensor.bytes.size(), "its values are not aligned"));
      if (!copied.ok()) return;
      std::vector<float>& copy = opened->copies.emplace_back(count);
      std::memcpy(copy.data(), tensor.bytes.data(), count * sizeof(float));
      values = copy;
    }
    report::Weights& weights = opened->weights;
    (role == Role::kBuffer ? weights.buffers : weights.parameters).push_back(values);
  });
  if (!copied.ok()) return Annotate(copied, NameOf(file));
  return report::SharedWeights(opened, &opened->weights);
}

absl::Status StudyFiles::Copying(uint64_t bytes, std::string_view why) {
  if (copied_bytes_ + bytes > copy_limit_bytes_) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        fmt::format("{}, and a study copies at most {} bytes", why, copy_limit_bytes_));
  }
  copied_bytes_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<StudyFiles::Truths> StudyFiles::Labels(const InputFile& file) {
  NF_ASSIGN_OR_RETURN(NpyView * array, OpenNpy(file));
  const Shape& shape = array->shape();
  const absl::Status wrong =
      NotOfShape(file, "whole numbers [examples] or [examples, attributes]", *array);
  if (shape.empty() || shape.size() > 2) return wrong;
  if (shape.size() == 2 && shape[1] < 1) return wrong;
  Truths truths;
  truths.attributes = shape.size() == 2 ? shape[1] : 0;
  NF_ASSIGN_OR_RETURN(truths.values, WholeNumbers(*array, wrong));
  const auto no_answer =
      std::ranges::find_if(truths.values, [](int32_t value) { return value != 0 && value != 1; });
  if (truths.attributes == 0 || no_answer == truths.values.end()) return truths;
  if (truths.attributes > 1) {
    return InvalidInput(
        fmt::format("{}: attributes {} hold {}; expected 0 and 1, or [examples] of "
                    "classes",
                    file.path, ToText(shape), *no_answer));
  }
  truths.attributes = 0;  // Classes in a column, as Keras has those of CIFAR.
  return truths;
}

absl::StatusOr<std::vector<report::ExampleGroups>> StudyFiles::Groups(const InputFile& file) {
  const absl::StatusOr<std::string> path = find_(file);
  if (!path.ok()) return Annotate(path.status(), NameOf(file));
  NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(*path, kMostGroupBytes));
  NF_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::Open(file.path, text));
  const auto example = std::ranges::find(csv.columns(), "example") - csv.columns().begin();
  if (example == static_cast<std::ptrdiff_t>(csv.columns().size())) {
    return csv.Wrong("no column example, the number of each from 0");
  }
  std::vector<std::vector<std::string>> cells(csv.columns().size());
  while (!csv.at_end()) {
    NF_ASSIGN_OR_RETURN(std::vector<std::string> row, csv.Next());
    const std::string& number = row[static_cast<size_t>(example)];
    if (number != std::to_string(cells[0].size())) {
      return csv.Wrong(fmt::format("example {}; expected {}", number, cells[0].size()));
    }
    for (size_t i = 0; i < row.size(); ++i) cells[i].push_back(std::move(row[i]));
  }
  std::vector<report::ExampleGroups> groups;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (static_cast<std::ptrdiff_t>(i) == example) continue;
    groups.push_back(GroupsOf(csv.columns()[i], cells[i]));
    if (groups.back().values.size() <= kMostGroups) continue;
    return AtLine(file.path, 1,
                  fmt::format("column {} has {} values; expected at most {}", csv.columns()[i],
                              groups.back().values.size(), kMostGroups));
  }
  return groups;
}

absl::StatusOr<StudyFiles::Matrix> StudyFiles::Decisions(const Matrix& logits) {
  NF_RETURN_IF_ERROR(Copying(2 * logits.values.size_bytes(), "logits of attributes"));
  std::vector<float>& copy = copies_.emplace_back();
  copy.reserve(2 * logits.values.size());
  for (const float logit : logits.values) {
    copy.push_back(0);
    copy.push_back(logit);
  }
  return Matrix{logits.rows * logits.columns, 2, copy, {}};
}

absl::StatusOr<StudyFiles::Images> StudyFiles::EvaluationImages(const InputFile& file) {
  NF_ASSIGN_OR_RETURN(NpyView * array, OpenNpy(file));
  const Shape& shape = array->shape();
  if (array->type() != ElementType::kUint8 || shape.size() < 3 || shape.size() > 4) {
    return NotOfShape(file, "uint8 [examples, height, width, channels]", *array);
  }
  NF_ASSIGN_OR_RETURN(const std::span<const uint8_t> pixels, array->Values<uint8_t>());
  const auto dimension = [&](size_t i) { return static_cast<int32_t>(shape[i]); };
  if (shape.size() == 3) return Images{shape[0], dimension(1), dimension(2), 1, pixels};
  if (shape[3] <= 4) return Images{shape[0], dimension(1), dimension(2), dimension(3), pixels};
  if (shape[1] > 4) {
    return NotOfShape(file, "images of 1 to 4 channels", *array);
  }
  const std::vector<uint8_t>& turned = pixels_.emplace_back(ChannelsLast(pixels, shape));
  return Images{shape[0], dimension(2), dimension(3), dimension(1), turned};
}

}  // namespace noisefloor::inputs
