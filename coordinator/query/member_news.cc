#include "coordinator/query/member_news.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "SQLiteCpp/Statement.h"

#include "coordinator/query/event_reader.h"
#include "coordinator/query/member_rows.h"
#include "coordinator/query/rows.h"
#include "coordinator/store/special.h"

namespace noisefloor::query {

namespace {

constexpr size_t kMostValues = 1000;  // Of a message.

// State of the member and its newest lease.
absl::Status ReadStanding(SQLite::Database& database, const MemberId& id, MemberNews& news) {
  SQLite::Statement row(
      database,
      "SELECT coalesce(m.state, c.untouched), "
      "(SELECT l.lease FROM lease l WHERE l.sweep = ?1 AND l.cell = ?2 AND l.replicate = ?3 "
      " ORDER BY l.attempt DESC LIMIT 1), coalesce(m.attempt, 0) FROM cell c "
      "LEFT JOIN member m ON m.sweep = c.sweep AND m.cell = c.cell AND m.replicate = ?3 "
      "WHERE c.sweep = ?1 AND c.cell = ?2");
  row.bind(1, static_cast<int64_t>(id.sweep.value));
  row.bind(2, static_cast<int64_t>(id.cell));
  row.bind(3, static_cast<int64_t>(id.replicate));
  if (!row.executeStep()) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(news.state, StateOf(id, row.getColumn(0).getString()));
  news.lease = LeaseId{static_cast<uint64_t>(row.getColumn(1).getInt64())};
  news.attempt = row.getColumn(2).getUInt();
  return absl::OkStatus();
}

// From the place on, which moves with them. Whether there are more.
bool ReadValues(SQLite::Database& database, MemberPlace& place, MemberNews& news) {
  SQLite::Statement row(database,
                        "SELECT r.batch, r.item, r.step, m.name, r.value "
                        "FROM record r JOIN metric m USING (metric) WHERE r.lease = ? AND "
                        "(r.batch, r.item) > (?, ?) AND r.step > ? ORDER BY r.batch, r.item");
  row.bind(1, static_cast<int64_t>(place.lease.value));
  row.bind(2, static_cast<int64_t>(place.batch));
  row.bind(3, place.item);
  row.bind(4, place.after_step);
  while (row.executeStep()) {
    if (news.values.size() == kMostValues) return true;
    place.batch = static_cast<uint64_t>(row.getColumn(0).getInt64());
    place.item = row.getColumn(1).getInt64();
    news.values.push_back(
        {row.getColumn(2).getInt64(), row.getColumn(3).getString(), ValueAt(row.getColumn(4))});
    news.progress.step = news.values.back().step;
  }
  return false;
}

}  // namespace

absl::StatusOr<MemberNews> ReadMemberNews(SQLite::Database& database, const MemberPlace& place,
                                          const LiveFacts& live) {
  const MemberId& id = place.member;
  NF_RETURN_IF_ERROR(CheckThereIs(database, id));
  MemberNews news;
  news.place = place;
  NF_RETURN_IF_ERROR(ReadStanding(database, id, news));
  if (news.lease != place.lease) {
    news.place.lease = news.lease;
    news.place.batch = 0;
    news.place.item = news.place.after_step = -1;
  }
  news.more = ReadValues(database, news.place, news);
  if (news.state == MemberState::kLeased) {
    if (const std::optional<Progress> progress = live.attempt(id)) {
      news.progress.step = std::max(progress->step, news.progress.step);
      news.progress.step_count = progress->step_count;
    }
  }
  std::vector<Event> events = EventReader(database).OfMember(id, place.first, place.events);
  for (size_t& told = news.place.events; told < events.size(); ++told) {
    // An end comes after all that was measured until then.
    if (news.more && events[told].kind != EventKind::kLeased) break;
    news.events.push_back(std::move(events[told]));
  }
  news.place.state = news.state;
  news.place.step = news.progress.step;
  news.moved = !news.values.empty() || !news.events.empty() || news.place.lease != place.lease ||
               news.place.state != place.state ||
               (news.place.step != place.step && news.progress.step_count > 0);
  news.ended = HasEnded(news.state) && !news.more;
  return news;
}

}  // namespace noisefloor::query
