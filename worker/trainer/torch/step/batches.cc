#include "worker/trainer/torch/step/batches.h"

#include <algorithm>
#include <vector>

#include "common/files/tensor_hash.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/step/evaluate.h"

namespace noisefloor::trainer {

namespace {

constexpr int64_t kHashedBatches = 4;

}  // namespace

absl::StatusOr<TrainingBatches> TrainingBatches::Make(const Specification& specification,
                                                      const Dataset& dataset,
                                                      const Streams& streams,
                                                      std::vector<BatchPlace> places) {
  const LoaderSettings settings{.batch_size = specification.train.batch_size,
                                .drop_last = specification.train.drop_last};
  NF_ASSIGN_OR_RETURN(Loader loader, Loader::Make(dataset.train, streams.data_order, settings));
  const Augmenter augmenter(dataset.shape, specification.augment, LayoutOf(specification.model));
  TrainingBatches batches(dataset, std::move(loader), augmenter, streams.augment,
                          std::move(places));
  const auto launches = [](const BatchPlace& place) { return place.launcher != nullptr; };
  if (!std::ranges::all_of(batches.places_, launches) || !DeviceImages::Fits(dataset.train)) {
    return batches;
  }
  for (const BatchPlace& place : batches.places_) {
    batches.resident_.emplace_back(dataset.train,
                                   cuda::ImageRule{specification.augment, augmenter.layout()},
                                   streams.augment, place.device, *place.launcher);
  }
  return batches;
}

Examples TrainingBatches::Load(const Batch& batch, int64_t first, int64_t count,
                               size_t place) const {
  const at::Device device = places_[place].device;
  const auto begin = static_cast<size_t>(first);
  const auto size = static_cast<size_t>(count);
  const Augmenter::Selection selection{.epoch = batch.epoch,
                                       .first_position = batch.first_position + begin,
                                       .examples = std::span(batch.examples).subspan(begin, size)};
  if (!resident_.empty()) {
    Examples resident = resident_[place].Load(batch, first, count);
    // The kernel knows classes alone.
    if (attributes_ > 0) resident.labels = SendTo(device, AttributesOf(selection.examples));
    return resident;
  }
  const at::Tensor labels =
      attributes_ > 0 ? AttributesOf(selection.examples) : at::empty({count}, at::kLong);
  if (attributes_ == 0) {
    std::copy_n(batch.labels.begin() + first, count, labels.mutable_data_ptr<int64_t>());
  }
  return {NewImages(
              count, split_->shape, augmenter_.layout(),
              [&](std::span<float> out) { augmenter_.Training(*split_, selection, draws_, out); },
              device),
          labels.to(device)};
}

at::Tensor TrainingBatches::AttributesOf(std::span<const uint32_t> examples) const {
  const at::Tensor all =
      at::empty({static_cast<int64_t>(examples.size()), attributes_}, at::kFloat);
  float* out = all.mutable_data_ptr<float>();
  const auto width = static_cast<size_t>(attributes_);
  for (const uint32_t example : examples) {
    out = std::copy_n(split_->attributes.data() + example * width, width, out);
  }
  return all;
}

absl::Status TrainingBatches::NoteFirst(int64_t steps, ExamplesSeen& seen) const {
  Loader loader = fresh_;
  for (int64_t i = 0; i < steps; ++i) {
    NF_ASSIGN_OR_RETURN(const Batch batch, loader.Next());
    seen.Add(batch.examples);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TrainingBatches::HashFirst() const {
  Loader loader = fresh_;
  std::vector<std::vector<float>> images;
  std::vector<std::vector<int32_t>> labels;
  std::vector<TensorView> views;
  const int64_t count = std::min(kHashedBatches, per_epoch());
  images.reserve(static_cast<size_t>(count));  // Views borrow: no element may move.
  labels.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    NF_ASSIGN_OR_RETURN(const Batch batch, loader.Next());
    const auto size = static_cast<int64_t>(batch.examples.size());
    const Examples examples = Load(batch, 0, size);
    images.push_back(HostValues(examples.images));
    Shape label_shape = {size};
    if (attributes_ == 0) {
      labels.emplace_back(batch.labels.begin(), batch.labels.end());
    } else {
      const std::vector<float> values = HostValues(examples.labels);
      labels.emplace_back(values.begin(), values.end());
      label_shape.push_back(attributes_);
    }
    const std::string number = std::to_string(i);
    views.push_back(
        MakeTensorView<float>("images/" + number, examples.images.sizes().vec(), images.back()));
    views.push_back(MakeTensorView<int32_t>("labels/" + number, label_shape, labels.back()));
  }
  return HashTensors(views);
}

}  // namespace noisefloor::trainer
