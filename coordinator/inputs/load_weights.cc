#include "coordinator/inputs/load_weights.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/inputs/load_warnings.h"
#include "coordinator/inputs/on_the_way.h"

namespace noisefloor::inputs {

namespace {

// Files of weights on the way that a study looks at, and their bytes: each is opened whenever a
// study is made, and read whole where its distances are not known.
constexpr size_t kMostFiles = 50'000;
constexpr uint64_t kMostBytes = uint64_t{64} << 30;

// Opened when they are first looked at; `study` may move. `left_out`: what it means that they
// cannot be read, told of the first such file of a member; static.
absl::StatusOr<report::WeightsView> WeightsOf(const InputFile& file, const std::string& member,
                                              std::string_view left_out, LoadedStudy& study) {
  NF_ASSIGN_OR_RETURN(report::WeightsView::Facts facts, study.files->FactsOfWeights(file));
  const auto open = [file, member, left_out, files = study.files.get(),
                     late = study.late.get()]() -> report::SharedWeights {
    absl::StatusOr<report::SharedWeights> weights = files->Weights(file);
    if (weights.ok()) return *std::move(weights);
    TellLate(*late, member, Message(weights.status()), left_out);
    return nullptr;
  };
  return report::WeightsView(std::move(facts), open);
}

}  // namespace

void LoadWeights(const std::optional<InputFile>& file, report::MemberInput& member,
                 LoadedStudy& study) {
  if (!file) return;
  constexpr std::string_view kLeftOut = "Its weights are left out.";
  absl::StatusOr<report::WeightsView> weights = WeightsOf(*file, member.id, kLeftOut, study);
  if (!weights.ok()) return Warn(study, member.id, weights.status(), kLeftOut);
  member.weights = *std::move(weights);
}

void LoadWeightsOnTheWay(const StudySource& source, LoadedStudy& study) {
  constexpr std::string_view kLeftOut = "Its weights after such an evaluation are left out.";
  size_t count = 0;
  uint64_t bytes = 0;
  std::vector<std::map<int64_t, const InputFile*>> of_members;
  for (size_t m = 0; m < source.members.size(); ++m) {
    auto& files = of_members.emplace_back();
    if (study.input.members[m].state != MemberState::kDone) continue;  // Nothing is told of others.
    files = FilesOnTheWay(source.members[m], "weights");
    count += files.size();
    for (const auto& [evaluation, file] : files) bytes += file->size_bytes;
  }
  if (count > kMostFiles || bytes > kMostBytes) {
    study.warnings.push_back(
        {"note", "sweep",
         fmt::format("How weights part over training is not told: {} files of {} bytes were kept "
                     "on the way, more than {} or {}.",
                     count, bytes, kMostFiles, kMostBytes)});
    return;
  }
  for (size_t m = 0; m < of_members.size(); ++m) {
    report::MemberInput& member = study.input.members[m];
    absl::Status fault;
    for (const auto& [evaluation, file] : of_members[m]) {
      absl::StatusOr<report::WeightsView> weights = WeightsOf(*file, member.id, kLeftOut, study);
      fault.Update(weights.status());
      if (weights.ok()) member.weights_at.emplace(evaluation, *std::move(weights));
    }
    if (!fault.ok()) Warn(study, member.id, fault, kLeftOut);
  }
}

}  // namespace noisefloor::inputs
