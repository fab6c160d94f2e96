#include "coordinator/query/known_distances.h"

#include "gtest/gtest.h"

namespace noisefloor::query {
namespace {

analysis::Distances Of(double value) {
  analysis::Distances found;
  found.raw.value = value;
  return found;
}

TEST(KnownDistancesTest, AreThoseOfTheSameContentsInTheSameOrder) {
  KnownDistances known;
  known.Keep({"a", "b"}, Of(1));
  known.Keep({"b", "a"}, Of(2));

  EXPECT_EQ(known.Find({"a", "b"})->raw.value, 1);
  EXPECT_EQ(known.Find({"b", "a"})->raw.value, 2);
  EXPECT_FALSE(known.Find({"a"}).has_value());
  EXPECT_FALSE(known.Find({"ab", ""}).has_value());
  EXPECT_FALSE(known.Find({"", "a", "b"}).has_value());
}

TEST(KnownDistancesTest, OfNobodyAreNotThoseOfOneWithoutWeights) {
  KnownDistances known;
  known.Keep({}, Of(1));
  known.Keep({"a"}, Of(2));

  EXPECT_FALSE(known.Find({""}).has_value());
  EXPECT_FALSE(known.Find({"a", ""}).has_value());
}

TEST(KnownDistancesTest, WhatWasAskedForLongestAgoGoesFirst) {
  KnownDistances known(2);
  known.Keep({"a"}, Of(1));
  known.Keep({"b"}, Of(2));
  known.Keep({"a"}, Of(1));  // It is there.
  EXPECT_TRUE(known.Find({"a"}).has_value());
  known.Keep({"c"}, Of(3));

  EXPECT_EQ(known.Find({"a"})->raw.value, 1);
  EXPECT_FALSE(known.Find({"b"}).has_value());
  EXPECT_EQ(known.Find({"c"})->raw.value, 3);
  known.Keep({"d"}, Of(4));
  EXPECT_FALSE(known.Find({"a"}).has_value());
}

}  // namespace
}  // namespace noisefloor::query
