// How a member waits for data that this machine lacks: in its slot, its lease renewed, before it
// has a trainer.
#include "fmt/format.h"

#include "common/log/log.h"
#include "worker/daemon/worker.h"

namespace noisefloor {

void Worker::FetchFirst(const slots::StartTrainer& start, Attempt& attempt) {
  attempt.waits = start;
  Say(LogLevel::kInfo, "fetches_data", start.lease,
      {{"data_set", attempt.fetch}, {"into", fetcher_->folder()}});
  fetcher_->Want({TreeName::Kind::kDataSet, attempt.fetch});
}

void Worker::On(FetchNews& news) {
  std::vector<LeaseId> waiting;
  std::vector<LeaseId> behind;  // Their data set is brought after this one.
  for (const auto& [lease, attempt] : attempts_) {
    if (!attempt.waits) continue;
    (attempt.fetch == news.wanted.name ? waiting : behind).push_back(lease);
  }
  for (const LeaseId lease : behind) Step(slots::DataComes{lease});
  for (const LeaseId lease : waiting) {
    Step(slots::DataComes{lease});
    if (news.ended) GoOnWithData(lease, news);
  }
  if (!news.ended && !waiting.empty()) SayHowFar(waiting.front(), news);
}

void Worker::SayHowFar(LeaseId lease, const FetchNews& news) {
  const absl::Duration now = clock_.Steady();
  if (now < say_fetch_at_) return;
  say_fetch_at_ = now + kBetweenFetchLines;
  Say(LogLevel::kInfo, "data_comes", lease,
      {{"data_set", news.wanted.name}, {"here", HowFar(news)}});
}

void Worker::GoOnWithData(LeaseId lease, const FetchNews& news) {
  Attempt& attempt = attempts_.at(lease);
  const slots::StartTrainer start = *std::exchange(attempt.waits, std::nullopt);
  const absl::Status& status = news.tree.status();
  if (status.ok()) {
    attempt.data = *news.tree;
    Say(LogLevel::kInfo, "data_is_here", lease,
        {{"data_set", news.wanted.name}, {"bytes", news.bytes}, {"fetched", news.bytes_taken}});
    std::string& roots = attempt.request.data_root;
    roots = attempt.data->path() + (roots.empty() ? "" : ":") + roots;
    return Launch(start, attempt);
  }
  if (attempt.can_do_without && absl::IsNotFound(status) && !news.machine_failed) {
    return Launch(start, attempt);
  }
  const std::string why = fmt::format("{}, nor is it in the cache {}; from the coordinator: {}",
                                      NotInRoots(news.wanted.name, settings_.offer.data_roots),
                                      fetcher_->folder(), Message(status));
  const CauseClass cause = news.machine_failed ? CauseClass::kLostDevice : CauseClass::kBadData;
  EndUnstarted(lease, attempt, FailedResult(cause, why), news.machine_failed);
}

void Worker::StopWaiting(const slots::TerminateTrainer& action, Attempt& attempt) {
  LetGoOfFetch(attempt);
  const CauseClass cause = action.hung ? CauseClass::kLostDevice : CauseClass::kInterrupted;
  EndUnstarted(action.lease, attempt, FailedResult(cause, action.reason), action.hung);
}

// What has come stays for the next one.
void Worker::LetGoOfFetch(Attempt& attempt) {
  if (!std::exchange(attempt.waits, std::nullopt)) return;
  for (const auto& [lease, other] : attempts_) {
    if (other.waits && other.fetch == attempt.fetch) return;
  }
  fetcher_->Forget({TreeName::Kind::kDataSet, attempt.fetch});
}

void Worker::EndUnstarted(LeaseId lease, Attempt& attempt, AttemptResult result,
                          bool machine_failed) {
  Say(LogLevel::kWarning, "trainer_not_started", lease, {{"reason", result.outcome.message}});
  absl::Status status;
  {
    const Pulse::Wait wait = WaitForDisk();
    status = spool_.Begin(lease, attempt.member, attempt.number);
  }
  if (!status.ok()) Say(LogLevel::kWarning, "not_spooled", lease, {{"error", status}});
  Keep(lease, attempt, std::move(result));
  if (machine_failed) return Step(slots::MachineFailed{lease});
  Step(slots::TrainerEnded{lease});
}

}  // namespace noisefloor
