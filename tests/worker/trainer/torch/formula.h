// Numbers that the tests and make_reference.py make by the same formula.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/trainer/data/dataset.h"
#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// Where what Python made of such numbers lies; ends with "/".
std::string ReferenceFolder();

// Element i: m / 2^32 - 1/2; see make_reference.py.
std::vector<double> FormulaNumbers(std::string_view name, int64_t count);

// Sets every weight and buffer.
void SetByFormula(const Model& model);

// Images {count, channels, side, side} in [0, 1), channels_last; labels 3 i modulo 10.
at::Tensor FormulaImages(int64_t count, int64_t channels, int64_t side);
at::Tensor FormulaLabels(int64_t count);

// Training images of uniform bytes, with the same labels; no test images.
Dataset DrawnDataset(const ImageShape& shape, uint32_t examples);

}  // namespace noisefloor::trainer
