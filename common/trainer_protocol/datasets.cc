#include "common/trainer_protocol/datasets.h"

#include <array>

namespace noisefloor {

namespace {
constexpr std::array<KnownDataset, 5> kDatasets = {{
    {"cifar10", "cifar-10-batches-bin", 10, 3, 32, 32, 50000, 10000, ""},
    {"cifar100", "cifar-100-binary", 100, 3, 32, 32, 50000, 10000, ""},
    {"mnist", "mnist", 10, 1, 28, 28, 60000, 10000, ""},
    {"fashion-mnist", "fashion-mnist", 10, 1, 28, 28, 60000, 10000, ""},
    {"fashion-mnist-sample", "fashion-mnist-sample", 10, 1, 28, 28, 6000, 1000, ""},
}};
}  // namespace

std::span<const KnownDataset> KnownDatasets() { return kDatasets; }

const KnownDataset* FindDataset(std::string_view name) {
  for (const KnownDataset& known : kDatasets) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

}  // namespace noisefloor
