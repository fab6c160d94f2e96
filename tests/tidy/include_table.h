// Who may include whom.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::tidy {

struct FolderRule {
  enum class Kind { kEdge, kCore };
  std::string folder;                  // "coordinator/store"; not the folders below it.
  std::vector<std::string> ours;       // Prefixes of our own headers, besides the folder's own.
  std::vector<std::string> libraries;  // Prefixes of third-party headers, threads among them.
  // kEdge: every other header of the standard library or the system. kCore: a short list of them.
  Kind kind = Kind::kEdge;
};

const std::vector<FolderRule>& AllRules();

// The rule of the folder that holds the file, or null.
const FolderRule* RuleOf(std::string_view path);

bool MayInclude(const FolderRule& rule, std::string_view header);

}  // namespace noisefloor::tidy
