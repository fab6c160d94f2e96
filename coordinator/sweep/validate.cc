// From a request to a sweep, or everything that is wrong with it.
#include <algorithm>

#include "common/base/names.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/sweep/extend.h"
#include "coordinator/sweep/problems.h"

namespace noisefloor::sweep {

namespace {

constexpr size_t kMostClasses = 100;

Settings ResolveTraining(const std::vector<Setting>& training, const SettingsSchema& schema,
                         Problems& problems) {
  Settings base = schema.Defaults();
  std::set<std::string> seen;
  for (const Setting& setting : training) {
    if (!seen.insert(setting.first).second) {
      problems.Add(setting.first, "is given twice");
      continue;
    }
    auto taken = TryTake(schema, setting, setting.first, problems);
    if (taken) PutSetting(base, setting.first, *std::move(taken));
  }
  return base;
}

void CheckNames(const std::string& field, const std::vector<std::string>& names,
                Problems& problems) {
  if (names.size() > kMostClasses) {
    problems.Add(field, "expected at most " + std::to_string(kMostClasses) + " names, got " +
                            std::to_string(names.size()));
    return;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    problems.CheckName(field + "[" + std::to_string(i) + "]", names[i]);
  }
  problems.CheckDistinct(field, names);
}

// Whose settings the sweep's are. Ours where they cannot be told, so that all else is checked, too.
SettingsSchemaRef ResolveSchema(const std::vector<std::string>& stacks, const Known& known,
                                Problems& problems) {
  SettingsSchemaRef found;
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (!IsName(stacks[i])) continue;  // Told already.
    const SettingsSchemaRef schema = SchemaOf(known, stacks[i]);
    const std::string field = "stacks[" + std::to_string(i) + "]";
    if (schema == nullptr) {
      problems.Add(field, NobodyOffers(stacks[i], known));
    } else if (found != nullptr && schema->identity() != found->identity()) {
      problems.Add(field, stacks[i] + " has other settings than " + stacks[0] +
                              ": one sweep cannot be for both; submit one for each");
    } else {
      found = schema;
    }
  }
  return found == nullptr ? OwnSchema() : found;
}

std::vector<std::string> ResolveAll(const Sweep& sweep, const Known& known, Problems& problems) {
  auto classes = ClassesOfAll(sweep, known);
  if (const auto* problem = std::get_if<Problem>(&classes)) {
    problems.Add(problem->field, problem->message);
    return {};
  }
  return std::get<std::vector<std::string>>(std::move(classes));
}

std::vector<std::string> ResolveHardware(const SweepRequest& request, const Sweep& sweep,
                                         const Known& known, Problems& problems) {
  switch (request.hardware) {
    case HardwareKind::kAny: return {""};
    case HardwareKind::kAll: return ResolveAll(sweep, known, problems);
    case HardwareKind::kList:
      if (request.classes.empty()) {
        problems.Add("hardware", "expected all, any or at least one hardware class, got none");
      }
      CheckNames("hardware", request.classes, problems);
      return request.classes;
  }
  return {};
}

void CheckNotesAndTags(const std::string& notes, const std::map<std::string, std::string>& tags,
                       Problems& problems) {
  if (notes.size() > kMaxNotesBytes) {
    problems.Add("notes", "expected at most " + std::to_string(kMaxNotesBytes) +
                              " characters, got " + std::to_string(notes.size()));
  }
  if (tags.size() > kMaxTags) {
    problems.Add("tags", "expected at most " + std::to_string(kMaxTags) + " tags, got " +
                             std::to_string(tags.size()));
    return;
  }
  for (const auto& [key, value] : tags) {
    problems.CheckLabel("tags." + key, key, 100);
    if (value.size() > kMaxTagBytes) {
      problems.Add("tags." + key, "expected at most " + std::to_string(kMaxTagBytes) +
                                      " characters, got " + std::to_string(value.size()));
    }
  }
}

void CheckReference(const std::optional<double>& accuracy, Problems& problems) {
  if (!accuracy || (*accuracy > 0 && *accuracy <= 1)) return;
  problems.Add("reference_accuracy",
               "expected a number above 0 and at most 1, got " + ToText(SettingValue(*accuracy)));
}

}  // namespace

