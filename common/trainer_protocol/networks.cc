#include "common/trainer_protocol/networks.h"

#include <algorithm>
#include <array>
#include <string>

#include "common/base/check.h"

namespace noisefloor {

namespace {

constexpr uint32_t kReadsResidual = kReadsBatchNorm | kReadsZeroLastNorm;

constexpr std::array<KnownNetwork, 22> kNetworks = {{
    {"small_cnn", 8, kReadsBatchNormSwitch | kReadsBatchNorm},
    {"medium_cnn", 16, kReadsDropout},
    {"resnet18", 25, kReadsResidual},
    {"mlp", 1, kReadsDropout | kReadsHidden},
    {"kernel_cnn", 1, kReadsBatchNorm | kReadsKernel},
    {"lenet", 16, 0},
    {"resnet9", 8, kReadsBatchNorm | kReadsWidth},
    {"resnet9_whitened", 9, kReadsBatchNorm | kReadsWidth},
    {"resnet20", 1, kReadsResidual},
    {"resnet50", 1, kReadsResidual},
    {"resnet101", 1, kReadsResidual},
    {"resnet152", 1, kReadsResidual},
    {"vgg16", 32, kReadsDropout},
    {"vgg19", 32, kReadsDropout},
    {"densenet121", 29, kReadsBatchNorm},
    {"densenet169", 29, kReadsBatchNorm},
    {"densenet201", 29, kReadsBatchNorm},
    {"inception_v3", 75, kReadsBatchNorm},
    {"xception", 7, kReadsBatchNorm},
    {"mobilenet", 1, kReadsBatchNorm | kReadsDropout},
    {"efficientnet_b0", 1, kReadsBatchNorm | kReadsDropout},
    {"vit", 4, kReadsDropout},
}};

std::string Pixels(int64_t height, int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

}  // namespace

std::span<const KnownNetwork> KnownNetworks() { return kNetworks; }

const KnownNetwork* FindNetwork(std::string_view name) {
  const auto it = std::ranges::find(kNetworks, name, &KnownNetwork::name);
  return it == kNetworks.end() ? nullptr : &*it;
}

absl::Status CheckImages(std::string_view network, std::string_view data, int64_t height,
                         int64_t width) {
  const KnownNetwork* known = FindNetwork(network);
  NF_CHECK(known != nullptr);
  const int64_t least = known->least_side;
  if (std::min(height, width) >= least) return absl::OkStatus();
  return InvalidInput(std::string(network) + " needs images of at least " + Pixels(least, least) +
                      " pixels, " + std::string(data) + " has " + Pixels(height, width));
}

}  // namespace noisefloor
