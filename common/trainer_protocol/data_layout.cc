#include "common/trainer_protocol/data_layout.h"

namespace noisefloor {

namespace {

const std::vector<DataLayout>& Layouts() {
  static const std::vector<DataLayout> layouts = {
      {"cifar10",
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
        "data_batch_5.bin", "test_batch.bin"}},
      {"cifar100", {"test.bin", "train.bin"}},
      {"idx",
       {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", "train-images-idx3-ubyte",
        "train-labels-idx1-ubyte"},
       true}};
  return layouts;
}

}  // namespace

std::span<const DataLayout> DataLayouts() { return Layouts(); }

const DataLayout& LayoutOf(const KnownDataset& known) {
  for (const DataLayout& layout : Layouts()) {
    if (layout.name == known.name) return layout;
  }
  return Layouts().back();
}

}  // namespace noisefloor
