#include "worker/trainer/torch/step/shards.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "worker/trainer/torch/model/precision.h"

namespace noisefloor::trainer {

namespace {
constexpr size_t kMostArrivalOrders = 5000;  // Of up to 64! possible ones.

bool AsksForNoisySums(const Specification& specification) {
  return specification.sources.kernels_kind == "noisy" &&
         specification.Source(NoiseSource::kKernels).state == SourceState::kFree;
}

bool LaunchEverywhere(const std::vector<cuda::KernelLauncher*>& launchers) {
  return !launchers.empty() && std::ranges::find(launchers, nullptr) == launchers.end();
}
}  // namespace

bool IsBinary(const Specification& specification) {
  return specification.train.loss == "binary_cross_entropy";
}

absl::Status CheckNoisySums(const Specification& specification,
                            const std::vector<at::Device>& devices,
                            const std::vector<cuda::KernelLauncher*>& launchers) {
  if (!AsksForNoisySums(specification) || devices.front().is_cpu() || LaunchEverywhere(launchers)) {
    return absl::OkStatus();
  }
  return InvalidInput(
      "sources.kernels.kind: noisy, but no kernels of our own run on this GPU: there are none for "
      "its architecture, or NOISEFLOOR_KERNELS is off here");
}

ShardOptions ShardOptionsOf(const Specification& specification, const Streams& streams,
                            int64_t threads, std::vector<cuda::KernelLauncher*> launchers) {
  const bool noisy = AsksForNoisySums(specification) && LaunchEverywhere(launchers);
  return {.threads = threads,
          .in_arrival_order =
              specification.Source(NoiseSource::kReduceOrder).state == SourceState::kFree,
          .layers = LayerTypeOf(specification.train.precision),
          .label_smoothing = specification.train.label_smoothing,
          .binary = IsBinary(specification),
          .batch_norm_momentum = specification.model.batch_norm_momentum,
          .dropout = streams.dropout,
          .launchers = std::move(launchers),
          .noisy_sums = noisy};
}

GradientShards::GradientShards(const ShardOptions& options, Replicas replicas)
    : options_(options),
      replicas_(std::move(replicas)),
      shares_(static_cast<size_t>(replicas_.shards())),
      losses_(shares_.size()),
      team_(replicas_.shards(),
            [threads = options.threads] { at::set_num_threads(static_cast<int>(threads)); }) {}

const std::vector<at::Tensor>& GradientShards::Compute(int64_t batch_size, int64_t step,
                                                       const LoadExamples& load,
                                                       double loss_scale) {
  NF_CHECK(batch_size % replicas_.shards() == 0);
  replicas_.Broadcast();
  sum_.clear();
  {
    MutexLock lock(mutex_);
    arrival_order_.clear();
  }
  const Pass pass{.batch_size = batch_size, .step = step, .loss_scale = loss_scale};
  team_.Run([&](int64_t rank) { ComputeShard(rank, pass, load); });
  if (!options_.in_arrival_order) {
    AddByRank();
    return sum_;
  }
  MutexLock lock(mutex_);
  if (arrival_orders_.size() < kMostArrivalOrders || arrival_orders_.contains(arrival_order_)) {
    ++arrival_orders_[arrival_order_];
  }
  return sum_;
}

at::Tensor GradientShards::Logits(const Model& replica, const at::Tensor& images, int64_t step,
                                  int64_t first, size_t device) const {
  const LowPrecision scope(images.device().type(), options_.layers);
  return replica.Forward(
      images.to(replica.type()),
      {.training = true,
       .step = step,
       .first_example = first,
       .dropout = options_.dropout,
       .launcher = options_.launchers.empty() ? nullptr : options_.launchers[device],
       .noisy_sums = options_.noisy_sums});
}

void GradientShards::ComputeShard(int64_t rank, const Pass& pass, const LoadExamples& load) {
  const int64_t count = pass.batch_size / replicas_.shards();
  const int64_t first = rank * count;
  const auto place = static_cast<size_t>(rank);
  const Model& replica = replicas_.OfShard(rank);
  const size_t device = replicas_.PlaceOf(rank);
  const c10::DeviceGuard current(replicas_.devices()[device]);
  const Examples examples = load(first, count, device);
  const at::Tensor logits =
      Logits(replica, examples.images, pass.step, first, device).to(replica.type());
  const at::Tensor loss = LossOf(logits, examples.labels).div(static_cast<double>(pass.batch_size));
  (pass.loss_scale == 1 ? loss : loss * pass.loss_scale).backward();
  if (options_.in_arrival_order) WaitForShare(rank);  // Copies wait for the first device, too.
  losses_[place] = loss.detach().to(replicas_.devices().front());
  std::vector<at::Tensor> share = TakeGradients(replica);
  if (!options_.in_arrival_order) {
    shares_[place] = std::move(share);
    return;
  }
  MutexLock lock(mutex_);  // Who comes first adds first: this is the noise source.
  AddShare(rank, std::move(share));
}

// The sum over the examples.
at::Tensor GradientShards::LossOf(const at::Tensor& logits, const at::Tensor& labels) const {
  if (!options_.binary) {
    return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, /*ignore_index=*/-100,
                                  options_.label_smoothing);
  }
  return at::binary_cross_entropy_with_logits(logits, labels.to(logits.scalar_type()), {}, {},
                                              at::Reduction::Sum)
      .div(static_cast<double>(logits.size(1)));
}

