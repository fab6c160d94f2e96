// Trees come once, go on where they broke off, are never seen before they are whole and right, and
// make room for each other.
#include "common/cache/tree_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/cache/upkeep.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/sha256.h"
#include "tests/support/forwarding_disk.h"

namespace noisefloor {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Code = absl::StatusCode;

constexpr uint64_t kLimit = 1000;

using Files = std::map<std::string, std::string>;  // Content by path.

// Files in memory, of which it gives three bytes at a time, and notes what it was asked for.
class Memory final : public TreeSource {
 public:
  explicit Memory(Files files) : files_(std::move(files)) {}

  Tree tree() const {
    Tree tree;
    for (const auto& [path, content] : files_) {
      tree.files.push_back({path, content.size(), Sha256Hex(content)});
    }
    return tree;
  }
  absl::Status Read(const TreeFile& file, uint64_t offset_bytes, const Take& take) override {
    asked.emplace_back(file.path, offset_bytes);
    const std::string& content = files_.at(file.path);
    for (size_t at = offset_bytes; at < content.size(); at += 3) {
      if (given == break_after) return absl::UnavailableError("the line is dead");
      if (between) between();
      const std::string piece = content.substr(at, 3);
      given += piece.size();
      NF_RETURN_IF_ERROR(take(piece));
    }
    return absl::OkStatus();
  }
  void Change(const std::string& path, const std::string& content) { files_[path] = content; }

  std::vector<std::pair<std::string, uint64_t>> asked;  // Path, offset.
  uint64_t given = 0;                                   // Bytes.
  std::optional<uint64_t> break_after;                  // Bytes.
  std::function<void()> between;                        // Before each piece.

 private:
  Files files_;
};

// Whose `room` bytes may still be written.
class SmallDisk final : public ForwardingDisk {
 public:
  uint64_t room = 0;
  bool next_sync_fails = false;

  absl::StatusOr<std::unique_ptr<WritableFile>> OpenToOverwrite(const std::string& path) override {
    NF_ASSIGN_OR_RETURN(auto file, ForwardingDisk::OpenToOverwrite(path));
    return std::make_unique<File>(*this, std::move(file));
  }

 private:
  class File final : public ForwardingFile {
   public:
    File(SmallDisk& disk, std::unique_ptr<WritableFile> file)
        : ForwardingFile(std::move(file)), disk_(disk) {}
    absl::Status WriteAt(uint64_t offset_bytes, std::string_view bytes) override {
      if (bytes.size() > disk_.room) return FileError(path(), "write", ENOSPC);
      disk_.room -= bytes.size();
      return ForwardingFile::WriteAt(offset_bytes, bytes);
    }
    absl::Status Sync() override {
      if (std::exchange(disk_.next_sync_fails, false)) return FileError(path(), "sync", EIO);
      return ForwardingFile::Sync();
    }

   private:
    SmallDisk& disk_;
  };
};

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TreeCacheTest : public testing::Test {
 protected:
  TreeCacheTest() {
    std::string pattern = testing::TempDir() + "nf-trees-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~TreeCacheTest() override { EXPECT_TRUE(RemoveTree(folder_).ok()); }

  std::string CacheFolder() const { return folder_ + "/cache"; }
  TreeCache Cache(uint64_t limit = kLimit) const { return {CacheFolder(), limit}; }
  absl::StatusOr<TreeUse> Bring(Memory& source, const TreeCache& cache) {
    return cache.Bring(source.tree(), source,
                       {.note = [this](const std::string& what) { notes_.push_back(what); }});
  }
  absl::StatusOr<TreeUse> Bring(Memory& source) { return Bring(source, Cache()); }
  std::string PartOf(const Memory& source) const {
    return CacheFolder() + "/trees/" + IdentityOf(source.tree()) + ".part";
  }
  // All that is in the cache but parts.
  std::vector<std::string> Trees() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(CacheFolder() + "/trees")) {
      if (entry.path().extension().empty()) names.push_back(entry.path().filename());
    }
    return names;
  }

  std::string folder_;
  std::vector<std::string> notes_;
};

