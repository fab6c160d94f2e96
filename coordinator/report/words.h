// Numbers and names as a reader of a report sees them. Pure.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/noise_source.h"
#include "coordinator/analysis/estimate.h"

namespace noisefloor::report {

struct CellFacts;
struct CellInput;
struct MemberCounts;

// "2 of 18 members cancelled: where that was decided after a look at results, `what` too much; ..."
std::string CancelledText(const MemberCounts& counts, std::string_view what);

// "8.0 %"; digits after the point; "<0.1 %" where they would show nothing of it.
std::string Percent(double fraction, int digits);

// A number with its unit: fractions as percent, the rest with sensible digits, "1.2e-08" where a
// person would count zeros; "-" when absent. Only what is 0, or rounding beside what it is made of,
// is written as zero.
std::string Value(const analysis::Estimate& estimate);
// "8.0 % [7.1, 8.9]"; without an interval only the value.
std::string WithInterval(const analysis::Estimate& estimate);

// "learning_rate" of "train.optimizer.learning_rate".
std::string LastPart(const std::string& path);

// "a, b and c"
std::string Listed(std::span<const std::string> things);
// "1 member", "3 members"
std::string Counted(int64_t count, std::string_view thing);

// What a member answers: a decision on each of so many attributes of an example, or the example.
std::string_view AnswerWord(int64_t attributes);

// The name of a hardware class; a cell that names none runs on any.
std::string HardwareName(const std::string& hardware);

// The name of a stack; a cell has none until a worker has taken it.
std::string StackName(const std::string& stack);

// Have the cells several stacks, so that names must say which?
bool HaveSeveralStacks(const std::vector<CellFacts>& cells);

// "algo, learning_rate=0.05": plan and point of the axes. SetLabels comes first.
std::string SettingOf(const CellFacts& cell);

// "cell 3 (algo, cpu-a)": whom a warning is about.
std::string CellSubject(uint32_t cell, const std::string& label);

std::vector<std::string> NamesOf(std::span<const NoiseSource> sources);
// Why members are no independent draws: "members share draws of init and data_order by design".
std::string SharingText(std::span<const std::string> shared);

// What points of the axes are called among some cells: "learning_rate=0.05, width=2", the last part
// of each axis's path, or the whole path where two axes end alike.
class AxisNames {
 public:
  void Add(const CellInput& cell);
  std::string LabelOf(const CellInput& cell) const;  // Of one that was added.

 private:
  std::map<std::string, std::set<std::string>> of_last_;  // Paths that end so.
};

// Gives each cell its axes_label (AxisNames) and a label that tells it from the others.
void SetLabels(std::vector<CellFacts>& cells);

}  // namespace noisefloor::report
