// Why a member could not be brought to an end, in the words and causes of the protocol.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/trainer_protocol/json.h"

namespace noisefloor::trainer {

// The cause of a failure that is not told by an exception.
CauseClass CauseOf(const absl::Status& status);

struct Failure {
  CauseClass cause = CauseClass::kBug;
  std::string message;  // One line.
};

// Waits for each GPU that this process uses; throws when one does not work any more.
void WaitForGpus();

// Third-party code throws; this is the one place where that becomes a cause. `ask_gpus` is called
// where the words alone do not tell a mistake from a GPU that is gone or full.
Failure FailureOf(const std::exception& error, const std::function<void()>& ask_gpus = WaitForGpus);

// Of what an exception says.
std::string FirstLineOf(const std::exception& error);

}  // namespace noisefloor::trainer
