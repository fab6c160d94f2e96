// A quick check of bytes against damage (a disk's, a half written file's), several GB a second
// where SHA-256 does one. Not against an enemy: its key is known to everybody.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace noisefloor {

// GMAC with AES-128 under a fixed key: another content has the same one with a chance of 2^-128.
using Checksum = std::array<uint8_t, 16>;

// Any thread. Cannot fail: a failing OpenSSL is a bug and stops the program.
Checksum ChecksumOf(std::span<const std::byte> bytes);

}  // namespace noisefloor
