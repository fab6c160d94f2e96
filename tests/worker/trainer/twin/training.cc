#include "tests/worker/trainer/twin/training.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/check.h"
#include "common/files/tensor_hash.h"
#include "tests/worker/trainer/twin/networks.h"
#include "tests/worker/trainer/twin/optimizer.h"
#include "worker/trainer/data/augment.h"
#include "worker/trainer/data/loader.h"
#include "worker/trainer/noise/streams.h"

namespace noisefloor::trainer::twin {

namespace {

constexpr size_t kHashedBatches = 4;

std::string HashOf(const Arrays& arrays) {
  std::vector<std::vector<float>> values;
  std::vector<TensorView> views;
  values.reserve(arrays.size());
  for (const auto& [name, array] : arrays) {
    values.emplace_back(array.values.begin(), array.values.end());
    views.push_back(MakeTensorView<float>(name, array.shape, values.back()));
  }
  const auto hash = HashTensors(views);
  NF_CHECK(hash.ok());
  return *hash;
}

Arrays Both(const Arrays& parameters, const Arrays& buffers) {
  Arrays all = parameters;
  all.insert(buffers.begin(), buffers.end());
  return all;
}

class Trainer {
 public:
  Trainer(const Specification& specification, const Dataset& dataset)
      : spec_(specification),
        dataset_(dataset),
        streams_(MakeStreams(specification)),
        augmenter_(dataset.shape, specification.augment, Layout::kNchw),
        loader_(*Loader::Make(dataset.train, streams_.data_order,
                              {specification.train.batch_size, specification.train.drop_last})),
        network_(MakeNetwork(specification.model, dataset.shape, dataset.classes)),
        optimizer_(specification.train.optimizer) {
    network_->Declare(state_);
  }

  Trained Run() {
    Initialise(spec_.model, spec_.Source(NoiseSource::kInit).seed, state_);
    Trained trained{.init_hash = HashOf(state_.parameters),
                    .first_batches_hash = HashFirst(),
                    .begun = Both(state_.parameters, state_.buffers)};
    const auto per_epoch = static_cast<int64_t>(loader_.batches_per_epoch());
    for (int64_t step = 0; step < per_epoch * spec_.train.epochs; ++step) {
      trained.learning_rates.push_back(LearningRate(spec_.train, per_epoch, step));
      trained.losses.push_back(Step(step, trained.learning_rates.back()));
    }
    trained.ended = Both(state_.parameters, state_.buffers);
    trained.logits = Evaluate();
    return trained;
  }

  Array EvaluateWith(const Arrays& weights) {
    for (Arrays* part : {&state_.parameters, &state_.buffers}) {
      for (auto& [name, array] : *part) array = weights.at(name);
    }
    NF_CHECK(weights.size() == state_.parameters.size() + state_.buffers.size());
    return Evaluate();
  }

 private:
  std::vector<float> Images(const Batch& batch) const {
    std::vector<float> images(batch.examples.size() * static_cast<size_t>(dataset_.shape.pixels()));
    const Augmenter::Selection selection{batch.epoch, batch.first_position, batch.examples};
    augmenter_.Training(dataset_.train, selection, streams_.augment, images);
    return images;
  }

  std::string HashFirst() const {
    Loader loader = loader_;
    const size_t count = std::min<size_t>(kHashedBatches, loader.batches_per_epoch());
    std::vector<std::vector<float>> images(count);
    std::vector<std::vector<int32_t>> labels(count);
    std::vector<TensorView> views;
    const ImageShape& shape = dataset_.shape;
    for (size_t i = 0; i < count; ++i) {
      const Batch batch = *loader.Next();
      const auto size = static_cast<int64_t>(batch.labels.size());
      images[i] = Images(batch);
      labels[i].assign(batch.labels.begin(), batch.labels.end());
      views.push_back(MakeTensorView<float>("images/" + std::to_string(i),
                                            {size, shape.channels, shape.height, shape.width},
                                            images[i]));
      views.push_back(MakeTensorView<int32_t>("labels/" + std::to_string(i), {size}, labels[i]));
    }
    return *HashTensors(views);
  }

