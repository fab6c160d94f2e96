// A sweep, from what a person submits to the cells and members it means. Pure values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/ids.h"
#include "common/base/noise_source.h"
#include "common/base/seed.h"
#include "common/base/sweep_limits.h"
#include "common/trainer_protocol/schema.h"
#include "common/trainer_protocol/specification.h"
#include "common/trainer_protocol/specification_template.h"
#include "common/trainer_protocol/training.h"
#include "coordinator/sweep/subject.h"
#include "coordinator/sweep/until.h"

namespace noisefloor::sweep {

using noisefloor::Setting;

struct AxisColumn {
  std::string path;
  std::vector<SettingValue> values;
  friend bool operator==(const AxisColumn&, const AxisColumn&) = default;
};

// Columns walk in step; axes combine as a product.
struct Axis {
  std::vector<AxisColumn> columns;
  friend bool operator==(const Axis&, const Axis&) = default;
};

struct SourceRule {
  std::string source;
  LaneRule rule;
};

// A plan as submitted: a built-in one by its name, or rules on top of a built-in base.
struct PlanRequest {
  std::string name;
  std::string base;  // Empty: control.
  std::vector<SourceRule> rules;
  uint32_t replicates = 0;  // 0: the sweep's.
  uint32_t blocks = 0;      // 0: the sweep's.
};

// The settings that the coordinator itself reads; a trainer may have none of them.
inline constexpr std::string_view kDataName = "data.name";
inline constexpr std::string_view kDataIdentity = "data.identity";
inline constexpr std::string_view kTestExamples = "data.test_examples";
inline constexpr std::string_view kDevices = "train.devices";

// What decides which evaluation set a cell has: cells with equal ones share its images and labels.
struct EvaluationKey {
  std::string data_set;       // DataSetOf
  std::string test_examples;  // "0": all.
  friend auto operator<=>(const EvaluationKey&, const EvaluationKey&) = default;
};
// `text`: the value of a setting in words, empty when there is none.
// What has one identity: the name of a data set; for a folder of own images with all that makes
// other examples of it, "faces (64 px, binary_cross_entropy; labels smiling,old; groups city)".
std::string DataSetOf(const std::function<std::string(std::string_view path)>& text);
EvaluationKey EvaluationOf(const std::function<std::string(std::string_view path)>& text);

enum class HardwareKind : uint8_t { kAll, kAny, kList };

// As submitted: nothing checked, nothing filled in.
struct SweepRequest {
  std::string name;
  uint64_t seed = 0;
  std::vector<Setting> training;
  std::vector<Axis> axes;
  std::vector<PlanRequest> noise;
  HardwareKind hardware = HardwareKind::kAll;
  std::vector<std::string> classes;  // Of kList.
  std::vector<std::string> stacks;
  uint32_t replicates = 1;  // Of the plans that state none.
  uint32_t blocks = 1;      // Likewise.
  std::optional<double> reference_accuracy;
  std::optional<Until> until;
  std::string notes;
  std::map<std::string, std::string> tags;
};

struct NoisePlan {
  std::string name;
  LaneRules rules;
  uint32_t replicates = 0;  // 0: the sweep's.
  uint32_t blocks = 0;      // 0: the sweep's.
  friend bool operator==(const NoisePlan&, const NoisePlan&) = default;
};

// What the members of a sweep do. Placement does not ask for it.
enum class Kind : uint8_t {
  kTrain = 1,
  kReplay = 2,   // Each trains what its subject trained, draw by draw, once more.
  kInfer = 3,    // Each evaluates weights on the test set of its subject, and trains nothing.
  kMeasure = 4,  // Each times the steps of its training with and without its physical sources.
};
std::string_view Name(Kind kind);  // "train"
std::optional<Kind> ParseKind(std::string_view name);

// How many steps a sweep of kMeasure times; its trainers have the setting, and no axis varies it.
// 0, or none: the sweep trains.
inline constexpr std::string_view kMeasureSteps = "measure.steps";
// kMeasure or kTrain: what a sweep with these settings is of itself.
Kind KindOf(const Settings& base);

// How large a sweep is: its classes, and the members of a cell and the blocks of each plan, in
// the order of its plans.
struct Extent {
  struct Plan {
    uint32_t replicates = 1;
    uint32_t blocks = 1;
    friend auto operator<=>(const Plan&, const Plan&) = default;
  };
  std::vector<std::string> hardware;
  std::vector<Plan> plans;
  friend bool operator==(const Extent&, const Extent&) = default;
};

// Checked and resolved. Once accepted it changes only by being extended: see extend.h.
struct Sweep {
  Kind kind = Kind::kTrain;
  std::optional<Subject> subject;      // Of kReplay, and of no other.
  std::optional<Inference> inference;  // Of kInfer, and of no other.
  std::string name;
  uint64_t seed = 0;
  Settings base;       // All that its trainers have, in the order of their schema.
  std::string schema;  // IdentityOf it: no trainer with another one trains a member.
  std::vector<Axis> axes;
  std::vector<NoisePlan> plans;
  std::vector<std::string> hardware;  // Classes; a single "" = any.
  std::vector<std::string> stacks;    // A single "" = any.
  uint32_t replicates = 1;            // Of the plans that state none.
  uint32_t blocks = 1;                // Likewise.
  // Top-1 that this training is known to reach, in (0, 1]; what falls short is judged by it.
  std::optional<double> reference_accuracy;
  std::optional<Until> until;  // Of kTrain only; nothing: it takes as many as it says.
  std::string notes;
  std::map<std::string, std::string> tags;
  // What it was before it was extended, first to last. Says in which order its cells came, and
  // nothing of what they train.
  std::vector<Extent> before;
  friend bool operator==(const Sweep&, const Sweep&) = default;
};

struct Cell {
  uint32_t index = 0;
  std::vector<Setting> axes;
  std::string plan;
  LaneRules rules;
  std::string hardware;  // "" = any, until pinned.
  std::string stack;     // "" = any, until pinned.
  uint32_t block = 0;
  uint32_t replicates = 1;  // How many members it has.
};

// One mistake; `field` is the path as the sweep file writes it: "noise[2].init".
struct Problem {
  std::string field;
  std::string message;
};

// What is wrong with the notes and tags of a sweep; empty: nothing.
std::vector<Problem> CheckNotes(const std::string& notes,
                                const std::map<std::string, std::string>& tags);

// What a request is checked against besides itself.
struct Known {
  std::vector<std::string> classes;  // What `hardware: all` means now, sorted; none is a problem.
  std::map<std::string, SettingsSchemaRef, std::less<>>
      stacks;  // Their settings, besides our own stacks'.
  // Stacks that are not known any more: who had each last, in words.
  std::map<std::string, std::string, std::less<>> gone;
};

// What `hardware: all` means for the sweep: of GPUs only classes of slots with as many as it trains
// on, as it was not asked for others. Or why there is none.
std::variant<std::vector<std::string>, Problem> ClassesOfAll(const Sweep& sweep,
                                                             const Known& known);

// The settings of a stack: ours of a sweep that names none ("") and of the stacks that we ship.
// Null when nobody has told of them.
SettingsSchemaRef SchemaOf(const Known& known, std::string_view stack);

// The stacks that have exactly these settings, by name.
std::vector<std::string> StacksWith(const Known& known, const SettingsSchema& schema);
// Why SchemaOf knows no settings of `stack`, and what brings them.
std::string NobodyOffers(std::string_view stack, const Known& known);

// Checks and resolves; every problem is reported, not only the first.
std::variant<Sweep, std::vector<Problem>> Resolve(const SweepRequest& request, const Known& known);

// The rules of control, algo, impl or algo+impl; null for another name.
const LaneRules* BuiltInPlan(std::string_view name);
bool IsControl(const LaneRules& rules);  // No source is free: replicates must be bit-identical.
// The free sources of which some of so many replicates share a lane: these are no independent
// draws.
std::vector<NoiseSource> SharedAmong(const LaneRules& rules, uint32_t replicates);

// Axes (last varies fastest) x plans x hardware x stacks x blocks, in this order of loops, hardware
// outermost of the three inner ones. Of an extended sweep the cells that it had before come first,
// so that they keep their numbers.
std::vector<Cell> Expand(const Sweep& sweep);
uint64_t CellCount(const Sweep& sweep);
uint64_t MemberCount(const Sweep& sweep);

// What holds for a plan: its own numbers, or else the sweep's.
uint32_t ReplicatesOf(const Sweep& sweep, const NoisePlan& plan);
uint32_t BlocksOf(const Sweep& sweep, const NoisePlan& plan);

// The column of an axis of `sweep` that varies a setting; null when none does.
const AxisColumn* FindColumn(const Sweep& sweep, std::string_view path);
// The value of a setting in a cell; null when its trainers have none of that path.
const SettingValue* CellSetting(const Sweep& sweep, const Cell& cell, std::string_view path);
// The same in words; empty when there is none.
std::string CellText(const Sweep& sweep, const Cell& cell, std::string_view path);
// How many devices its members train on; 0: its trainers have no such setting.
int64_t DevicesOf(const Sweep& sweep, const Cell& cell);
// Whether the class has as many devices as each member of the sweep trains on: see HasDevices.
bool HasDevicesOf(const Sweep& sweep, const std::string& hardware);
// DataSetOf its settings.
std::string CellDataSet(const Sweep& sweep, const Cell& cell);

// What the cells of a sweep mean, where their settings are those of our own table: noise states, no
// lanes, class and stack. Each has its own; the sweep must outlive it.
class CellReader {
 public:
  explicit CellReader(const Sweep& sweep);
  // Nothing where only the trainer knows: see Understood.
  std::optional<Specification> Of(const Cell& cell) const;

 private:
  std::optional<Specification> base_;
};

// The training of one member, lanes and seeds filled in as its rules say; of a replay those of its
// subject. `hardware`, `stack` and `identity` are what the cell and sweep are pinned to; empty ones
// stay empty.
Training MemberTraining(const Sweep& sweep, const Cell& cell, uint32_t replicate,
                        std::string_view hardware, std::string_view stack,
                        std::string_view identity);

// What the specifications of the cell's members share; `cell` is pinned, as far as it is.
SpecificationTemplate TemplateOf(const Sweep& sweep, const Cell& cell, std::string_view identity);

// A sweep of one cell whose `count` members train again what the replicate `of.replicate` of `cell`
// trained in `original`, which is of kTrain. `hardware` and `stack`: where, "" = any; `identity`:
// of its data, "" = not known.
struct ReplayWish {
  MemberId of;
  uint32_t count = 1;
  std::string hardware;
  std::string stack;
  std::string identity;
};
Sweep ReplayOf(const Sweep& original, const Cell& cell, const ReplayWish& wish);

// What the sweep's specification hash is taken over: equal texts mean equal trainings, judged by
// the same reference. Leaves out notes and tags.
std::string CanonicalText(const Sweep& sweep);

}  // namespace noisefloor::sweep
