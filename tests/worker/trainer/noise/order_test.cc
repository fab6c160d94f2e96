#include "worker/trainer/noise/order.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/seed.h"
#include "worker/trainer/noise/draws.h"

namespace noisefloor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const uint64_t kSeed = DeriveSeed(0, NoiseSource::kDataOrder, {0, 0});

std::vector<uint32_t> Canonical(uint32_t count) {
  std::vector<uint32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0u);
  return ranks;
}

// Computed by another program from the description in worker/trainer/noise/README.md.
TEST(DataOrderTest, KnownOrdersComeOut) {
  EXPECT_THAT(DataOrder(kSeed, 0).Epoch(0, 10), ElementsAre(4, 5, 9, 0, 3, 2, 1, 8, 7, 6));
  EXPECT_THAT(DataOrder(kSeed, 0).Epoch(1, 10), ElementsAre(0, 5, 4, 3, 1, 6, 7, 2, 8, 9));
  EXPECT_THAT(DataOrder(kSeed, 3).Epoch(0, 10), ElementsAre(1, 3, 2, 0, 6, 5, 8, 4, 7, 9));
  EXPECT_THAT(DataOrder(kSeed, 3).Epoch(1, 10), ElementsAre(0, 1, 3, 5, 6, 4, 7, 9, 2, 8));
}

TEST(DataOrderTest, EveryExampleComesOnceInEveryEpoch) {
  for (const uint64_t window : {0, 1, 2, 7, 100, 1000}) {
    for (const uint32_t count : {1u, 2u, 3u, 99u, 100u, 101u}) {
      for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        std::vector<uint32_t> order = DataOrder(9, window).Epoch(epoch, count);
        std::sort(order.begin(), order.end());
        EXPECT_EQ(order, Canonical(count)) << window << " " << count << " " << epoch;
      }
    }
  }
  EXPECT_THAT(DataOrder(9, 0).Epoch(0, 0), IsEmpty());
  EXPECT_THAT(DataOrder(9, 4).Epoch(0, 0), IsEmpty());
}

TEST(DataOrderTest, SeedAndEpochGiveOtherOrders) {
  EXPECT_EQ(DataOrder(1, 0).Epoch(0, 50), DataOrder(1, 0).Epoch(0, 50));
  EXPECT_NE(DataOrder(1, 0).Epoch(0, 50), DataOrder(2, 0).Epoch(0, 50));
  EXPECT_NE(DataOrder(1, 0).Epoch(0, 50), DataOrder(1, 0).Epoch(1, 50));
  EXPECT_NE(DataOrder(1, 8).Epoch(0, 50), DataOrder(2, 8).Epoch(0, 50));
}

TEST(DataOrderTest, PermutationsOfThreeAreEquallyLikely) {
  std::map<std::vector<uint32_t>, int> counts;
  constexpr int kEpochs = 6000;
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) ++counts[DataOrder(3, 0).Epoch(epoch, 3)];

  ASSERT_EQ(counts.size(), 6u);
  double chi_square = 0.0;
  for (const auto& [order, count] : counts) {
    chi_square += (count - kEpochs / 6.0) * (count - kEpochs / 6.0) / (kEpochs / 6.0);
  }
  EXPECT_LT(chi_square, 20.5);  // 99.9 % point at 5 degrees of freedom.
}

// A buffer as a list from which elements are really taken and appended.
std::vector<uint32_t> ObviousWindow(uint64_t seed, uint64_t window, uint64_t epoch,
                                    uint32_t count) {
  std::vector<uint32_t> waiting = Canonical(count);
  std::vector<uint32_t> buffer;
  std::vector<uint32_t> order;
  const PhiloxStream stream(seed, epoch);
  while (buffer.size() < window && !waiting.empty()) {
    buffer.push_back(waiting.front());
    waiting.erase(waiting.begin());
  }
  while (!buffer.empty()) {
    const PhiloxCounter block = stream.Block(order.size());
    const uint64_t bits = block[0] + block[1] * 4294967296u;
    const size_t place = UniformBelow(bits, buffer.size());
    order.push_back(buffer[place]);
    if (waiting.empty()) {
      std::swap(buffer[place], buffer.back());
      buffer.pop_back();
    } else {
      buffer[place] = waiting.front();
      waiting.erase(waiting.begin());
    }
  }
  return order;
}

TEST(DataOrderTest, WindowedShuffleIsThatOfItsObviousTwin) {
  for (uint64_t window = 1; window < 12; ++window) {
    for (uint32_t count = 0; count < 20; ++count) {
      for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        EXPECT_EQ(DataOrder(kSeed, window).Epoch(epoch, count),
                  ObviousWindow(kSeed, window, epoch, count));
      }
    }
  }
}

TEST(DataOrderTest, WindowLetsNoExampleComeEarlierThanTheBufferAllows) {
  const std::vector<uint32_t> order = DataOrder(kSeed, 10).Epoch(0, 1000);

  for (uint32_t position = 0; position < order.size(); ++position) {
    EXPECT_LT(order[position], position + 10);
  }
  EXPECT_NE(order, Canonical(1000));
}

TEST(DataOrderTest, WindowOfOneKeepsTheCanonicalOrder) {
  EXPECT_EQ(DataOrder(kSeed, 1).Epoch(0, 100), Canonical(100));
}

}  // namespace
}  // namespace noisefloor::trainer
