// Normal draws that are the same on every machine. Normative; any thread.
//
// No function of the C library: only +, -, *, / and sqrt of doubles, which IEEE 754 rounds the same
// way everywhere, in a fixed order and without fused multiply-add.
#pragma once

#include <cstdint>

namespace noisefloor::trainer {

// The natural logarithm of a positive, finite, normal number: x = m * 2^e with m in
// [sqrt(1/2), sqrt(2)), then e * ln 2 + 2 atanh((m - 1) / (m + 1)) by eleven terms of the series.
// Relative error below 1e-15 for x below 1/2.
double PortableLog(double x);

// The inverse of the normal distribution function at p in [2^-33, 1 - 2^-33]: Wichura's rational
// approximations (algorithm AS 241, PPND16). Relative error below 1e-14.
double InverseNormal(double p);

// Standard normal from 32 random bits: InverseNormal((word + 1/2) / 2^32), rounded to float.
// Between -6.34 and 6.34.
inline float NormalFloat(uint32_t word) {
  return static_cast<float>(InverseNormal((static_cast<double>(word) + 0.5) / 4294967296.0));
}

}  // namespace noisefloor::trainer
