#include "coordinator/until/until_keeper.h"

#include <future>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/files/sha256.h"
#include "common/log/log.h"
#include "coordinator/sweep/extend.h"

namespace noisefloor {

namespace {

constexpr size_t kMostItems = 100000;
constexpr absl::Duration kSleep = absl::Hours(1);
constexpr absl::Duration kRetry = absl::Seconds(1);
constexpr int kTries = 10;  // To read the results of one sweep.

}  // namespace

UntilKeeper::UntilKeeper(EventLoop& loop, query::Query& query)
    : loop_(loop), query_(query), mailbox_(kMostItems) {}

UntilKeeper::~UntilKeeper() { Stop(); }

void UntilKeeper::Start() {
  const std::vector<SweepId> left = loop_.live().Undecided();
  Look({left.begin(), left.end()});
  thread_ = std::thread([this] { Run(); });
}

void UntilKeeper::Stop() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
}

void UntilKeeper::Look(const std::set<SweepId>& changed) {
  for (const SweepId sweep : changed) {
    // A full mailbox has others to decide first; this one is due at its next change, or start.
    if (IsDue(sweep)) (void)mailbox_.Post(sweep);
  }
}

bool UntilKeeper::IsDue(SweepId sweep) const {
  const auto counts = loop_.live().CountsOf(sweep);
  return counts && counts->undecided && counts->In(MemberState::kWaiting) == 0 &&
         counts->In(MemberState::kLeased) == 0;
}

void UntilKeeper::Run() {
  while (true) {
    std::set<SweepId> due = std::exchange(again_, {});
    const absl::Duration wait = due.empty() ? kSleep : kRetry;
    for (const SweepId sweep : mailbox_.TakeAll(wait)) due.insert(sweep);
    if (mailbox_.closed()) return;
    for (const SweepId sweep : due) {
      if (mailbox_.closed()) return;
      if (!IsDue(sweep)) continue;
      // To read a whole pilot takes long, and to be kept the decision waits for room.
      if (loop_.live().storage_problem().empty()) {
        Decide(sweep);
      } else {
        again_.insert(sweep);
      }
    }
  }
}

// What cannot be read now may be in a moment; results that never can are no reason to wait for
// ever: then it stays as large as it is.
absl::StatusOr<query::Settlement> UntilKeeper::SettlementOf(SweepId sweep) {
  absl::StatusOr<query::Settlement> decided = query_.DecideUntil(sweep);
  const absl::Status& status = decided.status();
  if (status.ok() || absl::IsNotFound(status) || absl::IsFailedPrecondition(status)) {
    unreadable_.erase(sweep);
    return decided;
  }
  LogWarning("until_not_decided", {{"sweep", ToText(sweep)}, {"error", status}});
  again_.insert(sweep);
  if (++unreadable_[sweep] < kTries) return decided;
  NF_ASSIGN_OR_RETURN(const query::Definition kept, query_.FindDefinition(sweep));
  if (!sweep::IsUndecided(kept.sweep)) return decided;
  return query::Settlement{
      sweep::Settled(kept.sweep, {}), kept.specification_sha256,
      fmt::format("its results could not be read: {}", Message(decided.status()))};
}

void UntilKeeper::Decide(SweepId sweep) {
  absl::StatusOr<query::Settlement> decided = SettlementOf(sweep);
  if (!decided.ok()) return;
  scheduler::SweepExtended event;
  event.sweep = sweep;
  event.from_sha256 = decided->from_sha256;
  event.specification_sha256 = Sha256Hex(sweep::CanonicalText(decided->sweep));
  event.content = std::move(decided->sweep);
  event.settled = decided->text;
  std::promise<absl::Status> kept;
  loop_.Call(std::move(event),
             [&kept](const CallResult& result) { kept.set_value(result.status); });
  const absl::Status status = kept.get_future().get();
  again_.erase(sweep);
  if (status.ok()) {
    LogInfo("until_decided", {{"sweep", ToText(sweep)}, {"decision", decided->text}});
  } else if (!absl::IsNotFound(status)) {
    LogWarning("until_not_kept", {{"sweep", ToText(sweep)}, {"error", status}});
    again_.insert(sweep);
  }
}

}  // namespace noisefloor
