#include "coordinator/analysis/ensemble.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/analysis/slow_jackknife.h"

namespace noisefloor::analysis {
namespace {

struct Members {
  std::vector<std::vector<float>> logits;
  std::vector<int32_t> labels;
  int32_t classes = 0;

  std::vector<std::span<const float>> Views() const { return {logits.begin(), logits.end()}; }
  // In long doubles.
  std::vector<long double> Mean(const std::vector<size_t>& of) const {
    std::vector<long double> mean(labels.size() * static_cast<size_t>(classes), 0);
    for (const size_t m : of) {
      for (size_t x = 0; x < labels.size(); ++x) {
        long double sum = 0;
        for (int32_t k = 0; k < classes; ++k) sum += std::exp((long double){At(m, x, k)});
        for (int32_t k = 0; k < classes; ++k) {
          mean[x * static_cast<size_t>(classes) + static_cast<size_t>(k)] +=
              std::exp((long double){At(m, x, k)}) / sum / static_cast<long double>(of.size());
        }
      }
    }
    return mean;
  }
  float At(size_t m, size_t x, int32_t k) const {
    return logits[m][x * static_cast<size_t>(classes) + static_cast<size_t>(k)];
  }
};

// Each leans to the label, as far as an example is easy.
Members Some(uint64_t seed, size_t members, size_t examples, int32_t classes, double noise = 1) {
  Draws draws(seed);
  Members some;
  some.classes = classes;
  std::vector<double> easy;
  for (size_t x = 0; x < examples; ++x) {
    some.labels.push_back(static_cast<int32_t>(draws.Below(classes)));
    easy.push_back(1 + draws.Normal());
  }
  for (size_t m = 0; m < members; ++m) {
    std::vector<float>& logits = some.logits.emplace_back();
    for (size_t x = 0; x < examples; ++x) {
      for (int32_t k = 0; k < classes; ++k) {
        logits.push_back(
            static_cast<float>((k == some.labels[x] ? easy[x] : 0) + noise * draws.Normal()));
      }
    }
  }
  return some;
}

struct SlowEnsemble {
  double accuracy = 0;
  double log_loss = 0;
  double brier = 0;
};

SlowEnsemble ScoresOf(const Members& members, const std::vector<size_t>& of) {
  const std::vector<long double> mean = members.Mean(of);
  const size_t examples = members.labels.size();
  long double right = 0, loss = 0, brier = 0;
  for (size_t x = 0; x < examples; ++x) {
    const auto row =
        mean.begin() + static_cast<ptrdiff_t>(x * static_cast<size_t>(members.classes));
    const auto label = members.labels[x];
    right += std::max_element(row, row + members.classes) - row == label;
    loss -= std::log(row[label]);
    for (int32_t k = 0; k < members.classes; ++k) {
      const long double gap = row[k] - (k == label ? 1 : 0);
      brier += gap * gap;
    }
  }
  const auto n = static_cast<long double>(examples);
  return {static_cast<double>(right / n), static_cast<double>(loss / n),
          static_cast<double>(brier / n)};
}

// All groups of `size` of the members, but for `without`.
void EachGroup(size_t members, size_t size, const std::function<void(std::vector<size_t>)>& each) {
  std::vector<bool> chosen(members, false);
  std::fill(chosen.begin(), chosen.begin() + static_cast<ptrdiff_t>(size), true);
  do {
    std::vector<size_t> group;
    for (size_t m = 0; m < members; ++m) {
      if (chosen[m]) group.push_back(m);
    }
    each(group);
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
}

TEST(EnsembleTest, OneMemberHasTheMeanOfTheirOwnScores) {
  const Members members = Some(1, 5, 60, 4);
  const EnsembleScores one = ScoreEnsembles(members.Views(), members.labels, 4).at(0);
  EXPECT_EQ(one.size, 1);
  std::vector<double> accuracy, loss, brier;
  for (size_t m = 0; m < 5; ++m) {
    const SlowEnsemble slow = ScoresOf(members, {m});
    accuracy.push_back(slow.accuracy);
    loss.push_back(slow.log_loss);
    brier.push_back(slow.brier);
  }
  const auto expect = [](const Estimate& estimate, const std::vector<double>& values) {
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const auto n = static_cast<int64_t>(values.size());
    const Interval t = *TInterval(mean, std::sqrt(squares / static_cast<double>(n * (n - 1))), n);
    EXPECT_NEAR(*estimate.value, mean, 1e-6);
    EXPECT_NEAR(*estimate.low, t.low, 1e-5);
    EXPECT_NEAR(*estimate.high, t.high, 1e-5);
    EXPECT_EQ(estimate.n, n);
  };
  expect(one.accuracy, accuracy);
  expect(one.log_loss, loss);
  expect(one.brier, brier);
}

TEST(EnsembleTest, BriersScoreIsTheMeanOverAllGroupsAndItsIntervalTheJackknifes) {
  const Members members = Some(2, 8, 50, 3);
  const std::vector<EnsembleScores> scores = ScoreEnsembles(members.Views(), members.labels, 3);
  ASSERT_EQ(scores.size(), 3u);
  for (const EnsembleScores& one : scores) {
    const auto size = static_cast<size_t>(one.size);
    // Of all groups, and of those without each member.
    double sum = 0, groups = 0;
    std::vector<double> without(8, 0), counts(8, 0);
    EachGroup(8, size, [&](const std::vector<size_t>& group) {
      const double brier = ScoresOf(members, group).brier;
      sum += brier;
      groups += 1;
      for (size_t m = 0; m < 8; ++m) {
        if (std::ranges::count(group, m) > 0) continue;
        without[m] += brier;
        counts[m] += 1;
      }
    });
    EXPECT_NEAR(*one.brier.value, sum / groups, 1e-6) << size;
    if (size > 2) continue;  // Of a mean over pairs the jackknife is the same.
    double mean = 0, squares = 0;
    for (size_t m = 0; m < 8; ++m) mean += (without[m] /= counts[m]) / 8;
    for (const double value : without) squares += (value - mean) * (value - mean);
    const Interval t = *TInterval(*one.brier.value, std::sqrt(7.0 / 8 * squares), 8);
    EXPECT_NEAR(*one.brier.low, t.low, 1e-5) << size;
    EXPECT_NEAR(*one.brier.high, t.high, 1e-5) << size;
  }
}

TEST(EnsembleTest, AccuracyAndLossComeNearTheMeanOverAllGroups) {
  const Members members = Some(3, 8, 400, 4);
  const std::vector<EnsembleScores> scores = ScoreEnsembles(members.Views(), members.labels, 4);
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[1].size, 2);
  EXPECT_EQ(scores[2].size, 4);
  for (size_t s = 1; s < 3; ++s) {
    double accuracy = 0, loss = 0, groups = 0;
    EachGroup(8, static_cast<size_t>(scores[s].size), [&](const std::vector<size_t>& group) {
      const SlowEnsemble slow = ScoresOf(members, group);
      accuracy += slow.accuracy;
      loss += slow.log_loss;
      groups += 1;
    });
    EXPECT_NEAR(*scores[s].accuracy.value, accuracy / groups, 0.002);
    EXPECT_NEAR(*scores[s].log_loss.value, loss / groups, 0.002);
    EXPECT_LT(*scores[s].log_loss.value, *scores[s - 1].log_loss.value - 0.02);
  }
}

// Confidence is 3/4 or so whatever happens, and so many are right.
TEST(EnsembleTest, CalibrationIsTheGapOfConfidenceAndAccuracy) {
  constexpr size_t kExamples = 3000;
  for (const double right : {0.75, 0.55}) {
    Members members;
    members.classes = 2;
    Draws draws(4);
    for (size_t x = 0; x < kExamples; ++x) {
      members.labels.push_back(draws.Uniform() < right ? 0 : 1);
    }
    for (int m = 0; m < 4; ++m) {
      std::vector<float>& logits = members.logits.emplace_back();
      for (size_t x = 0; x < kExamples; ++x) {
        logits.push_back(static_cast<float>(std::log(3.0) + 1e-3 * draws.Normal()));
        logits.push_back(0);
      }
    }
    const Estimate calibration =
        ScoreEnsembles(members.Views(), members.labels, 2).at(0).calibration;
    EXPECT_NEAR(*calibration.value, 0.75 - right, 0.025) << right;
    if (right == 0.55) {
      ASSERT_TRUE(calibration.low.has_value() && calibration.high.has_value());
      EXPECT_LE(*calibration.low, *calibration.value);
      EXPECT_GE(*calibration.high, *calibration.value);
    }
    if (right == 0.75) {
      EXPECT_LE(*calibration.value, 0.025);
    }
  }
}

// All as sure of themselves: bins are no place to part the right from the wrong.
TEST(EnsembleTest, CalibrationOfEqualConfidencesIsThatOfThemAll) {
  constexpr size_t kExamples = 3000;
  Members members;
  members.classes = 2;
  Draws draws(9);
  for (size_t x = 0; x < kExamples; ++x) members.labels.push_back(draws.Uniform() < 0.75 ? 0 : 1);
  for (int m = 0; m < 4; ++m) {
    std::vector<float>& logits = members.logits.emplace_back();
    for (size_t x = 0; x < kExamples; ++x) {
      logits.push_back(std::log(3.0F));
      logits.push_back(0);
    }
  }
  EXPECT_LE(*ScoreEnsembles(members.Views(), members.labels, 2).at(0).calibration.value, 0.025);
}

// Three quarters sure and wrong each time; of less than two examples in a bin nothing is known of
// chance.
TEST(EnsembleTest, CalibrationOfFewExamplesHasTwoInEachBin) {
  for (const size_t examples : {2u, 20u, 29u}) {
    Members members;
    members.classes = 2;
    members.labels.assign(examples, 1);
    std::vector<float>& logits = members.logits.emplace_back();
    for (size_t x = 0; x < examples; ++x) {
      logits.push_back(std::log(3.0F));
      logits.push_back(0);
    }
    EXPECT_NEAR(*ScoreEnsembles(members.Views(), members.labels, 2).at(0).calibration.value, 0.75,
                1e-6)
        << examples;
  }
}

TEST(EnsembleTest, MembersThatAreOneHaveNoIntervalAndGainNothing) {
  Members members = Some(5, 1, 40, 3);
  for (int copy = 0; copy < 5; ++copy) members.logits.push_back(members.logits[0]);
  const std::vector<EnsembleScores> scores = ScoreEnsembles(members.Views(), members.labels, 3);
  ASSERT_EQ(scores.size(), 2u);
  const SlowEnsemble alone = ScoresOf(members, {0});
  for (const EnsembleScores& one : scores) {
    EXPECT_EQ(*one.accuracy.value, alone.accuracy);
    EXPECT_NEAR(*one.log_loss.value, alone.log_loss, 1e-6);
    EXPECT_NEAR(*one.brier.value, alone.brier, 1e-6);
    EXPECT_FALSE(one.accuracy.low.has_value());
    EXPECT_FALSE(one.brier.low.has_value());
    EXPECT_EQ(one.accuracy.note, "no interval: leaving out a member changes nothing");
  }
}

// One of four is mostly wrong. Of all groups of two, with d between the losses of those with it and
// those without it, the jackknife's standard error is d / 2; of permutations that are drawn, near
// it.
TEST(EnsembleTest, AGroupsScoreCountsForItsOwnMembers) {
  Members members;
  members.classes = 2;
  members.labels.assign(20, 0);
  const auto say = [&](double probability) {
    std::vector<float>& logits = members.logits.emplace_back();
    for (size_t x = 0; x < 20; ++x) {
      logits.push_back(static_cast<float>(std::log(probability / (1 - probability))));
      logits.push_back(0);
    }
  };
  for (const double probability : {0.1, 0.9, 0.9, 0.9}) say(probability);
  const EnsembleScores two = ScoreEnsembles(members.Views(), members.labels, 2).at(1);
  ASSERT_EQ(two.size, 2);
  EXPECT_NEAR(*two.log_loss.value, -std::log(0.9) / 2 - std::log(0.5) / 2, 1e-5);
  const double half_width = TQuantile(3, 0.975) * std::log(0.9 / 0.5) / 2;
  EXPECT_NEAR(*two.log_loss.high - *two.log_loss.value, half_width, half_width / 10);
}

TEST(EnsembleTest, ALossIsToldHoweverSureAMemberIsOfAnother) {
  Members members;
  members.classes = 2;
  members.labels = {1, 1};
  for (int m = 0; m < 3; ++m) members.logits.push_back({30, 0, 30, 0});
  EXPECT_NEAR(*ScoreEnsembles(members.Views(), members.labels, 2).at(0).log_loss.value, 30, 1e-3);
}

TEST(EnsembleTest, TwoMembersHaveNoInterval) {
  const Members members = Some(10, 2, 40, 3);
  const EnsembleScores one = ScoreEnsembles(members.Views(), members.labels, 3).at(0);
  for (const Estimate* estimate : {&one.accuracy, &one.log_loss, &one.brier, &one.calibration}) {
    EXPECT_TRUE(estimate->value.has_value());
    EXPECT_FALSE(estimate->low.has_value() || estimate->high.has_value());
    EXPECT_FALSE(estimate->note.empty());
  }
}

TEST(EnsembleTest, SizesGoUpToHalfOfTheMembers) {
  const auto sizes = [](size_t members) {
    const Members some = Some(6, members, 20, 3);
    std::vector<int64_t> of;
    for (const auto& one : ScoreEnsembles(some.Views(), some.labels, 3)) of.push_back(one.size);
    return of;
  };
  EXPECT_EQ(sizes(1), (std::vector<int64_t>{1}));
  EXPECT_EQ(sizes(3), (std::vector<int64_t>{1}));
  EXPECT_EQ(sizes(4), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(sizes(7), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(sizes(8), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(sizes(17), (std::vector<int64_t>{1, 2, 4, 8}));
}

TEST(EnsembleTest, AsManyMembersAreLookedAtAsFit) {
  EXPECT_EQ(EnsembleMembers(100, 10000, 10), 10);
  EXPECT_EQ(EnsembleMembers(100, 1000, 10), 16);
  EXPECT_EQ(EnsembleMembers(7, 10000, 10), 7);
  EXPECT_EQ(EnsembleMembers(100, 10000, 200), 8);
  EXPECT_EQ(EnsembleMembers(100, 50000, 100), 3);
  EXPECT_EQ(EnsembleMembers(100, 50000, 1000), 0);
  EXPECT_EQ(EnsembleMembers(100, 0, 10), 0);
}

TEST(EnsembleTest, MixingGainsWhatTheMeanAnswersDiffer) {
  // Both sides share the noise of their places; the second leans elsewhere on some examples.
  Members a = Some(7, 7, 80, 4);
  Members b = a;
  Draws draws(8);
  for (std::vector<float>& logits : b.logits) {
    for (size_t x = 0; x < 80; ++x) {
      logits[x * 4] += x % 4 == 0 ? 2.0F : 0.0F;
      logits[x * 4 + 1] += static_cast<float>(0.3 * draws.Normal());
    }
  }
  const Estimate gain = GainOfMixing(a.Views(), b.Views(), 4);
  const auto half_distance = [&](const Members& one, size_t i, const Members& other, size_t j) {
    const auto p = one.Mean({i});
    const auto q = other.Mean({j});
    long double sum = 0;
    for (size_t at = 0; at < p.size(); ++at) sum += (p[at] - q[at]) * (p[at] - q[at]);
    return sum / 2 / 80;
  };
  ExpectJackknife(gain, 7, -1, 1, [&](int64_t i, int64_t j) {
    const auto r = static_cast<size_t>(i);
    const auto s = static_cast<size_t>(j);
    return ((half_distance(a, r, b, s) + half_distance(a, s, b, r)) / 2 -
            (half_distance(a, r, a, s) + half_distance(b, r, b, s)) / 2) /
           2;
  });
  EXPECT_GT(*gain.low, 0);
  const Estimate nothing = GainOfMixing(a.Views(), a.Views(), 4);
  EXPECT_EQ(*nothing.value, 0);
  b.logits.pop_back();
  EXPECT_FALSE(GainOfMixing(a.Views(), b.Views(), 4).value.has_value());
}

}  // namespace
}  // namespace noisefloor::analysis
