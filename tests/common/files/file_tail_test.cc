#include "common/files/file_tail.h"

#include <sys/stat.h>

#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

using Code = absl::StatusCode;

TEST(FileTailTest, IsTheLastBytesAndNoMore) {
  const Scratch scratch;
  const std::string path = scratch.Put("log", "begun\nno such class\n");
  EXPECT_EQ(ReadTail(path, 6).value(), "class\n");
  EXPECT_EQ(ReadTail(path, 1000).value(), "begun\nno such class\n");
  EXPECT_EQ(ReadTail(path, 0).value(), "");
  EXPECT_EQ(ReadTail(scratch.Put("empty", ""), 6).value(), "");
}

TEST(FileTailTest, OfWhatIsNoFileThereIsNone) {
  const Scratch scratch;
  const std::string pipe = scratch.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadTail(pipe, 6).status(),
            MakeError(Code::kFailedPrecondition, pipe + ": not a regular file"));
  EXPECT_EQ(ReadTail(scratch.folder(), 6).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(ReadTail(scratch.Path("none"), 6).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace noisefloor
