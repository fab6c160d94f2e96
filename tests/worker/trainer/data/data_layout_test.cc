// The files that are told of a data set are those that its reader reads.
#include "common/trainer_protocol/data_layout.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "worker/trainer/data/cifar.h"

namespace noisefloor::trainer {
namespace {

using ::testing::UnorderedElementsAreArray;

TEST(DataLayout, HasWhatTheReaderReads) {
  for (const KnownDataset& known : KnownDatasets()) {
    const DataLayout& layout = LayoutOf(known);
    std::vector<std::string_view> read = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                          "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    if (known.name.starts_with("cifar")) {
      const CifarFormat format = CifarFormatOf(known);
      read = format.train.files;
      read.insert(read.end(), format.test.files.begin(), format.test.files.end());
    }
    EXPECT_THAT(layout.files, UnorderedElementsAreArray(read)) << known.name;
    EXPECT_EQ(layout.gzipped, !known.name.starts_with("cifar"));
    EXPECT_TRUE(std::ranges::is_sorted(layout.files)) << "as a tree wants them";
  }
}

}  // namespace
}  // namespace noisefloor::trainer
