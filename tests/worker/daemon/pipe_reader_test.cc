#include "worker/daemon/pipe_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

class PipeReaderTest : public testing::Test {
 protected:
  PipeReaderTest() { EXPECT_EQ(pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0); }
  ~PipeReaderTest() override {
    close(ends_[0]);
    CloseWriter();
  }

  void Write(const std::string& text) {
    ASSERT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void CloseWriter() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  bool Read(size_t most_bytes = kMostPipeBytes) {
    return ReadAvailable(ends_[0], most_bytes, [this](std::string_view piece) { read_ += piece; });
  }

  int ends_[2] = {-1, -1};
  std::string read_;
};

TEST_F(PipeReaderTest, WhatIsThereIsReadAndTheRestWaitedFor) {
  EXPECT_TRUE(Read());
  Write("one");
  EXPECT_TRUE(Read());
  EXPECT_EQ(read_, "one");
}

TEST_F(PipeReaderTest, TheEndIsSeenBehindWhatWasWritten) {
  Write("last words");
  CloseWriter();
  EXPECT_FALSE(Read());
  EXPECT_EQ(read_, "last words");
}

TEST_F(PipeReaderTest, AFullPipeIsReadAtOnce) {
  ASSERT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, kMostPipeBytes), static_cast<int>(kMostPipeBytes));
  const std::string much(kMostPipeBytes, 'x');
  Write(much);
  EXPECT_TRUE(Read());
  EXPECT_EQ(read_.size(), much.size());
}

TEST(PipeReaderLimitTest, AWriterThatNeverPausesIsLeftAfterTheLimit) {
  const int endless = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(endless, 0);
  size_t taken = 0;
  EXPECT_TRUE(ReadAvailable(endless, 300000, [&](std::string_view piece) {
    taken += piece.size();
    ASSERT_LT(taken, 100u << 20) << "reads without end";
  }));
  EXPECT_GE(taken, 300000u);
  EXPECT_LT(taken, 400000u);
  close(endless);
}

}  // namespace
}  // namespace noisefloor
