#include "coordinator/report/checks.h"

#include <cmath>
#include <set>

#include "fmt/format.h"

#include "coordinator/analysis/control.h"
#include "coordinator/analysis/detectable.h"
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

std::string IdenticalText(const ControlCheck& check, int64_t evaluations) {
  std::string text = Counted(check.members, "member");
  if (check.duplicates > 0) text += " and " + Counted(check.duplicates, "late result");
  text += " are bit-identical: init, first batches, ";
  if (evaluations > 0) text += "weights at " + Counted(evaluations, "evaluation") + ", ";
  text += fmt::format("final weights and logits; on {}", Counted(check.units, "unit"));
  return text + BoundText(*check.upper_bound, check.members + check.duplicates) + ".";
}

ControlCheck CheckControl(const Gathered& gathered, const CellFacts& cell) {
  ControlCheck check;
  check.cell = cell.input->index;
  check.label = cell.label;
  std::vector<HashedRun> runs = RunsOf(gathered, cell);
  check.members = static_cast<int64_t>(runs.size());
  check.units = UnitCount(gathered, cell);
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
      check.text = IdenticalText(check, static_cast<int64_t>(runs[0].hashes.weights_at.size()));
      break;
    case BitVerdict::kDifferent:
      check.first_difference = bits.stage + EpochOf(gathered, cell, bits.evaluation);
      check.text = fmt::format("{} differs from {} first in its {}.", bits.run, runs[0].id,
                               check.first_difference);
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
