#include "coordinator/query/load_cost.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/files/atomic_file.h"
#include "coordinator/query/study_source_of.h"

namespace noisefloor::query {

namespace {

constexpr size_t kMostBytes = 16 << 20;  // Some hundred kernels are some 50 KB.

absl::StatusOr<std::string> ReadText(const inputs::InputFile& file, const inputs::FindFile& find) {
  NF_ASSIGN_OR_RETURN(const std::string path, find(file));
  return ReadFile(path, kMostBytes);
}

}  // namespace

report::CostStudy LoadCost(const StudyRows& rows, const inputs::FindFile& find) {
  std::vector<std::string> kernels;
  std::vector<std::string> warnings;
  for (size_t m = 0; m < rows.files.size(); ++m) {
    std::string& text = kernels.emplace_back();
    const auto& files = rows.files[m];
    const auto file = std::ranges::find(files, "kernels", &inputs::InputFile::kind);
    if (file == files.end()) continue;
    absl::StatusOr<std::string> read = ReadText(*file, find);
    if (read.ok()) {
      text = *std::move(read);
    } else {
      warnings.push_back(rows.input.members[m].id + ": " + Message(read.status()) +
                         ". Its kernels are left out.");
    }
  }
  report::CostStudy study = report::BuildCost(rows.input, kernels);
  study.warnings.insert(study.warnings.begin(), warnings.begin(), warnings.end());
  return study;
}

}  // namespace noisefloor::query