std::vector<at::Tensor> GradientShards::TakeGradients(const Model& replica) const {
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : replica.parameters()) {
    at::Tensor own = std::exchange(parameter.value.mutable_grad(), at::Tensor());
    if (!own.defined()) own = at::zeros_like(parameter.value.detach());  // It is not learned.
    gradients.push_back(own.to(replicas_.devices().front()));
  }
  return gradients;
}

void GradientShards::WaitForShare(int64_t rank) const {
  const at::Device device = replicas_.devices()[replicas_.PlaceOf(rank)];
  if (replicas_.devices().size() == 1 || !device.is_cuda()) return;
  const c10::impl::VirtualGuardImpl gpu(device.type());
  gpu.synchronizeStream(gpu.getStream(device));
}

void GradientShards::AddShare(int64_t rank, std::vector<at::Tensor> share) {
  if (!arrival_order_.empty()) arrival_order_ += ",";
  arrival_order_ += std::to_string(rank);
  if (sum_.empty()) {
    sum_ = std::move(share);
    return;
  }
  const at::NoGradGuard no_grad;
  at::_foreach_add_(sum_, share);
}

void GradientShards::AddByRank() {
  const at::NoGradGuard no_grad;
  sum_ = std::move(shares_.front());
  for (size_t rank = 1; rank < shares_.size(); ++rank) at::_foreach_add_(sum_, shares_[rank]);
}

at::Tensor GradientShards::loss() const {
  at::Tensor sum = losses_.front();
  for (size_t rank = 1; rank < losses_.size(); ++rank) sum = sum + losses_[rank];
  return sum;
}

void GradientShards::UpdateRunningStatistics() {
  const at::NoGradGuard no_grad;
  const auto& running = replicas_.OfShard(0).buffers();
  const int64_t shards = replicas_.shards();
  for (size_t i = 0; i < running.size(); ++i) {
    at::Tensor mean = replicas_.OfShard(0).batch_statistics()[i].clone();
    for (int64_t rank = 1; rank < shards; ++rank) {
      mean.add_(replicas_.OfShard(rank).batch_statistics()[i].to(mean.device()));
    }
    if (shards > 1) mean.div_(static_cast<double>(shards));
    at::Tensor value = running[i].value;
    value.mul_(1.0 - options_.batch_norm_momentum).add_(mean, options_.batch_norm_momentum);
  }
}

}  // namespace noisefloor::trainer
