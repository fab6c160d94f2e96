#include "coordinator/query/summary_cache.h"

#include <functional>
#include <utility>

#include "gtest/gtest.h"

#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

// Counts how often it is asked; its answer says the number.
struct Reader {
  uint32_t reads = 0;
  absl::StatusOr<v1::SweepSummary> operator()() {
    v1::SweepSummary summary;
    summary.set_done(++reads);
    return summary;
  }
};

TEST(SummaryCache, ASweepIsReadOnceForEachChange) {
  SummaryCache cache;
  Reader reader;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cache.Get(1, 7, std::ref(reader))->done(), 1u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cache.Get(1, 8, std::ref(reader))->done(), 2u);
  EXPECT_EQ(cache.Get(2, 8, std::ref(reader))->done(), 3u) << "another sweep";
}

TEST(SummaryCache, AReaderOfThePastPutsNothingInThePlaceOfTheNewest) {
  SummaryCache cache;
  Reader reader;
  EXPECT_EQ(cache.Get(1, 8, std::ref(reader))->done(), 1u);
  EXPECT_EQ(cache.Get(1, 7, std::ref(reader))->done(), 2u);
  EXPECT_EQ(cache.Get(1, 8, std::ref(reader))->done(), 1u);
}

TEST(SummaryCache, AnErrorIsNotKept) {
  SummaryCache cache;
  Reader reader;
  EXPECT_FALSE(cache.Get(1, 7, [] { return absl::InternalError("x"); }).ok());
  EXPECT_TRUE(cache.Get(1, 7, std::ref(reader)).ok());
}

TEST(SummaryCache, HoldsNoMoreThanItSays) {
  SummaryCache cache;
  Reader reader;
  for (uint64_t sweep = 1; sweep <= SummaryCache::kMost + 1; ++sweep) {
    ASSERT_TRUE(cache.Get(sweep, 1, std::ref(reader)).ok());
  }
  const uint32_t before = reader.reads;
  ASSERT_TRUE(cache.Get(SummaryCache::kMost + 1, 1, std::ref(reader)).ok());
  EXPECT_EQ(reader.reads, before) << "the newest is held";
  ASSERT_TRUE(cache.Get(1, 1, std::ref(reader)).ok());
  EXPECT_EQ(reader.reads, before + 1) << "the oldest had to go";
}

// Whatever the scheduler does to a sweep comes with an event, as here.
TEST(SummaryCache, CountsAfterAChangeAreThoseAfterIt) {
  FilledHome home;
  const auto counts = [&] {
    const auto sweep = home.query().GetSweep(v1::GetSweepRequest());
    EXPECT_TRUE(sweep.ok()) << sweep.status();
    return std::pair(sweep->sweep().waiting(), sweep->sweep().leased());
  };
  const auto before = counts();
  home.Apply(
      {sample::Grant(7, sample::Member(2, 0)),
       scheduler::SetMemberState{sample::Member(2, 0), scheduler::MemberState::kLeased, 1, 0},
       scheduler::AppendEvent{SweepId{1}, sample::Member(2, 0), "member_leased", "leased",
                              sample::At(70), EventId{100}}});
  EXPECT_EQ(counts(), std::pair(before.first - 1, before.second + 1));
}

}  // namespace
}  // namespace noisefloor::query
