// What the estimators of answers cost that are of all pairs of members, from answers in memory.
//
//   noisefloor-estimators-bench [--members=R] [--examples=N] [--classes=K] [--answers=FILE]
//
// Prints a line of JSON: seconds (the least of five) of the mean churn with its jackknife, of the
// matrix of churns, and of the exact test of two sides, with what they gave, so that another
// program can be held to it. --answers: writes the answers first, int16, {members, examples}, row
// major.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

#include "common/base/philox.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/exchange.h"
#include "coordinator/analysis/packed_answers.h"

namespace noisefloor::analysis {
namespace {

constexpr int kRounds = 5;

// Four of five answers are right, the others any.
PredictionMatrix Draw(int64_t members, int64_t examples, int32_t classes) {
  const PhiloxStream stream(0, StreamOf("estimators bench"));
  uint64_t next = 0;
  PredictionMatrix answers(examples, classes);
  answers.Reserve(members);
  for (int64_t m = 0; m < members; ++m) {
    std::vector<int16_t> row;
    for (int64_t x = 0; x < examples; ++x) {
      const uint32_t word = stream.Word(next++);
      const auto any = static_cast<int16_t>(word % static_cast<uint32_t>(classes));
      row.push_back(word >> 16 < 52429 ? static_cast<int16_t>(x % classes) : any);
    }
    if (!answers.AddAnswers(row).ok()) std::abort();
  }
  return answers;
}

template <typename Work>
double SecondsOf(const Work& work) {
  double least = 1e300;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count());
  }
  return least;
}

bool Write(const std::string& path, const PredictionMatrix& answers) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  bool good = true;
  for (int64_t m = 0; m < answers.members(); ++m) {
    const std::span<const int16_t> row = answers.Row(m);
    good = good && std::fwrite(row.data(), sizeof(int16_t), row.size(), file) == row.size();
  }
  return std::fclose(file) == 0 && good;
}

int Main(int argc, char** argv) {
  int64_t members = 1000;
  int64_t examples = 10000;
  int32_t classes = 10;
  std::string path;
  CLI::App app("What estimators of all pairs of members cost");
  app.add_option("--members", members, "an even number of them");
  app.add_option("--examples", examples, "of the test set");
  app.add_option("--classes", classes, "of the data set");
  app.add_option("--answers", path, "write the answers here");
  CLI11_PARSE(app, argc, argv);
  const PredictionMatrix answers = Draw(members, examples, classes);
  if (!path.empty() && !Write(path, answers)) {
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    return 1;
  }
  Estimate churn;
  const double of_mean = SecondsOf([&] { churn = MeanChurn(answers); });
  double sum = 0;
  const double of_matrix = SecondsOf([&] {
    const PairMatrix pairs = ChurnMatrix(answers);
    sum = SumPairs(pairs).total;
  });
  Sides sides(2);
  for (int64_t m = 0; m < members; ++m) {
    sides[static_cast<size_t>(m % 2)].push_back(m);
  }
  ShiftTest test;
  const double of_test = SecondsOf([&] {
    const PackedAnswers packed(answers);
    KnownPairs pairs(packed);
    test = TestShift(pairs, std::vector<Sides>{sides}, Exchange::kWithinReplicates);
  });
  std::printf(
      "{\"members\": %lld, \"examples\": %lld, \"classes\": %d, \"mean_churn_seconds\": %.6f, "
      "\"mean_churn\": %.12f, \"low\": %.12f, \"high\": %.12f, \"matrix_seconds\": %.6f, "
      "\"matrix_sum\": %.9f, \"shift_test_seconds\": %.6f, \"p\": %.9f}\n",
      static_cast<long long>(members), static_cast<long long>(examples), classes, of_mean,
      *churn.value, churn.low.value_or(-1), churn.high.value_or(-1), of_matrix, sum, of_test,
      test.p);
  return 0;
}

}  // namespace
}  // namespace noisefloor::analysis

int main(int argc, char** argv) { return noisefloor::analysis::Main(argc, argv); }