// Multiplies without overflow: stops at the first factor that passes the limit.
void CheckSize(const Sweep& sweep, Problems& problems) {
  uint64_t blocks = 0;
  for (const NoisePlan& plan : sweep.plans) blocks += BlocksOf(sweep, plan);
  uint64_t cells = 1;
  std::vector<uint64_t> factors = {blocks, sweep.hardware.size(), sweep.stacks.size()};
  for (const Axis& axis : sweep.axes) factors.push_back(axis.columns.front().values.size());
  for (const uint64_t factor : factors) {
    cells *= factor;
    if (cells > kMaxCells) {
      problems.Add("axes", "expected at most " + std::to_string(kMaxCells) + " cells, got " +
                               (cells > uint64_t{1000} * kMaxMembers
                                    ? "far more"
                                    : "more: at least " + std::to_string(cells)));
      return;
    }
  }
  const uint64_t members = MemberCount(sweep);
  if (members > kMaxMembers) {
    problems.Add("replicates", "expected at most " + std::to_string(kMaxMembers) +
                                   " members, got " + std::to_string(members) + " in " +
                                   std::to_string(cells) + " cells");
  }
}

namespace {

// Stated or not, a pilot says how far its plan spreads; the most it may come to fits, too.
void CheckUntil(const Sweep& sweep, Problems& problems) {
  if (!sweep.until) return;
  const Until& until = *sweep.until;
  if (sweep.kind != Kind::kTrain) {
    return problems.Add("until", "expected none where steps are measured: nothing is trained");
  }
  if (!(until.half_width >= kLeastHalfWidth && until.half_width < kMostHalfWidth)) {
    problems.Add("until.half_width",
                 "expected 0.0001 or more and less than 0.1 (0.005 for 0.5%), got " +
                     ToText(SettingValue(until.half_width)));
  }
  const SettingValue* predictions = FindSetting(sweep.base, "evaluate.predictions");
  if (until.figure == UntilFigure::kChurn && predictions != nullptr &&
      *predictions == SettingValue(std::string("none"))) {
    problems.Add("until.figure", "churn is of predictions, and evaluate.predictions is none");
  }
  problems.CheckCount("until.most", until.most, kMaxMembers);
  Sweep largest = sweep;
  bool decides = false;
  for (NoisePlan& plan : largest.plans) {
    if (!IsForUntil(sweep, plan)) continue;
    decides = true;
    const uint32_t pilot = ReplicatesOf(sweep, plan);
    if (pilot < kLeastPilot) {
      problems.Add("replicates",
                   "expected " + std::to_string(kLeastPilot) +
                       " or more, whose spread tells `until` how many it takes; plan " + plan.name +
                       " has " + std::to_string(pilot));
    } else if (until.most < pilot) {
      problems.Add("until.most", "expected " + std::to_string(pilot) +
                                     " or more, as many replicates as plan " + plan.name +
                                     " begins with, got " + std::to_string(until.most));
    }
    plan.replicates = until.most;
  }
  if (!decides) {
    problems.Add("until",
                 "no plan has replicates to decide of: expected one that frees a seeded "
                 "source (init, data_order, ...), without levels and in one block");
  }
  if (!problems.empty()) return;
  Problems of_largest;
  CheckSize(largest, of_largest);
  if (!of_largest.empty()) problems.Add("until.most", of_largest.Take().front().message);
}

// A sweep is of one kind.
void CheckKind(const Sweep& sweep, Problems& problems) {
  const std::string steps(kMeasureSteps);
  if (FindColumn(sweep, steps) == nullptr) return;
  problems.Add("axes." + steps,
               "expected one number for the whole sweep: with 0 it trains, with "
               "more it measures");
}

// A class of each kind that there is: arithmetics are of processors or of others, and devices as
// many as the class has GPUs.
std::vector<std::string> OneOfEachKind(const std::vector<std::string>& hardware) {
  std::vector<std::string> kinds;
  std::set<std::pair<bool, uint32_t>> seen;
  for (const std::string& name : hardware) {
    const uint32_t gpus = IsGpuClass(name) ? CountGpus(name).count : 0;
    if (seen.emplace(!IsCpuClass(name), gpus).second) kinds.push_back(name);
  }
  if (kinds.empty()) kinds.emplace_back();
  return kinds;
}

// What no single setting can know, for every point of the axes and every plan.
void CheckCells(const Sweep& sweep, Problems& problems) {
  Sweep narrow = sweep;  // Stacks and blocks change nothing here.
  narrow.hardware = OneOfEachKind(sweep.hardware);
  narrow.stacks = {""};
  narrow.blocks = 1;
  for (NoisePlan& plan : narrow.plans) plan.blocks = 1;
  const CellReader reader(narrow);
  for (const Cell& cell : Expand(narrow)) {
    std::optional<Specification> training = reader.Of(cell);
    if (!training) continue;  // Its trainer will say what is wrong with it.
    training->hardware_class = cell.hardware;
    for (const FieldProblem& found : noisefloor::CheckTogether(*training)) {
      const bool varied = FindColumn(sweep, found.path) != nullptr;
      problems.Add(varied ? "axes." + found.path : found.path, found.message);
    }
  }
}

}  // namespace

