#include "coordinator/query/sweep_rows.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "common/base/reason.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/query/as_submitted.h"
#include "coordinator/query/event_reader.h"
#include "coordinator/store/recover_check.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/resolved_file.h"

namespace noisefloor::query {

namespace {

constexpr int64_t kMicroseconds = 1000000;
constexpr int kMostEvents = 1000;

// At the pace of the members that have ended, on as many slots as train now; where none does, at
// the rate of the last minutes. 0: nobody can say.
double SecondsLeft(const SweepProgress& progress) {
  constexpr double kSecondsOfAnHour = 3600;
  const double left = progress.waiting + progress.leased - progress.running;
  if (left <= 0 || (progress.paused && progress.leased == 0)) return 0;
  if (progress.leased > 0 && progress.mean_seconds > 0) {
    return left * progress.mean_seconds / progress.leased;
  }
  return progress.members_per_hour > 0 ? left / progress.members_per_hour * kSecondsOfAnHour : 0;
}

int64_t NewestEvent(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database, "SELECT max(event) FROM event WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  return row.executeStep() ? row.getColumn(0).getInt64() : 0;
}

// Of a JSON list of texts.
std::optional<std::vector<std::string>> TextsIn(std::string_view json) {
  const absl::StatusOr<Json> list = ParseJson(json);
  if (!list.ok() || !list->is_array()) return std::nullopt;
  std::vector<std::string> texts;
  for (const Json& text : *list) {
    if (!text.is_string()) return std::nullopt;
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

// From columns, and of the definition no more than the classes.
absl::StatusOr<RevisionCache<SweepFacts>::Entry> ReadFacts(SQLite::Database& database,
                                                           uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT name, submitted_us, specification_sha256, "
                        "iif(json_valid(definition), json_extract(definition, '$.hardware'), ''), "
                        "kind, of_sweep, of_cell, of_replicate, revision "
                        "FROM sweep WHERE sweep = ? AND deleted_us IS NULL");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) {
    return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
  }
  const auto hardware = TextsIn(row.getColumn(3).getString());
  const auto kind = sweep::ParseKind(row.getColumn(4).getString());
  const std::string id = ToText(SweepId{sweep});
  if (!hardware) return Damaged(id, "its definition is not what was kept");
  if (!kind) return Damaged(id, "its kind is none");
  RevisionCache<SweepFacts>::Entry entry;
  entry.revision = row.getColumn(8).getUInt();
  SweepFacts& facts = entry.what;
  facts.id = SweepId{sweep};
  facts.name = row.getColumn(0).getString();
  facts.submitted_unix_seconds = row.getColumn(1).getInt64() / kMicroseconds;
  facts.specification_sha256 = row.getColumn(2).getString();
  facts.kind = *kind;
  if (*kind == sweep::Kind::kInfer) {
    facts.of_sweep = SweepId{static_cast<uint64_t>(row.getColumn(5).getInt64())};
  } else if (!row.getColumn(5).isNull()) {
    facts.of = {SweepId{static_cast<uint64_t>(row.getColumn(5).getInt64())},
                row.getColumn(6).getUInt(), row.getColumn(7).getUInt()};
  }
  for (const std::string& name : *hardware) {
    if (!name.empty()) facts.hardware.push_back(name);
  }
  return entry;
}

absl::StatusOr<RevisionCache<sweep::SweepRequest>::Entry> ReadSubmitted(SQLite::Database& database,
                                                                        uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT definition, revision FROM sweep "
                        "WHERE sweep = ? AND deleted_us IS NULL");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) {
    return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
  }
  NF_ASSIGN_OR_RETURN(const sweep::Sweep definition, SweepFromJson(row.getColumn(0).getString()));
  return RevisionCache<sweep::SweepRequest>::Entry{AsSubmitted(definition),
                                                   row.getColumn(1).getUInt()};
}

// Of which revision it is.
absl::StatusOr<uint32_t> AddSubmitted(SQLite::Database& database, SweepCaches& caches,
                                      SweepSummary& summary) {
  const uint64_t sweep = summary.facts->id.value;
  NF_ASSIGN_OR_RETURN(auto known, caches.submitted.Get(sweep, summary.now.revision, [&] {
    return ReadSubmitted(database, sweep);
  }));
  summary.submitted = std::move(known.what);
  return known.revision;
}

