// What the coordinator offers of its own, however much it is asked for.
#include "coordinator/rpc/tree_book.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "common/cache/tree.h"
#include "common/files/sha256.h"
#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

// An inference over many members has as many files of weights: those that were described first
// are not remembered, and are described anew to whoever asks.
TEST(TreeBookTest, TheOldestWeightsAreDescribedAnew) {
  Scratch scratch;
  TreeBook book({.weights = [&](const std::string& sha256) { return scratch.Path(sha256); }});
  std::vector<std::string> hashes;
  std::vector<std::string> identities;
  for (size_t i = 0; i <= TreeBook::kMostWeights; ++i) {
    const std::string content = "weights " + std::to_string(i);
    hashes.push_back(Sha256Hex(content));
    (void)scratch.Put(hashes.back(), content);
    const absl::StatusOr<Tree> tree = book.DescribeWeights(hashes.back());
    ASSERT_TRUE(tree.ok()) << tree.status();
    identities.push_back(IdentityOf(*tree));
  }
  const auto opens = [&](size_t i) { return book.Open(identities[i], kWeightsFile, 0).status(); };
  EXPECT_TRUE(absl::IsFailedPrecondition(opens(0)));
  EXPECT_TRUE(opens(1).ok());
  EXPECT_TRUE(opens(identities.size() - 1).ok());

  ASSERT_TRUE(book.DescribeWeights(hashes[0]).ok());
  ASSERT_TRUE(book.DescribeWeights(hashes[0]).ok()) << "again, which takes no other's place";

  EXPECT_TRUE(opens(0).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(opens(1)));
  EXPECT_TRUE(opens(2).ok());
}

}  // namespace
}  // namespace noisefloor
