// Whether a trainer keeps the protocol, and how its attempt ended. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "worker/daemon/attempt_result.h"

namespace noisefloor {

// How a process ended.
struct ProcessExit {
  bool signalled = false;
  int code = 0;  // Exit code, or the number of the signal.
};

// The events of one attempt, in order. Collects what becomes of it.
class EventJudge {
 public:
  // What the trainer said of itself when the worker started.
  EventJudge(std::string stack, std::string build)
      : stack_(std::move(stack)), build_(std::move(build)) {}

  // InvalidArgument says which rule the event breaks; from then on every event is refused.
  absl::Status Accept(const TrainerEvent& event);
  // A line that was no event.
  void Break(const absl::Status& why);
  // The worker cannot keep the attempt, whatever the trainer will say.
  void Abandon(CauseClass cause, std::string message);

  // Another build answered than the worker told the coordinator of: its file was replaced. This
  // worker is at fault, and will be until it is started again.
  bool replaced() const { return replaced_; }

  // The trainer was asked to stop, and why.
  void SetStopReason(std::string reason) { stop_reason_ = std::move(reason); }
  // It got a signal from us: that it died of it does not contradict what it said.
  void SetSignalled() { signalled_ = true; }

  bool heard_hello() const { return hello_.has_value(); }
  // Whether the trainer said how it ended.
  bool heard_outcome() const { return outcome_.has_value(); }

  // The end of the attempt. A protocol that was broken or an exit that contradicts the outcome is
  // a bug; an outcome counts though its process had to be killed, as all it names is on disk; an
  // end that was asked for is interrupted; an exit code without outcome speaks for itself, unless
  // the worker's disk (`room`) takes no more: then the trainer may well have died of that.
  AttemptResult End(const ProcessExit& exit, const absl::Status& room = absl::OkStatus()) const;

 private:
  absl::Status Check(const TrainerEvent& event) const;

  std::string stack_;
  std::string build_;
  bool replaced_ = false;
  struct Failure {
    CauseClass cause;
    std::string message;
  };
  std::optional<Failure> abandoned_;
  std::optional<HelloEvent> hello_;
  std::optional<Outcome> outcome_;
  std::optional<std::string> stop_reason_;
  bool signalled_ = false;
  uint64_t sequence_ = 0;
  std::vector<Artifact> artifacts_;
};

}  // namespace noisefloor