// " by ada"; empty: nobody knows.
std::string ByWhom(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT caller FROM event WHERE sweep = ? AND kind = 'sweep_deleted'");
  row.bind(1, static_cast<int64_t>(sweep));
  const std::string caller = row.executeStep() ? row.getColumn(0).getString() : "";
  return caller.empty() ? "" : " by " + caller;
}

// Of a sweep that is counted so.
absl::StatusOr<SweepSummary> SummaryAt(SQLite::Database& database, uint64_t sweep, SweepView view,
                                       std::optional<SweepProgress> now, SweepCaches& caches) {
  if (!now) return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
  SweepSummary summary;
  NF_ASSIGN_OR_RETURN(auto facts, caches.facts.Get(sweep, now->revision,
                                                   [&] { return ReadFacts(database, sweep); }));
  summary.facts = std::move(facts.what);
  summary.progress = now->done + now->diverged + now->failed + now->running;
  summary.seconds_left = SecondsLeft(*now);
  summary.now = *std::move(now);
  if (view == SweepView::kFull) {
    NF_RETURN_IF_ERROR(AddSubmitted(database, caches, summary).status());
  }
  return summary;
}

}  // namespace

absl::Status NoSweep(uint64_t sweep, std::string_view message) {
  ReasonMetadata which;
  if (sweep != 0) which["sweep"] = fmt::format("s{}", sweep);
  return Because(MakeError(absl::StatusCode::kNotFound, message), Reason::kSweepNotFound, which);
}

absl::StatusOr<uint64_t> FindSweep(SQLite::Database& database, uint64_t sweep) {
  if (sweep != 0) {
    SQLite::Statement row(database, "SELECT deleted_us IS NOT NULL FROM sweep WHERE sweep = ?");
    row.bind(1, static_cast<int64_t>(sweep));
    if (row.executeStep()) {
      if (row.getColumn(0).getInt() == 0) return sweep;
      return NoSweep(sweep, fmt::format("s{} was deleted{}", sweep, ByWhom(database, sweep)));
    }
  }
  const int64_t newest = database
                             .execAndGet(
                                 "SELECT max(sweep) FROM sweep WHERE kind IN ('train', 'measure') "
                                 "AND deleted_us IS NULL")
                             .getInt64();
  if (newest == 0 && sweep == 0) {
    return NoSweep(0, "there is no sweep in this data directory yet");
  }
  if (sweep == 0) return static_cast<uint64_t>(newest);
  const int64_t last =
      database.execAndGet("SELECT max(sweep) FROM sweep WHERE deleted_us IS NULL").getInt64();
  return NoSweep(sweep, last == 0
                            ? fmt::format("s{}: there is no sweep in this data directory", sweep)
                            : fmt::format("s{}: no such sweep; the newest is s{}", sweep, last));
}

absl::StatusOr<SweepOfKind> FindSweepOfKind(SQLite::Database& database, uint64_t asked) {
  SweepOfKind found;
  NF_ASSIGN_OR_RETURN(found.sweep, FindSweep(database, asked));
  SQLite::Statement row(database, "SELECT kind FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(found.sweep));
  if (!row.executeStep()) return NoSweep(found.sweep, "it is gone");
  const std::optional<sweep::Kind> kind = sweep::ParseKind(row.getColumn(0).getString());
  if (!kind) return NoSweep(found.sweep, "its kind is not known");
  found.kind = *kind;
  return found;
}

// Members of another kind are no draws of a plan: a study of them would say what is not so.
absl::Status CheckIsStudy(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT kind, of_sweep, of_cell, of_replicate FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep() || row.getColumn(1).isNull()) return absl::OkStatus();
  const MemberId of = {SweepId{static_cast<uint64_t>(row.getColumn(1).getInt64())},
                       row.getColumn(2).getUInt(), row.getColumn(3).getUInt()};
  if (row.getColumn(0).getString() == Name(sweep::Kind::kInfer)) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("s{0} evaluates weights of {1} and is no study of trainings; "
                                 "`noisefloor report s{0}` says what changes on the way",
                                 sweep, ToText(of.sweep)));
  }
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("s{} is a {} of {} and no study of its own", sweep,
                               row.getColumn(0).getString(), ToText(of)));
}

absl::StatusOr<Definition> ReadDefinition(SQLite::Database& database, uint64_t asked) {
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, asked));
  SQLite::Statement row(database,
                        "SELECT definition, specification_sha256 FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  row.executeStep();
  Definition definition;
  NF_ASSIGN_OR_RETURN(definition.sweep, SweepFromJson(row.getColumn(0).getString()));
  definition.specification_sha256 = row.getColumn(1).getString();
  return definition;
}

