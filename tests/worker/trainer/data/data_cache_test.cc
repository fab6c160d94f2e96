// The cache of canonical data: the same examples as without it, whatever happens to its files and
// to the source files, and whoever else uses it.
#include "worker/trainer/data/data_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"
#include "common/cache/upkeep.h"
#include "common/files/atomic_file.h"
#include "tests/worker/trainer/data/data_files.h"
#include "worker/trainer/data/canonical_file.h"

namespace noisefloor::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Long after the source files were written.
absl::Time Later() { return absl::FromUnixSeconds(4'000'000'000); }

class DataCacheTest : public testing::Test {
 protected:
  DataCacheTest() { PutTinyCifar10(root_, train_, test_); }

  std::string Folder() const { return root_.Path("cache"); }
  DataCache Cache(uint64_t limit_bytes = 1 << 30) const { return {Folder(), limit_bytes}; }
  Dataset Load(ExampleLimits limits = {}) const {
    return LoadDataset(kTinyCifar10, root_.path(), limits, Cache(), Later()).value();
  }
  Dataset WithoutCache(ExampleLimits limits = {}) const {
    return LoadDataset(kTinyCifar10, root_.path(), limits).value();
  }
  // The cache's files of one kind, by whole path.
  std::vector<std::string> Files(const std::string& ending) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
      if (entry.path().string().ends_with(ending)) found.push_back(entry.path().string());
    }
    return found;
  }
  static void FlipByte(const std::string& path, std::streamoff place) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(place);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(place);
    file.put(byte);
    ASSERT_TRUE(file.good());
  }

  const DataRoot root_;
  const std::vector<Example> train_ = RandomExamples(1, 15, 12, 4);
  const std::vector<Example> test_ = RandomExamples(2, 3, 12, 4);
};

void ExpectSame(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.identity, b.identity);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.classes, b.classes);
  EXPECT_EQ(a.shape.pixels(), b.shape.pixels());
  EXPECT_EQ(a.train.images, b.train.images);
  EXPECT_EQ(a.train.labels, b.train.labels);
  EXPECT_EQ(a.test.images, b.test.images);
  EXPECT_EQ(a.test.labels, b.test.labels);
}

TEST_F(DataCacheTest, GivesTheSameExamplesAsTheSourceFiles) {
  ExpectSame(Load(), WithoutCache());  // Made,
  ExpectSame(Load(), WithoutCache());  // and used.
  for (const ExampleLimits limits : {ExampleLimits{7, 2}, ExampleLimits{0, 1}, {15, 3}}) {
    const Dataset limited = Load(limits);
    ExpectSame(limited, WithoutCache(limits));
    EXPECT_EQ(limited.train.size(), limits.train == 0 ? 15u : limits.train);
  }
  EXPECT_THAT(Load().notes, IsEmpty());
}

TEST_F(DataCacheTest, ASecondUserReadsNoSourceFile) {
  const Dataset first = Load();
  // There is nothing in them any more.
  for (const auto& entry : std::filesystem::directory_iterator(root_.Path("ten"))) {
    if (truncate(entry.path().c_str(), 0) != 0) FAIL();
  }
  // Their state, as the index has it, is enough.
  const FolderState changed = StateOf(kTinyCifar10, root_.Path("ten")).value();
  ASSERT_TRUE(Cache().Remember(changed, first.identity, Later()).ok());
  ExpectSame(Load(), first);
}

TEST_F(DataCacheTest, SetsOfOneShapeAreKeptSideBySide) {
  PutTinyMnist(root_);
  PutTinyCifar100(root_);
  for (int round = 0; round < 2; ++round) {
    for (const KnownDataset& known : {kTinyCifar10, kTinyCifar100, kTinyMnist}) {
      ExpectSame(LoadDataset(known, root_.path(), {}, Cache(), Later()).value(),
                 LoadDataset(known, root_.path(), {}).value());
    }
  }
  EXPECT_EQ(Files(".data").size(), 3u);
}

TEST_F(DataCacheTest, AChangedPixelIsFoundOutAlsoWhenTheTimeOfContentIsPutBack) {
  const Dataset before = Load();
  const std::string path = root_.Path("ten/data_batch_3.bin");
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);

  FlipByte(path, 5);
  const std::array<timespec, 2> times = {about.st_atim, about.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);

  const Dataset after = Load();
  EXPECT_NE(after.identity, before.identity);
  EXPECT_FALSE(CheckIdentity(after, before.identity).ok());
  ExpectSame(after, WithoutCache());
  EXPECT_EQ(Files(".data").size(), 2u);
}

