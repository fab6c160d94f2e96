// How a member waits for data or weights that this machine lacks: in its slot, its lease renewed,
// before it has a trainer.
#include "fmt/format.h"

#include "common/log/log.h"
#include "worker/daemon/worker.h"

namespace noisefloor {

namespace {

// What becomes of a member whose weights do not come: where the coordinator has none, nobody has.
CauseClass CauseWithoutWeights(const FetchNews& news) {
  if (news.machine_failed) return CauseClass::kLostDevice;
  const absl::Status& status = news.tree.status();
  const bool never = absl::IsNotFound(status) || absl::IsDataLoss(status) ||
                     absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
  return never ? CauseClass::kBadSpecification : CauseClass::kInterrupted;
}

}  // namespace

void Worker::FetchOrLaunch(const slots::StartTrainer& start, Attempt& attempt) {
  if (attempt.fetches.empty() || fetcher_ == nullptr) return Launch(start, attempt);
  FetchFirst(start, attempt);
}

void Worker::FetchFirst(const slots::StartTrainer& start, Attempt& attempt) {
  attempt.waits = start;
  const TreeName& wanted = attempt.fetches.front();
  Say(LogLevel::kInfo, "fetches_data", start.lease,
      {{KindOf(wanted), wanted.name}, {"into", fetcher_->folder()}});
  fetcher_->Want(wanted);
}

void Worker::On(FetchNews& news) {
  std::vector<LeaseId> waiting;
  std::vector<LeaseId> behind;  // What they wait for is brought after this.
  for (const auto& [lease, attempt] : attempts_) {
    if (!attempt.waits) continue;
    (attempt.fetches.front() == news.wanted ? waiting : behind).push_back(lease);
  }
  for (const LeaseId lease : behind) Step(slots::DataComes{lease});
  for (const LeaseId lease : waiting) {
    Step(slots::DataComes{lease});
    if (news.ended) GoOnWith(lease, news);
  }
  if (!news.ended && !waiting.empty()) SayHowFar(waiting.front(), news);
}

void Worker::SayHowFar(LeaseId lease, const FetchNews& news) {
  const absl::Duration now = clock_.Steady();
  if (now < say_fetch_at_) return;
  say_fetch_at_ = now + kBetweenFetchLines;
  Say(LogLevel::kInfo, "data_comes", lease,
      {{KindOf(news.wanted), news.wanted.name}, {"here", HowFar(news)}});
}

void Worker::GoOnWith(LeaseId lease, const FetchNews& news) {
  Attempt& attempt = attempts_.at(lease);
  const slots::StartTrainer start = *std::exchange(attempt.waits, std::nullopt);
  attempt.fetches.pop_front();
  const bool is_data = news.wanted.kind == TreeName::Kind::kDataSet;
  const absl::Status& status = news.tree.status();
  if (status.ok()) {
    const SharedTree& tree = attempt.fetched.emplace_back(*news.tree);
    Say(LogLevel::kInfo, "data_is_here", lease,
        {{KindOf(news.wanted), news.wanted.name},
         {"bytes", news.bytes},
         {"fetched", news.bytes_taken}});
    std::string& roots = attempt.request.data_root;
    if (is_data) {
      roots = tree->path() + (roots.empty() ? "" : ":") + roots;
    } else {
      attempt.request.weights = fmt::format("{}/{}", tree->path(), kWeightsFile);
    }
    return FetchOrLaunch(start, attempt);
  }
  if (is_data && attempt.can_do_without && absl::IsNotFound(status) && !news.machine_failed) {
    return FetchOrLaunch(start, attempt);
  }
  if (!is_data) {
    const std::string why = fmt::format("weights {}: not in the cache {}; from the coordinator: {}",
                                        news.wanted.name, fetcher_->folder(), Message(status));
    return EndUnstarted(lease, attempt, FailedResult(CauseWithoutWeights(news), why),
                        news.machine_failed);
  }
  const std::string why = fmt::format("{}, nor is it in the cache {}; from the coordinator: {}",
                                      NotInRoots(news.wanted.name, settings_.offer.data_roots),
                                      fetcher_->folder(), Message(status));
  // One above the cache's limit is not of the moment: no rest and no later attempt here helps.
  const bool machine_failed = news.machine_failed && !absl::IsOutOfRange(status);
  const CauseClass cause = machine_failed ? CauseClass::kLostDevice : CauseClass::kBadData;
  EndUnstarted(lease, attempt, FailedResult(cause, why), machine_failed);
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
    if (other.waits && other.fetches.front() == attempt.fetches.front()) return;
  }
  fetcher_->Forget(attempt.fetches.front());
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
