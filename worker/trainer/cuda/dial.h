// Noise of a stated size, on the host: what the kernel Dial does. Normative.
//
// Element i of a tensor becomes value + (size * value) * z, three float operations, each rounded; z
// is the normal draw (NormalFloat) of word i mod 4 of block step * 2^36 + i / 4 of the stream
// StreamOf(name) under the seed; i counts in logical order. The noise is relative to the element
// itself, as rounding is, so that it needs no sum over a tensor and is the same on every device and
// for any number of shards: a zero stays zero, and a size below 2^-26 or so changes nothing. Size
// 2^-24 is about what one rounding does.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace noisefloor::cuda {

struct DialNoise {
  uint64_t seed = 0;
  uint64_t step = 0;  // Below 2^28.
  float size = 0;
};

// Fewer than 2^38 values.
void DialOnHost(const DialNoise& noise, std::string_view tensor, std::span<float> values);

}  // namespace noisefloor::cuda
