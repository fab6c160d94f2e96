#include "coordinator/inputs/merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "fmt/format.h"

#include "common/base/ids.h"
#include "coordinator/inputs/cell_order.h"
#include "coordinator/inputs/merge_sweeps.h"

namespace noisefloor::inputs {

namespace {

using report::CellInput;
using report::MemberInput;

struct MemberPlace {
  CellOrder cell;
  uint32_t replicate = 0;
};

struct MergedMember {
  MemberInput input;
  StudySource::MemberFiles files;
  std::string site;
};

struct MergedCell {
  CellInput input;
  std::string site;
  std::map<uint32_t, MergedMember> members;  // By replicate.
};

std::string Words(const CellInput& cell) {
  std::string text = cell.plan;
  for (const report::AxisSetting& axis : cell.axes) {
    text += fmt::format(", {}={}", axis.path, axis.value);
  }
  text += fmt::format(", {}, {}", cell.hardware, cell.stack);
  return cell.block == 0 ? text : fmt::format("{}, block {}", text, cell.block);
}

// Of a script that tells no weights the answers are the result; of one that tells no hash at all
// nothing is known to be the same.
bool SameResult(const MemberInput& a, const MemberInput& b) {
  return a.state == b.state && a.hashes.weights == b.hashes.weights &&
         a.hashes.logits == b.hashes.logits &&
         !(a.hashes.weights.empty() && a.hashes.logits.empty());
}

// One result that two exports tell: of one coordinator, at two times.
bool SameAttempt(const MemberInput& a, const MemberInput& b) {
  return a.unit == b.unit && a.seconds == b.seconds && a.attempts == b.attempts &&
         a.trainer_build == b.trainer_build && a.environment_json == b.environment_json;
}

// What decides which examples a cell is tested on, beside the settings, which all sites share.
std::string TestExamplesOf(const CellInput& cell) {
  const auto axis = std::ranges::find(cell.axes, "data.test_examples", &report::AxisSetting::path);
  return axis == cell.axes.end() ? "" : axis->value;
}

bool HasResult(const MemberInput& member) {
  return member.state == MemberState::kDone || member.state == MemberState::kDiverged;
}

// What one site removed to make room another one may have.
void AddMissing(std::vector<InputFile> more, std::vector<InputFile>& files) {
  std::set<std::string> kinds;
  for (const InputFile& file : files) kinds.insert(file.kind);
  for (InputFile& file : more) {
    if (kinds.insert(file.kind).second) files.push_back(std::move(file));
  }
}

class Merger {
 public:
  Merger(const MergeOptions& options, std::vector<std::string>& conflicts)
      : options_(options), conflicts_(conflicts) {}

  // Classes and stacks stand in the order of the sites; known before any cell is added.
  void NameClasses(const Site& site) {
    for (const CellInput& cell : site.source.input.cells) {
      if (!cell.hardware.empty()) (void)hardware_.PlaceOf(cell.hardware);
      if (!cell.stack.empty()) (void)stacks_.PlaceOf(cell.stack);
    }
  }

  // Cells that were begun, of all sites, before those that were not: these know no stack yet, and
  // are another site's cell where one has begun it.
  void Add(Site& site, bool begun) {
    std::set<std::pair<size_t, size_t>> checked;  // Of the site's sets and the merged.
    std::map<uint32_t, CellOrder> cells;          // The site's index to the place.
    for (const CellInput& cell : site.source.input.cells) {
      if (cell.stack.empty() == begun) continue;
      const size_t set = SetOf(site, cell, checked);
      cells.emplace(cell.index, AddCell(site, cell, set));
    }
    std::map<std::string, MemberPlace> places;  // By the site's id.
    for (size_t m = 0; m < site.source.input.members.size(); ++m) {
      MemberInput& member = site.source.input.members[m];
      const auto cell = cells.find(member.cell);
      if (cell == cells.end()) continue;
      places.emplace(member.id, MemberPlace{cell->second, member.replicate});
      AddMember(site, cells_.at(cell->second), std::move(member),
                std::move(site.source.members[m]));
    }
    TakeWarnings(site, places, begun);
  }

