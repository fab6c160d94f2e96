// The real sets: the sample in the repository always, the full ones where $NOISEFLOOR_DATA has
// them.
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/directory.h"
#include "worker/trainer/data/dataset.h"

namespace noisefloor::trainer {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
};

Moments MomentsOfChannel(const Split& split, int64_t channel) {
  const int64_t area = split.shape.height * split.shape.width;
  double sum = 0.0;
  double squares = 0.0;
  for (uint32_t i = 0; i < split.size(); ++i) {
    const uint8_t* plane = split.Image(i) + channel * area;
    for (int64_t j = 0; j < area; ++j) {
      sum += plane[j];
      squares += plane[j] * plane[j];
    }
  }
  const double n = static_cast<double>(split.size()) * static_cast<double>(area);
  return {sum / n, std::sqrt(squares / n - sum / n * (sum / n))};
}

std::vector<int> ClassCounts(const Split& split, int64_t classes) {
  std::vector<int> counts(static_cast<size_t>(classes));
  for (const int64_t label : split.labels) ++counts[static_cast<size_t>(label)];
  return counts;
}

TEST(KnownDataTest, SampleOfTheRepositoryHasItsIdentityAndIsBalanced) {
  const std::string root = Environment("NOISEFLOOR_SOURCE") + "/deploy/data";

  const Dataset dataset = LoadDataset("fashion-mnist-sample", root, {}).value();

  EXPECT_FALSE(FindDataset("fashion-mnist-sample")->identity.empty());
  EXPECT_EQ(dataset.identity, FindDataset("fashion-mnist-sample")->identity);
  EXPECT_THAT(ClassCounts(dataset.train, 10), ::testing::Each(600));
  EXPECT_THAT(ClassCounts(dataset.test, 10), ::testing::Each(100));
}

// Empty, with a message of what is skipped, where the full set is not.
std::string RootWith(const std::string& folder) {
  const std::string root = Environment("NOISEFLOOR_DATA");
  return !root.empty() && PathExists(root + "/" + folder) ? root : "";
}

#define SKIP_WITHOUT(folder)                                                                       \
  if (RootWith(folder).empty()) {                                                                  \
    GTEST_SKIP() << "NOT RUN: reading the full set " << folder                                     \
                 << ": no such folder under $NOISEFLOOR_DATA ('" << Environment("NOISEFLOOR_DATA") \
                 << "')";                                                                          \
  }

TEST(KnownDataTest, Cifar10IsThePublishedSet) {
  SKIP_WITHOUT("cifar-10-batches-bin");

  const Dataset dataset = LoadDataset("cifar10", RootWith("cifar-10-batches-bin"), {}).value();

  EXPECT_EQ(dataset.identity, FindDataset("cifar10")->identity);
  EXPECT_THAT(ClassCounts(dataset.train, 10), ::testing::Each(5000));
  EXPECT_THAT(ClassCounts(dataset.test, 10), ::testing::Each(1000));
  EXPECT_NEAR(MomentsOfChannel(dataset.train, 0).mean, 125.3069, 5e-5);
  EXPECT_NEAR(MomentsOfChannel(dataset.train, 1).mean, 122.9504, 5e-5);
  EXPECT_NEAR(MomentsOfChannel(dataset.train, 2).mean, 113.8654, 5e-5);
}

TEST(KnownDataTest, FashionMnistIsThePublishedSet) {
  SKIP_WITHOUT("fashion-mnist");

  const Dataset dataset = LoadDataset("fashion-mnist", RootWith("fashion-mnist"), {}).value();

  EXPECT_EQ(dataset.identity, FindDataset("fashion-mnist")->identity);
  EXPECT_THAT(ClassCounts(dataset.train, 10), ::testing::Each(6000));
  EXPECT_NEAR(MomentsOfChannel(dataset.train, 0).mean, 72.9404, 5e-5);
  EXPECT_NEAR(MomentsOfChannel(dataset.train, 0).deviation, 90.0212, 5e-5);
}

// The sample is what make_sample.py says: of each class the first in canonical order.
TEST(KnownDataTest, SampleIsTheBeginningOfEachClassOfTheFullSet) {
  SKIP_WITHOUT("fashion-mnist");
  const std::string source = Environment("NOISEFLOOR_SOURCE") + "/deploy/data";
  const Split full = LoadDataset("fashion-mnist", RootWith("fashion-mnist"), {}).value().train;
  const Split sample = LoadDataset("fashion-mnist-sample", source, {}).value().train;

  std::vector<int> taken(10);
  uint32_t place = 0;
  for (uint32_t i = 0; i < full.size() && place < sample.size(); ++i) {
    if (taken[static_cast<size_t>(full.labels[i])]++ >= 600) continue;
    ASSERT_EQ(sample.labels[place], full.labels[i]);
    ASSERT_TRUE(std::equal(sample.Image(place), sample.Image(place) + 784, full.Image(i)));
    ++place;
  }

  EXPECT_EQ(place, sample.size());
}

}  // namespace
}  // namespace noisefloor::trainer
