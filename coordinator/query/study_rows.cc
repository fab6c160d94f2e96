#include "coordinator/query/study_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "common/base/ids.h"
#include "common/base/seed.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/idle_sources.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/schema_json.h"
#include "common/trainer_protocol/training.h"
#include "coordinator/inputs/on_the_way.h"
#include "coordinator/query/rows.h"
#include "coordinator/query/study_attempts.h"
#include "coordinator/query/sweep_rows.h"
#include "coordinator/store/special.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/extend.h"
#include "coordinator/sweep/resolved_file.h"

namespace noisefloor::query {

namespace {

using report::CellInput;
using report::MemberInput;

constexpr int64_t kMicroseconds = 1000000;

std::string TextOf(const Json& value) {
  if (value.is_number_float()) return noisefloor::ToText(SettingValue(value.get<double>()));
  return value.is_string() ? value.get<std::string>() : value.dump();
}

report::PlanInput PlanOf(const sweep::Sweep& sweep, const sweep::NoisePlan& plan) {
  report::PlanInput input{
      plan.name, {}, sweep::ReplicatesOf(sweep, plan), sweep::BlocksOf(sweep, plan)};
  for (const NoiseSource source : kAllNoiseSources) {
    const LaneRule& rule = RuleOf(plan.rules, source);
    if (IsTold(source, rule.state)) input.sources[source] = rule;
  }
  return input;
}

std::vector<report::AxisColumn> AxisOf(const sweep::Axis& axis) {
  std::vector<report::AxisColumn> columns;
  for (const sweep::AxisColumn& column : axis.columns) {
    report::AxisColumn& out = columns.emplace_back();
    out.path = column.path;
    for (const SettingValue& value : column.values) out.values.push_back(ToText(value));
  }
  return columns;
}

// What is trained, as its report tells it.
void Describe(const sweep::Sweep& sweep, report::SweepInput& input) {
  for (const sweep::Setting& setting : sweep.base) {
    input.settings.push_back({setting.first, ToText(setting.second), !IsDefault(sweep, setting)});
  }
  for (const sweep::Axis& axis : sweep.axes) input.axes.push_back(AxisOf(axis));
  for (const sweep::NoisePlan& plan : sweep.plans) input.plans.push_back(PlanOf(sweep, plan));
  input.reference_accuracy = sweep.reference_accuracy;
  if (!sweep.until) return;
  const sweep::Until& until = *sweep.until;
  input.until = {std::string(Name(until.figure)), until.half_width, until.most, until.settled};
  const sweep::Sweep submitted = sweep::AsSubmitted(sweep);
  for (size_t i = 0; i < sweep.plans.size(); ++i) {
    const sweep::NoisePlan& plan = submitted.plans[i];
    if (sweep::IsForUntil(submitted, plan)) {
      input.plans[i].pilot = sweep::ReplicatesOf(submitted, plan);
    }
  }
}

absl::StatusOr<Json> ReadSweep(SQLite::Database& database, uint64_t sweep,
                               report::SweepInput& input) {
  SQLite::Statement row(database,
                        "SELECT name, notes, tags, seed, definition, specification_sha256, file, "
                        "submitted_us, (SELECT coalesce(max(a.ended_us), 0) FROM lease l JOIN "
                        "attempt a USING (lease) WHERE l.sweep = s.sweep AND a.accepted = 1) "
                        "FROM sweep s WHERE sweep = ? AND deleted_us IS NULL");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) {
    return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
  }
  input.id = fmt::format("s{}", sweep);
  input.name = row.getColumn(0).getString();
  input.notes = row.getColumn(1).getString();
  NF_ASSIGN_OR_RETURN(const Json tags, ParseJson(row.getColumn(2).getString()));
  for (const auto& [key, value] : tags.items()) {
    input.tags.push_back(TextOf(value).empty() ? key : key + "=" + TextOf(value));
  }
  input.seed = UnsignedOf(row.getColumn(3).getString());
  const std::string definition = row.getColumn(4).getString();
  NF_ASSIGN_OR_RETURN(const sweep::Sweep content, SweepFromJson(definition));
  Describe(content, input);
  input.specification_sha256 = row.getColumn(5).getString();
  input.file = row.getColumn(6).getString();
  input.file_submitted = !input.file.empty();
  if (!input.file_submitted) input.file = sweep::ResolvedFile(content);
  input.submitted_unix_seconds = row.getColumn(7).getInt64() / kMicroseconds;
  input.ended_unix_seconds = row.getColumn(8).getInt64() / kMicroseconds;
  return ParseJson(definition);
}

// What axes say of the data set, else the base training.
sweep::EvaluationKey EvaluationOf(const Json& training, const Json& axes) {
  return sweep::EvaluationOf([&](std::string_view path) -> std::string {
    const std::string key(path);
    const Json& from = axes.contains(key) ? axes : training;
    return from.contains(key) ? TextOf(from[key]) : "";
  });
}

absl::Status ReadCells(SQLite::Database& database, uint64_t sweep, const Json& training,
                       StudyRows& rows) {
  SQLite::Statement row(database,
                        "SELECT cell, plan, block, hardware, stack, stack_fingerprint, "
                        "trainer_build, axes FROM cell WHERE sweep = ? ORDER BY cell");
  row.bind(1, static_cast<int64_t>(sweep));
  while (row.executeStep()) {
    CellInput cell;
    cell.index = row.getColumn(0).getUInt();
    cell.plan = row.getColumn(1).getString();
    cell.block = row.getColumn(2).getUInt();
    cell.hardware = row.getColumn(3).getString();
    cell.stack = row.getColumn(4).getString();
    cell.stack_fingerprint = row.getColumn(5).getString();
    cell.trainer_build = row.getColumn(6).getString();
    NF_ASSIGN_OR_RETURN(const Json axes, ParseJson(row.getColumn(7).getString()));
    for (const auto& [path, value] : axes.items()) cell.axes.push_back({path, TextOf(value)});
    rows.axes[cell.index] = axes;
    rows.evaluation[cell.index] = EvaluationOf(training, axes);
    rows.input.cells.push_back(std::move(cell));
  }
  return absl::OkStatus();
}

// All members that the cells have; then what is said of those to which something has happened.
absl::StatusOr<MemberPlaces> ReadMembers(SQLite::Database& database, uint64_t sweep,
                                         StudyRows& rows) {
  MemberPlaces places;
  SQLite::Statement cell(database,
                         "SELECT cell, replicates, untouched FROM cell WHERE sweep = ? "
                         "ORDER BY cell");
  cell.bind(1, static_cast<int64_t>(sweep));
  while (cell.executeStep()) {
    MemberInput member;
    member.cell = cell.getColumn(0).getUInt();
    NF_ASSIGN_OR_RETURN(member.state,
                        StateOf({SweepId{sweep}, member.cell, 0}, cell.getColumn(2).getString()));
    const uint32_t replicates = cell.getColumn(1).getUInt();
    for (member.replicate = 0; member.replicate < replicates; ++member.replicate) {
      member.id = ToText(MemberId{SweepId{sweep}, member.cell, member.replicate});
      places[{member.cell, member.replicate}] = rows.input.members.size();
      rows.input.members.push_back(member);
    }
  }
  SQLite::Statement row(database,
                        "SELECT cell, replicate, state, attempt FROM member WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  while (row.executeStep()) {
    const MemberId id{SweepId{sweep}, row.getColumn(0).getUInt(), row.getColumn(1).getUInt()};
    const auto place = places.find({id.cell, id.replicate});
    if (place == places.end()) continue;
    MemberInput& member = rows.input.members[place->second];
    NF_ASSIGN_OR_RETURN(member.state, StateOf(id, row.getColumn(2).getString()));
    member.attempts = row.getColumn(3).getUInt();
  }
  rows.files.resize(rows.input.members.size());
  return places;
}

absl::Status CheckLeases(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement count(database, "SELECT sum(replicates) FROM cell WHERE sweep = ?");
  count.bind(1, static_cast<int64_t>(sweep));
  count.executeStep();
  if (count.getColumn(0).getInt64() > static_cast<int64_t>(sweep::kMaxMembers)) {
    return MakeError(absl::StatusCode::kDataLoss,
                     fmt::format("the store is damaged: sweep s{}: {} members", sweep,
                                 count.getColumn(0).getInt64()));
  }
  SQLite::Statement row(database,
                        "SELECT l.lease, l.cell, l.replicate FROM lease l LEFT JOIN cell c "
                        "ON c.sweep = l.sweep AND c.cell = l.cell AND l.replicate < c.replicates "
                        "WHERE l.sweep = ? AND c.cell IS NULL LIMIT 1");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) return absl::OkStatus();
  const MemberId member{SweepId{sweep}, row.getColumn(1).getUInt(), row.getColumn(2).getUInt()};
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("the store is damaged: lease {}: there is no member {}",
                               row.getColumn(0).getInt64(), ToText(member)));
}