TEST_F(TreeCacheTest, ATreeComesOnceAndIsThereForAll) {
  Memory source(Files{{"set/one", "0123456789"}, {"set/two", "abc"}, {"set/none", ""}});
  {
    const auto first = Bring(source);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(first->path(), CacheFolder() + "/trees/" + IdentityOf(source.tree()));
    EXPECT_EQ(Content(first->path() + "/set/one"), "0123456789");
    EXPECT_EQ(Content(first->path() + "/set/two"), "abc");
    EXPECT_TRUE(PathExists(first->path() + "/set/none"));
    EXPECT_EQ(source.given, 13u);
    const auto beside = Bring(source);
    EXPECT_TRUE(beside.ok()) << beside.status();
  }
  EXPECT_TRUE(Bring(source).ok());
  EXPECT_TRUE(Cache().Find(IdentityOf(source.tree())).ok());
  EXPECT_EQ(source.given, 13u) << "it was there";
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_FALSE(PathExists(PartOf(source)));
}

TEST_F(TreeCacheTest, WhatBrokeOffGoesOnBehindTheLastByte) {
  Memory source(Files{{"a", "0123456789"}, {"b", "abcdef"}});
  source.break_after = 13;
  EXPECT_EQ(Bring(source).status().code(), Code::kUnavailable);
  EXPECT_EQ(Cache().Find(IdentityOf(source.tree())).status().code(), Code::kNotFound);
  EXPECT_EQ(Cache().BytesHere(IdentityOf(source.tree())), 13u);

  source.break_after.reset();
  source.asked.clear();
  const auto use = Bring(source);

  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_THAT(source.asked, ElementsAre(Pair("b", 3))) << "all of a was there";
  EXPECT_EQ(source.given, 16u);
  EXPECT_EQ(Content(use->path() + "/a"), "0123456789");
  EXPECT_EQ(Content(use->path() + "/b"), "abcdef");
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(TreeCacheTest, AByteThatFlippedInThePartIsFoundAndTheFileBroughtAnew) {
  Memory source(Files{{"a", "0123456789"}});
  source.break_after = 6;
  EXPECT_FALSE(Bring(source).ok());
  std::fstream(PartOf(source) + "/a", std::ios::in | std::ios::out).put('X');

  source.break_after.reset();
  source.asked.clear();
  const auto use = Bring(source);

  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_EQ(Content(use->path() + "/a"), "0123456789");
  EXPECT_THAT(source.asked, ElementsAre(Pair("a", 6), Pair("a", 0)));
  EXPECT_THAT(notes_, ElementsAre("what came of a has another hash than it should; it is brought "
                                  "anew"));
}

TEST_F(TreeCacheTest, APartThatIsLongerThanItsFileIsBroughtAnew) {
  Memory source(Files{{"a", "0123456789"}});
  source.break_after = 0;
  EXPECT_FALSE(Bring(source).ok());
  std::ofstream(PartOf(source) + "/a") << "0123456789and more";
  source.break_after.reset();

  const auto use = Bring(source);

  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_EQ(Content(use->path() + "/a"), "0123456789");
}

TEST_F(TreeCacheTest, AnotherContentThanWasSaidIsNeverSeen) {
  Memory source(Files{{"a", "0123456789"}, {"b", "abc"}});
  const Tree tree = source.tree();
  for (const std::string other : {"012345678X", "0123456789and more"}) {
    source.Change("a", other);
    const absl::Status status = Cache().Bring(tree, source, {}).status();
    EXPECT_EQ(status.code(), Code::kDataLoss) << other;
    EXPECT_THAT(Message(status), HasSubstr("what came of a "));
    EXPECT_EQ(Cache().BytesHere(IdentityOf(tree)), 0u) << "the next one begins anew";
  }
  source.Change("a", "0123");
  EXPECT_THAT(Message(Cache().Bring(tree, source, {}).status()),
              HasSubstr("a broke off after 4 of 10 bytes"));
  EXPECT_THAT(Trees(), IsEmpty());

  source.Change("a", "0123456789");
  EXPECT_TRUE(Cache().Bring(tree, source, {}).ok());
}

TEST_F(TreeCacheTest, AFullDiskKeepsWhatHasCome) {
  Memory source(Files{{"a", "0123456789"}});
  SmallDisk disk;
  disk.room = 7;
  EXPECT_EQ(Bring(source, {CacheFolder(), kLimit, disk}).status().code(), Code::kResourceExhausted);
  EXPECT_THAT(Trees(), IsEmpty());
  disk.room = 100;
  source.asked.clear();

  EXPECT_TRUE(Bring(source, {CacheFolder(), kLimit, disk}).ok());

  EXPECT_THAT(source.asked, ElementsAre(Pair("a", 6)));
}

// What the pages have, the disk may not have.
TEST_F(TreeCacheTest, AfterASyncThatFailedAFileComesAnew) {
  Memory source(Files{{"a", "0123456789"}});
  SmallDisk disk;
  disk.room = 100;
  disk.next_sync_fails = true;
  EXPECT_FALSE(Bring(source, {CacheFolder(), kLimit, disk}).ok());
  EXPECT_THAT(Trees(), IsEmpty());
  ASSERT_FALSE(disk.next_sync_fails);
  source.asked.clear();

  EXPECT_TRUE(Bring(source, {CacheFolder(), kLimit, disk}).ok());

  EXPECT_THAT(source.asked, ElementsAre(Pair("a", 0)));
}

// Else a tree could be there after a power cut without some of its files.
TEST_F(TreeCacheTest, EachFolderIsOnDiskBeforeTheTreeIsThereAndThenTheirs) {
  Memory source(Files{{"a/b/one", "0123"}, {"a/c/two", "abc"}, {"d/three", "x"}});
  NotingDisk disk;
  ASSERT_TRUE(Bring(source, {CacheFolder(), kLimit, disk}).ok());

  const std::string part = PartOf(source);
  const auto renamed = std::ranges::find(disk.done, "rename " + part);
  ASSERT_NE(renamed, disk.done.end());
  ASSERT_GE(renamed - disk.done.begin(), 5);
  EXPECT_THAT(
      std::vector<std::string>(renamed - 5, renamed),
      testing::UnorderedElementsAre("sync " + part, "sync " + part + "/a", "sync " + part + "/a/b",
                                    "sync " + part + "/a/c", "sync " + part + "/d"));
  EXPECT_THAT(std::vector<std::string>(renamed + 1, disk.done.end()),
              ElementsAre("sync " + CacheFolder() + "/trees"));
}

TEST_F(TreeCacheTest, WhileOneBringsItNobodyElseDoes) {
  Memory source(Files{{"a", "0123456789"}});
  Memory second(Files{{"a", "0123456789"}});
  Memory other(Files{{"b", "another tree"}});
  source.between = [&] {
    EXPECT_EQ(Bring(second).status().code(), Code::kAborted);
    EXPECT_TRUE(Bring(other).ok());
    EXPECT_FALSE(RemoveUnused(PartOf(source))) << "what comes is in use";
  };

  EXPECT_TRUE(Bring(source).ok());

  EXPECT_TRUE(Bring(second).ok());
  EXPECT_EQ(second.given, 0u);
}

TEST_F(TreeCacheTest, WhoIsKilledInTheMiddleLeavesThePartToTheNext) {
  Memory source(Files{{"a", "0123456789"}});
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    source.between = [&] {
      if (source.given < 6) return;
      (void)!write(ready[1], "x", 1);
      pause();
    };
    (void)Bring(source);
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(Bring(source).status().code(), Code::kAborted) << "it lives, and holds the lock";
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);

  const auto use = Bring(source);

  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_THAT(source.asked, ElementsAre(Pair("a", 6)));
  EXPECT_EQ(Content(use->path() + "/a"), "0123456789");
  close(ready[0]);
  close(ready[1]);
}

