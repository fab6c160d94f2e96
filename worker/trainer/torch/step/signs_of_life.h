// What a trainer says before its hello while it reads its data, which may take longer than a worker
// waits for a word.
#pragma once

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "worker/trainer/torch/step/reporter.h"

namespace noisefloor::trainer {

// Not thread-safe. Borrows both.
class SignsOfLife {
 public:
  SignsOfLife(const Clock& clock, Reporter& reporter);

  // To be called again and again; says it when the last one is ten seconds old. False: a stop is
  // asked for, or nobody hears any more.
  bool GoOn();

 private:
  const Clock& clock_;
  Reporter& reporter_;
  absl::Duration next_;
};

}  // namespace noisefloor::trainer
