#include "worker/trainer/torch/step/signs_of_life.h"

#include "worker/trainer/torch/step/stop.h"

namespace noisefloor::trainer {

namespace {
constexpr absl::Duration kBetween = absl::Seconds(10);
}  // namespace

SignsOfLife::SignsOfLife(const Clock& clock, Reporter& reporter)
    : clock_(clock), reporter_(reporter), next_(clock.Steady() + kBetween) {}

bool SignsOfLife::GoOn() {
  if (StopAsked() || !reporter_.status().ok()) return false;
  const absl::Duration now = clock_.Steady();
  if (now < next_) return true;
  next_ = now + kBetween;
  reporter_.Progress(0, 0);
  return true;
}

}  // namespace noisefloor::trainer
