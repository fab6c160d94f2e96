// Freeing one source changes exactly what the source covers: the table of hashes.
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <set>
#include <string>

#include "tests/worker/trainer/torch/trainer_process.h"

namespace noisefloor::trainer {
namespace {

using Hashes = std::map<std::string, std::string>;

// A training in which every source has something to act on.
TrainerRequest BaseRequest(const std::string& model) {
  TrainerRequest request = SmallRequest(model);
  Specification& spec = request.specification;
  spec.model.dropout = model == "mlp" ? 0.25 : 0;
  spec.augment = {.crop_padding = 2, .flip = true, .cutout = 6};
  spec.train.shards = 4;
  spec.sources.poke_step = 1;
  spec.sources.thread_choices = {2};  // The fixed number is 1.
  spec.sources.dial_size = 1e-3;
  spec.sources.load_choices = {2};
  return request;
}

Hashes HashesOf(const TrainerRequest& request) {
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 0) << ran.outcome().message << ran.output;
  return ran.outcome().hashes;
}

// The control of each model, trained once.
const Hashes& Control(const std::string& model) {
  static std::map<std::string, Hashes> controls;
  Hashes& control = controls[model];
  if (control.empty()) control = HashesOf(BaseRequest(model));
  return control;
}

struct Row {
  NoiseSource source;
  std::string model;
  std::set<std::string> changed;  // Of init, first_batches, weights, logits.
};
void PrintTo(const Row& row, std::ostream* out) { *out << Name(row.source) << " " << row.model; }

class HashTableTest : public testing::TestWithParam<Row> {};

TEST_P(HashTableTest, FreeingOneSourceChangesExactlyItsHashes) {
  const Row& row = GetParam();
  TrainerRequest request = BaseRequest(row.model);
  Free(request.specification, row.source);

  const Hashes freed = HashesOf(request);

  for (const char* name : {"init", "first_batches", "weights", "logits"}) {
    const bool same = freed.at(name) == Control(row.model).at(name);
    EXPECT_EQ(same, !row.changed.contains(name)) << name;
  }
}

const std::set<std::string> kResult = {"weights", "logits"};
const std::set<std::string> kBatchesToo = {"first_batches", "weights", "logits"};
INSTANTIATE_TEST_SUITE_P(
    Sources, HashTableTest,
    testing::Values(Row{NoiseSource::kInit, "small_cnn", {"init", "weights", "logits"}},
                    Row{NoiseSource::kDataOrder, "small_cnn", kBatchesToo},
                    Row{NoiseSource::kAugment, "small_cnn", kBatchesToo},
                    Row{NoiseSource::kDropout, "mlp", kResult},
                    Row{NoiseSource::kDropout, "small_cnn", {}},  // Has no layer to act on.
                    Row{NoiseSource::kPoke, "small_cnn", kResult},
                    Row{NoiseSource::kThreads, "small_cnn", kResult},
                    Row{NoiseSource::kDial, "small_cnn", kResult},
                    Row{NoiseSource::kLoad, "small_cnn", {}},
                    Row{NoiseSource::kKernels, "small_cnn", {}},
                    Row{NoiseSource::kAutotune, "small_cnn", {}}),
    [](const auto& info) { return std::string(Name(info.param.source)) + "_" + info.param.model; });

TEST(NoiseTest, ControlIsBitIdenticalWithFourShardsAddedByRank) {
  for (const char* model : {"small_cnn", "mlp"}) {
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(HashesOf(BaseRequest(model)), Control(model)) << model;
    }
  }
}

TEST(NoiseTest, SharesAddedAsTheyArriveEndInOtherBits) {
  TrainerRequest request = BaseRequest("small_cnn");
  request.specification.train.epochs = 4;
  const Hashes by_rank = HashesOf(request);
  Free(request.specification, NoiseSource::kReduceOrder);

  std::set<std::string> differing;
  for (int run = 0; run < 10 && differing.size() < 2; ++run) {
    const Hashes freed = HashesOf(request);
    for (const char* name : {"init", "first_batches"}) EXPECT_EQ(freed.at(name), by_rank.at(name));
    for (const char* name : {"weights", "logits"}) {
      if (freed.at(name) != by_rank.at(name)) differing.insert(name);
    }
  }
  EXPECT_EQ(differing, kResult) << "10 runs of 16 steps each added all shares by rank";
}

TEST(NoiseTest, AFreeSourceRepeatsItselfOnTheSameLaneAndNotOnAnother) {
  TrainerRequest request = BaseRequest("small_cnn");
  Free(request.specification, NoiseSource::kDataOrder, 3);
  const Hashes first = HashesOf(request);
  EXPECT_EQ(HashesOf(request), first);

  Free(request.specification, NoiseSource::kDataOrder, 4);
  EXPECT_NE(HashesOf(request).at("weights"), first.at("weights"));
}

TEST(NoiseTest, OrderDoesNotChangeWhatAugmentationMakesOfAnExample) {
  // One batch holds all examples: with the same set of images in another order, batch norm aside,
  // the first gradient is the same sum in another order. Equal bits would mean that the order did
  // not change; a far-off loss, that the images did.
  TrainerRequest request = BaseRequest("mlp");
  request.specification.model.dropout = 0;
  request.specification.train.batch_size = 256;
  request.specification.train.epochs = 1;
  const Ran fixed = RunTrainer(request);
  Free(request.specification, NoiseSource::kDataOrder);
  const Ran freed = RunTrainer(request);

  EXPECT_NE(fixed.Hash("first_batches"), freed.Hash("first_batches"));
  EXPECT_NEAR(fixed.outcome().metrics.at("loss"), freed.outcome().metrics.at("loss"), 1e-5);
}

TEST(NoiseTest, OrderOfTheFileDoesNotMatter) {
  TrainerRequest request = BaseRequest("small_cnn");
  request.data_root = SyntheticDataRoot("reordered");
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.outcome().hashes, Control("small_cnn"));
}

}  // namespace
}  // namespace noisefloor::trainer
