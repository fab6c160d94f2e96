#include "tests/coordinator/report/example_study.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "fmt/format.h"

#include "common/base/check.h"
#include "common/base/philox.h"

namespace noisefloor::report {
namespace {

constexpr const char* kHardware[] = {"cpu-intel-avx2", "cpu-intel-avx512", "cpu-intel-sse"};
constexpr const char* kPlans[] = {"control", "algo", "impl"};
constexpr const char* kClasses[] = {"t-shirt", "trouser", "pullover", "dress", "coat",
                                    "sandal",  "shirt",   "sneaker",  "bag",   "ankle boot"};
constexpr int64_t kParameters = 40;
constexpr int64_t kEvaluations = 3;
constexpr int64_t kStepsPerEpoch = 47;

// The sum of four uniforms, centred and scaled: near enough to a normal draw.
float Normal(const std::string& stream, uint64_t element) {
  const PhiloxStream draws(7, StreamOf(stream));
  float sum = -2;
  for (uint64_t k = 0; k < 4; ++k) sum += UniformFloat(draws.Word(4 * element + k));
  return sum * 1.732f;
}

std::string Hash(const std::string& content) {
  std::string hash;
  for (int k = 0; k < 4; ++k) hash += fmt::format("{:016x}", StreamOf(content + char('0' + k)));
  return hash;
}

std::map<NoiseSource, SourceState> SourcesOf(const std::string& plan) {
  std::map<NoiseSource, SourceState> sources;
  for (const NoiseSource source : kAllNoiseSources) {
    if (!IsTold(source, SourceState::kOff)) continue;
    const bool off = source == NoiseSource::kPoke;
    const bool never = source == NoiseSource::kThreads;
    const bool free = !never && plan == (IsPhysical(source) ? "impl" : "algo");
    sources[source] = off ? SourceState::kOff : free ? SourceState::kFree : SourceState::kFixed;
  }
  return sources;
}

// What made this member's bits: members with equal keys are equal.
struct Keys {
  std::string init;
  std::string batches;
  std::string result;
};

class Maker {
 public:
  explicit Maker(const ExampleOptions& options) : options_(options) {}

  ExampleStudy Make() {
    MakeFacts();
    MakeImages();
    uint32_t index = 0;
    for (const char* plan : kPlans) {
      for (const char* hardware : kHardware) MakeCell(index++, plan, hardware);
    }
    Connect();
    return std::move(study_);
  }

 private:
  void MakeFacts() {
    StudyInput& input = study_.input;
    input.sweep.id = "s1";
    input.sweep.name = "first-study";
    input.sweep.notes = "An example made for tests.";
    input.sweep.tags = {"example", "cpu"};
    MakeRecipe(input.sweep);
    EvaluationSet& set = input.evaluations[0];
    set.data_set = "example-patterns";
    set.identity = Hash("identity");
    set.classes = options_.classes;
    set.height = set.width = options_.side;
    set.channels = 1;
    for (int64_t x = 0; x < options_.examples; ++x) {
      set.labels.push_back(static_cast<int32_t>(x % options_.classes));
    }
    if (options_.groups) {
      ExampleGroups& cameras = set.groups.emplace_back();
      cameras.column = "camera";
      cameras.values = {"new", "old"};
      for (int64_t x = 0; x < options_.examples; ++x) cameras.of_example.push_back(x % 3 == 0);
    }
    if (options_.classes == 10) set.class_names.assign(std::begin(kClasses), std::end(kClasses));
  }

  void MakeRecipe(SweepInput& sweep) {
    for (const char* plan : kPlans) {
      PlanInput& input = sweep.plans.emplace_back();
      input.name = plan;
      input.replicates = options_.replicates;
      for (const auto& [source, state] : SourcesOf(plan)) input.sources[source].state = state;
    }
    sweep.settings = {{"model.name", "small_cnn", false},
                      {"model.dropout", "0", false},
                      {"data.name", "fashion-mnist-sample", false},
                      {"augment.flip", "true", true},
                      {"train.epochs", "3", true},
                      {"train.batch_size", "64", true},
                      {"train.optimizer.name", "sgd", false},
                      {"train.optimizer.learning_rate", "0.05", false}};
    sweep.specification_sha256 = Hash("specification");
    sweep.submitted_unix_seconds = 1700000000;
    sweep.ended_unix_seconds = 1700000165;
    sweep.noisefloor_version = "0.1.0";
    sweep.file = "name: first-study  # <b>not bold</b> & all\nnoise: [control, algo, impl]\n\n";
    sweep.file_submitted = true;
  }

