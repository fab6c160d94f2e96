// Decides how many replicates a sweep takes that says `until`, once all that it has have ended, and
// has the loop keep that.
//
// One thread of its own does it, since the pilot's predictions take their time to read; it sleeps
// while nothing is to be decided. What was decided and not kept, for the coordinator ended, is
// decided anew by the next one, from the same results.
#pragma once

#include <map>
#include <set>
#include <string>
#include <thread>

#include "absl/time/time.h"

#include "common/base/ids.h"
#include "common/base/mailbox.h"
#include "common/base/status.h"
#include "coordinator/loop/event_loop.h"
#include "coordinator/query/query.h"

namespace noisefloor {

// Thread-safe. Start and Stop by one owner, once each.
class UntilKeeper {
 public:
  // Both outlive it.
  UntilKeeper(EventLoop& loop, query::Query& query);
  ~UntilKeeper();

  // Goes on with what the coordinator before this one left undecided.
  void Start();
  // After the loop, which answers what waits for it then: a disk that is full is not waited for.
  void Stop();

  // These may be due now. Any thread; never blocks.
  void Look(const std::set<SweepId>& changed);

 private:
  bool IsDue(SweepId sweep) const;
  void Run();
  void Decide(SweepId sweep);
  absl::StatusOr<query::Settlement> SettlementOf(SweepId sweep);

  EventLoop& loop_;
  query::Query& query_;
  Mailbox<SweepId> mailbox_;
  std::set<SweepId> again_;            // Its thread's: could not be read or kept now.
  std::map<SweepId, int> unreadable_;  // Its thread's: how often in a row.
  std::thread thread_;
};

}  // namespace noisefloor
