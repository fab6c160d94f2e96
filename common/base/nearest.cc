#include "common/base/nearest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace noisefloor {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row[b.size()];
}

std::string_view Nearest(std::string_view wrong, std::span<const std::string_view> known) {
  if (wrong.size() > kMostCompared) return {};
  std::string_view best;
  size_t least = std::max<size_t>(2, wrong.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const size_t distance = EditDistance(wrong, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace noisefloor
