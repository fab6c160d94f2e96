#include "worker/trainer/torch/step/results.h"

#include <utility>

#include "common/files/atomic_file.h"
#include "common/files/npy.h"
#include "common/files/safetensors.h"
#include "common/files/tensor_hash.h"
#include "common/trainer_protocol/json.h"
#include "worker/trainer/data/groups_csv.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/step/metrics.h"

namespace noisefloor::trainer {

absl::Status Results::Evaluate(const Model& model, at::Device device, const Evaluator& evaluator,
                               const Place& place, bool last) {
  NF_ASSIGN_OR_RETURN(const std::vector<float> logits,
                      evaluator.Predict(model, dataset_.classes, device));
  const Figures figures = FiguresOf(logits, evaluator);
  Report(figures, place);
  const std::string number = std::to_string(++evaluations_);
  const std::string weights_hash = HostTensors::ParametersAndBuffers(model).Hash();
  SetHash("weights_at/" + number, weights_hash);
  const EvaluateSettings& kept = request_.specification.evaluate;
  if (kept.predictions == "all") {
    NF_RETURN_IF_ERROR(WritePredictions("predictions-" + number, logits));
  }
  if (kept.weights == "all") NF_RETURN_IF_ERROR(WriteWeights("weights-" + number, model));
  if (!last) return absl::OkStatus();

  NF_RETURN_IF_ERROR(NoteLast(figures, logits, weights_hash));
  if (kept.predictions != "none") NF_RETURN_IF_ERROR(WritePredictions("predictions", logits));
  return WriteWeights("weights", model);
}

absl::Status Results::EvaluateGiven(const Model& model, at::Device device,
                                    const Evaluator& evaluator) {
  NF_ASSIGN_OR_RETURN(const std::vector<float> logits,
                      evaluator.Predict(model, dataset_.classes, device));
  const Figures figures = FiguresOf(logits, evaluator);
  Report(figures, {});
  NF_RETURN_IF_ERROR(NoteLast(figures, logits, HostTensors::ParametersAndBuffers(model).Hash()));
  return WritePredictions("predictions", logits);
}

absl::Status Results::NoteLast(const Figures& figures, const std::vector<float>& logits,
                               std::string weights_hash) {
  SetHash("weights", std::move(weights_hash));
  const Shape shape = {dataset_.test.size(), dataset_.classes};
  NF_ASSIGN_OR_RETURN(outcome_.hashes["logits"],
                      HashTensors({MakeTensorView<float>("logits", shape, logits)}));
  outcome_.metrics = {figures.metrics.begin(), figures.metrics.end()};
  // Of more classes than an outcome takes there is no accuracy of each.
  if (figures.per_class_accuracy.size() <= kMaxOutcomeEntries) {
    outcome_.per_class_accuracy = figures.per_class_accuracy;
  }
  return absl::OkStatus();
}

Results::Figures Results::FiguresOf(const std::vector<float>& logits,
                                    const Evaluator& evaluator) const {
  if (dataset_.attributes.empty()) {
    Metrics metrics = Measure(logits, evaluator.Labels(), dataset_.classes);
    return {{{"loss", metrics.loss}, {"top1", metrics.top1}, {"top5", metrics.top5}},
            std::move(metrics.per_class_accuracy)};
  }
  const Split& test = dataset_.test;
  AttributeMetrics metrics =
      MeasureAttributes(logits, {test.attributes.data(), test.attributes.size()}, dataset_.classes);
  return {
      {{"loss", metrics.loss}, {"top1", metrics.accuracy}, {"all_attributes", metrics.all_right}},
      std::move(metrics.by_truth)};
}

void Results::Report(const Figures& figures, const Place& place) {
  for (const auto& [name, value] : figures.metrics) {
    reporter_.Add({place.step, place.epoch, "test_" + name, value});
  }
  reporter_.Flush();
}

absl::Status Results::Keep(const std::string& kind, const std::string& file,
                           const TensorView& tensor) {
  NF_RETURN_IF_ERROR(WriteNpy(request_.work_directory + "/" + file, tensor));
  return reporter_.Artifact(request_.work_directory, kind, file);
}

absl::Status Results::WritePredictions(const std::string& name, const std::vector<float>& logits) {
  const Shape shape = {dataset_.test.size(), dataset_.classes};
  return Keep(name, name + ".npy", MakeTensorView<float>(name, shape, logits));
}

absl::Status Results::WriteWeights(const std::string& name, const Model& model) {
  const HostTensors tensors = HostTensors::ParametersAndBuffersAsFloats(model);
  const std::string file = name + ".safetensors";
  NF_RETURN_IF_ERROR(
      WriteSafetensors(request_.work_directory + "/" + file, tensors.views(), {{"format", "pt"}}));
  return reporter_.Artifact(request_.work_directory, name, file);
}

absl::Status Results::WriteEvaluationSet() {
  const Split& test = dataset_.test;
  const ImageShape& shape = test.shape;
  const int64_t plane = shape.height * shape.width;
  std::vector<uint8_t> images;
  images.reserve(test.image_bytes());
  for (uint32_t i = 0; i < test.size(); ++i) {
    const uint8_t* image = test.Image(i);
    for (int64_t pixel = 0; pixel < plane; ++pixel) {
      for (int64_t c = 0; c < shape.channels; ++c) images.push_back(image[c * plane + pixel]);
    }
  }
  const Shape image_shape = {test.size(), shape.height, shape.width, shape.channels};
  NF_RETURN_IF_ERROR(Keep("evaluation_images", "evaluation_images.npy",
                          MakeTensorView<uint8_t>("evaluation_images", image_shape, images)));
  NF_RETURN_IF_ERROR(WriteEvaluationLabels());
  return dataset_.groups.empty() ? absl::OkStatus() : WriteEvaluationGroups();
}

absl::Status Results::WriteEvaluationLabels() {
  const Split& test = dataset_.test;
  Shape shape = {test.size()};
  std::vector<int32_t> labels(test.labels.begin(), test.labels.end());
  if (!dataset_.attributes.empty()) {
    labels.assign(test.attributes.begin(), test.attributes.end());
    shape.push_back(dataset_.classes);
  }
  return Keep("evaluation_labels", "evaluation_labels.npy",
              MakeTensorView<int32_t>("evaluation_labels", shape, labels));
}

absl::Status Results::WriteEvaluationGroups() {
  const std::string file = "evaluation_groups.csv";
  NF_RETURN_IF_ERROR(WriteFileAtomically(request_.work_directory + "/" + file,
                                         GroupsAsCsv(dataset_.groups, dataset_.test)));
  return reporter_.Artifact(request_.work_directory, "evaluation_groups", file);
}

}  // namespace noisefloor::trainer
