#include "tests/simulation/fake_worker.h"

#include <algorithm>
#include <array>

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the messages are named so often here.

std::vector<HeldLease> FakeWorker::Held() const {
  std::vector<HeldLease> held;
  for (const auto& [lease, run] : runs_) {
    held.push_back({lease, run.sent, static_cast<int64_t>(run.sent), 10});
  }
  return held;
}

void FakeWorker::Connect(uint64_t& next_session) {
  session_ = SessionId{++next_session};
  WorkerConnected event;
  event.session = *session_;
  event.name = traits_.name;
  event.identity = traits_.identity;
  event.inventory = traits_.inventory;
  event.held = Held();
  post_(std::move(event));
}

ingest::AttemptOutcome FakeWorker::End(Chance& chance, const Run& run, bool calm) const {
  constexpr std::array kCauses = {CauseClass::kBug,        CauseClass::kOutOfMemory,
                                  CauseClass::kLostDevice, CauseClass::kInterrupted,
                                  CauseClass::kBadData,    CauseClass::kBadSpecification};
  ingest::AttemptOutcome outcome;
  outcome.kind = Outcome::Kind::kDone;
  if (!calm && chance.OneIn(fails_)) {
    outcome.kind = Outcome::Kind::kFailed;
    outcome.cause = kCauses[chance.Below(kCauses.size())];
    outcome.message = "by chance";
  } else if (chance.OneIn(10)) {
    outcome.kind = Outcome::Kind::kDiverged;
  } else if (chance.OneIn(3)) {
    outcome.artifacts = {{"evaluation_images", "images.npy", std::string(64, 'b'), 7}};
  }
  outcome.record_batches = run.batches;
  outcome.data_identity = traits_.data_identity;
  return outcome;
}

void FakeWorker::Train(Chance& chance, LeaseId lease, Run& run, absl::Time now, bool calm) {
  if (!run.said_hello) {
    run.said_hello = true;
    return post_(AttemptStarted{*session_, lease, traits_.data_identity});
  }
  if (run.sent < run.batches) {
    if (!calm && !chance.OneIn(3)) return;
    ++run.sent;
    if (!calm && chance.OneIn(100)) {
      return post_(RecordsArrived{*session_, lease, {run.sent, {}, "by chance"}});
    }
    return post_(RecordsArrived{*session_, lease, {run.sent, {{1, 0.5, "loss", 1.5}}}});
  }
  if (!run.outcome) run.outcome = End(chance, run, calm);
  if (now - run.reported < absl::Seconds(3)) return;
  run.reported = now;
  run.sent = run.kept;  // What was not acknowledged goes again before the next report.
  post_(AttemptFinished{*session_, lease, *run.outcome, {}});
}

void FakeWorker::Live(Chance& chance, absl::Time now, uint64_t& next_session, bool calm) {
  if (now < back_at_) return;
  if (!session_) Connect(next_session);
  if (now - beat_at_ >= absl::Seconds(3)) {
    beat_at_ = now;
    post_(Heartbeat{*session_, Held()});
  }
  for (auto& [lease, run] : runs_) Train(chance, lease, run, now, calm);
}

void FakeWorker::Receive(const Send& message, absl::Time now) {
  if (now < back_at_) return;
  if (const auto* start = std::get_if<SendStart>(&message)) {
    if (runs_.contains(start->lease) || ended_.contains(start->lease)) return;
    Run& run = runs_[start->lease];
    run.batches = start->lease.value % 4;
  } else if (const auto* stop = std::get_if<SendStop>(&message)) {
    runs_.erase(stop->lease);
    ended_.insert(stop->lease);
  } else if (const auto* kept = std::get_if<SendRecordsKept>(&message)) {
    uint64_t& highest = told_.records_kept[kept->lease];
    highest = std::max(highest, kept->sequence);
    const auto run = runs_.find(kept->lease);
    if (run == runs_.end()) return;
    run->second.kept = std::max(run->second.kept, kept->sequence);
    run->second.sent = std::max(run->second.sent, run->second.kept);
  } else if (const auto* settled = std::get_if<SendSettled>(&message)) {
    if (settled->accepted) told_.accepted.insert(settled->lease);
    runs_.erase(settled->lease);
    ended_.insert(settled->lease);
  } else if (const auto* close = std::get_if<CloseSession>(&message)) {
    if (session_ == close->session) session_.reset();
  }
}

void FakeWorker::BreakStream(absl::Time back_at) {
  if (!session_) return;
  post_(SessionLost{*session_});
  session_.reset();
  back_at_ = std::max(back_at_, back_at);
}

void FakeWorker::Crash(absl::Time back_at) {
  BreakStream(back_at);
  back_at_ = std::max(back_at_, back_at);
  std::erase_if(runs_, [](const auto& entry) { return !entry.second.outcome; });
}

void FakeWorker::JumpClock() {
  beat_at_ = absl::InfinitePast();
  for (auto& [lease, run] : runs_) run.reported = absl::InfinitePast();
}

void FakeWorker::Drain() {
  if (session_) post_(WorkerDraining{*session_});
}

}  // namespace noisefloor::test
