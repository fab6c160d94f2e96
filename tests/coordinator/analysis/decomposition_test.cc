#include "coordinator/analysis/decomposition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

using ::testing::HasSubstr;
using Levels = std::vector<std::vector<uint32_t>>;

const Estimate& ShareOf(const Decomposition& result, IndexKind kind, SourceSet sources) {
  return std::ranges::find_if(
             result.indices,
             [&](const Index& index) { return index.kind == kind && index.sources == sources; })
      ->share;
}

Levels Cube() {
  Levels levels;
  for (uint32_t a : {1u, 2u}) {
    for (uint32_t b : {1u, 2u}) {
      for (uint32_t c : {1u, 2u}) levels.push_back({a, b, c});
    }
  }
  return levels;
}

// NumPy: lstsq of the means of the seven patterns.
TEST(DecompositionTest, KnownAnswers) {
  constexpr std::array<std::array<double, 8>, 8> kDistances = {{
      {0.0, 0.808, 0.515, 0.286, 0.054, 0.383, 0.408, 0.045},
      {0.808, 0.0, 0.652, 0.235, 0.435, 0.974, 0.898, 0.844},
      {0.515, 0.652, 0.0, 0.061, 0.556, 0.271, 0.88, 0.064},
      {0.286, 0.235, 0.061, 0.0, 0.872, 0.019, 0.707, 0.001},
      {0.054, 0.435, 0.556, 0.872, 0.0, 0.316, 0.149, 0.699},
      {0.383, 0.974, 0.271, 0.019, 0.316, 0.0, 0.506, 0.236},
      {0.408, 0.898, 0.88, 0.707, 0.149, 0.506, 0.0, 0.936},
      {0.045, 0.844, 0.064, 0.001, 0.699, 0.236, 0.936, 0.0},
  }};
  DesignBlock block{Cube(), PairMatrix(8)};
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = i + 1; j < 8; ++j) {
      block.distances.Set(static_cast<int64_t>(i), static_cast<int64_t>(j), kDistances[i][j]);
    }
  }

  const Decomposition result = Decompose(std::vector{block}, 3, "fraction");

  EXPECT_NEAR(*result.whole.value, 0.5215, 1e-12);
  EXPECT_NEAR(*ShareOf(result, IndexKind::kFirstOrder, 1).value, -0.027325023969319715, 1e-12);
  EXPECT_NEAR(*ShareOf(result, IndexKind::kTotal, 1).value, 0.9151486097794824, 1e-12);
  EXPECT_NEAR(*ShareOf(result, IndexKind::kInteraction, 3).value, -0.22770853307766054, 1e-12);
  EXPECT_NEAR(*ShareOf(result, IndexKind::kAdditive, 7).value, 0.3350910834132305, 1e-12);
}

// A training's answers as a vector: for each set u of sources independent standard normals, drawn
// once for each combination of their levels, times the root of V_u.
class Planted {
 public:
  Planted(Draws& draws, std::map<SourceSet, double> variances)
      : draws_(draws), variances_(std::move(variances)) {}

  DesignBlock Block(const Levels& levels) {
    terms_.clear();
    std::vector<std::vector<double>> outputs;
    for (const std::vector<uint32_t>& member : levels) outputs.push_back(Output(member));
    DesignBlock block{levels, PairMatrix(static_cast<int64_t>(levels.size()))};
    for (size_t i = 0; i < levels.size(); ++i) {
      for (size_t j = i + 1; j < levels.size(); ++j) {
        double squares = 0;
        for (size_t k = 0; k < kOutputs; ++k) {
          squares += (outputs[i][k] - outputs[j][k]) * (outputs[i][k] - outputs[j][k]);
        }
        block.distances.Set(static_cast<int64_t>(i), static_cast<int64_t>(j),
                            squares / 2 / kOutputs);
      }
    }
    return block;
  }

 private:
  static constexpr size_t kOutputs = 50;

  std::vector<double> Output(const std::vector<uint32_t>& member) {
    std::vector<double> output(kOutputs, 0.0);
    for (const auto& [u, variance] : variances_) {
      std::vector<uint32_t> key = {u};
      for (size_t k = 0; k < member.size(); ++k) {
        if ((u >> k & 1) != 0) key.push_back(member[k]);
      }
      std::vector<double>& term = terms_[key];
      while (term.size() < kOutputs) term.push_back(draws_.Normal());
      for (size_t k = 0; k < kOutputs; ++k) output[k] += std::sqrt(variance) * term[k];
    }
    return output;
  }

  Draws& draws_;
  std::map<SourceSet, double> variances_;
  std::map<std::vector<uint32_t>, std::vector<double>> terms_;
};

// What the literature finds: hardly anything alone, nearly everything together.
const std::map<SourceSet, double> kChaos = {{1, 0.02}, {2, 0.02}, {4, 0.02}, {3, 0.03},
                                            {5, 0.03}, {6, 0.03}, {7, 0.85}};
const std::map<SourceSet, double> kUneven = {{1, 0.4}, {2, 0.1}, {4, 0.1}, {3, 0.3}, {7, 0.1}};

