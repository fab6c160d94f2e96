#include "tests/bench/coordinator/messages.h"

#include <array>
#include <string_view>

#include "common/files/sha256.h"
#include "common/trainer_protocol/fields.h"

namespace noisefloor::bench {

namespace {

constexpr int kClasses = 10;
constexpr double kStepsPerEpoch = 391;  // 50,000 examples in batches of 128.
constexpr std::array kMetrics = {"train_loss", "test_loss",     "test_top1",   "test_top5",
                                 "rate",       "gradient_norm", "weight_norm", "seconds"};

}  // namespace

v1::SessionRequest Registration(const std::string& name, uint64_t identity, uint32_t slots,
                                const std::string& hardware) {
  v1::SessionRequest request;
  v1::Register& message = *request.mutable_register_();
  message.set_name(name);
  message.set_identity(identity);
  message.set_version("0.2.0");
  v1::Inventory& inventory = *message.mutable_inventory();
  v1::Device& device = *inventory.add_devices();
  device.set_unit(name + ": processors");
  device.set_model("processors");
  v1::Offer& offer = *inventory.add_offers();
  offer.set_hardware_class(hardware);
  offer.set_stack(kStack);
  offer.set_fingerprint("0123456789abcdef");
  offer.set_build("0123456789abcdef");
  offer.set_schema(OwnSchema()->identity());
  inventory.add_schemas(OwnSchema()->ToJson());
  for (uint32_t i = 0; i < slots; ++i) {
    v1::Slot& slot = *inventory.add_slots();
    slot.add_devices(0);
    slot.set_cores(1);
    slot.add_offers(0);
  }
  return request;
}

v1::SessionRequest Started(uint64_t lease, const std::string& data) {
  v1::SessionRequest request;
  request.mutable_started()->set_lease_id(lease);
  request.mutable_started()->set_data_identity(data);
  return request;
}

// Up to three records have the names of an evaluation, more those of a verbose trainer.
v1::SessionRequest Records(uint64_t lease, uint64_t sequence, int records) {
  const int metrics = records <= 3 ? 3 : static_cast<int>(kMetrics.size());
  v1::SessionRequest request;
  request.mutable_records()->set_lease_id(lease);
  v1::RecordBatch& batch = *request.mutable_records()->mutable_batch();
  batch.set_sequence(sequence);
  for (int i = 0; i < metrics; ++i) batch.add_metric_names(kMetrics[static_cast<size_t>(i)]);
  const auto first = static_cast<int64_t>(sequence - 1) * records;
  for (int i = 0; i < records; ++i) {
    batch.add_step((first + i) / metrics + 1);
    batch.add_epoch(static_cast<double>((first + i) / metrics + 1) / kStepsPerEpoch);
    batch.add_metric(static_cast<uint32_t>((first + i) % metrics));
    batch.add_value(0.5 + 0.001 * static_cast<double>((first + i) % 997));
  }
  return request;
}

v1::SessionRequest Finished(uint64_t lease, uint64_t batches, const std::string& data) {
  v1::SessionRequest request;
  request.mutable_finished()->set_lease_id(lease);
  v1::Outcome& outcome = *request.mutable_finished()->mutable_outcome();
  outcome.set_kind(v1::Outcome::KIND_DONE);
  outcome.set_data_identity(data);
  outcome.set_record_batches(batches);
  outcome.set_train_seconds(0.01);
  outcome.set_environment(R"({"trainer":"load"})");
  const std::string hash = Sha256Hex(std::to_string(lease));
  for (const char* name : {"init", "first_batches", "weights", "logits"}) {
    (*outcome.mutable_hashes())[name] = hash;
  }
  (*outcome.mutable_metrics())["loss"] = 0.5;
  (*outcome.mutable_metrics())["top1"] = 0.745;
  (*outcome.mutable_metrics())["top5"] = 0.99;
  for (int i = 0; i < kClasses; ++i) outcome.add_per_class_accuracy(0.7 + 0.01 * i);
  return request;
}

std::string DataOf(const std::string& specification) {
  constexpr std::string_view kKey = R"("identity":")";
  constexpr size_t kDigits = 64;
  const size_t at = specification.find(kKey);
  const std::string none(kDigits, 'a');
  if (at == std::string::npos) return none;
  const std::string found = specification.substr(at + kKey.size(), kDigits);
  return found.find('"') == std::string::npos && found.size() == kDigits ? found : none;
}

v1::Sweep SweepOf(const std::string& name, uint32_t cells, uint32_t members,
                  const std::string& hardware) {
  v1::Sweep sweep;
  sweep.set_name(name);
  const auto set = [&](const char* path) {
    v1::Setting& setting = *sweep.add_training();
    setting.set_path(path);
    return setting.mutable_value();
  };
  set("data.name")->set_text("fashion-mnist-sample");
  set("train.shards")->set_integer(4);
  v1::AxisColumn& column = *sweep.add_axes()->add_columns();
  column.set_path("train.optimizer.learning_rate");
  for (uint32_t i = 0; i < cells; ++i) column.add_values()->set_number(0.001 + 1e-6 * i);
  sweep.add_noise()->set_name("algo");
  sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
  sweep.mutable_hardware()->add_classes(hardware);
  sweep.set_replicates(members / cells);
  sweep.set_blocks(1);
  return sweep;
}

}  // namespace noisefloor::bench
