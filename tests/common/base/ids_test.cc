#include "common/base/ids.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(IdsTest, MemberIsReadBackFromItsText) {
  const MemberId id{SweepId{18446744073709551615u}, 4294967295u, 0};

  EXPECT_EQ(ToText(MemberId{SweepId{3}, 12, 4}), "s3c12r4");
  EXPECT_EQ(ParseMemberId("s3c12r4"), (MemberId{SweepId{3}, 12, 4}));
  EXPECT_EQ(ParseMemberId(ToText(id)), id);
  EXPECT_EQ(ParseSweepId("s0"), SweepId{0});
}

TEST(IdsTest, OtherSpellingsAreRefused) {
  for (const char* text : {"", "s", "s1", "s1c2", "s1c2r", "s1c2r3 ", " s1c2r3", "S1C2R3",
                           "s01c2r3", "s1c2r03", "s-1c2r3", "s+1c2r3", "s1c4294967296r0",
                           "s18446744073709551616c0r0", "s1c2r3x", "c1s2r3"}) {
    EXPECT_EQ(ParseMemberId(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseSweepId("s1c2r3"), std::nullopt);
  EXPECT_EQ(ParseSweepId("1"), std::nullopt);
}

TEST(IdsTest, MembersAreOrderedBySweepCellAndReplicate) {
  EXPECT_LT((MemberId{SweepId{1}, 9, 9}), (MemberId{SweepId{2}, 0, 0}));
  EXPECT_LT((MemberId{SweepId{1}, 1, 9}), (MemberId{SweepId{1}, 2, 0}));
  EXPECT_LT((MemberId{SweepId{1}, 1, 1}), (MemberId{SweepId{1}, 1, 2}));
}

}  // namespace
}  // namespace noisefloor
