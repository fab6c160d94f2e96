// Simulated members whose truth is known: each example has a margin for its class; a seed, which
// the classes of hardware share as lanes are shared, and a run add normal noise to every logit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::report {

using analysis::Draws;

// NOISEFLOOR_STUDIES, or 100.
inline int StudyCount() {
  const char* asked = std::getenv("NOISEFLOOR_STUDIES");
  return asked == nullptr ? 100 : std::max(1, std::atoi(asked));
}

// The largest share that chance leaves likely where the true one is at most `level`.
inline double AtMost(double level, int studies) {
  return level + 3 * std::sqrt(level * (1 - level) / studies);
}

struct Latent {
  int64_t examples = 60;
  int32_t classes = 4;
  double seed_noise = 1.0;
  double run_noise = 0.3;
  int64_t moved = 0;  // Examples whose margin the second class of hardware turns round.
  std::vector<double> margins;

  explicit Latent(Draws& draws, int64_t example_count = 60) : examples(example_count) {
    for (int64_t x = 0; x < examples; ++x) margins.push_back(1.5 + 1.2 * draws.Normal());
  }
  std::vector<double> Noise(Draws& draws, double size) const {
    std::vector<double> noise;
    for (int64_t k = 0; k < examples * classes; ++k) noise.push_back(size * draws.Normal());
    return noise;
  }
  std::vector<int16_t> Answer(Draws& draws, const std::vector<double>& seed, bool second) const {
    std::vector<int16_t> answers;
    for (int64_t x = 0; x < examples; ++x) {
      const auto at = static_cast<size_t>(x);
      const double margin = second && x < moved ? -margins[at] : margins[at];
      int16_t best = 0;
      double most = -1e300;
      for (int32_t k = 0; k < classes; ++k) {
        const double logit = (k == x % classes ? margin : 0) +
                             seed[at * static_cast<size_t>(classes) + static_cast<size_t>(k)] +
                             run_noise * draws.Normal();
        if (logit > most) best = static_cast<int16_t>(k);
        most = std::max(most, logit);
      }
      answers.push_back(best);
    }
    return answers;
  }
};

}  // namespace noisefloor::report
