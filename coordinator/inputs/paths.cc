#include "coordinator/inputs/paths.h"

#include <filesystem>

namespace noisefloor::inputs {

bool LiesBelow(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return !normal.empty() && normal.is_relative() && *normal.begin() != "..";
}

absl::Status CheckIsFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::regular ||
      type == std::filesystem::file_type::not_found) {
    return absl::OkStatus();
  }
  return InvalidInput(path + ": it is no file");
}

}  // namespace noisefloor::inputs
