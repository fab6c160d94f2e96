// The real program's trainings end where they always did: initial weights and first batches on any
// machine, bits of the results on processors that the table knows. On all of them it comes as near
// to a second trainer in float64 as rounding lets it.
#include "tests/worker/trainer/torch/known_answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/files/npy.h"
#include "common/files/safetensors.h"
#include "common/files/tensor_hash.h"
#include "tests/worker/trainer/torch/known_cases.h"
#include "tests/worker/trainer/torch/trainer_process.h"
#include "tests/worker/trainer/twin/training.h"
#include "worker/devices/class_variables.h"
#include "worker/devices/cpu.h"
#include "worker/trainer/data/dataset.h"

namespace noisefloor::trainer {
namespace {

// Largest deviations from float64.
constexpr double kMostOfForward = 2e-5;  // Of logits by the exported weights, in the largest logit.
constexpr double kMostOfLoss = 1e-4;     // Of a loss while training, in itself.
// The part of a network's way below which a tensor's own is rounding: biases before batch norm.
constexpr double kStill = 1e-2;

// Vendor, family and model.
std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> entries;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const size_t colon = line.find(':');
    const size_t end = line.find_last_not_of(" \t", colon - 1);
    if (colon != std::string::npos && colon + 2 <= line.size()) {
      entries[line.substr(0, end + 1)] = line.substr(colon + 2);
    }
  }
  return entries["vendor_id"] + " " + entries["cpu family"] + " " + entries["model"];
}

double Norm(const twin::Array& a, const twin::Array& b) {
  EXPECT_EQ(a.shape, b.shape);
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += std::pow(a.values[i] - b.values[i], 2);
  return std::sqrt(sum);
}

double LargestDifference(const twin::Array& a, const twin::Array& b) {
  EXPECT_EQ(a.shape, b.shape);
  double worst = 0, scale = 1;
  for (size_t i = 0; i < a.values.size(); ++i) {
    worst = std::max(worst, std::abs(a.values[i] - b.values[i]));
    scale = std::max(scale, std::abs(b.values[i]));
  }
  return worst / scale;
}

// The files of the evaluation set: bytes as in the data set, colours in the order of the words RGB.
void ExpectEvaluationSet(const std::string& folder, const Dataset& dataset) {
  const auto images = NpyView::Open(folder + "/evaluation_images.npy");
  const auto labels = NpyView::Open(folder + "/evaluation_labels.npy");
  ASSERT_TRUE(images.ok() && labels.ok()) << images.status() << labels.status();
  const int64_t count = dataset.test.size();
  EXPECT_EQ(labels->shape(), (Shape{count}));
  EXPECT_TRUE(std::ranges::equal(*labels->Values<int32_t>(), dataset.test.labels));
  ASSERT_EQ(images->shape(), (Shape{count, 32, 32, 3}));
  const auto pixels = *images->Values<uint8_t>();
  for (size_t i = 0; i < pixels.size(); ++i) {
    ASSERT_EQ(pixels[i] / kColourLevels, i % 3) << i;
  }
}

// Of the README's metrics, from logits and labels.
void ExpectMetrics(const Outcome& outcome, const twin::Array& logits,
                   const std::vector<int64_t>& labels) {
  const auto count = static_cast<double>(labels.size());
  const auto classes = static_cast<size_t>(logits.Size(1));
  double loss = 0, top1 = 0, top5 = 0;
  std::vector<double> right(classes), all(classes);
  for (size_t n = 0; n < labels.size(); ++n) {
    const std::span<const double> row(logits.values.data() + n * classes, classes);
    const auto label = static_cast<size_t>(labels[n]);
    double sum = 0;
    for (const double logit : row) sum += std::exp(logit);
    const auto above = std::ranges::count_if(row, [&](double v) { return v > row[label]; });
    loss += (std::log(sum) - row[label]) / count;
    top1 += above < 1 ? 1 / count : 0;
    top5 += above < 5 ? 1 / count : 0;
    right[label] += above < 1 ? 1 : 0;
    all[label] += 1;
  }
  EXPECT_NEAR(outcome.metrics.at("loss"), loss, 1e-12);
  EXPECT_NEAR(outcome.metrics.at("top1"), top1, 1e-12);
  EXPECT_NEAR(outcome.metrics.at("top5"), top5, 1e-12);
  ASSERT_EQ(outcome.per_class_accuracy.size(), classes);
  for (size_t k = 0; k < classes; ++k) {
    if (all[k] == 0)
      EXPECT_TRUE(std::isnan(outcome.per_class_accuracy[k])) << k;
    else
      EXPECT_EQ(outcome.per_class_accuracy[k], right[k] / all[k]) << k;
  }
}

// What one run leaves behind.
struct Left {
  Ran ran;
  twin::Arrays weights;
  twin::Array logits;
};

