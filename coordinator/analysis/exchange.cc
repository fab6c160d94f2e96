#include "coordinator/analysis/exchange.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/check.h"
#include "coordinator/analysis/rotations.h"

namespace noisefloor::analysis {
namespace {

using Side = int32_t;

// The members of one block and how many answers each two of them differ in. Member r * sides + h is
// replicate r of side h, so that the observed arrangement has member m on side m % sides.
class BlockOfMembers {
 public:
  BlockOfMembers(KnownPairs& answers, const Sides& sides)
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
        differing_[static_cast<size_t>(i * members() + j)] = static_cast<int32_t>(Differing(i, j));
      }
    }
  }

 private:
  KnownPairs& answers_;
  int64_t sides_;
  int64_t replicates_;
  std::vector<int64_t> members_;    // In `answers_`.
  std::vector<int32_t> differing_;  // {members, members}, below the diagonal.
};

// What a replicate's members do in an enumeration, beside the first one of a block, which stays.
enum class Move : uint8_t { kHeld, kRotated, kPermuted };

// Every arrangement of one block of a group of exchanges, the sides without names: the churn within
// of each.
class Enumeration {
 public:
  explicit Enumeration(const BlockOfMembers& block) : block_(block), side_of_(block.Observed()) {}

  // `moves` has one entry for each replicate but the first.
  std::vector<int64_t> WithinReplicates(std::span<const Move> moves) {
    moves_ = moves;
    Replicate(0, 0);
    return std::move(within_);
  }
  // Members change places inside each of `parts` runs of replicates, as long as each other or one
  // longer.
  std::vector<int64_t> AcrossReplicates(int64_t parts) {
    parts_ = parts;
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
    const Move move = r == 0 ? Move::kHeld : moves_[static_cast<size_t>(r - 1)];
    const auto next = [&] {
      if (move == Move::kHeld) return false;
      if (move == Move::kPermuted) return std::next_permutation(sides.begin(), sides.end());
      std::rotate(sides.begin(), sides.begin() + 1, sides.end());
      return sides[0] != 0;
    };
    do {
      std::copy(sides.begin(), sides.end(), first);
      int64_t added = 0;
      for (int64_t h = 0; h < block_.sides(); ++h) {
        added += block_.WithinUpTo(r * block_.sides() + h, side_of_);
      }
      Replicate(r + 1, sum + added);
    } while (next());
  }

  // Sides of the first run are named in the order of their first members.
  void Member(int64_t m, int64_t named, int64_t sum) {
    if (m == block_.members()) {
      within_.push_back(sum);
      return;
    }
    const int64_t run = RunOf(m / block_.sides());
    const bool begins = m == 0 || RunOf((m - 1) / block_.sides()) != run;
    std::vector<int64_t> before;
    if (begins) {
      before = room_;
      room_.assign(static_cast<size_t>(block_.sides()), RunBegin(run + 1) - RunBegin(run));
    }
    const int64_t known = run > 0 ? block_.sides() : std::min(named + 1, block_.sides());
    for (int64_t side = 0; side < known; ++side) {
      if (room_[static_cast<size_t>(side)] == 0) continue;
      --room_[static_cast<size_t>(side)];
      side_of_[static_cast<size_t>(m)] = static_cast<Side>(side);
      Member(m + 1, std::max(named, side + 1), sum + block_.WithinUpTo(m, side_of_));
      ++room_[static_cast<size_t>(side)];
    }
    if (begins) room_ = std::move(before);
  }

  int64_t RunBegin(int64_t run) const { return run * block_.replicates() / parts_; }
  int64_t RunOf(int64_t replicate) const {
    return ((replicate + 1) * parts_ - 1) / block_.replicates();
  }

  const BlockOfMembers& block_;
  std::vector<Side> side_of_;
  std::span<const Move> moves_;
  int64_t parts_ = 1;
  std::vector<int64_t> room_;  // Of each side, for more members of this run.
  std::vector<int64_t> within_;
};

double LogFactorial(int64_t n) { return std::lgamma(static_cast<double>(n) + 1); }

const double kLogMost = std::log(static_cast<double>(kMostArrangements) + 0.5);

// Which group of exchanges is looked at, and how.
struct Looked {
  enum class Which : uint8_t { kMoves, kParts, kRotations };
  Which which = Which::kMoves;
  double log_arrangements = 0;
  bool all = true;
  int64_t permuted = 0;  // kMoves: so many of all replicates that are no first ones, the last ones,
  int64_t rotated = 0;   // and so many before them; the others are held.
  int64_t parts = 1;     // kParts: of a block that has so many replicates.
  int64_t digits = 0;    // kRotations

  double Arrangements() const { return std::round(std::exp(log_arrangements)); }
};

// log of the number of arrangements of one block that differ by more than the names of its sides,
// where members change places inside each of `parts` runs.
double LogAcross(int64_t sides, int64_t replicates, int64_t parts) {
  double log = -LogFactorial(sides);
  for (int64_t run = 0; run < parts; ++run) {
    const int64_t n = (run + 1) * replicates / parts - run * replicates / parts;
    log += LogFactorial(sides * n) - static_cast<double>(sides) * LogFactorial(n);
  }
  return log;
}

// All exchanges inside so many runs of each block.
Looked InRuns(int64_t sides, std::span<const int64_t> replicates, int64_t parts) {
  Looked looked{.which = Looked::Which::kParts, .all = parts == 1, .parts = parts};
  for (const int64_t n : replicates) {
    if (n > 0) looked.log_arrangements += LogAcross(sides, n, std::min(n, parts));
  }
  return looked;
}

