// How a worker does what Slots decided.
#include <utility>

#include "common/log/log.h"
#include "worker/daemon/convert.h"
#include "worker/daemon/noop_trainer.h"
#include "worker/daemon/worker.h"

namespace noisefloor {

namespace {

std::string_view NameOf(TrainerPool::Origin origin) {
  switch (origin) {
    case TrainerPool::Origin::kStarted: return "start";
    case TrainerPool::Origin::kStandby: return "standby";
    case TrainerPool::Origin::kForked: return "fork";
  }
  return "";
}

}  // namespace

void Worker::Step(slots::Message message) {
  steps_.push_back(std::move(message));
  if (stepping_) return;
  stepping_ = true;
  while (!steps_.empty()) {
    const slots::Message next = std::move(steps_.front());
    steps_.pop_front();
    for (const slots::Action& action : slots_.Step(next, clock_.Steady())) {
      LogDebug("action", {{"do", slots::Describe(action)}});
      std::visit([this](const auto& a) { Perform(a); }, action);
    }
  }
  stepping_ = false;
}

void Worker::Say(LogLevel level, std::string_view event, LeaseId lease,
                 std::initializer_list<LogField> rest) const {
  std::vector<LogField> fields = {{"lease", lease.value}};
  if (const auto known = attempts_.find(lease); known != attempts_.end()) {
    AddMember(known->second.member, known->second.number, fields);
  }
  fields.insert(fields.end(), rest.begin(), rest.end());
  LogWith(level, event, fields);
}

void Worker::Perform(const slots::StartTrainer& action) {
  Attempt& attempt = attempts_.at(action.lease);
  if (attempt.noop) return RunNoop(action.lease, attempt);
  FetchOrLaunch(action, attempt);
}

void Worker::Launch(const slots::StartTrainer& action, Attempt& attempt) {
  const absl::StatusOr<TrainerPool::Started> started = StartProcess(action, attempt);
  const absl::Status& status = started.status();
  Say(LogLevel::kInfo, "trainer_started", action.lease,
      {{"class", action.key.hardware_class},
       {"slot", action.slot},
       {"from", started.ok() ? NameOf(started->origin) : "nothing"},
       {"status", status}});
  if (started.ok() && !started->not_forked.ok()) {
    Say(LogLevel::kWarning, "fork_server_lost", action.lease,
        {{"class", action.key.hardware_class}, {"error", started->not_forked}});
  }
  if (status.ok()) return;
  // A worker without room or without its trainer's file is at fault itself, not the member.
  Keep(action.lease, attempt,
       FailedResult(CauseClass::kLostDevice, "the trainer cannot be started: " + Message(status)));
  Step(slots::MachineFailed{action.lease});
}

absl::StatusOr<TrainerPool::Started> Worker::StartProcess(const slots::StartTrainer& start,
                                                          Attempt& attempt) {
  const Pulse::Wait wait = WaitForDisk();
  NF_RETURN_IF_ERROR(spool_.Begin(start.lease, attempt.member, attempt.number));
  NF_ASSIGN_OR_RETURN(AttemptFolder folder, AttemptFolder::Open(spool_.FolderOf(start.lease)));
  attempt.folder = std::make_shared<const AttemptFolder>(std::move(folder));
  attempt.request.work_directory = spool_.WorkFolder(start.lease);
  attempt.judge = EventJudge(start.key.stack, settings_.offer.stacks.at(start.key.stack).build);
  NF_ASSIGN_OR_RETURN(
      TrainerPool::Started started,
      pool_.Start(start, {RequestToJson(attempt.request), spool_.LogPath(start.lease)}));
  attempt.process = started.process;
  lease_of_process_[started.process] = start.lease;
  return started;
}

// The built-in trainer: a whole life at once, through the same messages.
void Worker::RunNoop(LeaseId lease, Attempt& attempt) {
  const Specification& specification = *attempt.built_in;
  attempt.data_identity = NoopDataIdentity(specification);
  for (int64_t epoch = 1; epoch <= specification.train.epochs; ++epoch) {
    attempt.noop_records.push_back(NoopRecords(specification, epoch));
  }
  attempt.result.outcome = NoopOutcome(specification, attempt.member);
  attempt.result.data_identity = attempt.data_identity;
  attempt.result.record_batches = attempt.noop_records.size();
  Step(slots::TrainerHello{lease});
  if (!attempt.noop_records.empty()) {
    Step(slots::TrainerRecords{lease, attempt.noop_records.size()});
  }
  Step(slots::TrainerEnded{lease});
}

void Worker::Perform(const slots::StartStandby& action) {
  if (action.key.stack == kNoopStack) return Step(slots::StandbyEnded{action.slot});
  const absl::Status status = pool_.StartStandby(action.slot, action.key);
  if (status.ok()) return;
  LogWarning("standby_not_started", {{"slot", action.slot}, {"error", status}});
  Step(slots::StandbyEnded{action.slot});
}

void Worker::Perform(const slots::EndStandby& action) { pool_.EndStandby(action.slot); }

void Worker::Perform(const slots::KeepForkServer& action) {
  const absl::Status status = pool_.KeepForkServer(action.slot, action.key);
  if (status.ok()) return;
  const bool lost = absl::IsFailedPrecondition(status);
  LogWarning(lost ? "fork_server_lost" : "fork_server_not_started",
             {{"class", action.key.hardware_class}, {"error", status}});
}

void Worker::Perform(const slots::EndForkServers&) { pool_.EndForkServers(); }

void Worker::Perform(const slots::TerminateTrainer& action) {
  Attempt& attempt = attempts_.at(action.lease);
  if (attempt.waits) return StopWaiting(action, attempt);
  Say(LogLevel::kInfo, "trainer_terminated", action.lease, {{"reason", action.reason}});
  if (action.hung) {
    attempt.judge.Abandon(CauseClass::kLostDevice, action.reason);
  } else {
    attempt.judge.SetStopReason(action.reason);
  }
  attempt.judge.SetSignalled();
  if (attempt.process) pool_.Terminate(*attempt.process);
}

void Worker::Perform(const slots::KillTrainer& action) {
  Attempt& attempt = attempts_.at(action.lease);
  Say(LogLevel::kWarning, "trainer_killed", action.lease, {});
  attempt.judge.SetSignalled();
  if (attempt.process) pool_.Kill(*attempt.process);
}

void Worker::Perform(const slots::GiveUpTrainer& action) {
  Attempt& attempt = attempts_.at(action.lease);
  Say(LogLevel::kError, "trainer_undying", action.lease,
      {{"help",
        "SIGKILL does not end it: it hangs in the kernel, in a driver or a file system perhaps; "
        "nothing new is begun here"}});
  has_undying_ = true;
  leave_code_ = 4;
  if (attempt.process) lease_of_process_.erase(*attempt.process);
  attempt.process.reset();
  Keep(action.lease, attempt, attempt.judge.End({.signalled = true, .code = SIGKILL}));
}

void Worker::Perform(const slots::Deliver& action) {
  Attempt& attempt = attempts_.at(action.lease);
  if (attempt.noop) return Step(slots::Delivered{action.lease});
  // When it is delivered again, the log comes of itself again.
  if (std::exchange(attempt.has_log, false)) attempt.result.artifacts.pop_back();
  uploader_->Add(
      {action.lease, attempt.folder, attempt.result.artifacts, attempt.member, attempt.number});
}

void Worker::Perform(const slots::DropFiles& action) {
  Attempt& attempt = attempts_.at(action.lease);
  attempt.files_dropped = true;
  attempt.result.artifacts.clear();
  uploader_->Cancel(action.lease);
}

void Worker::Perform(const slots::Forget& action) {
  const auto it = attempts_.find(action.lease);
  if (it == attempts_.end()) return;
  LetGoOfFetch(it->second);
  if (!it->second.noop) {
    uploader_->Cancel(action.lease);
    const Pulse::Wait wait = WaitForDisk();
    spool_.Remove(action.lease);
  }
  attempts_.erase(it);
}

void Worker::Perform(const slots::SendStarted& action) {
  const Attempt& attempt = attempts_.at(action.lease);
  // What is in a folder of this worker's own ends with it.
  const bool resumes = attempt.resumes && !settings_.options.checkpoints.empty();
  Send(StartedMessage(action.lease, attempt.data_identity, resumes));
}

absl::StatusOr<RecordsEvent> Worker::RecordsOf(LeaseId lease, const Attempt& attempt,
                                               uint64_t sequence) {
  if (attempt.noop) return attempt.noop_records.at(sequence - 1);
  if (attempt.fresh_records && attempt.fresh_records->sequence == sequence) {
    return *attempt.fresh_records;
  }
  const Pulse::Wait wait = WaitForDisk();
  NF_ASSIGN_OR_RETURN(const std::string line, spool_.ReadRecords(lease, sequence));
  NF_ASSIGN_OR_RETURN(TrainerEvent event, EventFromJson(line));
  auto* records = std::get_if<RecordsEvent>(&event);
  if (records == nullptr || records->sequence != sequence) {
    return InvalidInput("the spool holds another event in its place");
  }
  return std::move(*records);
}

void Worker::Perform(const slots::SendRecords& action) {
  const Attempt& attempt = attempts_.at(action.lease);
  for (uint64_t sequence = action.first; sequence <= action.last; ++sequence) {
    const absl::StatusOr<RecordsEvent> records = RecordsOf(action.lease, attempt, sequence);
    if (!records.ok()) {
      Say(LogLevel::kError, "records_lost", action.lease,
          {{"sequence", sequence}, {"error", records.status()}});
      return;
    }
    Send(RecordsMessage(action.lease, *records));
  }
}

void Worker::Perform(const slots::SendFinished& action) {
  Send(FinishedMessage(action.lease, attempts_.at(action.lease).result));
}

// While what is returned lives, the heartbeat of another thread stands in for ours.
Pulse::Wait Worker::WaitForDisk() { return {pulse_, HeartbeatMessage(slots_.HeldLeases())}; }

void Worker::Perform(const slots::SendHeartbeat& action) { Send(HeartbeatMessage(action.held)); }

void Worker::Perform(const slots::SendDraining&) { Send(DrainingMessage()); }

void Worker::Perform(const slots::Leave&) { exit_code_ = exit_code_.value_or(leave_code_); }

}  // namespace noisefloor
