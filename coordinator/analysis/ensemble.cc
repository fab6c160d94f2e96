#include "coordinator/analysis/ensemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/base/check.h"
#include "common/base/philox.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/sequential.h"
#include "coordinator/analysis/softmax.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kBins = 15;
// Additions that all permutations of one cell may take.
constexpr int64_t kWork = 10'000'000;
constexpr int64_t kLeastPermutations = 8;
constexpr int64_t kMostPermutations = 64;
// The least probability that a loss is told of: of a float that has become 0.
constexpr double kLeastProbability = 1e-30;

// Two members say nothing of how far they spread.
constexpr size_t kLeastMembers = 3;

Estimate TooFew(Estimate estimate) {
  estimate.low = estimate.high = std::nullopt;
  estimate.method.clear();
  estimate.note = "an interval takes three members";
  return estimate;
}

using Probabilities = std::vector<float>;  // {examples, classes}

Probabilities ProbabilitiesOf(std::span<const float> logits, int32_t classes) {
  Probabilities p(logits.size());
  Softmax(logits, static_cast<size_t>(classes), p);
  return p;
}

struct Scores {
  double accuracy = 0;
  double log_loss = 0;
  double calibration = 0;  // Squared, and below 0 by chance.
};

// The largest probability of one example, and whether its class is right.
struct Said {
  float confidence = 0;
  uint32_t example = 0;
  bool right = false;
  // Equal confidences stand in the order of examples: bins must not part them by what is right.
  friend bool operator<(const Said& a, const Said& b) {
    return std::pair(a.confidence, a.example) < std::pair(b.confidence, b.example);
  }
};

// Cut into bins by their bounds alone: inside a bin the order is no matter.
void SortIntoBins(std::span<Said> said, int64_t first, int64_t last, int64_t bins) {
  const int64_t middle = (first + last) / 2;
  if (middle == first) return;
  const int64_t examples = std::ssize(said);
  const auto at = [&](int64_t bin) { return said.begin() + bin * examples / bins; };
  std::nth_element(at(first), at(middle), at(last));
  SortIntoBins(said, first, middle, bins);
  SortIntoBins(said, middle, last, bins);
}

double Calibration(std::vector<Said>& said) {
  const auto examples = static_cast<int64_t>(said.size());
  const int64_t bins = std::min(kBins, examples / 2);
  SortIntoBins(said, 0, bins, bins);
  double sum = 0;
  for (int64_t bin = 0; bin < bins; ++bin) {
    const int64_t first = bin * examples / bins;
    const int64_t last = (bin + 1) * examples / bins;
    const auto count = static_cast<double>(last - first);
    double confidence = 0;
    double right = 0;
    for (int64_t x = first; x < last; ++x) {
      confidence += said[static_cast<size_t>(x)].confidence;
      right += said[static_cast<size_t>(x)].right;
    }
    const double accuracy = right / count;
    const double gap = confidence / count - accuracy;
    sum += count * (gap * gap - accuracy * (1 - accuracy) / (count - 1));
  }
  return sum / static_cast<double>(examples);
}

// Of the sum of the probabilities of `size` members.
Scores ScoreOf(const Probabilities& sum, double size, std::span<const int32_t> labels) {
  const size_t classes = sum.size() / labels.size();
  Scores scores;
  std::vector<Said> said;
  said.reserve(labels.size());
  for (size_t x = 0; x < labels.size(); ++x) {
    const float* const row = sum.data() + x * classes;
    const auto best = static_cast<size_t>(std::max_element(row, row + classes) - row);
    const auto label = static_cast<size_t>(labels[x]);
    const bool right = best == label;
    scores.accuracy += right;
    scores.log_loss -= std::log(std::max(kLeastProbability, row[label] / size));
    said.push_back({static_cast<float>(row[best] / size), static_cast<uint32_t>(x), right});
  }
  const auto examples = static_cast<double>(labels.size());
  scores.accuracy /= examples;
  scores.log_loss /= examples;
  scores.calibration = Calibration(said);
  return scores;
}

double SquaredDistance(const Probabilities& a, const Probabilities& b) {
  // In lanes of a known number, which compilers keep in vectors, and in pieces, so that what a
  // float adds up stays short.
  constexpr size_t kLanes = 16;
  constexpr size_t kPiece = 256 * kLanes;
  double sum = 0;
  size_t i = 0;
  while (a.size() - i >= kLanes) {
    std::array<float, kLanes> lanes{};
    const size_t last = std::min(a.size() - (a.size() - i) % kLanes, i + kPiece);
    for (; i < last; i += kLanes) {
      for (size_t l = 0; l < kLanes; ++l) {
        const float gap = a[i + l] - b[i + l];
        lanes[l] += gap * gap;
      }
    }
    sum += std::accumulate(lanes.begin(), lanes.end(), 0.0);
  }
  for (; i < a.size(); ++i) sum += double{a[i] - b[i]} * (a[i] - b[i]);
  return sum;
}

