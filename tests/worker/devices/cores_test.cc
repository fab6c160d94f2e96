#include "worker/devices/cores.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using Lists = std::vector<std::vector<int>>;

TEST(CoresTest, SlotsGetEqualSharesOfNeighbours) {
  const std::vector<int> cores = {0, 1, 2, 3, 8, 9};
  EXPECT_EQ(AssignCores(cores, 1), (Lists{{0, 1, 2, 3, 8, 9}}));
  EXPECT_EQ(AssignCores(cores, 2), (Lists{{0, 1, 2}, {3, 8, 9}}));
  EXPECT_EQ(AssignCores(cores, 6), (Lists{{0}, {1}, {2}, {3}, {8}, {9}}));
}

TEST(CoresTest, WhatDoesNotDivideIsLeftOver) {
  const std::vector<int> cores = {0, 1, 2, 3, 4};
  EXPECT_EQ(AssignCores(cores, 2), (Lists{{0, 1}, {2, 3}}));
}

TEST(CoresTest, FewerCoresThanSlotsAreShared) {
  const std::vector<int> cores = {4, 5};
  EXPECT_THAT(AssignCores(cores, 5), ElementsAre(ElementsAre(4), ElementsAre(5), ElementsAre(4),
                                                 ElementsAre(5), ElementsAre(4)));
}

}  // namespace
}  // namespace noisefloor
