#include "worker/trainer/cuda/dial.h"

#include "common/base/philox.h"
#include "worker/trainer/noise/normal.h"

namespace noisefloor::cuda {

void DialOnHost(const DialNoise& noise, std::string_view tensor, std::span<float> values) {
  const PhiloxStream stream(noise.seed, StreamOf(tensor));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t word = stream.Block((noise.step << 36) + i / 4)[i % 4];
    values[i] = values[i] + noise.size * values[i] * trainer::NormalFloat(word);
  }
}

}  // namespace noisefloor::cuda