double TrueShare(const std::map<SourceSet, double>& variances, IndexKind kind, SourceSet sources) {
  double whole = 0;
  double part = 0;
  for (const auto& [u, variance] : variances) {
    whole += variance;
    const bool holds = kind == IndexKind::kTotal      ? (u & sources) != 0
                       : kind == IndexKind::kAdditive ? (u & (u - 1)) == 0
                                                      : u == sources;
    if (holds) part += variance;
  }
  return part / whole;
}

TEST(DecompositionTest, FindsPlantedSharesFromCubes) {
  for (const auto& variances : {kChaos, kUneven}) {
    Draws draws(11);
    Planted planted(draws, variances);
    std::vector<DesignBlock> blocks;
    for (int b = 0; b < 150; ++b) blocks.push_back(planted.Block(Cube()));

    const Decomposition result = Decompose(blocks, 3, "fraction");

    EXPECT_NEAR(*result.whole.value, 1, 0.03);
    EXPECT_EQ(result.whole.n, 150);
    ASSERT_EQ(result.indices.size(), 10u);
    for (const Index& index : result.indices) {
      const double truth = TrueShare(variances, index.kind, index.sources);
      EXPECT_NEAR(*index.share.value, truth, 0.045) << static_cast<int>(index.sources);
      EXPECT_LT(*index.share.low, *index.share.value);
      EXPECT_LT(*index.share.high - *index.share.low, 0.1);
    }
  }
}

// Six cubes are 48 trainings: the intervals over blocks hold the truth as often as they say.
TEST(DecompositionTest, IntervalsOverBlocksCover) {
  Draws draws(12);
  Planted planted(draws, kUneven);
  std::map<std::pair<IndexKind, SourceSet>, int> covered;
  constexpr int kStudies = 300;
  for (int study = 0; study < kStudies; ++study) {
    std::vector<DesignBlock> blocks;
    for (int b = 0; b < 6; ++b) blocks.push_back(planted.Block(Cube()));
    for (const Index& index : Decompose(blocks, 3, "fraction").indices) {
      const double truth = TrueShare(kUneven, index.kind, index.sources);
      covered[{index.kind, index.sources}] +=
          *index.share.low <= truth && truth <= *index.share.high;
    }
  }
  for (const auto& [index, count] : covered) {
    const double coverage = static_cast<double>(count) / kStudies;
    std::printf("kind %d of %u: coverage %.3f\n", static_cast<int>(index.first), index.second,
                coverage);
    EXPECT_GE(coverage, 0.90);
  }
}

TEST(DecompositionTest, ALatinSquareTellsFirstOrderSharesAndNoTotals) {
  Levels square;
  for (uint32_t a = 0; a < 5; ++a) {
    for (uint32_t b = 0; b < 5; ++b) square.push_back({a, b, (a + b) % 5});
  }
  Draws draws(13);
  Planted planted(draws, kUneven);
  std::vector<DesignBlock> blocks;
  for (int b = 0; b < 40; ++b) blocks.push_back(planted.Block(square));

  const Decomposition result = Decompose(blocks, 3, "fraction");

  for (const SourceSet source : {1u, 2u, 4u}) {
    EXPECT_NEAR(*ShareOf(result, IndexKind::kFirstOrder, source).value,
                TrueShare(kUneven, IndexKind::kFirstOrder, source), 0.05);
    const Estimate& total = ShareOf(result, IndexKind::kTotal, source);
    EXPECT_FALSE(total.value.has_value());
    EXPECT_EQ(total.note, "not identified by this design");
  }
  EXPECT_TRUE(ShareOf(result, IndexKind::kAdditive, 7).value.has_value());
  EXPECT_FALSE(ShareOf(result, IndexKind::kInteraction, 3).value.has_value());
}

// One source at a time from one base, and all at once: what plans of one source are.
TEST(DecompositionTest, OneSourceAtATimeTellsTotals) {
  Levels levels;
  for (uint32_t r = 1; r <= 8; ++r) {
    levels.push_back({r, 0, 0});
    levels.push_back({0, r, 0});
    levels.push_back({0, 0, r});
    levels.push_back({r, r, r});
  }
  Draws draws(14);
  Planted planted(draws, kUneven);
  std::vector<DesignBlock> blocks;
  for (int b = 0; b < 60; ++b) blocks.push_back(planted.Block(levels));

  const Decomposition result = Decompose(blocks, 3, "fraction");

  for (const SourceSet source : {1u, 2u, 4u}) {
    EXPECT_NEAR(*ShareOf(result, IndexKind::kTotal, source).value,
                TrueShare(kUneven, IndexKind::kTotal, source), 0.05);
    EXPECT_NEAR(*ShareOf(result, IndexKind::kFirstOrder, source).value,
                TrueShare(kUneven, IndexKind::kFirstOrder, source), 0.05);
  }
}

