#include "coordinator/store/row_writer.h"

#include <optional>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "common/files/sha256.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/pool_rows.h"
#include "coordinator/store/special.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/infer.h"

namespace noisefloor {

namespace {

// Names that are remembered of each kind: a worker may send others for ever.
constexpr size_t kMostKnownNames = 10000;
// The same of environments, which are longer.
constexpr size_t kMostKnownEnvironments = 100;

// One statement for each member of RowWriter. Whether a step is kept already its number says
// (sqlite_store.cc); what is tolerated here are texts that are kept once for many, and what a
// worker or a person says twice.
constexpr const char* kSweepSql =
    "INSERT INTO sweep (sweep, name, specification_sha256, request_id, seed, replicates, "
    "blocks, definition, notes, tags, submitted_us, file, kind, of_sweep, of_cell, "
    "of_replicate, owner, priority, paused, max_failures, archived, limits, weight, gpu_hours) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kSharingSql =
    "UPDATE sweep SET priority = ?, paused = ?, max_failures = ?, archived = ?, pardoned = ?, "
    "limits = ?, weight = ?, gpu_hours = ? WHERE sweep = ?";
constexpr const char* kShareSql =
    "INSERT INTO share (owner, weight) VALUES (?, ?) "
    "ON CONFLICT (owner) DO UPDATE SET weight = excluded.weight";
constexpr const char* kEvenShareSql = "DELETE FROM share WHERE owner = ?";
constexpr const char* kExtensionSql =
    "UPDATE sweep SET definition = ?, specification_sha256 = ?, replicates = ?, blocks = ?, "
    "revision = ? WHERE sweep = ?";
constexpr const char* kWiderSql =
    "UPDATE cell SET replicates = ?1 WHERE sweep = ?2 AND plan = ?3 AND replicates < ?1";
constexpr const char* kDeleteSql =
    "UPDATE sweep SET deleted_us = ?, request_id = '', "
    "deleted_lease = coalesce((SELECT max(lease) FROM lease), 0) "
    "WHERE sweep = ? AND deleted_us IS NULL";
constexpr const char* kNotesSql =
    "UPDATE sweep SET definition = ?, notes = ?, tags = ?, revision = ? WHERE sweep = ?";
constexpr const char* kDrainedSql = "UPDATE worker SET drained = ? WHERE worker = ?";
constexpr const char* kReleaseSql = "DELETE FROM quarantine WHERE worker = ?";
constexpr const char* kQuarantineSql = "INSERT INTO quarantine (worker, unit) VALUES (?, ?)";
constexpr const char* kCellSql =
    "INSERT INTO cell (sweep, cell, plan, block, hardware, stack, axes, replicates) VALUES "
    "(?, ?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kPlanSourceSql =
    "INSERT INTO plan_source (sweep, plan, source, state, levels) VALUES (?, ?, ?, ?, ?)";
constexpr const char* kInferenceSql =
    "INSERT INTO inference (sweep, cell, replicate, of_sweep, of_cell, of_replicate, sha256, "
    "size_bytes, file) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kSpecificationSql =
    "INSERT INTO specification (sweep, cell, version, text) SELECT ?1, ?2, count(*) + 1, ?3 "
    "FROM specification WHERE sweep = ?1 AND cell = ?2 "
    "HAVING count(*) FILTER (WHERE text = ?3) = 0";
constexpr const char* kPinCellSql =
    "UPDATE cell SET hardware = ?1, stack = ?2, stack_fingerprint = ?3, trainer_build = ?4 "
    "WHERE sweep = ?5 AND cell = ?6 AND (stack_fingerprint = '' OR ?3 = '')";
constexpr const char* kPinIdentitySql =
    "INSERT INTO sweep_data (sweep, data_set, identity) VALUES (?, ?, ?)";
constexpr const char* kAddUnitSql =
    "INSERT INTO unit (name) VALUES (?) ON CONFLICT (name) DO NOTHING";
constexpr const char* kFindUnitSql = "SELECT unit FROM unit WHERE name = ?";
constexpr const char* kSettingsSchemaSql =
    "INSERT INTO settings_schema (identity, settings) VALUES (?, ?) ON CONFLICT DO NOTHING";
constexpr const char* kSoftwareSql =
    "INSERT INTO software (fingerprint, versions) VALUES (?, ?) ON CONFLICT DO NOTHING";
constexpr const char* kWorkerSql =
    "INSERT INTO worker (worker, name, identity, inventory, version, seen_us) VALUES (?, ?, ?, ?, "
    "?, ?) ON CONFLICT (worker) DO UPDATE SET name = excluded.name, identity = "
    "excluded.identity, inventory = excluded.inventory, version = excluded.version, seen_us = "
    "excluded.seen_us";
constexpr const char* kSeenSql = "UPDATE worker SET seen_us = ? WHERE worker = ?";
constexpr const char* kForgetWorkerSql = "UPDATE worker SET forgotten = 1 WHERE worker = ?";
constexpr const char* kLeaseSql =
    "INSERT INTO lease (lease, sweep, cell, replicate, attempt, worker, slot, unit, "
    "specification_sha256, granted_us, gpus) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kDropLeaseSql =
    "UPDATE lease SET dropped_us = ?, drop_cause = ?, drop_reason = ?, gpus = iif(?, gpus, 0) "
    "WHERE lease = ? AND dropped_us IS NULL";
constexpr const char* kAddMetricSql =
    "INSERT INTO metric (name) VALUES (?) ON CONFLICT (name) DO NOTHING";
constexpr const char* kFindMetricSql = "SELECT metric FROM metric WHERE name = ?";
constexpr const char* kEnvironmentSql =
    "INSERT INTO environment (environment, sha256, facts) VALUES (?, ?, ?) ON CONFLICT DO "
    "NOTHING";
constexpr const char* kIdentitySql =
    "INSERT INTO data_identity (data_identity, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING";
constexpr const char* kCountNumbersSql = "SELECT count(*) FROM number";
constexpr const char* kMoreNumbersSql =
    "INSERT OR IGNORE INTO number SELECT n + ?1 FROM number WHERE n < ?1";
constexpr const char* kAttemptSql =
    "INSERT INTO attempt (lease, outcome, accepted, refused_because, cause, message, "
    "environment, measured, data_identity, class_accuracy, train_seconds, "
    "train_seconds_special, record_batches, ended_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, ?)";
constexpr const char* kHashSql = "INSERT INTO attempt_hash (lease, name, sha256) VALUES (?, ?, ?)";
constexpr const char* kMetricSql =
    "INSERT INTO attempt_metric (lease, name, value, special) VALUES (?, ?, ?, ?)";
constexpr const char* kArtifactSql =
    "INSERT INTO artifact (lease, kind, path, sha256, size_bytes) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (lease, kind, path) DO NOTHING";
constexpr const char* kMemberStateSql =
    "INSERT INTO member (state, attempt, forgiven, sweep, cell, replicate) VALUES (?, ?, ?, "
    "?, ?, ?) ON CONFLICT (sweep, cell, replicate) DO UPDATE SET state = excluded.state, "
    "attempt = excluded.attempt, forgiven = excluded.forgiven";
constexpr const char* kUntouchedSql = "UPDATE cell SET untouched = ? WHERE sweep = ? AND cell = ?";
constexpr const char* kEventSql =
    "INSERT INTO event (event, sweep, cell, replicate, kind, text, at_us, caller) VALUES (?, ?, ?, "
    "?, ?, ?, ?, ?)";
constexpr const char* kTokenSql =
    "INSERT INTO token (token, identity, role, sha256, created_us, expires_us, created_by) VALUES "
    "(?, ?, ?, ?, ?, ?, ?)";
constexpr const char* kRevokeTokenSql =
    "UPDATE token SET revoked_us = ? WHERE token = ? AND revoked_us IS NULL";
constexpr const char* kPoolSql =
    "INSERT INTO pool (pool, name, wish, tag, state, why, forgiven, learned, created_by, "
    "created_us) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (pool) DO UPDATE SET wish = excluded.wish, "
    "state = excluded.state, why = excluded.why, forgiven = excluded.forgiven, learned = "
    "excluded.learned";
constexpr const char* kLaunchSql =
    "INSERT INTO launch (launch, pool, nonce, place, stays, job, phase, ending, reason, node, "
    "heard, created_us, began_us, ended_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (launch) DO UPDATE SET job = excluded.job, phase = excluded.phase, "
    "ending = excluded.ending, reason = excluded.reason, node = excluded.node, "
    "heard = excluded.heard, began_us = excluded.began_us, ended_us = excluded.ended_us";
constexpr const char* kDropPoolSql =
    "UPDATE pool SET gone_us = ? WHERE pool = ? AND gone_us IS NULL";
constexpr const char* kCollectSql =
    "UPDATE artifact SET collected_us = ? WHERE lease = ? AND kind = ? AND path = ? "
    "AND collected_us IS NULL";

// Bytes, where a string is a text.
struct Blob {
  std::string bytes;
};

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
// What is bound without a copy lives until the statement has run: see Run.
void Bind(SQLite::Statement& statement, int i, const std::string& value) {
  statement.bindNoCopy(i, value);
}
void Bind(SQLite::Statement& statement, int i, const Blob& value) {
  statement.bindNoCopy(i, value.bytes.data(), static_cast<int>(value.bytes.size()));
}
template <typename T>
void Bind(SQLite::Statement& statement, int i, const std::optional<T>& value) {
  if (value) {
    Bind(statement, i, *value);
  } else {
    statement.bind(i);
  }
}

// Reset comes first: a statement that failed the last time still holds its row. And last: what was
// bound without a copy dies with the caller's expression.
template <typename... Values>
void Run(SQLite::Statement& statement, const Values&... values) {
  statement.tryReset();
  int i = 0;
  (Bind(statement, ++i, values), ...);
  statement.exec();
  statement.tryReset();
}

// [0.5,1,"nan"]; empty for none.
std::string NumberList(const std::vector<double>& values) {
  if (values.empty()) return "";
  Json list = Json::array();
  for (const double value : values) list.push_back(NumberToJson(value));
  return list.dump();
}

std::string TagsToJson(const sweep::Sweep& content) {
  Json tags = Json::object();
  for (const auto& [key, value] : content.tags) tags[key] = value;
  return Dump(tags);
}

}  // namespace

RowWriter::RowWriter(SQLite::Database& database)
    : sweep_(database, kSweepSql),
      cell_(database, kCellSql),
      plan_source_(database, kPlanSourceSql),
      inference_(database, kInferenceSql),
      specification_(database, kSpecificationSql),
      pin_cell_(database, kPinCellSql),
      pin_identity_(database, kPinIdentitySql),
      schema_(database, kSettingsSchemaSql),
      software_(database, kSoftwareSql),
      worker_(database, kWorkerSql),
      seen_(database, kSeenSql),
      forget_worker_(database, kForgetWorkerSql),
      lease_(database, kLeaseSql),
      drop_lease_(database, kDropLeaseSql),
      attempt_(database, kAttemptSql),
      hash_(database, kHashSql),
      metric_(database, kMetricSql),
      artifact_(database, kArtifactSql),
      member_state_(database, kMemberStateSql),
      untouched_(database, kUntouchedSql),
      event_(database, kEventSql),
      count_numbers_(database, kCountNumbersSql),
      more_numbers_(database, kMoreNumbersSql),
      environment_(database, kEnvironmentSql),
      identity_(database, kIdentitySql),
      token_(database, kTokenSql),
      revoke_token_(database, kRevokeTokenSql),
      collect_(database, kCollectSql),
      sharing_(database, kSharingSql),
      share_(database, kShareSql),
      even_share_(database, kEvenShareSql),
      extension_(database, kExtensionSql),
      wider_(database, kWiderSql),
      delete_(database, kDeleteSql),
      notes_(database, kNotesSql),
      drained_(database, kDrainedSql),
      release_(database, kReleaseSql),
      quarantine_(database, kQuarantineSql),
      pool_(database, kPoolSql),
      launch_(database, kLaunchSql),
      drop_pool_(database, kDropPoolSql),
      records_(database),
      metrics_{{database, kAddMetricSql}, {database, kFindMetricSql}, {}},
      units_{{database, kAddUnitSql}, {database, kFindUnitSql}, {}} {}

void RowWriter::Forget() {
  records_.Forget();
  metrics_.known.clear();
  units_.known.clear();
  environments_.clear();
  data_.clear();
  numbers_ = 0;
}

void RowWriter::Apply(const scheduler::Write& write) {
  std::visit([this](const auto& one) { Keep(one); }, write);
}

void RowWriter::Keep(const scheduler::KeepSweep& write) {
  const sweep::Sweep& content = write.content;
  const scheduler::Sharing& sharing = write.sharing;
  const auto of = [&](auto part) {
    return content.subject ? std::optional(part(content.subject->member)) : std::nullopt;
  };
  const std::optional<SweepId> about = sweep::AboutSweep(content);
  const auto of_sweep = about ? std::optional(about->value) : std::nullopt;
  Run(sweep_, write.sweep.value, content.name, write.specification_sha256, write.request_id,
      std::to_string(content.seed), content.replicates, content.blocks, SweepToJson(content),
      content.notes, TagsToJson(content), Micros(write.at), write.file, Name(content.kind),
      of_sweep, of([](const MemberId& id) { return id.cell; }),
      of([](const MemberId& id) { return id.replicate; }), sharing.owner, sharing.priority,
      int{sharing.paused}, sharing.max_failures, int{sharing.archived},
      LimitsToJson(sharing.limits), sharing.weight, sharing.gpu_hours);
  KeepCells(write.sweep, write.cells);
  for (const sweep::NoisePlan& plan : content.plans) {
    for (const NoiseSource source : kAllNoiseSources) {
      const LaneRule& rule = RuleOf(plan.rules, source);
      if (!IsTold(source, rule.state)) continue;
      Run(plan_source_, write.sweep.value, plan.name, Name(source), Name(rule.state),
          LevelsToJson(rule.levels));
    }
  }
  if (content.inference) KeepInference(write);
}

void RowWriter::KeepInference(const scheduler::KeepSweep& write) {
  for (const sweep::Cell& cell : write.cells) {
    for (uint32_t replicate = 0; replicate < cell.replicates; ++replicate) {
      const MemberId member = {write.sweep, cell.index, replicate};
      const MemberId of = sweep::SubjectOf(write.content, member).value();
      const sweep::GivenWeights& given = *sweep::WeightsOf(write.content, member);
      Run(inference_, write.sweep.value, cell.index, replicate, of.sweep.value, of.cell,
          of.replicate, given.sha256, given.size_bytes, given.file);
    }
  }
}

void RowWriter::KeepCells(SweepId sweep, const std::vector<sweep::Cell>& cells) {
  for (const sweep::Cell& cell : cells) {
    FillNumbers(cell.replicates);
    Run(cell_, sweep.value, cell.index, cell.plan, cell.block, cell.hardware, cell.stack,
        SettingsToJson(cell.axes), cell.replicates);
  }
}

void RowWriter::Keep(const scheduler::KeepSharing& write) {
  const scheduler::Sharing& sharing = write.sharing;
  Run(sharing_, sharing.priority, int{sharing.paused}, sharing.max_failures, int{sharing.archived},
      sharing.pardoned, LimitsToJson(sharing.limits), sharing.weight, sharing.gpu_hours,
      write.sweep.value);
}

void RowWriter::Keep(const scheduler::KeepShare& write) {
  if (write.weight == 1) return Run(even_share_, write.owner);
  Run(share_, write.owner, write.weight);
}

void RowWriter::Keep(const scheduler::KeepExtension& write) {
  const sweep::Sweep& content = write.content;
  Run(extension_, SweepToJson(content), write.specification_sha256, content.replicates,
      content.blocks, write.revision, write.sweep.value);
  for (const sweep::NoisePlan& plan : content.plans) {
    const uint32_t replicates = sweep::ReplicatesOf(content, plan);
    FillNumbers(replicates);
    Run(wider_, replicates, write.sweep.value, plan.name);
  }
  KeepCells(write.sweep, write.cells);
}

void RowWriter::Keep(const scheduler::DeleteSweep& write) {
  Run(delete_, Micros(write.at), write.sweep.value);
}

void RowWriter::Keep(const scheduler::KeepNotes& write) {
  Run(notes_, SweepToJson(write.content), write.content.notes, TagsToJson(write.content),
      write.revision, write.sweep.value);
}

void RowWriter::Keep(const scheduler::KeepWorkerUse& write) {
  Run(drained_, int{write.drained}, write.worker.value);
  Run(release_, write.worker.value);
  for (const std::string& unit : write.quarantined) Run(quarantine_, write.worker.value, unit);
}

// Twice as many each time.
void RowWriter::FillNumbers(uint32_t replicates) {
  if (numbers_ == 0) {
    count_numbers_.tryReset();
    count_numbers_.executeStep();
    numbers_ = count_numbers_.getColumn(0).getUInt();
    count_numbers_.tryReset();
  }
  for (; numbers_ < replicates; numbers_ *= 2) Run(more_numbers_, numbers_);
}

void RowWriter::Keep(const scheduler::KeepSpecification& write) {
  Run(specification_, write.sweep.value, write.cell, write.text);
}

void RowWriter::Keep(const scheduler::PinCell& write) {
  Run(pin_cell_, write.hardware, write.stack, write.fingerprint, write.build, write.sweep.value,
      write.cell);
}

void RowWriter::Keep(const scheduler::PinIdentity& write) {
  Run(pin_identity_, write.sweep.value, write.data_set, write.identity);
}

void RowWriter::Keep(const scheduler::KeepSchema& write) {
  Run(schema_, Blob{HashBytes(write.schema->identity())}, write.schema->ToJson());
}

void RowWriter::Keep(const scheduler::KeepSoftware& write) {
  Run(software_, write.software.fingerprint, write.software.text);
}

void RowWriter::Keep(const scheduler::KeepWorker& write) {
  Run(worker_, write.worker.value, write.name, std::to_string(write.identity), write.inventory,
      write.version, Micros(write.seen));
}

void RowWriter::Keep(const scheduler::KeepSeen& write) {
  Run(seen_, Micros(write.seen), write.worker.value);
}

void RowWriter::Keep(const scheduler::ForgetWorker& write) {
  Run(forget_worker_, write.worker.value);
}

void RowWriter::Keep(const scheduler::GrantLease& write) {
  const MemberId& member = write.member;
  Run(lease_, write.lease.value, member.sweep.value, member.cell, member.replicate, write.attempt,
      write.worker.value, write.slot, NumberOf(units_, write.unit),
      Blob{HashBytes(Sha256Hex(write.specification))}, Micros(write.at), write.gpus);
  records_.Begin(write.lease);
}

void RowWriter::Keep(const scheduler::DropLease& write) {
  Run(drop_lease_, Micros(write.at), Name(write.cause), write.reason, int{write.used},
      write.lease.value);
}

int64_t RowWriter::NumberOf(Names& names, const std::string& name) {
  const auto known = names.known.find(name);
  if (known != names.known.end()) return known->second;
  Run(names.add, name);
  names.find.tryReset();
  names.find.bind(1, name);
  names.find.executeStep();
  const int64_t number = names.find.getColumn(0).getInt64();
  names.find.tryReset();
  if (names.known.size() >= kMostKnownNames) names.known.clear();
  names.known[name] = number;
  return number;
}

int64_t RowWriter::NumberOfEnvironment(const std::string& facts) {
  const auto known = environments_.find(facts);
  if (known != environments_.end()) return known->second;
  const std::string sha256 = Sha256Hex(facts);
  const int64_t number = NumberOfHash(sha256);
  Run(environment_, number, sha256, facts);
  if (environments_.size() >= kMostKnownEnvironments) environments_.clear();
  environments_[facts] = number;
  return number;
}

int64_t RowWriter::NumberOfData(const std::string& identity) {
  const auto known = data_.find(identity);
  if (known != data_.end()) return known->second;
  const int64_t number = NumberOfHash(Sha256Hex(identity));
  Run(identity_, number, identity);
  if (data_.size() >= kMostKnownNames) data_.clear();
  data_[identity] = number;
  return number;
}

void RowWriter::Keep(const scheduler::KeepRecords& write) {
  records_.Keep(write.lease, write.batch.sequence, write.batch.records,
                [this](const std::string& metric) { return NumberOf(metrics_, metric); });
}

void RowWriter::Keep(const scheduler::KeepOutcome& write) {
  const ingest::AttemptOutcome& outcome = write.outcome;
  std::optional<int64_t> environment;
  if (!outcome.environment.empty()) environment = NumberOfEnvironment(outcome.environment);
  std::optional<int64_t> identity;
  if (!outcome.data_identity.empty()) identity = NumberOfData(outcome.data_identity);
  Run(attempt_, write.lease.value, Name(outcome.kind), int{write.accepted}, write.reason,
      Name(outcome.cause), outcome.message, environment, outcome.measured, identity,
      NumberList(outcome.per_class_accuracy), StoredValue(outcome.train_seconds),
      SpecialOf(outcome.train_seconds), outcome.record_batches, Micros(write.at));
  KeepDetails(write.lease, outcome);
}

void RowWriter::KeepDetails(LeaseId lease, const ingest::AttemptOutcome& outcome) {
  for (const auto& [name, sha256] : outcome.hashes) {
    Run(hash_, lease.value, name, Blob{HashBytes(sha256)});
  }
  for (const auto& [name, value] : outcome.metrics) {
    Run(metric_, lease.value, name, StoredValue(value), SpecialOf(value));
  }
  for (const Artifact& artifact : outcome.artifacts) {
    Run(artifact_, lease.value, artifact.kind, artifact.path, artifact.sha256, artifact.size);
  }
}

void RowWriter::Keep(const scheduler::SetMemberState& write) {
  Run(member_state_, Name(write.state), write.attempt, write.forgiven, write.member.sweep.value,
      write.member.cell, write.member.replicate);
}

void RowWriter::Keep(const scheduler::SetUntouched& write) {
  Run(untouched_, Name(write.state), write.sweep.value, write.cell);
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
  Run(event_, write.number.value, sweep, cell, replicate, write.kind, write.text, Micros(write.at),
      write.caller);
}

void RowWriter::Keep(const scheduler::KeepToken& write) {
  const access::TokenRecord& token = write.token;
  Run(token_, token.number, token.identity, static_cast<int>(token.role),
      Blob{std::string(token.sha256.begin(), token.sha256.end())}, Micros(token.created),
      Micros(token.expires), token.created_by);
}

void RowWriter::Keep(const scheduler::RevokeToken& write) {
  Run(revoke_token_, Micros(write.at), write.token);
}

void RowWriter::Keep(const scheduler::KeepPool& write) {
  const fleet::PoolRecord& pool = write.pool;
  Run(pool_, pool.number, pool.wish.name, WishToJson(pool.wish), pool.tag,
      static_cast<int>(pool.state), pool.why, pool.forgiven, LearnedToJson(pool), pool.created_by,
      Micros(pool.created));
}

void RowWriter::Keep(const scheduler::KeepLaunch& write) {
  const fleet::LaunchRecord& launch = write.launch;
  const auto when = [](absl::Time time) -> std::optional<int64_t> {
    if (time == absl::InfiniteFuture()) return std::nullopt;
    return Micros(time);
  };
  Run(launch_, launch.number, launch.pool, launch.nonce, launch.index, launch.stays ? 1 : 0,
      launch.job, static_cast<int>(launch.phase), static_cast<int>(launch.end), launch.reason,
      launch.node, launch.heard ? 1 : 0, Micros(launch.created), when(launch.began),
      when(launch.ended));
}

void RowWriter::Keep(const scheduler::DropPool& write) {
  Run(drop_pool_, Micros(write.at), write.pool);
}

void RowWriter::Keep(const scheduler::CollectArtifacts& write) {
  for (const scheduler::CollectedArtifact& artifact : write.artifacts) {
    Run(collect_, Micros(write.at), artifact.lease.value, artifact.kind, artifact.path);
  }
}

}  // namespace noisefloor
