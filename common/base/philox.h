// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror, Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3" (SC'11). A draw is a pure function of key and counter, made of
// integers only, so every machine gets the same one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace noisefloor {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr PhiloxCounter Philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

// One stream of draws: 64-bit seed = key (low word first), 64-bit stream = upper counter words,
// 64-bit index = lower counter words. Each index yields four 32-bit words. A value; any thread.
class PhiloxStream {
 public:
  constexpr PhiloxStream(uint64_t seed, uint64_t stream)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        high_{static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)} {}

  // The four words of draw `index`.
  constexpr PhiloxCounter Block(uint64_t index) const {
    return Philox(
        {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), high_[0], high_[1]},
        key_);
  }
  // The 32-bit word number `element`: word element % 4 of block element / 4.
  constexpr uint32_t Word(uint64_t element) const { return Block(element / 4)[element % 4]; }

 private:
  PhiloxKey key_;
  std::array<uint32_t, 2> high_;
};

// A uniform integer in [0, bound) from 64 random bits: the high word of bits * bound (Lemire's
// multiply-shift without rejection; bias below bound / 2^64). bound > 0.
constexpr uint64_t UniformBelow(uint64_t bits, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * bound) >> 64);
}

// A uniform float in [0, 1) from the upper 24 bits of a word: exact, the same everywhere.
constexpr float UniformFloat(uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
}

// The 64-bit FNV-1a hash of a name: the stream number of a parameter or layer.
constexpr uint64_t StreamOf(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  return hash;
}

}  // namespace noisefloor
