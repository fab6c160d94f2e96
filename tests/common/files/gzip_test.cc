#include "common/files/gzip.h"

#include <vector>

#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"
#include "tests/support/gzip.h"

namespace noisefloor {
namespace {

std::string Words() {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += std::to_string(i * 7919 % 65521) + " ";
  return text;
}

TEST(GzipTest, PackedAndPlainGiveTheSameContent) {
  Scratch scratch;
  const std::string text = Words();
  const std::string packed = scratch.Put("x.gz", Gzip(text));
  const std::string plain = scratch.Put("x", text);

  EXPECT_EQ(ReadPlainOrGzip(packed, text.size()).value(), text);
  EXPECT_EQ(ReadPlainOrGzip(plain, text.size()).value(), text);
}

TEST(GzipTest, EmptyAndSeveralMembersAreRead) {
  Scratch scratch;

  EXPECT_EQ(ReadPlainOrGzip(scratch.Put("a", ""), 9).value(), "");
  EXPECT_EQ(ReadPlainOrGzip(scratch.Put("b", Gzip("")), 9).value(), "");
  EXPECT_EQ(ReadPlainOrGzip(scratch.Put("c", Gzip("one ") + Gzip("two")), 9).value(), "one two");
}

TEST(GzipTest, ContentBeyondTheLimitIsRefused) {
  Scratch scratch;
  const std::string text = Words();
  const std::string packed = scratch.Put("x.gz", Gzip(text));
  const std::string plain = scratch.Put("x", text);

  EXPECT_EQ(Message(ReadPlainOrGzip(packed, 1000).status()),
            packed + ": larger than the limit of 1000 bytes");
  EXPECT_EQ(Message(ReadPlainOrGzip(plain, 1000).status()),
            plain + ": larger than the limit of 1000 bytes");
  for (const std::string& path : {packed, plain}) {
    EXPECT_EQ(ReadPlainOrGzip(path, 1000).status().code(), absl::StatusCode::kOutOfRange) << path;
  }
}

TEST(GzipTest, FileThatEndsEarlyIsRefusedAtEveryLength) {
  Scratch scratch;
  const std::string packed = Gzip("some text that is packed");

  for (size_t length = 2; length < packed.size(); ++length) {
    const std::string path = scratch.Put("x.gz", packed.substr(0, length));
    const absl::Status status = ReadPlainOrGzip(path, 1000).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << length;
    EXPECT_TRUE(Message(status).starts_with(path + ": the gzip data end early, after ")) << status;
  }
}

TEST(GzipTest, DamagedFileIsRefused) {
  Scratch scratch;
  std::string wrong_sum = Gzip("some text");
  wrong_sum[wrong_sum.size() - 8] ^= 1;
  const std::string path = scratch.Put("x.gz", wrong_sum);

  EXPECT_EQ(Message(ReadPlainOrGzip(path, 1000).status()),
            path + ": not valid gzip data: incorrect data check");
}

TEST(GzipTest, BytesAfterTheEndAreRefused) {
  Scratch scratch;
  const std::string path = scratch.Put("x.gz", Gzip("some text") + "more");

  EXPECT_EQ(Message(ReadPlainOrGzip(path, 1000).status()),
            path + ": 4 bytes follow the end of the gzip data");
}

TEST(GzipTest, MissingFileIsNamed) {
  EXPECT_EQ(Message(ReadPlainOrGzip("/nonexistent.gz", 1).status()),
            "/nonexistent.gz: cannot open: No such file or directory");
}

}  // namespace
}  // namespace noisefloor
