#include "worker/devices/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace noisefloor {

namespace {

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Of version 1: a quota in one file, -1 for none, and its period in another.
std::optional<double> QuotaOfVersion1(const std::string& folder) {
  const std::string quota = TextOf(folder + "/cpu.cfs_quota_us");
  return ParseCpuMax(quota + " " + TextOf(folder + "/cpu.cfs_period_us"));
}

// The group of the line "ID:CONTROLLERS:/GROUP" whose controllers have `name`; of version 2 these
// are none.
std::string GroupOf(std::string_view own, std::string_view name) {
  std::istringstream lines{std::string(own)};
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string wanted = "," + std::string(name) + ",";
    if (controllers.find(wanted) != std::string::npos) return line.substr(second + 1);
  }
  return "";
}

// The folders of a group and of all above it. Inside a container the first is what it sees of them,
// wherever it lies outside.
std::vector<std::string> FoldersOf(const std::string& root, std::string group) {
  std::vector<std::string> folders = {root};
  while (group.size() > 1) {
    folders.push_back(root + group);
    group.erase(group.rfind('/'));
  }
  return folders;
}

}  // namespace

std::optional<double> ParseCpuMax(std::string_view text) {
  std::istringstream words{std::string(text)};
  double quota = 0;
  double period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> CpuQuota(const std::string& groups, const std::string& own) {
  const std::string text = TextOf(own);
  std::optional<double> least;
  const auto take = [&](std::optional<double> one) {
    if (one) least = std::min(least.value_or(*one), *one);
  };
  for (const std::string& folder : FoldersOf(groups, GroupOf(text, ""))) {
    take(ParseCpuMax(TextOf(folder + "/cpu.max")));
  }
  for (const char* controller : {"/cpu", "/cpu,cpuacct"}) {
    for (const std::string& folder : FoldersOf(groups + controller, GroupOf(text, "cpu"))) {
      take(QuotaOfVersion1(folder));
    }
  }
  return least;
}

}  // namespace noisefloor
