// Where pixels lie until a set is whole: on a disk that fails and loses power, beside other
// processes.
#include "worker/trainer/images/pixel_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "tests/support/forwarding_disk.h"
#include "tests/support/model_disk.h"
#include "tests/worker/trainer/data/data_files.h"

namespace noisefloor::trainer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kLimitBytes = 1000;

std::vector<uint8_t> Pixels(uint8_t value) { return std::vector<uint8_t>(4, value); }

absl::Status PutTwo(PixelStore& store) {
  NF_RETURN_IF_ERROR(store.Put(1, Pixels('b')));
  return store.Put(0, Pixels('a'));
}

TEST(PixelStoreTest, GivesBackWhatWasPut) {
  const DataRoot root;
  PixelStore memory = PixelStore::InMemory(2, 4);
  PixelStore file = PixelStore::Aside(2, 4, root.path()).value();
  EXPECT_FALSE(memory.in_file());
  EXPECT_TRUE(file.in_file());
  for (PixelStore* store : {&memory, &file}) {
    ASSERT_TRUE(PutTwo(*store).ok());
    std::vector<uint8_t> got(4);
    ASSERT_TRUE(store->Get(1, got).ok());
    EXPECT_EQ(got, Pixels('b'));
    ASSERT_TRUE(store->Get(0, got).ok());
    EXPECT_EQ(got, Pixels('a'));
  }
}

TEST(PixelStoreTest, WhenItIsKeptItsFileIsWholeOrNotThereWheneverPowerGoes) {
  bool kept = false;
  for (int64_t i = 0; !kept; ++i) {
    ASSERT_LT(i, 100);
    ModelDisk disk;
    disk.LosePowerAt(i);
    auto store = PixelStore::Aside(2, 4, "/cache", disk);
    kept = store.ok() && PutTwo(*store).ok() && store->KeepAt("/cache/set", "tail").ok();
    for (uint64_t seed = 0; seed < 10; ++seed) {
      ModelDisk after = disk.AfterPowerLoss(ModelDisk::Survival::kSome, seed);
      const auto found = ReadFile("/cache/set", kLimitBytes, after);
      EXPECT_TRUE(found.ok() ? *found == "aaaabbbbtail" : !kept) << i << found.status();
    }
  }
}

TEST(PixelStoreTest, WhatCouldNotBeSyncedIsNotKept) {
  ModelDisk disk;
  PixelStore store = PixelStore::Aside(2, 4, "/cache", disk).value();
  ASSERT_TRUE(PutTwo(store).ok());
  disk.FailAt(disk.operations() + 1, EIO, /*lasting=*/false);  // The tail, then the sync.
  EXPECT_THAT(Message(store.KeepAt("/cache/set", "tail")), testing::HasSubstr("sync"));
  EXPECT_FALSE(disk.Inspect("/cache/set").ok());
  std::vector<uint8_t> got(4);
  EXPECT_TRUE(store.Get(1, got).ok());
}

// A file of a disk that has so much room.
class FileWithRoom final : public ForwardingFile {
 public:
  FileWithRoom(std::unique_ptr<WritableFile> file, uint64_t room_bytes)
      : ForwardingFile(std::move(file)), room_bytes_(room_bytes) {}
  absl::Status TakeRoom(uint64_t size_bytes) override {
    if (size_bytes <= room_bytes_) return ForwardingFile::TakeRoom(size_bytes);
    return MakeError(absl::StatusCode::kResourceExhausted, "no room");
  }

 private:
  const uint64_t room_bytes_;
};

class DiskWithRoom final : public ForwardingDisk {
 public:
  explicit DiskWithRoom(uint64_t room_bytes) : room_bytes_(room_bytes) {}
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateAside(const std::string& path) override {
    NF_ASSIGN_OR_RETURN(auto file, ForwardingDisk::CreateAside(path));
    return std::make_unique<FileWithRoom>(std::move(file), room_bytes_);
  }

 private:
  const uint64_t room_bytes_;
};

TEST(PixelStoreTest, TheRoomOfAllPixelsIsTakenAtOnceOrNothingIsLeft) {
  const DataRoot root;
  DiskWithRoom disk(11);
  {
    const auto two = PixelStore::Aside(2, 4, root.path(), disk);
    ASSERT_TRUE(two.ok()) << two.status();
    const std::string name = ListFiles(root.path()).value().at(0);
    EXPECT_EQ(std::filesystem::file_size(root.Path(name)), 8u) << "before any pixel is put";
  }
  EXPECT_EQ(PixelStore::Aside(3, 4, root.path(), disk).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ListFiles(root.path()).value(), IsEmpty());
  EXPECT_TRUE(PixelStore::Aside(0, 4, root.path(), disk).ok());
}

TEST(PixelStoreTest, ADiskThatGivesSomethingElseIsNoticed) {
  const DataRoot root;
  PixelStore store = PixelStore::Aside(2, 4, root.path()).value();
  ASSERT_TRUE(PutTwo(store).ok());
  const std::string name = ListFiles(root.path()).value().at(0);
  root.Put(name, "aaaabbbB");
  std::vector<uint8_t> got(4);
  EXPECT_TRUE(store.Get(0, got).ok());
  const absl::Status damaged = store.Get(1, got);
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(damaged),
            root.path() + "/" + name + ": it gives other pixels than were written");
}

void MakeOld(const std::string& path) {
  const timespec then[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), then, 0), 0);
}

TEST(PixelStoreTest, TheNextOneRemovesWhatAKilledProcessLeft) {
  const DataRoot root;
  root.Put("images.aside-killed", "long ago");
  MakeOld(root.Path("images.aside-killed"));
  root.Put("images.aside-young", "it may have no lock yet");
  root.Put("other.aside-old", "somebody else's");
  MakeOld(root.Path("other.aside-old"));
  std::string used;
  {
    const PixelStore store = PixelStore::Aside(2, 4, root.path()).value();
    const std::vector<std::string> there = ListFiles(root.path()).value();
    for (const std::string& name : there) {
      if (name != "images.aside-young" && name != "other.aside-old") used = name;
    }
    MakeOld(root.Path(used));
    const PixelStore next = PixelStore::Aside(2, 4, root.path()).value();
    EXPECT_THAT(ListFiles(root.path()).value(),
                testing::AllOf(testing::SizeIs(4), testing::Contains(used),
                               testing::Contains("images.aside-young"),
                               testing::Contains("other.aside-old")));
  }
  EXPECT_THAT(ListFiles(root.path()).value(), ElementsAre("images.aside-young", "other.aside-old"));
}

TEST(PixelStoreTest, NothingIsLeftOfWhatWasNotKept) {
  const DataRoot root;
  { const PixelStore store = PixelStore::Aside(2, 4, root.path()).value(); }
  EXPECT_THAT(ListFiles(root.path()).value(), IsEmpty());
  {
    PixelStore store = PixelStore::Aside(1, 4, root.path()).value();
    ASSERT_TRUE(store.Put(0, Pixels('a')).ok());
    ASSERT_TRUE(store.KeepAt(root.path() + "/set", "").ok());
  }
  EXPECT_THAT(ListFiles(root.path()).value(), ElementsAre("set"));
}

}  // namespace
}  // namespace noisefloor::trainer
