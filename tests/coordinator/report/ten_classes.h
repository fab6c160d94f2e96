// Answers to a hundred examples of ten classes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {

inline constexpr int64_t kExamples = 100;

// Ten classes; right but for `wrong` examples.
inline std::vector<int16_t> TenClassAnswers(int64_t wrong) {
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kExamples; ++x) {
    answers.push_back(static_cast<int16_t>((x + (x < wrong ? 1 : 0)) % 10));
  }
  return answers;
}

// Members that are right but for the examples of some classes, where a coin decides.
inline void AddTossers(TinyStudy& tiny, int replicates, const std::vector<int16_t>& classes,
                       uint64_t seed) {
  analysis::Draws draws(seed);
  for (int r = 0; r < replicates; ++r) {
    std::vector<int16_t> answers = TenClassAnswers(0);
    for (int16_t& answer : answers) {
      if (std::ranges::count(classes, answer) == 0 || draws.Uniform() < 0.5) continue;
      answer = static_cast<int16_t>((answer + 1) % 10);
    }
    tiny.AddMember(answers);
  }
}

}  // namespace noisefloor::report
