#include "worker/trainer/data/groups_csv.h"

namespace noisefloor::trainer {

namespace {

std::string Cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string GroupsAsCsv(const std::vector<GroupColumn>& groups, const Split& split) {
  std::string csv = "example";
  for (const GroupColumn& group : groups) csv += "," + Cell(group.name);
  csv += "\n";
  for (uint32_t example = 0; example < split.size(); ++example) {
    csv += std::to_string(example);
    for (size_t g = 0; g < groups.size(); ++g) {
      csv += "," + Cell(groups[g].values[split.groups[example * groups.size() + g]]);
    }
    csv += "\n";
  }
  return csv;
}

}  // namespace noisefloor::trainer
