#include "coordinator/loop/kept.h"

#include <optional>
#include <span>
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
  const bool diverged = write.outcome.kind == Outcome::Kind::kDiverged;
  ++(diverged ? figures.members_diverged : figures.members_done);
}
void Count(const scheduler::AppendEvent& write, figures::LoopFigures& figures) {
  if (write.kind == "lease_expired") ++figures.leases_expired;
}
template <typename Other>
void Count(const Other&, figures::LoopFigures&) {}

size_t Rows(const scheduler::KeepSweep& write) {
  const size_t inferred = write.content.inference ? sweep::MemberCount(write.content) : 0;
  return 1 + write.cells.size() + write.content.plans.size() * kAllNoiseSources.size() + inferred;
}
size_t Rows(const scheduler::KeepExtension& write) { return 1 + write.cells.size(); }
size_t Rows(const scheduler::KeepRecords& write) { return write.batch.records.size(); }
size_t Rows(const scheduler::KeepOutcome& write) {
  const ingest::AttemptOutcome& outcome = write.outcome;
  return 1 + outcome.hashes.size() + outcome.metrics.size() + outcome.artifacts.size();
}
// One, and what it says to its worker: a specification is made, hashed and sent.
size_t Rows(const scheduler::GrantLease&) { return 4; }
size_t Rows(const scheduler::CollectArtifacts& write) { return write.artifacts.size(); }
template <typename Other>
size_t Rows(const Other&) {
  return 1;
}

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

// The newest lease that these writes give the member.
std::optional<RunningAttempt> GrantIn(std::span<const scheduler::Write> writes,
                                      const MemberId& member) {
  for (size_t i = writes.size(); i > 0; --i) {
    const auto* grant = std::get_if<scheduler::GrantLease>(&writes[i - 1]);
    if (grant == nullptr || grant->member != member) continue;
    return RunningAttempt{grant->lease, grant->member, grant->attempt, grant->worker};
  }
  return std::nullopt;
}

// Which attempt the event is of: the one that has just been granted, or that ran before them.
std::optional<RunningAttempt> AttemptOf(const scheduler::AppendEvent& event,
                                        std::span<const scheduler::Write> before,
                                        const WhoRuns& who) {
  if (event.kind != "member_leased") {
    if (const auto running = who.attempt(*event.member)) return running;
  }
  return GrantIn(before, *event.member);
}

}  // namespace

size_t RowsOf(const std::vector<scheduler::Write>& writes) {
  size_t rows = 0;
  for (const scheduler::Write& write : writes) {
    rows += std::visit([](const auto& one) { return Rows(one); }, write);
  }
  return rows;
}

void CountKept(const std::vector<scheduler::Write>& writes, figures::LoopFigures& figures) {
  for (const scheduler::Write& write : writes) {
    std::visit([&](const auto& one) { Count(one, figures); }, write);
  }
}

void LogKept(const std::vector<scheduler::Write>& writes, const WhoRuns& who) {
  for (size_t i = 0; i < writes.size(); ++i) {
    const auto* event = std::get_if<scheduler::AppendEvent>(&writes[i]);
    if (event == nullptr || IsSaidElsewhere(event->kind) || !IsLogged(LevelOf(event->kind))) {
      continue;
    }
    std::vector<LogField> fields;
    if (event->sweep) fields.emplace_back("sweep", ToText(*event->sweep));
    if (event->member) {
      fields.emplace_back("member", ToText(*event->member));
      if (const auto attempt = AttemptOf(*event, std::span(writes).first(i), who)) {
        fields.emplace_back("attempt", attempt->attempt);
        fields.emplace_back("lease", attempt->lease.value);
        fields.emplace_back("worker", who.name(attempt->worker));
      }
    }
    if (!event->caller.empty()) fields.emplace_back("caller", event->caller);
    fields.emplace_back("text", event->text);
    LogWith(LevelOf(event->kind), event->kind, fields);
  }
}

}  // namespace noisefloor
