#include "tests/fuzz/fuzz.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include "tests/simulation/chance.h"

// A sanitizer has one of its own, which would not fit what is freed here.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  if (bytes > noisefloor::test::kMostBytesAtOnce) {
    std::fprintf(stderr, "%zu bytes of memory were asked for at once\n", bytes);
    std::abort();
  }
  return std::malloc(bytes);
}
void* operator new(size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace noisefloor::test {

namespace {

constexpr size_t kMostInputBytes = 1 << 16;
constexpr size_t kMostShown = 300;

const std::vector<std::string>& CommonWords() {
  static const std::vector<std::string> words = {"",
                                                 "-1",
                                                 "0",
                                                 "1e309",
                                                 "NaN",
                                                 "-Infinity",
                                                 "9223372036854775807",
                                                 "null",
                                                 "true",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 "18446744073709551616",
                                                 "\"",
                                                 "\\u0000",
                                                 "\xff",
                                                 "\n",
                                                 ",",
                                                 ":",
                                                 std::string(1, '\0'),
                                                 std::string(300, '['),
                                                 std::string(8, '\xff')};
  return words;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, const std::vector<std::string>& words,
          uint64_t seed)
      : seeds_(seeds), words_(words), chance_(seed) {
    words_.insert(words_.end(), CommonWords().begin(), CommonWords().end());
  }

  std::string Next() {
    std::string input = Any(seeds_);
    for (uint64_t i = 0, count = 1 + chance_.Below(4); i < count; ++i) Change(input);
    input.resize(std::min(input.size(), kMostInputBytes));
    return input;
  }

 private:
  const std::string& Any(const std::vector<std::string>& of) {
    return of[chance_.Below(of.size())];
  }
  size_t Place(const std::string& input) { return chance_.Below(input.size() + 1); }

  void Change(std::string& input) {
    const size_t at = Place(input);
    const size_t count = chance_.Below(1 + std::min<size_t>(16, input.size() - at));
    switch (chance_.Below(7)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << chance_.Below(8)));
        return;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(chance_.Below(256));
        return;
      case 2: input.erase(at, count); return;
      case 3: input.insert(at, input.substr(at, count)); return;
      case 4: input.replace(at, count, Any(words_)); return;
      case 5: input.resize(at); return;
      case 6: {
        const std::string& other = Any(seeds_);
        input = input.substr(0, at) + other.substr(chance_.Below(other.size() + 1));
        return;
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::vector<std::string> words_;
  Chance chance_;
};

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

void Fuzz(const std::vector<std::string>& seeds, const std::vector<std::string>& words, int rounds,
          const std::function<void(const std::string&)>& target) {
  ASSERT_FALSE(seeds.empty());
  const uint64_t seed =
      NumberFrom("NOISEFLOOR_FUZZ_SEED", Chance(static_cast<uint64_t>(getpid())).Below(1000000));
  std::cout << "NOISEFLOOR_FUZZ_SEED=" << seed << std::endl;
  for (const std::string& input : seeds) target(input);
  ASSERT_FALSE(testing::Test::HasFailure()) << "of the seeds themselves";
  Mutator mutator(seeds, words, seed);
  const uint64_t count = NumberFrom("NOISEFLOOR_FUZZ_ROUNDS", static_cast<uint64_t>(rounds));
  for (uint64_t i = 0; i < count; ++i) {
    const std::string input = mutator.Next();
    target(input);
    ASSERT_FALSE(testing::Test::HasFailure())
        << "round " << i << ": " << absl::CEscape(input.substr(0, kMostShown));
  }
}

}  // namespace noisefloor::test
