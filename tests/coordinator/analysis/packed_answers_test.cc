#include "coordinator/analysis/packed_answers.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

PredictionMatrix Random(Draws& draws, int64_t members, int64_t examples, int32_t classes,
                        double undefined) {
  PredictionMatrix answers(examples, classes);
  for (int64_t m = 0; m < members; ++m) {
    std::vector<int16_t> row;
    for (int64_t x = 0; x < examples; ++x) {
      row.push_back(draws.Uniform() < undefined ? kUndefined
                                                : static_cast<int16_t>(draws.Below(classes)));
    }
    EXPECT_TRUE(answers.AddAnswers(row).ok());
  }
  return answers;
}

// Sizes around a word and around what is counted at once.
TEST(PackedAnswersTest, CountAsAnswersOneByOne) {
  Draws draws(71);
  for (const int64_t examples : {1, 63, 64, 65, 2047, 2048, 2049, 5000}) {
    for (const int32_t classes : {1, 2, 3, 10, 16, 17, 1000, 32767}) {
      for (const double undefined : {0.0, 0.3}) {
        const PredictionMatrix answers = Random(draws, 4, examples, classes, undefined);
        const PackedAnswers packed(answers);
        ASSERT_EQ(packed.members(), 4);
        for (int64_t a = 0; a < 4; ++a) {
          for (int64_t b = 0; b < 4; ++b) {
            EXPECT_EQ(packed.Differing(a, b), CountDiffering(answers.Row(a), answers.Row(b)))
                << examples << " " << classes << " " << undefined << " " << a << " " << b;
          }
        }
      }
    }
  }
}

TEST(PackedAnswersTest, AllMayDifferInAsManyExamplesAsThereAre) {
  const std::vector<int16_t> none(50000, 0);
  const std::vector<int16_t> all(50000, 15);
  PredictionMatrix answers(50000, 16);
  ASSERT_TRUE(answers.AddAnswers(none).ok());
  ASSERT_TRUE(answers.AddAnswers(all).ok());
  EXPECT_EQ(PackedAnswers(answers).Differing(0, 1), 50000);
}

// More members than a tile has, more examples than are counted at once in one.
TEST(KnownPairsTest, CountAsAnswersOneByOneInWhateverOrderTheyAreAskedFor) {
  Draws draws(72);
  for (const double undefined : {0.0, 0.1}) {
    const PredictionMatrix answers = Random(draws, 21, 40000, 5, undefined);
    const PackedAnswers packed(answers);
    KnownPairs pairs(packed);
    for (int64_t ask = 0; ask < 1000; ++ask) {
      const int64_t a = draws.Below(21);
      const int64_t b = draws.Below(21);
      ASSERT_EQ(pairs.Differing(a, b), CountDiffering(answers.Row(a), answers.Row(b)))
          << a << " " << b;
    }
  }
}

TEST(KnownPairsTest, OfMoreMembersThanAreKeptTheyAreCountedAnew) {
  PredictionMatrix answers(3, 2);
  for (int64_t m = 0; m < (1 << 14) + 1; ++m) {
    ASSERT_TRUE(answers.AddAnswers(std::vector<int16_t>{0, static_cast<int16_t>(m % 2), 1}).ok());
  }
  const PackedAnswers packed(answers);
  KnownPairs pairs(packed);
  EXPECT_EQ(pairs.Differing(1 << 14, 1), 1);
  EXPECT_EQ(pairs.Differing(1 << 14, 2), 0);
}

}  // namespace
}  // namespace noisefloor::analysis
