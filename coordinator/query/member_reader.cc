#include "coordinator/query/member_reader.h"

#include <fmt/format.h>

#include "absl/time/time.h"

#include "common/base/seed.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/measured.h"
#include "coordinator/query/rows.h"
#include "coordinator/query/to_proto.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/special.h"

namespace noisefloor::query {

namespace {

void Bind(SQLite::Statement& statement, const MemberId& id) {
  statement.reset();
  statement.bind(1, static_cast<int64_t>(id.sweep.value));
  statement.bind(2, static_cast<int64_t>(id.cell));
  statement.bind(3, static_cast<int64_t>(id.replicate));
}

double NumberAt(SQLite::Statement& row, int column) {
  return FromStored(row.getColumn(column).getDouble(), row.getColumn(column + 1).getInt());
}

// "attempt 2 on box-1 (lease 17): 2026-01-01 10:00:00 to 10:02:00 UTC, failed (bug): message".
std::string HistoryLine(SQLite::Statement& row) {
  std::string line =
      fmt::format("attempt {} on {} (lease {}): from {} UTC", row.getColumn(0).getInt(),
                  row.getColumn(1).getString(), row.getColumn(2).getInt64(),
                  TimeText(row.getColumn(3).getInt64()));
  if (!row.getColumn(5).isNull()) {
    line += fmt::format(" to {} UTC, {}", TimeText(row.getColumn(5).getInt64()),
                        row.getColumn(6).getString());
    const std::string cause = row.getColumn(7).getString();
    if (cause != "none") line += fmt::format(" ({})", cause);
    if (!row.getColumn(8).getString().empty()) line += ": " + row.getColumn(8).getString();
    line += row.getColumn(9).getInt() == 1 ? "; accepted"
                                           : "; refused: " + row.getColumn(10).getString();
    return line;
  }
  if (row.getColumn(4).isNull()) return line + ", running";
  return line + fmt::format(" to {} UTC, lost: {}", TimeText(row.getColumn(4).getInt64()),
                            row.getColumn(11).getString());
}

}  // namespace

std::string TimeText(int64_t us) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(us), absl::UTCTimeZone());
}

MemberReader::MemberReader(SQLite::Database& database)
    : member_(database,
              "SELECT c.block, c.plan, c.hardware, c.stack, c.axes, "
              "coalesce(m.state, c.untouched), coalesce(m.attempt, 0) FROM cell c "
              "LEFT JOIN member m ON m.sweep = c.sweep AND m.cell = c.cell AND m.replicate = ?3 "
              "WHERE c.sweep = ?1 AND c.cell = ?2 AND ?3 < c.replicates"),
      sources_(database,
               "SELECT p.source, p.state, c.block, s.seed, coalesce(s.of_replicate, ?3) "
               "FROM cell c JOIN sweep s USING (sweep) "
               "JOIN plan_source p ON p.sweep = c.sweep AND p.plan = c.plan "
               "WHERE c.sweep = ?1 AND c.cell = ?2 AND ?3 < c.replicates"),
      worker_(
          database,
          "SELECT w.name FROM lease l JOIN worker w USING (worker) "
          "WHERE l.sweep = ? AND l.cell = ? AND l.replicate = ? ORDER BY l.attempt DESC LIMIT 1"),
      // The accepted attempt first, else the last one that ended or was lost.
      outcome_(database,
               "SELECT l.lease, a.outcome, a.cause, a.message, a.train_seconds, "
               "a.train_seconds_special, d.sha256, a.record_batches, e.facts, a.accepted, "
               "l.drop_cause, l.drop_reason, a.measured, a.class_accuracy "
               "FROM lease l LEFT JOIN attempt a USING (lease) "
               "LEFT JOIN environment e ON e.environment = a.environment "
               "LEFT JOIN data_identity d ON d.data_identity = a.data_identity "
               "WHERE l.sweep = ? AND l.cell = ? AND l.replicate = ? "
               "ORDER BY coalesce(a.accepted, 0) DESC, l.attempt DESC LIMIT 1"),
      together_(database, kFailedTogether),
      hashes_(database, "SELECT name, sha256 FROM attempt_hash WHERE lease = ?"),
      metrics_(database, "SELECT name, value, special FROM attempt_metric WHERE lease = ?"),
      artifacts_(
          database,
          "SELECT kind, path, sha256, size_bytes, collected_us FROM artifact WHERE lease = ? "
          "ORDER BY kind, path"),
      history_(database,
               "SELECT l.attempt, w.name, l.lease, l.granted_us, l.dropped_us, a.ended_us, "
               "a.outcome, a.cause, a.message, a.accepted, a.refused_because, l.drop_reason "
               "FROM lease l JOIN worker w USING (worker) LEFT JOIN attempt a USING (lease) "
               "WHERE l.sweep = ? AND l.cell = ? AND l.replicate = ? ORDER BY l.attempt") {}

std::optional<v1::Member> MemberReader::Read(const MemberId& id, v1::MemberView view) {
  Bind(member_, id);
  if (!member_.executeStep()) return std::nullopt;
  v1::Member member;
  member.set_id(ToText(id));
  member.set_sweep(id.sweep.value);
  member.set_cell(id.cell);
  member.set_replicate(id.replicate);
  member.set_block(member_.getColumn(0).getUInt());
  member.set_plan(member_.getColumn(1).getString());
  member.set_hardware(member_.getColumn(2).getString());
  member.set_stack(member_.getColumn(3).getString());
  for (v1::Setting& setting : SettingsIn(member_.getColumn(4).getString())) {
    *member.add_axes() = std::move(setting);
  }
  member.set_state(StateFromName(member_.getColumn(5).getString()));
  member.set_attempt(member_.getColumn(6).getUInt());
  if (view == v1::MEMBER_VIEW_FULL) ReadSources(id, member);
  ReadLastWorker(id, member);
  ReadOutcome(id, view, member);
  return member;
}

