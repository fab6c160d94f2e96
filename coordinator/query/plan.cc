#include "coordinator/query/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "SQLiteCpp/Statement.h"

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/idle_sources.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/specification_template.h"
#include "common/trainer_protocol/steps.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/query/plan_shares.h"
#include "coordinator/query/plan_until.h"

namespace noisefloor::query {

namespace {

using SpeedKey = std::tuple<std::string, std::string, std::string>;  // model, data set, class

// Of one example in one epoch, whatever the batch: larger batches need fewer steps that last
// longer.
struct Speed {
  double seconds_per_example = 0;  // Mean over members.
  int64_t members = 0;
};

double TrainedExamples(const Specification& specification) {
  return static_cast<double>(PlannedExamples(specification) * specification.train.epochs);
}

// What the members of cells train, read once for each cell.
class CellTrainings {
 public:
  explicit CellTrainings(SQLite::Database& database)
      : row_(database,
             "SELECT text FROM specification WHERE sweep = ? AND cell = ? "
             "ORDER BY version DESC LIMIT 1") {}

  // Nothing when it cannot be read.
  const std::optional<Specification>& Of(int64_t sweep, int64_t cell) {
    const auto [known, is_new] = known_.try_emplace({sweep, cell});
    if (!is_new) return known->second;
    row_.reset();
    row_.bind(1, sweep);
    row_.bind(2, cell);
    if (!row_.executeStep()) return known->second;
    const auto shared = SpecificationTemplate::Parse(row_.getColumn(0).getString(), 0);
    if (!shared.ok()) return known->second;
    const auto any = SpecificationFromJson(shared->ForReplicate(0));
    if (any.ok()) known->second = *any;
    return known->second;
  }

