#include "worker/trainer/data/loader.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::trainer {
namespace {

using ::testing::ElementsAre;

Split TenExamples() {
  std::vector<uint8_t> images;
  std::vector<int64_t> labels;
  for (int i = 0; i < 10; ++i) {
    images.push_back(static_cast<uint8_t>(i));
    labels.push_back(i % 3);
  }
  return {{1, 1, 1}, std::move(images), std::move(labels)};
}

Loader MakeLoader(const Split& split, LoaderSettings settings) {
  return Loader::Make(split, DataOrder(1, 0), settings).value();
}

TEST(LoaderTest, BatchesFollowTheOrderOfTheEpoch) {
  const Split split = TenExamples();
  Loader loader = MakeLoader(split, {.batch_size = 4});
  ASSERT_EQ(loader.batches_per_epoch(), 3u);

  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<uint32_t> visited;
    for (uint64_t i = 0; i < 3; ++i) {
      const Batch batch = loader.Next().value();
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.step, 3 * epoch + i);
      EXPECT_EQ(batch.first_position, 4 * i);
      EXPECT_EQ(batch.last_of_epoch, i == 2);
      EXPECT_EQ(batch.examples.size(), i == 2 ? 2u : 4u);
      visited.insert(visited.end(), batch.examples.begin(), batch.examples.end());
      ASSERT_EQ(batch.labels.size(), batch.examples.size());
      for (size_t k = 0; k < batch.labels.size(); ++k) {
        EXPECT_EQ(batch.labels[k], batch.examples[k] % 3);
      }
    }
    EXPECT_EQ(visited, DataOrder(1, 0).Epoch(epoch, 10));
  }
}

// Of an epoch that is entered in its middle it is known, too, that every example comes once.
TEST(LoaderTest, GoingOnAtAStepGivesTheBatchesOfWhoWentThere) {
  const Split split = TenExamples();
  for (const bool drop_last : {false, true}) {
    const LoaderSettings settings{.batch_size = 4, .drop_last = drop_last};
    Loader whole = Loader::Make(split, DataOrder(1, 5), settings).value();
    for (uint64_t step = 0; step < 7; ++step) {
      Loader loader = Loader::Make(split, DataOrder(1, 5), settings).value();
      (void)loader.Next();
      loader.GoOnAt(step);
      Loader there = whole;
      for (int i = 0; i < 7; ++i) {
        const Batch expected = there.Next().value();
        const Batch batch = loader.Next().value();
        EXPECT_EQ(batch.examples, expected.examples) << step;
        EXPECT_EQ(batch.labels, expected.labels);
        EXPECT_EQ(batch.epoch, expected.epoch);
        EXPECT_EQ(batch.step, expected.step);
        EXPECT_EQ(batch.first_position, expected.first_position);
        EXPECT_EQ(batch.last_of_epoch, expected.last_of_epoch);
      }
      (void)whole.Next();
    }
  }
}

TEST(LoaderTest, LastSmallBatchIsLeftOutWhenAsked) {
  const Split split = TenExamples();
  Loader loader = MakeLoader(split, {.batch_size = 4, .drop_last = true});
  ASSERT_EQ(loader.batches_per_epoch(), 2u);

  for (uint64_t step = 0; step < 6; ++step) {
    const Batch batch = loader.Next().value();
    EXPECT_EQ(batch.epoch, step / 2);
    EXPECT_EQ(batch.examples.size(), 4u);
    EXPECT_EQ(batch.last_of_epoch, step % 2 == 1);
  }
}

TEST(LoaderTest, BatchesThatFitExactlyLeaveNothing) {
  const Split split = TenExamples();

  EXPECT_EQ(MakeLoader(split, {.batch_size = 5}).batches_per_epoch(), 2u);
  EXPECT_EQ(MakeLoader(split, {.batch_size = 5, .drop_last = true}).batches_per_epoch(), 2u);
  EXPECT_EQ(MakeLoader(split, {.batch_size = 100}).batches_per_epoch(), 1u);
}

TEST(LoaderTest, SettingsWithoutABatchAreRefused) {
  const Split split = TenExamples();
  const auto refusal = [&](LoaderSettings settings) {
    return Message(Loader::Make(split, DataOrder(1, 0), settings).status());
  };

  EXPECT_EQ(refusal({.batch_size = 0}), "batch size 0; expected at least 1");
  EXPECT_EQ(refusal({.batch_size = 11, .drop_last = true}), "10 examples make no batch of 11");
  EXPECT_EQ(Message(Loader::Make(Split(), DataOrder(1, 0), {}).status()),
            "0 examples make no batch of 128");
}

TEST(CheckSeenTest, RightEpochsPass) {
  EXPECT_TRUE(CheckSeen(0, std::vector<uint32_t>{1, 1, 1}, 0).ok());
  EXPECT_TRUE(CheckSeen(0, std::vector<uint32_t>{1, 0, 1}, 1).ok());
}

TEST(CheckSeenTest, WrongEpochsNameTheExample) {
  const auto refusal = [](std::vector<uint32_t> seen, uint64_t left_out) {
    return Message(CheckSeen(3, seen, left_out));
  };

  EXPECT_EQ(refusal({1, 0, 1}, 0), "epoch 3: example 1 was seen 0 times; expected once");
  EXPECT_EQ(refusal({1, 1, 2}, 0), "epoch 3: example 2 was seen 2 times; expected once");
  EXPECT_EQ(refusal({0, 2, 1}, 1), "epoch 3: example 1 was seen 2 times; expected once");
  EXPECT_EQ(refusal({0, 1, 0}, 1), "epoch 3: example 2 was seen 0 times; expected once");
  EXPECT_EQ(refusal({1, 1, 1}, 1), "epoch 3: 0 examples were not seen; expected 1");
}

}  // namespace
}  // namespace noisefloor::trainer
