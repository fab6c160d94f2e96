#include "coordinator/inputs/load_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "common/trainer_protocol/datasets.h"
#include "coordinator/inputs/layout.h"
#include "coordinator/inputs/load_warnings.h"
#include "coordinator/inputs/load_weights.h"
#include "coordinator/inputs/on_the_way.h"

namespace noisefloor::inputs {

namespace {

constexpr int32_t kMostClasses = std::numeric_limits<int16_t>::max();

// What is known of a set while its arrays are loaded.
struct SetSize {
  int64_t rows = 0;   // Of the labels, else of the first member that answers; 0: neither yet.
  bool open = false;  // Nothing but answers and labels says how many classes there are.
};

// Is the array of so many rows one of this set? What is wrong, else.
absl::Status CheckRows(const InputFile& file, int64_t rows, SetSize& size) {
  if (rows == 0) return InvalidInput(file.path + ": it has no examples");
  if (size.rows == 0) size.rows = rows;
  if (size.rows == rows) return absl::OkStatus();
  return InvalidInput(fmt::format("{}: {} examples, expected {}", file.path, rows, size.rows));
}

void LoadLabels(const StudySource::SetFiles& files, report::EvaluationSet& evaluation,
                LoadedStudy& study) {
  if (!files.labels) return;
  absl::StatusOr<StudyFiles::Truths> labels = study.files->Labels(*files.labels);
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
  const absl::StatusOr<StudyFiles::Images> images = study.files->EvaluationImages(*files.images);
  if (!images.ok()) return Warn(study, "sweep", images.status(), "No images are drawn.");
  if (images->examples != static_cast<int64_t>(evaluation.labels.size())) return;
  evaluation.images = images->pixels;
  evaluation.height = images->height;
  evaluation.width = images->width;
  evaluation.channels = images->channels;
}

// One value for each example; where examples are decisions, for all those of one. Nothing is told
// of groups whose examples have no known class.
void LoadGroups(const StudySource::SetFiles& files, report::EvaluationSet& evaluation,
                LoadedStudy& study) {
  constexpr std::string_view kLeftOut = "No groups are told.";
  if (!files.groups) return;
  if (evaluation.labels.empty()) {
    study.warnings.push_back(
        {"warning", "sweep",
         fmt::format("{}: the true classes are not known. {}", files.groups->path, kLeftOut)});
    return;
  }
  absl::StatusOr<std::vector<report::ExampleGroups>> groups = study.files->Groups(*files.groups);
  if (!groups.ok()) return Warn(study, "sweep", groups.status(), kLeftOut);
  const size_t decisions = static_cast<size_t>(std::max<int64_t>(evaluation.attributes, 1));
  SetSize size = {.rows = static_cast<int64_t>(evaluation.labels.size() / decisions)};
  for (report::ExampleGroups& column : *groups) {
    const auto examples = static_cast<int64_t>(column.of_example.size());
    const absl::Status fits = CheckRows(*files.groups, examples, size);
    if (!fits.ok()) return Warn(study, "sweep", fits, kLeftOut);
    std::vector<int32_t> of_decision;
    for (const int32_t group : column.of_example) {
      of_decision.insert(of_decision.end(), decisions, group);
    }
    column.of_example = std::move(of_decision);
  }
  evaluation.groups = *std::move(groups);
}

// Names that came with the source: one for each class, no two alike.
void CheckClassNames(report::EvaluationSet& evaluation, LoadedStudy& study) {
  const std::vector<std::string>& names = evaluation.class_names;
  const std::set<std::string> distinct(names.begin(), names.end());
  if (names.empty() || (names.size() == static_cast<size_t>(evaluation.classes) &&
                        distinct.size() == names.size() && !distinct.contains(""))) {
    return;
  }
  Warn(study, "sweep",
       InvalidInput(fmt::format("{}: {} names of classes, {} of them distinct and none empty; the "
                                "labels and answers have {} classes",
                                kClassesFile, names.size(), distinct.size() - distinct.count(""),
                                evaluation.classes)),
       "Classes go by their numbers.");
  evaluation.class_names.clear();
}

void LoadEvaluation(const StudySource::SetFiles& files, report::EvaluationSet& evaluation,
                    LoadedStudy& study) {
  if (evaluation.class_names.empty()) evaluation.class_names = ClassNames(evaluation.data_set);
  const KnownDataset* known = FindDataset(evaluation.data_set);
  if (known != nullptr) evaluation.classes = static_cast<int32_t>(known->classes);
  LoadLabels(files, evaluation, study);
  LoadImages(files, evaluation, study);
}

// A member's answers where nothing else is known.
void LoadAnswers(const InputFile& file, report::EvaluationSet& evaluation, SetSize& size,
                 report::MemberInput& member, LoadedStudy& study) {
  constexpr std::string_view kLeftOut = "Its answers are left out.";
  const absl::StatusOr<std::span<const int16_t>> answers = study.files->Answers(file);
  if (!answers.ok()) return Warn(study, member.id, answers.status(), kLeftOut);
  const absl::Status fits = CheckRows(file, static_cast<int64_t>(answers->size()), size);
  if (!fits.ok()) return Warn(study, member.id, fits, kLeftOut);
  const auto most = std::ranges::max_element(*answers);
  if (*most >= evaluation.classes && !size.open) {
    return Warn(
        study, member.id,
        InvalidInput(fmt::format("{}: the answer {} to example {} is not below {}", file.path,
                                 *most, most - answers->begin(), evaluation.classes)),
        kLeftOut);
  }
  evaluation.classes = std::max(evaluation.classes, int32_t{*most} + 1);
  member.answers = *answers;
}

// Logits of a file, opened when they are first asked for and then the same. `study` may move.
report::LogitsView OpenedLate(const InputFile& file, const std::string& member, size_t size,
                              const LoadedStudy& study) {
  const auto open = [file, member, size, files = study.files.get(),
                     late = study.late.get()]() -> std::span<const float> {
    const absl::StatusOr<StudyFiles::Matrix> matrix = files->Predictions(file);
    if (matrix.ok() && matrix->values.size() == size) return matrix->values;
    TellLate(*late, member,
             matrix.ok() ? file.path + ": another size" : std::string(Message(matrix.status())),
             "Its logits are left out; what it answers is known.");
    return {};
  };
  // shared: by the copies of the view.
  auto opened = std::make_shared<std::optional<std::span<const float>>>();
  return {size, [open, opened] {
            if (!*opened) *opened = open();
            return **opened;
          }};
}

// Answers from a digest, logits as they are.
absl::StatusOr<StudyFiles::Matrix> Digested(const InputFile& file, const FindDigest& digests,
                                            StudyFiles& files) {
  NF_ASSIGN_OR_RETURN(Digest digest, digests(file));
  const auto rows = std::ssize(digest.answers);
  return StudyFiles::Matrix{rows, digest.classes, {}, files.Keep(std::move(digest.answers))};
}

void LoadPredictions(const std::optional<InputFile>& file, const FindDigest& digests,
                     report::EvaluationSet& evaluation, SetSize& size, report::MemberInput& member,
                     LoadedStudy& study) {
  constexpr std::string_view kLeftOut = "Its predictions are left out.";
  if (!file || file->kind == kAnswersKind) return;
  const bool by_digest = digests != nullptr && evaluation.attributes == 0;
  absl::StatusOr<StudyFiles::Matrix> matrix =
      by_digest ? Digested(*file, digests, *study.files) : study.files->Predictions(*file);
  if (matrix.ok() && evaluation.attributes > 0 && matrix->columns == evaluation.attributes) {
    matrix = study.files->Decisions(*matrix);
  }
  if (!matrix.ok()) return Warn(study, member.id, matrix.status(), kLeftOut);
  if (evaluation.classes == 0 && matrix->columns <= kMostClasses) {
    evaluation.classes = static_cast<int32_t>(matrix->columns);
  }
  if (matrix->columns != evaluation.classes || (size.rows != 0 && matrix->rows != size.rows)) {
    return Warn(
        study, member.id,
        InvalidInput(fmt::format("{}: logits [{}, {}], expected [{}, {}]", file->path, matrix->rows,
                                 matrix->columns, size.rows, evaluation.classes)),
        kLeftOut);
  }
  const absl::Status fits = CheckRows(*file, matrix->rows, size);
  if (!fits.ok()) return Warn(study, member.id, fits, kLeftOut);
  const auto count = static_cast<size_t>(matrix->rows * matrix->columns);
  member.predictions =
      by_digest ? OpenedLate(*file, member.id, count, study) : report::LogitsView(matrix->values);
  member.answers = matrix->answers;
}

// How many answers on the way a study keeps, half a GiB, and how many bytes of logits it reads for
// them where nothing else says what they answer.
constexpr int64_t kMostOnTheWay = int64_t{1} << 28;
constexpr uint64_t kMostLogitsOnTheWay = uint64_t{4} << 30;

// What members answered at each evaluation, where that was kept.
void LoadAnswersOnTheWay(const StudySource& source, const FindDigest& digests,
                         const std::map<uint32_t, size_t>& sets, const std::vector<SetSize>& sizes,
                         LoadedStudy& study) {
  int64_t answers = 0;
  uint64_t bytes = 0;
  for (size_t m = 0; m < source.members.size(); ++m) {
    const int64_t rows = sizes[sets.at(study.input.members[m].cell)].rows;
    for (const auto& [number, file] : FilesOnTheWay(source.members[m], "predictions")) {
      answers += rows;
      bytes += file->size_bytes;
    }
  }
  const bool reads_logits = digests == nullptr && bytes > kMostLogitsOnTheWay;
  if (answers > kMostOnTheWay || reads_logits) {
    study.warnings.push_back(
        {"note", "sweep",
         fmt::format("How churn grows over training is not told: {} answers in {} bytes of "
                     "predictions were kept on the way, more than {} or, here, {}.",
                     answers, bytes, kMostOnTheWay, kMostLogitsOnTheWay)});
    return;
  }
  for (size_t m = 0; m < source.members.size(); ++m) {
    report::MemberInput& member = study.input.members[m];
    const size_t set = sets.at(member.cell);
    const report::EvaluationSet& evaluation = study.input.evaluations[set];
    if (sizes[set].rows == 0) continue;  // Nobody's answers at the end are known.
    std::optional<absl::Status> fault;
    for (const auto& [number, file] : FilesOnTheWay(source.members[m], "predictions")) {
      const bool by_digest = digests != nullptr && evaluation.attributes == 0;
      absl::StatusOr<Digest> digest =
          by_digest ? digests(*file) : study.files->AnswersOfLogits(*file, evaluation.attributes);
      if (digest.ok() && (digest->classes != evaluation.classes ||
                          std::ssize(digest->answers) != sizes[set].rows)) {
        digest = InvalidInput(fmt::format("{}: answers [{}] of {} classes, expected [{}] of {}",
                                          file->path, digest->answers.size(), digest->classes,
                                          sizes[set].rows, evaluation.classes));
      }
      if (!digest.ok()) {
        if (!fault) fault = digest.status();
        continue;
      }
      member.answers_at[number] = study.files->Keep(std::move(digest->answers));
    }
    if (fault) Warn(study, member.id, *fault, "Evaluations with such a file are left out.");
  }
}

}  // namespace

LoadedStudy LoadArrays(StudySource source, FindFile find, const FindDigest& digests) {
  LoadedStudy study{std::move(source.input),
                    std::make_unique<StudyFiles>(std::move(find)),
                    std::make_unique<std::vector<report::Warning>>(),
                    std::move(source.warnings),
                    {}};
  if (study.input.cells.empty()) return study;
  for (size_t i = 0; i < source.sets.size(); ++i) {
    LoadEvaluation(source.sets[i], study.input.evaluations[i], study);
  }
  std::map<uint32_t, size_t> sets;  // Place of each cell's.
  for (const report::CellInput& cell : study.input.cells) sets[cell.index] = cell.evaluation;
  std::vector<SetSize> sizes;
  for (const report::EvaluationSet& set : study.input.evaluations) {
    sizes.push_back({.rows = static_cast<int64_t>(set.labels.size())});
  }
  for (size_t m = 0; m < study.input.members.size(); ++m) {
    report::MemberInput& member = study.input.members[m];
    const size_t set = sets.at(member.cell);
    LoadWeights(source.members[m].weights, member, study);
    LoadPredictions(source.members[m].predictions, digests, study.input.evaluations[set],
                    sizes[set], member, study);
  }
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i].open = study.input.evaluations[i].classes == 0;
  for (size_t m = 0; m < study.input.members.size(); ++m) {
    const std::optional<InputFile>& file = source.members[m].predictions;
    if (!file || file->kind != kAnswersKind) continue;
    const size_t set = sets.at(study.input.members[m].cell);
    LoadAnswers(*file, study.input.evaluations[set], sizes[set], study.input.members[m], study);
  }
  for (size_t i = 0; i < source.sets.size(); ++i) {
    report::EvaluationSet& evaluation = study.input.evaluations[i];
    CheckLabels(source.sets[i], sizes[i].open, evaluation, study);
    LoadGroups(source.sets[i], evaluation, study);
    if (sizes[i].rows > 0) CheckClassNames(evaluation, study);
  }
  LoadAnswersOnTheWay(source, digests, sets, sizes, study);
  LoadWeightsOnTheWay(source, study);
  return study;
}

report::Study BuildStudy(const LoadedStudy& loaded) {
  report::Study study = report::BuildStudy(loaded.input);
  const auto put_first = [&](const std::vector<report::Warning>& warnings) {
    study.warnings.insert(study.warnings.begin(), warnings.begin(), warnings.end());
  };
  put_first(*loaded.late);
  put_first(loaded.warnings);
  return study;
}

}  // namespace noisefloor::inputs