  // Nothing may be added after it.
  StudySource Finish(report::SweepInput sweep) {
    StudySource merged;
    merged.input.evaluations = std::move(evaluations_);
    merged.sets = std::move(files_of_sets_);
    if (merged.sets.empty()) {
      merged.input.evaluations.resize(1);
      merged.sets.resize(1);
    }
    const std::optional<SweepId> id = ParseSweepId(sweep.id);
    uint32_t index = 0;
    for (auto& [order, cell] : cells_) {
      cell.input.index = index;
      for (auto& [replicate, member] : cell.members) {
        member.input.cell = index;
        member.input.id = ToText(MemberId{id.value_or(SweepId{}), index, replicate});
        merged.input.members.push_back(std::move(member.input));
        merged.members.push_back(std::move(member.files));
      }
      merged.input.cells.push_back(cell.input);
      ++index;
    }
    for (auto& [warning, place] : warnings_) {
      if (place) {
        const uint32_t cell = cells_.at(place->cell).input.index;
        warning.subject = ToText(MemberId{id.value_or(SweepId{}), cell, place->replicate});
      }
      merged.warnings.push_back(std::move(warning));
    }
    merged.input.sweep = std::move(sweep);
    return merged;
  }

  MergedSweep& sweep() { return sweep_; }

 private:
  void TakeWarnings(Site& site, const std::map<std::string, MemberPlace>& places, bool of_sweep) {
    for (const report::Warning& warning : site.source.warnings) {
      if (const auto member = places.find(warning.subject); member != places.end()) {
        warnings_.push_back({warning, member->second});
      } else if (of_sweep && !ParseMemberId(warning.subject)) {
        warnings_.push_back(
            {{warning.severity, warning.subject, fmt::format("{}: {}", site.name, warning.text)},
             std::nullopt});
      }
    }
  }

  // The set that the cell is tested on, held against the site's own once.
  size_t SetOf(const Site& site, const CellInput& cell,
               std::set<std::pair<size_t, size_t>>& checked) {
    const std::string& data_set = site.source.input.evaluations[cell.evaluation].data_set;
    const auto [place, is_new] =
        set_places_.emplace(std::pair(data_set, TestExamplesOf(cell)), evaluations_.size());
    if (checked.insert({cell.evaluation, place->second}).second) {
      AddSet(site, site.source.input.evaluations[cell.evaluation],
             site.source.sets[cell.evaluation], place->second);
    }
    return place->second;
  }

  void AddSet(const Site& site, const report::EvaluationSet& set,
              const StudySource::SetFiles& files, size_t place) {
    if (place == evaluations_.size()) {
      evaluations_.push_back(set);
      files_of_sets_.push_back(files);
      return;
    }
    report::EvaluationSet& known = evaluations_[place];
    StudySource::SetFiles& its = files_of_sets_[place];
    const bool other_data =
        !known.identity.empty() && !set.identity.empty() && known.identity != set.identity;
    const auto differ = [](const std::optional<InputFile>& a, const std::optional<InputFile>& b) {
      return a && b && a->sha256 != b->sha256;
    };
    if (other_data || differ(its.labels, files.labels) || differ(its.groups, files.groups)) {
      conflicts_.push_back(
          fmt::format("{}: it was tested on other data of the name {}", site.name, set.data_set));
    }
    if (known.identity.empty()) known.identity = set.identity;
    if (!its.labels) its.labels = files.labels;
    if (!its.images) its.images = files.images;
    if (!its.groups) its.groups = files.groups;
  }

  CellOrder AddCell(const Site& site, CellInput cell, size_t set) {
    cell.evaluation = set;
    CellOrder order = {sweep_.PointOf(cell.axes), sweep_.PlanOf(cell.plan),
                       hardware_.PlaceOf(cell.hardware), stacks_.PlaceOf(cell.stack), cell.block};
    if (cell.stack.empty()) {
      for (const auto& [other, begun] : cells_) {
        const bool same_class = cell.hardware.empty() || begun.input.hardware == cell.hardware;
        const bool same = begun.input.axes == cell.axes && begun.input.plan == cell.plan &&
                          begun.input.block == cell.block;
        if (same && same_class) return other;
      }
    }
    const auto [place, is_new] = cells_.try_emplace(order);
    MergedCell& merged = place->second;
    if (is_new) {
      merged.site = site.name;
      merged.input = std::move(cell);
      return order;
    }
    CheckSoftware(site, cell, merged);
    return order;
  }

