// The networks that noisefloor's trainer has, with what can be said of them before they are made.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

// Settings that not every network reads, as bits.
enum NetworkReads : uint32_t {
  kReadsBatchNormSwitch = 1,  // model.batch_norm
  kReadsBatchNorm = 2,        // Its momentum and epsilon.
  kReadsDropout = 4,
  kReadsHidden = 8,
  kReadsKernel = 16,
  kReadsWidth = 32,
  kReadsZeroLastNorm = 64,
};

struct KnownNetwork {
  std::string_view name;  // "resnet18"
  int64_t least_side;     // Of images, in pixels: of smaller ones a window finds too few.
  uint32_t reads;
};

std::span<const KnownNetwork> KnownNetworks();
const KnownNetwork* FindNetwork(std::string_view name);

// InvalidArgument: "inception_v3 needs images of at least 75 x 75 pixels, cifar10 has 32 x 32".
// `network` is known; `data` names what has these images.
absl::Status CheckImages(std::string_view network, std::string_view data, int64_t height,
                         int64_t width);

}  // namespace noisefloor