// Half the squared distance of every two, a mean over examples.
PairMatrix HalfDistances(const std::vector<Probabilities>& members, double examples) {
  PairMatrix pairs(static_cast<int64_t>(members.size()));
  for (size_t i = 0; i < members.size(); ++i) {
    for (size_t j = i + 1; j < members.size(); ++j) {
      pairs.Set(static_cast<int64_t>(i), static_cast<int64_t>(j),
                SquaredDistance(members[i], members[j]) / 2 / examples);
    }
  }
  return pairs;
}

double Brier(const Probabilities& p, std::span<const int32_t> labels) {
  const size_t classes = p.size() / labels.size();
  double sum = 0;
  for (size_t x = 0; x < labels.size(); ++x) {
    for (size_t k = 0; k < classes; ++k) {
      const double gap = p[x * classes + k] - (k == static_cast<size_t>(labels[x]) ? 1.0 : 0.0);
      sum += gap * gap;
    }
  }
  return sum / static_cast<double>(labels.size());
}

// The scores of groups of one size, with what they are without each member.
class Groups {
 public:
  explicit Groups(size_t members) : of_member_(members), groups_of_(members, 0) {}

  void Add(const Scores& scores, std::span<const size_t> members) {
    Plus(all_, scores);
    ++groups_;
    for (const size_t m : members) {
      Plus(of_member_[m], scores);
      ++groups_of_[m];
    }
  }

  // The mean of `field` over groups, and its interval by leaving out each member.
  Estimate MeanOf(double Scores::*field, const std::string& unit) const {
    Estimate estimate;
    estimate.n = static_cast<int64_t>(of_member_.size());
    estimate.unit = unit;
    estimate.method = "jackknife over members";
    const double all = all_.*field;
    estimate.value = all / groups_;
    if (of_member_.size() < kLeastMembers) return TooFew(std::move(estimate));
    std::vector<double> without;
    for (size_t m = 0; m < of_member_.size(); ++m) {
      if (groups_of_[m] == groups_) return WithoutInterval(std::move(estimate));
      without.push_back((all - of_member_[m].*field) / (groups_ - groups_of_[m]));
    }
    const double mean = analysis::MeanOf(without);
    double squares = 0;
    for (const double value : without) squares += (value - mean) * (value - mean);
    const auto n = static_cast<double>(without.size());
    const auto interval = TInterval(*estimate.value, std::sqrt((n - 1) / n * squares), estimate.n);
    // What rounding alone makes of equal scores is no spread.
    const bool equal = squares <= n * std::pow(kRounding * std::max(1.0, std::abs(mean)), 2);
    if (!interval || equal) return WithoutInterval(std::move(estimate));
    estimate.low = interval->low;
    estimate.high = interval->high;
    return estimate;
  }

 private:
  static Estimate WithoutInterval(Estimate estimate) {
    estimate.method.clear();
    estimate.note = "no interval: leaving out a member changes nothing";
    return estimate;
  }
  static void Plus(Scores& sum, const Scores& scores) {
    sum.accuracy += scores.accuracy;
    sum.log_loss += scores.log_loss;
    sum.calibration += scores.calibration;
  }

  Scores all_;
  double groups_ = 0;
  std::vector<Scores> of_member_;
  std::vector<double> groups_of_;
};

// A permutation of the members, from one fixed stream.
std::vector<size_t> Permutation(size_t members, uint64_t& next) {
  static constexpr uint64_t kSeed = 0;
  const PhiloxStream stream(kSeed, StreamOf("ensembles"));
  std::vector<size_t> order(members);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = members; i > 1; --i) {
    const double uniform = (stream.Word(next++) + 0.5) / 4294967296.0;
    std::swap(order[i - 1], order[static_cast<size_t>(uniform * static_cast<double>(i))]);
  }
  return order;
}

void AddTo(Probabilities& sum, const Probabilities& more) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

// Pairs of neighbours are added, then pairs of these, so that all sizes take one pass.
void AddGroups(const std::vector<Probabilities>& members, const std::vector<size_t>& order,
               std::span<const int32_t> labels, std::vector<Groups>& of_size) {
  std::vector<Probabilities> sums;
  for (const size_t m : order) sums.push_back(members[m]);
  size_t size = 1;
  for (Groups& groups : of_size) {
    size *= 2;
    for (size_t g = 0; 2 * g + 1 < sums.size(); ++g) {
      if (g > 0) sums[g].swap(sums[2 * g]);
      AddTo(sums[g], sums[2 * g + 1]);
      groups.Add(ScoreOf(sums[g], static_cast<double>(size), labels),
                 std::span(order).subspan(g * size, size));
    }
    sums.resize(sums.size() / 2);
  }
}

Estimate Root(Estimate squared) {
  const auto root = [](std::optional<double>& value) {
    if (value) value = std::sqrt(std::max(0.0, *value));
  };
  const bool nothing = squared.value && *squared.value <= 0;
  root(squared.value);
  root(squared.low);
  root(squared.high);
  if (!nothing) return squared;
  squared.low = squared.high = std::nullopt;
  squared.method.clear();
  squared.note = "no more than what bins of so few examples show by chance";
  return squared;
}

