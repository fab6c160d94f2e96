#include "coordinator/query/revision_cache.h"

#include <cstdint>
#include <functional>
#include <utility>

#include "gtest/gtest.h"

namespace noisefloor::query {
namespace {

using Cache = RevisionCache<uint32_t>;

// Counts how often it is asked; its answer says the number.
struct Reader {
  uint32_t reads = 0;
  uint32_t revision = 0;
  absl::StatusOr<Cache::Entry> operator()() {
    Cache::Entry entry;
    entry.what = ++reads;
    entry.revision = revision;
    return entry;
  }
};

TEST(RevisionCache, ASweepIsReadOnce) {
  Cache cache;
  Reader reader;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*cache.Get(1, 0, std::ref(reader))->what, 1u);
  EXPECT_EQ(*cache.Get(2, 0, std::ref(reader))->what, 2u) << "another sweep";
}

TEST(RevisionCache, OneOfAnOlderRevisionIsReadAgain) {
  Cache cache;
  Reader reader;
  EXPECT_EQ(*cache.Get(1, 0, std::ref(reader))->what, 1u);
  EXPECT_EQ(*cache.Get(1, 1, std::ref(reader))->what, 2u) << "and still of the older";
  EXPECT_EQ(cache.Get(1, 1, std::ref(reader))->revision, 0u) << "which is said";
  reader.reads = 2;
  reader.revision = 1;
  EXPECT_EQ(*cache.Get(1, 1, std::ref(reader))->what, 3u);
  EXPECT_EQ(*cache.Get(1, 1, std::ref(reader))->what, 3u);
  reader.revision = 0;
  EXPECT_EQ(*cache.Get(1, 2, std::ref(reader))->what, 4u);
  EXPECT_EQ(*cache.Get(1, 1, std::ref(reader))->what, 3u) << "the newer stays";
}

TEST(RevisionCache, AnErrorIsNotKept) {
  Cache cache;
  Reader reader;
  EXPECT_FALSE(cache.Get(1, 0, [] { return absl::InternalError("x"); }).ok());
  EXPECT_TRUE(cache.Get(1, 0, std::ref(reader)).ok());
}

TEST(RevisionCache, HoldsNoMoreThanItSays) {
  Cache cache;
  Reader reader;
  for (uint64_t sweep = 1; sweep <= Cache::kMost + 1; ++sweep) {
    ASSERT_TRUE(cache.Get(sweep, 0, std::ref(reader)).ok());
  }
  const uint32_t before = reader.reads;
  ASSERT_TRUE(cache.Get(Cache::kMost + 1, 0, std::ref(reader)).ok());
  EXPECT_EQ(reader.reads, before) << "the newest is held";
  ASSERT_TRUE(cache.Get(1, 0, std::ref(reader)).ok());
  EXPECT_EQ(reader.reads, before + 1) << "the oldest had to go";
}

}  // namespace
}  // namespace noisefloor::query
