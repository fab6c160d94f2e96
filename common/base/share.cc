#include "common/base/share.h"

#include <charconv>

namespace noisefloor {

std::optional<double> ParseShare(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (percent) value /= 100;
  if (!percent && value >= 0.1) return std::nullopt;
  return value > 0 && value <= 0.5 ? std::optional(value) : std::nullopt;
}

}  // namespace noisefloor
