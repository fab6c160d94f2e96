#include "worker/trainer/torch/step/arm.h"

#include <utility>

#include "common/base/noise_source.h"
#include "common/base/philox.h"
#include "worker/trainer/torch/model/init.h"
#include "worker/trainer/torch/model/precision.h"

namespace noisefloor::trainer {

namespace {

constexpr int64_t kImageChannels = 3;

uint64_t SeedOf(const Specification& specification) {
  return specification.Source(NoiseSource::kDataOrder).seed;
}

ModelShape ShapeOf(const MeasureSettings& measure) {
  return {kImageChannels, measure.image_size, measure.image_size, measure.classes};
}

// {n} int64; with binary cross-entropy {n, attributes} float.
at::Tensor DrawLabels(const Specification& specification) {
  const bool binary = IsBinary(specification);
  const int64_t count = specification.train.batch_size;
  const int64_t classes = specification.measure.classes;
  const PhiloxStream draws(SeedOf(specification), StreamOf("measure.labels"));
  const auto bound = binary ? uint32_t{2} : static_cast<uint32_t>(classes);
  const at::Tensor labels = at::empty({binary ? count * classes : count}, at::kLong);
  auto* const label = labels.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < labels.numel(); ++i) {
    label[i] = BelowOf(draws.Word(static_cast<uint64_t>(i)), bound);
  }
  return binary ? labels.view({count, classes}).to(at::kFloat) : labels;
}

// Where the moving average goes, of a specification that asks for one.
std::vector<at::Tensor> AveragesOf(const Specification& specification, const Model& model) {
  std::vector<at::Tensor> averages;
  if (specification.train.average_decay == 0) return averages;
  for (const at::Tensor& weights : model.ParameterTensors()) {
    averages.push_back(weights.detach().clone());
  }
  return averages;
}

}  // namespace

Specification HeldStill(const Specification& specification) {
  Specification held = specification;
  for (const NoiseSource source :
       {NoiseSource::kKernels, NoiseSource::kAutotune, NoiseSource::kReduceOrder}) {
    held.Source(source).state = SourceState::kFixed;
  }
  return held;
}

Examples DrawBatch(const Specification& specification, at::Device device) {
  const int64_t count = specification.train.batch_size;
  const int64_t side = specification.measure.image_size;
  const uint64_t seed = SeedOf(specification);
  const PhiloxStream pixels(seed, StreamOf("measure.images"));
  at::Tensor images = at::empty({count, kImageChannels, side, side}, at::kFloat);
  auto* const pixel = images.mutable_data_ptr<float>();
  for (int64_t i = 0; i < images.numel(); i += 4) {
    const PhiloxCounter words = pixels.Block(static_cast<uint64_t>(i) / 4);
    for (int64_t k = 0; k < 4 && i + k < images.numel(); ++k) {
      pixel[i + k] = UniformFloat(words[static_cast<size_t>(k)]);
    }
  }
  if (LayoutOf(specification.model) == Layout::kNhwc) {
    images = images.contiguous(at::MemoryFormat::ChannelsLast);
  }
  return {images.to(device), DrawLabels(specification).to(device)};
}

Arm::Arm(std::string_view name, const Specification& specification, const Streams& streams,
         const SwitchPlan& switches, const std::vector<Examples>& batch,
         std::vector<cuda::KernelLauncher*> launchers)
    : name_(name),
      switches_(switches),
      batch_(batch),
      learning_rate_(specification.train.optimizer.learning_rate) {
  const ModelShape shape = ShapeOf(specification.measure);
  std::vector<at::Device> devices;
  for (const Examples& there : batch_) devices.push_back(there.images.device());
  model_ = MakeModel(specification.model, shape, devices.front());
  model_->ToType(WeightTypeOf(specification.train.precision));
  InitWeights(*model_, specification.model.init, streams.init, /*train=*/nullptr);
  shards_ = std::make_unique<GradientShards>(
      ShardOptionsOf(specification, streams, switches.threads, std::move(launchers)),
      Replicas(specification.model, shape, *model_, specification.train.shards, devices));
  update_ = std::make_unique<Update>(specification.train, model_->ParameterTensors(),
                                     AveragesOf(specification, *model_),
                                     model_->Rates(specification.train.optimizer.bias_rate));
}

void Arm::Step() {
  const auto& gradient = shards_->Compute(
      batch_.front().labels.size(0), steps_,
      [&](int64_t first, int64_t count, size_t place) {
        return Examples{batch_[place].images.narrow(0, first, count),
                        batch_[place].labels.narrow(0, first, count)};
      },
      update_->loss_scale());
  update_->Step(gradient, learning_rate_);
  shards_->UpdateRunningStatistics();
  ++steps_;
}

}  // namespace noisefloor::trainer
