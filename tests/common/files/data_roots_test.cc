#include "common/files/data_roots.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DataRootsTest, AreSplitAtColonsWithoutEmptyParts) {
  EXPECT_THAT(SplitDataRoots(""), IsEmpty());
  EXPECT_THAT(SplitDataRoots(":"), IsEmpty());
  EXPECT_THAT(SplitDataRoots("/a"), ElementsAre("/a"));
  EXPECT_THAT(SplitDataRoots(":/a::/b c:"), ElementsAre("/a", "/b c"));
}

TEST(DataRootsTest, JoiningUndoesSplitting) {
  EXPECT_EQ(JoinDataRoots({}), "");
  EXPECT_EQ(JoinDataRoots({"/a", "b"}), "/a:b");
  EXPECT_THAT(SplitDataRoots(JoinDataRoots({"/a", "b"})), ElementsAre("/a", "b"));
}

TEST(DataRootsTest, TheBundledSetsOfTheCloneComeLastAndOnce) {
  const Scratch scratch;
  const std::string clone = scratch.Path("clone");
  std::filesystem::create_directories(clone + "/build/release/bin");
  std::vector<std::string> roots = {"/given"};
  AddBundledDataRoots(clone + "/build/release/bin", roots);
  EXPECT_THAT(roots, ElementsAre("/given"));

  std::filesystem::create_directories(clone + "/deploy/data");
  AddBundledDataRoots(clone + "/build/release/bin", roots);
  AddBundledDataRoots(clone + "/build/release/bin", roots);
  EXPECT_THAT(roots, ElementsAre("/given", clone + "/deploy/data"));
}

}  // namespace
}  // namespace noisefloor
