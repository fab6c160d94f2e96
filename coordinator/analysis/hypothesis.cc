#include "coordinator/analysis/hypothesis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/base/check.h"
#include "common/base/philox.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {
namespace {

using Side = int32_t;

// The members of one block and how many answers each two of them differ in. Member r * sides + h is
// replicate r of side h, so that the observed arrangement has member m on side m % sides.
class BlockOfMembers {
 public:
  explicit BlockOfMembers(const Sides& answers)
      : sides_(static_cast<int64_t>(answers.size())), replicates_(answers[0].members()) {
    for (const PredictionMatrix& side : answers) {
      NF_CHECK(side.members() == replicates_ && side.examples() == answers[0].examples());
    }
    NF_CHECK(answers[0].examples() < std::numeric_limits<int32_t>::max());
    differing_.resize(static_cast<size_t>(members() * members()));
    steps_ = std::numeric_limits<int32_t>::max() / std::max<int64_t>(1, answers[0].examples());
    for (int64_t i = 0; i < members(); ++i) {
      for (int64_t j = 0; j < i; ++j) {
        differing_[static_cast<size_t>(i * members() + j)] =
            static_cast<int32_t>(CountDiffering(RowOf(answers, i), RowOf(answers, j)));
      }
    }
  }

  int64_t sides() const { return sides_; }
  int64_t replicates() const { return replicates_; }
  int64_t members() const { return sides_ * replicates_; }

  // What member m adds to the churn within its side, of the members before it. Sides of members
  // from m on are not looked at.
  int64_t WithinUpTo(int64_t m, std::span<const Side> side_of) const {
    // Lanes of a known number, which compilers keep in vectors; each holds as much as its steps.
    constexpr int64_t kLanes = 32;
    const int32_t* const row = differing_.data() + m * members();
    const Side* const sides = side_of.data();
    const Side side = sides[m];
    int64_t sum = 0;
    int64_t j = 0;
    while (m - j >= kLanes) {
      std::array<int32_t, kLanes> lanes{};
      const int64_t steps = std::min(steps_, (m - j) / kLanes);
      for (int64_t step = 0; step < steps; ++step, j += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) {
          // All bits or none: a branch would not become a vector.
          lanes[static_cast<size_t>(l)] += row[j + l] & -static_cast<int32_t>(sides[j + l] == side);
        }
      }
      sum = std::accumulate(lanes.begin(), lanes.end(), sum);
    }
    for (; j < m; ++j) sum += sides[j] == side ? row[j] : 0;
    return sum;
  }

  int64_t Within(std::span<const Side> side_of) const {
    int64_t sum = 0;
    for (int64_t m = 0; m < members(); ++m) sum += WithinUpTo(m, side_of);
    return sum;
  }

  std::vector<Side> Observed() const {
    std::vector<Side> side_of(static_cast<size_t>(members()));
    for (size_t m = 0; m < side_of.size(); ++m) {
      side_of[m] = static_cast<Side>(static_cast<int64_t>(m) % sides_);
    }
    return side_of;
  }

 private:
  std::span<const int16_t> RowOf(const Sides& answers, int64_t m) const {
    return answers[static_cast<size_t>(m % sides_)].Row(m / sides_);
  }

  int64_t sides_;
  int64_t replicates_;
  std::vector<int32_t> differing_;  // {members, members}, below the diagonal.
  int64_t steps_;                   // Of which an int32_t holds the sum.
};

