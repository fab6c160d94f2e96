#include "worker/daemon/judge.h"

#include <csignal>
#include <cstring>

#include "fmt/format.h"

namespace noisefloor {

namespace {

std::string Describe(const ProcessExit& exit) {
  if (!exit.signalled) return fmt::format("exited with code {}", exit.code);
  return fmt::format("was ended by signal {} ({})", exit.code, strsignal(exit.code));
}

std::string_view NameOf(const Outcome& outcome) {
  return outcome.kind == Outcome::Kind::kFailed ? Name(outcome.cause) : Name(outcome.kind);
}

// Signals that no program raises against itself: somebody ended the trainer, or the system did.
bool IsFromOutside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

CauseClass CauseOf(const ProcessExit& exit) {
  if (!exit.signalled) return CauseOfExitCode(exit.code);
  return IsFromOutside(exit.code) ? CauseClass::kInterrupted : CauseClass::kBug;
}

AttemptResult EndWithoutOutcome(const ProcessExit& exit, const absl::Status& room) {
  if (!room.ok()) {
    return FailedResult(CauseClass::kLostDevice,
                        fmt::format("the trainer {} and gave no outcome, and the worker's disk "
                                    "takes no more: {}",
                                    Describe(exit), Message(room)));
  }
  CauseClass cause = CauseOf(exit);
  // These two are not a trainer's to say.
  if (cause == CauseClass::kNone || cause == CauseClass::kLostWorker) cause = CauseClass::kBug;
  const bool killed = exit.signalled && exit.code == SIGKILL;
  return FailedResult(cause, fmt::format("the trainer {} and gave no outcome{}", Describe(exit),
                                         killed ? "; did the system run out of memory?" : ""));
}

}  // namespace

absl::Status EventJudge::Check(const TrainerEvent& event) const {
  if (outcome_) return InvalidInput("an event after the outcome");
  if (const auto* hello = std::get_if<HelloEvent>(&event)) {
    if (hello_) return InvalidInput("a second hello");
    if (hello->protocol != kTrainerProtocolVersion) {
      return InvalidInput(fmt::format("protocol version {}: expected {}", hello->protocol,
                                      kTrainerProtocolVersion));
    }
    if (hello->stack != stack_) {
      return InvalidInput(fmt::format("stack '{}': expected '{}'", hello->stack, stack_));
    }
    return absl::OkStatus();
  }
  if (const auto* outcome = std::get_if<Outcome>(&event)) {
    // A trainer may fail before it can say hello.
    if (outcome->kind == Outcome::Kind::kFailed) return absl::OkStatus();
  }
  const auto* progress = std::get_if<ProgressEvent>(&event);
  // A sign of life while it reads its data.
  if (!hello_ && progress != nullptr && progress->step == 0) return absl::OkStatus();
  if (!hello_) return InvalidInput("an event before the hello");
  if (const auto* records = std::get_if<RecordsEvent>(&event)) {
    if (records->sequence != sequence_ + 1) {
      return InvalidInput(fmt::format("record batch with sequence {}: expected {}",
                                      records->sequence, sequence_ + 1));
    }
  }
  if (std::holds_alternative<Artifact>(event) && artifacts_.size() >= kMaxArtifacts) {
    return InvalidInput(fmt::format("more than {} artifacts", kMaxArtifacts));
  }
  return absl::OkStatus();
}

absl::Status EventJudge::Accept(const TrainerEvent& event) {
  if (abandoned_) return InvalidInput(abandoned_->message);
  if (absl::Status status = Check(event); !status.ok()) {
    Break(status);
    return status;
  }
  const auto* hello = std::get_if<HelloEvent>(&event);
  if (hello != nullptr && hello->build != build_) {
    replaced_ = true;
    Abandon(CauseClass::kLostDevice,
            fmt::format("the trainer of stack '{}' was replaced: its build is {}, this worker "
                        "knows {}; start the worker again",
                        stack_, hello->build, build_));
    return InvalidInput(abandoned_->message);
  }
  if (hello != nullptr) hello_ = *hello;
  if (const auto* records = std::get_if<RecordsEvent>(&event)) sequence_ = records->sequence;
  if (const auto* artifact = std::get_if<Artifact>(&event)) artifacts_.push_back(*artifact);
  if (const auto* outcome = std::get_if<Outcome>(&event)) outcome_ = *outcome;
  return absl::OkStatus();
}

void EventJudge::Break(const absl::Status& why) {
  Abandon(CauseClass::kBug, fmt::format("the trainer broke the protocol: {}", Message(why)));
}

void EventJudge::Abandon(CauseClass cause, std::string message) {
  if (!abandoned_) abandoned_ = Failure{cause, std::move(message)};
}

AttemptResult EventJudge::End(const ProcessExit& exit, const absl::Status& room) const {
  AttemptResult result;
  const bool was_ours =
      signalled_ && exit.signalled && (exit.code == SIGKILL || exit.code == SIGTERM);
  const bool own_exit = outcome_ && !exit.signalled && exit.code == ExitCodeOf(outcome_->cause);
  const bool as_said = own_exit || (outcome_ && was_ours);
  if (abandoned_) {
    result = FailedResult(abandoned_->cause, abandoned_->message);
  } else if (as_said) {
    result.outcome = *outcome_;
    if (outcome_->kind != Outcome::Kind::kFailed) result.artifacts = artifacts_;
  } else if (stop_reason_) {
    result = FailedResult(CauseClass::kInterrupted, *stop_reason_);
  } else if (outcome_) {
    result =
        FailedResult(CauseClass::kBug,
                     fmt::format("the trainer said {} but {}: expected exit code {}",
                                 NameOf(*outcome_), Describe(exit), ExitCodeOf(outcome_->cause)));
  } else {
    result = EndWithoutOutcome(exit, room);
  }
  result.record_batches = sequence_;
  if (hello_) {
    result.data_identity = hello_->data_identity;
    // A failing trainer may have no time to read everything back.
    std::string& environment = result.outcome.environment;
    if (environment.empty() || environment == "{}") environment = hello_->environment;
  }
  return result;
}

}  // namespace noisefloor
