#include "worker/trainer/torch/step/journal.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace noisefloor::trainer {

namespace {
constexpr int64_t kReportsPerEpoch = 10;
}  // namespace

Journal::Journal(const StepCounts& counts, Reporter& reporter)
    : counts_(counts),
      interval_(std::max<int64_t>(1, counts.per_epoch / kReportsPerEpoch)),
      reporter_(reporter) {}

bool Journal::Add(int64_t step, const at::Tensor& loss) {
  state_.sum = state_.sum.defined() ? state_.sum + loss : loss;
  ++state_.summed;
  const int64_t in_epoch = step % counts_.per_epoch + 1;
  if (in_epoch % interval_ != 0 && in_epoch != counts_.per_epoch) return true;
  return Report(step + 1);
}

bool Journal::Report(int64_t done) {
  const double sum = std::exchange(state_.sum, at::Tensor()).item<double>();
  const auto count = std::exchange(state_.summed, 0);
  const double epoch = static_cast<double>(done) / static_cast<double>(counts_.per_epoch);
  state_.epoch_sum += sum;
  state_.epoch_summed += count;
  reporter_.Add({done, epoch, "train_loss", sum / static_cast<double>(count)});
  if (done % counts_.per_epoch == 0) {
    reporter_.Add({done, epoch, "train_loss_epoch",
                   std::exchange(state_.epoch_sum, 0) /
                       static_cast<double>(std::exchange(state_.epoch_summed, 0))});
  }
  reporter_.Progress(done, counts_.total);
  return std::isfinite(sum);
}

}  // namespace noisefloor::trainer
