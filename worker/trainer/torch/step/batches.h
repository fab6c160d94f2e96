// The training batches of a member as tensors: order from `data_order`, images from `augment`.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/data/augment.h"
#include "worker/trainer/data/examples_seen.h"
#include "worker/trainer/data/loader.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/step/device_images.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {

struct BatchPlace {
  at::Device device;
  cuda::KernelLauncher* launcher = nullptr;  // Borrowed; none: LibTorch's kernels alone.
};

// Borrows the dataset. Next on one thread; Load on any.
class TrainingBatches {
 public:
  // `places`: the devices that batches are made for; at least one. Where each has what runs our
  // kernels on it, and the split fits, the images lie there and are made there, with the same bits.
  static absl::StatusOr<TrainingBatches> Make(const Specification& specification,
                                              const Dataset& dataset, const Streams& streams,
                                              std::vector<BatchPlace> places = {{at::kCPU}});

  absl::StatusOr<Batch> Next() { return loader_.Next(); }
  // The next batch is that of this step, from 0.
  void GoOnAt(int64_t step) { loader_.GoOnAt(static_cast<uint64_t>(step)); }
  int64_t per_epoch() const { return static_cast<int64_t>(loader_.batches_per_epoch()); }

  // The examples of the first `steps` batches.
  absl::Status NoteFirst(int64_t steps, ExamplesSeen& seen) const;

  // Examples [first, first + count) of the batch, on the device at `place`.
  Examples Load(const Batch& batch, int64_t first, int64_t count, size_t place = 0) const;

  // The hash over the first 4 batches ever ("images/0" {n, channels, height, width}, "labels/0"
  // {n} int32, or {n, attributes}, ...), fewer if the first epoch has fewer. Leaves Next where it
  // is.
  absl::StatusOr<std::string> HashFirst() const;

 private:
  TrainingBatches(const Dataset& dataset, Loader loader, Augmenter augmenter,
                  const AugmentDraws& draws, std::vector<BatchPlace> places)
      : split_(&dataset.train),
        attributes_(static_cast<int64_t>(dataset.attributes.size())),
        fresh_(loader),
        loader_(std::move(loader)),
        augmenter_(augmenter),
        draws_(draws),
        places_(std::move(places)) {}

  // {n, attributes} float.
  at::Tensor AttributesOf(std::span<const uint32_t> examples) const;

  const Split* split_;
  int64_t attributes_;  // 0: examples have one class each.
  Loader fresh_;        // Never moved on.
  Loader loader_;
  Augmenter augmenter_;
  AugmentDraws draws_;
  std::vector<BatchPlace> places_;
  std::vector<DeviceImages> resident_;  // One a place, or none.
};

}  // namespace noisefloor::trainer