  void CheckSoftware(const Site& site, const CellInput& cell, MergedCell& merged) {
    const auto differ = [](const std::string& a, const std::string& b) {
      return !a.empty() && !b.empty() && a != b;
    };
    if (differ(cell.stack_fingerprint, merged.input.stack_fingerprint) ||
        differ(cell.trainer_build, merged.input.trainer_build)) {
      conflicts_.push_back(fmt::format(
          "{}: its {} ran on other software than {}'s (`compare` tells whether it matters)",
          site.name, Words(cell), merged.site));
    }
    if (merged.input.stack_fingerprint.empty()) {
      merged.input.stack_fingerprint = cell.stack_fingerprint;
    }
    if (merged.input.trainer_build.empty()) merged.input.trainer_build = cell.trainer_build;
  }

  void AddMember(const Site& site, MergedCell& cell, MemberInput member,
                 StudySource::MemberFiles files) {
    const auto [place, is_new] = cell.members.try_emplace(member.replicate);
    MergedMember& known = place->second;
    if (is_new || (HasResult(member) && !HasResult(known.input))) {
      known = {std::move(member), std::move(files), site.name};
      return;
    }
    if (!HasResult(member)) return;
    if (SameResult(member, known.input)) {
      if (!known.files.predictions) known.files.predictions = std::move(files.predictions);
      if (!known.files.weights) known.files.weights = std::move(files.weights);
      AddMissing(std::move(files.on_the_way), known.files.on_the_way);
      std::vector<report::Hashes>& checks = known.input.duplicates;
      if (SameAttempt(member, known.input)) {
        // Of two exports the later one has the late results of the earlier one, and perhaps more.
        if (member.duplicates.size() > checks.size()) checks = std::move(member.duplicates);
        return;
      }
      checks.push_back(std::move(member.hashes));
      checks.insert(checks.end(), member.duplicates.begin(), member.duplicates.end());
      return;
    }
    const std::string what = fmt::format("replicate {} of {}", member.replicate, Words(cell.input));
    if (!options_.keep_first) {
      conflicts_.push_back(
          fmt::format("{}: its {} has other bits than {}'s", site.name, what, known.site));
      return;
    }
    warnings_.push_back({{"warning", "sweep",
                          fmt::format("The {} of {} has other bits than {}'s: left out.", what,
                                      site.name, known.site)},
                         std::nullopt});
  }

  const MergeOptions& options_;
  std::vector<std::string>& conflicts_;
  MergedSweep sweep_;
  std::map<CellOrder, MergedCell> cells_;
  Seen hardware_;
  Seen stacks_;
  std::map<std::pair<std::string, std::string>, size_t> set_places_;  // By data set and size.
  std::vector<report::EvaluationSet> evaluations_;
  std::vector<StudySource::SetFiles> files_of_sets_;
  std::vector<std::pair<report::Warning, std::optional<MemberPlace>>> warnings_;
};

}  // namespace

absl::StatusOr<StudySource> Merge(std::vector<Site> sites, const MergeOptions& options) {
  if (sites.empty()) return InvalidInput("expected one exported sweep at least");
  if (sites.size() == 1) return std::move(sites[0].source);
  std::vector<std::string> conflicts;
  Merger merger(options, conflicts);
  for (const Site& site : sites) merger.sweep().Add(site.name, site.source.input.sweep, conflicts);
  if (conflicts.empty()) {
    for (const Site& site : sites) merger.NameClasses(site);
    for (const bool begun : {true, false}) {
      for (Site& site : sites) merger.Add(site, begun);
    }
  }
  if (!conflicts.empty()) {
    constexpr size_t kMost = 20;
    std::string text = "these are not parts of one study:";
    for (size_t i = 0; i < std::min(conflicts.size(), kMost); ++i) text += "\n  " + conflicts[i];
    if (conflicts.size() > kMost) {
      text += fmt::format("\n  and {} more", conflicts.size() - kMost);
    }
    return MakeError(absl::StatusCode::kFailedPrecondition, text);
  }
  return merger.Finish(merger.sweep().Finish());
}

}  // namespace noisefloor::inputs
