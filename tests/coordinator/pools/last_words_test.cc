// The last thing that a worker said, whatever its log is like.
#include "coordinator/pools/last_words.h"

#include <sys/stat.h>

#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

std::string LastOf(const std::string& content) {
  const Scratch scratch;
  return LastWords(scratch.Put("log", content));
}

TEST(LastWordsTest, AreTheLastLineThatSaysAnything) {
  EXPECT_EQ(LastOf("begun\nno such class\n\n  \n"), "no such class");
  EXPECT_EQ(LastOf("no end of line"), "no end of line");
  EXPECT_EQ(LastOf("a\r\nb\r\n"), "b");
}

TEST(LastWordsTest, OfALogThatSaysNothingAreNone) {
  EXPECT_EQ(LastOf(""), "");
  EXPECT_EQ(LastOf("\n \n"), "");
  EXPECT_EQ(LastWords(testing::TempDir() + "no/such/log"), "");
  EXPECT_EQ(LastWords(testing::TempDir()), "") << "a folder";
}

// Nobody writes to it, and whoever opens it waits.
TEST(LastWordsTest, OfAPipeAreNone) {
  const Scratch scratch;
  const std::string path = scratch.Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(LastWords(path), "");
}

TEST(LastWordsTest, AreShortAndCanBeToldToAnybody) {
  EXPECT_EQ(LastOf("first\n" + std::string(5000, 'x')), std::string(300, 'x'));
  EXPECT_EQ(LastOf("a\x1b[31mb\xff\xc3\xa4\n"), "a?[31mb???");
}

}  // namespace
}  // namespace noisefloor
