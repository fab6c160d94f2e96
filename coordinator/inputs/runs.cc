#include "coordinator/inputs/runs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/npy.h"
#include "common/files/sha256.h"
#include "common/files/text_lines.h"
#include "coordinator/inputs/cell_order.h"
#include "coordinator/inputs/layout.h"
#include "coordinator/inputs/paths.h"
#include "coordinator/inputs/runs_table.h"

namespace noisefloor::inputs {

namespace {

using report::MemberInput;

constexpr uint64_t kMostNamesBytes = uint64_t{4} << 20;

// The seeds of a run's seeded sources.
using Draws = std::map<NoiseSource, std::string>;

// The sources that act in nearly every training, and that a table has to speak of.
constexpr NoiseSource kTraining[] = {NoiseSource::kInit, NoiseSource::kDataOrder,
                                     NoiseSource::kAugment, NoiseSource::kDropout};

struct Cell {
  report::CellInput input;
  std::vector<const RunRow*> rows;
};

struct Plan {
  report::PlanInput input;
  std::vector<const RunRow*> rows;
};

class Builder {
 public:
  Builder(const std::string& folder, const RunTable& table) : folder_(folder), table_(table) {}

  absl::StatusOr<StudySource> Build() {
    SortIntoCells();
    for (auto& [name, plan] : plans_) NF_RETURN_IF_ERROR(FindRules(plan));
    out_.input.evaluations.resize(1);
    out_.sets.resize(1);
    NF_RETURN_IF_ERROR(PutTestSet());
    uint32_t index = 0;
    for (auto& [order, cell] : cells_) {
      cell.input.index = index++;
      for (const auto& [source, rule] : plans_.at(cell.input.plan).input.sources) {
        cell.input.sources[source] = rule.state;
      }
      for (const RunRow* row : cell.rows) NF_RETURN_IF_ERROR(AddMember(cell.input, *row));
      out_.input.cells.push_back(cell.input);
    }
    PutSweep();
    return std::move(out_);
  }

 private:
  absl::Status Wrong(const RunRow& row, std::string_view what) const {
    return AtLine(table_.path, row.line, what);
  }

  std::string FolderName() const {
    std::error_code error;
    return std::filesystem::weakly_canonical(folder_, error).filename().string();
  }

  void SortIntoCells() {
    Seen plans, hardware, stacks;
    std::vector<Seen> axes(table_.rows[0].axes.size());
    for (const RunRow& row : table_.rows) {
      std::vector<size_t> point;
      for (size_t i = 0; i < axes.size(); ++i) point.push_back(axes[i].PlaceOf(row.axes[i].value));
      Cell& cell = cells_[{point, plans.PlaceOf(row.plan), hardware.PlaceOf(row.hardware),
                           stacks.PlaceOf(row.stack), row.block}];
      if (cell.rows.empty()) {
        cell.input.axes = row.axes;
        cell.input.plan = row.plan;
        cell.input.hardware = row.hardware;
        cell.input.stack = row.stack;
        cell.input.block = row.block;
      }
      cell.rows.push_back(&row);
      if (!plans_.contains(row.plan)) names_of_plans_.push_back(row.plan);
      Plan& plan = plans_[row.plan];
      plan.input.name = row.plan;
      plan.input.blocks = std::max(plan.input.blocks, row.block + 1);
      plan.input.replicates =
          std::max(plan.input.replicates, static_cast<uint32_t>(cell.rows.size()));
      plan.rows.push_back(&row);
    }
  }

  // What each source of noise did in a plan, from what its runs say.
  absl::Status FindRules(Plan& plan) {
    std::set<NoiseSource> told;
    for (const RunRow* row : plan.rows) {
      for (const auto& [source, value] : row->sources) told.insert(source);
    }
    for (const NoiseSource source : told) {
      NF_RETURN_IF_ERROR(CheckOneKind(plan, source));
      NF_ASSIGN_OR_RETURN(plan.input.sources[source].state, StateOf(plan, source));
    }
    // Of a table without seeds nobody knows which runs had the same: none.
    if (std::ranges::none_of(kTraining,
                             [&](NoiseSource source) { return told.contains(source); })) {
      for (const NoiseSource source : kTraining) {
        plan.input.sources[source].state = SourceState::kFree;
      }
    }
    // Where draws vary no bits tell whether two runs of the same ones would be equal. (Where all is
    // held they do, or the plan is not proved.)
    const bool varies = std::ranges::any_of(plan.input.sources, [](const auto& of) {
      return !IsPhysical(of.first) && of.second.state == SourceState::kFree;
    });
    if (varies && std::ranges::none_of(told, IsPhysical)) {
      plan.input.sources[NoiseSource::kKernels].state = SourceState::kFree;
    }
    return absl::OkStatus();
  }

