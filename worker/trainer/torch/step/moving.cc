#include "worker/trainer/torch/step/moving.h"

#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

constexpr const char* kUpdate = "update";
constexpr const char* kJournalSum = "journal/sum";
constexpr int64_t kMost = int64_t{1} << 53;

void AddAll(const std::string& whose, const std::vector<NamedTensor>& tensors,
            std::vector<NamedTensor>& all) {
  for (const NamedTensor& tensor : tensors) {
    all.push_back({whose + "/" + tensor.name, tensor.value.detach()});
  }
}

// Float and int64 as they are; double by its bits, since the file has no such type.
at::Tensor Storable(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? tensor.view(at::kLong) : tensor;
}

// Its name, type and shape in the file.
TensorView PlaceFor(const NamedTensor& tensor) {
  const at::ScalarType type = Storable(tensor.value).scalar_type();
  NF_CHECK(type == at::kFloat || type == at::kLong);
  return {tensor.name,
          type == at::kFloat ? ElementType::kFloat32 : ElementType::kInt64,
          tensor.value.sizes().vec(),
          {}};
}

// A tensor over values that lie somewhere else, in logical order, as Storable has them.
at::Tensor Over(const void* values, const at::Tensor& like) {
  return at::from_blob(const_cast<void*>(values), like.sizes(),
                       at::TensorOptions(Storable(like).scalar_type()));
}

std::string TextOf(const TensorView& tensor) {
  return std::string(Name(tensor.type)) + " " + ToText(tensor.shape);
}

template <typename T>
std::map<std::string, T> MapOf(const Json& json) {
  return json.get<std::map<std::string, T>>();
}

// What the facts say, checked.
struct Facts {
  int64_t per_epoch = 0;
  std::map<std::string, int64_t> counters;
  Journal::State journal;  // Without its tensor.
  bool sum_is_double = false;
  int64_t evaluations = 0;
  std::map<std::string, std::string> hashes;
  std::map<std::string, int64_t> arrival_orders;
  double train_seconds = 0;
  double evaluate_seconds = 0;
  std::vector<int64_t> resumed_at;
  CheckpointCost cost;
};

// Whose values may be below 0 is its owner's to know.
absl::StatusOr<std::map<std::string, int64_t>> Counts(const Json& json, const std::string& path) {
  if (!json.is_object()) return InvalidInput(path + ": expected an object");
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number_integer()) return InvalidInput(path + "." + name + ": expected a number");
  }
  return MapOf<int64_t>(json);
}

absl::StatusOr<std::map<std::string, std::string>> Hashes(const Json& json) {
  if (!json.is_object()) return InvalidInput("hashes: expected an object");
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) return InvalidInput("hashes." + name + ": expected a text");
  }
  return MapOf<std::string>(json);
}

absl::StatusOr<std::vector<int64_t>> Steps(const Json& json, int64_t last) {
  if (!json.is_array()) return InvalidInput("resumed_at: expected a list");
  for (const Json& value : json) {
    if (!value.is_number_integer() || value < 0 || value > last) {
      return InvalidInput("resumed_at: expected steps until the checkpoint's");
    }
  }
  return json.get<std::vector<int64_t>>();
}

Json CostJson(const CheckpointCost& cost) {
  return {{"written", cost.written},
          {"failed", cost.failed},
          {"held_up_seconds", cost.held_up_seconds},
          {"write_seconds", cost.write_seconds}};
}

absl::StatusOr<CheckpointCost> ReadCost(const Json& json) {
  JsonReader reader(json, "facts.checkpoints");
  CheckpointCost cost;
  cost.written = reader.Int("written", 0, kMost);
  cost.failed = reader.Int("failed", 0, kMost);
  cost.held_up_seconds = reader.Number("held_up_seconds");
  cost.write_seconds = reader.Number("write_seconds");
  NF_RETURN_IF_ERROR(reader.Finish());
  return cost;
}

Json FactsJson(const Moving& moving) {
  const Journal::State& journal = moving.journal.state();
  return {{"batches_per_epoch", moving.batches.per_epoch()},
          {"update", moving.update.Export().counters},
          {"journal",
           {{"summed", journal.summed},
            {"epoch_sum", NumberToJson(journal.epoch_sum)},
            {"epoch_summed", journal.epoch_summed},
            {"sum_is_double", journal.sum.defined() && journal.sum.scalar_type() == at::kDouble}}},
          {"evaluations", moving.results.evaluations()},
          {"hashes", moving.results.outcome().hashes},
          {"arrival_orders", moving.shards.arrival_orders()},
          {"train_seconds", moving.report.train_seconds},
          {"evaluate_seconds", moving.report.evaluate_seconds},
          {"resumed_at", moving.report.resumed_at},
          {"checkpoints", CostJson(moving.report.checkpoints)}};
}

