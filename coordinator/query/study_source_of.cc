#include "coordinator/query/study_source_of.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/files/npy.h"
#include "coordinator/inputs/on_the_way.h"

namespace noisefloor::query {

namespace {

using inputs::InputFile;

// Of several files of a kind, the last by path.
std::optional<InputFile> LastOf(const std::vector<InputFile>& files, std::string_view kind) {
  std::optional<InputFile> found;
  for (const InputFile& file : files) {
    if (file.kind == kind) found = file;
  }
  return found;
}

// Predictions of evaluations, then weights, in their order.
std::vector<InputFile> OnTheWay(const std::vector<InputFile>& files) {
  std::map<inputs::OnTheWay, InputFile> by_evaluation;
  for (const InputFile& file : files) {
    const std::optional<inputs::OnTheWay> of = inputs::ReadOnTheWay(file.kind);
    if (of) by_evaluation[*of] = file;
  }
  std::vector<InputFile> ordered;
  for (auto& [of, file] : by_evaluation) ordered.push_back(std::move(file));
  return ordered;
}

}  // namespace

inputs::StudySource SourceOf(StudyRows rows) {
  inputs::StudySource source;
  source.input = std::move(rows.input);
  source.warnings = std::move(rows.warnings);
  if (!rows.evaluation_sets.empty()) source.input.evaluations.clear();
  for (const EvaluationRows& set : rows.evaluation_sets) {
    report::EvaluationSet& evaluation = source.input.evaluations.emplace_back();
    evaluation.data_set = set.key.data_set;
    const auto identity = rows.identities.find(evaluation.data_set);
    if (identity != rows.identities.end()) evaluation.identity = identity->second;
    source.sets.push_back({.labels = LastOf(set.files, "evaluation_labels"),
                           .images = LastOf(set.files, "evaluation_images"),
                           .groups = LastOf(set.files, "evaluation_groups")});
  }
  source.sets.resize(source.input.evaluations.size());
  for (const std::vector<InputFile>& files : rows.files) {
    source.members.push_back({.predictions = LastOf(files, "predictions"),
                              .weights = LastOf(files, "weights"),
                              .on_the_way = OnTheWay(files)});
  }
  return source;
}

inputs::FindFile FilesOf(const BlobStore& blobs, VerifiedFiles& verified) {
  return [&blobs, &verified](const InputFile& file) -> absl::StatusOr<std::string> {
    NF_RETURN_IF_ERROR(verified.Verify(blobs, {file.sha256, file.size_bytes}));
    return blobs.PathOf(file.sha256);
  };
}

inputs::FindDigest DigestsOf(const BlobStore& blobs, const DerivedFiles& digests,
                             VerifiedFiles& verified) {
  return [&blobs, &digests, &verified](const InputFile& file) -> absl::StatusOr<inputs::Digest> {
    const BlobName name{file.sha256, file.size_bytes};
    if (blobs.Has(name)) {
      const absl::StatusOr<std::string> kept = digests.Read(file.sha256);
      absl::StatusOr<inputs::Digest> known =
          kept.ok() ? inputs::DecodeDigest(*kept, file.sha256) : kept.status();
      if (known.ok()) return known;
    }
    const absl::Status whole = verified.Verify(blobs, name);
    if (!whole.ok()) return Annotate(whole, inputs::NameOf(file));
    absl::StatusOr<inputs::Digest> made = MakeDigest(name, blobs, digests);
    return made.ok() ? made : Annotate(made.status(), inputs::NameOf(file));
  };
}

absl::StatusOr<inputs::Digest> MakeDigest(const BlobName& logits, const BlobStore& blobs,
                                          const DerivedFiles& digests) {
  NF_ASSIGN_OR_RETURN(const NpyView opened, NpyView::Open(blobs.PathOf(logits.sha256)));
  NF_ASSIGN_OR_RETURN(inputs::Digest made, inputs::DigestOf(opened));
  (void)digests.Keep(logits.sha256, inputs::EncodeDigest(made, logits.sha256));
  return made;
}

}  // namespace noisefloor::query
