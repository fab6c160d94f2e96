// What happened to sweeps and members, as values: from the rows of events, leases and attempts, and
// never from the words of an event.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Statement.h"

#include "common/base/ids.h"
#include "coordinator/query/event.h"

namespace noisefloor::query {

// What an event of that kind in the store is; `lost`: its lease was dropped with its worker.
// kOther for a kind that has no word of its own.
EventKind KindOf(std::string_view stored, bool lost);

// One thread, within one read transaction. SQLite's exceptions pass through.
class EventReader {
 public:
  // What At reads, in this order, of the table `event`.
  static constexpr char kColumns[] = "event, text, cell, replicate, sweep, caller, kind, at_us";

  explicit EventReader(SQLite::Database& database);

  Event At(SQLite::Statement& row);
  // What its leases tell, first to last: that each was granted, and how it ended. `first`: none of
  // leases before that one. The number is 0 where it cannot be found without reading all events,
  // which takes a clock that was set back; and of the first `told` ones, for which it is not
  // looked.
  std::vector<Event> OfMember(const MemberId& id, LeaseId first = {}, size_t told = 0);
  // What people had done with the whole sweep: cancelled it, let its members wait again.
  std::vector<Event> AskedOfSweep(SweepId sweep);

 private:
  // Which lease an event of a member is of: by a time that both have.
  enum class Match : uint8_t { kLive, kGranted, kDropped, kReported };

  void FillLease(const MemberId& id, Match match, Event& event, bool* lost);
  uint64_t NumberAt(const MemberId& id, int64_t at_us, bool leased);
  Event GrantOf(const MemberId& id);
  Event EndOf(const MemberId& id);

  SQLite::Statement lease_;
  SQLite::Statement leases_;
  SQLite::Statement asked_;
  SQLite::Statement newest_;
  SQLite::Statement from_;
};

}  // namespace noisefloor::query