// As data stores make them: a folder of links, of which one comes to lead elsewhere.
TEST_F(DataCacheTest, WhatALinkLeadsToIsLookedAt) {
  const std::string path = root_.Path("ten/data_batch_3.bin");
  const std::string store = root_.Path("store"), other = root_.Path("other");
  std::filesystem::rename(path, store);
  std::filesystem::copy_file(store, other);
  FlipByte(other, 5);
  std::filesystem::create_symlink(store, path);
  const Dataset before = Load();

  std::filesystem::remove(path);
  std::filesystem::create_symlink(other, path);
  EXPECT_NE(Load().identity, before.identity);

  FlipByte(other, 5);
  EXPECT_EQ(Load().identity, before.identity);
}

TEST_F(DataCacheTest, AReplacedFileAndANewOneAreFoundOut) {
  const FolderState first = StateOf(kTinyCifar10, root_.Path("ten")).value();
  const std::string path = root_.Path("ten/test_batch.bin");
  std::filesystem::copy_file(path, path + ".new");
  const FolderState second = StateOf(kTinyCifar10, root_.Path("ten")).value();
  std::filesystem::rename(path + ".new", path);
  const FolderState third = StateOf(kTinyCifar10, root_.Path("ten")).value();
  EXPECT_EQ((std::set{first.key, second.key, third.key}).size(), 3u);
}

TEST_F(DataCacheTest, AYoungStateIsNotRemembered) {
  const FolderState state = StateOf(kTinyCifar10, root_.Path("ten")).value();
  const auto load = [&](absl::Duration age) {
    return LoadDataset(kTinyCifar10, root_.path(), {}, Cache(), state.newest + age).value();
  };
  ExpectSame(load(absl::Milliseconds(1900)), WithoutCache());
  EXPECT_THAT(Files(".source"), IsEmpty());
  EXPECT_EQ(Files(".data").size(), 1u) << "its content is known by its identity";
  ExpectSame(load(absl::Milliseconds(2000)), WithoutCache());
  EXPECT_EQ(Files(".source").size(), 1u);
}

// The file that the cache writes is one more among those that were read.
TEST_F(DataCacheTest, FilesThatChangeWhileTheyAreReadAreNotRemembered) {
  const DataCache among(root_.Path("ten"), 1 << 30);
  ExpectSame(LoadDataset(kTinyCifar10, root_.path(), {}, among, Later()).value(), WithoutCache());
  std::set<std::string> endings;
  for (const auto& entry : std::filesystem::directory_iterator(root_.Path("ten"))) {
    endings.insert(entry.path().extension());
  }
  EXPECT_TRUE(endings.contains(".data"));
  EXPECT_FALSE(endings.contains(".source"));
}

TEST_F(DataCacheTest, ADamagedByteAnywhereIsFoundOutNamedAndMended) {
  const Dataset good = WithoutCache();
  (void)Load();
  const std::string path = Files(".data").at(0);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  int noted = 0;
  // The header, its checksums, and the body, of which only the bytes between the parts are of no
  // meaning; the rest of the header's page is of none either.
  for (std::streamoff place = 0; place < size; place += place < 300 ? 1 : 13) {
    if (place > 300 && place < 4096) continue;
    FlipByte(path, place);
    const Dataset again = Load();
    ExpectSame(again, good);
    noted += again.notes.empty() ? 0 : 1;
    if (!again.notes.empty()) {
      EXPECT_THAT(again.notes.at(0), HasSubstr(path));
      EXPECT_THAT(again.notes.at(0), HasSubstr("made anew from the source files"));
      EXPECT_THAT(Load().notes, IsEmpty());
    }
  }
  EXPECT_GT(noted, 200);
}

TEST_F(DataCacheTest, AFileOfAnotherLengthOrOfAnotherSetIsMadeAnew) {
  (void)Load();
  const std::string path = Files(".data").at(0);
  for (const uintmax_t size :
       {uintmax_t{0}, uintmax_t{100}, uintmax_t{4100}, std::filesystem::file_size(path) + 1}) {
    std::filesystem::resize_file(path, size);
    const Dataset again = Load();
    ExpectSame(again, WithoutCache());
    EXPECT_EQ(again.notes.size(), 1u) << size;
  }
  PutTinyMnist(root_);
  (void)LoadDataset(kTinyMnist, root_.path(), {}, Cache(), Later());
  for (const std::string& other : Files(".data")) {
    if (other != path)
      std::filesystem::copy(other, path, std::filesystem::copy_options::overwrite_existing);
  }
  const Dataset again = Load();
  ExpectSame(again, WithoutCache());
  EXPECT_THAT(again.notes, ElementsAre(HasSubstr("expected")));
}

TEST_F(DataCacheTest, ABrokenIndexIsIgnored) {
  (void)Load();
  const std::string path = Files(".source").at(0);
  for (const std::string& text : {std::string(), std::string("nonsense\n"), std::string(64, 'g')}) {
    std::ofstream(path, std::ios::trunc) << text;
    ExpectSame(Load(), WithoutCache());
  }
  // An identity of nothing that is here: the source files are read.
  std::ofstream(path, std::ios::trunc) << std::string(64, 'a') << "\n";
  ExpectSame(Load(), WithoutCache());
}