// log of the number of arrangements that differ by more than the names of the sides.
double LogArrangements(int64_t sides, int64_t replicates, Exchange exchange) {
  const auto log_factorial = [](int64_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  const double names = log_factorial(sides);
  switch (exchange) {
    case Exchange::kWithinReplicates: return names * static_cast<double>(replicates - 1);
    case Exchange::kAcrossReplicates:
      return log_factorial(sides * replicates) -
             static_cast<double>(sides) * log_factorial(replicates) - names;
  }
  return 0;
}

// Every arrangement of one block, the sides without names: the churn within of each.
class Enumeration {
 public:
  explicit Enumeration(const BlockOfMembers& block) : block_(block), side_of_(block.Observed()) {}

  std::vector<int64_t> WithinReplicates() {
    Replicate(1, block_.WithinUpTo(0, side_of_));  // The first replicate stays as it is.
    return std::move(within_);
  }
  std::vector<int64_t> AcrossReplicates() {
    room_.assign(static_cast<size_t>(block_.sides()), block_.replicates());
    Member(0, 0, 0);
    return std::move(within_);
  }

 private:
  void Replicate(int64_t r, int64_t sum) {
    if (r == block_.replicates()) {
      within_.push_back(sum);
      return;
    }
    const auto first = side_of_.begin() + r * block_.sides();
    const auto last = first + block_.sides();
    std::iota(first, last, Side{0});
    std::vector<Side> sides(first, last);
    do {
      std::copy(sides.begin(), sides.end(), first);
      int64_t added = 0;
      for (int64_t h = 0; h < block_.sides(); ++h) {
        added += block_.WithinUpTo(r * block_.sides() + h, side_of_);
      }
      Replicate(r + 1, sum + added);
    } while (std::next_permutation(sides.begin(), sides.end()));
  }

  // Sides are named in the order of their first members.
  void Member(int64_t m, int64_t named, int64_t sum) {
    if (m == block_.members()) {
      within_.push_back(sum);
      return;
    }
    for (int64_t side = 0; side < std::min(named + 1, block_.sides()); ++side) {
      int64_t& room = room_[static_cast<size_t>(side)];
      if (room == 0) continue;
      --room;
      side_of_[static_cast<size_t>(m)] = static_cast<Side>(side);
      Member(m + 1, std::max(named, side + 1), sum + block_.WithinUpTo(m, side_of_));
      ++room;
    }
  }

  const BlockOfMembers& block_;
  std::vector<Side> side_of_;
  std::vector<int64_t> room_;  // Of each side, for more members.
  std::vector<int64_t> within_;
};

std::vector<int64_t> AllArrangements(const BlockOfMembers& block, Exchange exchange) {
  Enumeration enumeration(block);
  return exchange == Exchange::kWithinReplicates ? enumeration.WithinReplicates()
                                                 : enumeration.AcrossReplicates();
}

// Random arrangements, always the same ones in the same order.
class Shuffler {
 public:
  void Shuffle(std::span<Side> sides) {
    for (size_t left = sides.size(); left > 1; --left) {
      std::swap(sides[left - 1], sides[UniformBelow(Bits(), left)]);
    }
  }
  int64_t Draw(const BlockOfMembers& block, Exchange exchange) {
    std::vector<Side> side_of = block.Observed();
    const std::span<Side> all(side_of);
    switch (exchange) {
      case Exchange::kAcrossReplicates: Shuffle(all); break;
      case Exchange::kWithinReplicates:
        for (int64_t r = 1; r < block.replicates(); ++r) {
          Shuffle(all.subspan(static_cast<size_t>(r * block.sides()),
                              static_cast<size_t>(block.sides())));
        }
        break;
    }
    return block.Within(side_of);
  }

 private:
  uint64_t Bits() {
    const PhiloxCounter words = stream_.Block(next_++);
    return uint64_t{words[0]} << 32 | words[1];
  }
  PhiloxStream stream_{0, StreamOf("exchanges of hardware classes")};
  uint64_t next_ = 0;
};

int64_t ObservedWithin(std::span<const BlockOfMembers> blocks) {
  int64_t sum = 0;
  for (const BlockOfMembers& block : blocks) sum += block.Within(block.Observed());
  return sum;
}

// All sums of one arrangement of each block.
std::vector<int64_t> AllSums(std::span<const BlockOfMembers> blocks, Exchange exchange) {
  std::vector<int64_t> sums = {0};
  for (const BlockOfMembers& block : blocks) {
    std::vector<int64_t> next;
    for (const int64_t within : AllArrangements(block, exchange)) {
      for (const int64_t sum : sums) next.push_back(sum + within);
    }
    sums = std::move(next);
  }
  return sums;
}

}  // namespace

