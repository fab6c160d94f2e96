// Data sets that tests make, and what else they leave: in temporary folders, which end with the
// program.
#pragma once

#include <cstddef>
#include <string>

namespace noisefloor::trainer {

// An empty one.
std::string NewFolder();

// A data root with a synthetic "fashion-mnist-sample" (6,000 + 1,000 images of patterns that a
// network can learn), made once. `variant`: "plain", "reordered" (the same examples in another
// order) or "pixel" (one pixel of one image differs).
std::string SyntheticDataRoot(const std::string& variant = "plain");

// One with a synthetic "cifar10" of the whole size, made once: noise, in which a red byte is below
// kColourLevels, a green one from there to twice as much, a blue one above.
std::string SyntheticColourRoot();
inline constexpr size_t kColourLevels = 85;
inline constexpr size_t kColourPlane = 1024;  // Pixels of an image.

}  // namespace noisefloor::trainer
