// What a worker does with what it hears from the coordinator, its trainers and its uploader.
#include "common/log/log.h"
#include "worker/daemon/worker.h"

namespace noisefloor {

void Worker::On(v1::SessionResponse& message) {
  if (session_) session_->Consumed(message.ByteSizeLong());
  switch (message.message_case()) {
    case v1::SessionResponse::kWelcome: return OnWelcome(message.welcome());
    case v1::SessionResponse::kStart: return OnStart(message.start());
    case v1::SessionResponse::kStop:
      return Step(slots::StopMember{LeaseId{message.stop().lease_id()}, message.stop().reason()});
    case v1::SessionResponse::kKept:
      return Step(
          slots::RecordsKept{LeaseId{message.kept().lease_id()}, message.kept().sequence()});
    case v1::SessionResponse::kSettled: {
      const v1::Settled& settled = message.settled();
      Say(LogLevel::kInfo, "settled", LeaseId{settled.lease_id()},
          {{"accepted", settled.accepted()}, {"reason", settled.reason()}});
      return Step(slots::Settled{LeaseId{settled.lease_id()}});
    }
    case v1::SessionResponse::MESSAGE_NOT_SET: return;  // Of a newer coordinator.
  }
}

void Worker::OnWelcome(const v1::Welcome& welcome) {
  connected_ = true;
  welcome_by_ = absl::InfiniteDuration();
  last_refusal_.clear();
  reconnect_.Reset();
  uploader_->Wake();
  if (fetcher_) fetcher_->Wake();
  LogInfo("connected", {{"coordinator", ToText(coordinator_)}, {"number", welcome.worker_id()}});
  const absl::Duration interval =
      absl::Milliseconds(std::max(10u, welcome.heartbeat_interval_ms()));
  if (session_ != nullptr) pulse_.Open(*session_, interval);
  Step(slots::Connected{interval, absl::Milliseconds(std::max(100u, welcome.lease_ttl_ms()))});
}

void Worker::OnStart(const v1::StartMember& start) {
  const LeaseId lease{start.lease_id()};
  if (slots_.Knows(lease)) return;
  const MemberOrder order{lease,
                          start.member(),
                          start.attempt(),
                          start.specification(),
                          start.specification_sha256(),
                          start.write_evaluation_set(),
                          start.slot(),
                          start.weights_sha256()};
  PreparedMember prepared = Prepare(order, settings_.offer);
  Attempt attempt;
  attempt.member = order.member;
  attempt.number = order.attempt;
  if (slots_.draining()) {
    return Refuse(lease, std::move(attempt),
                  FailedResult(CauseClass::kInterrupted, "the worker is leaving"));
  }
  if (!prepared.runs) return Refuse(lease, std::move(attempt), std::move(prepared.refusal));
  attempt.stack = prepared.key.stack;
  attempt.request = std::move(prepared.request);
  attempt.built_in = std::move(prepared.built_in);
  if (!prepared.fetch.empty()) {
    attempt.fetches.push_back({TreeName::Kind::kDataSet, std::move(prepared.fetch)});
  }
  if (!prepared.weights.empty()) {
    attempt.fetches.push_back({TreeName::Kind::kWeights, std::move(prepared.weights)});
  }
  attempt.can_do_without = prepared.can_do_without;
  attempt.noop = prepared.key.stack == kNoopStack;
  attempts_.insert_or_assign(lease, std::move(attempt));
  Step(slots::StartMember{lease, order.slot, prepared.key, pool_.Forks(prepared.key)});
  if (!slots_.Has(lease)) attempts_.erase(lease);
}

// The member cannot run here: the coordinator is told as if a trainer had failed.
void Worker::Refuse(LeaseId lease, Attempt attempt, AttemptResult result) {
  Attempt& kept = attempts_.insert_or_assign(lease, std::move(attempt)).first->second;
  Say(LogLevel::kWarning, "member_refused", lease, {{"reason", result.outcome.message}});
  absl::Status status;
  {
    const Pulse::Wait wait = WaitForDisk();
    status = spool_.Begin(lease, kept.member, kept.number);
  }
  if (!status.ok()) Say(LogLevel::kWarning, "not_spooled", lease, {{"error", status}});
  Keep(lease, kept, std::move(result));
  Step(slots::ResultFound{lease, 0});
  if (!slots_.Has(lease)) Perform(slots::Forget{lease});
}

// From now on the result is what the coordinator is told. One that cannot be kept on disk is
// delivered all the same; it only does not outlive this process.
void Worker::Keep(LeaseId lease, Attempt& attempt, AttemptResult result) {
  attempt.result = std::move(result);
  if (attempt.noop) return;
  const Pulse::Wait wait = WaitForDisk();
  attempt.result.record_batches = spool_.Batches(lease);
  const absl::Status status = spool_.Finish(lease, attempt.result);
  if (!status.ok()) Say(LogLevel::kWarning, "not_spooled", lease, {{"error", status}});
}

void Worker::On(PoolNews& news) {
  pool_.Consumed(news.process);
  if (const auto* exit = std::get_if<ProcessExit>(&news.news)) {
    return OnTrainerExit(news.process, *exit);
  }
  const auto it = lease_of_process_.find(news.process);
  if (it == lease_of_process_.end()) {
    // A standby has nothing to say before it has a request; it is not trusted with one.
    return pool_.Kill(news.process);
  }
  Attempt& attempt = attempts_.at(it->second);
  if (auto* line = std::get_if<TrainerLine>(&news.news)) {
    return OnTrainerLine(it->second, attempt, *line);
  }
  attempt.judge.Break(std::get<absl::Status>(news.news));
  Step(slots::TrainerBroken{it->second});
}

void Worker::OnTrainerLine(LeaseId lease, Attempt& attempt, TrainerLine& line) {
  if (!attempt.judge.Accept(line.event).ok()) {
    if (attempt.judge.replaced()) OnTrainerReplaced(lease, attempt);
    return Step(slots::TrainerBroken{lease});
  }
  if (const auto* hello = std::get_if<HelloEvent>(&line.event)) {
    attempt.data_identity = hello->data_identity;
    attempt.resumes = hello->resumes;
    return Step(slots::TrainerHello{lease});
  }
  if (const auto* progress = std::get_if<ProgressEvent>(&line.event)) {
    if (!attempt.judge.heard_hello()) return Step(slots::DataComes{lease});
    return Step(slots::TrainerProgress{lease, progress->step, progress->step_count});
  }
  if (std::holds_alternative<Outcome>(line.event)) {
    return Step(slots::TrainerSaidOutcome{lease});
  }
  auto* records = std::get_if<RecordsEvent>(&line.event);
  if (records == nullptr) return Step(slots::TrainerSpoke{lease});
  const uint64_t sequence = records->sequence;
  if (const absl::Status status = Append(lease, sequence, line.line); !status.ok()) {
    attempt.judge.Abandon(CauseClass::kLostDevice, Message(status));
    return Step(slots::TrainerBroken{lease, "its records cannot be kept"});
  }
  attempt.fresh_records = std::move(*records);
  Step(slots::TrainerRecords{lease, sequence});
}

absl::Status Worker::Append(LeaseId lease, uint64_t sequence, std::string_view line) {
  const Pulse::Wait wait = WaitForDisk();
  return spool_.AppendRecords(lease, sequence, line);
}

// What was told of the trainer at registration is not true any more, and it is told only once.
void Worker::OnTrainerReplaced(LeaseId lease, const Attempt& attempt) {
  Say(LogLevel::kError, "trainer_replaced", lease, {{"stack", attempt.stack}});
  leave_code_ = 1;
  Step(slots::Drain{});
}

void Worker::OnTrainerExit(uint64_t process, const ProcessExit& exit) {
  const std::optional<uint32_t> standby_of = pool_.Remove(process);
  for (const int orphan : pool_.EndOrphans()) LogWarning("orphan_ended", {{"process", orphan}});
  if (standby_of) return Step(slots::StandbyEnded{*standby_of});
  const auto it = lease_of_process_.find(process);
  if (it == lease_of_process_.end()) return;
  const LeaseId lease = it->second;
  lease_of_process_.erase(it);
  Attempt& attempt = attempts_.at(lease);
  attempt.process.reset();
  absl::Status room;
  if (!attempt.judge.heard_outcome()) {
    const Pulse::Wait wait = WaitForDisk();
    room = spool_.CheckRoom(lease);
  }
  Keep(lease, attempt, attempt.judge.End(exit, room));
  Say(LogLevel::kInfo, "trainer_ended", lease,
      {{"cause", Name(attempt.result.outcome.cause)}, {"message", attempt.result.outcome.message}});
  if (attempt.result.outcome.cause == CauseClass::kLostDevice) {
    return Step(slots::MachineFailed{lease});
  }
  Step(slots::TrainerEnded{lease});
}

void Worker::On(UploadDone& done) {
  const auto it = attempts_.find(done.lease);
  if (it == attempts_.end() || it->second.files_dropped) return;
  Attempt& attempt = it->second;
  if (done.artifacts.ok()) {
    attempt.has_log = done.artifacts->size() > attempt.result.artifacts.size();
    attempt.result.artifacts = *std::move(done.artifacts);
    return Step(slots::Delivered{done.lease});
  }
  Say(LogLevel::kWarning, "upload_refused", done.lease, {{"error", done.artifacts.status()}});
  AttemptResult failed = FailedResult(CauseClass::kBug, Message(done.artifacts.status()));
  failed.data_identity = attempt.result.data_identity;
  failed.outcome.environment = attempt.result.outcome.environment;
  const bool had_result = attempt.result.outcome.kind != Outcome::Kind::kFailed;
  if (had_result) Keep(done.lease, attempt, std::move(failed));
  if (attempt.log_only) return Step(slots::Delivered{done.lease});
  attempt.log_only = true;  // The log says why, perhaps; it gets one more chance.
  uploader_->Add({done.lease, attempt.folder, {}, attempt.member, attempt.number});
}

}  // namespace noisefloor
