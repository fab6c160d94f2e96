#include "coordinator/store/blob_pins.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(BlobPins, KeepAContentUntilTheLastOfItsLeasesIsSettled) {
  std::set<LeaseId> live = {LeaseId{1}, LeaseId{2}};
  BlobPins pins([&](LeaseId lease) { return live.contains(lease); });
  pins.Pin("a", LeaseId{1});
  pins.Pin("a", LeaseId{2});
  int removed = 0;
  const auto remove = [&] { ++removed; };
  EXPECT_FALSE(pins.Unless("a", remove));
  EXPECT_TRUE(pins.Unless("b", remove));
  live.erase(LeaseId{1});
  EXPECT_FALSE(pins.Unless("a", remove));
  live.clear();
  EXPECT_TRUE(pins.Unless("a", remove));
  EXPECT_EQ(removed, 2);

  live = {LeaseId{1}, LeaseId{2}};
  pins.Pin("c", LeaseId{1});
  pins.Pin("c", LeaseId{2});
  live.erase(LeaseId{2});
  EXPECT_FALSE(pins.Unless("c", remove)) << "the first is not settled yet";
}

TEST(BlobPins, OfManyLeasesOnlyThoseThatLiveAreRemembered) {
  uint64_t oldest = 0;
  uint64_t asked = 0;
  BlobPins pins([&](LeaseId lease) { return ++asked, lease.value >= oldest; });
  for (uint64_t i = 1; i <= 100000; ++i) {
    oldest = i > 100 ? i - 100 : 0;
    pins.Pin("content " + std::to_string(i), LeaseId{i});
  }
  EXPECT_LT(asked, 300000u) << "looking costs a constant for each pin";
  EXPECT_FALSE(pins.Unless("content 99950", [] {}));
  EXPECT_TRUE(pins.Unless("content 99000", [] {}));
}

TEST(BlobPins, AmongManyOneOfTwoLeasesIsEnoughToKeepAContent) {
  constexpr uint64_t kSettled = 1;
  BlobPins pins([](LeaseId lease) { return lease.value != kSettled; });
  pins.Pin("shared", LeaseId{kSettled});
  pins.Pin("shared", LeaseId{2});
  // So many that what is settled is looked for.
  for (uint64_t i = 3; i < 3000; ++i) pins.Pin("content " + std::to_string(i), LeaseId{i});
  EXPECT_FALSE(pins.Unless("shared", [] {}));
}

}  // namespace
}  // namespace noisefloor