absl::StatusOr<Facts> ReadFacts(const Checkpoint& checkpoint) {
  Facts facts;
  JsonReader reader(checkpoint.facts, "facts");
  facts.per_epoch = reader.Int("batches_per_epoch", 1, kMost);
  facts.evaluations = reader.Int("evaluations", 0, kMost);
  facts.train_seconds = reader.Number("train_seconds");
  facts.evaluate_seconds = reader.Number("evaluate_seconds");
  NF_ASSIGN_OR_RETURN(facts.counters, Counts(reader.Any("update"), "update"));
  NF_ASSIGN_OR_RETURN(facts.arrival_orders, Counts(reader.Any("arrival_orders"), "arrival_orders"));
  NF_ASSIGN_OR_RETURN(facts.hashes, Hashes(reader.Any("hashes")));
  NF_ASSIGN_OR_RETURN(facts.resumed_at, Steps(reader.Any("resumed_at"), checkpoint.step));
  NF_ASSIGN_OR_RETURN(facts.cost, ReadCost(reader.Any("checkpoints")));
  JsonReader journal(reader.Any("journal"), "facts.journal");
  facts.journal.summed = journal.Int("summed", 0, kMost);
  facts.journal.epoch_sum = journal.Number("epoch_sum");
  facts.journal.epoch_summed = journal.Int("epoch_summed", 0, kMost);
  facts.sum_is_double = journal.Bool("sum_is_double");
  NF_RETURN_IF_ERROR(journal.Finish());
  NF_RETURN_IF_ERROR(reader.Finish());
  return facts;
}

absl::Status CheckTensors(const SafetensorsView& view, const std::vector<NamedTensor>& tensors) {
  if (view.tensors.size() != tensors.size()) {
    return InvalidInput("it has " + std::to_string(view.tensors.size()) +
                        " tensors; this training has " + std::to_string(tensors.size()));
  }
  for (const NamedTensor& tensor : tensors) {
    const TensorView* found = view.Find(tensor.name);
    if (found == nullptr) return InvalidInput("it has no tensor '" + tensor.name + "'");
    const TensorView own = PlaceFor(tensor);
    if (found->shape == own.shape && found->type == own.type) continue;
    return InvalidInput("its tensor '" + tensor.name + "' is " + TextOf(*found) + "; expected " +
                        TextOf(own));
  }
  return absl::OkStatus();
}

// What this attempt has found by itself, before the first step.
absl::Status CheckStart(const Facts& facts, const Moving& moving) {
  for (const char* name : {"init", "first_batches"}) {
    const auto theirs = facts.hashes.find(name);
    const auto ours = moving.results.outcome().hashes.find(name);
    NF_CHECK(ours != moving.results.outcome().hashes.end());
    if (theirs == facts.hashes.end() || theirs->second != ours->second) {
      return InvalidInput(std::string("hashes.") + name + ": it began otherwise");
    }
  }
  return absl::OkStatus();
}

std::vector<NamedTensor> WeightsOf(const Moving& moving) {
  std::vector<NamedTensor> all;
  AddAll("parameters", moving.model.parameters(), all);
  AddAll("buffers", moving.model.buffers(), all);
  return all;
}

// Values of a tensor of a file that fits, on the host; borrowed.
at::Tensor ValuesIn(const SafetensorsView& view, const std::string& name, const at::Tensor& like) {
  return Over(view.Find(name)->bytes.data(), like).view(like.scalar_type());
}

OptimizerState StateIn(const SafetensorsView& view, const Facts& facts, const Update& update) {
  OptimizerState state;
  for (const NamedTensor& live : update.Export().tensors) {
    const std::string name = std::string(kUpdate) + "/" + live.name;
    state.tensors.push_back({live.name, ValuesIn(view, name, live.value)});
  }
  state.counters = facts.counters;
  return state;
}

