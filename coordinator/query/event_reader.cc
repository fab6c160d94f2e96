#include "coordinator/query/event_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace noisefloor::query {

namespace {

constexpr std::string_view kLostWorker = "lost_worker";  // As Name(CauseClass::kLostWorker).
constexpr std::string_view kInterrupted = "interrupted";

void Bind(SQLite::Statement& statement, const MemberId& id) {
  statement.reset();
  statement.bind(1, static_cast<int64_t>(id.sweep.value));
  statement.bind(2, static_cast<int64_t>(id.cell));
  statement.bind(3, static_cast<int64_t>(id.replicate));
}

}  // namespace

EventKind KindOf(std::string_view stored, bool lost) {
  static const std::map<std::string_view, EventKind> kinds = {
      {"member_leased", EventKind::kLeased},      {"member_done", EventKind::kDone},
      {"member_diverged", EventKind::kDiverged},  {"member_waits_again", EventKind::kRetried},
      {"member_failed", EventKind::kFailed},      {"members_failed", EventKind::kFailed},
      {"sweep_cancelled", EventKind::kCancelled}, {"members_cancelled", EventKind::kCancelled},
      {"sweep_retried", EventKind::kRequeued},    {"members_retried", EventKind::kRequeued},
      {"sweep_submitted", EventKind::kSubmitted}, {"sweep_updated", EventKind::kUpdated},
      {"sweep_extended", EventKind::kExtended},
  };
  const auto found = kinds.find(stored);
  if (found == kinds.end()) return EventKind::kOther;
  const bool again = found->second == EventKind::kRetried;
  return again && lost ? EventKind::kLost : found->second;
}

EventReader::EventReader(SQLite::Database& database)
    : lease_(database,
             "SELECT l.lease, l.attempt, w.name, l.drop_cause FROM lease l "
             "JOIN worker w USING (worker) "
             "WHERE l.sweep = ?1 AND l.cell = ?2 AND l.replicate = ?3 AND CASE ?5 "
             "WHEN 1 THEN l.granted_us = ?4 WHEN 2 THEN l.dropped_us = ?4 "
             "WHEN 3 THEN (SELECT a.ended_us FROM attempt a WHERE a.lease = l.lease) = ?4 "
             "ELSE l.granted_us <= ?4 END ORDER BY l.attempt DESC LIMIT 1"),
      leases_(database,
              "SELECT l.lease, l.attempt, w.name, l.granted_us, l.dropped_us, l.drop_cause, "
              "l.drop_reason, a.accepted, a.outcome, m.state, m.attempt, m.forgiven "
              "FROM lease l JOIN worker w USING (worker) LEFT JOIN attempt a USING (lease) "
              "LEFT JOIN member m ON m.sweep = l.sweep AND m.cell = l.cell AND "
              "m.replicate = l.replicate "
              "WHERE l.sweep = ?1 AND l.cell = ?2 AND l.replicate = ?3 AND l.lease >= ?4 "
              "ORDER BY l.attempt"),
      asked_(database, fmt::format("SELECT {} FROM event WHERE sweep = ? AND cell IS NULL AND "
                                   "caller <> '' AND (kind = 'sweep_cancelled' OR "
                                   "kind = 'sweep_retried') ORDER BY event",
                                   kColumns)),
      newest_(database, "SELECT coalesce(max(event), 0) FROM event"),
      from_(database,
            "SELECT event, at_us, sweep, cell, replicate, kind FROM event WHERE event >= ? "
            "ORDER BY event") {}

void EventReader::FillLease(const MemberId& id, Match match, Event& event, bool* lost) {
  Bind(lease_, id);
  lease_.bind(4, event.unix_micros);
  lease_.bind(5, static_cast<int>(match));
  if (!lease_.executeStep()) return;
  event.lease = LeaseId{static_cast<uint64_t>(lease_.getColumn(0).getInt64())};
  event.attempt = lease_.getColumn(1).getUInt();
  event.worker = lease_.getColumn(2).getString();
  *lost = lease_.getColumn(3).getString() == kLostWorker;
}

Event EventReader::At(SQLite::Statement& row) {
  Event event;
  event.number = EventId{static_cast<uint64_t>(row.getColumn(0).getInt64())};
  event.text = row.getColumn(1).getString();
  event.caller = row.getColumn(5).getString();
  event.unix_micros = row.getColumn(7).getInt64();
  const std::string kind = row.getColumn(6).getString();
  bool lost = false;
  if (!row.getColumn(2).isNull()) {
    const MemberId id{SweepId{static_cast<uint64_t>(row.getColumn(4).getInt64())},
                      row.getColumn(2).getUInt(), row.getColumn(3).getUInt()};
    event.member = id;
    static const std::map<std::string_view, Match> matches = {
        {"member_leased", Match::kGranted},      {"member_done", Match::kDropped},
        {"member_diverged", Match::kDropped},    {"member_failed", Match::kDropped},
        {"member_waits_again", Match::kDropped}, {"lease_expired", Match::kDropped},
        {"late_result", Match::kReported}};
    const auto match = matches.find(kind);
    FillLease(id, match == matches.end() ? Match::kLive : match->second, event, &lost);
  }
  event.kind = KindOf(kind, lost);
  return event;
}

