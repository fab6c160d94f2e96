// Seeded mutation of inputs: what a stranger, a bug or a bad disk may make of right ones.
//
//   Fuzz(seeds, words, [](const std::string& input) { ... expectations ... });
//
// An input at which an expectation fails is shown. Nothing that is fuzzed may ask for more than
// kMostBytesAtOnce of memory at once: then the process ends.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace noisefloor::test {

inline constexpr size_t kMostBytesAtOnce = size_t{64} << 20;

// $NOISEFLOOR_FUZZ_ROUNDS inputs, else `rounds`, of $NOISEFLOOR_FUZZ_SEED, which is printed, else
// of another seed for each process. The seeds themselves come first. `words` are put in here and
// there.
void Fuzz(const std::vector<std::string>& seeds, const std::vector<std::string>& words, int rounds,
          const std::function<void(const std::string&)>& target);

}  // namespace noisefloor::test
