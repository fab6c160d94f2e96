#include "coordinator/report/checks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/analysis/control.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using analysis::BitCheck;
using analysis::BitVerdict;
using analysis::HashedRun;

// Members that ran to their end, diverged ones among them: their bits are promised as well.
std::vector<HashedRun> RunsOf(const Gathered& gathered, const CellFacts& cell) {
  std::vector<HashedRun> runs;
  for (const size_t m : cell.members) {
    const MemberInput& member = *gathered.members[m].input;
    if (HasResult(member.state)) {
      runs.push_back({member.id, member.hashes});
    }
  }
  return runs;
}

int64_t UnitCount(const Gathered& gathered, const CellFacts& cell) {
  std::set<std::string> units;
  for (const size_t m : cell.members) {
    if (!gathered.members[m].input->unit.empty()) units.insert(gathered.members[m].input->unit);
  }
  return static_cast<int64_t>(units.size());
}

std::vector<UnitResults> ByUnit(const Gathered& gathered, const CellFacts& cell) {
  std::map<std::string, std::vector<HashedRun>> runs;
  for (const size_t m : cell.members) {
    const MemberInput& member = *gathered.members[m].input;
    if (HasResult(member.state) && !member.unit.empty()) {
      runs[member.unit].push_back({member.id, member.hashes});
    }
  }
  const auto has_weights = [](const HashedRun& run) { return !run.hashes.weights.empty(); };
  const bool logits_known = std::ranges::all_of(runs, [](const auto& of) {
    return std::ranges::none_of(of.second,
                                [](const HashedRun& run) { return run.hashes.logits.empty(); });
  });
  std::vector<UnitResults> units;
  for (const auto& [unit, of_unit] : runs) {
    UnitResults& results = units.emplace_back();
    results.unit = unit;
    for (const HashedRun& run : of_unit) results.members.push_back(run.id);
    results.different_results = analysis::DistinctResults(of_unit);
    if (results.different_results != 1 || !std::ranges::all_of(of_unit, has_weights)) continue;
    const analysis::Hashes& first = of_unit.front().hashes;
    results.result = first.weights + (logits_known ? first.logits : "");
  }
  return units;
}

// "GPU-a: 1 result of 3 members (s1c0r0, s1c0r1 and 1 more)"
std::string UnitText(const UnitResults& of) {
  constexpr size_t kMostNamed = 4;
  std::vector<std::string> names(of.members.begin(),
                                 of.members.begin() + std::min(kMostNamed, of.members.size()));
  if (of.members.size() > kMostNamed) {
    names.push_back(fmt::format("{} more", of.members.size() - kMostNamed));
  }
  return fmt::format("{}: {} of {} ({})", of.unit, Counted(of.different_results, "result"),
                     Counted(static_cast<int64_t>(of.members.size()), "member"), Listed(names));
}

// Units that each repeat themselves: is it they that differ, or would results that fall on members
// regardless of their unit look so?
std::string ByChance(const std::vector<UnitResults>& units) {
  std::map<std::string, size_t> numbers;
  std::vector<analysis::UnitRuns> runs;
  for (const UnitResults& unit : units) {
    const size_t number = numbers.emplace(unit.result, numbers.size()).first->second;
    runs.push_back({static_cast<int64_t>(unit.members.size()), number});
  }
  const double chance = analysis::ChanceOfUnitsAlike(runs);
  const bool told = chance <= analysis::kLevel;
  return fmt::format(
      " Each repeats itself{} (p at most {}).",
      told ? ": it is the units that differ"
           : " so far, which results that have nothing to do with the unit may do, too",
      PValue(chance));
}

// Whether it is a device: a unit that does not repeat itself, or units that differ though each
// does. Empty: there is one unit, or no unit has two members to tell by.
std::string WhichUnit(const std::vector<UnitResults>& units) {
  if (units.size() < 2) return "";
  std::vector<std::string> parts;
  std::vector<std::string> restless;
  bool known = true;
  for (const UnitResults& one : units) {
    parts.push_back(UnitText(one));
    if (one.different_results > 1) restless.push_back(one.unit);
    known = known && one.members.size() > 1 && !one.result.empty();
  }
  std::string text = fmt::format(" By unit: {}.", fmt::join(parts, "; "));
  if (!restless.empty()) {
    return text + fmt::format(" {} {} not repeat {}.", Listed(restless),
                              restless.size() == 1 ? "does" : "do",
                              restless.size() == 1 ? "itself" : "themselves");
  }
  return known ? text + ByChance(units) : text;
}

// " (epoch 2)" of evaluation number k, from any curve of the test set.
std::string EpochOf(const Gathered& gathered, const CellFacts& cell, int64_t evaluation) {
  if (evaluation < 1) return "";
  for (const size_t m : cell.members) {
    const auto& curves = gathered.members[m].input->curves;
    const auto it = curves.find("test_top1");
    if (it == curves.end() || static_cast<int64_t>(it->second.size()) < evaluation) continue;
    return fmt::format(" (epoch {:g})", it->second[static_cast<size_t>(evaluation - 1)].epoch);
  }
  return "";
}

