// Comparisons of hardware in words. Internal to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// "0.004"
std::string PValue(double p);

// What one draw of the held sources means for a sentence: " at this one init and data_order"; ""
// over several blocks, or where none is held.
std::string AtOneDraw(std::span<const std::string> held, int64_t blocks);

// The same for a permutation test, which exchanges inside the blocks: what it shows, it shows of
// their draws only. " at these 3 draws of init and data_order" over several.
std::string AtTheseDraws(std::span<const std::string> held, int64_t blocks);

// Does any of the classes shift the mean answer?
std::string TextOf(const HardwareTest& test);

// "Changing only the hardware changes ...": how much, over how many draws.
std::string ChurnText(const HardwareComparison& comparison);

// " The hardware shifts the mean answer ...", or why that is not said.
std::string ShiftText(const HardwareComparison& comparison);

// What changing the hardware changes, beside the noise inside a class, and whether the mean answer
// shifts.
std::string TextOf(const HardwareComparison& comparison);

}  // namespace noisefloor::report
