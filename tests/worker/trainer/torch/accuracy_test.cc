// Training is right, not only repeatable. Needs the whole Fashion-MNIST; minutes on one core.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/worker/trainer/torch/trainer_process.h"

namespace noisefloor::trainer {
namespace {

TEST(AccuracyTest, SmallCnnWithBatchNormReaches88PercentInFiveEpochs) {
  const char* root = std::getenv("NOISEFLOOR_DATA");
  if (root == nullptr || !std::filesystem::exists(std::string(root) + "/fashion-mnist")) {
    GTEST_SKIP() << "SKIPPED: set NOISEFLOOR_DATA to a folder with fashion-mnist";
  }
  TrainerRequest request = SmallRequest();
  request.data_root = root;
  Specification& spec = request.specification;
  spec.model.batch_norm_momentum = 0.1;
  spec.data.name = "fashion-mnist";
  spec.data.train_examples = 0;
  spec.data.test_examples = 0;
  spec.train.epochs = 5;
  spec.train.batch_size = 128;
  spec.train.optimizer.momentum = 0;
  spec.train.optimizer.name = "adam";
  spec.train.optimizer.learning_rate = 4e-3;
  spec.train.schedule.name = "cosine";
  spec.evaluate.every_epochs = 0;

  const Ran ran = RunTrainer(request);

  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const double top1 = ran.outcome().metrics.at("top1");
  std::printf("test top-1 %.4f in %.1f s\n", top1, ran.outcome().train_seconds);
  EXPECT_GE(top1, 0.88);
}

}  // namespace
}  // namespace noisefloor::trainer
