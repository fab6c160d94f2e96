// Small helpers for reading rows.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace noisefloor::query {

// Why members of a sweep failed that were never tried: no worker has their data
// (scheduler/time.cc).
inline constexpr char kFailedTogether[] =
    "SELECT text FROM event WHERE sweep = ? AND kind = 'members_failed' ORDER BY event DESC LIMIT "
    "1";

// The number that `text` is in decimal; 0 when it is none.
inline uint64_t UnsignedOf(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The class of the metric "class_accuracy/N".
inline std::optional<size_t> ClassOf(std::string_view metric) {
  constexpr std::string_view kPrefix = "class_accuracy/";
  if (!metric.starts_with(kPrefix)) return std::nullopt;
  const uint64_t label = UnsignedOf(metric.substr(kPrefix.size()));
  if (label >= 100000) return std::nullopt;  // No data set of ours; do not make room for it.
  return label;
}

}  // namespace noisefloor::query
