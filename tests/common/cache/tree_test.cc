// What a tree is, and which ones are refused before anything of them is written.
#include "common/cache/tree.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/sha256.h"

namespace noisefloor {
namespace {

using ::testing::HasSubstr;

TreeFile File(const std::string& path, const std::string& content = "abc") {
  return {path, content.size(), Sha256Hex(content)};
}

std::string Refusal(const std::vector<TreeFile>& files) {
  return std::string(CheckTree({files}).message());
}

TEST(Tree, PathsBelowAreTaken) {
  EXPECT_TRUE(CheckTree({{File("a"), File("a.x"), File("b/..c"), File("b/c d")}}).ok());
  EXPECT_EQ(BytesOf({{File("a"), File("b", "de")}}), 5u);
}

TEST(Tree, PathsThatLeadOutAreRefused) {
  const std::string too_long(1001, 'a');
  for (const std::string path :
       {std::string("../../etc/passwd"), std::string("/etc/passwd"), std::string("a/../b"),
        std::string("a//b"), std::string("a/"), std::string("."), std::string(""),
        std::string("./a"), std::string("a\nb"), std::string("a\0b", 3), too_long}) {
    EXPECT_THAT(Refusal({File(path)}), HasSubstr("is no path below its folder")) << path;
  }
}

TEST(Tree, WhatContradictsItselfIsRefused) {
  EXPECT_THAT(Refusal({}), HasSubstr("expected 1 to 100000 files, got 0"));
  EXPECT_THAT(Refusal({File("b"), File("a")}), HasSubstr("a after b"));
  EXPECT_THAT(Refusal({File("a"), File("a")}), HasSubstr("a after a"));
  EXPECT_THAT(Refusal({File("a"), File("a.x"), File("a/b")}),
              HasSubstr("a is a file and a folder"));
  EXPECT_THAT(Refusal({{"a", 3, "../x"}}), HasSubstr("a: its hash is none"));
  EXPECT_THAT(Refusal({{"a", uint64_t{1} << 50, Sha256Hex("")}}), HasSubstr("2^50"));
  EXPECT_THAT(Refusal({{"a", ~uint64_t{0}, Sha256Hex("")}, {"b", ~uint64_t{0}, Sha256Hex("")}}),
              HasSubstr("2^50"));
}

TEST(Tree, ItsIdentityIsThatOfAllThatItIs) {
  const Tree tree = {{File("a"), File("b")}};
  EXPECT_EQ(IdentityOf(tree).size(), 64u);
  EXPECT_EQ(IdentityOf(tree), IdentityOf({{File("a"), File("b")}}));
  EXPECT_NE(IdentityOf(tree), IdentityOf({{File("a"), File("c")}}));
  EXPECT_NE(IdentityOf(tree), IdentityOf({{File("a"), File("b", "abd")}}));
  Tree runs = tree;
  runs.files[0].executable = true;
  EXPECT_NE(IdentityOf(tree), IdentityOf(runs));
}

}  // namespace
}  // namespace noisefloor
