#include "coordinator/scheduler/replicate_set.h"

#include <iterator>
#include <set>

#include "gtest/gtest.h"

#include "common/base/seed.h"

namespace noisefloor::scheduler {
namespace {

// Against a set with an object for each, after every one of many steps.
TEST(ReplicateSet, HoldsWhatASetOfNumbersHolds) {
  constexpr uint32_t kMost = 24;
  ReplicateSet ranges;
  std::set<uint32_t> twin;
  uint64_t chance = 1;
  const auto draw = [&](uint32_t below) {
    chance = Mix(chance);
    return static_cast<uint32_t>(chance % below);
  };
  for (int step = 0; step < 20000; ++step) {
    const uint32_t replicate = draw(kMost);
    const uint32_t action = draw(20);
    if (action == 0) {
      ranges.Clear();
      twin.clear();
    } else if (action < 10) {
      EXPECT_EQ(ranges.Erase(replicate), twin.erase(replicate) == 1);
    } else {
      uint32_t end = replicate;
      const uint32_t most = replicate + draw(6);
      while (end < most && end < kMost && !twin.contains(end)) twin.insert(end++);
      ranges.InsertRange(replicate, end);
    }
    ASSERT_EQ(ranges.size(), twin.size());
    ASSERT_EQ(ranges.empty(), twin.empty());
    ASSERT_EQ(ranges.first().value_or(kMost), twin.empty() ? kMost : *twin.begin());
    for (uint32_t i = 0; i <= kMost; ++i) {
      ASSERT_EQ(ranges.Contains(i), twin.contains(i)) << i;
      ASSERT_EQ(ranges.CountBelow(i), std::distance(twin.begin(), twin.lower_bound(i))) << i;
    }
  }
}

}  // namespace
}  // namespace noisefloor::scheduler