std::vector<Problem> CheckNotes(const std::string& notes,
                                const std::map<std::string, std::string>& tags) {
  Problems problems;
  CheckNotesAndTags(notes, tags, problems);
  return problems.Take();
}

std::variant<std::vector<std::string>, Problem> ClassesOfAll(const Sweep& sweep,
                                                             const Known& known) {
  if (known.classes.empty()) {
    return Problem{"hardware",
                   "all means every class of the connected workers and of pools, and there is "
                   "none; start a worker or name the classes"};
  }
  std::vector<std::string> classes;
  std::string others;
  for (const std::string& name : known.classes) {
    if (HasDevicesOf(sweep, name)) {
      classes.push_back(name);
    } else {
      others += (others.empty() ? "" : ", ") + name;
    }
  }
  if (!classes.empty()) return classes;
  return Problem{"hardware",
                 "all means the classes with as many devices as train.devices says, and there is "
                 "none, only " +
                     others + "; noisefloor-worker --gpus-per-slot makes others"};
}

SettingsSchemaRef SchemaOf(const Known& known, std::string_view stack) {
  const auto told = known.stacks.find(stack);
  if (told != known.stacks.end()) return told->second;
  const bool ours = stack.empty() || std::ranges::find(kOwnStacks, stack) != kOwnStacks.end();
  return ours ? OwnSchema() : nullptr;
}

std::string NobodyOffers(std::string_view stack, const Known& known) {
  std::vector<std::string_view> names(kOwnStacks.begin(), kOwnStacks.end());
  for (const auto& [name, schema] : known.stacks) names.push_back(name);
  const std::string name(stack);
  const std::string help =
      "`noisefloor run --trainer \"" + name + "=COMMAND\"` brings it, or a worker with that option";
  if (const auto gone = known.gone.find(stack); gone != known.gone.end()) {
    return "nobody offers the stack " + name + " any more: " + gone->second + "; " + help;
  }
  return "nobody has offered the stack " + name + " here, so that its settings are not known; " +
         help + DidYouMean(stack, names);
}

std::vector<std::string> StacksWith(const Known& known, const SettingsSchema& schema) {
  std::set<std::string> names(kOwnStacks.begin(), kOwnStacks.end());
  for (const auto& [name, settings] : known.stacks) names.insert(name);
  std::erase_if(names, [&](const std::string& name) {
    return SchemaOf(known, name)->identity() != schema.identity();
  });
  return {names.begin(), names.end()};
}

std::variant<Sweep, std::vector<Problem>> Resolve(const SweepRequest& request, const Known& known) {
  Problems problems;
  problems.CheckName("name", request.name);
  CheckNames("stacks", request.stacks, problems);
  const SettingsSchemaRef schema = ResolveSchema(request.stacks, known, problems);
  Sweep sweep;
  sweep.name = request.name;
  sweep.seed = request.seed;
  sweep.schema = IdentityOf(*schema);
  sweep.base = ResolveTraining(request.training, *schema, problems);
  sweep.axes = CheckAxes(request.axes, *schema, problems);
  sweep.kind = KindOf(sweep.base);
  CheckKind(sweep, problems);
  sweep.plans = ResolvePlans(request.noise, problems);
  sweep.hardware = ResolveHardware(request, sweep, known, problems);
  sweep.stacks = request.stacks.empty() ? std::vector<std::string>{""} : request.stacks;
  problems.CheckCount("replicates", request.replicates, kMaxMembers);
  problems.CheckCount("blocks", request.blocks, kMaxBlocks);
  CheckReference(request.reference_accuracy, problems);
  CheckNotesAndTags(request.notes, request.tags, problems);
  sweep.replicates = request.replicates;
  sweep.blocks = request.blocks;
  sweep.reference_accuracy = request.reference_accuracy;
  sweep.until = request.until;
  sweep.notes = request.notes;
  sweep.tags = request.tags;
  if (problems.empty()) CheckSize(sweep, problems);
  if (problems.empty()) CheckUntil(sweep, problems);
  if (problems.empty()) CheckCells(sweep, problems);
  if (!problems.empty()) return problems.Take();
  return sweep;
}

}  // namespace noisefloor::sweep
