#include "common/base/philox.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;

// The vectors "philox4x32 10" of Random123's kat_vectors.
TEST(PhiloxTest, PublishedVectorsComeOut) {
  EXPECT_THAT(Philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(PhiloxTest, StreamPutsIndexBelowStreamAndLowWordsFirst) {
  EXPECT_THAT(PhiloxStream(1, 2).Block(3),
              ElementsAre(0xde08bf52, 0x663eff4f, 0x8759c4e2, 0xbdd5e548));
  EXPECT_THAT(
      PhiloxStream(0x0123456789abcdef, StreamOf("conv1.weight")).Block((uint64_t{1} << 33) + 5),
      ElementsAre(0x6a0bf52d, 0x6996f44a, 0xd046301d, 0x35bb0625));
  EXPECT_EQ(PhiloxStream(0x0123456789abcdef, 7).Block(9),
            Philox({9, 0, 7, 0}, {0x89abcdef, 0x01234567}));
}

TEST(PhiloxTest, WordsWalkThroughTheBlocks) {
  const PhiloxStream stream(5, 6);

  EXPECT_EQ(stream.Word(0), stream.Block(0)[0]);
  EXPECT_EQ(stream.Word(7), stream.Block(1)[3]);
  EXPECT_EQ(stream.Word(8), stream.Block(2)[0]);
}

TEST(PhiloxTest, NeighbouringDrawsDiffer) {
  std::set<PhiloxCounter> blocks;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (uint64_t stream = 0; stream < 8; ++stream) {
      for (uint64_t index = 0; index < 8; ++index) {
        blocks.insert(PhiloxStream(seed, stream).Block(index));
      }
    }
  }

  EXPECT_EQ(blocks.size(), 512u);
}

TEST(UniformTest, IntegersCoverTheirRangeEvenly) {
  EXPECT_EQ(UniformBelow(0, 10), 0u);
  EXPECT_EQ(UniformBelow(~uint64_t{0}, 10), 9u);
  EXPECT_EQ(UniformBelow(uint64_t{1} << 63, 10), 5u);
  EXPECT_EQ(UniformBelow(0x1999999999999999, 10), 0u);
  EXPECT_EQ(UniformBelow(0x199999999999999a, 10), 1u);
  EXPECT_EQ(UniformBelow(123456789, 1), 0u);
  EXPECT_EQ(UniformBelow(~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
}

TEST(UniformTest, FloatsAreTheUpperBits) {
  EXPECT_EQ(UniformFloat(0), 0.0f);
  EXPECT_EQ(UniformFloat(0xff), 0.0f);
  EXPECT_EQ(UniformFloat(0x80000000), 0.5f);
  EXPECT_EQ(UniformFloat(0xffffffff), 1.0f - 1.0f / 16777216.0f);
}

// The published test vectors of FNV-1a, 64 bits.
TEST(StreamOfTest, NamesHashAsFnvSays) {
  EXPECT_EQ(StreamOf(""), 0xcbf29ce484222325u);
  EXPECT_EQ(StreamOf("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(StreamOf("foobar"), 0x85944171f73967e8u);
}

}  // namespace
}  // namespace noisefloor
