// Two small studies for a gate between them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/report/gate.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {

inline constexpr int64_t kGateExamples = 400;

// Right but for a random tenth; of the first `moved` all are wrong.
inline std::vector<int16_t> GateAnswers(analysis::Draws& draws, int64_t moved) {
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kGateExamples; ++x) {
    const bool wrong = draws.Uniform() < 0.1 || x < moved;
    answers.push_back(static_cast<int16_t>(wrong ? 1 - x % 2 : x % 2));
  }
  return answers;
}

inline void AddGateAlgo(TinyStudy& tiny, int replicates, int64_t moved, uint64_t seed,
                        const std::string& hardware = "cpu-a") {
  analysis::Draws draws(seed);
  tiny.AddCell("algo", Algo(), hardware);
  for (int r = 0; r < replicates; ++r) tiny.AddMember(GateAnswers(draws, moved));
  tiny.input.evaluations[0].identity = "same";
}

inline const GateFigure& GateFigureOf(const Gate& gate, const std::string& name) {
  for (const GateFigure& figure : gate.settings.at(0).figures) {
    if (figure.figure == name) return figure;
  }
  ADD_FAILURE() << "no figure " << name;
  return gate.settings.at(0).figures.at(0);
}

inline Gate Compared(const TinyStudy& a, const TinyStudy& b, const GateOptions& options = {}) {
  absl::StatusOr<Gate> gate = CompareStudies(a.input, b.input, options);
  EXPECT_TRUE(gate.ok()) << gate.status();
  return gate.ok() ? *std::move(gate) : Gate{};
}

}  // namespace noisefloor::report
