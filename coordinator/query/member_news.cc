#include "coordinator/query/member_news.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "SQLiteCpp/Statement.h"

#include "coordinator/query/event_reader.h"
#include "coordinator/query/member_rows.h"
#include "coordinator/query/to_proto.h"
#include "coordinator/store/special.h"

namespace noisefloor::query {

namespace {

constexpr int kMostValues = 1000;  // Of a message.

bool HasEnded(v1::MemberState state) {
  return state != v1::MEMBER_STATE_WAITING && state != v1::MEMBER_STATE_LEASED;
}

// State of the member and its newest lease.
void ReadStanding(SQLite::Database& database, const MemberId& id,
                  v1::WatchMemberResponse& response) {
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
  if (!row.executeStep()) return;
  response.set_state(StateFromName(row.getColumn(0).getString()));
  response.set_lease(static_cast<uint64_t>(row.getColumn(1).getInt64()));
  response.set_attempt(row.getColumn(2).getUInt());
}

// From the place on, which moves with them. Whether there are more.
bool ReadValues(SQLite::Database& database, MemberPlace& place, v1::WatchMemberResponse& response) {
  SQLite::Statement row(database,
                        "SELECT r.batch, r.item, r.step, m.name, r.value, r.special "
                        "FROM record r JOIN metric m USING (metric) WHERE r.lease = ? AND "
                        "(r.batch, r.item) > (?, ?) AND r.step > ? ORDER BY r.batch, r.item");
  row.bind(1, static_cast<int64_t>(place.lease.value));
  row.bind(2, static_cast<int64_t>(place.batch));
  row.bind(3, place.item);
  row.bind(4, place.after_step);
  while (row.executeStep()) {
    if (response.values_size() == kMostValues) return true;
    place.batch = static_cast<uint64_t>(row.getColumn(0).getInt64());
    place.item = row.getColumn(1).getInt64();
    v1::RecordedValue& value = *response.add_values();
    value.set_step(row.getColumn(2).getInt64());
    value.set_name(row.getColumn(3).getString());
    value.set_value(FromStored(row.getColumn(4).getDouble(), row.getColumn(5).getInt()));
    response.set_step(value.step());
  }
  return false;
}

}  // namespace

MemberPlace PlaceOf(const v1::WatchMemberRequest& request) {
  MemberPlace place{.member = request.member()};
  if (request.lease() == 0) return place;
  place.first = place.lease = LeaseId{request.lease()};
  place.events = 1;  // That it was granted.
  place.after_step = request.after_step();
  return place;
}

absl::StatusOr<MemberNews> ReadMemberNews(SQLite::Database& database, const MemberPlace& place,
                                          const LiveFacts& live) {
  NF_ASSIGN_OR_RETURN(const MemberId id, FindMember(database, place.member));
  MemberNews news{.response = {}, .place = place};
  v1::WatchMemberResponse& response = news.response;
  ReadStanding(database, id, response);
  if (response.lease() != place.lease.value) {
    news.place.lease = LeaseId{response.lease()};
    news.place.batch = 0;
    news.place.item = news.place.after_step = -1;
  }
  news.more = ReadValues(database, news.place, response);
  if (response.state() == v1::MEMBER_STATE_LEASED) {
    if (const std::optional<Progress> progress = live.attempt(id)) {
      response.set_step(std::max(progress->step, response.step()));
      response.set_steps(progress->step_count);
    }
  }
  std::vector<v1::Event> events = EventReader(database).OfMember(id, place.first, place.events);
  for (size_t& told = news.place.events; told < events.size(); ++told) {
    // An end comes after all that was measured until then.
    if (news.more && events[told].kind() != v1::EVENT_KIND_LEASED) break;
    *response.add_events() = std::move(events[told]);
  }
  news.place.state = response.state();
  news.place.step = response.step();
  news.moved = response.values_size() > 0 || response.events_size() > 0 ||
               news.place.lease != place.lease || news.place.state != place.state ||
               (news.place.step != place.step && response.steps() > 0);
  news.ended = HasEnded(response.state()) && !news.more;
  return news;
}

}  // namespace noisefloor::query
