#include "coordinator/cli/progress.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::SweepSummary Sweep(uint32_t done, uint32_t waiting, double progress) {
  v1::SweepSummary sweep;
  sweep.set_done(done);
  sweep.set_waiting(waiting);
  sweep.set_progress(progress);
  return sweep;
}

TEST(ProgressTest, ARunTellsWhatGoesWrongAndNotWhatGoesWell) {
  std::ostringstream out;
  Progress progress(out, {});
  progress.Show(Sweep(0, 10, 0),
                {"s1c0r0 attempt 1 on local", "s1c0r0 done on local: top-1 81.50 %",
                 "s1c0r1 bad_data: train-images: not a gzip file (bad data is not tried again)",
                 "local has other data of cifar10: identity a, expected b",
                 "s1c0r2 diverged on local: top-1 10.00 %",
                 "s1c0r3 attempt 2 on box, with another trainer build than its cell began with"},
                {}, absl::ZeroDuration());
  EXPECT_EQ(out.str(),
            "s1c0r1 bad_data: train-images: not a gzip file (bad data is not tried again)\n"
            "local has other data of cifar10: identity a, expected b\n"
            "s1c0r2 diverged on local: top-1 10.00 %\n"
            "s1c0r3 attempt 2 on box, with another trainer build than its cell began with\n"
            "0/10 members    0 %\n");
}

TEST(ProgressTest, ManyLinesAlikeAreCutShort) {
  std::ostringstream out;
  Progress progress(out, {});
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) lines.push_back("s1c0r" + std::to_string(i) + " bug: no");
  progress.Show(Sweep(0, 100, 0), lines, {}, absl::ZeroDuration());
  EXPECT_EQ(out.str(),
            "s1c0r0 bug: no\ns1c0r1 bug: no\ns1c0r2 bug: no\n"
            "more lines like this one are left out\n0/100 members    0 %\n");
}

TEST(ProgressTest, AWatchTellsEverything) {
  std::ostringstream out;
  Progress progress(out, {.all_lines = true});
  progress.Show(Sweep(1, 1, 1), {"s1c0r0 attempt 1 on local"}, {}, absl::ZeroDuration());
  EXPECT_THAT(out.str(), HasSubstr("s1c0r0 attempt 1 on local\n"));
}

TEST(ProgressTest, WhatIsCancelledIsNotDone) {
  v1::SweepSummary sweep = Sweep(0, 0, 2);
  sweep.set_cancelled(2);
  std::ostringstream out;
  Progress progress(out, {});
  progress.Show(sweep, {}, {}, absl::ZeroDuration());
  EXPECT_EQ(out.str(), "0/2 members    0 %  2 cancelled\n");
}

// The rest is told at the pace since the sweep first moved: neither what was there before nor the
// start counts.
TEST(ProgressTest, TheTimeLeftIsOfThisRunsPace) {
  std::ostringstream out;
  Progress progress(out, {.terminal = true});
  const auto show = [&](double done, double second) {
    out.str("");
    progress.Show(Sweep(static_cast<uint32_t>(done), static_cast<uint32_t>(100 - done), done), {},
                  {}, absl::Seconds(second));
    return out.str();
  };
  EXPECT_THAT(show(50, 0), Not(HasSubstr("left")));
  EXPECT_THAT(show(50, 60), Not(HasSubstr("left"))) << "a minute of starting up";
  EXPECT_THAT(show(51, 61), Not(HasSubstr("left")));
  EXPECT_THAT(show(52, 63), Not(HasSubstr("left"))) << "too short a time to tell";
  EXPECT_THAT(show(61, 71), HasSubstr("about 39 s left"));
}

TEST(ProgressTest, WhatIsCancelledTakesNoTime) {
  std::ostringstream out;
  Progress progress(out, {.terminal = true});
  const auto show = [&](double done, double second) {
    out.str("");
    v1::SweepSummary sweep =
        Sweep(static_cast<uint32_t>(done), static_cast<uint32_t>(30 - done), done);
    sweep.set_cancelled(70);
    progress.Show(sweep, {}, {}, absl::Seconds(second));
    return out.str();
  };
  (void)show(9, 0);
  (void)show(10, 1);
  EXPECT_THAT(show(20, 11), HasSubstr("20/100 members   20 %  about 10 s left  70 cancelled"));
}

TEST(ProgressTest, ANoteStandsAboveTheLineThatRedrawsItself) {
  std::ostringstream out;
  Progress progress(out, {.terminal = true});
  progress.Show(Sweep(0, 1, 0), {}, {}, absl::ZeroDuration());
  out.str("");
  progress.Note(out, "no worker\x1b is connected");
  EXPECT_EQ(out.str(), "\r\033[Kno worker\\x1b is connected\n");
}

}  // namespace
}  // namespace noisefloor::cli