EnsembleScores ScoresOf(int64_t size, const Groups& groups) {
  EnsembleScores scores;
  scores.size = size;
  scores.accuracy = groups.MeanOf(&Scores::accuracy, "fraction");
  CutInterval(scores.accuracy, 0, 1);
  scores.log_loss = groups.MeanOf(&Scores::log_loss, "nats");
  scores.calibration = Root(groups.MeanOf(&Scores::calibration, "fraction"));
  return scores;
}

// B_1 - (1 - 1/size) Q, with Q's pseudo-values beside each member's own score.
Estimate BrierOf(int64_t size, const std::vector<double>& own, const PairSums& pairs) {
  const double share = 1 - 1 / static_cast<double>(size);
  const std::vector<double> spread = PseudoValues(pairs);
  std::vector<double> values = own;
  for (size_t m = 0; m < values.size() && !spread.empty(); ++m) values[m] -= share * spread[m];
  if (spread.empty() && size > 1) return Absent("score", std::ssize(own), "too few members");
  Estimate estimate = MeanEstimate(values, "score");
  CutInterval(estimate, 0, 2);
  return own.size() < kLeastMembers ? TooFew(std::move(estimate)) : estimate;
}

}  // namespace

int64_t EnsembleMembers(int64_t members, int64_t examples, int64_t classes) {
  if (examples < 1 || classes < 1) return 0;
  const int64_t fit = kMostEnsembleLogits / examples / classes;
  const int64_t few = std::clamp<int64_t>((int64_t{1} << 20) / examples / classes, 8, 16);
  return std::min({members, fit, few});
}

std::vector<EnsembleScores> ScoreEnsembles(std::span<const std::span<const float>> logits,
                                           std::span<const int32_t> labels, int32_t classes) {
  NF_CHECK(!labels.empty());
  std::vector<Probabilities> members;
  for (const std::span<const float> of_member : logits) {
    NF_CHECK(of_member.size() == labels.size() * static_cast<size_t>(classes));
    members.push_back(ProbabilitiesOf(of_member, classes));
  }
  std::vector<EnsembleScores> scores;
  if (members.empty()) return scores;
  std::vector<Groups> of_size;
  for (size_t size = 2; 2 * size <= members.size(); size *= 2) of_size.emplace_back(members.size());
  Groups single(members.size());
  std::vector<double> own;
  for (size_t m = 0; m < members.size(); ++m) {
    single.Add(ScoreOf(members[m], 1, labels), std::span(&m, 1));
    own.push_back(Brier(members[m], labels));
  }
  const int64_t all = std::ssize(members) * std::ssize(members[0]);
  const int64_t permutations =
      of_size.empty() ? 0 : std::clamp(kWork / all, kLeastPermutations, kMostPermutations);
  uint64_t next = 0;
  for (int64_t p = 0; p < permutations; ++p) {
    AddGroups(members, Permutation(members.size(), next), labels, of_size);
  }
  const PairSums pairs = SumPairs(HalfDistances(members, static_cast<double>(labels.size())));
  scores.push_back(ScoresOf(1, single));
  for (size_t s = 0; s < of_size.size(); ++s) {
    scores.push_back(ScoresOf(int64_t{2} << s, of_size[s]));
  }
  for (EnsembleScores& one : scores) one.brier = BrierOf(one.size, own, pairs);
  return scores;
}

Estimate GainOfMixing(std::span<const std::span<const float>> a,
                      std::span<const std::span<const float>> b, int32_t classes) {
  if (a.size() != b.size() || a.size() < kLeastMembers) {
    return Absent("score", std::ssize(a), "it takes three members on both sides");
  }
  std::vector<Probabilities> members;
  for (const auto& side : {a, b}) {
    for (const std::span<const float> of : side) {
      members.push_back(ProbabilitiesOf(of, classes));
    }
  }
  const size_t n = a.size();
  const double examples = static_cast<double>(a[0].size()) / classes;
  const PairMatrix half = HalfDistances(members, examples);
  // Of two places, what is across less what is inside; halved, and a mean over pairs.
  PairMatrix gains(static_cast<int64_t>(n));
  for (size_t r = 0; r < n; ++r) {
    for (size_t s = r + 1; s < n; ++s) {
      const auto at = [&](size_t i, size_t j) {
        return half.At(static_cast<int64_t>(i), static_cast<int64_t>(j));
      };
      const double across = (at(r, n + s) + at(s, n + r)) / 2;
      const double inside = (at(r, s) + at(n + r, n + s)) / 2;
      gains.Set(static_cast<int64_t>(r), static_cast<int64_t>(s), (across - inside) / 2);
    }
  }
  return PairMean(SumPairs(gains), "score", {-1, 1});
}

}  // namespace noisefloor::analysis
