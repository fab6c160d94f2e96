#include "common/trainer_protocol/factors.h"

#include <charconv>
#include <string>

namespace noisefloor {

namespace {

constexpr double kMost = 1e6;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

absl::StatusOr<std::vector<double>> ReadFactors(std::string_view text) {
  std::vector<double> factors;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view part = text.substr(0, space);
    double factor = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), factor);
    const bool whole = error == std::errc() && end == part.data() + part.size();
    // Not "inf", "nan" or "-0"; a space at the end is followed by an empty part.
    if (!whole || !IsDigit(part.front()) || factor > kMost || space + 1 == text.size()) {
      return InvalidInput("'" + std::string(part) +
                          "'; expected numbers from 0 to 1000000 with one space between two");
    }
    factors.push_back(factor);
    text = space == std::string_view::npos ? "" : text.substr(space + 1);
  }
  return factors;
}

}  // namespace noisefloor