 private:
  SQLite::Statement row_;
  std::map<std::pair<int64_t, int64_t>, std::optional<Specification>> known_;
};

// Of the newest ended members; older ones may have run on another build.
std::map<SpeedKey, Speed> ReadSpeeds(SQLite::Database& database) {
  std::map<SpeedKey, Speed> speeds;
  SQLite::Statement row(database,
                        "SELECT l.sweep, l.cell, a.train_seconds, c.hardware FROM attempt a "
                        "JOIN lease l USING (lease) JOIN cell c USING (sweep, cell) WHERE "
                        "a.accepted = 1 AND a.outcome = 'done' AND "
                        "a.train_seconds_special = 0 AND a.train_seconds > 0 "
                        "ORDER BY l.lease DESC LIMIT 1000");
  CellTrainings trainings(database);
  while (row.executeStep()) {
    const std::optional<Specification>& specification =
        trainings.Of(row.getColumn(0).getInt64(), row.getColumn(1).getInt64());
    if (!specification) continue;
    const double examples = TrainedExamples(*specification);
    if (examples == 0) continue;
    Speed& speed =
        speeds[{specification->model.name, specification->data.name, row.getColumn(3).getString()}];
    const double one = row.getColumn(2).getDouble() / examples;
    speed.seconds_per_example +=
        (one - speed.seconds_per_example) / static_cast<double>(++speed.members);
  }
  return speeds;
}

// For a cell on any class, the mean over the classes that are known.
std::optional<Speed> SpeedOf(const std::map<SpeedKey, Speed>& speeds, const Specification& cell,
                             const std::string& hardware) {
  Speed sum;
  int64_t classes = 0;
  for (const auto& [key, speed] : speeds) {
    const auto& [model, data_set, known_class] = key;
    if (model != cell.model.name || data_set != cell.data.name) continue;
    if (!hardware.empty() && known_class != hardware) continue;
    sum.seconds_per_example += speed.seconds_per_example;
    sum.members += speed.members;
    ++classes;
  }
  if (classes == 0) return std::nullopt;
  sum.seconds_per_example /= static_cast<double>(classes);
  return sum;
}

// An offer without a stack is one of any.
bool IsFor(const Inventory::Offer& offer, const std::string& hardware, const std::string& stack) {
  return (hardware.empty() || offer.hardware_class == hardware) &&
         (stack.empty() || offer.stack.empty() || offer.stack == stack);
}

bool HasSettings(const Inventory::Offer& offer, const std::string& schema) {
  return offer.stack.empty() || Trains(offer.schema, schema);
}

// `devices`: that its members train on; 0: its trainers have no such setting.
PlannedCell CellOf(const sweep::Cell& cell, const std::string& schema, int64_t devices,
                   std::span<const FleetWorker> fleet) {
  PlannedCell out = {cell, {}};
  for (const FleetWorker& worker : fleet) {
    const bool can =
        std::ranges::any_of(worker.inventory->offers, [&](const Inventory::Offer& offer) {
          return IsFor(offer, cell.hardware, cell.stack) && HasSettings(offer, schema) &&
                 (devices == 0 || HasDevices(offer.hardware_class, devices));
        });
    if (can) out.workers.push_back(worker.name);
  }
  return out;
}

// How long the work lasts when it is shared among slots as well as it can be.
struct Load {
  std::map<std::string, double> seconds;  // Of all members, by class.
  int64_t known_members = 0;              // Ended ones that the figures come from.
  int64_t unknown_cells = 0;
  int64_t uncounted_cells = 0;      // How many steps they take is not known either.
  std::set<std::string> speeds_of;  // Classes and models already counted in known_members.
};

double Slots(std::span<const FleetWorker> fleet, const std::string& hardware) {
  double slots = 0;
  for (const FleetWorker& worker : fleet) {
    slots += static_cast<double>(
        std::ranges::count_if(worker.inventory->slots, [&](const Inventory::Slot& slot) {
          return std::ranges::any_of(slot.offers, [&](uint32_t offer) {
            return IsFor(worker.inventory->offers[offer], hardware, "");
          });
        }));
  }
  return std::max(slots, 1.0);
}

double ExpectedSeconds(const Load& load, std::span<const FleetWorker> fleet) {
  double all = 0;
  double longest = 0;
  for (const auto& [hardware, seconds] : load.seconds) {
    all += seconds;
    longest = std::max(longest, seconds / Slots(fleet, hardware));
  }
  return std::max(longest, all / Slots(fleet, ""));
}

void SetTime(const Load& load, std::span<const FleetWorker> fleet, Plan& plan) {
  if (load.unknown_cells > 0 || load.seconds.empty()) {
    plan.expected_from = fmt::format(
        "for {} of {} cells no member of the same model, data set and class has ended here yet",
        load.unknown_cells, plan.cells.size());
    return;
  }
  plan.expected_seconds = ExpectedSeconds(load, fleet);
  plan.expected_from = fmt::format(
      "mean seconds per example of {} ended members of the same models, data sets and "
      "classes{}",
      load.known_members,
      fleet.empty() ? ", as if one slot were connected" : ", on the slots of these workers");
}

void WarnOfPlaces(const sweep::Sweep& sweep, Plan& plan) {
  std::set<std::string> unserved;
  for (const auto& [cell, workers] : plan.cells) {
    if (!workers.empty()) continue;
    const int64_t devices = sweep::DevicesOf(sweep, cell);
    const std::string any =
        devices > 1 ? fmt::format("any class with {} devices", devices) : "any class";
    unserved.insert((cell.hardware.empty() ? any : cell.hardware) +
                    (cell.stack.empty() ? "" : " with " + cell.stack));
  }
  for (const std::string& what : unserved) {
    plan.warnings.push_back("no worker offers " + what + ": its cells will wait");
  }
}

// Where of none the steps are known, their sum says so.
void WarnOfSteps(const Load& load, Plan& plan) {
  if (load.uncounted_cells == 0 || plan.steps == 0) return;
  plan.warnings.push_back(
      fmt::format("of {} of {} cells the steps are not counted: only their trainer, or their "
                  "images, tell how many there are",
                  load.uncounted_cells, plan.cells.size()));
}

void WarnOfReplicates(Plan& plan) {
  for (const PlannedPlan& part : plan.plans) {
    if (part.replicates > 1) continue;
    plan.warnings.push_back("one replicate per cell of " + part.name +
                            ": no spread can be measured");
  }
}

// What members that share draws are good for, and designs that are not complete.
void WarnOfLevels(const sweep::NoisePlan& noise, const PlannedPlan& part, Plan& plan) {
  std::vector<std::string_view> shared;
  for (const NoiseSource source : sweep::SharedAmong(noise.rules, part.replicates)) {
    shared.push_back(Name(source));
  }
  if (!shared.empty()) {
    plan.warnings.push_back(fmt::format(
        "members of {} share draws of {}: its report has means, with intervals over blocks, and "
        "no spread",
        part.name, fmt::join(shared, ", ")));
  }
  for (const NoiseSource source : kAllNoiseSources) {
    const size_t period = RuleOf(noise.rules, source).levels.size();
    if (period == 0 || part.replicates % period == 0) continue;
    plan.warnings.push_back(
        fmt::format("{} replicates of {} do not complete the levels of {}, which repeat every {}",
                    part.replicates, part.name, Name(source), period));
  }
}

// Free sources that act on nothing: by plan and words, in how many of its cells.
using IdleSources = std::map<std::tuple<std::string, NoiseSource, std::string>, int64_t>;

void CountIdle(const sweep::Cell& cell, const Specification& specification, IdleSources& idle) {
  for (const NoiseSource source : kAllNoiseSources) {
    if (RuleOf(cell.rules, source).state != SourceState::kFree) continue;
    const std::optional<std::string> why = IdleReason(specification, source);
    if (why) ++idle[{cell.plan, source, *why}];
  }
}

void WarnOfIdle(const IdleSources& idle, Plan& plan) {
  for (const auto& [what, cells] : idle) {
    const auto& [name, source, why] = what;
    const int64_t all = std::ranges::find(plan.plans, name, &PlannedPlan::name)->cells;
    plan.warnings.push_back(
        fmt::format("{} frees {}, which acts on nothing{}: {}", name, Name(source),
                    cells == all ? "" : fmt::format(" in {} of its {} cells", cells, all), why));
  }
}

// Sources that act on nothing in any cell of a plan that frees them.
std::set<NoiseSource> IdleInAllCells(const IdleSources& idle, const Plan& plan) {
  std::map<std::pair<std::string, NoiseSource>, int64_t> counts;
  for (const auto& [what, cells] : idle) counts[{std::get<0>(what), std::get<1>(what)}] += cells;
  std::set<NoiseSource> sources;
  for (const auto& [of, cells] : counts) {
    const int64_t all = std::ranges::find(plan.plans, of.first, &PlannedPlan::name)->cells;
    if (cells == all) sources.insert(of.second);
  }
  return sources;
}

// The cells of one plan.
struct PlanCells {
  uint32_t count = 0;
  bool hold_a_draw = false;
  bool free_a_draw = false;
};

// Of a control nothing spreads, so that there is nothing to see, and members that share draws do
// not say how far others would spread. A contrast of spreads is over replicates, of all blocks,
// where each is a draw; else over blocks, inside of which they are pooled.
void SetDetectable(const PlanCells& cells, bool shares_draws, PlannedPlan& plan) {
  if (plan.control || shares_draws) return;
  const int64_t blocks = plan.blocks;
  const bool are_draws = cells.free_a_draw && (!cells.hold_a_draw || blocks == 1);
  const std::optional<double> ratio =
      are_draws ? analysis::DetectableSdRatio(blocks * plan.replicates)
                : analysis::DetectableSdRatioOverBlocks(blocks, blocks * (plan.replicates - 1));
  plan.detectable_sd_ratio = ratio.value_or(0);
  plan.detectable_mean_shift = analysis::DetectableMeanDifference(plan.replicates, 1.0).value_or(0);
}

// Whether any seeded source that acts is in that state: where one is fixed, all of a block hangs on
// one draw of it. A source acts unless we know better.
bool HasADraw(const sweep::Cell& cell, const std::optional<Specification>& training,
              SourceState state) {
  return std::ranges::any_of(kAllNoiseSources, [&](NoiseSource source) {
    return !IsPhysical(source) && RuleOf(cell.rules, source).state == state &&
           !(training && IdleReason(*training, source));
  });
}

void Count(const sweep::Cell& cell, const std::optional<Specification>& training,
           PlanCells& cells) {
  ++cells.count;
  cells.hold_a_draw = cells.hold_a_draw || HasADraw(cell, training, SourceState::kFixed);
  cells.free_a_draw = cells.free_a_draw || HasADraw(cell, training, SourceState::kFree);
}

PlannedPlan PlanOf(const sweep::Sweep& sweep, const sweep::NoisePlan& plan,
                   const PlanCells& cells) {
  PlannedPlan out;
  out.name = plan.name;
  out.replicates = sweep::ReplicatesOf(sweep, plan);
  out.blocks = sweep::BlocksOf(sweep, plan);
  out.cells = cells.count;
  out.members = cells.count * out.replicates;
  const bool shares_draws = !sweep::SharedAmong(plan.rules, out.replicates).empty();
  out.draws = out.blocks * (cells.hold_a_draw || shares_draws ? 1 : out.replicates);
  out.control = sweep::IsControl(plan.rules);
  SetDetectable(cells, shares_draws, out);
  return out;
}

void AddLoad(const sweep::Cell& cell, const Specification& specification,
             const std::map<SpeedKey, Speed>& speeds, Load& load) {
  const double examples = TrainedExamples(specification) * cell.replicates;
  const std::optional<Speed> speed = SpeedOf(speeds, specification, cell.hardware);
  if (!speed || examples == 0) {
    ++load.unknown_cells;
    return;
  }
  load.seconds[cell.hardware] += examples * speed->seconds_per_example;
  const std::string counted =
      specification.model.name + "\n" + specification.data.name + "\n" + cell.hardware;
  if (load.speeds_of.insert(counted).second) load.known_members += speed->members;
}

}  // namespace

Plan MakePlan(SQLite::Database& database, const sweep::Sweep& sweep,
              std::span<const FleetWorker> fleet) {
  const std::map<SpeedKey, Speed> speeds = ReadSpeeds(database);
  Plan plan;
  Load load;
  IdleSources idle;
  std::map<std::string, PlanCells> cells_of;
  const sweep::CellReader reader(sweep);
  for (const sweep::Cell& cell : sweep::Expand(sweep)) {
    plan.cells.push_back(CellOf(cell, sweep.schema, sweep::DevicesOf(sweep, cell), fleet));
    const std::optional<Specification> specification = reader.Of(cell);
    Count(cell, specification, cells_of[cell.plan]);
    if (!specification) {  // Only its trainer knows how much there is to do.
      ++load.unknown_cells;
      ++load.uncounted_cells;
      continue;
    }
    CountIdle(cell, *specification, idle);
    const int64_t steps = PlannedSteps(*specification);
    plan.steps += steps * cell.replicates;
    load.uncounted_cells += steps == 0 && specification->train.epochs > 0 ? 1 : 0;
    AddLoad(cell, *specification, speeds, load);
  }
  plan.members = static_cast<uint32_t>(sweep::MemberCount(sweep));
  for (const sweep::NoisePlan& noise : sweep.plans) {
    plan.plans.push_back(PlanOf(sweep, noise, cells_of.at(noise.name)));
    WarnOfLevels(noise, plan.plans.back(), plan);
  }
  SetTime(load, fleet, plan);
  WarnOfPlaces(sweep, plan);
  WarnOfSteps(load, plan);
  // A measurement repeats steps, not members.
  if (sweep.kind != sweep::Kind::kMeasure) WarnOfReplicates(plan);
  WarnOfIdle(idle, plan);
  if (sweep.kind == sweep::Kind::kTrain) {
    for (std::string& shares : PlannedShares(sweep, IdleInAllCells(idle, plan)))
      plan.warnings.push_back(std::move(shares));
    for (std::string& until : PlannedUntil(sweep)) plan.warnings.push_back(std::move(until));
  }
  return plan;
}

}  // namespace noisefloor::query
