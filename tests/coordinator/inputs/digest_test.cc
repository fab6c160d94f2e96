#include "coordinator/inputs/digest.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"

namespace noisefloor::inputs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::string kSha(64, 'a');

class DigestTest : public ::testing::Test {
 protected:
  template <typename T>
  absl::StatusOr<Digest> Of(Shape shape, const std::vector<T>& values) {
    const std::string path = scratch_.Path("logits.npy");
    EXPECT_TRUE(WriteNpy<T>(path, std::move(shape), values).ok());
    const absl::StatusOr<NpyView> view = NpyView::Open(path);
    EXPECT_TRUE(view.ok()) << view.status();
    return DigestOf(*view);
  }
  Scratch scratch_;
};

TEST_F(DigestTest, AnswersAreTheLargestLogitTheFirstOfEqualOnesAndNoneWhereOneIsNoNumber) {
  const auto digest = Of<float>(
      {5, 3}, {0, 2, 1, 7, 7, 0, 0, kNan, 1, -kInfinity, -3, -2, kInfinity, 1, kInfinity});
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(digest->classes, 3);
  EXPECT_THAT(digest->answers, ElementsAre(1, 0, -1, 2, 0));
}

// Two that are equal once they are rounded to floats are not: what was said counts.
TEST_F(DigestTest, OfDoublesTheAnswersAreThoseBeforeTheyAreRounded) {
  const auto digest = Of<double>({2, 2}, {1.0, 1.0 + 1e-12, std::nan(""), 0});
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_THAT(digest->answers, ElementsAre(1, -1));
}

TEST_F(DigestTest, WhatAreNoLogitsIsRefusedWithItsShape) {
  EXPECT_THAT(Message(Of<float>({6}, {1, 2, 3, 4, 5, 6}).status()), HasSubstr("float32 [6]"));
  EXPECT_THAT(Message(Of<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6}).status()), HasSubstr("int32 [3, 2]"));
  EXPECT_TRUE(absl::IsInvalidArgument(Of<float>({3, 0}, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Of<float>({0, 32768}, {}).status()));
  EXPECT_TRUE(Of<float>({0, 32767}, {}).ok());
}

TEST_F(DigestTest, ItComesBackAndWithAnyByteChangedOrMissingItDoesNot) {
  const Digest digest{7, {0, 6, -1, 3}};
  const std::string bytes = EncodeDigest(digest, kSha);

  const auto back = DecodeDigest(bytes, kSha);

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->classes, 7);
  EXPECT_EQ(back->answers, digest.answers);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(DecodeDigest(changed, kSha).status().code(), absl::StatusCode::kDataLoss) << at;
    EXPECT_EQ(DecodeDigest(bytes.substr(0, at), kSha).status().code(), absl::StatusCode::kDataLoss)
        << at;
  }
  EXPECT_FALSE(DecodeDigest(bytes + "x", kSha).ok());
  EXPECT_THAT(Message(DecodeDigest(bytes, std::string(64, 'b')).status()),
              HasSubstr("is of another file"));
}

TEST_F(DigestTest, OfNoExamplesItIsEmpty) {
  const auto back = DecodeDigest(EncodeDigest({2, {}}, kSha), kSha);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(back->answers.empty());
}

}  // namespace
}  // namespace noisefloor::inputs