// ": at most 53 % of runs differ from this result, at 95 % (1 - 0.05^(1/4))"
std::string BoundText(double bound, int64_t runs) {
  return fmt::format(": at most {} of runs differ from this result, at 95 % (1 - 0.05^(1/{}))",
                     Percent(bound, 1), runs - 1);
}

// Of what there are hashes of: runs of other programs need not have all.
std::string IdenticalText(const ControlCheck& check, const Hashes& hashes) {
  std::string text = Counted(check.members, "member");
  if (check.duplicates > 0) text += " and " + Counted(check.duplicates, "late result");
  std::vector<std::string> stages;
  if (!hashes.init.empty()) stages.emplace_back("init");
  if (!hashes.first_batches.empty()) stages.emplace_back("first batches");
  if (!hashes.weights_at.empty()) {
    stages.push_back("weights at " +
                     Counted(static_cast<int64_t>(hashes.weights_at.size()), "evaluation"));
  }
  stages.emplace_back(hashes.logits.empty()    ? "final weights"
                      : hashes.weights.empty() ? "logits"
                                               : "final weights and logits");
  text += fmt::format(" are bit-identical: {}", fmt::join(stages, ", "));
  if (check.units > 0) text += "; on " + Counted(check.units, "unit");  // A table may not say.
  return text + BoundText(*check.upper_bound, check.members + check.duplicates) + ".";
}

ControlCheck CheckControl(const Gathered& gathered, const CellFacts& cell) {
  ControlCheck check;
  check.cell = cell.input->index;
  check.label = cell.label;
  std::vector<HashedRun> runs = RunsOf(gathered, cell);
  check.members = static_cast<int64_t>(runs.size());
  check.units = UnitCount(gathered, cell);
  check.by_unit = ByUnit(gathered, cell);
  for (const size_t m : cell.members) {
    const MemberInput& member = *gathered.members[m].input;
    for (const Hashes& duplicate : member.duplicates) {
      runs.push_back({member.id + " (late result)", duplicate});
      ++check.duplicates;
    }
  }
  const BitCheck bits = analysis::CheckBits(runs);
  check.verdict = analysis::Name(bits.verdict);
  switch (bits.verdict) {
    case BitVerdict::kIdentical:
      check.upper_bound = analysis::NoneSeenBound(static_cast<int64_t>(runs.size()));
      check.text = IdenticalText(check, runs[0].hashes);
      break;
    case BitVerdict::kDifferent:
      check.first_difference = bits.stage + EpochOf(gathered, cell, bits.evaluation);
      check.text = fmt::format("{} differs from {} first in its {}.", bits.run, runs[0].id,
                               check.first_difference) +
                   WhichUnit(check.by_unit);
      break;
    case BitVerdict::kUnproved: check.text = "Not proved: " + bits.missing + "."; break;
  }
  return check;
}

PhysicalCheck CheckPhysical(const Gathered& gathered, const CellFacts& cell) {
  PhysicalCheck check;
  check.cell = cell.input->index;
  check.label = cell.label;
  for (const NoiseSource source : cell.free_physical) check.sources.emplace_back(Name(source));
  std::vector<HashedRun> runs = RunsOf(gathered, cell);
  std::erase_if(runs, [](const HashedRun& run) { return run.hashes.weights.empty(); });
  check.runs = static_cast<int64_t>(runs.size());
  check.different_results = analysis::DistinctResults(runs);
  check.noise_seen = check.different_results > 1;
  const std::string sources = Listed(check.sources);
  if (check.noise_seen) {
    check.text = fmt::format("{} left free: {} different results in {} runs.", sources,
                             check.different_results, check.runs);
  } else if (check.runs < 2) {
    check.text = fmt::format(
        "{} left free: not known, needs two runs with hashes of their "
        "weights, there are {}.",
        sources, check.runs);
  } else {
    check.upper_bound = analysis::NoneSeenBound(check.runs);
    check.text = fmt::format("{} left free: no noise seen in {} runs{}.", sources, check.runs,
                             BoundText(*check.upper_bound, check.runs));
  }
  return check;
}

}  // namespace

std::vector<ControlCheck> BuildControls(const Gathered& gathered) {
  std::vector<ControlCheck> checks;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.all_fixed) checks.push_back(CheckControl(gathered, cell));
  }
  return checks;
}

std::vector<PhysicalCheck> BuildPhysical(const Gathered& gathered) {
  std::vector<PhysicalCheck> checks;
  for (const CellFacts& cell : gathered.cells) {
    if (cell.free_physical.empty() || cell.seeded_free) continue;
    checks.push_back(CheckPhysical(gathered, cell));
  }
  return checks;
}

}  // namespace noisefloor::report