// Of the last attempt that ended, or was lost, of each member that failed.
void ReadFailures(SQLite::Database& database, uint64_t sweep, const MemberPlaces& places,
                  StudyRows& rows) {
  SQLite::Statement row(
      database,
      "SELECT l.cell, l.replicate, iif(a.outcome = 'failed', a.cause, l.drop_cause), "
      "iif(a.outcome = 'failed', a.message, coalesce(nullif(a.refused_because, ''), "
      "l.drop_reason)) "
      "FROM member m JOIN lease l USING (sweep, cell, replicate) LEFT JOIN attempt a USING (lease) "
      "WHERE m.sweep = ? AND m.state = 'failed' ORDER BY l.attempt");
  row.bind(1, static_cast<int64_t>(sweep));
  while (row.executeStep()) {
    const auto place = places.find({row.getColumn(0).getUInt(), row.getColumn(1).getUInt()});
    if (place == places.end()) continue;
    MemberInput& member = rows.input.members[place->second];
    member.failure_cause = row.getColumn(2).getString();
    member.failure_message = row.getColumn(3).getString();
  }
  SQLite::Statement together(database, kFailedTogether);
  together.bind(1, static_cast<int64_t>(sweep));
  if (!together.executeStep()) return;
  for (MemberInput& member : rows.input.members) {
    if (member.state != MemberState::kFailed || !member.failure_cause.empty()) continue;
    member.failure_cause = Name(CauseClass::kBadData);
    member.failure_message = together.getColumn(0).getString();
  }
}

