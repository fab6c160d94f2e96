// A stack that lies elsewhere comes to this machine once, whole, and is the same stack.
#include "worker/daemon/stack_copy.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/cache/upkeep.h"
#include "common/files/directory.h"
#include "worker/daemon/stacks.h"

namespace noisefloor {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;

class StackCopyTest : public testing::Test {
 protected:
  StackCopyTest() {
    std::string pattern = testing::TempDir() + "nf-stacks-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    fs::create_directories(Shared() + "/bin");
    fs::create_directories(folder_ + "/elsewhere/lib");
    std::ofstream(folder_ + "/elsewhere/lib/libtorch.so") << "libtorch";
    fs::create_directory_symlink(folder_ + "/elsewhere", Shared() + "/torch");
    fs::copy_file(FAKE_TRAINER, Shared() + "/bin/trainer");
  }
  ~StackCopyTest() override { EXPECT_TRUE(RemoveTree(folder_).ok()); }

  std::string Shared() const { return folder_ + "/shared"; }
  TreeCache Cache(uint64_t limit = uint64_t{1} << 40) const { return {folder_ + "/cache", limit}; }
  // Long after its files were written.
  absl::StatusOr<TreeUse> Copy(const TreeCache& cache) const {
    return CopyStack(Shared(), cache, absl::FromUnixSeconds(4'000'000'000));
  }
  static std::string Content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(StackCopyTest, TheCopyIsLaidOutAsItsOriginalAndWhatLinksLeadToIsInIt) {
  const auto copy = Copy(Cache());
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(Content(copy->path() + "/torch/lib/libtorch.so"), "libtorch");
  EXPECT_FALSE(fs::is_symlink(copy->path() + "/torch"));
  EXPECT_EQ(Content(copy->path() + "/bin/trainer"), Content(FAKE_TRAINER));
  struct stat original {};
  struct stat copied {};
  ASSERT_EQ(stat((Shared() + "/bin/trainer").c_str(), &original), 0);
  ASSERT_EQ(stat((copy->path() + "/bin/trainer").c_str(), &copied), 0);
  EXPECT_NE(copied.st_ino, original.st_ino) << "no link";
  EXPECT_TRUE((copied.st_mode & S_IXUSR) != 0);
}

TEST_F(StackCopyTest, AStackIsTheSameWhereverItWasCopiedTo) {
  const auto copy = Copy(Cache());
  ASSERT_TRUE(copy.ok()) << copy.status();
  const Commands original = {{"fake", {Shared() + "/bin/trainer", "--more"}}};
  const Commands moved = FromCopy(original, Shared(), copy->path());
  ASSERT_THAT(moved.find("fake")->second, ElementsAre(copy->path() + "/bin/trainer", "--more"));

  const auto before = FindStacks({{"fake", {Shared() + "/bin/trainer"}}});
  const auto after = FindStacks({{"fake", {copy->path() + "/bin/trainer"}}});

  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->at("fake").fingerprint, before->at("fake").fingerprint);
  EXPECT_EQ(after->at("fake").build, before->at("fake").build);
}

TEST_F(StackCopyTest, OnlyProgramsBelowTheFolderRunFromItsCopy) {
  fs::create_directory_symlink(Shared(), folder_ + "/link");
  fs::create_directories(folder_ + "/shared-not/bin");
  std::ofstream(folder_ + "/shared-not/bin/trainer") << "x";
  const Commands moved = FromCopy({{"a", {Shared() + "/bin/../bin/trainer"}},
                                   {"b", {folder_ + "/link/bin/trainer"}},
                                   {"c", {folder_ + "/shared-not/bin/trainer"}},
                                   {"d", {"/bin/sh", Shared() + "/bin/trainer"}},
                                   {"noop", {}}},
                                  folder_ + "/link", "/copy");
  EXPECT_THAT(moved.find("a")->second, ElementsAre("/copy/bin/trainer"));
  EXPECT_THAT(moved.find("b")->second, ElementsAre("/copy/bin/trainer"));
  EXPECT_THAT(moved.find("c")->second, ElementsAre(folder_ + "/shared-not/bin/trainer"));
  EXPECT_EQ(moved.find("d")->second[0], "/bin/sh");
  EXPECT_TRUE(moved.find("noop")->second.empty());
}

TEST_F(StackCopyTest, ACopyIsMadeOnceAndAnewWhenItsOriginalChanges) {
  const auto first = Copy(Cache());
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string library = folder_ + "/elsewhere/lib/libtorch.so";
  EXPECT_EQ(Copy(Cache())->path(), first->path());
  EXPECT_EQ(ListCached(folder_ + "/cache")->size(), 1u);

  std::ofstream(library) << "another";
  const auto second = Copy(Cache());

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->path(), first->path());
  EXPECT_EQ(Content(second->path() + "/torch/lib/libtorch.so"), "another");
}

TEST_F(StackCopyTest, AYoungFolderIsReadAgain) {
  const auto now = absl::FromUnixSeconds(1);  // Before its files were written.
  ASSERT_TRUE(CopyStack(Shared(), Cache(), now).ok());
  size_t remembered = 0;
  for (const auto& entry : fs::directory_iterator(folder_ + "/cache")) {
    remembered += entry.path().extension() == ".stack";
  }
  EXPECT_EQ(remembered, 0u);
  EXPECT_TRUE(CopyStack(Shared(), Cache(), now).ok()) << "and is still one copy";
  EXPECT_EQ(ListCached(folder_ + "/cache")->size(), 1u);
}

TEST_F(StackCopyTest, WithoutRoomThereIsNoCopy) {
  EXPECT_FALSE(Copy(Cache(1000)).ok());
  EXPECT_FALSE(CopyStack(folder_ + "/nowhere", Cache(), absl::UnixEpoch()).ok());
}

}  // namespace
}  // namespace noisefloor