// A source that nobody controls has a draw of its own in each member: the second of two runs of a
// point of the cube tells what it does, alone and with others.
TEST(DecompositionTest, ASourceThatIsNeverSharedHasATotal) {
  Levels levels;
  for (const std::vector<uint32_t>& point : Cube()) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      levels.push_back({point[0], point[1], static_cast<uint32_t>(levels.size())});
    }
  }
  Draws draws(15);
  Planted planted(draws, kUneven);
  std::vector<DesignBlock> blocks;
  for (int b = 0; b < 80; ++b) blocks.push_back(planted.Block(levels));

  const Decomposition result = Decompose(blocks, 3, "fraction");

  EXPECT_NEAR(*ShareOf(result, IndexKind::kTotal, 4).value,
              TrueShare(kUneven, IndexKind::kTotal, 4), 0.05);
  EXPECT_FALSE(ShareOf(result, IndexKind::kFirstOrder, 4).value.has_value());
}

TEST(DecompositionTest, OneCrossedDesignHasItsIntervalFromItsDraws) {
  Levels levels;
  for (uint32_t a = 0; a < 5; ++a) {
    for (uint32_t b = 0; b < 4; ++b) levels.push_back({a, b});
  }
  Draws draws(16);
  Planted planted(draws, {{1, 0.5}, {2, 0.3}, {3, 0.2}});
  int covered = 0;
  constexpr int kStudies = 200;
  for (int study = 0; study < kStudies; ++study) {
    const Decomposition result = Decompose(std::vector{planted.Block(levels)}, 2, "fraction");
    const Estimate& total = ShareOf(result, IndexKind::kTotal, 1);
    ASSERT_TRUE(total.low.has_value()) << total.note;
    EXPECT_EQ(total.n, 4);  // Draws of the source that has fewer.
    covered += *total.low <= 0.7 && 0.7 <= *total.high;
  }
  std::printf("one 5 x 4: coverage of a total %.3f\n", static_cast<double>(covered) / kStudies);
  EXPECT_GE(covered, kStudies * 85 / 100);
}

// A sweep that was interrupted: blocks of one training tell nothing and are no draws.
TEST(DecompositionTest, BlocksThatTellNothingAreNoDraws) {
  Draws draws(17);
  Planted planted(draws, kUneven);
  std::vector<DesignBlock> blocks = {planted.Block(Cube()), planted.Block(Cube())};
  const Decomposition two = Decompose(blocks, 3, "fraction");
  for (int b = 0; b < 4; ++b) blocks.push_back(planted.Block({{1, 1, 1}}));
  const Decomposition with_rests = Decompose(blocks, 3, "fraction");
  EXPECT_EQ(with_rests.whole.n, 2);
  EXPECT_DOUBLE_EQ(*with_rests.whole.low, *two.whole.low);
  EXPECT_EQ(ShareOf(with_rests, IndexKind::kTotal, 1).n, 2);
  EXPECT_NEAR(*ShareOf(with_rests, IndexKind::kTotal, 1).high,
              *ShareOf(two, IndexKind::kTotal, 1).high, 1e-12);
}

// Weights that lie 1e-7 apart: what is 5e-12 in all is no rounding of 1.
TEST(DecompositionTest, TheWholeOfASmallUnitHasItsInterval) {
  constexpr double kUnit = 0x1p-38;
  Draws draws(18);
  Planted planted(draws, kUneven);
  std::vector<DesignBlock> blocks;
  for (int b = 0; b < 6; ++b) blocks.push_back(planted.Block(Cube()));
  const Decomposition large = Decompose(blocks, 3, "");
  for (DesignBlock& block : blocks) {
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t j = 0; j < i; ++j) {
        block.distances.Set(i, j, kUnit * block.distances.At(i, j));
      }
    }
  }
  blocks.push_back(planted.Block({{1, 1, 1}}));  // Which tells nothing in any unit.

  const Decomposition small = Decompose(blocks, 3, "");

  EXPECT_EQ(small.whole.n, 6);
  ASSERT_TRUE(small.whole.low.has_value()) << small.whole.note;
  EXPECT_NEAR(*small.whole.value / kUnit, *large.whole.value, 1e-9);
  EXPECT_NEAR(*small.whole.low / kUnit, *large.whole.low, 1e-9);
  EXPECT_NEAR(*small.whole.high / kUnit, *large.whole.high, 1e-9);
  EXPECT_NEAR(*ShareOf(small, IndexKind::kTotal, 1).low, *ShareOf(large, IndexKind::kTotal, 1).low,
              1e-9);
}

TEST(DecompositionTest, WithoutAnyDifferenceThereIsNoShare) {
  DesignBlock block{Cube(), PairMatrix(8)};
  const Decomposition result = Decompose(std::vector{block, block}, 3, "fraction");
  EXPECT_EQ(*result.whole.value, 0);
  EXPECT_FALSE(result.whole.low.has_value());
  for (const Index& index : result.indices) EXPECT_FALSE(index.share.value.has_value());
}

TEST(DecompositionTest, MembersThatShareEverythingTellNothing) {
  DesignBlock block{Levels(4, {1, 1}), PairMatrix(4)};
  const Decomposition result = Decompose(std::vector{block}, 2, "fraction");
  EXPECT_FALSE(result.whole.value.has_value());
  EXPECT_THAT(result.whole.note, HasSubstr("not identified"));
}

}  // namespace
}  // namespace noisefloor::analysis