void FillLanes(StudyRows& rows) {
  const std::vector<report::PlanInput>& plans = rows.input.sweep.plans;
  std::map<uint32_t, std::pair<uint32_t, const report::PlanInput*>> cells;  // Block and plan.
  for (CellInput& cell : rows.input.cells) {
    const auto plan = std::ranges::find(plans, cell.plan, &report::PlanInput::name);
    if (plan == plans.end()) continue;
    cells[cell.index] = {cell.block, &*plan};
    for (const auto& [source, rule] : plan->sources) cell.sources[source] = rule.state;
  }
  for (MemberInput& member : rows.input.members) {
    const auto cell = cells.find(member.cell);
    if (cell == cells.end()) continue;
    const auto& [block, plan] = cell->second;
    for (const auto& [source, rule] : plan->sources) {
      member.lanes[source] = LaneOf(rule, block, member.replicate);
    }
  }
}

// Puts in what the JSON says.
void Put(const Json& json, Settings& settings) {
  for (const auto& [path, value] : json.items()) {
    absl::StatusOr<SettingValue> setting = SettingFromJson(value);
    if (setting.ok()) PutSetting(settings, path, *std::move(setting));
  }
}

// Which sources act on nothing in each cell, as far as we know what its settings mean.
void FindIdleSources(const Json& training, StudyRows& rows) {
  Training base;
  Put(training, base.settings);
  for (CellInput& cell : rows.input.cells) {
    Training varied = base;
    Put(rows.axes[cell.index], varied.settings);
    varied.hardware_class = cell.hardware;
    for (const auto& [source, state] : cell.sources) varied.Source(source).state = state;
    const std::optional<Specification> specification = Understood(varied);
    if (!specification) continue;
    for (const auto& [source, state] : cell.sources) {
      const std::optional<std::string> why = IdleReason(*specification, source);
      if (why) cell.idle.emplace(source, *why);
    }
  }
}