// How the lease that leases_ stands at has ended.
Event EventReader::EndOf(const MemberId& id) {
  const uint32_t attempt = leases_.getColumn(1).getUInt();
  const std::string cause = leases_.getColumn(5).getString();
  const std::string state = leases_.getColumn(9).getString();
  const bool reported = !leases_.getColumn(7).isNull();
  const bool accepted = reported && leases_.getColumn(7).getInt() == 1;
  const bool last = attempt == leases_.getColumn(10).getUInt();
  const bool forgiven = attempt <= leases_.getColumn(11).getUInt();
  const bool stopped =
      cause == kInterrupted && !reported && (last ? state == "cancelled" : forgiven);
  Event event;
  event.unix_micros = leases_.getColumn(4).getInt64();
  if (accepted) {
    event.kind =
        leases_.getColumn(8).getString() == "diverged" ? EventKind::kDiverged : EventKind::kDone;
    event.text = fmt::format("{} {} on {}", ToText(id), leases_.getColumn(8).getString(),
                             leases_.getColumn(2).getString());
  } else {
    event.kind = stopped                     ? EventKind::kCancelled
                 : last && state == "failed" ? EventKind::kFailed
                 : cause == kLostWorker      ? EventKind::kLost
                                             : EventKind::kRetried;
    event.text = fmt::format("{} attempt {} {}: {}", ToText(id), attempt, cause,
                             leases_.getColumn(6).getString());
  }
  return event;
}

Event EventReader::GrantOf(const MemberId& id) {
  Event event;
  event.unix_micros = leases_.getColumn(3).getInt64();
  event.kind = EventKind::kLeased;
  event.text = fmt::format("{} attempt {} on {}", ToText(id), leases_.getColumn(1).getUInt(),
                           leases_.getColumn(2).getString());
  return event;
}

std::vector<Event> EventReader::OfMember(const MemberId& id, LeaseId first, size_t told) {
  std::vector<Event> events;
  const auto add = [&](Event event) {
    event.member = id;
    event.lease = LeaseId{static_cast<uint64_t>(leases_.getColumn(0).getInt64())};
    event.attempt = leases_.getColumn(1).getUInt();
    event.worker = leases_.getColumn(2).getString();
    if (events.size() >= told) {
      event.number = EventId{NumberAt(id, event.unix_micros, event.kind == EventKind::kLeased)};
    }
    events.push_back(std::move(event));
  };
  Bind(leases_, id);
  leases_.bind(4, static_cast<int64_t>(first.value));
  while (leases_.executeStep()) {
    add(GrantOf(id));
    if (!leases_.getColumn(4).isNull()) add(EndOf(id));
  }
  return events;
}

std::vector<Event> EventReader::AskedOfSweep(SweepId sweep) {
  std::vector<Event> events;
  asked_.reset();
  asked_.bind(1, static_cast<int64_t>(sweep.value));
  while (asked_.executeStep()) events.push_back(At(asked_));
  return events;
}

// Numbers rise with time, so the first event of a moment is found by halves.
uint64_t EventReader::NumberAt(const MemberId& id, int64_t at_us, bool leased) {
  newest_.reset();
  newest_.executeStep();
  int64_t low = 1;
  int64_t high = newest_.getColumn(0).getInt64() + 1;
  const auto at = [this](int64_t number) {
    from_.reset();
    from_.bind(1, number);
    return from_.executeStep();
  };
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (at(middle) && from_.getColumn(1).getInt64() < at_us) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (bool there = at(low); there && from_.getColumn(1).getInt64() == at_us;
       there = from_.executeStep()) {
    const bool its = !from_.getColumn(3).isNull() &&
                     from_.getColumn(2).getInt64() == static_cast<int64_t>(id.sweep.value) &&
                     from_.getColumn(3).getUInt() == id.cell &&
                     from_.getColumn(4).getUInt() == id.replicate;
    const EventKind kind = KindOf(from_.getColumn(5).getString(), false);
    if (its && kind != EventKind::kOther && (kind == EventKind::kLeased) == leased) {
      return static_cast<uint64_t>(from_.getColumn(0).getInt64());
    }
  }
  return 0;
}

}  // namespace noisefloor::query
