#include "coordinator/query/member_reader.h"

#include <fmt/format.h>

#include "absl/time/time.h"

#include "common/trainer_protocol/json.h"
#include "coordinator/query/rows.h"
#include "coordinator/query/to_proto.h"
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

std::string TimeText(int64_t us) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(us), absl::UTCTimeZone());
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

MemberReader::MemberReader(SQLite::Database& database)
    : member_(database,
              "SELECT c.block, c.plan, c.hardware, c.stack, c.axes, m.state, m.attempt "
              "FROM member m JOIN cell c ON c.sweep = m.sweep AND c.cell = m.cell "
              "WHERE m.sweep = ? AND m.cell = ? AND m.replicate = ?"),
      lanes_(database,
             "SELECT source, state, lane, seed FROM lane "
             "WHERE sweep = ? AND cell = ? AND replicate = ?"),
      worker_(
          database,
          "SELECT w.name FROM lease l JOIN worker w USING (worker) "
          "WHERE l.sweep = ? AND l.cell = ? AND l.replicate = ? ORDER BY l.attempt DESC LIMIT 1"),
      // The accepted attempt first, else the last one that ended or was lost.
      outcome_(database,
               "SELECT l.lease, a.outcome, a.cause, a.message, a.train_seconds, "
               "a.train_seconds_special, a.data_identity, a.record_batches, e.facts, a.accepted, "
               "l.drop_cause, l.drop_reason FROM lease l LEFT JOIN attempt a USING (lease) "
               "LEFT JOIN environment e ON e.sha256 = a.environment "
               "WHERE l.sweep = ? AND l.cell = ? AND l.replicate = ? "
               "ORDER BY coalesce(a.accepted, 0) DESC, l.attempt DESC LIMIT 1"),
      together_(database, kFailedTogether),
      hashes_(database, "SELECT name, sha256 FROM attempt_hash WHERE lease = ?"),
      metrics_(database, "SELECT name, value, special FROM attempt_metric WHERE lease = ?"),
      artifacts_(database,
                 "SELECT kind, path, sha256, size_bytes FROM artifact WHERE lease = ? "
                 "ORDER BY kind, path"),
      history_(database,
               "SELECT l.attempt, w.name, l.lease, l.granted_us, l.dropped_us, a.ended_us, "
               "a.outcome, a.cause, a.message, a.accepted, a.refused_because, l.drop_reason "
               "FROM lease l JOIN worker w USING (worker) LEFT JOIN attempt a USING (lease) "
               "WHERE l.sweep = ? AND l.cell = ? AND l.replicate = ? ORDER BY l.attempt") {}

std::optional<v1::Member> MemberReader::Read(const MemberId& id) {
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
  ReadSources(id, member);
  ReadLastWorker(id, member);
  ReadOutcome(id, member);
  return member;
}

void MemberReader::ReadSources(const MemberId& id, v1::Member& member) {
  Bind(lanes_, id);
  while (lanes_.executeStep()) {
    v1::SourceLane& lane = (*member.mutable_sources())[lanes_.getColumn(0).getString()];
    lane.set_state(SourceStateFromName(lanes_.getColumn(1).getString()));
    lane.set_lane(lanes_.getColumn(2).getUInt());
    lane.set_seed(UnsignedOf(lanes_.getColumn(3).getString()));
  }
}

void MemberReader::ReadLastWorker(const MemberId& id, v1::Member& member) {
  Bind(worker_, id);
  if (worker_.executeStep()) member.set_worker(worker_.getColumn(0).getString());
}

void MemberReader::ReadOutcome(const MemberId& id, v1::Member& member) {
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
  outcome.set_data_identity(outcome_.getColumn(6).getString());
  outcome.set_record_batches(static_cast<uint64_t>(outcome_.getColumn(7).getInt64()));
  outcome.set_environment(outcome_.getColumn(8).getString());
  ReadDetails(outcome_.getColumn(0).getInt64(), outcome);
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

void MemberReader::ReadDetails(int64_t lease, v1::Outcome& outcome) {
  for (SQLite::Statement* statement : {&hashes_, &metrics_, &artifacts_}) {
    statement->reset();
    statement->bind(1, lease);
  }
  while (hashes_.executeStep()) {
    (*outcome.mutable_hashes())[hashes_.getColumn(0).getString()] =
        hashes_.getColumn(1).getString();
  }
  while (metrics_.executeStep()) {
    const std::string name = metrics_.getColumn(0).getString();
    const std::optional<size_t> label = ClassOf(name);
    if (!label) {
      (*outcome.mutable_metrics())[name] = NumberAt(metrics_, 1);
      continue;
    }
    auto& classes = *outcome.mutable_per_class_accuracy();
    while (classes.size() <= static_cast<int>(*label)) classes.Add(0);
    classes.Set(static_cast<int>(*label), NumberAt(metrics_, 1));
  }
  while (artifacts_.executeStep()) {
    v1::Artifact& artifact = *outcome.add_artifacts();
    artifact.set_kind(artifacts_.getColumn(0).getString());
    artifact.set_path(artifacts_.getColumn(1).getString());
    artifact.set_sha256(artifacts_.getColumn(2).getString());
    artifact.set_size(static_cast<uint64_t>(artifacts_.getColumn(3).getInt64()));
  }
}

std::vector<std::string> MemberReader::History(const MemberId& id) {
  std::vector<std::string> lines;
  Bind(history_, id);
  while (history_.executeStep()) lines.push_back(HistoryLine(history_));
  return lines;
}

}  // namespace noisefloor::query
