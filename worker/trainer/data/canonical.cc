#include "worker/trainer/data/canonical.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <tuple>

namespace noisefloor::trainer {

CanonicalOrder RankExamples(const RawSplit& split, SplitKind kind, const ImageShape& shape) {
  const size_t pixels = static_cast<size_t>(shape.pixels());
  std::vector<Sha256Digest> digests;
  digests.reserve(split.labels.size());
  Sha256 hash;
  for (size_t i = 0; i < split.labels.size(); ++i) {
    const std::array<uint8_t, 3> head = {static_cast<uint8_t>(kind),
                                         static_cast<uint8_t>(split.labels[i] & 0xff),
                                         static_cast<uint8_t>(split.labels[i] >> 8)};
    hash.Update(std::as_bytes(std::span(head)));
    hash.Update(std::as_bytes(std::span(split.images).subspan(i * pixels, pixels)));
    digests.push_back(hash.Digest());
  }
  CanonicalOrder order;
  order.places.resize(digests.size());
  std::iota(order.places.begin(), order.places.end(), 0u);
  std::sort(order.places.begin(), order.places.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(digests[a], a) < std::tie(digests[b], b);
  });
  order.digests.reserve(digests.size());
  for (const uint32_t place : order.places) order.digests.push_back(digests[place]);
  return order;
}

std::string DatasetIdentity(int64_t classes, const ImageShape& shape, const CanonicalOrder& train,
                            const CanonicalOrder& test) {
  Sha256 hash;
  hash.Update("noisefloor dataset 1\n");
  for (const int64_t number :
       {classes, shape.channels, shape.height, shape.width,
        static_cast<int64_t>(train.digests.size()), static_cast<int64_t>(test.digests.size())}) {
    hash.UpdateU64(static_cast<uint64_t>(number));
  }
  for (const CanonicalOrder* split : {&train, &test}) {
    hash.Update(std::as_bytes(std::span(split->digests)));
  }
  return hash.Hex();
}

}  // namespace noisefloor::trainer