absl::Status CheckFiles(const Checkpoint& checkpoint) {
  NF_ASSIGN_OR_RETURN(const std::vector<Artifact> told, CheckTold(checkpoint.told));
  std::vector<KeptFile> files;
  for (const Artifact& artifact : told) {
    files.push_back({artifact.path, artifact.sha256, artifact.size});
  }
  if (files == checkpoint.files) return absl::OkStatus();
  return InvalidInput("it has other files than it told of");
}

}  // namespace

std::vector<NamedTensor> TensorsOf(const Moving& moving) {
  std::vector<NamedTensor> all = WeightsOf(moving);
  AddAll(kUpdate, moving.update.Export().tensors, all);
  const at::Tensor& sum = moving.journal.state().sum;
  // As a double, which holds a float exactly: the places in a file are made before there is a sum.
  all.push_back({kJournalSum, sum.defined() ? sum.detach().to(at::kCPU, at::kDouble)
                                            : at::zeros({}, at::TensorOptions(at::kDouble))});
  return all;
}

absl::StatusOr<SafetensorsContent> ContentFor(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorView> shapes;
  for (const NamedTensor& tensor : tensors) shapes.push_back(PlaceFor(tensor));
  return SafetensorsContent::Make(shapes, {{"format", "pt"}});
}

void CopyTo(SafetensorsContent& content, const std::vector<NamedTensor>& tensors) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Over(content.Values(i).data(), tensors[i].value).copy_(Storable(tensors[i].value));
  }
}

Checkpoint CheckpointOf(const Moving& moving) {
  Checkpoint checkpoint;
  checkpoint.step = moving.report.steps;
  checkpoint.facts = FactsJson(moving);
  const Reporter::Told& told = moving.reporter.told();
  checkpoint.told = told.lines;
  for (const Artifact& artifact : told.artifacts) {
    checkpoint.files.push_back({artifact.path, artifact.sha256, artifact.size});
  }
  return checkpoint;
}

absl::Status CheckFits(const Checkpoint& checkpoint, const Moving& moving) {
  NF_ASSIGN_OR_RETURN(const SafetensorsView view, ReadSafetensors(checkpoint.tensors, "tensors"));
  NF_RETURN_IF_ERROR(CheckTensors(view, TensorsOf(moving)));
  NF_ASSIGN_OR_RETURN(const Facts facts, ReadFacts(checkpoint));
  NF_RETURN_IF_ERROR(CheckStart(facts, moving));
  NF_RETURN_IF_ERROR(CheckFiles(checkpoint));
  if (facts.per_epoch != moving.batches.per_epoch()) {
    return InvalidInput("batches_per_epoch: its epochs have another length");
  }
  if (checkpoint.step < 1 || checkpoint.step >= moving.step_count) {
    return InvalidInput("step: " + std::to_string(checkpoint.step) + " of " +
                        std::to_string(moving.step_count));
  }
  return moving.update.Check(StateIn(view, facts, moving.update));
}

void Restore(const Checkpoint& checkpoint, Moving& moving) {
  const at::NoGradGuard no_grad;
  const auto view = ReadSafetensors(checkpoint.tensors, "tensors");
  const auto facts = ReadFacts(checkpoint);
  NF_CHECK(view.ok() && facts.ok());
  for (const NamedTensor& tensor : WeightsOf(moving)) {
    tensor.value.copy_(ValuesIn(*view, tensor.name, tensor.value));
  }
  NF_CHECK(moving.update.Import(StateIn(*view, *facts, moving.update)).ok());
  Journal::State journal = facts->journal;
  if (journal.summed > 0) {
    const at::Device device = moving.model.parameters().front().value.device();
    const at::Tensor like = at::zeros({}, at::TensorOptions(at::kDouble));
    journal.sum = ValuesIn(*view, kJournalSum, like)
                      .to(device, facts->sum_is_double ? at::kDouble : at::kFloat,
                          /*non_blocking=*/false, /*copy=*/true);
  }
  moving.journal.set_state(std::move(journal));
  moving.batches.GoOnAt(checkpoint.step);
  moving.shards.set_arrival_orders(facts->arrival_orders);
  moving.results.GoOnAfter(facts->evaluations, facts->hashes);
  moving.report.steps = checkpoint.step;
  moving.report.train_seconds = facts->train_seconds;
  moving.report.evaluate_seconds = facts->evaluate_seconds;
  moving.report.resumed_at = facts->resumed_at;
  moving.report.resumed_at.push_back(checkpoint.step);
  moving.report.checkpoints = facts->cost;
  moving.reporter.TellAgain(checkpoint.told);
}

}  // namespace noisefloor::trainer
