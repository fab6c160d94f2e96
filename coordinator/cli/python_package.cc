#include "coordinator/cli/python_package.h"

#include <cstdlib>
#include <filesystem>

#include "common/files/directory.h"

namespace noisefloor::cli {

std::string PythonPathWithPackage(const std::string& program_folder) {
  namespace fs = std::filesystem;
  for (const char* below : {"../../../worker/python", "../share/noisefloor/python"}) {
    std::string folder = (fs::path(program_folder) / below).lexically_normal().string();
    if (!PathExists(folder + "/noisefloor/member")) continue;
    const char* before = std::getenv("PYTHONPATH");
    if (before != nullptr && *before != '\0') folder += std::string(":") + before;
    return folder;
  }
  return "";
}

}  // namespace noisefloor::cli
