#include "worker/trainer/torch/step/evaluate.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "common/base/check.h"
#include "worker/trainer/torch/model/host_tensors.h"

namespace noisefloor::trainer {

at::Tensor NewImages(int64_t count, const ImageShape& shape, Layout layout,
                     const std::function<void(std::span<float>)>& fill, at::Device device) {
  const bool channels_last = layout == Layout::kNhwc;
  const std::vector<int64_t> sizes =
      channels_last ? std::vector{count, shape.height, shape.width, shape.channels}
                    : std::vector{count, shape.channels, shape.height, shape.width};
  const at::Tensor images = at::empty(sizes, at::kFloat);
  fill({images.mutable_data_ptr<float>(), static_cast<size_t>(images.numel())});
  // By exchanging dimensions, channels_last also when there is one channel: converting with a
  // memory format would leave the strides as they are then.
  return channels_last ? images.to(device).permute({0, 3, 1, 2}) : images.to(device);
}

absl::StatusOr<std::vector<float>> Evaluator::Predict(const Model& model, int64_t classes,
                                                      at::Device device) const {
  SwitchPlan plan = plan_.training;
  plan.warn_only = !plan.deterministic;  // CUBLAS_WORKSPACE_CONFIG is set where kernels are fixed.
  plan.deterministic = true;
  plan.autotune = false;
  plan.tf32 = false;
  NF_RETURN_IF_ERROR(CheckReadings(SetSwitches(plan)));
  std::optional<ThreadTeam> fresh;  // Of at least two: a team of one is the calling thread.
  if (plan_.fresh_threads) fresh.emplace(std::max<int64_t>(2, team_.size()), [] {});
  ThreadTeam& team = fresh ? *fresh : team_;
  const int64_t batches = (split_.size() + plan_.batch_size - 1) / plan_.batch_size;
  std::vector<float> logits(static_cast<size_t>(split_.size() * classes));
  team.Run([&](int64_t rank) {
    // A thread that has done nothing in parallel yet would take over, at its first operation, the
    // number that some thread set last. Ours and LibTorch's code may each keep whether it has.
    at::internal::lazy_init_num_threads();
    (void)at::get_num_threads();
    at::set_num_threads(static_cast<int>(plan_.threads));
    for (int64_t i = rank; i < batches; i += team.size()) {
      const int64_t first = i * plan_.batch_size;
      const int64_t count = std::min<int64_t>(plan_.batch_size, split_.size() - first);
      PredictBatch(model, device, first,
                   std::span(logits).subspan(static_cast<size_t>(first * classes),
                                             static_cast<size_t>(count * classes)));
    }
    at::set_num_threads(static_cast<int>(plan_.training.threads));
  });
  NF_RETURN_IF_ERROR(CheckReadings(SetSwitches(plan_.training)));
  return logits;
}

void Evaluator::PredictBatch(const Model& model, at::Device device, int64_t first,
                             std::span<float> logits) const {
  const at::NoGradGuard no_grad;
  const int64_t count = std::min<int64_t>(plan_.batch_size, split_.size() - first);
  std::vector<uint32_t> examples(static_cast<size_t>(count));
  std::iota(examples.begin(), examples.end(), static_cast<uint32_t>(first));
  const at::Tensor images = NewImages(
      count, split_.shape, augmenter_.layout(),
      [&](std::span<float> out) { augmenter_.Evaluation(split_, examples, out); }, device);
  const std::vector<float> values =
      HostValues(model.Forward(images.to(model.type()), {.training = false}));
  NF_CHECK(values.size() == logits.size());
  std::ranges::copy(values, logits.begin());
}

std::vector<int32_t> Evaluator::Labels() const {
  return {split_.labels.begin(), split_.labels.end()};
}

}  // namespace noisefloor::trainer
