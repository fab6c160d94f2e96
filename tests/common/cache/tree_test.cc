// What a tree is, and which ones are refused before anything of them is written.
#include "common/cache/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/cache/folder.h"
#include "common/files/directory.h"
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

TEST(Tree, PathsAndPartsHaveABound) {
  const std::string part(255, 'a');
  EXPECT_TRUE(CheckTree({{File(part)}}).ok());
  EXPECT_FALSE(CheckTree({{File(part + "a")}}).ok());
  const std::string long_path = part + "/" + part + "/" + part + "/" + std::string(232, 'a');
  ASSERT_EQ(long_path.size(), 1000u);
  EXPECT_TRUE(CheckTree({{File(long_path)}}).ok());
  EXPECT_FALSE(CheckTree({{File(long_path + "a")}}).ok());
}

// Kept by coordinators and workers of all versions: printf of these lines, hashed by sha256sum.
TEST(Tree, TheFormOfTheIdentityIsFixed) {
  Tree tree = {{File("a"), File("b/c", "de")}};
  tree.files[1].executable = true;
  EXPECT_EQ(IdentityOf(tree),
            Sha256Hex("noisefloor tree 1\n"
                      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 3 - a\n" +
                      Sha256Hex("de") + " 2 x b/c\n"));
}

TEST(Folder, EveryFileIsListedByItsPathWithWhatItIs) {
  namespace fs = std::filesystem;
  std::string pattern = testing::TempDir() + "nf-folder-XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  for (const std::string path : {"b", "a", "elsewhere"}) fs::create_directory(folder + "/" + path);
  std::ofstream(folder + "/b/one") << "0123";
  std::ofstream(folder + "/a/two") << "abc";
  std::ofstream(folder + "/top") << "x";
  fs::permissions(folder + "/a/two", fs::perms::owner_exec, fs::perm_options::add);
  fs::create_directory_symlink(folder + "/b", folder + "/c");
  fs::create_symlink(folder + "/top", folder + "/link");

  const auto listed = ListFolder(folder);

  ASSERT_TRUE(listed.ok()) << listed.status();
  std::vector<TreeFile> files;
  for (const FolderFile& file : *listed) files.push_back(file.file);
  EXPECT_THAT(files, testing::ElementsAre(TreeFile{"a/two", 3, "", true}, TreeFile{"b/one", 4, ""},
                                          TreeFile{"c/one", 4, ""}, TreeFile{"link", 1, ""},
                                          TreeFile{"top", 1, ""}));
  EXPECT_EQ(listed->at(1).state, listed->at(2).state) << "one file";
  EXPECT_NE(listed->at(1).state, listed->at(4).state);
  const timespec then[2] = {{100, 0}, {100, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder + "/b/one").c_str(), then, 0), 0);
  const auto later = ListFolder(folder);
  EXPECT_NE(later->at(1).state, listed->at(1).state);
  EXPECT_GE(later->at(1).newest, listed->at(1).newest) << "a change of its times is one";
  EXPECT_EQ(later->at(0).state, listed->at(0).state);
  EXPECT_EQ(ListFolder(folder + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(RemoveTree(folder).ok());
}

}  // namespace
}  // namespace noisefloor
