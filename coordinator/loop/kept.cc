#include "coordinator/loop/kept.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/log/log.h"

namespace noisefloor {

namespace {

using scheduler::RunningAttempt;

void Count(const scheduler::GrantLease&, figures::LoopFigures& figures) {
  ++figures.leases_granted;
}
void Count(const scheduler::DropLease& write, figures::LoopFigures& figures) {
  ++figures.leases_ended[static_cast<size_t>(write.cause)];
}
void Count(const scheduler::KeepRecords& write, figures::LoopFigures& figures) {
  figures.records += write.batch.records.size();
}
void Count(const scheduler::KeepOutcome& write, figures::LoopFigures& figures) {
  if (!write.accepted) return;
  const bool diverged = write.outcome.kind == OutcomeEvent::Kind::kDiverged;
  ++(diverged ? figures.members_diverged : figures.members_done);
}
void Count(const scheduler::AppendEvent& write, figures::LoopFigures& figures) {
  if (write.kind == "lease_expired") ++figures.leases_expired;
}
template <typename Other>
void Count(const Other&, figures::LoopFigures&) {}

// How loud an event is: what happens in every life is not.
LogLevel LevelOf(std::string_view kind) {
  if (kind == "member_leased" || kind == "member_done") return LogLevel::kDebug;
  const bool is_trouble = kind == "member_failed" || kind == "members_failed" ||
                          kind == "lease_expired" || kind == "worker_quarantined" ||
                          kind == "worker_refused";
  return is_trouble ? LogLevel::kWarning : LogLevel::kInfo;
}

// The loop says these itself, when it happens: an event is kept only when it is over.
bool IsSaidElsewhere(std::string_view kind) {
  return kind == "storage_failed" || kind == "storage_recovered";
}

}  // namespace

void CountKept(const std::vector<scheduler::Write>& writes, figures::LoopFigures& figures) {
  for (const scheduler::Write& write : writes) {
    std::visit([&](const auto& one) { Count(one, figures); }, write);
  }
}

void LogKept(const std::vector<scheduler::Write>& writes, const WhoRuns& who) {
  std::map<MemberId, RunningAttempt> granted;  // In these writes.
  for (const scheduler::Write& write : writes) {
    if (const auto* grant = std::get_if<scheduler::GrantLease>(&write)) {
      if (!IsLogged(LogLevel::kInfo)) continue;
      granted[grant->member] = {grant->lease, grant->member, grant->attempt, grant->worker};
      continue;
    }
    const auto* event = std::get_if<scheduler::AppendEvent>(&write);
    if (event == nullptr || IsSaidElsewhere(event->kind) || !IsLogged(LevelOf(event->kind))) {
      continue;
    }
    std::vector<LogField> fields;
    std::optional<RunningAttempt> attempt;
    if (event->sweep) fields.emplace_back("sweep", ToText(*event->sweep));
    if (event->member) {
      fields.emplace_back("member", ToText(*event->member));
      const auto found = granted.find(*event->member);
      attempt = found != granted.end() ? found->second : who.attempt(*event->member);
    }
    if (attempt) {
      fields.emplace_back("attempt", attempt->attempt);
      fields.emplace_back("lease", attempt->lease.value);
      fields.emplace_back("worker", who.name(attempt->worker));
    }
    if (!event->caller.empty()) fields.emplace_back("caller", event->caller);
    fields.emplace_back("text", event->text);
    LogWith(LevelOf(event->kind), event->kind, fields);
  }
}

}  // namespace noisefloor
