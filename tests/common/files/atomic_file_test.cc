#include "common/files/atomic_file.h"

#include <sys/stat.h>

#include <cerrno>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/file_error.h"
#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AtomicFileTest, ContentIsReadBackAndNothingElseIsLeft) {
  Scratch scratch;
  const std::string bytes("a\0b\n", 4);

  ASSERT_TRUE(WriteFileAtomically(scratch.Path("x"), "old").ok());
  ASSERT_TRUE(WriteFileAtomically(scratch.Path("x"), bytes).ok());

  EXPECT_EQ(ReadFile(scratch.Path("x"), 4).value(), bytes);
  EXPECT_THAT(ListFiles(scratch.folder()).value(), ElementsAre("x"));
}

TEST(AtomicFileTest, NothingAppearsBeforeCommit) {
  Scratch scratch;
  {
    AtomicFileWriter writer = AtomicFileWriter::Open(scratch.Path("x")).value();
    ASSERT_TRUE(writer.Write("half").ok());
    EXPECT_EQ(writer.written_bytes(), 4u);
    EXPECT_FALSE(PathExists(scratch.Path("x")));
  }

  EXPECT_THAT(ListFiles(scratch.folder()).value(), IsEmpty());
}

TEST(AtomicFileTest, AbandonedWriterKeepsTheOldContent) {
  Scratch scratch;
  ASSERT_TRUE(WriteFileAtomically(scratch.Path("x"), "old").ok());

  { ASSERT_TRUE(AtomicFileWriter::Open(scratch.Path("x")).value().Write("new").ok()); }

  EXPECT_EQ(ReadFile(scratch.Path("x"), 100).value(), "old");
  EXPECT_THAT(ListFiles(scratch.folder()).value(), ElementsAre("x"));
}

TEST(AtomicFileTest, MovedWriterWritesOneFile) {
  Scratch scratch;
  AtomicFileWriter first = AtomicFileWriter::Open(scratch.Path("x")).value();
  ASSERT_TRUE(first.Write("one ").ok());

  AtomicFileWriter second = AtomicFileWriter::Open(scratch.Path("y")).value();
  second = std::move(first);
  ASSERT_TRUE(second.Write("two").ok());
  ASSERT_TRUE(second.Commit().ok());

  EXPECT_EQ(ReadFile(scratch.Path("x"), 100).value(), "one two");
  EXPECT_THAT(ListFiles(scratch.folder()).value(), ElementsAre("x"));
}

TEST(AtomicFileTest, FilesAreAsReadableAsAnyOther) {
  Scratch scratch;
  struct stat ours {};
  struct stat plain {};

  ASSERT_TRUE(WriteFileAtomically(scratch.Path("x"), "").ok());
  scratch.Put("y", "");

  ASSERT_EQ(stat(scratch.Path("x").c_str(), &ours), 0);
  ASSERT_EQ(stat(scratch.Path("y").c_str(), &plain), 0);
  EXPECT_EQ(ours.st_mode, plain.st_mode);
}

TEST(AtomicFileTest, MissingFolderIsNamed) {
  const absl::Status status = WriteFileAtomically("/nonexistent/x", "");

  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(status), "/nonexistent/x: cannot create: No such file or directory");
}

// Both pass when somebody makes room, and are waited for.
TEST(FileErrorTest, AQuotaThatIsUsedUpIsAFullDisk) {
  for (const int full : {ENOSPC, EDQUOT}) {
    EXPECT_EQ(FileError("/x", "write", full).code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(FileError("/x", "write", EIO).code(), absl::StatusCode::kUnavailable);
}

TEST(ReadFileTest, LargerThanTheLimitIsRefused) {
  Scratch scratch;
  const std::string path = scratch.Put("x", "12345");

  const absl::Status status = ReadFile(path, 4).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << "no disk is full";
  EXPECT_EQ(Message(status), path + ": larger than the limit of 4 bytes");
  EXPECT_EQ(ReadFile(path, 5).value(), "12345");
}

TEST(ReadFileTest, FileWithoutASizeIsReadWhole) {
  EXPECT_THAT(ReadFile("/proc/self/status", 1 << 20).value(), ::testing::HasSubstr("Pid:"));
}

TEST(ReadFileTest, FolderIsRefused) {
  Scratch scratch;

  EXPECT_EQ(Message(ReadFile(scratch.folder(), 10).status()),
            scratch.folder() + ": cannot read: Is a directory");
}

TEST(DirectoryTest, FoldersAreMadeListedAndRemoved) {
  Scratch scratch;
  const std::string deep = scratch.Path("a/b/c");

  ASSERT_TRUE(CreateDirectories(deep).ok());
  ASSERT_TRUE(CreateDirectories(deep).ok());
  scratch.Put("a/z", "");
  scratch.Put("a/y", "");

  EXPECT_THAT(ListFiles(scratch.Path("a")).value(), ElementsAre("y", "z"));
  EXPECT_TRUE(RemoveFile(scratch.Path("a/y")).ok());
  EXPECT_TRUE(RemoveFile(scratch.Path("a/y")).ok());
  EXPECT_TRUE(RemoveTree(scratch.Path("a")).ok());
  EXPECT_TRUE(RemoveTree(scratch.Path("a")).ok());
  EXPECT_FALSE(PathExists(scratch.Path("a")));
}

TEST(DirectoryTest, LinksAreRemovedNotFollowed) {
  Scratch scratch;
  ASSERT_TRUE(CreateDirectories(scratch.Path("kept")).ok());
  ASSERT_TRUE(CreateDirectories(scratch.Path("tree")).ok());
  scratch.Put("kept/file", "");
  ASSERT_EQ(symlink(scratch.Path("kept").c_str(), scratch.Path("tree/link").c_str()), 0);

  ASSERT_TRUE(RemoveTree(scratch.Path("tree")).ok());

  EXPECT_TRUE(PathExists(scratch.Path("kept/file")));
}

TEST(DirectoryTest, MissingFolderCannotBeListed) {
  EXPECT_EQ(Message(ListFiles("/nonexistent").status()),
            "/nonexistent: cannot list: No such file or directory");
}

}  // namespace
}  // namespace noisefloor
