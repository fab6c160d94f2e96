#include "common/base/share.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(ShareTest, PercentAndFractionsAreShares) {
  EXPECT_EQ(ParseShare("0.5%"), 0.005);
  EXPECT_EQ(ParseShare("0.005"), 0.005);
  EXPECT_EQ(ParseShare("50%"), 0.5);
  EXPECT_EQ(ParseShare("0.0999"), 0.0999);
  EXPECT_EQ(ParseShare("1e-3"), 0.001);
}

TEST(ShareTest, WhatMayBeMeantForAPercentageIsNone) {
  EXPECT_EQ(ParseShare("0.1"), std::nullopt);
  EXPECT_EQ(ParseShare("0.5"), std::nullopt);
  EXPECT_EQ(ParseShare("10%"), 0.1);
}

TEST(ShareTest, AllElseIsNone) {
  for (const char* text : {"", "%", "0", "0%", "-1%", "-0.01", "51%", "1", "nan", "inf%", "0.5 %",
                           " 0.5%", "0.5%%", "half", "0,5%"}) {
    EXPECT_EQ(ParseShare(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace noisefloor
