#include "coordinator/inputs/load_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace noisefloor::inputs {

void Warn(LoadedStudy& study, std::string subject, absl::Status status,
          std::string_view consequence) {
  study.warnings.push_back(
      {"error", std::move(subject), fmt::format("{}. {}", Message(status), consequence)});
  study.faults.push_back(std::move(status));
}

void TellLate(std::vector<report::Warning>& late, const std::string& member, std::string_view fault,
              std::string_view consequence) {
  const bool told = std::ranges::any_of(late, [&](const report::Warning& one) {
    return one.subject == member && std::string_view(one.text).ends_with(consequence);
  });
  if (!told) late.push_back({"error", member, fmt::format("{}. {}", fault, consequence)});
}

}  // namespace noisefloor::inputs
