// What no single setting can know.
#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/base/names.h"
#include "common/base/sha256_text.h"
#include "common/trainer_protocol/check_arithmetic.h"
#include "common/trainer_protocol/check_measure.h"
#include "common/trainer_protocol/datasets.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/networks.h"
#include "common/trainer_protocol/steps.h"

namespace noisefloor {

namespace {

using Problems = std::vector<FieldProblem>;

constexpr int64_t kLeastOwnSide = 8;  // Of own images, in pixels.

// A setting that not every network reads. Elsewhere it must be left at its default: trainings that
// differ in it alone would be equal and be compared as if they were not.
struct SettingOfSome {
  std::string_view path;
  std::string_view what;
  NetworkReads readers;
};
constexpr std::array<SettingOfSome, 8> kSettingsOfSome = {{
    {"model.batch_norm", "batch normalisation to switch off", kReadsBatchNormSwitch},
    {"model.batch_norm_momentum", "batch normalisation", kReadsBatchNorm},
    {"model.batch_norm_epsilon", "batch normalisation", kReadsBatchNorm},
    {"model.dropout", "dropout", kReadsDropout},
    {"model.hidden", "hidden layers of a width to choose", kReadsHidden},
    {"model.kernel", "kernels of a side to choose", kReadsKernel},
    {"model.width", "number of channels to choose", kReadsWidth},
    {"model.zero_last_norm", "residual blocks that end in batch normalisation", kReadsZeroLastNorm},
}};

void CheckModel(const Specification& s, Problems& problems) {
  const Specification defaults;
  const KnownNetwork* network = FindNetwork(s.model.name);
  NF_CHECK(network != nullptr);  // The table of fields has no other.
  for (const SettingOfSome& setting : kSettingsOfSome) {
    if ((network->reads & setting.readers) != 0) continue;
    const Field* field = FindField(setting.path);
    NF_CHECK(field != nullptr);
    const SettingValue expected = field->get(defaults);
    if (field->get(s) == expected) continue;
    problems.push_back({std::string(setting.path), s.model.name + " has no " +
                                                       std::string(setting.what) + "; expected " +
                                                       ToText(expected) + ", the default"});
  }
  if (s.model.kernel % 2 == 0) {
    problems.push_back({"model.kernel", "expected 1, 3, 5 or 7, got " +
                                            std::to_string(s.model.kernel) +
                                            ": a kernel has its pixel in the middle"});
  }
  if (s.measure.steps > 0) return;  // Of the images that it draws: check_measure.cc.
  if (s.model.name == "resnet9_whitened" && s.augment.standardise) {
    problems.push_back({"augment.standardise", "true; expected false: the stem of " + s.model.name +
                                                   " whitens images as they are"});
  }
  if (s.model.init == "dirac" && s.model.name == "mlp") {
    problems.push_back({"model.init", "dirac; mlp has no convolution that could pass channels on"});
  }
  const KnownDataset* data = FindDataset(s.data.name);
  const int64_t side = s.data.image_size;               // Of own images.
  if (data == nullptr && side < kLeastOwnSide) return;  // CheckOwnImages says that.
  const absl::Status fits = data != nullptr
                                ? CheckImages(network->name, data->name, data->height, data->width)
                                : CheckImages(network->name, s.data.name, side, side);
  if (!fits.ok()) problems.push_back({"model.name", Message(fits)});
}

// The sizes near `batch` that `shards` divides, as "126 or 129".
std::string DivisibleNear(int64_t batch, int64_t shards) {
  const int64_t below = batch / shards * shards;
  const std::string above = std::to_string(below + shards);
  return below == 0 ? above : std::to_string(below) + " or " + above;
}

void CheckShards(const Specification& s, Problems& problems) {
  const int64_t shards = s.train.shards;
  if (s.data.image_size > 0 && shards > 1 && !s.train.drop_last) {
    problems.push_back(
        {"train.drop_last", "false; expected true for your own images with train.shards " +
                                std::to_string(shards) +
                                ": whether the last batch is divisible is not known before"});
  }
  if (s.train.batch_size % shards != 0) {
    problems.push_back({"train.batch_size",
                        std::to_string(s.train.batch_size) + " is not divisible by train.shards " +
                            std::to_string(shards) + "; the nearest that are: " +
                            DivisibleNear(s.train.batch_size, shards)});
    return;
  }
  if (s.measure.steps > 0) return;  // Each batch is whole.
  const int64_t examples = PlannedExamples(s);
  if (s.train.drop_last) {
    if (examples == 0 || s.train.batch_size <= examples) return;
    problems.push_back({"train.batch_size", std::to_string(examples) +
                                                " examples make no batch of " +
                                                std::to_string(s.train.batch_size) +
                                                ", and train.drop_last leaves out what is less"});
    return;
  }
  const int64_t last = examples % s.train.batch_size;
  if (last % shards != 0) {
    problems.push_back(
        {"train.batch_size", "the last batch of " + std::to_string(examples) + " examples has " +
                                 std::to_string(last) + ", not divisible by train.shards " +
                                 std::to_string(shards) +
                                 "; set train.drop_last: true or another batch size"});
  }
}

void CheckDevices(const Specification& s, Problems& problems) {
  const int64_t devices = s.train.devices;
  if (s.train.shards % devices != 0) {
    problems.push_back(
        {"train.shards", std::to_string(s.train.shards) + " is not divisible by train.devices " +
                             std::to_string(devices) +
                             "; the nearest that are: " + DivisibleNear(s.train.shards, devices)});
  }
  if (HasDevices(s.hardware_class, devices)) return;
  const GpuCount gpus = CountGpus(s.hardware_class);
  problems.push_back(
      {"train.devices", std::to_string(devices) + " asked, " + s.hardware_class + " has " +
                            (gpus.count == 1 ? "one GPU" : std::to_string(gpus.count) + " GPUs") +
                            "; expected " + std::to_string(gpus.count) + ", or the class " +
                            ClassOfSeveral(gpus.one, static_cast<uint32_t>(devices))});
}

std::string KnownNames() {
  std::string names;
  for (const KnownDataset& known : KnownDatasets()) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return names;
}

// Of a folder of the user's own, of which nothing else can be known here.
void CheckOwnImages(const Specification& s, Problems& problems) {
  const bool attributes = s.train.loss == "binary_cross_entropy";
  if (!IsName(s.data.name) || s.data.name.starts_with('.')) {
    problems.push_back({"data.name", "'" + s.data.name + "' names no folder; expected " +
                                         std::string(kNameRule) + ", and no '.' first"});
  }
  if (s.data.image_size < kLeastOwnSide) {
    problems.push_back({"data.image_size", std::to_string(s.data.image_size) + "; expected " +
                                               std::to_string(kLeastOwnSide) +
                                               " or more for your own images"});
  }
  if (attributes && s.data.labels.empty()) {
    problems.push_back({"data.labels", "binary_cross_entropy needs attributes to learn"});
  }
  if (attributes && s.train.label_smoothing != 0) {
    problems.push_back({"train.label_smoothing", "binary_cross_entropy has none; expected 0"});
  }
  if (!attributes && s.data.labels.find(',') != std::string::npos) {
    problems.push_back({"data.labels",
                        "several columns; cross_entropy learns one class, binary_cross_entropy "
                        "(train.loss) attributes"});
  }
}

void CheckKnownData(const Specification& s, Problems& problems) {
  const auto only_own = [&](const char* path, const std::string& expected) {
    problems.push_back(
        {path, s.data.name + " is no folder of your own images; expected " + expected});
  };
  if (s.data.image_size != 0) only_own("data.image_size", "0");
  if (!s.data.labels.empty()) only_own("data.labels", "none");
  if (!s.data.groups.empty()) only_own("data.groups", "none");
  if (s.train.loss != "cross_entropy") {
    problems.push_back({"train.loss", s.data.name + " has classes and no attributes; expected "
                                                    "cross_entropy"});
  }
}

void CheckData(const Specification& s, Problems& problems) {
  if (s.measure.steps > 0) return;  // It reads none: check_measure.cc.
  const KnownDataset* known = FindDataset(s.data.name);
  if (known == nullptr && s.data.image_size == 0) {
    problems.push_back({"data.name", "'" + s.data.name + "' is not known; expected one of " +
                                         KnownNames() +
                                         ", or a folder of your own images with data.image_size"});
  } else if (known == nullptr) {
    CheckOwnImages(s, problems);
  } else {
    CheckKnownData(s, problems);
  }
  if (known == nullptr) return;
  const auto limit = [&](const char* path, int64_t asked, int64_t available) {
    if (asked > available) {
      problems.push_back({path, std::to_string(asked) + " asked, " + s.data.name + " has " +
                                    std::to_string(available)});
    }
  };
  limit("data.train_examples", s.data.train_examples, known->train_examples);
  limit("data.test_examples", s.data.test_examples, known->test_examples);
}

void CheckIdentity(const Specification& s, Problems& problems) {
  if (s.data.identity.empty() || IsSha256(s.data.identity)) return;
  problems.push_back({"data.identity", "expected 64 lower-case hexadecimal digits"});
}

// Which parameters there are to poke only the made model knows: the trainer refuses others.
void CheckPoke(const Specification& s, Problems& problems) {
  if (s.Source(NoiseSource::kPoke).state == SourceState::kOff || s.measure.steps > 0) return;
  if (PlannedExamples(s) == 0 || s.sources.poke_step < PlannedSteps(s)) return;
  problems.push_back(
      {"sources.poke.step", std::to_string(s.sources.poke_step) + " asked, the training has " +
                                std::to_string(PlannedSteps(s)) +
                                " steps, counted from 0: the poke would never happen"});
}

void CheckSources(const Specification& s, Problems& problems) {
  const auto needs = [&](NoiseSource source, bool given, const char* path, const char* what) {
    const SourceState state = s.Source(source).state;
    if (state == SourceState::kOff || given) return;
    problems.push_back({path, "the source " + std::string(Name(source)) + " is " +
                                  std::string(Name(state)) + ": " + what + " is needed"});
  };
  needs(NoiseSource::kThreads, !s.sources.thread_choices.empty(), "sources.threads.choices",
        "a list of thread counts to draw from");
  needs(NoiseSource::kDial, s.sources.dial_size > 0, "sources.dial.size", "a size above 0");
  needs(NoiseSource::kLoad, !s.sources.load_choices.empty(), "sources.load.choices",
        "a list of numbers of busy threads to draw from");
  if (s.sources.kernels_kind == "noisy" && s.train.precision == "fp64") {
    problems.push_back(
        {"sources.kernels.kind", "noisy; its sums are of floats; expected stock with fp64"});
  }
  if (s.Source(NoiseSource::kReduceOrder).state == SourceState::kFree && s.train.shards == 2) {
    problems.push_back({"train.shards",
                        "with 2 shards the order of a sum changes nothing (a + b = b + a); "
                        "reduce_order: free needs 1 shard (no effect) or at least 3"});
  }
}

// Draws of dropout and dial have the step in their index.
void CheckSteps(const Specification& s, Problems& problems) {
  const int64_t steps = PlannedSteps(s);
  if (s.measure.steps > 0 || steps <= kMostDrawnSteps) return;
  problems.push_back({"train.epochs", std::to_string(steps) + " steps; expected at most " +
                                          std::to_string(kMostDrawnSteps) +
                                          ", so that no draw comes twice"});
}

// Each evaluation leaves a hash of the weights, and a file of predictions and one of weights where
// all are kept; an attempt may have only so many hashes and files.
void CheckEvaluations(const Specification& s, Problems& problems) {
  constexpr int64_t kOtherHashes = 4;  // init, first_batches, weights, logits
  // The last predictions, weights, test images, labels and groups.
  constexpr int64_t kOtherFiles = 5;
  int64_t files = 0;  // Of an evaluation.
  std::string with;
  const auto count = [&](const std::string& kept, const char* setting) {
    if (kept != "all") return;
    with += std::string(files == 0 ? " with " : " and ") + setting + ": all";
    ++files;
  };
  count(s.evaluate.predictions, "evaluate.predictions");
  count(s.evaluate.weights, "evaluate.weights");
  const int64_t most = files > 0 ? (int64_t{kMaxArtifacts} - kOtherFiles) / files
                                 : int64_t{kMaxOutcomeEntries} - kOtherHashes;
  const int64_t asked = PlannedEvaluations(s);
  if (asked <= most) return;
  problems.push_back(
      {"evaluate.every_epochs", std::to_string(asked) + " evaluations asked; expected at most " +
                                    std::to_string(most) + with + "; set it to " +
                                    std::to_string((s.train.epochs - 1) / most + 1) + " or more"});
}

}  // namespace

std::vector<FieldProblem> CheckTogether(const Specification& specification) {
  Problems problems;
  CheckModel(specification, problems);
  CheckSteps(specification, problems);
  CheckShards(specification, problems);
  CheckDevices(specification, problems);
  CheckData(specification, problems);
  CheckIdentity(specification, problems);
  CheckArithmetic(specification, problems);
  CheckSources(specification, problems);
  CheckPoke(specification, problems);
  CheckEvaluations(specification, problems);
  CheckMeasurement(specification, problems);
  return problems;
}

}  // namespace noisefloor
