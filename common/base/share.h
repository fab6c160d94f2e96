// Shares that people write: "0.5%", "0.005".
#pragma once

#include <optional>
#include <string_view>

namespace noisefloor {

// A fraction above 0 and at most a half. Nothing for other texts; without a '%' also from 0.1 on,
// which is most likely meant for a percentage.
std::optional<double> ParseShare(std::string_view text);

}  // namespace noisefloor