TEST_F(DataCacheTest, ACacheThatCannotBeWrittenIsDoneWithout) {
  std::ofstream(root_.Path("cache")) << "a file where the folder should be";
  const Dataset dataset = Load({7, 2});
  ExpectSame(dataset, WithoutCache({7, 2}));
  EXPECT_THAT(dataset.notes, ElementsAre(HasSubstr("done without")));
}

TEST_F(DataCacheTest, BrokenSourceFilesAreNamedAsWithoutTheCache) {
  (void)Load();
  root_.Put("ten/data_batch_2.bin", "short");
  EXPECT_EQ(LoadDataset(kTinyCifar10, root_.path(), {}, Cache(), Later()).status(),
            LoadDataset(kTinyCifar10, root_.path(), {}).status());
  EXPECT_EQ(LoadDataset(kTinyCifar10, "/nowhere", {}, Cache(), Later()).status(),
            LoadDataset(kTinyCifar10, "/nowhere", {}).status());
  EXPECT_EQ(LoadDataset(kTinyCifar10, root_.path(), {16, 0}, Cache(), Later()).status(),
            LoadDataset(kTinyCifar10, root_.path(), {16, 0}).status());
}

// One set of its own for each letter, as a file of the cache.
class EvictionTest : public DataCacheTest {
 protected:
  static std::string Identity(char letter) { return std::string(64, letter); }
  std::string PathOf(char letter) const { return Folder() + "/" + Identity(letter) + ".data"; }
  void Put(char letter, int64_t last_use) const {
    std::filesystem::create_directories(Folder());
    std::ofstream(PathOf(letter)) << std::string(1000, letter);
    const std::array<timespec, 2> times = {timespec{last_use, 0}, timespec{last_use, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, PathOf(letter).c_str(), times.data(), 0), 0);
  }
  std::string Letters() const {
    std::string letters;
    for (const char letter : std::string("abcdef")) {
      if (PathExists(PathOf(letter))) letters += letter;
    }
    return letters;
  }
};

TEST_F(EvictionTest, TheLongestUnusedGoFirstUntilAllIsWithinTheLimit) {
  Put('a', 300);
  Put('b', 100);
  Put('c', 200);
  ASSERT_TRUE(Cache(3000).Keep(Identity('d'), std::string(1000, 'd')).ok());
  EXPECT_EQ(Letters(), "acd");
  ASSERT_TRUE(Cache(1000).Keep(Identity('e'), std::string(1000, 'e')).ok());
  EXPECT_EQ(Letters(), "e");
  ASSERT_TRUE(Cache(10).Keep(Identity('f'), std::string(1000, 'f')).ok());
  EXPECT_EQ(Letters(), "f") << "what was just kept is about to be used";
}

TEST_F(EvictionTest, AUseCountsAsTheLatest) {
  (void)Load();
  const std::string path = Files(".data").at(0);
  const std::array<timespec, 2> times = {timespec{50, 0}, timespec{50, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  Put('a', 100);
  (void)Load();
  ASSERT_TRUE(Cache(std::filesystem::file_size(path) + 1000)
                  .Keep(Identity('d'), std::string(1000, 'd'))
                  .ok());
  EXPECT_TRUE(PathExists(path));
  EXPECT_EQ(Letters(), "d");
}

TEST_F(EvictionTest, WhatIsInUseStaysAndWhatWasUsedGoes) {
  auto used = std::make_optional(Load());
  const std::string path = Files(".data").at(0);
  ASSERT_TRUE(Cache(1).Keep(Identity('a'), std::string(1000, 'a')).ok());
  EXPECT_TRUE(PathExists(path));
  ExpectSame(*used, WithoutCache());

  Split kept = used->test;
  used.reset();
  ASSERT_TRUE(Cache(1).Keep(Identity('b'), std::string(1000, 'b')).ok());
  EXPECT_TRUE(PathExists(path)) << "a part of it is in use";
  kept = Split();
  ASSERT_TRUE(Cache(1).Keep(Identity('c'), std::string(1000, 'c')).ok());
  EXPECT_FALSE(PathExists(path));
  EXPECT_EQ(Letters(), "c");
}

TEST_F(EvictionTest, AListNamesEachSetTheLongestUnusedFirst) {
  EXPECT_THAT(ListCached(Folder()).value(), IsEmpty()) << "there is no folder";
  Put('a', 300);
  Put('b', 100);
  std::ofstream(Folder() + "/other") << "x";

  const std::vector<Cached> sets = ListCached(Folder()).value();

  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].path, PathOf('b'));
  EXPECT_EQ(sets[0].bytes, 1000u);
  EXPECT_EQ(sets[1].last_use, absl::FromUnixSeconds(300));
}