  // Stripes, whose direction and width tell the class.
  void MakeImages() {
    for (int64_t x = 0; x < options_.examples; ++x) {
      const double angle =
          0.314 * static_cast<double>(study_.input.evaluations[0].labels[static_cast<size_t>(x)]);
      const double width = 0.5 + 0.02 * static_cast<double>(x % 17);
      for (int32_t row = 0; row < options_.side; ++row) {
        for (int32_t column = 0; column < options_.side; ++column) {
          const double wave = std::sin(width * (row * std::cos(angle) + column * std::sin(angle)));
          study_.images.push_back(static_cast<uint8_t>(std::lround(127 + 120 * wave)));
        }
      }
    }
  }

  void MakeCell(uint32_t index, const std::string& plan, const std::string& hardware) {
    study_.input.cells.push_back({index,
                                  {},
                                  plan,
                                  SourcesOf(plan),
                                  hardware,
                                  "torch-2.11-cpu",
                                  0,
                                  "torch-2.11.0+cpu",
                                  Hash("build").substr(0, 16),
                                  0});
    for (uint32_t r = 0; r < options_.replicates; ++r) MakeMember(index, plan, hardware, r);
  }

  Keys KeysOf(uint32_t cell, const std::string& plan, const std::string& hardware, uint32_t r) {
    const std::string lane = plan == "algo" ? std::to_string(r + 1) : "0";
    const bool physical = plan == "impl" && !options_.silent_impl;
    const bool broken = options_.break_control && cell == 2 && r == 3;
    return {"init " + lane, "batches " + lane,
            "result " + lane + " " + hardware +
                (physical ? " run " + std::to_string(r)
                 : broken ? " broken"
                          : "")};
  }

  void MakeMember(uint32_t cell, const std::string& plan, const std::string& hardware, uint32_t r) {
    const Keys keys = KeysOf(cell, plan, hardware, r);
    MemberInput& member = study_.input.members.emplace_back();
    member.id = fmt::format("s1c{}r{}", cell, r);
    member.cell = cell;
    member.replicate = r;
    member.state = MemberState::kDone;
    member.attempts = member.id == "s1c4r1" ? 2 : 1;
    for (const auto& [source, state] : study_.input.cells.back().sources) {
      if (state == SourceState::kOff) continue;
      member.lanes[source] = {0, state == SourceState::kFree ? r + 1 : 0};
    }
    member.seconds = 8.5 + 0.1 * Normal("seconds", 100 * cell + r);
    member.unit = "host-1";
    member.stack_fingerprint = "torch-2.11.0";
    member.trainer_build = study_.input.cells.back().trainer_build;
    member.environment_json = fmt::format(
        R"({{"versions":{{"libtorch":"2.11.0","mkl":"2024.2"}},"machine":{{"cpu_model":)"
        R"("Example CPU","instruction_sets":["sse4_2","avx2","avx512f"]}},)"
        R"("variables":{{"ATEN_CPU_CAPABILITY":"{}"}},)"
        R"("switches":{{"deterministic":{}}}}})",
        hardware.substr(hardware.rfind('-') + 1), plan == "impl" ? "false" : "true");
    MakeLogits(keys);
    MakeWeights(keys);
    MakeHashes(keys, member);
    MakeCurves(keys, member);
  }

  // Easy examples with a clear answer, every seventh a hard one, class 6 harder than the others.
  void MakeLogits(const Keys& keys) {
    std::vector<float>& logits = study_.logits.emplace_back();
    for (int64_t x = 0; x < options_.examples; ++x) {
      const int32_t label = study_.input.evaluations[0].labels[static_cast<size_t>(x)];
      const float margin = x % 7 == 0 ? 0.4f : label == 6 ? 1.5f : 5.0f;
      for (int32_t k = 0; k < options_.classes; ++k) {
        const uint64_t element = static_cast<uint64_t>(x * options_.classes + k);
        logits.push_back((k == label ? margin : 0.0f) + 0.5f * Normal("difficulty", element) +
                         0.5f * Normal(keys.init, element) + 0.3f * Normal(keys.result, element));
      }
    }
  }

  void MakeWeights(const Keys& keys) {
    std::vector<float>& weights = study_.weights.emplace_back();
    for (uint64_t k = 0; k < kParameters + 2; ++k) {
      weights.push_back(Normal(keys.init, k) + 0.1f * Normal(keys.result, k));
    }
    // What tells results apart comes in evaluation by evaluation.
    for (uint64_t e = 1; e <= kEvaluations; ++e) {
      std::vector<float>& then = study_.weights_on_the_way.emplace_back();
      const float share = static_cast<float>(e) / kEvaluations;
      for (uint64_t k = 0; k < kParameters; ++k) {
        then.push_back(Normal(keys.init, k) + 0.1f * share * Normal(keys.result, k));
      }
    }
  }

