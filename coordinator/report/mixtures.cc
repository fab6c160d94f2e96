#include "coordinator/report/mixtures.h"

#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"

#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/report/json_facts.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using Values = std::set<std::string>;

// What the finished members of one cell ran on; what they did not say is not there.
struct Software {
  Values fingerprints;  // Of the trainers alone.
  Values builds;
  Values units;
  std::map<std::string_view, Values> gpu;  // By a key of kGpuSoftware; empty on a CPU.
};

void AddIfSaid(const std::string& value, Values& values) {
  if (!value.empty()) values.insert(value);
}

Software SoftwareOf(const Gathered& gathered, const CellFacts& cell) {
  Software software;
  for (const size_t m : cell.done) {
    const MemberInput& member = *gathered.members[m].input;
    AddIfSaid(member.stack_fingerprint, software.fingerprints);
    AddIfSaid(BuildOf(member, *cell.input), software.builds);
    AddIfSaid(member.unit, software.units);
    if (!IsGpuClass(cell.input->hardware)) continue;
    for (const auto& [key, value] : FlattenObject(member.environment_json)) {
      const auto known = std::ranges::find(kGpuSoftware, key);
      if (known != kGpuSoftware.end()) AddIfSaid(value, software.gpu[*known]);
    }
  }
  return software;
}

void Merge(const Values& from, Values& to) { to.insert(from.begin(), from.end()); }

// Of the cells of all blocks of one side.
Software SoftwareOfAll(const std::vector<const Software*>& cells) {
  Software all;
  for (const Software* cell : cells) {
    Merge(cell->fingerprints, all.fingerprints);
    Merge(cell->builds, all.builds);
    Merge(cell->units, all.units);
    for (const auto& [key, values] : cell->gpu) Merge(values, all.gpu[key]);
  }
  return all;
}

std::string Joined(const Values& values) {
  return Listed(std::vector<std::string>(values.begin(), values.end()));
}

void WarnOfCell(const Cohort& cohort, const Software& software, Study& study) {
  const std::string subject = CellSubject(cohort.cell, cohort.label);
  const auto mixes = [&](const std::string& what) {
    study.warnings.push_back(
        {"error", subject,
         fmt::format("Mixes {}: its spread holds more than the noise plan.", what)});
  };
  if (software.fingerprints.size() > 1) {
    mixes(fmt::format("{} stack fingerprints", software.fingerprints.size()));
  }
  if (software.builds.size() > 1) mixes(fmt::format("{} trainer builds", software.builds.size()));
  for (const auto& [key, values] : software.gpu) {
    if (values.size() > 1) mixes(fmt::format("{} {}", key, Joined(values)));
  }
  if (software.units.size() > 1) {
    study.warnings.push_back(
        {"note", subject,
         fmt::format("Ran on {} units; their difference is part of its spread.",
                     software.units.size())});
  }
}

// A fingerprint that a worker offered covers more than the one that its trainer reports: each is
// compared with its like.
void WarnOfCells(const Gathered& gathered, const std::vector<Software>& software, Study& study) {
  Values all_offered;
  Values all_reported;
  // Stacks that every class has are compared on purpose; else it is the classes that differ in it.
  std::map<std::string, Values> of_class;
  std::map<std::string, Values> of_stack;
  std::map<std::string, Values> builds;  // By stack: other stacks are other builds.
  for (size_t c = 0; c < software.size(); ++c) {
    const CellInput& cell = *gathered.cells[c].input;
    AddIfSaid(cell.stack_fingerprint, all_offered);
    Merge(software[c].fingerprints, all_reported);
    Merge(software[c].builds, builds[cell.stack]);
    // A fingerprint that a worker offered is that of stack and class.
    Merge(software[c].fingerprints, of_stack[cell.stack]);
    if (!cell.stack.empty()) of_class[cell.hardware].insert(cell.stack);
  }
  const bool several_of_one =
      std::ranges::any_of(of_stack, [](const auto& entry) { return entry.second.size() > 1; });
  const bool classes_differ = std::ranges::any_of(
      of_class, [&](const auto& entry) { return entry.second != of_class.begin()->second; });
  const size_t fingerprints = std::max(all_offered.size(), all_reported.size());
  if (fingerprints > 1 && (several_of_one || classes_differ || of_stack.size() == 1)) {
    study.warnings.push_back(
        {"warning", "sweep",
         fmt::format("The cells have {} different stack fingerprints: a difference between "
                     "hardware classes may be one of software.",
                     fingerprints)});
  }
  for (const auto& [stack, values] : builds) {
    if (values.size() < 2) continue;
    study.warnings.push_back(
        {"warning", "sweep",
         fmt::format("Stack {} was trained with {} trainer builds: a difference between cells may "
                     "be one of software.",
                     stack, values.size())});
  }
}

void WarnOfComparison(const Comparison& comparison, const Software& a, const Software& b,
                      Study& study) {
  const auto warn = [&](std::string text) {
    study.warnings.push_back({"warning", comparison.label, std::move(text)});
  };
  if (comparison.mixes_stacks) {
    warn("Compares different stacks as well as hardware.");
  } else if (!a.builds.empty() && !b.builds.empty() && a.builds != b.builds) {
    warn("Compares different trainer builds as well as hardware.");
  }
  for (const auto& [key, values] : a.gpu) {
    const auto other = b.gpu.find(key);
    if (other == b.gpu.end() || other->second == values) continue;
    warn(fmt::format("Compares different {} ({} against {}) as well as hardware.", key,
                     Joined(values), Joined(other->second)));
  }
}

}  // namespace

void WarnOfMixtures(const Gathered& gathered, Study& study) {
  std::vector<Software> software;
  std::map<uint32_t, size_t> place;  // Of each cell.
  for (size_t c = 0; c < gathered.cells.size(); ++c) {
    software.push_back(SoftwareOf(gathered, gathered.cells[c]));
    place[gathered.cells[c].input->index] = c;
    WarnOfCell(study.cohorts[c], software[c], study);
  }
  WarnOfCells(gathered, software, study);
  for (const Comparison& comparison : study.hardware) {
    const auto side = [&](const std::vector<uint32_t>& cells) {
      std::vector<const Software*> of_cells;
      for (const uint32_t cell : cells) of_cells.push_back(&software[place.at(cell)]);
      return SoftwareOfAll(of_cells);
    };
    WarnOfComparison(comparison, side(comparison.cells_a), side(comparison.cells_b), study);
  }
}

}  // namespace noisefloor::report
