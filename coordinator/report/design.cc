#include "coordinator/report/design.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

// Which trainings share a draw of the source: the number of the first with the same.
std::vector<size_t> GroupsOf(const std::vector<Training>& trainings, NoiseSource source) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> first;
  std::vector<size_t> groups;
  for (size_t t = 0; t < trainings.size(); ++t) {
    const auto draw = trainings[t].draws.find(source);
    const uint32_t number = draw == trainings[t].draws.end() ? 0 : draw->second;
    groups.push_back(first.emplace(std::pair(trainings[t].block, number), t).first->second);
  }
  return groups;
}

}  // namespace

void DropCopies(std::vector<Training>& trainings) {
  std::set<std::pair<uint32_t, std::map<NoiseSource, uint32_t>>> seen;
  std::erase_if(trainings, [&](const Training& training) {
    return !seen.emplace(training.block, training.draws).second;
  });
}

Factors FactorsOf(const std::vector<Training>& trainings, bool uncontrolled) {
  std::set<uint32_t> blocks;
  for (const Training& training : trainings) blocks.insert(training.block);
  Factors factors;
  factors.uncontrolled = uncontrolled;
  std::vector<std::vector<size_t>> groups;  // Of each factor.
  for (const NoiseSource source : kAllNoiseSources) {
    if (IsPhysical(source)) continue;
    const std::vector<size_t> of_source = GroupsOf(trainings, source);
    const std::set<size_t> different(of_source.begin(), of_source.end());
    if (different.size() <= blocks.size()) continue;  // One draw in each block: held.
    const auto same = std::ranges::find(groups, of_source);
    if (same != groups.end()) {
      factors.seeded[static_cast<size_t>(same - groups.begin())].push_back(source);
      continue;
    }
    groups.push_back(of_source);
    factors.seeded.push_back({source});
  }
  return factors;
}

std::vector<std::string> NamesOf(const Factors& factors, std::span<const NoiseSource> physical) {
  std::vector<std::string> names;
  for (const std::vector<NoiseSource>& sources : factors.seeded) {
    names.push_back(fmt::format("{}", fmt::join(NamesOf(sources), " + ")));
  }
  if (factors.uncontrolled) names.push_back(fmt::format("{}", fmt::join(NamesOf(physical), " + ")));
  return names;
}

std::vector<uint32_t> LevelsOf(const Training& training, const Factors& factors, uint32_t place) {
  std::vector<uint32_t> levels;
  for (const std::vector<NoiseSource>& sources : factors.seeded) {
    const auto draw = training.draws.find(sources[0]);
    levels.push_back(draw == training.draws.end() ? 0 : draw->second);
  }
  if (factors.uncontrolled) levels.push_back(place);
  return levels;
}

}  // namespace noisefloor::report
