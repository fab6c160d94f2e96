// The arrays that a study needs, checked and mapped into memory for as long as it is being built;
// weights for as long as they are looked at.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/files/npy.h"
#include "common/files/safetensors.h"
#include "coordinator/inputs/digest.h"
#include "coordinator/inputs/study_source.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::inputs {

// The path of a file that has been read whole and found to be what its hash says: a changed byte is
// DataLoss, a missing file NotFound.
using FindFile = std::function<absl::StatusOr<std::string>(const InputFile& file)>;

// Owns the mappings and copies behind every span it gives, and outlives the weights. One thread. A
// file that is no such array is InvalidArgument. Messages name the file.
class StudyFiles {
 public:
  explicit StudyFiles(FindFile find, uint64_t copy_limit_bytes = uint64_t{2} << 30)
      : find_(std::move(find)), copy_limit_bytes_(copy_limit_bytes) {}
  StudyFiles(const StudyFiles&) = delete;
  StudyFiles& operator=(const StudyFiles&) = delete;

  struct Matrix {
    int64_t rows = 0;
    int64_t columns = 0;
    std::span<const float> values;
    std::span<const int16_t> answers;  // {rows}: of values that were rounded; else empty.
  };
  // A .npy of float32 {examples, classes}, or of float64, which is copied and rounded, once it is
  // known what each row answers.
  absl::StatusOr<Matrix> Predictions(const InputFile& file);
  // Takes what was not read from a file of its own.
  std::span<const int16_t> Keep(std::vector<int16_t> answers) {
    return answers_.emplace_back(std::move(answers));
  }
  // What a .npy of logits answers, of which nothing else is kept: of {examples, classes} as
  // Predictions tells it; with `attributes` not 0, the decisions of {examples, attributes}.
  absl::StatusOr<Digest> AnswersOfLogits(const InputFile& file, int64_t attributes);
  // A .npy of whole numbers {examples}: the classes that were answered. Copied.
  absl::StatusOr<std::span<const int16_t>> Answers(const InputFile& file);
  // What a .safetensors has, which is closed again.
  absl::StatusOr<report::WeightsView::Facts> FactsOfWeights(const InputFile& file) const;
  // The same, mapped until the last who has it lets it go. Only tensors that do not lie as floats
  // must (ours do) are copied; ResourceExhausted when the copies that are there grow above the
  // limit.
  absl::StatusOr<report::SharedWeights> Weights(const InputFile& file);
  // A .npy of whole numbers {examples}, or of 0 and 1 {examples, attributes}: then each of them is
  // a decision of its own, row by row.
  struct Truths {
    std::vector<int32_t> values;
    int64_t attributes = 0;  // 0: an example has one class.
  };
  absl::StatusOr<Truths> Labels(const InputFile& file);
  // Logits of attributes {examples, attributes} as those of decisions between no and yes,
  // {examples * attributes, 2}: 0 and the logit. ResourceExhausted when the copies grow above the
  // limit.
  absl::StatusOr<Matrix> Decisions(const Matrix& logits);

  struct Images {
    int64_t examples = 0;
    int32_t height = 0;
    int32_t width = 0;
    int32_t channels = 0;
    std::span<const uint8_t> pixels;  // {examples, height, width, channels}
  };
  // A table whose lines are the examples in order: its column `example`, from 0, and the others, of
  // which each sorts them into groups.
  absl::StatusOr<std::vector<report::ExampleGroups>> Groups(const InputFile& file);
  // A .npy of uint8 {examples, height, width[, channels]} or {examples, channels, height, width}.
  absl::StatusOr<Images> EvaluationImages(const InputFile& file);

 private:
  absl::StatusOr<NpyView*> OpenNpy(const InputFile& file);
  absl::StatusOr<SafetensorsFile> OpenWeights(const InputFile& file) const;
  // Counts a copy of so many bytes, or refuses it.
  absl::Status Copying(uint64_t bytes, std::string_view why);

  const FindFile find_;
  const uint64_t copy_limit_bytes_;
  std::deque<NpyView> arrays_;
  std::deque<std::vector<float>> copies_;
  std::deque<std::vector<int16_t>> answers_;
  std::deque<std::vector<uint8_t>> pixels_;
  uint64_t copied_bytes_ = 0;
};

// True for a parameter that the training's outputs do not depend on: the bias of a convolution
// directly before batch norm, which takes it away with the mean. Its gradient is rounding, and what
// it becomes is no distance between networks. Read from the names of a file: "conv1.bias" beside
// "bn1.running_mean".
bool IsWithoutEffect(std::string_view tensor_name, const std::set<std::string>& all_names);

// True for the tensors of a model that are not trained: running statistics.
bool IsBuffer(std::string_view tensor_name);

}  // namespace noisefloor::inputs