class KnownAnswersTest : public testing::TestWithParam<KnownCase> {
 protected:
  // Runs the case as a class and checks that its hashes are those of its files.
  static Left Run(const std::string& hardware_class, const Dataset& dataset) {
    TrainerRequest request = GetParam().request();
    request.specification.hardware_class = hardware_class;
    RunOptions options;
    options.variables = *VariablesOf({.hardware_class = hardware_class});
    Left left{.ran = RunTrainer(request, options)};
    EXPECT_EQ(left.ran.exit_code, 0) << left.ran.outcome().message;
    const std::string folder = request.work_directory;
    const auto weights = SafetensorsFile::Open(folder + "/weights.safetensors");
    const auto logits = NpyView::Open(folder + "/predictions.npy");
    if (!weights.ok() || !logits.ok()) {
      ADD_FAILURE() << weights.status() << logits.status();
      return left;
    }
    EXPECT_EQ(*HashTensors(weights->tensors()), left.ran.Hash("weights"));
    TensorView named = logits->tensor();
    named.name = "logits";
    EXPECT_EQ(*HashTensors({named}), left.ran.Hash("logits"));
    left.weights = twin::ArraysOf(weights->tensors());
    left.logits = twin::ArraysOf({named}).at("logits");
    ExpectMetrics(left.ran.outcome(), left.logits,
                  {dataset.test.labels.begin(), dataset.test.labels.end()});
    if (request.write_evaluation_set) ExpectEvaluationSet(folder, dataset);
    std::filesystem::remove_all(folder);
    return left;
  }

  static void ExpectNear(const Left& left, const twin::Trained& trained) {
    ASSERT_EQ(left.weights.size(), trained.ended.size());
    double all = 0, worst = 0;
    for (const auto& [name, ended] : trained.ended) {
      all = std::hypot(all, Norm(ended, trained.begun.at(name)));
    }
    for (const auto& [name, ended] : trained.ended) {
      ASSERT_TRUE(left.weights.contains(name)) << name;
      const double way = std::max(Norm(ended, trained.begun.at(name)), kStill * all);
      const double missed = Norm(left.weights.at(name), ended) / way;
      EXPECT_LE(missed, GetParam().rounding) << name;
      worst = std::max(worst, missed);
    }
    const double logits = LargestDifference(left.logits, trained.logits);
    EXPECT_LE(logits, GetParam().rounding);
    ExpectRecords(left.ran.RecordsOf("train_loss"), trained.losses, kMostOfLoss);
    std::printf("off by at most: weights %.1e, logits %.1e\n", worst, logits);
  }

  // One record a step.
  static void ExpectRecords(const std::vector<Record>& records, const std::vector<double>& values,
                            double most) {
    ASSERT_EQ(records.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(records[i].step, static_cast<int64_t>(i) + 1);
      EXPECT_NEAR(records[i].value, values[i], most * std::abs(values[i])) << records[i].metric;
    }
  }

  // False when the table does not know this processor.
  static bool ExpectBits(const std::string& hardware_class, const Left& left,
                         const Dataset& dataset) {
    const Answer seen{left.ran.outcome().hashes.at("weights"),
                      left.ran.outcome().hashes.at("logits")};
    const auto answer = AnswerOf(Processor(), hardware_class, GetParam().name);
    if (answer) {
      EXPECT_EQ(seen.weights, answer->weights) << hardware_class;
      EXPECT_EQ(seen.logits, answer->logits) << hardware_class;
      return true;
    }
    EXPECT_EQ(Run(hardware_class, dataset).ran.outcome().hashes, left.ran.outcome().hashes);
    std::printf("%s", RowOf(Processor(), hardware_class, GetParam().name, seen).c_str());
    return false;
  }
};

TEST_P(KnownAnswersTest, AreStillGiven) {
  const TrainerRequest request = GetParam().request();
  const Specification& spec = request.specification;
  const auto dataset = LoadDataset(spec.data.name, request.data_root,
                                   {spec.data.train_examples, spec.data.test_examples});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const twin::Trained trained = twin::Train(spec, *dataset);
  const auto portable = PortableAnswerOf(GetParam().name);
  ASSERT_TRUE(portable) << trained.init_hash << " " << trained.first_batches_hash;
  EXPECT_EQ(trained.init_hash, portable->init);
  EXPECT_EQ(trained.first_batches_hash, portable->first_batches);

  bool known = true;
  for (const std::string& hardware_class : CpuClasses(ReadCpuFacts())) {
    SCOPED_TRACE(hardware_class);
    const Left left = Run(hardware_class, *dataset);
    EXPECT_EQ(left.ran.Hash("init"), trained.init_hash);
    EXPECT_EQ(left.ran.Hash("first_batches"), trained.first_batches_hash);
    ExpectNear(left, trained);
    EXPECT_LE(LargestDifference(left.logits, twin::Evaluate(spec, *dataset, left.weights)),
              kMostOfForward);
    known = ExpectBits(hardware_class, left, *dataset) && known;
  }
  if (!known) {
    GTEST_SKIP() << "SKIPPED: no bits are known of a processor " << Processor()
                 << "; two runs agreed, and with float64; the rows to add to known_answers.cc "
                    "stand above";
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, KnownAnswersTest, testing::ValuesIn(KnownCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace noisefloor::trainer
