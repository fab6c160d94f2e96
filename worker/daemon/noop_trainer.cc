#include "worker/daemon/noop_trainer.h"

#include <algorithm>

#include "fmt/format.h"

#include "common/base/philox.h"
#include "common/files/sha256.h"

namespace noisefloor {

namespace {

constexpr int kClasses = 10;

// The seeds of the named sources, and the settings that all of a training depends on.
std::string Fold(std::string_view what, const Specification& specification,
                 std::initializer_list<NoiseSource> sources) {
  std::string text(what);
  for (const NoiseSource source : sources) {
    const SourceSpec& spec = specification.Source(source);
    text += fmt::format("\n{}", spec.state == SourceState::kOff ? 0 : spec.seed);
  }
  return text;
}

bool HasPhysicalNoise(const Specification& specification) {
  return specification.Source(NoiseSource::kReduceOrder).state == SourceState::kFree &&
         specification.train.shards >= 3;
}

std::string WeightsKey(const Specification& specification, const std::string& salt) {
  std::string text = Fold("weights", specification,
                          {NoiseSource::kInit, NoiseSource::kDataOrder, NoiseSource::kAugment,
                           NoiseSource::kDropout, NoiseSource::kPoke, NoiseSource::kThreads});
  if (specification.Source(NoiseSource::kDial).state != SourceState::kOff) {
    text += Fold("\ndial", specification, {NoiseSource::kDial});
  }
  text += fmt::format("\n{}\n{}\n{}", specification.hardware_class,
                      specification.train.optimizer.learning_rate, specification.model.name);
  if (HasPhysicalNoise(specification)) text += "\n" + salt;
  return text;
}

// In [0, 1), from a key.
double Draw(const std::string& key, uint64_t index) {
  return UniformFloat(PhiloxStream(StreamOf(key), 0).Word(index));
}

}  // namespace

Outcome NoopOutcome(const Specification& specification, const std::string& salt) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDone;
  outcome.environment = R"({"trainer":"noop"})";
  outcome.hashes["init"] =
      Sha256Hex(Fold("init", specification, {NoiseSource::kInit}) + specification.model.name);
  outcome.hashes["first_batches"] =
      Sha256Hex(Fold("batches", specification, {NoiseSource::kDataOrder, NoiseSource::kAugment}));
  const std::string weights = WeightsKey(specification, salt);
  outcome.hashes["weights"] = Sha256Hex(weights);
  outcome.hashes["logits"] = Sha256Hex("logits\n" + weights);
  double sum = 0;
  for (int i = 0; i < kClasses; ++i) {
    outcome.per_class_accuracy.push_back(0.7 + 0.2 * Draw(weights, static_cast<uint64_t>(i)));
    sum += outcome.per_class_accuracy.back();
  }
  outcome.metrics = {
      {"loss", 0.5 + 0.1 * Draw(weights, 100)}, {"top1", sum / kClasses}, {"top5", 0.99}};
  return outcome;
}

RecordsEvent NoopRecords(const Specification& specification, int64_t epoch) {
  const int64_t epochs = std::max<int64_t>(1, specification.train.epochs);
  const int64_t step = NoopStepCount(specification) * epoch / epochs;
  const std::string key = WeightsKey(specification, "");
  const auto index = static_cast<uint64_t>(epoch);
  RecordsEvent event;
  event.sequence = index;
  const auto at = static_cast<double>(epoch);
  event.records = {{step, at, "train_loss", 2.0 / (at + 1) + 0.1 * Draw(key, 200 + index)},
                   {step, at, "test_loss", 2.2 / (at + 1) + 0.1 * Draw(key, 300 + index)},
                   {step, at, "test_top1", 1 - 0.5 / (at + 1)}};
  return event;
}

int64_t NoopStepCount(const Specification& specification) {
  const int64_t examples =
      specification.data.train_examples > 0 ? specification.data.train_examples : 1000;
  const int64_t batch = std::max<int64_t>(1, specification.train.batch_size);
  return (examples + batch - 1) / batch * specification.train.epochs;
}

std::string NoopDataIdentity(const Specification& specification) {
  if (!specification.data.identity.empty()) return specification.data.identity;
  return Sha256Hex("noop data " + specification.data.name);
}

}  // namespace noisefloor
