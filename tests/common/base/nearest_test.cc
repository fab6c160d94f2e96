#include "common/base/nearest.h"

#include <array>
#include <string>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

constexpr std::array<std::string_view, 3> kWords = {"mlp", "small_cnn", "medium_cnn"};

TEST(EditDistanceTest, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("flaw", "lawn"), 2u);
  EXPECT_EQ(EditDistance("sitting", "kitten"), 3u);
}

TEST(NearestTest, IsTheFirstOfThoseWithTheFewestSlips) {
  EXPECT_EQ(Nearest("small_cmm", kWords), "small_cnn");
  EXPECT_EQ(Nearest("mpl", kWords), "mlp");
  EXPECT_EQ(Nearest("medium", kWords), "") << "four letters are more than a slip";
  EXPECT_EQ(Nearest("mediumcnn", kWords), "medium_cnn");
  EXPECT_EQ(Nearest("xyz", kWords), "");
  EXPECT_EQ(Nearest("mlp", {}), "");
}

TEST(NearestTest, NothingIsNearALongText) {
  const std::string known(kMostCompared + 1, 'x');
  const std::array<std::string_view, 1> words = {known};

  EXPECT_EQ(Nearest(known, words), "");
  EXPECT_EQ(Nearest(known.substr(1), words), known);
}

}  // namespace
}  // namespace noisefloor
