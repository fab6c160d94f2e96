#include "coordinator/report/disturbances.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>

#include "fmt/format.h"

#include "coordinator/report/json_facts.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

// Of the processors' time, beyond which what a hypervisor gives to others is told.
constexpr double kMuchStolen = 0.05;

constexpr std::string_view kSurroundings = "measured.surroundings.";

// Of the members of one class that looked.
struct Seen {
  int64_t looked = 0;
  int64_t throttled = 0;
  int64_t stolen = 0;
  double most_stolen = 0;
  int64_t shared = 0;
  double most_processes = 0;
};

void Add(const MemberInput& member, Seen& seen) {
  std::map<std::string, double> figures;
  for (const auto& [key, text] : FlattenObject(member.environment_json)) {
    double value = 0;
    if (!key.starts_with(kSurroundings)) continue;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec == std::errc()) figures[key.substr(kSurroundings.size())] = value;
  }
  if (figures.empty()) return;
  ++seen.looked;
  seen.throttled += figures["gpu.throttled_looks"] > 0 || figures["processors.throttled"] > 0;
  const double stolen = figures["processors.stolen_share.mean"];
  seen.stolen += stolen > kMuchStolen;
  seen.most_stolen = std::max(seen.most_stolen, stolen);
  seen.shared += figures["gpu.processes.most"] > 1;
  seen.most_processes = std::max(seen.most_processes, figures["gpu.processes.most"]);
}

std::string Of(int64_t some, const Seen& seen) {
  return fmt::format("{} of {}", some, seen.looked);
}

}  // namespace

void WarnOfDisturbances(const Gathered& gathered, Study& study) {
  std::map<std::string, Seen> classes;
  for (const CellFacts& cell : gathered.cells) {
    for (const size_t m : cell.members) {
      const MemberInput& member = *gathered.members[m].input;
      if (HasResult(member.state)) Add(member, classes[cell.input->hardware]);
    }
  }
  for (const auto& [hardware, seen] : classes) {
    const auto warn = [&](const char* severity, std::string text) {
      study.warnings.push_back({severity, HardwareName(hardware), std::move(text)});
    };
    if (seen.throttled > 0) {
      warn("warning", Of(seen.throttled, seen) +
                          " members saw their processor or GPU slowed for heat, power or by its "
                          "hardware: their times are longer for it, their bits the same.");
    }
    if (seen.stolen > 0) {
      warn("warning",
           fmt::format(
               "While {} members trained, a hypervisor gave more than {} of the processors' "
               "time to others, {} at most: their times are longer for it.",
               Of(seen.stolen, seen), Percent(kMuchStolen, 0), Percent(seen.most_stolen, 0)));
    }
    if (seen.shared > 0) {
      warn("note", fmt::format("{} members shared their GPU: at most {:.0f} processes computed on "
                               "it at once.",
                               Of(seen.shared, seen), seen.most_processes));
    }
  }
}

}  // namespace noisefloor::report
