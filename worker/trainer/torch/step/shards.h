// Gradients of a batch by k shards on k threads, as in data-parallel training: each shard has a
// replica, on one of the devices, and gradients of its own.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/trainer_protocol/specification.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/model/model.h"
#include "worker/trainer/torch/step/replicas.h"
#include "worker/trainer/torch/step/thread_team.h"

namespace noisefloor::trainer {

struct Examples {
  at::Tensor images;  // {n, channels, height, width} float, in the network's layout
  at::Tensor labels;  // {n} int64; with binary cross-entropy {n, attributes} float, 0 or 1
};
// Gives examples [first, first + count) of the batch at hand, on the device at `place` in the list
// of devices. Called on the shards' threads.
using LoadExamples = std::function<Examples(int64_t first, int64_t count, size_t place)>;

struct ShardOptions {
  int64_t threads = 1;                 // Intra-op threads of each shard.
  bool in_arrival_order = false;       // Add shares as they arrive instead of by rank.
  at::ScalarType layers = at::kFloat;  // model/precision.h
  double label_smoothing = 0;
  bool binary = false;  // Sigmoid and binary cross-entropy, mean over the attributes.
  double batch_norm_momentum = 0.01;
  DropoutDraws dropout{0};
  // Borrowed: what makes masks on each of the devices, null where the host does. Empty: on none.
  std::vector<cuda::KernelLauncher*> launchers = {};
  bool noisy_sums = false;  // ForwardPass'; each device has a launcher then.
};

// Whether an example has attributes, each yes or no, instead of one class.
bool IsBinary(const Specification& specification);
// InvalidArgument where noisy kernels are asked for on a GPU that has no launcher of its own. On a
// processor they change nothing, as free kernels do there.
absl::Status CheckNoisySums(const Specification& specification,
                            const std::vector<at::Device>& devices,
                            const std::vector<cuda::KernelLauncher*>& launchers);
// Of a training or a measurement.
ShardOptions ShardOptionsOf(const Specification& specification, const Streams& streams,
                            int64_t threads, std::vector<cuda::KernelLauncher*> launchers);

// One caller at a time. Batch norm normalises per shard; running statistics move by the mean over
// the shards, added by rank. Sums are made on the first device, of shares that are moved there, so
// that by rank they have the same bits wherever the shards are.
class GradientShards {
 public:
  GradientShards(const ShardOptions& options, Replicas replicas);

  // The gradient of the mean loss over the whole batch, for each parameter, on the first device;
  // valid until the next call. `batch_size` is a multiple of the shards. The gradient is that of
  // `loss_scale` times the loss.
  const std::vector<at::Tensor>& Compute(int64_t batch_size, int64_t step, const LoadExamples& load,
                                         double loss_scale = 1);
  // Mean loss over the batch of the last Compute: the shards' shares, added by rank. On the first
  // device.
  at::Tensor loss() const;

  // Moves the running statistics by those of the last batch.
  void UpdateRunningStatistics();

  // The threads of the shards, for other work between two calls of Compute.
  ThreadTeam& team() { return team_; }

  // How often each order of arrival was seen ("2,0,1,3"); only with in_arrival_order.
  const std::map<std::string, int64_t>& arrival_orders() const { return arrival_orders_; }
  // Those of earlier attempts, which are counted on. Nothing else moves from step to step.
  void set_arrival_orders(std::map<std::string, int64_t> seen) {
    arrival_orders_ = std::move(seen);
  }

 private:
  struct Pass {
    int64_t batch_size = 0;
    int64_t step = 0;
    double loss_scale = 1;
  };
  void ComputeShard(int64_t rank, const Pass& pass, const LoadExamples& load)
      ABSL_LOCKS_EXCLUDED(mutex_);
  at::Tensor LossOf(const at::Tensor& logits, const at::Tensor& labels) const;
  at::Tensor Logits(const Model& replica, const at::Tensor& images, int64_t step, int64_t first,
                    size_t device) const;
  // Taken from the replica to the first device.
  std::vector<at::Tensor> TakeGradients(const Model& replica) const;
  // Until the shard's device has computed its share, where there are several devices: who is done
  // first then arrives first, and not whose thread has asked for it first.
  void WaitForShare(int64_t rank) const;
  void AddShare(int64_t rank, std::vector<at::Tensor> share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddByRank();

  const ShardOptions options_;
  const Replicas replicas_;
  std::vector<std::vector<at::Tensor>> shares_;  // By rank; each written by its thread.
  std::vector<at::Tensor> losses_;               // Likewise.
  std::vector<at::Tensor> sum_;                  // With in_arrival_order: under mutex_.
  Mutex mutex_;
  std::string arrival_order_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> arrival_orders_;
  ThreadTeam team_;  // Last: its threads use all of the above.
};

}  // namespace noisefloor::trainer
