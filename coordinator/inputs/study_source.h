// What a study is made of, with the files that hold its arrays by name: what a store says of a
// sweep, what `noisefloor export` writes as input.json, and what ReadExport reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "coordinator/report/study.h"

namespace noisefloor::inputs {

// Of files in place of predictions that hold answers: no coordinator has any.
inline constexpr std::string_view kAnswersKind = "answers";

// A file that some member left.
struct InputFile {
  std::string kind;    // "predictions", "weights", "evaluation_labels", "evaluation_images", ...
  std::string member;  // Whose it is; of another sweep, too: a test set is kept once for all.
  std::string path;    // Of a store the trainer's own name of it; of an export where it lies there.
  std::string sha256;
  uint64_t size_bytes = 0;
};

// For messages: "predictions (predictions.npy, SHA-256 ab...)".
inline std::string NameOf(const InputFile& file) {
  return file.kind + " (" + file.path + ", SHA-256 " + file.sha256 + ")";
}

struct StudySource {
  struct SetFiles {
    std::optional<InputFile> labels;
    std::optional<InputFile> images;
    std::optional<InputFile> groups;
  };
  struct MemberFiles {
    std::optional<InputFile> predictions;  // At the end.
    std::optional<InputFile> weights;
    std::vector<InputFile> on_the_way;  // Of evaluations: "predictions-1", "weights-1" and on.
  };

  report::StudyInput input;          // Without what the files hold.
  std::vector<SetFiles> sets;        // Of each evaluation set, in their order.
  std::vector<MemberFiles> members;  // Of each member, in their order.
  std::vector<report::Warning> warnings;
};

// Calls `visit` with each file that the source names; the first error ends it.
template <typename Source, typename Visit>
absl::Status ForEachFile(Source& source, const Visit& visit) {
  const auto visit_one = [&](auto& file) { return file ? visit(*file) : absl::OkStatus(); };
  for (auto& set : source.sets) {
    NF_RETURN_IF_ERROR(visit_one(set.labels));
    NF_RETURN_IF_ERROR(visit_one(set.images));
    NF_RETURN_IF_ERROR(visit_one(set.groups));
  }
  for (auto& member : source.members) {
    NF_RETURN_IF_ERROR(visit_one(member.predictions));
    NF_RETURN_IF_ERROR(visit_one(member.weights));
    for (auto& file : member.on_the_way) NF_RETURN_IF_ERROR(visit(file));
  }
  return absl::OkStatus();
}

// One JSON object, every number in full. 64-bit seeds are decimal strings, numbers that are not
// finite "nan", "inf", "-inf".
std::string SourceToJson(const StudySource& source);

// The same again, bit for bit. InvalidArgument with the place: what is missing, of another kind or
// not known; cells, sets and members that name no other; members and cells that come twice.
absl::StatusOr<StudySource> SourceFromJson(std::string_view text);

}  // namespace noisefloor::inputs