absl::StatusOr<SweepSummary> Summarise(SQLite::Database& database, uint64_t sweep, SweepView view,
                                       const LiveFacts& live, SweepCaches& caches) {
  return SummaryAt(database, sweep, view, live.sweep(SweepId{sweep}), caches);
}

absl::StatusOr<SweepWhole> ReadSweep(SQLite::Database& database, uint64_t sweep,
                                     const LiveFacts& live, SweepCaches& caches) {
  SweepWhole whole;
  NF_ASSIGN_OR_RETURN(whole.sweep, Summarise(database, sweep, SweepView::kFull, live, caches));
  SQLite::Statement row(database, "SELECT file, definition FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) {
    return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
  }
  whole.file = row.getColumn(0).getString();
  NF_ASSIGN_OR_RETURN(const sweep::Sweep definition, SweepFromJson(row.getColumn(1).getString()));
  whole.resolved_file = sweep::ResolvedFile(definition);
  return whole;
}

// Whether a sweep is archived is asked of who counts it: the columns behind a definition cost as
// much as the definition.
absl::StatusOr<SweepPage> ReadSweeps(SQLite::Database& database, const SweepQuestion& question,
                                     const LiveFacts& live, SweepCaches& caches) {
  SQLite::Statement row(database,
                        "SELECT sweep FROM sweep WHERE sweep < ? AND sweep NOT IN "
                        "(SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL) "
                        "ORDER BY sweep DESC");
  row.bind(1, question.after ? static_cast<int64_t>(question.after->value)
                             : std::numeric_limits<int64_t>::max());
  SweepPage page;
  while (row.executeStep()) {
    const uint64_t sweep = static_cast<uint64_t>(row.getColumn(0).getInt64());
    absl::StatusOr<SweepSummary> summary = Summarise(database, sweep, question.view, live, caches);
    if (absl::IsNotFound(summary.status())) continue;  // Its submission is just being answered.
    NF_RETURN_IF_ERROR(summary.status());
    if (summary->now.archived && !question.archived) continue;
    if (page.sweeps.size() == question.most) {
      page.after = page.sweeps.back().facts->id;
      break;
    }
    page.sweeps.push_back(*std::move(summary));
  }
  return page;
}

absl::StatusOr<SweepNews> ReadNews(SQLite::Database& database, const SweepPlace& place,
                                   const LiveFacts& live, SweepCaches& caches) {
  // Before the first row, which is of a later moment then: the events of what is counted are there.
  std::optional<SweepProgress> now = live.sweep(place.sweep);
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, place.sweep.value));
  SweepNews news;
  news.place = place;
  if (place.after == EventId{}) {
    news.place.after = EventId{static_cast<uint64_t>(NewestEvent(database, sweep))};
  } else {
    EventReader events(database);
    SQLite::Statement row(database,
                          fmt::format("SELECT {} FROM event WHERE sweep = ? AND event > ? "
                                      "ORDER BY event LIMIT ?",
                                      EventReader::kColumns));
    row.bind(1, static_cast<int64_t>(sweep));
    row.bind(2, static_cast<int64_t>(place.after.value));
    row.bind(3, kMostEvents);
    while (row.executeStep()) {
      news.events.push_back(events.At(row));
      news.place.after = news.events.back().number;
    }
  }
  NF_ASSIGN_OR_RETURN(news.sweep,
                      SummaryAt(database, sweep, SweepView::kBasic, std::move(now), caches));
  if (place.revision != news.sweep.now.revision) {
    NF_ASSIGN_OR_RETURN(news.place.revision, AddSubmitted(database, caches, news.sweep));
  }
  return news;
}

std::vector<WorkerRow> ReadWorkers(SQLite::Database& database) {
  std::vector<WorkerRow> workers;
  SQLite::Statement row(database,
                        "SELECT worker, name, version, inventory, seen_us FROM worker "
                        "WHERE forgotten = 0 ORDER BY name, worker");
  while (row.executeStep()) {
    workers.push_back({WorkerId{static_cast<uint64_t>(row.getColumn(0).getInt64())},
                       row.getColumn(1).getString(), row.getColumn(2).getString(),
                       row.getColumn(3).getString(), row.getColumn(4).getInt64() / kMicroseconds});
  }
  return workers;
}

}  // namespace noisefloor::query
