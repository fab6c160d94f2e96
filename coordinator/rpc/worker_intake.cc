#include "coordinator/rpc/worker_intake.h"

#include <optional>
#include <utility>

#include "common/log/log.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

namespace {

// More than a message takes on its way, and than people overlook in a table of times.
constexpr absl::Duration kClocksApart = absl::Seconds(10);

// Leases and durations go by steady clocks. Certificates, tokens and times in reports do not.
void WarnOfClock(const std::string& worker, int64_t unix_micros, absl::Time now) {
  if (unix_micros == 0) return;
  const absl::Duration ahead = absl::FromUnixMicros(unix_micros) - now;
  if (absl::AbsDuration(ahead) < kClocksApart) return;
  LogWarning("worker_clock",
             {{"worker", worker},
              {"ahead_s", absl::ToInt64Seconds(ahead)},
              {"help",
               "its members train all the same; set the clock of its machine, or this one: "
               "`noisefloor doctor` there compares them"}});
}

// Why an event was not taken. A worker comes again by itself, as to one that was restarted.
absl::Status WhyNotTaken(const EventLoop& loop) {
  if (loop.stopping()) return NotTaken(true);
  return MakeError(absl::StatusCode::kUnavailable,
                   "the coordinator has more to do than it can keep; come again");
}

}  // namespace

absl::Status WorkerIntake::Take(SessionId session, bool registered, const std::string& caller,
                                const v1::SessionRequest& message) {
  const bool is_register = message.has_register_();
  if (!registered && !is_register) {
    return InvalidInput("the first message of a session: expected register");
  }
  if (registered && is_register) {
    return InvalidInput("register: expected only as the first message of a session");
  }
  if (is_register) return Register(session, caller, message.register_());
  NF_ASSIGN_OR_RETURN(scheduler::Event event, EventFrom(session, message));
  FillMissingFiles(event);
  return loop_.Post(session, std::move(event), true) ? absl::OkStatus() : WhyNotTaken(loop_);
}

void WorkerIntake::Lost(SessionId session) {
  (void)loop_.Post(session, scheduler::SessionLost{session}, false);  // After Stop nobody cares.
}

absl::Status WorkerIntake::Register(SessionId session, const std::string& caller,
                                    const v1::Register& message) {
  NF_ASSIGN_OR_RETURN(scheduler::WorkerConnected event, WorkerFrom(session, message));
  NF_ASSIGN_OR_RETURN(const std::optional<SessionId> older,
                      registry_.ClaimName(session, event.name, event.identity));
  if (older) Lost(*older);
  LogInfo("worker_connected", {{"worker", event.name},
                               {"session", session.value},
                               {"caller", caller},
                               {"version", event.version},
                               {"devices_known", message.has_inventory()},
                               {"held", event.held.size()}});
  WarnOfClock(event.name, message.unix_micros(), clock_.Now());
  return loop_.Post(session, std::move(event), true) ? absl::OkStatus() : WhyNotTaken(loop_);
}

// A result is accepted only when its files are here, and of one that is refused only those that are
// here are kept; the core does not look at disks.
void WorkerIntake::FillMissingFiles(scheduler::Event& event) const {
  auto* finished = std::get_if<scheduler::AttemptFinished>(&event);
  if (finished == nullptr) return;
  for (const Artifact& artifact : finished->outcome.artifacts) {
    if (blobs_.Has({artifact.sha256, artifact.size})) continue;
    finished->missing_artifacts.push_back(artifact.sha256);
  }
}

}  // namespace noisefloor