void MemberReader::ReadSources(const MemberId& id, v1::Member& member) {
  Bind(sources_, id);
  while (sources_.executeStep()) {
    const std::string name = sources_.getColumn(0).getString();
    const auto source = ParseNoiseSource(name);
    const auto state = ParseSourceState(sources_.getColumn(1).getString());
    if (!source || !state) continue;
    const Lane lane =
        LaneOf(*state, sources_.getColumn(2).getUInt(), sources_.getColumn(4).getUInt());
    v1::SourceLane& told = (*member.mutable_sources())[name];
    told.set_state(ToProto(*state));
    told.set_lane(lane.number);
    told.set_seed(DeriveSeed(UnsignedOf(sources_.getColumn(3).getString()), *source, lane));
  }
}

void MemberReader::ReadLastWorker(const MemberId& id, v1::Member& member) {
  Bind(worker_, id);
  if (worker_.executeStep()) member.set_worker(worker_.getColumn(0).getString());
}

void MemberReader::ReadOutcome(const MemberId& id, v1::MemberView view, v1::Member& member) {
  Bind(outcome_, id);
  if (!outcome_.executeStep()) return ReadWhyTogether(id, member);
  const bool accepted = outcome_.getColumn(9).getInt() == 1;
  if (!accepted && member.state() != v1::MEMBER_STATE_FAILED) return;
  v1::Outcome& outcome = *member.mutable_outcome();
  if (outcome_.getColumn(1).isNull()) {  // Lost: nobody said how it ended.
    outcome.set_kind(v1::Outcome::KIND_FAILED);
    outcome.set_cause(outcome_.getColumn(10).getString());
    outcome.set_message(outcome_.getColumn(11).getString());
    return;
  }
  outcome.set_kind(OutcomeKindFromName(outcome_.getColumn(1).getString()));
  if (const std::string cause = outcome_.getColumn(2).getString(); cause != "none") {
    outcome.set_cause(cause);
  }
  outcome.set_message(outcome_.getColumn(3).getString());
  outcome.set_train_seconds(NumberAt(outcome_, 4));
  ReadMetrics(outcome_.getColumn(0).getInt64(), outcome);
  if (view == v1::MEMBER_VIEW_FULL) ReadDetails(outcome);
}

// Of the attempt that outcome_ has.
void MemberReader::ReadDetails(v1::Outcome& outcome) {
  outcome.set_data_identity(outcome_.getColumn(6).getString());
  outcome.set_record_batches(static_cast<uint64_t>(outcome_.getColumn(7).getInt64()));
  outcome.set_environment(
      JoinEnvironment(outcome_.getColumn(8).getString(), outcome_.getColumn(12).getString()));
  for (const double value : NumbersIn(outcome_.getColumn(13).getString())) {
    outcome.add_per_class_accuracy(value);
  }
  for (SQLite::Statement* statement : {&hashes_, &artifacts_}) {
    statement->reset();
    statement->bind(1, outcome_.getColumn(0).getInt64());
  }
  while (hashes_.executeStep()) {
    (*outcome.mutable_hashes())[hashes_.getColumn(0).getString()] =
        HashText(hashes_.getColumn(1).getString());
  }
  while (artifacts_.executeStep()) {
    v1::Artifact& artifact = *outcome.add_artifacts();
    artifact.set_kind(artifacts_.getColumn(0).getString());
    artifact.set_path(artifacts_.getColumn(1).getString());
    artifact.set_sha256(artifacts_.getColumn(2).getString());
    artifact.set_size(static_cast<uint64_t>(artifacts_.getColumn(3).getInt64()));
    artifact.set_collected_unix_seconds(artifacts_.getColumn(4).getInt64() / 1000000);
  }
}

// Of a member that failed without an attempt of its own.
void MemberReader::ReadWhyTogether(const MemberId& id, v1::Member& member) {
  if (member.state() != v1::MEMBER_STATE_FAILED) return;
  together_.reset();
  together_.bind(1, static_cast<int64_t>(id.sweep.value));
  if (!together_.executeStep()) return;
  v1::Outcome& outcome = *member.mutable_outcome();
  outcome.set_kind(v1::Outcome::KIND_FAILED);
  outcome.set_cause(std::string(Name(CauseClass::kBadData)));
  outcome.set_message(together_.getColumn(0).getString());
}

void MemberReader::ReadMetrics(int64_t lease, v1::Outcome& outcome) {
  metrics_.reset();
  metrics_.bind(1, lease);
  while (metrics_.executeStep()) {
    (*outcome.mutable_metrics())[metrics_.getColumn(0).getString()] = NumberAt(metrics_, 1);
  }
}

std::vector<std::string> MemberReader::History(const MemberId& id) {
  std::vector<std::string> lines;
  Bind(history_, id);
  while (history_.executeStep()) lines.push_back(HistoryLine(history_));
  return lines;
}

}  // namespace noisefloor::query
