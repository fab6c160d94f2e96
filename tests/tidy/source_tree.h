// The files of the checkout, for the house rules: what git tracks or would track, so nothing that a
// build, a download or a study left.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::tidy {

struct SourceFile {
  std::string path;  // From the root, "common/base/ids.h".
  std::string text;
  std::vector<std::string> lines;
  uint64_t size = 0;

  bool Ends(std::string_view suffix) const { return path.ends_with(suffix); }
  bool Under(std::string_view folder) const { return path.starts_with(folder); }
  bool IsCode() const { return Ends(".cc") || Ends(".h") || Ends(".cu"); }
};

// Every file of $NOISEFLOOR_SOURCE, sorted by path.
const std::vector<SourceFile>& Tree();

// Paths of the files under `root` that git tracks or would add, sorted. Without git, or outside a
// repository, all files but those in build folders and downloads.
std::vector<std::string> PathsUnder(const std::string& root);

// A place in a file and what to do about it.
struct Finding {
  std::string path;
  size_t line = 0;  // From 1; 0: the whole file.
  std::string message;
};

// "path:line: message", one a line; empty when there is none.
std::string ToText(const std::vector<Finding>& findings);

}  // namespace noisefloor::tidy
