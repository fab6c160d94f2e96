#include "common/files/data_roots.h"

#include <algorithm>
#include <filesystem>

#include "common/files/directory.h"

namespace noisefloor {

std::vector<std::string> SplitDataRoots(std::string_view text) {
  std::vector<std::string> roots;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin) roots.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return roots;
}

std::string JoinDataRoots(const std::vector<std::string>& roots) {
  std::string text;
  for (const std::string& root : roots) text += (text.empty() ? "" : ":") + root;
  return text;
}

void AddBundledDataRoots(const std::string& program_folder, std::vector<std::string>& roots) {
  namespace fs = std::filesystem;
  for (const char* below : {"../../../deploy/data", "../share/noisefloor/data"}) {
    const std::string root = (fs::path(program_folder) / below).lexically_normal().string();
    if (PathExists(root) && std::ranges::find(roots, root) == roots.end()) roots.push_back(root);
  }
}

}  // namespace noisefloor
