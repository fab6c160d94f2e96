#include "common/rpc/backoff.h"

#include <algorithm>
#include <map>
#include <set>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

constexpr BackoffSettings kSettings{absl::Milliseconds(100), absl::Seconds(1)};

TEST(BackoffTest, WaitsDoubleUpToTheMost) {
  Backoff backoff(kSettings, 1);
  for (const int whole : {100, 200, 400, 800, 1000, 1000, 1000}) {
    const absl::Duration wait = backoff.Next();
    EXPECT_GE(wait, absl::ZeroDuration());
    EXPECT_LE(wait, absl::Milliseconds(whole));
  }
}

TEST(BackoffTest, AWaitIsAnyPartOfTheWholeAsOftenAsAnother) {
  std::map<int64_t, int> tenths;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    ++tenths[Backoff(kSettings, seed).Next() / absl::Milliseconds(10)];
  }
  EXPECT_EQ(tenths.size(), 10u);
  for (const auto& [tenth, count] : tenths) {
    EXPECT_NEAR(count, 1000, 5 * 30) << tenth;  // Five standard deviations.
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

// When each of `count` workers greets a coordinator that all lost at 0 and that is back after
// `away`. Tries before that reach nobody.
std::vector<absl::Duration> Greetings(int count, absl::Duration away) {
  std::vector<absl::Duration> greetings;
  for (int worker = 0; worker < count; ++worker) {
    Backoff backoff(kReconnectBackoff, 0x9E3779B97F4A7C15u * static_cast<uint64_t>(worker + 1));
    absl::Duration now = backoff.Next();
    while (now < away) now += backoff.Next();
    greetings.push_back(now - away);
  }
  std::ranges::sort(greetings);
  return greetings;
}

// The most that come within a tenth of a second, wherever it begins.
int MostAtOnce(const std::vector<absl::Duration>& greetings) {
  int most = 0;
  for (auto end = greetings.begin(), begin = greetings.begin(); end != greetings.end(); ++end) {
    while (*end - *begin > absl::Milliseconds(100)) ++begin;
    most = std::max(most, static_cast<int>(end - begin) + 1);
  }
  return most;
}

TEST(BackoffTest, AThousandWorkersWhoseCoordinatorReturnsDoNotComeAtOneMoment) {
  for (const double away_s :
       {0.0, 0.05, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.5, 2.0, 3.0, 10.0, 600.0}) {
    const std::vector<absl::Duration> greetings = Greetings(1000, absl::Seconds(away_s));

    EXPECT_LE(MostAtOnce(greetings), 190) << "away for " << away_s << " s";
    EXPECT_LE(greetings.back(), kReconnectBackoff.most) << "away for " << away_s << " s";
    EXPECT_LE(greetings[greetings.size() / 2], absl::Seconds(2)) << "half of them are back";
  }
}

}  // namespace
}  // namespace noisefloor
