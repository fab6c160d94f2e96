#include "coordinator/analysis/enrichment.h"

#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/interval.h"

namespace noisefloor::analysis {
namespace {

TEST(EnrichmentTest, SharesAndExactTailsOfAHandCountedCase) {
  // 4 of 10 are of group 0, 5 of group 1, one of none; all three chosen are of group 0.
  const std::vector<int32_t> of_example = {0, 0, 0, 0, 1, 1, 1, 1, 1, -1};
  const std::vector<int64_t> chosen = {0, 2, 3};

  const std::vector<Enrichment> found = EnrichmentOfGroups(chosen, {of_example, 2});

  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].examples, 4);
  EXPECT_EQ(found[0].chosen, 3);
  EXPECT_DOUBLE_EQ(*found[0].ratio.value, 2.5);
  EXPECT_NEAR(*found[0].ratio.low, 2.5 * WilsonInterval(3, 3)->low, 1e-12);
  EXPECT_NEAR(*found[0].ratio.high, 2.5 * WilsonInterval(3, 3)->high, 1e-12);
  EXPECT_EQ(found[0].ratio.n, 3);
  EXPECT_NEAR(found[0].p, 2 * 4.0 / 120, 1e-12);  // C(4,3) of C(10,3) ways.
  EXPECT_EQ(found[1].chosen, 0);
  EXPECT_DOUBLE_EQ(*found[1].ratio.value, 0);
  EXPECT_NEAR(found[1].p, 2 * 10.0 / 120, 1e-12);  // C(5,3): none of group 1.
}

// scipy.stats.hypergeom(100, 30, 12): cdf(7) = 0.9940727, sf(6) = 0.0293839.
TEST(EnrichmentTest, EqualsSciPy) {
  std::vector<int32_t> of_example(100, 1);
  for (size_t x = 0; x < 30; ++x) of_example[x] = 0;
  const std::vector<int64_t> chosen = {0, 1, 2, 3, 4, 5, 6, 50, 51, 52, 53, 54};

  const std::vector<Enrichment> found = EnrichmentOfGroups(chosen, {of_example, 2});

  EXPECT_NEAR(found[0].p, 2 * 0.029383908522211948, 1e-11);
  EXPECT_NEAR(found[1].p, found[0].p, 1e-11);  // The other side of the same.
  EXPECT_DOUBLE_EQ(*found[0].ratio.value, (7.0 / 12) / 0.3);
}

TEST(EnrichmentTest, NothingChosenAndEmptyGroupsAreAbsent) {
  const std::vector<int32_t> of_example = {0, 0};

  const std::vector<Enrichment> none = EnrichmentOfGroups({}, {of_example, 1});
  const std::vector<Enrichment> empty =
      EnrichmentOfGroups(std::vector<int64_t>{1}, {of_example, 2});

  EXPECT_EQ(none[0].ratio.note, "nothing is chosen");
  EXPECT_DOUBLE_EQ(none[0].p, 1);
  EXPECT_EQ(empty[1].ratio.note, "the group has no example");
  EXPECT_FALSE(empty[1].ratio.value.has_value());
  EXPECT_DOUBLE_EQ(empty[0].p, 1);  // It could be no other.
}

}  // namespace
}  // namespace noisefloor::analysis
