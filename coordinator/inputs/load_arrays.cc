#include "coordinator/inputs/load_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/trainer_protocol/datasets.h"

namespace noisefloor::inputs {

namespace {

constexpr int32_t kMostClasses = std::numeric_limits<int16_t>::max();

void Warn(LoadedStudy& study, std::string subject, absl::Status status,
          std::string_view consequence) {
  study.warnings.push_back(
      {"error", std::move(subject), fmt::format("{}. {}", Message(status), consequence)});
  study.faults.push_back(std::move(status));
}

void LoadLabels(const StudySource::SetFiles& files, report::EvaluationSet& evaluation,
                LoadedStudy& study) {
  if (!files.labels) return;
  absl::StatusOr<StudyFiles::Truths> labels = study.files.Labels(*files.labels);
  if (!labels.ok()) {
    return Warn(study, "sweep", labels.status(), "The true classes are not known.");
  }
  evaluation.labels = std::move(labels->values);
  if (labels->attributes == 0) return;
  evaluation.attributes = labels->attributes;
  evaluation.classes = 2;
  evaluation.class_names = {"no", "yes"};
}

// Once the number of classes is known: of a data set of ours from its table, of another from the
// logits, else (`open`) from answers and the labels themselves.
void CheckLabels(const StudySource::SetFiles& files, bool open, report::EvaluationSet& evaluation,
                 LoadedStudy& study) {
  const std::vector<int32_t>& labels = evaluation.labels;
  const auto most = std::ranges::max_element(labels);
  if (open && most != labels.end() && *most >= 0) {
    evaluation.classes = std::max(evaluation.classes, std::min(*most, kMostClasses - 1) + 1);
  }
  const auto wrong = [&](int32_t label) { return label < 0 || label >= evaluation.classes; };
  const auto bad = std::ranges::find_if(labels, wrong);
  if (bad == labels.end()) return;
  Warn(
      study, "sweep",
      InvalidInput(fmt::format("{}: the class {} of example {} is not below {}", files.labels->path,
                               *bad, bad - labels.begin(), evaluation.classes)),
      "The true classes are not known.");
  evaluation.labels.clear();
}

void LoadImages(const StudySource::SetFiles& files, report::EvaluationSet& evaluation,
                LoadedStudy& study) {
  if (!files.images) return;
  const absl::StatusOr<StudyFiles::Images> images = study.files.EvaluationImages(*files.images);
  if (!images.ok()) return Warn(study, "sweep", images.status(), "No images are drawn.");
  if (images->examples != static_cast<int64_t>(evaluation.labels.size())) return;
  evaluation.images = images->pixels;
  evaluation.height = images->height;
  evaluation.width = images->width;
  evaluation.channels = images->channels;
}

void LoadEvaluation(const StudySource::SetFiles& files, report::EvaluationSet& evaluation,
                    LoadedStudy& study) {
  if (evaluation.class_names.empty()) evaluation.class_names = ClassNames(evaluation.data_set);
  const KnownDataset* known = FindDataset(evaluation.data_set);
  if (known != nullptr) evaluation.classes = static_cast<int32_t>(known->classes);
  LoadLabels(files, evaluation, study);
  LoadImages(files, evaluation, study);
}

// A member's answers where nothing else is known. `open`: nor how many classes there are.
void LoadAnswers(const InputFile& file, bool open, report::EvaluationSet& evaluation,
                 report::MemberInput& member, LoadedStudy& study) {
  constexpr std::string_view kLeftOut = "Its answers are left out.";
  const absl::StatusOr<std::span<const int16_t>> answers = study.files.Answers(file);
  if (!answers.ok()) return Warn(study, member.id, answers.status(), kLeftOut);
  const size_t examples = evaluation.labels.size();
  if (examples != 0 && answers->size() != examples) {
    return Warn(study, member.id,
                InvalidInput(fmt::format("{}: {} answers, expected {}", file.path, answers->size(),
                                         examples)),
                kLeftOut);
  }
  const auto most = std::ranges::max_element(*answers);
  if (most == answers->end()) return;
  if (*most >= evaluation.classes && !open) {
    return Warn(
        study, member.id,
        InvalidInput(fmt::format("{}: the answer {} to example {} is not below {}", file.path,
                                 *most, most - answers->begin(), evaluation.classes)),
        kLeftOut);
  }
  evaluation.classes = std::max(evaluation.classes, int32_t{*most} + 1);
  member.answers = *answers;
}

void LoadPredictions(const std::optional<InputFile>& file, report::EvaluationSet& evaluation,
                     report::MemberInput& member, LoadedStudy& study) {
  constexpr std::string_view kLeftOut = "Its predictions are left out.";
  if (!file || file->kind == kAnswersKind) return;
  absl::StatusOr<StudyFiles::Matrix> matrix = study.files.Predictions(*file);
  if (matrix.ok() && evaluation.attributes > 0 && matrix->columns == evaluation.attributes) {
    matrix = study.files.Decisions(*matrix);
  }
  if (!matrix.ok()) return Warn(study, member.id, matrix.status(), kLeftOut);
  if (evaluation.classes == 0) evaluation.classes = static_cast<int32_t>(matrix->columns);
  const int64_t examples = static_cast<int64_t>(evaluation.labels.size());
  if (matrix->columns != evaluation.classes || (examples != 0 && matrix->rows != examples)) {
    return Warn(
        study, member.id,
        InvalidInput(fmt::format("{}: logits [{}, {}], expected [{}, {}]", file->path, matrix->rows,
                                 matrix->columns, examples, evaluation.classes)),
        kLeftOut);
  }
  member.predictions = matrix->values;
}

void LoadWeights(const std::optional<InputFile>& file, report::MemberInput& member,
                 LoadedStudy& study) {
  if (!file) return;
  absl::StatusOr<report::WeightsView> weights = study.files.Weights(*file);
  if (!weights.ok()) {
    return Warn(study, member.id, weights.status(), "Its weights are left out.");
  }
  member.weights = *std::move(weights);
}

}  // namespace

LoadedStudy LoadArrays(StudySource source, FindFile find) {
  LoadedStudy study{
      std::move(source.input), StudyFiles(std::move(find)), std::move(source.warnings), {}};
  if (study.input.cells.empty()) return study;
  for (size_t i = 0; i < source.sets.size(); ++i) {
    LoadEvaluation(source.sets[i], study.input.evaluations[i], study);
  }
  std::map<uint32_t, size_t> sets;  // Place of each cell's.
  for (const report::CellInput& cell : study.input.cells) sets[cell.index] = cell.evaluation;
  for (size_t m = 0; m < study.input.members.size(); ++m) {
    report::MemberInput& member = study.input.members[m];
    report::EvaluationSet& evaluation = study.input.evaluations[sets.at(member.cell)];
    LoadWeights(source.members[m].weights, member, study);
    LoadPredictions(source.members[m].predictions, evaluation, member, study);
  }
  std::vector<bool> open;
  for (const report::EvaluationSet& set : study.input.evaluations) open.push_back(set.classes == 0);
  for (size_t m = 0; m < study.input.members.size(); ++m) {
    const std::optional<InputFile>& file = source.members[m].predictions;
    if (!file || file->kind != kAnswersKind) continue;
    const size_t set = sets.at(study.input.members[m].cell);
    LoadAnswers(*file, open[set], study.input.evaluations[set], study.input.members[m], study);
  }
  for (size_t i = 0; i < source.sets.size(); ++i) {
    CheckLabels(source.sets[i], open[i], study.input.evaluations[i], study);
  }
  return study;
}

report::Study BuildStudy(const LoadedStudy& loaded) {
  report::Study study = report::BuildStudy(loaded.input);
  study.warnings.insert(study.warnings.begin(), loaded.warnings.begin(), loaded.warnings.end());
  return study;
}

}  // namespace noisefloor::inputs
