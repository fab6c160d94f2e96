#include "coordinator/store/row_writer.h"

#include <optional>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "common/files/sha256.h"
#include "coordinator/store/special.h"
#include "coordinator/store/sweep_json.h"

namespace noisefloor {

namespace {

// One statement for each member of RowWriter. Repeating one changes nothing.
constexpr const char* kSweepSql =
    "INSERT INTO sweep (sweep, name, specification_sha256, request_id, seed, replicates, "
    "blocks, definition, notes, tags, submitted_us, file) VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, ?, ?) ON CONFLICT (sweep) DO NOTHING";
constexpr const char* kCellSql =
    "INSERT INTO cell (sweep, cell, plan, block, hardware, stack, axes) VALUES (?, ?, ?, "
    "?, ?, ?, ?) ON CONFLICT (sweep, cell) DO NOTHING";
constexpr const char* kMemberSql =
    "INSERT INTO member (sweep, cell, replicate, state) VALUES (?, ?, ?, 'waiting') ON "
    "CONFLICT (sweep, cell, replicate) DO NOTHING";
constexpr const char* kLaneSql =
    "INSERT INTO lane (sweep, cell, replicate, source, state, block, lane, seed) VALUES "
    "(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (sweep, cell, replicate, source) DO NOTHING";
constexpr const char* kPinCellSql =
    "UPDATE cell SET hardware = ?1, stack = ?2, stack_fingerprint = ?3, trainer_build = ?4 "
    "WHERE sweep = ?5 AND cell = ?6 AND (stack_fingerprint = '' OR ?3 = '')";
constexpr const char* kPinIdentitySql =
    "INSERT INTO sweep_data (sweep, data_set, identity) VALUES (?, ?, ?) ON CONFLICT "
    "(sweep, data_set) DO NOTHING";
constexpr const char* kUnitSql = "INSERT INTO unit (unit) VALUES (?) ON CONFLICT (unit) DO NOTHING";
constexpr const char* kWorkerSql =
    "INSERT INTO worker (worker, name, identity, slots, unit, classes, stacks, version, "
    "seen_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (worker) DO UPDATE SET name "
    "= excluded.name, identity = excluded.identity, slots = excluded.slots, unit = "
    "excluded.unit, classes = excluded.classes, stacks = excluded.stacks, version = "
    "excluded.version, seen_us = excluded.seen_us";
constexpr const char* kLeaseSql =
    "INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, specification, "
    "granted_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (lease) DO NOTHING";
constexpr const char* kDropLeaseSql =
    "UPDATE lease SET dropped_us = ?, drop_cause = ?, drop_reason = ? WHERE lease = ? "
    "AND dropped_us IS NULL";
constexpr const char* kAddMetricSql =
    "INSERT INTO metric (name) VALUES (?) ON CONFLICT (name) DO NOTHING";
constexpr const char* kFindMetricSql = "SELECT metric FROM metric WHERE name = ?";
constexpr const char* kRecordSql =
    "INSERT INTO record (lease, batch, item, step, epoch, metric, value, special) VALUES "
    "(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (lease, batch, item) DO NOTHING";
constexpr const char* kEnvironmentSql =
    "INSERT INTO environment (sha256, facts) VALUES (?, ?) ON CONFLICT (sha256) DO "
    "NOTHING";
constexpr const char* kAttemptSql =
    "INSERT INTO attempt (lease, outcome, accepted, refused_because, cause, message, "
    "environment, data_identity, train_seconds, train_seconds_special, record_batches, "
    "ended_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (lease) DO "
    "NOTHING";
constexpr const char* kHashSql =
    "INSERT INTO attempt_hash (lease, name, sha256) VALUES (?, ?, ?) ON CONFLICT (lease, "
    "name) DO NOTHING";
constexpr const char* kMetricSql =
    "INSERT INTO attempt_metric (lease, name, value, special) VALUES (?, ?, ?, ?) ON "
    "CONFLICT (lease, name) DO NOTHING";
constexpr const char* kArtifactSql =
    "INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (lease, kind, path) DO NOTHING";
constexpr const char* kMemberStateSql =
    "UPDATE member SET state = ?, attempt = ?, forgiven = ? WHERE sweep = ? AND cell = ? "
    "AND replicate = ?";
constexpr const char* kEventSql =
    "INSERT INTO event (sweep, cell, replicate, kind, text, at_us) SELECT ?1, ?2, ?3, "
    "?4, ?5, ?6 WHERE NOT EXISTS (SELECT 1 FROM event WHERE at_us = ?6 AND sweep IS ?1 "
    "AND cell IS ?2 AND replicate IS ?3 AND kind = ?4 AND text = ?5)";

int64_t Micros(absl::Time time) { return absl::ToUnixMicros(time); }

// Parameters in order. 64-bit numbers without a sign are kept in the same bits.
void Bind(SQLite::Statement& statement, int i, int64_t value) { statement.bind(i, value); }
void Bind(SQLite::Statement& statement, int i, uint64_t value) {
  statement.bind(i, static_cast<int64_t>(value));
}
void Bind(SQLite::Statement& statement, int i, uint32_t value) { statement.bind(i, value); }
void Bind(SQLite::Statement& statement, int i, int value) { statement.bind(i, value); }
void Bind(SQLite::Statement& statement, int i, double value) { statement.bind(i, value); }
void Bind(SQLite::Statement& statement, int i, std::string_view value) {
  statement.bind(i, std::string(value));
}
template <typename T>
void Bind(SQLite::Statement& statement, int i, const std::optional<T>& value) {
  if (value) {
    Bind(statement, i, *value);
  } else {
    statement.bind(i);
  }
}

// Reset comes first: a statement that failed the last time still holds its row.
template <typename... Values>
void Run(SQLite::Statement& statement, const Values&... values) {
  statement.tryReset();
  int i = 0;
  (Bind(statement, ++i, values), ...);
  statement.exec();
  statement.tryReset();
}

std::string StacksJson(const std::vector<scheduler::StackOffer>& stacks) {
  Json json = Json::array();
  for (const scheduler::StackOffer& offer : stacks) {
    json.push_back(
        {{"name", offer.name}, {"fingerprint", offer.fingerprint}, {"build", offer.build}});
  }
  return Dump(json);
}

std::string_view NameOf(OutcomeEvent::Kind kind) {
  switch (kind) {
    case OutcomeEvent::Kind::kDone: return "done";
    case OutcomeEvent::Kind::kDiverged: return "diverged";
    case OutcomeEvent::Kind::kFailed: return "failed";
  }
  return "failed";
}

}  // namespace

RowWriter::RowWriter(SQLite::Database& database)
    : sweep_(database, kSweepSql),
      cell_(database, kCellSql),
      member_(database, kMemberSql),
      lane_(database, kLaneSql),
      pin_cell_(database, kPinCellSql),
      pin_identity_(database, kPinIdentitySql),
      unit_(database, kUnitSql),
      worker_(database, kWorkerSql),
      lease_(database, kLeaseSql),
      drop_lease_(database, kDropLeaseSql),
      add_metric_(database, kAddMetricSql),
      find_metric_(database, kFindMetricSql),
      record_(database, kRecordSql),
      environment_(database, kEnvironmentSql),
      attempt_(database, kAttemptSql),
      hash_(database, kHashSql),
      metric_(database, kMetricSql),
      artifact_(database, kArtifactSql),
      member_state_(database, kMemberStateSql),
      event_(database, kEventSql) {}

void RowWriter::Apply(const scheduler::Write& write) {
  std::visit([this](const auto& one) { Keep(one); }, write);
}

void RowWriter::Keep(const scheduler::KeepSweep& write) {
  const sweep::Sweep& content = write.content;
  Json tags = Json::object();
  for (const auto& [key, value] : content.tags) tags[key] = value;
  Run(sweep_, write.sweep.value, content.name, write.specification_sha256, write.request_id,
      std::to_string(content.seed), content.replicates, content.blocks, SweepToJson(content),
      content.notes, Dump(tags), Micros(write.at), write.file);
  for (const sweep::Cell& cell : write.cells) {
    Run(cell_, write.sweep.value, cell.index, cell.plan, cell.block, cell.hardware, cell.stack,
        SettingsToJson(cell.axes));
    KeepMembers(write, cell);
  }
}

void RowWriter::KeepMembers(const scheduler::KeepSweep& write, const sweep::Cell& cell) {
  for (uint32_t replicate = 0; replicate < cell.replicates; ++replicate) {
    Run(member_, write.sweep.value, cell.index, replicate);
    const Specification specification =
        sweep::MemberSpecification(write.content, cell, replicate, "", "", "");
    for (const NoiseSource source : kAllNoiseSources) {
      const SourceSpec& spec = specification.Source(source);
      Run(lane_, write.sweep.value, cell.index, replicate, Name(source), Name(spec.state),
          spec.lane.block, spec.lane.number, std::to_string(spec.seed));
    }
  }
}

void RowWriter::Keep(const scheduler::PinCell& write) {
  Run(pin_cell_, write.hardware, write.stack, write.fingerprint, write.build, write.sweep.value,
      write.cell);
}

void RowWriter::Keep(const scheduler::PinIdentity& write) {
  Run(pin_identity_, write.sweep.value, write.data_set, write.identity);
}

void RowWriter::Keep(const scheduler::KeepWorker& write) {
  Run(unit_, write.unit);
  Run(worker_, write.worker.value, write.name, std::to_string(write.identity), write.slots,
      write.unit, Dump(write.classes), StacksJson(write.stacks), write.version, Micros(write.seen));
}

void RowWriter::Keep(const scheduler::GrantLease& write) {
  const MemberId& member = write.member;
  Run(lease_, write.lease.value, member.sweep.value, member.cell, member.replicate, write.attempt,
      write.worker.value, write.specification, Micros(write.at));
}

void RowWriter::Keep(const scheduler::DropLease& write) {
  Run(drop_lease_, Micros(write.at), Name(write.cause), write.reason, write.lease.value);
}

int64_t RowWriter::MetricNumber(const std::string& name) {
  const auto known = metrics_.find(name);
  if (known != metrics_.end()) return known->second;
  Run(add_metric_, name);
  find_metric_.tryReset();
  find_metric_.bind(1, name);
  find_metric_.executeStep();
  const int64_t number = find_metric_.getColumn(0).getInt64();
  find_metric_.tryReset();
  metrics_[name] = number;
  return number;
}

void RowWriter::Keep(const scheduler::KeepRecords& write) {
  int64_t item = 0;
  for (const Record& record : write.batch.records) {
    Run(record_, write.lease.value, write.batch.sequence, item++, record.step,
        StoredValue(record.epoch), MetricNumber(record.metric), StoredValue(record.value),
        SpecialOf(record.value));
  }
}

void RowWriter::Keep(const scheduler::KeepOutcome& write) {
  const ingest::AttemptOutcome& outcome = write.outcome;
  std::optional<std::string> environment;
  if (!outcome.environment.empty()) {
    environment = Sha256Hex(outcome.environment);
    Run(environment_, *environment, outcome.environment);
  }
  Run(attempt_, write.lease.value, NameOf(outcome.kind), int{write.accepted}, write.reason,
      Name(outcome.cause), outcome.message, environment, outcome.data_identity,
      StoredValue(outcome.train_seconds), SpecialOf(outcome.train_seconds), outcome.record_batches,
      Micros(write.at));
  KeepDetails(write.lease, outcome);
}

void RowWriter::KeepDetails(LeaseId lease, const ingest::AttemptOutcome& outcome) {
  for (const auto& [name, sha256] : outcome.hashes) Run(hash_, lease.value, name, sha256);
  for (const auto& [name, value] : outcome.metrics) KeepMetric(lease, name, value);
  for (size_t i = 0; i < outcome.per_class_accuracy.size(); ++i) {
    KeepMetric(lease, "class_accuracy/" + std::to_string(i), outcome.per_class_accuracy[i]);
  }
  for (const ingest::Artifact& artifact : outcome.artifacts) {
    Run(artifact_, lease.value, artifact.kind, artifact.path, artifact.sha256, artifact.size);
  }
}

void RowWriter::KeepMetric(LeaseId lease, const std::string& name, double value) {
  Run(metric_, lease.value, name, StoredValue(value), SpecialOf(value));
}

void RowWriter::Keep(const scheduler::SetMemberState& write) {
  Run(member_state_, Name(write.state), write.attempt, write.forgiven, write.member.sweep.value,
      write.member.cell, write.member.replicate);
}

void RowWriter::Keep(const scheduler::AppendEvent& write) {
  std::optional<int64_t> sweep;
  std::optional<int64_t> cell;
  std::optional<int64_t> replicate;
  if (write.sweep) sweep = static_cast<int64_t>(write.sweep->value);
  if (write.member) {
    sweep = static_cast<int64_t>(write.member->sweep.value);
    cell = write.member->cell;
    replicate = write.member->replicate;
  }
  Run(event_, sweep, cell, replicate, write.kind, write.text, Micros(write.at));
}

}  // namespace noisefloor