// Sides whose groups of rotations a transform goes over fast: sides^(digits + 2) steps.
constexpr int64_t kMostTransformed = 32;

Looked LookedAt(int64_t sides, std::span<const int64_t> replicates, Exchange exchange) {
  int64_t turned = 0;  // Replicates; the first of a block need not.
  for (const int64_t n : replicates) turned += std::max<int64_t>(0, n - 1);
  const double log_permuted = LogFactorial(sides);
  const double log_rotated = std::log(static_cast<double>(sides));
  const int64_t digits = DigitsFor(sides, kMostArrangements);
  const bool across = exchange == Exchange::kAcrossReplicates;
  const Looked all = across ? InRuns(sides, replicates, 1)
                            : Looked{.log_arrangements = static_cast<double>(turned) * log_permuted,
                                     .permuted = turned};
  if (all.log_arrangements < kLogMost) return all;
  if (turned >= digits && sides <= kMostTransformed) {
    return {.which = Looked::Which::kRotations,
            .log_arrangements = static_cast<double>(digits) * log_rotated,
            .all = false,
            .digits = digits};
  }
  // The fewest runs that have few enough; of one replicate they would be what follows.
  for (int64_t parts = 2; across && turned < digits && parts < std::ranges::max(replicates);
       ++parts) {
    const Looked looked = InRuns(sides, replicates, parts);
    if (looked.log_arrangements < kLogMost) return looked;
  }
  Looked looked{.all = false};
  looked.rotated = std::min(turned, static_cast<int64_t>(kLogMost / log_rotated));
  looked.log_arrangements = static_cast<double>(looked.rotated) * log_rotated;
  while (looked.rotated == turned - looked.permuted && looked.rotated > 0 &&
         looked.log_arrangements + log_permuted - log_rotated < kLogMost) {
    looked.log_arrangements += log_permuted - log_rotated;
    --looked.rotated;
    ++looked.permuted;
  }
  return looked;
}

int64_t ObservedWithin(std::span<const BlockOfMembers> blocks) {
  int64_t sum = 0;
  for (const BlockOfMembers& block : blocks) sum += block.Within(block.Observed());
  return sum;
}

// All sums of one arrangement of each block.
std::vector<int64_t> AllSums(std::span<const BlockOfMembers> blocks, const Looked& looked) {
  int64_t turned = 0;
  for (const BlockOfMembers& block : blocks) turned += block.replicates() - 1;
  std::vector<Move> moves(static_cast<size_t>(turned), Move::kHeld);
  std::fill(moves.end() - looked.permuted - looked.rotated, moves.end(), Move::kRotated);
  std::fill(moves.end() - looked.permuted, moves.end(), Move::kPermuted);
  std::span<const Move> left(moves);
  std::vector<int64_t> sums = {0};
  for (const BlockOfMembers& block : blocks) {
    Enumeration enumeration(block);
    const auto own = left.first(static_cast<size_t>(block.replicates() - 1));
    left = left.subspan(own.size());
    const std::vector<int64_t> of_block =
        looked.which == Looked::Which::kParts
            ? enumeration.AcrossReplicates(std::min(block.replicates(), looked.parts))
            : enumeration.WithinReplicates(own);
    std::vector<int64_t> next;
    for (const int64_t within : of_block) {
      for (const int64_t sum : sums) next.push_back(sum + within);
    }
    sums = std::move(next);
  }
  return sums;
}

// What the pairs of replicates of one block add.
void AddPairs(const BlockOfMembers& block, RotationSums& sums) {
  const int64_t sides = block.sides();
  std::vector<int64_t> of_turn(static_cast<size_t>(sides));
  for (int64_t later = 0; later < block.replicates(); ++later) {
    for (int64_t earlier = 0; earlier < later; ++earlier) {
      std::ranges::fill(of_turn, 0);
      for (int64_t h = 0; h < sides; ++h) {
        for (int64_t t = 0; t < sides; ++t) {
          of_turn[static_cast<size_t>(t)] +=
              block.Differing(later * sides + h, earlier * sides + (h + t) % sides);
        }
      }
      sums.AddPair(static_cast<size_t>(later), static_cast<size_t>(earlier), of_turn);
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

}  // namespace

ShiftTest TestShift(KnownPairs& answers, std::span<const Sides> blocks, Exchange exchange) {
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
  std::vector<int64_t> sums;
  int64_t observed = 0;
  if (looked.which == Looked::Which::kRotations) {
    sums = RotatedSums(members, looked.digits);
    observed = sums[0];
  } else {
    for (BlockOfMembers& block : members) block.KeepPairs();
    sums = AllSums(members, looked);
    observed = ObservedWithin(members);
  }
  ShiftTest test;
  test.all = looked.all;
  test.arrangements = static_cast<int64_t>(sums.size());
  const auto as_far = std::ranges::count_if(sums, [&](int64_t sum) { return sum <= observed; });
  test.p = static_cast<double>(as_far) / static_cast<double>(test.arrangements);
  return test;
}

double LeastP(int64_t sides, std::span<const int64_t> replicates, Exchange exchange) {
  return 1 / LookedAt(sides, replicates, exchange).Arrangements();
}

std::optional<int64_t> ReplicatesFor(double level, int64_t sides, int64_t blocks,
                                     Exchange exchange) {
  const int64_t digits = DigitsFor(sides, kMostArrangements);
  // With one more of each than there are digits no more arrangements are looked at.
  for (int64_t n = 2; n <= digits + 1; ++n) {
    const std::vector<int64_t> replicates(static_cast<size_t>(blocks), n);
    if (LeastP(sides, replicates, exchange) <= level) return n;
  }
  return std::nullopt;
}

}  // namespace noisefloor::analysis
