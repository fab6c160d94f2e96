#include "coordinator/cli/data_search.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/data_roots.h"
#include "common/files/directory.h"
#include "common/trainer_protocol/datasets.h"
#include "coordinator/cli/data_sets.h"

namespace noisefloor::cli {

namespace {

constexpr std::string_view kNameSetting = "data.name";

std::set<std::string> DataSetsOf(const v1::Sweep& sweep) {
  std::set<std::string> names;
  for (const v1::Setting& setting : sweep.training()) {
    if (setting.path() == kNameSetting) names.insert(setting.value().text());
  }
  for (const v1::Axis& axis : sweep.axes()) {
    for (const v1::AxisColumn& column : axis.columns()) {
      if (column.path() != kNameSetting) continue;
      for (const v1::Value& value : column.values()) names.insert(value.text());
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> DataRoots(const Context& context, const std::string& given) {
  std::vector<std::string> roots = SplitDataRoots(given);
  if (roots.empty()) roots = SplitDataRoots(context.default_data_root);
  if (roots.empty()) roots.push_back(context.options.home + "/data");
  AddBundledDataRoots(context.program_folder, roots);
  return roots;
}

absl::Status CheckGivenRoots(std::string_view option, const std::string& given) {
  for (const std::string& root : SplitDataRoots(given)) {
    std::error_code error;
    if (std::filesystem::is_directory(root, error)) continue;
    return InvalidInput(fmt::format("{}={}: there is no folder {}", option, given, root));
  }
  return absl::OkStatus();
}

absl::Status CheckDataIsHere(const Context& context, const v1::Sweep& sweep,
                             const std::vector<std::string>& roots) {
  for (const std::string& name : DataSetsOf(sweep)) {
    const KnownDataset* known = FindDataset(name);
    if (known == nullptr) continue;
    const bool here = std::ranges::any_of(roots, [&](const std::string& root) {
      return PathExists(fmt::format("{}/{}", root, known->folder));
    });
    if (here) continue;
    return MakeError(
        absl::StatusCode::kNotFound,
        fmt::format("data set {}: no folder {} in {}; {}--data-root says where it is", name,
                    known->folder, fmt::join(roots, ", "),
                    FindDownloadable(name) == nullptr
                        ? ""
                        : context.Hint(fmt::format("data get {}", name)) + " downloads it, "));
  }
  return absl::OkStatus();
}

bool HasOwnImages(const v1::Sweep& sweep) {
  return std::ranges::any_of(DataSetsOf(sweep),
                             [](const std::string& name) { return FindDataset(name) == nullptr; });
}

}  // namespace noisefloor::cli
