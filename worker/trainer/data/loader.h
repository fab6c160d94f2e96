// Batches of one split, epoch after epoch, in the order of the source `data_order`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/noise/order.h"

namespace noisefloor::trainer {

struct Batch {
  uint64_t epoch = 0;           // From 0.
  uint64_t step = 0;            // From 0, over all epochs.
  uint64_t first_position = 0;  // Within the epoch; example i has position first_position + i.
  bool last_of_epoch = false;
  std::vector<uint32_t> examples;  // Ranks in the split.
  std::vector<int64_t> labels;     // Of the same length.
};

struct LoaderSettings {
  int64_t batch_size = 128;
  bool drop_last = false;  // Leave out a last batch that would be smaller.
};

// One thread. Borrows the split.
class Loader {
 public:
  // InvalidArgument for a batch size below 1 or one that leaves no batch in an epoch.
  static absl::StatusOr<Loader> Make(const Split& split, DataOrder order, LoaderSettings settings);

  // The next batch; begins the next epoch by itself. At the end of each epoch every example was
  // given as often as it should be: Internal otherwise, naming the first that was not.
  absl::StatusOr<Batch> Next();

  uint64_t batches_per_epoch() const;

  // Next gives the batch of this step (from 0) from now on: the order of an epoch is a function of
  // its number, so a place in it is all there is to know.
  void GoOnAt(uint64_t step);

 private:
  Loader(const Split& split, DataOrder order, LoaderSettings settings)
      : split_(&split), order_(order), settings_(settings) {}

  void BeginEpoch();

  const Split* split_;
  DataOrder order_;
  LoaderSettings settings_;
  uint64_t epoch_ = 0;
  uint64_t step_ = 0;
  uint64_t position_ = 0;
  std::vector<uint32_t> visits_;  // This epoch's order; empty before it begins.
  std::vector<uint32_t> seen_;    // How often each example was given in this epoch.
};

// Each example must have been seen once; with `left_out` of them at the end of the epoch not at
// all. Internal names the epoch, the first wrong example and how often it was seen.
absl::Status CheckSeen(uint64_t epoch, std::span<const uint32_t> seen, uint64_t left_out);

}  // namespace noisefloor::trainer
