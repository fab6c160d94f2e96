// Comparisons of hardware, or of stacks, in words. Internal to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// "0.004"
std::string PValue(double p);

// "this test alone", "the 12 tests of the study": what CorrectClaims corrected over.
std::string OverTests(int64_t tests);

// What one draw of the held sources means for a sentence: " at this one init and data_order"; ""
// over several blocks, or where none is held.
std::string AtOneDraw(std::span<const std::string> held, int64_t blocks);

// The same for a permutation test, which exchanges inside the blocks: what it shows, it shows of
// their draws only. " at these 3 draws of init and data_order" over several.
std::string AtTheseDraws(std::span<const std::string> held, int64_t blocks);

// "hardware", "stack"
std::string_view Word(Factor factor);
// "classes", "stacks"
std::string_view SidesWord(Factor factor);

// Does any of the sides shift the mean answer?
std::string TextOf(const SettingTest& test);

// "Changing only the hardware changes ...": how much, over how many draws.
std::string ChurnText(const Comparison& comparison);

// " The hardware shifts the mean answer ...", or why that is not said.
std::string ShiftText(const Comparison& comparison);

// What changing the factor changes, beside the noise inside a side, and whether the mean answer
// shifts.
std::string TextOf(const Comparison& comparison);

}  // namespace noisefloor::report
