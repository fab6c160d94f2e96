// What a study is made of: plain values that coordinator/inputs loads.
//
// Owns its strings and small vectors; large matrices are std::span views, so that the caller may
// memory-map files. The views must outlive BuildStudy; the Study keeps none of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/member_state.h"
#include "common/base/noise_source.h"
#include "common/base/seed.h"
#include "coordinator/analysis/control.h"
#include "coordinator/analysis/distance.h"

namespace noisefloor::report {

// What a noise plan frees and fixes, and how often it is repeated.
struct PlanInput {
  std::string name;
  std::map<NoiseSource, LaneRule> sources;
  uint32_t replicates = 0;
  uint32_t blocks = 1;
  // Of those, the first so many decided how many it takes: see UntilInput. 0: as was submitted.
  uint32_t pilot = 0;
};

// What its sweep asks for: replicates until the interval of a figure is narrow enough, decided once
// by the spread of a pilot.
struct UntilInput {
  std::string figure;     // "churn", "top1"
  double half_width = 0;  // Of its 95 % interval, in [0, 1].
  uint32_t most = 0;      // Replicates of a cell.
  bool settled = false;   // It is decided.
};

// One setting of the base training.
struct SettingInput {
  std::string path;      // "train.epochs"
  std::string value;     // As a sweep file writes it.
  bool changed = false;  // Not the default.
};

// What one setting takes along an axis; the columns of an axis walk in step.
struct AxisColumn {
  std::string path;
  std::vector<std::string> values;
};

struct SweepInput {
  std::string id;  // "s3"
  std::string name;
  std::string notes;
  std::vector<std::string> tags;
  uint64_t seed = 0;
  std::optional<double> reference_accuracy;  // Top-1 that is known to be reached, in (0, 1].
  std::optional<UntilInput> until;           // Nothing: as many replicates as were submitted.
  std::vector<PlanInput> plans;              // In the order of the sweep.
  std::vector<SettingInput> settings;        // All of them.
  std::vector<std::vector<AxisColumn>> axes;
  std::string specification_sha256;
  int64_t submitted_unix_seconds = 0;
  int64_t ended_unix_seconds = 0;  // When the newest result came; 0: none yet.
  std::string noisefloor_version;  // Of the program that made the study.
  std::string file;                // The sweep file.
  bool file_submitted = false;     // As it was submitted; else made from what was.
};

// One value of one axis, as written in the sweep file.
struct AxisSetting {
  std::string path;   // "train.optimizer.learning_rate"
  std::string value;  // "0.05"
  friend auto operator<=>(const AxisSetting&, const AxisSetting&) = default;
};

struct CellInput {
  uint32_t index = 0;  // The number behind "c" in a member id.
  std::vector<AxisSetting> axes;
  std::string plan;  // "control"
  std::map<NoiseSource, SourceState> sources;
  std::string hardware;  // "cpu-intel-avx2"
  std::string stack;     // "torch-2.11-cpu"
  uint32_t block = 0;
  std::string stack_fingerprint;            // Pinned by the cell's first lease; empty before.
  std::string trainer_build;                // What that lease's worker offered.
  size_t evaluation = 0;                    // Place of its set in StudyInput::evaluations.
  std::map<NoiseSource, std::string> idle;  // Sources that act on nothing here, and why.
};

using analysis::Hashes;

// value may be nan or infinite: that is a result.
struct CurvePoint {
  int64_t step = 0;  // Optimiser steps done.
  double epoch = 0;  // Epochs done; may be a fraction.
  double value = 0;
};

// {examples, classes} logits of one member, row major. A view: of memory, or of a file that is
// opened when it is first asked for. Copies are of the same. One thread.
class LogitsView {
 public:
  // What cannot be read is empty; whoever gave it tells why.
  using Open = std::function<std::span<const float>()>;

  LogitsView() = default;
  LogitsView(std::span<const float> values) : size_(values.size()), values_(values) {}  // NOLINT
  LogitsView(const std::vector<float>& values) : LogitsView(std::span(values)) {}       // NOLINT
  // `open` is called each time; of `size` values.
  LogitsView(size_t size, Open open) : size_(size), open_(std::move(open)) {}

  size_t size() const { return size_; }  // Does not open it.
  bool empty() const { return size_ == 0; }
  std::span<const float> values() const { return open_ ? open_() : values_; }

 private:
  size_t size_ = 0;
  std::span<const float> values_;
  Open open_;
};

// A piece for each tensor, sorted by name.
struct Weights {
  analysis::WeightPieces parameters;  // What is trained and has an effect.
  analysis::WeightPieces buffers;     // Running statistics.
};

// shared: by those who look at them at the same time; what they view goes with the last.
using SharedWeights = std::shared_ptr<const Weights>;

// The weights of one member: views of memory, or of a file that is open while somebody looks at it.
// Copies are of the same. One thread.
class WeightsView {
 public:
  struct Facts {
    std::string content;         // Equal ones have equal weights; "": not known.
    std::string layout;          // Equal ones have equal names and shapes; "": not known.
    size_t parameters = 0;       // Values.
    int64_t without_effect = 0;  // Parameters left out: no output depends on them.
  };
  // Null: it cannot be read, and whoever gave it tells why.
  using Open = std::function<SharedWeights()>;

