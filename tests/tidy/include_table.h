// Who may include whom.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::tidy {

struct FolderRule {
  std::string folder;                  // "coordinator/store"
  std::vector<std::string> ours;       // Prefixes of our own headers, besides the folder's own.
  std::vector<std::string> libraries;  // Prefixes of third-party headers.
};

// The rule of the deepest folder that holds `path`, or null.
const FolderRule* RuleOf(std::string_view path);

// Standard and system headers are always allowed where `rule.libraries` does not say "no-threads".
bool MayInclude(const FolderRule& rule, std::string_view header);

}  // namespace noisefloor::tidy
