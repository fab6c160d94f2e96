#include "coordinator/analysis/share_widths.h"

#include <vector>

#include "gtest/gtest.h"

namespace noisefloor::analysis {
namespace {

// 2 x 2 x 2 cubes.
std::vector<DesignBlock> Cubes(int blocks) {
  std::vector<DesignBlock> design;
  for (int block = 0; block < blocks; ++block) {
    DesignBlock& cube = design.emplace_back();
    for (uint32_t m = 0; m < 8; ++m) cube.levels.push_back({m & 1, m >> 1 & 1, m >> 2 & 1});
  }
  return design;
}

// Pick and freeze: a base, each source changed, all but each changed.
std::vector<DesignBlock> PickFreeze(int blocks) {
  std::vector<DesignBlock> design;
  for (int block = 0; block < blocks; ++block) {
    design.push_back({{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}},
                      PairMatrix(0)});
  }
  return design;
}

// Simulated apart from this code, 250 studies: root mean squared errors of a share, of six cubes
// 0.030 alone and 0.036 with all it acts through in 50 directions, 0.20 and 0.28 in one; of seven
// pick-freezes 0.034 and 0.037, 0.25 and 0.28. A half-width is t(blocks - 1; 0.975) of these.
TEST(ShareWidthsTest, AreThoseOfSimulatedStudies) {
  constexpr double kT5 = 2.571;
  constexpr double kT6 = 2.447;
  const ShareWidths churn = ExpectedShareWidths(Cubes(6), 3, 50);
  EXPECT_NEAR(*churn.first_order, kT5 * 0.030, 0.25 * kT5 * 0.030);
  EXPECT_NEAR(*churn.total, kT5 * 0.036, 0.25 * kT5 * 0.036);
  const ShareWidths accuracy = ExpectedShareWidths(Cubes(6), 3, 1);
  EXPECT_NEAR(*accuracy.first_order, kT5 * 0.20, 0.4 * kT5 * 0.20);
  EXPECT_NEAR(*accuracy.total, kT5 * 0.28, 0.4 * kT5 * 0.28);
  const ShareWidths picked = ExpectedShareWidths(PickFreeze(7), 3, 50);
  EXPECT_NEAR(*picked.first_order, kT6 * 0.034, 0.3 * kT6 * 0.034);
  EXPECT_NEAR(*picked.total, kT6 * 0.037, 0.25 * kT6 * 0.037);
}

TEST(ShareWidthsTest, MoreBlocksTellMore) {
  const ShareWidths few = ExpectedShareWidths(Cubes(6), 3, 50);
  const ShareWidths many = ExpectedShareWidths(Cubes(24), 3, 50);
  EXPECT_LT(*many.total, 0.6 * *few.total);
  EXPECT_EQ(*ExpectedShareWidths(Cubes(6), 3, 50).total, *few.total) << "equal designs";
}

TEST(ShareWidthsTest, WhatADesignDoesNotTellHasNone) {
  // A Latin square: two of its members share one source or none.
  std::vector<DesignBlock> squares(6);
  for (DesignBlock& square : squares) {
    for (uint32_t m = 0; m < 9; ++m) square.levels.push_back({m / 3, m % 3, (m / 3 + m % 3) % 3});
  }
  const ShareWidths widths = ExpectedShareWidths(squares, 3, 50);
  EXPECT_TRUE(widths.first_order.has_value());
  EXPECT_FALSE(widths.total.has_value());
  // One cube: without one of two draws nothing is left to tell by.
  EXPECT_FALSE(ExpectedShareWidths(Cubes(1), 3, 50).total.has_value());
}

}  // namespace
}  // namespace noisefloor::analysis