TEST_F(TreeCacheTest, WhatIsNotWantedAnyMoreEndsAndStays) {
  Memory source(Files{{"a", "0123456789"}});
  const auto stop = [](uint64_t bytes_here) { return bytes_here < 6; };
  EXPECT_EQ(Cache().Bring(source.tree(), source, {.progress = stop}).status().code(),
            Code::kCancelled);
  EXPECT_EQ(Cache().BytesHere(IdentityOf(source.tree())), 6u);
}

TEST_F(TreeCacheTest, ProgressTellsHowMuchOfAllIsHere) {
  Memory source(Files{{"a", "0123"}, {"b", "abcdef"}});
  std::vector<uint64_t> told;
  const auto progress = [&](uint64_t bytes_here) {
    told.push_back(bytes_here);
    return true;
  };
  ASSERT_TRUE(Cache().Bring(source.tree(), source, {.progress = progress}).ok());
  EXPECT_THAT(told, ElementsAre(0, 3, 4, 4, 7, 10));
}

TEST_F(TreeCacheTest, ATreeThatLeadsOutIsRefusedBeforeAnythingIsWritten) {
  Memory source(Files{{"../../escaped", "x"}});
  EXPECT_EQ(Bring(source).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(PathExists(CacheFolder()));
  EXPECT_THAT(source.asked, IsEmpty());
}

TEST_F(TreeCacheTest, WhatIsLargerThanTheCacheMayBeIsRefused) {
  Memory source(Files{{"a", "0123456789"}});
  const absl::Status status = Bring(source, Cache(9)).status();
  EXPECT_EQ(status.code(), Code::kOutOfRange) << "the tree itself is none that is wrong";
  EXPECT_THAT(Message(status), HasSubstr("it has 10 bytes, and the cache"));
  EXPECT_THAT(source.asked, IsEmpty());
}

TEST_F(TreeCacheTest, TheLongestUnusedMakesRoomAndWhatIsInUseStays) {
  Memory old(Files{{"a", "0123456789"}});
  Memory older(Files{{"b", "0123456789"}});
  Memory fresh(Files{{"c", "0123456789"}});
  const TreeCache cache = Cache(25);
  auto used = std::make_optional(Bring(old, cache));
  ASSERT_TRUE(used->ok());
  const std::string path = (*used)->path();
  ASSERT_TRUE(Bring(older, cache).ok());
  const timespec long_ago[2] = {{100, 0}, {100, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
  const auto listed = ListCached(CacheFolder());
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->at(0).path, path);
  EXPECT_EQ(listed->at(0).bytes, 10u);
  EXPECT_TRUE(listed->at(0).is_tree);
  EXPECT_TRUE(IsInUse(path));

  ASSERT_TRUE(Bring(fresh, cache).ok());

  EXPECT_TRUE(PathExists(path)) << "it is in use, though unused for the longest";
  EXPECT_FALSE(Cache().Find(IdentityOf(older.tree())).ok());
  used.reset();
  EXPECT_FALSE(IsInUse(path));
  EXPECT_TRUE(RemoveUnused(path));
  EXPECT_THAT(Trees(), ElementsAre(IdentityOf(fresh.tree())));
}

TEST_F(TreeCacheTest, WhatWasUsedLastStays) {
  Memory first(Files{{"a", "0123456789"}});
  Memory second(Files{{"b", "0123456789"}});
  Memory third(Files{{"c", "0123456789"}});
  const TreeCache cache = Cache(25);
  for (Memory* source : {&first, &second}) {
    const auto use = Bring(*source, cache);
    ASSERT_TRUE(use.ok());
    const timespec long_ago[2] = {{source == &first ? 100 : 200, 0},
                                  {source == &first ? 100 : 200, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, use->path().c_str(), long_ago, 0), 0);
  }
  ASSERT_TRUE(cache.Find(IdentityOf(first.tree())).ok());

  ASSERT_TRUE(Bring(third, cache).ok());

  EXPECT_TRUE(cache.Find(IdentityOf(first.tree())).ok());
  EXPECT_FALSE(cache.Find(IdentityOf(second.tree())).ok());
}

TEST_F(TreeCacheTest, ATreeThatJustFitsLetsTheOthersStay) {
  Memory first(Files{{"a", "0123456789"}});
  Memory second(Files{{"b", "0123456789"}});
  ASSERT_TRUE(Bring(first, Cache(10)).ok()) << "as much as it may hold";
  ASSERT_TRUE(Bring(second, Cache(20)).ok());
  EXPECT_EQ(Trees().size(), 2u);
  ASSERT_TRUE(Bring(first, Cache(20)).ok());
  EXPECT_EQ(first.given, 10u);
}

// Of 25 bytes: 10 of another, 6 that are here, 4 that come.
TEST_F(TreeCacheTest, WhatIsHereOfATreeNeedsNoRoomOnceMore) {
  Memory other(Files{{"a", "0123456789"}});
  Memory source(Files{{"b", "0123456789"}});
  const TreeCache cache = Cache(25);
  ASSERT_TRUE(Bring(other, cache).ok());
  source.break_after = 6;
  EXPECT_FALSE(Bring(source, cache).ok());
  EXPECT_EQ(cache.BytesHere(IdentityOf(source.tree())), 6u);

  source.break_after.reset();
  ASSERT_TRUE(Bring(source, cache).ok());

  EXPECT_TRUE(cache.Find(IdentityOf(other.tree())).ok());
}

TEST_F(TreeCacheTest, AFileThatRunsMayRun) {
  Memory source(Files{{"bin/trainer", "#!/bin/sh\n"}, {"lib", "x"}});
  Tree tree = source.tree();
  tree.files[0].executable = true;
  const auto use = Cache().Bring(tree, source, {});
  ASSERT_TRUE(use.ok()) << use.status();
  EXPECT_EQ(access((use->path() + "/bin/trainer").c_str(), X_OK), 0);
  EXPECT_NE(access((use->path() + "/lib").c_str(), X_OK), 0);
}

}  // namespace
}  // namespace noisefloor
