#include "coordinator/query/load_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "common/trainer_protocol/datasets.h"

namespace noisefloor::query {

namespace {

// Of several files of a kind, the last by path: predictions at the end come after those on the way.
const ArtifactRow* Find(const std::vector<ArtifactRow>& artifacts, std::string_view kind) {
  const ArtifactRow* found = nullptr;
  for (const ArtifactRow& artifact : artifacts) {
    if (artifact.kind == kind) found = &artifact;
  }
  return found;
}

void Warn(LoadedStudy& study, std::string subject, const absl::Status& status,
          std::string_view consequence) {
  study.warnings.push_back(
      {"error", std::move(subject), fmt::format("{}. {}", Message(status), consequence)});
}

void LoadLabels(const EvaluationRows& rows, report::EvaluationSet& evaluation, LoadedStudy& study) {
  const ArtifactRow* artifact = Find(rows.artifacts, "evaluation_labels");
  if (artifact == nullptr) return;
  absl::StatusOr<StudyFiles::Truths> labels = study.files.Labels(*artifact);
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
// logits.
void CheckLabels(const EvaluationRows& rows, report::EvaluationSet& evaluation,
                 LoadedStudy& study) {
  const auto wrong = [&](int32_t label) { return label < 0 || label >= evaluation.classes; };
  const std::vector<int32_t>& labels = evaluation.labels;
  const auto bad = std::find_if(labels.begin(), labels.end(), wrong);
  if (bad == labels.end()) return;
  Warn(study, "sweep",
       InvalidInput(fmt::format("{}: the class {} of example {} is not below {}",
                                Find(rows.artifacts, "evaluation_labels")->path, *bad,
                                bad - labels.begin(), evaluation.classes)),
       "The true classes are not known.");
  evaluation.labels.clear();
}

void LoadImages(const EvaluationRows& rows, report::EvaluationSet& evaluation, LoadedStudy& study) {
  const ArtifactRow* artifact = Find(rows.artifacts, "evaluation_images");
  if (artifact == nullptr) return;
  const absl::StatusOr<StudyFiles::Images> images = study.files.EvaluationImages(*artifact);
  if (!images.ok()) return Warn(study, "sweep", images.status(), "No images are drawn.");
  if (images->examples != static_cast<int64_t>(evaluation.labels.size())) return;
  evaluation.images = images->pixels;
  evaluation.height = images->height;
  evaluation.width = images->width;
  evaluation.channels = images->channels;
}

report::EvaluationSet LoadEvaluation(const StudyRows& rows, const EvaluationRows& set,
                                     LoadedStudy& study) {
  report::EvaluationSet evaluation;
  evaluation.data_set = set.key.data_set;
  const auto identity = rows.identities.find(evaluation.data_set);
  if (identity != rows.identities.end()) evaluation.identity = identity->second;
  evaluation.class_names = ClassNames(evaluation.data_set);
  const KnownDataset* known = FindDataset(evaluation.data_set);
  if (known != nullptr) evaluation.classes = static_cast<int32_t>(known->classes);
  LoadLabels(set, evaluation, study);
  LoadImages(set, evaluation, study);
  return evaluation;
}

void LoadPredictions(const std::vector<ArtifactRow>& artifacts, report::EvaluationSet& evaluation,
                     report::MemberInput& member, LoadedStudy& study) {
  constexpr std::string_view kLeftOut = "Its predictions are left out.";
  const ArtifactRow* artifact = Find(artifacts, "predictions");
  if (artifact == nullptr) return;
  absl::StatusOr<StudyFiles::Matrix> matrix = study.files.Predictions(*artifact);
  if (matrix.ok() && evaluation.attributes > 0 && matrix->columns == evaluation.attributes) {
    matrix = study.files.Decisions(*matrix);
  }
  if (!matrix.ok()) return Warn(study, member.id, matrix.status(), kLeftOut);
  if (evaluation.classes == 0) evaluation.classes = static_cast<int32_t>(matrix->columns);
  const int64_t examples = static_cast<int64_t>(evaluation.labels.size());
  if (matrix->columns != evaluation.classes || (examples != 0 && matrix->rows != examples)) {
    return Warn(
        study, member.id,
        InvalidInput(fmt::format("{}: logits [{}, {}], expected [{}, {}]", artifact->path,
                                 matrix->rows, matrix->columns, examples, evaluation.classes)),
        kLeftOut);
  }
  member.predictions = matrix->values;
}

void LoadWeights(const std::vector<ArtifactRow>& artifacts, report::MemberInput& member,
                 LoadedStudy& study) {
  const ArtifactRow* artifact = Find(artifacts, "weights");
  if (artifact == nullptr) return;
  absl::StatusOr<report::WeightsView> weights = study.files.Weights(*artifact);
  if (!weights.ok()) {
    return Warn(study, member.id, weights.status(), "Its weights are left out.");
  }
  member.weights = *std::move(weights);
}

}  // namespace

LoadedStudy LoadStudy(StudyRows rows, const BlobStore& blobs) {
  LoadedStudy study{std::move(rows.input), StudyFiles(blobs), std::move(rows.warnings)};
  if (study.input.cells.empty()) return study;
  study.input.evaluations.clear();
  for (const EvaluationRows& set : rows.evaluation_sets) {
    study.input.evaluations.push_back(LoadEvaluation(rows, set, study));
  }
  std::map<uint32_t, size_t> sets;  // Place of each cell's.
  for (const report::CellInput& cell : study.input.cells) sets[cell.index] = cell.evaluation;
  for (size_t m = 0; m < study.input.members.size(); ++m) {
    report::MemberInput& member = study.input.members[m];
    report::EvaluationSet& evaluation = study.input.evaluations[sets.at(member.cell)];
    LoadWeights(rows.artifacts[m], member, study);
    LoadPredictions(rows.artifacts[m], evaluation, member, study);
  }
  for (size_t i = 0; i < rows.evaluation_sets.size(); ++i) {
    CheckLabels(rows.evaluation_sets[i], study.input.evaluations[i], study);
  }
  return study;
}

}  // namespace noisefloor::query