  // The loss of a batch; the state is moved by it.
  double Step(int64_t step, double learning_rate) {
    const Batch batch = *loader_.Next();
    const std::vector<float> images = Images(batch);
    const int64_t shards = spec_.train.shards;
    const int64_t count = static_cast<int64_t>(batch.labels.size()) / shards;
    for (auto& [name, gradient] : state_.gradients) std::ranges::fill(gradient.values, 0.0);
    Arrays statistics;
    double loss = 0;
    for (int64_t first = 0; first < count * shards; first += count) {
      Array x({count, dataset_.shape.channels, dataset_.shape.height, dataset_.shape.width});
      std::copy_n(images.begin() + first * dataset_.shape.pixels(), x.values.size(),
                  x.values.begin());
      const Array logits = network_->Forward(x, {true, step, first, streams_.dropout}, state_);
      Array gradient(logits.shape);
      loss += CrossEntropy(logits, batch.labels, first, gradient);
      network_->Backward(gradient, state_);
      for (const auto& [name, statistic] : state_.statistics) {
        Array& sum = statistics.try_emplace(name, statistic.shape).first->second;
        for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += statistic.values[i];
      }
    }
    optimizer_.Step(learning_rate, state_);
    const double momentum = spec_.model.batch_norm_momentum;
    for (auto& [name, running] : state_.buffers) {
      for (size_t i = 0; i < running.values.size(); ++i) {
        const double mean = statistics.at(name).values[i] / static_cast<double>(shards);
        running.values[i] = (1 - momentum) * running.values[i] + momentum * mean;
      }
    }
    return loss;
  }

  // The part of the batch's mean loss that belongs to examples from `first` on; smoothing as in
  // Szegedy and others (2016): a share of the target lies on all classes alike.
  double CrossEntropy(const Array& logits, const std::vector<int64_t>& labels, int64_t first,
                      Array& gradient) const {
    const int64_t classes = logits.Size(1);
    const auto batch = static_cast<double>(labels.size());
    const double spread = spec_.train.label_smoothing / static_cast<double>(classes);
    double loss = 0;
    for (int64_t n = 0; n < logits.Size(0); ++n) {
      const double* row = logits.At(n * classes);
      double sum = 0;
      for (int64_t k = 0; k < classes; ++k) sum += std::exp(row[k]);
      for (int64_t k = 0; k < classes; ++k) {
        const bool right = labels[static_cast<size_t>(first + n)] == k;
        const double target = spread + (right ? 1 - spec_.train.label_smoothing : 0);
        loss -= target * (row[k] - std::log(sum)) / batch;
        *gradient.At(n * classes + k) = (std::exp(row[k]) / sum - target) / batch;
      }
    }
    return loss;
  }

  Array Evaluate() {
    const auto count = static_cast<int64_t>(dataset_.test.size());
    std::vector<uint32_t> all(dataset_.test.size());
    std::iota(all.begin(), all.end(), 0u);
    std::vector<float> images(all.size() * static_cast<size_t>(dataset_.shape.pixels()));
    augmenter_.Evaluation(dataset_.test, all, images);
    Array x({count, dataset_.shape.channels, dataset_.shape.height, dataset_.shape.width});
    std::ranges::copy(images, x.values.begin());
    return network_->Forward(x, {.training = false}, state_);
  }

  const Specification& spec_;
  const Dataset& dataset_;
  const Streams streams_;
  const Augmenter augmenter_;
  Loader loader_;
  const std::unique_ptr<Layer> network_;
  Optimizer optimizer_;
  State state_;
};

}  // namespace

Trained Train(const Specification& specification, const Dataset& dataset) {
  return Trainer(specification, dataset).Run();
}

Array Evaluate(const Specification& specification, const Dataset& dataset, const Arrays& weights) {
  return Trainer(specification, dataset).EvaluateWith(weights);
}

Arrays ArraysOf(const std::vector<TensorView>& tensors) {
  Arrays arrays;
  for (const TensorView& tensor : tensors) {
    const auto values = CopyValues<float>(tensor);
    NF_CHECK(values.ok());
    Array array;
    array.shape = tensor.shape;
    array.values.assign(values->begin(), values->end());
    arrays.emplace(tensor.name, std::move(array));
  }
  return arrays;
}

}  // namespace noisefloor::trainer::twin