void ReadMetrics(SQLite::Database& database, uint64_t sweep, const LeasePlaces& accepted,
                 StudyRows& rows) {
  SQLite::Statement row(database,
                        "SELECT m.lease, m.name, m.value, m.special FROM lease l "
                        "JOIN attempt_metric m USING (lease) WHERE l.sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  while (row.executeStep()) {
    const auto place = accepted.find(row.getColumn(0).getInt64());
    if (place == accepted.end()) continue;
    MemberInput& member = rows.input.members[place->second];
    const std::string name = row.getColumn(1).getString();
    member.final_metrics[name] =
        FromStored(row.getColumn(2).getDouble(), row.getColumn(3).getInt());
  }
}

// Trainers of version 0.1 also told the accuracy of each class at each evaluation: no curves.
void ReadCurves(SQLite::Database& database, const LeasePlaces& accepted, StudyRows& rows) {
  SQLite::Statement row(database,
                        "SELECT m.name, r.step, "
                        "coalesce(r.epoch, CAST(r.step AS REAL) / l.steps_per_epoch), r.value "
                        "FROM record r JOIN metric m USING (metric) JOIN lease l USING (lease) "
                        "WHERE r.lease = ? "
                        "AND m.name NOT LIKE 'test\\_top1\\_class\\_%' ESCAPE '\\' "
                        "ORDER BY batch, item");
  for (const auto& [lease, place] : accepted) {
    auto& curves = rows.input.members[place].curves;
    row.reset();
    row.bind(1, lease);
    while (row.executeStep()) {
      curves[row.getColumn(0).getString()].push_back(
          {row.getColumn(1).getInt64(), row.getColumn(2).getDouble(), ValueAt(row.getColumn(3))});
    }
  }
}

inputs::InputFile FileAt(SQLite::Statement& row, int column, std::string member) {
  return {row.getColumn(column).getString(), std::move(member),
          row.getColumn(column + 1).getString(), row.getColumn(column + 2).getString(),
          static_cast<uint64_t>(row.getColumn(column + 3).getInt64())};
}

void ReadArtifacts(SQLite::Database& database, uint64_t sweep, const LeasePlaces& accepted,
                   StudyRows& rows) {
  SQLite::Statement row(database,
                        "SELECT f.lease, f.kind, f.path, f.sha256, f.size_bytes, "
                        "f.collected_us IS NOT NULL FROM lease l "
                        "JOIN artifact f USING (lease) WHERE l.sweep = ? ORDER BY f.kind, f.path");
  row.bind(1, static_cast<int64_t>(sweep));
  std::map<std::string, std::set<size_t>> collected;  // Members, by kind.
  while (row.executeStep()) {
    const auto place = accepted.find(row.getColumn(0).getInt64());
    if (place == accepted.end()) continue;
    if (row.getColumn(5).getInt() == 0) {
      const std::string& member = rows.input.members[place->second].id;
      rows.files[place->second].push_back(FileAt(row, 1, member));
    } else {
      std::string kind = row.getColumn(1).getString();
      const std::optional<inputs::OnTheWay> of = inputs::ReadOnTheWay(kind);
      if (of) kind = fmt::format("{} after evaluations", of->kind);
      // A study reads no others.
      if (of || kind == "weights" || kind == "predictions") collected[kind].insert(place->second);
    }
  }
  for (const auto& [kind, members] : collected) {
    rows.warnings.push_back(
        {"note", "sweep",
         fmt::format(
             "The {} of {} were removed to make room; what is said of {} is of what is left.", kind,
             members.size() == 1 ? "1 member" : fmt::format("{} members", members.size()), kind)});
  }
}

void ReadIdentities(SQLite::Database& database, uint64_t sweep, StudyRows& rows) {
  SQLite::Statement row(database, "SELECT data_set, identity FROM sweep_data WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  while (row.executeStep()) {
    rows.identities[row.getColumn(0).getString()] = row.getColumn(1).getString();
  }
}

