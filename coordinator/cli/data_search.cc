#include "coordinator/cli/data_search.h"

#include "common/files/data_roots.h"

namespace noisefloor::cli {

std::vector<std::string> DataRoots(const Context& context, const std::string& given) {
  std::vector<std::string> roots = SplitDataRoots(given);
  if (roots.empty()) roots = SplitDataRoots(context.default_data_root);
  if (roots.empty()) roots.push_back(context.options.home + "/data");
  AddBundledDataRoots(context.program_folder, roots);
  return roots;
}

}  // namespace noisefloor::cli
