#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace noisefloor::tidy {

namespace {

namespace fs = std::filesystem;

bool IsSkipped(const fs::path& name) {
  static const std::set<std::string> skipped = {".git", "build", "node_modules", "noisefloor-data"};
  return skipped.contains(name.string());
}

SourceFile Read(const fs::path& root, const fs::path& path) {
  SourceFile file;
  file.path = fs::relative(path, root).string();
  file.size = fs::file_size(path);
  if (file.size > (4u << 20)) return file;
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  file.text = text.str();
  std::istringstream lines(file.text);
  for (std::string line; std::getline(lines, line);) file.lines.push_back(line);
  return file;
}

std::vector<SourceFile> ReadTree() {
  const char* root = std::getenv("NOISEFLOOR_SOURCE");
  if (root == nullptr) return {};
  std::vector<SourceFile> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    if (it->is_directory() && IsSkipped(it->path().filename())) it.disable_recursion_pending();
    if (it->is_regular_file()) files.push_back(Read(root, it->path()));
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

}  // namespace

const std::vector<SourceFile>& Tree() {
  static const std::vector<SourceFile> tree = ReadTree();
  return tree;
}

std::string ToText(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += "\n" + finding.path;
    if (finding.line > 0) text += ":" + std::to_string(finding.line);
    text += ": " + finding.message;
  }
  return text;
}

}  // namespace noisefloor::tidy
