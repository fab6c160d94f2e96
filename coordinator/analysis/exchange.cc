#include "coordinator/analysis/exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/check.h"
#include "common/base/philox.h"
#include "coordinator/analysis/rotations.h"

namespace noisefloor::analysis {
namespace {

using Side = int32_t;

// The members of one block and how many answers each two of them differ in. Member r * sides + h is
// replicate r of side h, so that the observed arrangement has member m on side m % sides.
class BlockOfMembers {
 public:
  BlockOfMembers(const PackedAnswers& answers, const Sides& sides)
      : answers_(answers),
        sides_(static_cast<int64_t>(sides.size())),
        replicates_(static_cast<int64_t>(sides[0].size())) {
    for (size_t r = 0; r < sides[0].size(); ++r) {
      for (const std::vector<int64_t>& side : sides) {
        NF_CHECK(side.size() == sides[0].size());
        members_.push_back(side[r]);
      }
    }
  }

  int64_t sides() const { return sides_; }
  int64_t replicates() const { return replicates_; }
  int64_t members() const { return sides_ * replicates_; }

  int64_t Differing(int64_t a, int64_t b) const {
    return answers_.Differing(members_[static_cast<size_t>(a)], members_[static_cast<size_t>(b)]);
  }

  // What member m adds to the churn within its side, of the members before it. Sides of members
  // from m on are not looked at.
  int64_t WithinUpTo(int64_t m, std::span<const Side> side_of) const {
    int64_t sum = 0;
    for (int64_t j = 0; j < m; ++j) {
      if (side_of[static_cast<size_t>(j)] != side_of[static_cast<size_t>(m)]) continue;
      sum += differing_[static_cast<size_t>(m * members() + j)];
    }
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

  // Before WithinUpTo and Within, which look at pairs again and again.
  void KeepPairs() {
    differing_.resize(static_cast<size_t>(members() * members()));
    for (int64_t i = 0; i < members(); ++i) {
      for (int64_t j = 0; j < i; ++j) {
        differing_[static_cast<size_t>(i * members() + j)] = Differing(i, j);
      }
    }
  }

 private:
  const PackedAnswers& answers_;
  int64_t sides_;
  int64_t replicates_;
  std::vector<int64_t> members_;    // In `answers_`.
  std::vector<int64_t> differing_;  // {members, members}, below the diagonal.
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

std::vector<int64_t> DrawnSums(std::span<const BlockOfMembers> blocks, Exchange exchange) {
  std::vector<int64_t> sums = {ObservedWithin(blocks)};
  Shuffler shuffler;
  for (int64_t k = 0; k < kDrawnArrangements; ++k) {
    int64_t& sum = sums.emplace_back(0);
    for (const BlockOfMembers& block : blocks) sum += shuffler.Draw(block, exchange);
  }
  return sums;
}

// What the pairs of replicates of one block add, in tiles: their answers stay in the cache.
void AddPairs(const BlockOfMembers& block, RotationSums& sums) {
  constexpr int64_t kTile = 16;
  const int64_t sides = block.sides();
  std::vector<int64_t> of_turn(static_cast<size_t>(sides));
  const auto add = [&](int64_t earlier, int64_t later) {
    std::ranges::fill(of_turn, 0);
    for (int64_t h = 0; h < sides; ++h) {
      for (int64_t t = 0; t < sides; ++t) {
        of_turn[static_cast<size_t>(t)] +=
            block.Differing(earlier * sides + h, later * sides + (h + t) % sides);
      }
    }
    sums.AddPair(static_cast<size_t>(earlier), static_cast<size_t>(later), of_turn);
  };
  const int64_t n = block.replicates();
  for (int64_t first = 0; first < n; first += kTile) {
    for (int64_t second = 0; second <= first; second += kTile) {
      for (int64_t r = first; r < std::min(n, first + kTile); ++r) {
        for (int64_t s = second; s < std::min(r, second + kTile); ++s) add(r, s);
      }
    }
  }
}

// Also where every member may be on any side: some of those exchanges turn a replicate's sides.
std::vector<int64_t> RotatedSums(std::span<const BlockOfMembers> blocks, int64_t digits) {
  RotationSums sums(blocks[0].sides(), digits);
  for (const BlockOfMembers& block : blocks) {
    sums.BeginBlock();
    for (int64_t r = 0; r < block.replicates(); ++r) sums.AddReplicate();
    AddPairs(block, sums);
  }
  return sums.Take();
}

// Which arrangements are looked at.
struct Looked {
  enum class Which : uint8_t { kAll, kRotations, kDrawn };
  Which which = Which::kAll;
  double arrangements = 1;
  int64_t digits = 0;  // Of the group of rotations.
};

Looked LookedAt(int64_t sides, std::span<const int64_t> replicates, Exchange exchange) {
  double log_arrangements = 0;
  int64_t turned = 0;  // Replicates; the first of a block need not.
  for (const int64_t n : replicates) {
    if (n == 0) continue;
    log_arrangements += LogArrangements(sides, n, exchange);
    turned += n - 1;
  }
  if (log_arrangements < std::log(static_cast<double>(kMostArrangements) + 0.5)) {
    return {.arrangements = std::round(std::exp(log_arrangements))};
  }
  const int64_t digits = DigitsFor(sides, kMostArrangements);
  if (turned < digits) {
    return {.which = Looked::Which::kDrawn,
            .arrangements = static_cast<double>(kDrawnArrangements + 1)};
  }
  return {.which = Looked::Which::kRotations,
          .arrangements = std::pow(static_cast<double>(sides), static_cast<double>(digits)),
          .digits = digits};
}

}  // namespace

ShiftTest TestShift(const PackedAnswers& answers, std::span<const Sides> blocks,
                    Exchange exchange) {
  std::vector<BlockOfMembers> members;
  std::vector<int64_t> replicates;
  for (const Sides& sides : blocks) {
    NF_CHECK(sides.size() >= 2 && sides.size() == blocks[0].size());
    if (sides[0].empty()) continue;
    members.emplace_back(answers, sides);
    replicates.push_back(members.back().replicates());
  }
  if (members.empty()) return {};
  const Looked looked = LookedAt(members[0].sides(), replicates, exchange);
  if (looked.which != Looked::Which::kRotations) {
    for (BlockOfMembers& block : members) block.KeepPairs();
  }
  std::vector<int64_t> sums;
  switch (looked.which) {
    case Looked::Which::kAll: sums = AllSums(members, exchange); break;
    case Looked::Which::kRotations: sums = RotatedSums(members, looked.digits); break;
    case Looked::Which::kDrawn: sums = DrawnSums(members, exchange); break;
  }
  ShiftTest test;
  test.all = looked.which == Looked::Which::kAll;
  test.arrangements = static_cast<int64_t>(sums.size());
  const int64_t observed =
      looked.which == Looked::Which::kRotations ? sums[0] : ObservedWithin(members);
  const auto as_far = std::ranges::count_if(sums, [&](int64_t sum) { return sum <= observed; });
  test.p = static_cast<double>(as_far) / static_cast<double>(test.arrangements);
  return test;
}

double LeastP(int64_t sides, std::span<const int64_t> replicates, Exchange exchange) {
  return 1 / LookedAt(sides, replicates, exchange).arrangements;
}

std::optional<int64_t> ReplicatesFor(double level, int64_t sides, int64_t blocks,
                                     Exchange exchange) {
  for (int64_t n = 2;; ++n) {
    const std::vector<int64_t> replicates(static_cast<size_t>(blocks), n);
    const Looked looked = LookedAt(sides, replicates, exchange);
    if (1 / looked.arrangements <= level) return n;
    // More replicates have no more.
    if (looked.which == Looked::Which::kRotations) return std::nullopt;
  }
}

}  // namespace noisefloor::analysis
