// What a member leaves behind: records, hashes, predictions, weights. All that is written goes
// through here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/files/tensor.h"
#include "common/trainer_protocol/json.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/torch/model/model.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/reporter.h"

namespace noisefloor::trainer {

// Borrows what it is given. Not thread-safe.
class Results {
 public:
  Results(const TrainerRequest& request, const Dataset& dataset, Reporter& reporter)
      : request_(request), dataset_(dataset), reporter_(reporter) {}

  void SetHash(const std::string& name, std::string hash) {
    outcome_.hashes[name] = std::move(hash);
  }

  // Where training is: steps and (fractional) epochs done.
  struct Place {
    int64_t step = 0;
    double epoch = 0;
  };
  // Evaluates, reports the metrics and notes the hash of the weights; writes the files that are
  // kept of every evaluation. `last`: also those that are left at the end.
  absl::Status Evaluate(const Model& model, at::Device device, const Evaluator& evaluator,
                        const Place& place, bool last);

  // The same of weights that were given, which nothing is written of again: of a training that
  // makes no step. The predictions are always written: they are what it is for.
  absl::Status EvaluateGiven(const Model& model, at::Device device, const Evaluator& evaluator);

  // Test images {examples, height, width, channels}, labels or attributes, and groups where there
  // are some, for reports.
  absl::Status WriteEvaluationSet();

  // How many evaluations there were, all attempts together.
  int64_t evaluations() const { return evaluations_; }
  // Goes on after those of an earlier attempt, with the hashes that it had noted.
  void GoOnAfter(int64_t evaluations, std::map<std::string, std::string> hashes) {
    evaluations_ = evaluations;
    outcome_.hashes = std::move(hashes);
  }

  // Hashes, metrics and accuracies gathered so far; kind, cause and environment are the caller's.
  Outcome& outcome() { return outcome_; }

 private:
  // What is measured of logits: by the name that the outcome has for it, in the order of records.
  struct Figures {
    std::vector<std::pair<std::string, double>> metrics;
    std::vector<double> per_class_accuracy;
  };
  Figures FiguresOf(const std::vector<float>& logits, const Evaluator& evaluator) const;
  void Report(const Figures& figures, const Place& place);
  // What is left at the end, but for files.
  absl::Status NoteLast(const Figures& figures, const std::vector<float>& logits,
                        std::string weights_hash);
  absl::Status WriteEvaluationLabels();
  absl::Status WriteEvaluationGroups();
  absl::Status WritePredictions(const std::string& name, const std::vector<float>& logits);
  absl::Status WriteWeights(const std::string& name, const Model& model);
  absl::Status Keep(const std::string& kind, const std::string& file, const TensorView& tensor);

  const TrainerRequest& request_;
  const Dataset& dataset_;
  Reporter& reporter_;
  Outcome outcome_;
  int64_t evaluations_ = 0;
};

}  // namespace noisefloor::trainer
