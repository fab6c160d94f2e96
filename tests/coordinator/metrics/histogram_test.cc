#include "coordinator/figures/histogram.h"

#include "gtest/gtest.h"

#include "coordinator/figures/call_figures.h"

namespace noisefloor::figures {
namespace {

TEST(HistogramTest, AValueIsInTheFirstBucketThatHoldsIt) {
  Histogram histogram{1, 10};
  for (const double value : {0.0, 1.0, 1.5, 10.0, 11.0, 1000.0}) histogram.Observe(value);
  ASSERT_EQ(histogram.size(), 2u);
  EXPECT_EQ(histogram.count(0), 2u) << "a bound is within";
  EXPECT_EQ(histogram.count(1), 2u);
  EXPECT_EQ(histogram.count(2), 2u) << "above all bounds";
  EXPECT_DOUBLE_EQ(histogram.sum(), 1023.5);
}

TEST(CallFiguresTest, MethodsThatAreNoneDoNotMakeItGrow) {
  CallFigures calls({"A/B"});
  calls.Note("A/B", 0, 0.5);
  calls.Note("A/B", 5, 0.5);
  for (int i = 0; i < 1000; ++i) calls.Note("X/" + std::to_string(i), 12, 0.5);
  std::vector<std::string> seen;
  calls.Each([&](const std::string& method, int code, const Histogram& seconds) {
    uint64_t count = 0;
    for (size_t i = 0; i <= seconds.size(); ++i) count += seconds.count(i);
    seen.push_back(method + " " + std::to_string(code) + " " + std::to_string(count));
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"A/B 0 1", "A/B 5 1", "other 12 1000"}));
}

}  // namespace
}  // namespace noisefloor::figures
