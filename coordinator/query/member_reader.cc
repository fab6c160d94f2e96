#include "coordinator/query/member_reader.h"

#include <fmt/format.h>

#include <utility>

#include "absl/time/time.h"

#include "common/base/seed.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/measured.h"
#include "coordinator/query/rows.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/recover_check.h"
#include "coordinator/store/special.h"
#include "coordinator/store/sweep_json.h"

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
               "SELECT p.source, p.state, c.block, s.seed, coalesce(s.of_replicate, ?3), p.levels "
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
      inference_(database,
                 "SELECT of_sweep, of_cell, of_replicate, file FROM inference "
                 "WHERE sweep = ? AND cell = ? AND replicate = ?"),
      history_(database,
               "SELECT l.attempt, w.name, l.lease, l.granted_us, l.dropped_us, a.ended_us, "
               "a.outcome, a.cause, a.message, a.accepted, a.refused_because, l.drop_reason "
               "FROM lease l JOIN worker w USING (worker) LEFT JOIN attempt a USING (lease) "
               "WHERE l.sweep = ? AND l.cell = ? AND l.replicate = ? ORDER BY l.attempt") {}

absl::StatusOr<std::optional<Member>> MemberReader::Read(const MemberId& id, MemberView view) {
  Bind(member_, id);
  if (!member_.executeStep()) return std::nullopt;
  Member member;
  member.id = id;
  member.block = member_.getColumn(0).getUInt();
  member.plan = member_.getColumn(1).getString();
  member.hardware = member_.getColumn(2).getString();
  member.stack = member_.getColumn(3).getString();
  member.axes = AxesOf(member_.getColumn(4).getString());
  NF_ASSIGN_OR_RETURN(member.state, StateOf(id, member_.getColumn(5).getString()));
  member.attempt = member_.getColumn(6).getUInt();
  if (view == MemberView::kFull) ReadSources(id, member);
  ReadLastWorker(id, member);
  ReadSubject(id, member);
  NF_RETURN_IF_ERROR(ReadOutcome(id, view, member));
  return member;
}

// Members of a cell come one after another.
const Settings& MemberReader::AxesOf(std::string json) {
  if (json != axes_text_) {
    axes_ = SettingsIn(json);
    axes_text_ = std::move(json);
  }
  return axes_;
}

void MemberReader::ReadSources(const MemberId& id, Member& member) {
  Bind(sources_, id);
  while (sources_.executeStep()) {
    const auto source = ParseNoiseSource(sources_.getColumn(0).getString());
    const auto state = ParseSourceState(sources_.getColumn(1).getString());
    auto levels = LevelsFromJson(sources_.getColumn(5).getString());
    if (!source || !state || !levels) continue;
    const LaneRule rule{*state, *std::move(levels)};
    const Lane lane =
        LaneOf(rule, sources_.getColumn(2).getUInt(), sources_.getColumn(4).getUInt());
    const uint64_t seed = DeriveSeed(UnsignedOf(sources_.getColumn(3).getString()), *source, lane);
    member.sources[*source] = {*state, lane, seed};
  }
}

void MemberReader::ReadLastWorker(const MemberId& id, Member& member) {
  Bind(worker_, id);
  if (worker_.executeStep()) member.worker = worker_.getColumn(0).getString();
}

void MemberReader::ReadSubject(const MemberId& id, Member& member) {
  Bind(inference_, id);
  if (!inference_.executeStep()) return;
  member.subject = {SweepId{static_cast<uint64_t>(inference_.getColumn(0).getInt64())},
                    inference_.getColumn(1).getUInt(), inference_.getColumn(2).getUInt()};
  member.weights_file = inference_.getColumn(3).getString();
}

absl::Status MemberReader::ReadOutcome(const MemberId& id, MemberView view, Member& member) {
  Bind(outcome_, id);
  if (!outcome_.executeStep()) {
    ReadWhyTogether(id, member);
    return absl::OkStatus();
  }
  const bool accepted = outcome_.getColumn(9).getInt() == 1;
  if (!accepted && member.state != MemberState::kFailed) return absl::OkStatus();
  const bool lost = outcome_.getColumn(1).isNull();  // Nobody said how it ended.
  const auto kind = ParseOutcomeKind(lost ? "failed" : outcome_.getColumn(1).getString());
  const std::string name = outcome_.getColumn(lost ? 10 : 2).getString();
  const auto cause = name.empty() ? CauseClass::kNone : ParseCauseClass(name);
  if (!kind || !cause) return Damaged(ToText(id), "how its attempt ended is nothing we know");
  ingest::AttemptOutcome& attempt = member.outcome.emplace().attempt;
  attempt.kind = *kind;
  attempt.cause = *cause;
  attempt.message = outcome_.getColumn(lost ? 11 : 3).getString();
  if (lost) return absl::OkStatus();
  attempt.train_seconds = NumberAt(outcome_, 4);
  ReadMetrics(outcome_.getColumn(0).getInt64(), attempt);
  if (view == MemberView::kFull) ReadDetails(*member.outcome);
  return absl::OkStatus();
}

// Of the attempt that outcome_ has.
void MemberReader::ReadDetails(MemberEnd& outcome) {
  ingest::AttemptOutcome& attempt = outcome.attempt;
  attempt.data_identity = outcome_.getColumn(6).getString();
  attempt.record_batches = static_cast<uint64_t>(outcome_.getColumn(7).getInt64());
  attempt.environment =
      JoinEnvironment(outcome_.getColumn(8).getString(), outcome_.getColumn(12).getString());
  attempt.per_class_accuracy = NumbersIn(outcome_.getColumn(13).getString());
  for (SQLite::Statement* statement : {&hashes_, &artifacts_}) {
    statement->reset();
    statement->bind(1, outcome_.getColumn(0).getInt64());
  }
  while (hashes_.executeStep()) {
    attempt.hashes[hashes_.getColumn(0).getString()] = HashText(hashes_.getColumn(1).getString());
  }
  while (artifacts_.executeStep()) {
    attempt.artifacts.push_back({artifacts_.getColumn(0).getString(),
                                 artifacts_.getColumn(1).getString(),
                                 artifacts_.getColumn(2).getString(),
                                 static_cast<uint64_t>(artifacts_.getColumn(3).getInt64())});
    outcome.removed_unix_seconds.push_back(artifacts_.getColumn(4).getInt64() / 1000000);
  }
}

// Of a member that failed without an attempt of its own.
void MemberReader::ReadWhyTogether(const MemberId& id, Member& member) {
  if (member.state != MemberState::kFailed) return;
  if (together_of_ != id.sweep) {
    together_.reset();
    together_.bind(1, static_cast<int64_t>(id.sweep.value));
    why_together_.reset();
    if (together_.executeStep()) why_together_ = together_.getColumn(0).getString();
    together_of_ = id.sweep;
  }
  if (!why_together_) return;
  ingest::AttemptOutcome& attempt = member.outcome.emplace().attempt;
  attempt.cause = CauseClass::kBadData;
  attempt.message = *why_together_;
}

void MemberReader::ReadMetrics(int64_t lease, ingest::AttemptOutcome& attempt) {
  metrics_.reset();
  metrics_.bind(1, lease);
  while (metrics_.executeStep()) {
    attempt.metrics[metrics_.getColumn(0).getString()] = NumberAt(metrics_, 1);
  }
}

std::vector<std::string> MemberReader::History(const MemberId& id) {
  std::vector<std::string> lines;
  Bind(history_, id);
  while (history_.executeStep()) lines.push_back(HistoryLine(history_));
  return lines;
}

}  // namespace noisefloor::query