TEST_F(EvictionTest, ASetThatIsMappedIsInUseAndIsNotRemoved) {
  auto used = std::make_optional(Load());
  const std::string path = Files(".data").at(0);

  EXPECT_TRUE(IsInUse(path));
  EXPECT_FALSE(RemoveUnused(path));
  ExpectSame(Load(), WithoutCache());

  used.reset();
  EXPECT_FALSE(IsInUse(path));
  EXPECT_TRUE(RemoveUnused(path));
  EXPECT_TRUE(RemoveUnused(path)) << "it has gone";
  EXPECT_FALSE(PathExists(path));
}

TEST_F(EvictionTest, WhatLeadsNowhereGoesWhenItIsOld) {
  (void)Load();
  const std::string source = Files(".source").at(0);
  const std::string aside = Folder() + "/x.data.aside-123456";
  std::ofstream(aside) << "x";
  const absl::Time now = SystemClock().Now();

  RemoveCacheOrphans(Folder(), now + absl::Minutes(50));
  EXPECT_TRUE(PathExists(aside)) << "it may just be written";
  RemoveCacheOrphans(Folder(), now + absl::Hours(2));
  EXPECT_FALSE(PathExists(aside));
  EXPECT_TRUE(PathExists(source)) << "its set is there";

  ASSERT_TRUE(RemoveUnused(Files(".data").at(0)));
  RemoveCacheOrphans(Folder(), now);
  EXPECT_TRUE(PathExists(source)) << "a set may just be made";
  RemoveCacheOrphans(Folder(), now + absl::Hours(2));
  EXPECT_FALSE(PathExists(source));
}

// What a killed reader left goes; whoever reads for hours keeps its turn.
TEST_F(EvictionTest, ATurnThatIsHeldIsNoOrphan) {
  Put('a', 300);
  const std::string turn = Folder() + "/" + Identity('b') + ".reading";
  const int held = open(turn.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(ListCached(Folder()).value().size(), 1u) << "it is no set";
  const absl::Time now = SystemClock().Now();

  RemoveCacheOrphans(Folder(), now + absl::Hours(2));
  EXPECT_TRUE(PathExists(turn));
  close(held);
  RemoveCacheOrphans(Folder(), now + absl::Minutes(50));
  EXPECT_TRUE(PathExists(turn)) << "somebody may just take it";
  RemoveCacheOrphans(Folder(), now + absl::Hours(2));
  EXPECT_FALSE(PathExists(turn));
}

TEST_F(DataCacheTest, ManyProcessesMayMakeUseAndEmptyItAtOnce) {
  PutTinyMnist(root_);
  const Dataset ten = WithoutCache();
  const Dataset digits = LoadDataset(kTinyMnist, root_.path(), {}).value();
  std::vector<pid_t> children;
  for (int child = 0; child < 8; ++child) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    bool good = true;
    for (int round = 0; round < 50; ++round) {
      // A limit below either set: each one that is kept drives the other out, unless it is used.
      const KnownDataset& known = (round + child) % 2 == 0 ? kTinyCifar10 : kTinyMnist;
      const auto loaded = LoadDataset(known, root_.path(), {}, Cache(1), Later());
      const Dataset& expected = (round + child) % 2 == 0 ? ten : digits;
      good = good && loaded.ok() && loaded->identity == expected.identity &&
             loaded->train.images == expected.train.images &&
             loaded->test.labels == expected.test.labels;
    }
    _exit(good ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (const auto& entry : std::filesystem::directory_iterator(Folder())) {
    EXPECT_THAT(entry.path().string(), testing::Not(HasSubstr(".aside-")));
  }
}

TEST(CanonicalFileTest, OnlyWhatIsAskedForIsLookedAt) {
  const DataRoot root;
  // Sets of several MiB, so that the last example lies far behind the first.
  constexpr KnownDataset kBig{"cifar10", "ten", 4, 3, 512, 512, 5, 1, ""};
  PutTinyCifar10(root, RandomExamples(1, 5, 3 * 512 * 512, 4),
                 RandomExamples(2, 1, 3 * 512 * 512, 4));
  const DataCache cache(root.Path("cache"), 1 << 30);
  const std::string identity = LoadDataset(kBig, root.path(), {}, cache, Later())->identity;
  const std::string path = root.Path("cache/" + identity + ".data");
  // In the fourth training image.
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp((5 << 19) + 8192)
      << "X";

  EXPECT_TRUE(cache.Open(kBig, identity, {2, 1}).ok());
  const absl::Status status = cache.Open(kBig, identity, {4, 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status), path + ": MiB 2 has another checksum than was written");
}

}  // namespace
}  // namespace noisefloor::trainer
