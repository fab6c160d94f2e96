#include "common/rpc/backoff.h"

#include <set>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

constexpr BackoffSettings kSettings{absl::Milliseconds(100), absl::Seconds(1)};

TEST(BackoffTest, WaitsDoubleUpToTheMost) {
  Backoff backoff(kSettings, 1);
  for (const int whole : {100, 200, 400, 800, 1000, 1000, 1000}) {
    const absl::Duration wait = backoff.Next();
    EXPECT_GE(wait, absl::Milliseconds(whole) / 2);
    EXPECT_LE(wait, absl::Milliseconds(whole));
  }
}

TEST(BackoffTest, ASuccessStartsAgainAtTheFirst) {
  Backoff backoff(kSettings, 1);
  for (int i = 0; i < 5; ++i) (void)backoff.Next();

  backoff.Reset();

  EXPECT_LE(backoff.Next(), absl::Milliseconds(100));
}

TEST(BackoffTest, WorkersSpreadOut) {
  std::set<absl::Duration> waits;
  for (uint64_t seed = 0; seed < 20; ++seed) waits.insert(Backoff(kSettings, seed).Next());
  EXPECT_EQ(waits.size(), 20u);
  EXPECT_EQ(Backoff(kSettings, 3).Next(), Backoff(kSettings, 3).Next());
}

}  // namespace
}  // namespace noisefloor
