#include "common/trainer_protocol/datasets.h"

#include <array>

namespace noisefloor {

namespace {
constexpr std::array<KnownDataset, 5> kDatasets = {{
    {"cifar10", "cifar-10-batches-bin", 10, 3, 32, 32, 50000, 10000,
     "1c8c4372b47676207375ef2b02025168f5f9784ba831b5e357fc0b1eca49319b"},
    {"cifar100", "cifar-100-binary", 100, 3, 32, 32, 50000, 10000, ""},
    {"mnist", "mnist", 10, 1, 28, 28, 60000, 10000, ""},
    {"fashion-mnist", "fashion-mnist", 10, 1, 28, 28, 60000, 10000,
     "de6034f2b9c513db56a75959bbf5d2e74f1df788dce85100b6b28d3a24c5bb20"},
    {"fashion-mnist-sample", "fashion-mnist-sample", 10, 1, 28, 28, 6000, 1000,
     "7e3278861a28387b921c8dddfb48d61b05c35e83a87b02114ee496a411228e4c"},
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
