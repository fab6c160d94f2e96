#include "coordinator/analysis/rotations.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

// As it is written down: each point b of Z_sides^digits turns the replicate with vector v by
// <b, v>, and a pair adds what it says for the difference of the two turns.
struct Pair {
  std::vector<int64_t> between;  // The difference of the vectors.
  std::vector<int64_t> of_turn;
};

int64_t SlowSum(const std::vector<Pair>& pairs, int64_t element, int64_t sides) {
  int64_t sum = 0;
  for (const Pair& pair : pairs) {
    int64_t left = element;
    int64_t turn = 0;
    for (const int64_t digit : pair.between) {
      turn += left % sides * digit;
      left /= sides;
    }
    sum += pair.of_turn[static_cast<size_t>(turn % sides)];
  }
  return sum;
}

TEST(RotationSumsTest, AreTheSumsOfEveryElement) {
  for (const int64_t sides : {2, 3, 4, 5}) {
    const int64_t digits = sides == 2 ? 5 : 3;
    Draws draws(static_cast<uint64_t>(sides));
    RotationSums sums(sides, digits);
    std::vector<Pair> pairs;
    // In each block as many replicates as have vectors that are known: zero, then units.
    int64_t unit = 0;
    for (const int64_t replicates : {3, 2, sides == 2 ? 3 : 1}) {
      sums.BeginBlock();
      std::vector<std::vector<int64_t>> vectors;
      for (int64_t r = 0; r < replicates; ++r) {
        std::vector<int64_t>& vector = vectors.emplace_back(static_cast<size_t>(digits), 0);
        if (r > 0) vector[static_cast<size_t>(unit++)] = 1;
        const size_t place = sums.AddReplicate();
        ASSERT_EQ(place, static_cast<size_t>(r));
        for (size_t later = 0; later < place; ++later) {
          Pair& pair = pairs.emplace_back();
          for (size_t d = 0; d < vector.size(); ++d) {
            pair.between.push_back((vector[d] - vectors[later][d] + sides) % sides);
          }
          for (int64_t t = 0; t < sides; ++t) pair.of_turn.push_back(draws.Below(1000) - 300);
          sums.AddPair(place, later, pair.of_turn);
        }
      }
    }
    ASSERT_EQ(unit, digits);
    const std::vector<int64_t> all = sums.Take();
    int64_t elements = 1;
    for (int64_t d = 0; d < digits; ++d) elements *= sides;
    ASSERT_EQ(all.size(), static_cast<size_t>(elements));
    for (int64_t e = 0; e < elements; ++e) {
      EXPECT_EQ(all[static_cast<size_t>(e)], SlowSum(pairs, e, sides)) << sides << " " << e;
    }
  }
}

// Behind as many as there are digits, vectors are drawn: two of them turn apart.
TEST(RotationSumsTest, EveryFurtherReplicateTurnsByItself) {
  RotationSums sums(2, 15);
  sums.BeginBlock();
  size_t last = 0;
  for (int r = 0; r < 1 + 15 + 2; ++r) last = sums.AddReplicate();
  sums.AddPair(last, last - 1, std::vector<int64_t>{0, 1});
  const std::vector<int64_t> all = sums.Take();
  EXPECT_EQ(std::ranges::count(all, 1), std::ssize(all) / 2) << "in half of all elements";
}

TEST(DigitsForTest, AreTheFewest) {
  EXPECT_EQ(DigitsFor(2, 1), 0);
  EXPECT_EQ(DigitsFor(2, 32768), 15);
  EXPECT_EQ(DigitsFor(2, 32769), 16);
  EXPECT_EQ(DigitsFor(3, 32768), 10);
  EXPECT_EQ(DigitsFor(20, 32768), 4);
}

}  // namespace
}  // namespace noisefloor::analysis