// The sets of the cells, each once, the first cell's first.
void NumberEvaluationSets(StudyRows& rows) {
  std::map<sweep::EvaluationKey, size_t> places;
  for (CellInput& cell : rows.input.cells) {
    const sweep::EvaluationKey& key = rows.evaluation.at(cell.index);
    const auto [place, is_new] = places.emplace(key, rows.evaluation_sets.size());
    if (is_new) rows.evaluation_sets.push_back({key, {}});
    cell.evaluation = place->second;
  }
}

// Images and labels of the newest accepted attempt that sent them, in any sweep, else of another
// one: the coordinator asks for them once per sweep and test set. Which ones fit is known by the
// sweep and cell they came from.
absl::Status ReadEvaluationSets(SQLite::Database& database, StudyRows& rows) {
  SQLite::Statement row(
      database,
      "SELECT f.kind, f.path, f.sha256, f.size_bytes, d.sha256, s.definition, c.axes, "
      "l.sweep, l.cell, l.replicate "
      "FROM artifact f JOIN attempt a USING (lease) JOIN lease l USING (lease) "
      "LEFT JOIN data_identity d ON d.data_identity = a.data_identity "
      "JOIN sweep s ON s.sweep = l.sweep JOIN cell c ON c.sweep = l.sweep AND c.cell = l.cell "
      "WHERE f.kind IN ('evaluation_images', 'evaluation_labels', 'evaluation_groups') "
      "AND s.deleted_us IS NULL AND f.collected_us IS NULL "
      "ORDER BY a.accepted DESC, f.lease DESC, f.kind");
  size_t missing = 3 * rows.evaluation_sets.size();  // Images, labels and groups of each.
  while (missing > 0 && row.executeStep()) {
    NF_ASSIGN_OR_RETURN(const Json definition, ParseJson(row.getColumn(5).getString()));
    NF_ASSIGN_OR_RETURN(const Json axes, ParseJson(row.getColumn(6).getString()));
    const Json training = definition.value("training", Json::object());
    const sweep::EvaluationKey key = EvaluationOf(training, axes);
    const auto identity = rows.identities.find(key.data_set);
    if (identity != rows.identities.end() && row.getColumn(4).getString() != identity->second) {
      continue;
    }
    const auto set = std::ranges::find(rows.evaluation_sets, key, &EvaluationRows::key);
    if (set == rows.evaluation_sets.end()) continue;
    const MemberId owner{SweepId{static_cast<uint64_t>(row.getColumn(7).getInt64())},
                         row.getColumn(8).getUInt(), row.getColumn(9).getUInt()};
    inputs::InputFile file = FileAt(row, 0, ToText(owner));
    if (std::ranges::count(set->files, file.kind, &inputs::InputFile::kind) > 0) continue;
    set->files.push_back(std::move(file));
    --missing;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StudyRows> ReadStudyRows(SQLite::Database& database, uint64_t sweep) {
  StudyRows rows;
  NF_ASSIGN_OR_RETURN(const Json definition, ReadSweep(database, sweep, rows.input.sweep));
  const Json training = definition.value("training", Json::object());
  NF_RETURN_IF_ERROR(ReadCells(database, sweep, training, rows));
  NF_RETURN_IF_ERROR(CheckLeases(database, sweep));
  NF_ASSIGN_OR_RETURN(const MemberPlaces places, ReadMembers(database, sweep, rows));
  ReadFailures(database, sweep, places, rows);
  FillLanes(rows);
  FindIdleSources(training, rows);  // Some are idle by the state of others.
  ReadIdentities(database, sweep, rows);
  const LeasePlaces accepted = ReadAttempts(database, sweep, places, rows);
  ReadMetrics(database, sweep, accepted, rows);
  ReadCurves(database, accepted, rows);
  ReadArtifacts(database, sweep, accepted, rows);
  NumberEvaluationSets(rows);
  NF_RETURN_IF_ERROR(ReadEvaluationSets(database, rows));
  return rows;
}

}  // namespace noisefloor::query
