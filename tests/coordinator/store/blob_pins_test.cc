#include "coordinator/store/blob_pins.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(BlobPins, KeepAContentUntilTheLastOfItsLeasesIsSettled) {
  std::set<LeaseId> live = {LeaseId{1}, LeaseId{2}};
  BlobPins pins([&](LeaseId lease) { return live.contains(lease); });
  EXPECT_TRUE(pins.Pin("a", LeaseId{1}));
  EXPECT_TRUE(pins.Pin("a", LeaseId{2}));
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
  EXPECT_TRUE(pins.Pin("c", LeaseId{1}));
  EXPECT_TRUE(pins.Pin("c", LeaseId{2}));
  live.erase(LeaseId{2});
  EXPECT_FALSE(pins.Unless("c", remove)) << "the first is not settled yet";
}

TEST(BlobPins, NothingGoesWhileSomebodyHoldsAll) {
  std::shared_ptr<const void> longer;
  {
    BlobPins pins([](LeaseId) { return false; });
    std::shared_ptr<const void> hold = pins.HoldAll();
    longer = pins.HoldAll();
    EXPECT_FALSE(pins.Unless("a", [] { ADD_FAILURE() << "removed"; }));
    hold.reset();
    EXPECT_FALSE(pins.Unless("a", [] { ADD_FAILURE() << "removed, but another one holds it"; }));
    longer.reset();
    bool removed = false;
    EXPECT_TRUE(pins.Unless("a", [&] { removed = true; }));
    EXPECT_TRUE(removed);
    longer = pins.HoldAll();
  }
  longer.reset();  // Behind them.
}

TEST(BlobPins, OfManyLeasesOnlyThoseThatLiveAreRemembered) {
  uint64_t oldest = 0;
  uint64_t asked = 0;
  BlobPins pins([&](LeaseId lease) { return ++asked, lease.value >= oldest; });
  for (uint64_t i = 1; i <= 100000; ++i) {
    oldest = i > 100 ? i - 100 : 0;
    EXPECT_TRUE(pins.Pin("content " + std::to_string(i), LeaseId{i}));
  }
  EXPECT_LT(asked, 300000u) << "looking costs a constant for each pin";
  EXPECT_FALSE(pins.Unless("content 99950", [] {}));
  EXPECT_TRUE(pins.Unless("content 99000", [] {}));
}

TEST(BlobPins, AmongManyOneOfTwoLeasesIsEnoughToKeepAContent) {
  constexpr uint64_t kSettled = 1;
  BlobPins pins([](LeaseId lease) { return lease.value != kSettled; });
  EXPECT_TRUE(pins.Pin("shared", LeaseId{kSettled}));
  EXPECT_TRUE(pins.Pin("shared", LeaseId{2}));
  // So many that what is settled is looked for.
  for (uint64_t i = 3; i < 3000; ++i) {
    EXPECT_TRUE(pins.Pin("content " + std::to_string(i), LeaseId{i}));
  }
  EXPECT_FALSE(pins.Unless("shared", [] {}));
}

TEST(BlobPins, OneLeaseKeepsAsManyContentsAsAResultMayName) {
  std::set<LeaseId> live = {LeaseId{1}, LeaseId{2}};
  BlobPins pins([&](LeaseId lease) { return live.contains(lease); });
  const auto content = [](size_t i) { return "content " + std::to_string(i); };
  for (size_t i = 0; i < BlobPins::kMostOfLease; ++i) {
    ASSERT_TRUE(pins.Pin(content(i), LeaseId{1}));
  }
  EXPECT_FALSE(pins.Pin("one more", LeaseId{1}));
  EXPECT_TRUE(pins.Unless("one more", [] {}));
  EXPECT_TRUE(pins.Pin(content(0), LeaseId{1})) << "it is kept already";
  EXPECT_TRUE(pins.Pin("one more", LeaseId{2})) << "another's";

  // What is settled counts until it is looked at, one content or all.
  live.erase(LeaseId{1});
  EXPECT_TRUE(pins.Unless(content(0), [] {}));
  EXPECT_TRUE(pins.Pin("one more", LeaseId{1}));
  EXPECT_FALSE(pins.Pin("two more", LeaseId{1}));
  for (size_t i = 0; i < BlobPins::kMostOfLease - 1; ++i) {
    ASSERT_TRUE(pins.Pin("other " + std::to_string(i), LeaseId{2}));
  }
  EXPECT_TRUE(pins.Pin("two more", LeaseId{1}));
}

}  // namespace
}  // namespace noisefloor
