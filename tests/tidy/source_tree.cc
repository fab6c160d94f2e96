#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <cstdio>
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

// For a shell, as one word.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// Empty when git knows nothing of `root`.
std::vector<std::string> PathsOfGit(const std::string& root) {
  const std::string command =
      "git -C " + Quoted(root) + " ls-files -z --cached --others --exclude-standard 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string paths;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) paths += static_cast<char>(c);
  if (pclose(pipe) != 0) return {};
  std::set<std::string> sorted;  // During a merge a path comes once for each side.
  std::istringstream text(paths);
  for (std::string path; std::getline(text, path, '\0');) {
    if (fs::is_regular_file(fs::path(root) / path)) sorted.insert(path);  // Else: just removed.
  }
  return {sorted.begin(), sorted.end()};
}

std::vector<std::string> PathsOfTree(const std::string& root) {
  std::vector<std::string> paths;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    if (it->is_directory() && IsSkipped(it->path().filename())) it.disable_recursion_pending();
    if (it->is_regular_file()) paths.push_back(fs::relative(it->path(), root).string());
  }
  std::ranges::sort(paths);
  return paths;
}

SourceFile Read(const fs::path& root, const std::string& path) {
  SourceFile file;
  file.path = path;
  file.size = fs::file_size(root / path);
  if (file.size > (4u << 20)) return file;
  std::ifstream in(root / path, std::ios::binary);
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
  for (const std::string& path : PathsUnder(root)) files.push_back(Read(root, path));
  return files;
}

}  // namespace

std::vector<std::string> PathsUnder(const std::string& root) {
  std::vector<std::string> paths = PathsOfGit(root);
  return paths.empty() ? PathsOfTree(root) : paths;
}

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