  absl::Status CheckOneKind(const Plan& plan, NoiseSource source) const {
    for (const RunRow* row : plan.rows) {
      const auto value = row->sources.find(source);
      const auto first = plan.rows[0]->sources.find(source);
      if (value == row->sources.end() || first == plan.rows[0]->sources.end()) {
        return Wrong(*row, fmt::format("plan {} says what {} was of some runs, not of all",
                                       plan.input.name, Name(source)));
      }
      const bool same_kind = (value->second == "off") == (first->second == "off") &&
                             (value->second == "free") == (first->second == "free");
      if (same_kind) continue;
      return Wrong(*row, fmt::format("{} is '{}', and '{}' in other runs of plan {}: a plan holds "
                                     "or frees a source in all of its runs",
                                     Name(source), value->second, first->second, plan.input.name));
    }
    return absl::OkStatus();
  }

  // Held: one seed in every cell. Where no cell has two runs: one seed in all of the plan.
  absl::StatusOr<SourceState> StateOf(const Plan& plan, NoiseSource source) const {
    const std::string& first = plan.rows[0]->sources.at(source);
    if (first == "off") return SourceState::kOff;
    if (first == "free") return SourceState::kFree;
    bool repeated = false;
    bool one_in_each = true;
    std::set<std::string> all;
    for (const auto& [order, cell] : cells_) {
      if (cell.input.plan != plan.input.name) continue;
      std::set<std::string> seeds;
      for (const RunRow* row : cell.rows) seeds.insert(row->sources.at(source));
      repeated |= cell.rows.size() > 1;
      one_in_each &= seeds.size() == 1;
      all.insert(seeds.begin(), seeds.end());
    }
    const bool held = repeated ? one_in_each : all.size() == 1;
    if (!held) {
      NF_RETURN_IF_ERROR(CheckFreed(plan, source));
      return SourceState::kFree;
    }
    NF_RETURN_IF_ERROR(CheckHeld(plan, source));
    return SourceState::kFixed;
  }

  // A block has one seed of what it holds, and no other block has it: else what differs between two
  // cells could be the seed, and two blocks would be one.
  absl::Status CheckHeld(const Plan& plan, NoiseSource source) const {
    std::map<uint32_t, std::string> of_block;
    std::map<std::string, uint32_t> block_of;
    for (const RunRow* row : plan.rows) {
      const std::string& seed = row->sources.at(source);
      const std::string& its = of_block.emplace(row->block, seed).first->second;
      if (its != seed) {
        return Wrong(*row, fmt::format("plan {} holds {} at '{}', and at '{}' in other cells of "
                                       "block {}: give each seed a block, or a plan",
                                       plan.input.name, Name(source), seed, its, row->block));
      }
      const uint32_t other = block_of.emplace(seed, row->block).first->second;
      if (IsPhysical(source) || other == row->block) continue;
      return Wrong(*row, fmt::format("plan {} holds {} at '{}' in the blocks {} and {}: blocks are "
                                     "independent draws",
                                     plan.input.name, Name(source), seed, other, row->block));
    }
    return absl::OkStatus();
  }

  // A draw that comes in two blocks would count twice.
  absl::Status CheckFreed(const Plan& plan, NoiseSource source) const {
    std::map<std::string, uint32_t> block_of;
    for (const RunRow* row : plan.rows) {
      const std::string seed = SeedOf(*row, source);
      const uint32_t other = block_of.emplace(seed, row->block).first->second;
      if (IsPhysical(source) || seed == "free" || other == row->block) continue;
      return Wrong(*row, fmt::format("plan {} frees {} and has its seed '{}' in the blocks {} and "
                                     "{}: blocks are independent draws; where draws are crossed, "
                                     "leave out the blocks",
                                     plan.input.name, Name(source), seed, other, row->block));
    }
    return absl::OkStatus();
  }

  // Equal seeds of a source are equal draws, in whichever cell. What has no seed that could be told
  // again is a draw of its own: of a physical source as noisefloor itself numbers them.
  void PutLanes(const report::CellInput& cell, const RunRow& row, MemberInput& member) {
    for (const auto& [source, state] : cell.sources) {
      if (state == SourceState::kOff) continue;
      const std::string seed = SeedOf(row, source);
      const size_t number = seed != "free"       ? seeds_[source].PlaceOf(seed)
                            : IsPhysical(source) ? member.replicate
                                                 : seeds_[source].PlaceOf("run " + row.name);
      member.lanes[source] = {row.block, static_cast<uint32_t>(number) + 1};
    }
  }

  // "free": nobody noted it.
  static std::string SeedOf(const RunRow& row, NoiseSource source) {
    const auto told = row.sources.find(source);
    return told == row.sources.end() ? "free" : told->second;
  }

  // Runs of equal seeds have the same number in every cell, so that they can be paired; copies of
  // the same draws the next ones.
  uint32_t ReplicateOf(const report::CellInput& cell, const RunRow& row) {
    Draws draws;
    for (const auto& [source, state] : cell.sources) {
      if (state == SourceState::kOff || IsPhysical(source)) continue;
      const std::string seed = SeedOf(row, source);
      draws[source] = seed == "free" ? "run " + row.name : seed;
    }
    auto& numbers = numbers_[cell.block];
    const uint32_t copy = copies_[{cell.index, draws}]++;
    return numbers.emplace(std::pair(draws, copy), static_cast<uint32_t>(numbers.size()))
        .first->second;
  }