ShiftTest TestShift(std::span<const Sides> blocks, Exchange exchange) {
  std::vector<BlockOfMembers> members;
  double log_arrangements = 0;
  for (const Sides& sides : blocks) {
    NF_CHECK(sides.size() >= 2);
    if (sides[0].members() == 0) continue;
    const BlockOfMembers& block = members.emplace_back(sides);
    log_arrangements += LogArrangements(block.sides(), block.replicates(), exchange);
  }
  const int64_t observed = ObservedWithin(members);
  ShiftTest test;
  int64_t as_far = 0;
  test.all = log_arrangements < std::log(static_cast<double>(kMostArrangements) + 0.5);
  if (test.all) {
    const std::vector<int64_t> sums = AllSums(members, exchange);
    test.arrangements = static_cast<int64_t>(sums.size());
    as_far = std::count_if(sums.begin(), sums.end(), [&](int64_t w) { return w <= observed; });
  } else {
    Shuffler shuffler;
    test.arrangements = kDrawnArrangements + 1;
    as_far = 1;  // The observed one.
    for (int64_t k = 0; k < kDrawnArrangements; ++k) {
      int64_t sum = 0;
      for (const BlockOfMembers& block : members) sum += shuffler.Draw(block, exchange);
      as_far += sum <= observed;
    }
  }
  test.p = static_cast<double>(as_far) / static_cast<double>(test.arrangements);
  return test;
}

double LeastP(int64_t sides, std::span<const int64_t> replicates, Exchange exchange) {
  double log_arrangements = 0;
  for (const int64_t n : replicates) {
    if (n > 0) log_arrangements += LogArrangements(sides, n, exchange);
  }
  const double drawn = 1 / static_cast<double>(kDrawnArrangements + 1);
  const bool all = log_arrangements < std::log(static_cast<double>(kMostArrangements) + 0.5);
  return all ? 1 / std::round(std::exp(log_arrangements)) : drawn;
}

std::optional<int64_t> ReplicatesFor(double level, int64_t sides, int64_t blocks,
                                     Exchange exchange) {
  if (level < 1.0 / static_cast<double>(kDrawnArrangements + 1)) return std::nullopt;
  for (int64_t n = 2;; ++n) {
    const std::vector<int64_t> replicates(static_cast<size_t>(blocks), n);
    if (LeastP(sides, replicates, exchange) <= level) return n;
  }
}

std::vector<bool> CanBeClaimed(std::span<const double> least, double level) {
  std::vector<bool> can(least.size());
  for (size_t k = 1; k <= least.size(); ++k) {
    const double of_each = level / static_cast<double>(k);
    size_t count = 0;
    for (size_t i = 0; i < least.size(); ++i) {
      can[i] = least[i] <= of_each;
      count += can[i];
    }
    if (count <= k) break;
  }
  return can;
}

std::vector<std::optional<double>> Holm(std::span<const std::optional<double>> p) {
  return Holm(p, std::vector<double>(p.size(), 1));
}

std::vector<std::optional<double>> Holm(std::span<const std::optional<double>> p,
                                        std::span<const double> weights) {
  std::vector<size_t> order;
  for (size_t k = 0; k < p.size(); ++k) {
    if (p[k]) order.push_back(k);
  }
  const auto of_its_share = [&](size_t k) { return *p[k] / weights[k]; };
  std::ranges::stable_sort(order, {}, of_its_share);
  std::vector<double> left(order.size());  // The weight of this one and of all after it.
  double sum = 0;
  for (size_t k = order.size(); k-- > 0;) left[k] = sum += weights[order[k]];
  std::vector<std::optional<double>> adjusted(p.size());
  double least = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    least = std::max(least, std::min(1.0, left[k] * of_its_share(order[k])));
    adjusted[order[k]] = least;
  }
  return adjusted;
}

std::vector<size_t> MayBeLargest(std::span<const double> values,
                                 std::span<const std::vector<double>> without, double level) {
  std::vector<size_t> kept;
  const double n = static_cast<double>(without.size());
  const double rivals = static_cast<double>(values.size()) - 1;
  const bool tested = without.size() >= 3 && values.size() >= 2;
  const double critical = tested ? TQuantile(n - 1, 1 - level / rivals) : 0;
  for (size_t c = 0; c < values.size(); ++c) {
    const auto beats = [&](size_t d) {
      const double difference = values[d] - values[c];
      double squares = 0;
      for (const std::vector<double>& left : without) {
        const double deviation = left[d] - left[c] - difference;
        squares += deviation * deviation;
      }
      const double error = std::sqrt(squares * (n - 1) / n);
      return error > kRounding && difference > critical * error;
    };
    bool beaten = false;
    for (size_t d = 0; tested && d < values.size(); ++d) beaten = beaten || (d != c && beats(d));
    if (!beaten) kept.push_back(c);
  }
  return kept;
}

}  // namespace noisefloor::analysis