  WeightsView() : WeightsView(Weights{}) {}  // Not kept.
  WeightsView(Weights weights)               // NOLINT
      : WeightsView(std::make_shared<const Weights>(std::move(weights))) {}
  WeightsView(Facts facts, Open open)
      : facts_(std::move(facts)), open_(std::move(open)), now_(std::make_shared<Now>()) {}

  bool empty() const { return facts_.parameters == 0; }
  const Facts& facts() const { return facts_; }  // Does not open it.
  // Who asks again while somebody looks at them gets the same; null: they cannot be read.
  SharedWeights Opened() const {
    SharedWeights opened = now_->lock();
    if (opened == nullptr) *now_ = opened = open_();
    return opened;
  }

 private:
  using Now = std::weak_ptr<const Weights>;

  explicit WeightsView(const SharedWeights& all)
      : WeightsView(FactsOf(*all), [all] { return all; }) {}
  static Facts FactsOf(const Weights& weights) {
    Facts facts;
    for (const std::span<const float> piece : weights.parameters) facts.parameters += piece.size();
    return facts;
  }

  Facts facts_;
  Open open_;
  std::shared_ptr<Now> now_;  // shared: by copies.
};

// Distances between weights that studies before found, by what they are of: what was made of them,
// in a word, and the weights (WeightsView::Facts::content, in the order of the members, "" for
// those without). No word has a line end. Whoever looks at a running sweep again and again has
// distances made anew of cells that have a new member. A study is the same with it and without.
class DistanceMemory {
 public:
  virtual ~DistanceMemory() = default;
  virtual std::optional<analysis::Distances> Find(const std::vector<std::string>& of) = 0;
  virtual void Keep(const std::vector<std::string>& of, const analysis::Distances& found) = 0;
};

// Facts of an environment that decide a GPU's bits, by name: a fingerprint only says that some
// differ.
inline constexpr std::array<std::string_view, 3> kGpuSoftware = {"gpu.cudnn", "gpu.cuda_runtime",
                                                                 "gpu.driver"};

struct MemberInput {
  std::string id;  // "s3c12r4"
  uint32_t cell = 0;
  uint32_t replicate = 0;
  MemberState state = MemberState::kWaiting;
  uint32_t attempts = 0;
  std::map<NoiseSource, Lane> lanes;
  Hashes hashes;
  std::vector<Hashes> duplicates;  // Late results of lost leases: free bit checks.
  // By metric: "train_loss", "test_loss", "test_top1", "test_top5"; steps rise.
  std::map<std::string, std::vector<CurvePoint>> curves;
  std::map<std::string, double> final_metrics;  // "loss" in nats, "top1", "top5" in [0, 1].
  std::vector<double> per_class_accuracy;       // classes; in [0, 1]; empty when not sent.
  // Why it failed: the cause and message of its last attempt; empty when it did not.
  std::string failure_cause;  // "bug", "data", "lost_device", ...
  std::string failure_message;
  double seconds = 0;  // Of the accepted attempt.
  std::string unit;    // GPU UUID or host CPU.
  // What the trainer of the accepted attempt said of itself; empty: nothing. Its fingerprint covers
  // less than the cell's, so that the two are never compared.
  std::string stack_fingerprint;
  std::string trainer_build;
  std::string environment_json;  // The whole environment, a JSON object; may be empty.
  LogitsView predictions;        // Empty: none.
  // {examples}; what counts where it is there: of predictions that were rounded or need not be
  // read, or of which nothing else is known.
  std::span<const int16_t> answers;
  WeightsView weights;
  // {examples} of each evaluation, from 1, whose predictions were kept; that of the end, too.
  std::map<int64_t, std::span<const int16_t>> answers_at;
  std::map<int64_t, WeightsView> weights_at;  // Likewise.
};

// A column that sorts the examples of an evaluation set into groups.
struct ExampleGroups {
  std::string column;               // "camera"
  std::vector<std::string> values;  // Each once, sorted.
  std::vector<int32_t> of_example;  // {examples}: places in `values`.
};

// A fixed evaluation set. Images may be absent.
struct EvaluationSet {
  std::string data_set;         // "fashion-mnist-sample"
  std::string identity;         // Hash over the examples.
  std::vector<int32_t> labels;  // {examples}
  // Not 0: an example has so many attributes, and what is an example here is the decision, no or
  // yes, of one of them: those of the first example, then those of the second.
  int64_t attributes = 0;
  std::vector<std::string> class_names;  // {classes}; empty: the numbers are used.
  int32_t classes = 0;
  std::vector<ExampleGroups> groups;  // Where examples are decisions, of the example they are on.
  std::span<const uint8_t> images;    // {examples, height, width, channels}
  int32_t height = 0;
  int32_t width = 0;
  int32_t channels = 0;
};

struct StudyInput {
  SweepInput sweep;
  std::vector<CellInput> cells;
  std::vector<MemberInput> members;
  std::vector<EvaluationSet> evaluations{1};  // Never empty; the first cell's comes first.
  DistanceMemory* distances = nullptr;        // Not owned; null: nothing is known.
};

}  // namespace noisefloor::report