  absl::Status AddMember(const report::CellInput& cell, const RunRow& row) {
    MemberInput& member = out_.input.members.emplace_back();
    member.id = row.name;
    member.cell = cell.index;
    member.replicate = ReplicateOf(cell, row);
    member.state = MemberState::kDone;
    member.attempts = 1;
    PutLanes(cell, row, member);
    member.final_metrics = row.metrics;
    member.hashes.weights = row.weights_sha256;
    member.unit = row.unit;
    member.seconds = row.seconds;
    std::optional<InputFile>& file = out_.members.emplace_back().predictions;
    if (row.predictions.empty()) return absl::OkStatus();
    if (!predictions_.insert(row.predictions).second) {
      return Wrong(row, fmt::format("'{}' is another run's predictions, too", row.predictions));
    }
    const absl::Status put = PutFile("predictions", row.name, row.predictions, file);
    if (!put.ok()) return Annotate(put, fmt::format("{}:{}", table_.path, row.line));
    NF_ASSIGN_OR_RETURN(const NpyView array, NpyView::Open(file->path));
    if (array.shape().size() == 1) {
      file->kind = kAnswersKind;
    } else {
      member.hashes.logits = file->sha256;
    }
    return absl::OkStatus();
  }

  absl::Status PutFile(const std::string& kind, const std::string& run, const std::string& path,
                       std::optional<InputFile>& file) {
    if (!LiesBelow(path)) return InvalidInput(fmt::format("'{}' leads out of the folder", path));
    file = {kind, run, fmt::format("{}/{}", folder_, path), "", 0};
    NF_RETURN_IF_ERROR(CheckIsFile(file->path));
    NF_ASSIGN_OR_RETURN(file->sha256, Sha256File(file->path));
    return absl::OkStatus();
  }

  absl::Status PutTestSet() {
    report::EvaluationSet& set = out_.input.evaluations[0];
    const bool labelled = PathExists(fmt::format("{}/{}", folder_, kLabelsFile));
    // Never the name of a data set that we know.
    set.data_set = fmt::format("{}/{}", FolderName(), labelled ? kLabelsFile : "");
    if (labelled) {
      NF_RETURN_IF_ERROR(
          PutFile("evaluation_labels", "", std::string(kLabelsFile), out_.sets[0].labels));
      set.identity = out_.sets[0].labels->sha256;
    }
    if (PathExists(fmt::format("{}/{}", folder_, kGroupsFile))) {
      NF_RETURN_IF_ERROR(
          PutFile("evaluation_groups", "", std::string(kGroupsFile), out_.sets[0].groups));
    }
    const std::string names = fmt::format("{}/{}", folder_, kClassesFile);
    if (!PathExists(names)) return absl::OkStatus();
    NF_RETURN_IF_ERROR(CheckIsFile(names));
    NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(names, kMostNamesBytes));
    TextLines lines(names, text);
    while (!lines.at_end()) {
      NF_ASSIGN_OR_RETURN(const std::string_view name, lines.Next());
      set.class_names.emplace_back(name);
    }
    return absl::OkStatus();
  }

  void PutSweep() {
    report::SweepInput& sweep = out_.input.sweep;
    sweep.id = "runs";
    sweep.name = FolderName();
    sweep.file = table_.text;
    sweep.file_submitted = true;
    for (const std::string& plan : names_of_plans_) sweep.plans.push_back(plans_.at(plan).input);
    for (size_t i = 0; i < table_.rows[0].axes.size(); ++i) {
      report::AxisColumn column{table_.rows[0].axes[i].path, {}};
      for (const RunRow& row : table_.rows) {
        const std::string& value = row.axes[i].value;
        if (std::ranges::find(column.values, value) == column.values.end()) {
          column.values.push_back(value);
        }
      }
      sweep.axes.push_back({std::move(column)});
    }
  }

  const std::string& folder_;
  const RunTable& table_;
  StudySource out_;
  std::map<CellOrder, Cell> cells_;
  std::map<std::string, Plan> plans_;
  std::vector<std::string> names_of_plans_;
  std::map<NoiseSource, Seen> seeds_;
  std::map<uint32_t, std::map<std::pair<Draws, uint32_t>, uint32_t>> numbers_;  // By block.
  std::map<std::pair<uint32_t, Draws>, uint32_t> copies_;
  std::set<std::string> predictions_;
};

}  // namespace

absl::StatusOr<StudySource> ReadRuns(const std::string& given) {
  std::string folder = given;
  while (folder.size() > 1 && folder.ends_with("/")) folder.pop_back();
  if (!PathExists(folder)) return InvalidInput(fmt::format("'{}': no such folder", folder));
  if (!PathExists(fmt::format("{}/{}", folder, kRunsFile))) {
    return InvalidInput(fmt::format("{}: it has no {}, the table of its runs", folder, kRunsFile));
  }
  NF_RETURN_IF_ERROR(CheckIsFile(fmt::format("{}/{}", folder, kRunsFile)));
  NF_ASSIGN_OR_RETURN(const RunTable table, ReadRunTable(folder));
  return Builder(folder, table).Build();
}

}  // namespace noisefloor::inputs
