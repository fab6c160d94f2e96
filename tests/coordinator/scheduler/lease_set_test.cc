#include "coordinator/scheduler/lease_set.h"

#include <set>

#include "gtest/gtest.h"

#include "common/base/seed.h"

namespace noisefloor::scheduler {
namespace {

// Against a set with an object for each, over the borders of words and blocks.
TEST(LeaseSet, HoldsWhatASetOfLeasesHolds) {
  constexpr uint64_t kMost = 3000;
  LeaseSet leases;
  std::set<uint64_t> twin;
  uint64_t chance = 1;
  for (int step = 0; step < 20000; ++step) {
    chance = Mix(chance);
    const uint64_t lease = chance % kMost;
    if (chance >> 62 == 0) {
      leases.erase(LeaseId{lease});
      twin.erase(lease);
    } else {
      leases.insert(LeaseId{lease});
      twin.insert(lease);
    }
    if (step % 500 != 0) continue;
    for (uint64_t i = 0; i < kMost + 2000; ++i) {
      ASSERT_EQ(leases.contains(LeaseId{i}), twin.contains(i)) << i << " in step " << step;
    }
  }
}

TEST(LeaseSet, NumbersMayBeAnyOfSixtyFourBits) {
  LeaseSet leases;
  const LeaseId last{~uint64_t{0}};
  EXPECT_FALSE(leases.contains(last));
  leases.insert(last);
  EXPECT_TRUE(leases.contains(last));
  EXPECT_FALSE(leases.contains(LeaseId{last.value - 1}));
  leases.erase(last);
  EXPECT_FALSE(leases.contains(last));
}

}  // namespace
}  // namespace noisefloor::scheduler
