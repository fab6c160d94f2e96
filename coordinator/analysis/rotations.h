// Many exchanges of members between sides at once. An exchange turns the sides of each replicate by
// a number of its own, modulo the number of sides. Turning by the products of a point b of
// Z_sides^digits with a vector of each replicate makes a group of sides^digits exchanges, and a
// statistic that is a sum over pairs of replicates is known for all of them by one transform over
// the group (Fourier's, of Walsh and Hadamard for two sides), in digits * sides^(digits + 2) steps
// beside one for each pair, not in the product of both.
//
// A test over a group of exchanges is exact, however few of all exchanges the group has, if it was
// chosen without a look at the data (Hemerik and Goeman 2018).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace noisefloor::analysis {

// The fewest digits whose group has at least `elements` members. sides >= 2, elements >= 1.
int64_t DigitsFor(int64_t sides, int64_t elements);

// A sum over pairs of replicates under every exchange of a group. Blocks share the group.
class RotationSums {
 public:
  // Memory: sides^(digits + 1) numbers.
  RotationSums(int64_t sides, int64_t digits);

  // A replicate of the block that was begun last, with a vector of its own, always the same for the
  // same calls before it: zero for the first of a block, then one unit vector after another, then
  // drawn ones. Returns its place in the block.
  size_t AddReplicate();
  void BeginBlock() { vectors_.clear(); }
  // What two replicates of this block add when `earlier` is turned by t more than `later`:
  // of_turn[t] for t in [0, sides).
  void AddPair(size_t earlier, size_t later, std::span<const int64_t> of_turn);

  // The sums of all elements; the first is that of no exchange. Takes what was added.
  std::vector<int64_t> Take();

 private:
  int64_t sides_;
  int64_t digits_;
  int64_t elements_ = 1;
  int64_t units_ = 0;                          // Vectors of one digit that were given.
  uint64_t drawn_ = 0;                         // Digits.
  std::vector<std::vector<int64_t>> vectors_;  // Of this block's replicates.
  std::vector<int64_t> sums_;                  // {elements, sides}
};

}  // namespace noisefloor::analysis
