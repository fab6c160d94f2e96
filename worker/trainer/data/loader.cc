#include "worker/trainer/data/loader.h"

#include <fmt/format.h>

#include <algorithm>

namespace noisefloor::trainer {

absl::StatusOr<Loader> Loader::Make(const Split& split, DataOrder order, LoaderSettings settings) {
  if (settings.batch_size < 1) {
    return InvalidInput(fmt::format("batch size {}; expected at least 1", settings.batch_size));
  }
  Loader loader(split, order, settings);
  if (loader.batches_per_epoch() == 0) {
    return InvalidInput(
        fmt::format("{} examples make no batch of {}", split.size(), settings.batch_size));
  }
  return loader;
}

uint64_t Loader::batches_per_epoch() const {
  const uint64_t size = static_cast<uint64_t>(settings_.batch_size);
  return settings_.drop_last ? split_->size() / size : (split_->size() + size - 1) / size;
}

void Loader::BeginEpoch() {
  visits_ = order_.Epoch(epoch_, split_->size());
  seen_.assign(split_->size(), 0);
}

void Loader::GoOnAt(uint64_t step) {
  step_ = step;
  epoch_ = step / batches_per_epoch();
  position_ = step % batches_per_epoch() * static_cast<uint64_t>(settings_.batch_size);
  BeginEpoch();
  for (uint64_t i = 0; i < position_; ++i) ++seen_.at(visits_[i]);
}

absl::StatusOr<Batch> Loader::Next() {
  if (visits_.empty()) BeginEpoch();
  Batch batch;
  batch.epoch = epoch_;
  batch.step = step_++;
  batch.first_position = position_;
  const uint64_t used = std::min<uint64_t>(
      split_->size(), batches_per_epoch() * static_cast<uint64_t>(settings_.batch_size));
  const uint64_t end =
      std::min<uint64_t>(used, position_ + static_cast<uint64_t>(settings_.batch_size));
  for (; position_ < end; ++position_) {
    const uint32_t example = visits_[position_];
    ++seen_.at(example);
    batch.examples.push_back(example);
    batch.labels.push_back(split_->labels[example]);
  }
  batch.last_of_epoch = position_ == used;
  if (batch.last_of_epoch) {
    NF_RETURN_IF_ERROR(CheckSeen(epoch_, seen_, split_->size() - used));
    ++epoch_;
    position_ = 0;
    visits_.clear();
  }
  return batch;
}

absl::Status CheckSeen(uint64_t epoch, std::span<const uint32_t> seen, uint64_t left_out) {
  uint64_t unseen = 0;
  for (size_t example = 0; example < seen.size(); ++example) {
    unseen += seen[example] == 0 ? 1 : 0;
    if (seen[example] > 1 || unseen > left_out) {
      return MakeError(absl::StatusCode::kInternal,
                       fmt::format("epoch {}: example {} was seen {} times; expected once", epoch,
                                   example, seen[example]));
    }
  }
  if (unseen == left_out) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInternal,
      fmt::format("epoch {}: {} examples were not seen; expected {}", epoch, unseen, left_out));
}

}  // namespace noisefloor::trainer