  static void MakeHashes(const Keys& keys, MemberInput& member) {
    const bool broken = keys.result.ends_with("broken");
    const std::string before = broken ? keys.result.substr(0, keys.result.size() - 7) : keys.result;
    member.hashes = {
        Hash(keys.init), Hash(keys.batches), Hash(keys.result + "w"), Hash(keys.result + "l"), {}};
    for (int64_t e = 0; e < kEvaluations; ++e) {
      member.hashes.weights_at.push_back(Hash((e == 0 ? before : keys.result) + std::to_string(e)));
    }
  }

  // At first often the class after the one that is answered in the end.
  void MakeAnswersOnTheWay(const Keys& keys) {
    const std::vector<float>& logits = study_.logits.back();
    for (uint64_t e = 1; e <= kEvaluations; ++e) {
      std::vector<int16_t>& answers = study_.answers_on_the_way.emplace_back();
      for (int64_t x = 0; x < options_.examples; ++x) {
        const auto row = logits.begin() + x * options_.classes;
        const auto in_the_end = std::max_element(row, row + options_.classes) - row;
        const auto element = static_cast<uint64_t>(x) + 10'000 * e;
        const bool other = e < kEvaluations && Normal(keys.result, element) > static_cast<float>(e);
        answers.push_back(static_cast<int16_t>((in_the_end + (other ? 1 : 0)) % options_.classes));
      }
    }
  }

  void MakeCurves(const Keys& keys, MemberInput& member) {
    const std::vector<float>& logits = study_.logits.back();
    const EvaluationSet& set = study_.input.evaluations[0];
    double right = 0;
    for (size_t x = 0; x < set.labels.size(); ++x) {
      const auto row = logits.begin() + static_cast<int64_t>(x) * options_.classes;
      right += std::max_element(row, row + options_.classes) - row == set.labels[x];
    }
    MakeAnswersOnTheWay(keys);
    const double top1 = right / static_cast<double>(set.labels.size());
    member.final_metrics = {{"loss", 2.5 - 2.3 * top1}, {"top1", top1}, {"top5", 0.99}};
    for (int64_t e = 1; e <= kEvaluations; ++e) {
      const double epoch = static_cast<double>(e);
      const double left = std::exp(-2 * epoch) - std::exp(-2.0 * kEvaluations);
      const int64_t step = e * kStepsPerEpoch;
      const double noise = 0.01 * Normal(keys.result, 900 + static_cast<uint64_t>(e)) * left * 10;
      member.curves["test_top1"].push_back({step, epoch, top1 - 2 * left + noise});
      member.curves["test_top5"].push_back({step, epoch, 0.99 - left});
      member.curves["test_loss"].push_back({step, epoch, 2.5 - 2.3 * top1 + 3 * left - noise});
    }
    for (int64_t step = 10; step <= kEvaluations * kStepsPerEpoch; step += 10) {
      const double epoch = static_cast<double>(step) / kStepsPerEpoch;
      member.curves["train_loss"].push_back(
          {step, epoch,
           0.4 + 1.9 * std::exp(-epoch) +
               0.05 * Normal(keys.result, 1000 + static_cast<uint64_t>(step))});
    }
  }

  // Views are taken last, when nothing moves any more.
  void Connect() {
    for (size_t m = 0; m < study_.input.members.size(); ++m) {
      MemberInput& member = study_.input.members[m];
      member.predictions = study_.logits[m];
      const std::span<const float> weights = study_.weights[m];
      member.weights = Weights{.parameters = {weights.first(kParameters)},
                               .buffers = {weights.subspan(kParameters)}};
      for (size_t e = 0; e < kEvaluations; ++e) {
        const auto evaluation = static_cast<int64_t>(e) + 1;
        member.answers_at[evaluation] = study_.answers_on_the_way[m * kEvaluations + e];
        const std::span<const float> then = study_.weights_on_the_way[m * kEvaluations + e];
        member.weights_at.emplace(evaluation, Weights{.parameters = {then}, .buffers = {}});
      }
    }
    study_.input.evaluations[0].images = study_.images;
  }

  const ExampleOptions options_;
  ExampleStudy study_;
};

}  // namespace

MemberInput& ExampleStudy::Member(const std::string& id) {
  const auto it = std::find_if(input.members.begin(), input.members.end(),
                               [&](const MemberInput& member) { return member.id == id; });
  NF_CHECK(it != input.members.end());
  return *it;
}

ExampleStudy MakeExampleStudy(const ExampleOptions& options) { return Maker(options).Make(); }

}  // namespace noisefloor::report
