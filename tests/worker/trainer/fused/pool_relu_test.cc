// Every form against the plain one, bit for bit; the plain one against cases by hand. That these
// are LibTorch's bits is tested where LibTorch is linked (tests/worker/trainer/torch).
#include "worker/trainer/fused/pool_relu.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "common/base/philox.h"

namespace noisefloor::trainer {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMark = 12345.0f;  // Of what nobody may write.
constexpr uint8_t kByteMark = 99;

struct Form {
  const char* name;
  const PoolRelu* form;
  bool here;  // This processor has the instructions.
};

std::vector<Form> Forms() {
  return {{"sse", &kSsePoolRelu, true},
          {"avx2", &kAvx2PoolRelu, __builtin_cpu_supports("avx2") != 0},
          {"avx512", &kAvx512PoolRelu,
           __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0}};
}

struct Case {
  PoolShape shape;
  int64_t images;

  int64_t rows() const { return images * shape.windows_high(); }
  size_t elements() const {
    return static_cast<size_t>(images * shape.height * shape.width * shape.channels);
  }
  size_t results() const {
    return static_cast<size_t>(rows() * shape.windows_wide() * shape.channels);
  }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.images << " images " << c.shape.height << "x" << c.shape.width << "x"
             << c.shape.channels;
}

// Even and odd sizes, one window, few and many channels, whole blocks and a last one that begins
// sooner.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t channels : {16, 17, 31, 40, 48}) {
    for (const auto& [height, width] :
         std::vector<std::pair<int64_t, int64_t>>{{2, 2}, {3, 3}, {2, 5}, {5, 2}, {8, 6}, {7, 9}}) {
      cases.push_back({{height, width, channels}, 3});
    }
  }
  return cases;
}

float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

// Few values, so that ties are the rule, and among them all that compare oddly.
float Odd(uint32_t draw) {
  constexpr std::array<uint32_t, 12> kBits = {
      0x00000000, 0x80000000,                                                  // Zeros.
      0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x7f800000, 0xff800000,  // Infinities last.
      0x7fc00001, 0xffc00002,   // Quiet NaNs that can be told apart.
      0x00000001, 0x80000001};  // Subnormals.
  return FromBits(kBits[draw % kBits.size()]);
}

float Smooth(uint32_t draw) { return static_cast<float>(static_cast<int32_t>(draw)) / 1e9f; }

std::vector<float> Draw(size_t count, uint64_t seed, bool odd) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t draw = PhiloxStream(seed, 0).Word(i);
    values[i] = odd ? Odd(draw >> 7) : Smooth(draw);
  }
  return values;
}

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

struct Result {
  std::vector<float> out, gradient;
  std::vector<uint8_t> winners;
};

// Rows [first, last) only.
Result ResultOf(const PoolRelu& form, const Case& c, bool odd, int64_t first, int64_t last) {
  Result result{std::vector<float>(c.results(), kMark), std::vector<float>(c.elements(), kMark),
                std::vector<uint8_t>(c.results(), kByteMark)};
  const std::vector<float> images = Draw(c.elements(), 1, odd);
  const std::vector<float> gradient = Draw(c.results(), 2, odd);
  form.forward(c.shape, images.data(), first, last, result.out.data(), result.winners.data());
  form.backward(c.shape, gradient.data(), result.winners.data(), first, last,
                result.gradient.data());
  return result;
}

void ExpectSame(const Result& a, const Result& b) {
  EXPECT_EQ(Bits(a.out), Bits(b.out));
  EXPECT_EQ(a.winners, b.winners);
  EXPECT_EQ(Bits(a.gradient), Bits(b.gradient));
}

// One window with the elements a b (above) and c d.
struct Window {
  float out = kMark;
  uint8_t winner = kByteMark;
  std::array<float, 4> gradient{};
};
Window OfOne(float a, float b, float c, float d, float gradient) {
  Window window;
  const std::array<float, 4> images{a, b, c, d};
  const PoolShape shape{2, 2, 1};
  kPlainPoolRelu.forward(shape, images.data(), 0, 1, &window.out, &window.winner);
  window.gradient.fill(kMark);
  kPlainPoolRelu.backward(shape, &gradient, &window.winner, 0, 1, window.gradient.data());
  return window;
}

TEST(PoolReluTest, TheGreatestGoesForwardAndTheGradientGoesBackToIt) {
  const std::array<std::array<float, 4>, 4> places = {
      {{9, 1, 2, 3}, {1, 9, 2, 3}, {1, 2, 9, 3}, {1, 2, 3, 9}}};
  for (uint8_t place = 0; place < 4; ++place) {
    const auto& [a, b, c, d] = places[place];
    const Window window = OfOne(a, b, c, d, 5);
    EXPECT_EQ(window.out, 9);
    EXPECT_EQ(window.winner, place);
    for (uint8_t i = 0; i < 4; ++i) EXPECT_EQ(window.gradient[i], i == place ? 5 : 0);
  }
}

TEST(PoolReluTest, OfEqualValuesTheFirstWins) {
  EXPECT_EQ(OfOne(1, 2, 2, 2, 5).winner, 1);
  EXPECT_EQ(OfOne(2, 2, 1, 2, 5).winner, 0);
  EXPECT_EQ(OfOne(kInf, 2, kInf, 1, 5).winner, 0);
}

TEST(PoolReluTest, NothingAboveZeroHasNoGradient) {
  for (const float most : {-1.0f, 0.0f, -0.0f, -kInf}) {
    const Window window = OfOne(-kInf, most, -kInf, -kInf, 5);
    EXPECT_EQ(window.winner, kNoWinner);
    EXPECT_EQ(window.gradient, (std::array<float, 4>{0, 0, 0, 0}));
    EXPECT_EQ(window.out, 0);
    EXPECT_EQ(std::signbit(window.out), most == 0 && std::signbit(most));
  }
}

TEST(PoolReluTest, OfNansTheLastWinsAndKeepsItsBitsAndItsGradient) {
  const float first = FromBits(0x7fc00001), last = FromBits(0xffc00002);
  const Window window = OfOne(first, 7, last, kInf, 5);
  EXPECT_EQ(std::bit_cast<uint32_t>(window.out), 0xffc00002u);
  EXPECT_EQ(window.gradient, (std::array<float, 4>{0, 0, 5, 0}));
}

TEST(PoolReluTest, ANegativeZeroOfTheGradientComesBackPositive) {
  EXPECT_FALSE(std::signbit(OfOne(1, 0, 0, 0, -0.0f).gradient[0]));
}

TEST(PoolReluTest, EveryFormGivesThePlainOnesBits) {
  for (const Form& one : Forms()) {
    if (!one.here) continue;
    for (const Case& c : Cases()) {
      for (const bool odd : {false, true}) {
        SCOPED_TRACE(testing::Message() << one.name << ", " << c << (odd ? ", odd" : ""));
        ExpectSame(ResultOf(*one.form, c, odd, 0, c.rows()),
                   ResultOf(kPlainPoolRelu, c, odd, 0, c.rows()));
      }
    }
  }
}

TEST(PoolReluTest, RowsDoneApartAreTheWholeAndNothingElseIsWritten) {
  std::vector<Form> forms = Forms();
  forms.push_back({"plain", &kPlainPoolRelu, true});
  for (const Form& one : forms) {
    if (!one.here) continue;
    for (const Case& c : Cases()) {
      SCOPED_TRACE(testing::Message() << one.name << ", " << c);
      const Result whole = ResultOf(*one.form, c, true, 0, c.rows());
      Result parts = ResultOf(*one.form, c, true, 0, 0);
      EXPECT_EQ(parts.out, std::vector<float>(c.results(), kMark));
      EXPECT_EQ(parts.gradient, std::vector<float>(c.elements(), kMark));
      for (int64_t row = 0; row < c.rows(); ++row) {
        const Result part = ResultOf(*one.form, c, true, row, row + 1);
        size_t written = 0;
        for (size_t i = 0; i < c.results(); ++i) {
          if (part.winners[i] == kByteMark) continue;
          ++written;
          EXPECT_EQ(parts.winners[i], kByteMark);  // In one row only.
          parts.out[i] = part.out[i];
          parts.winners[i] = part.winners[i];
        }
        EXPECT_EQ(written, c.results() / static_cast<size_t>(c.rows()));
        for (size_t i = 0; i < c.elements(); ++i) {
          if (part.gradient[i] != kMark) parts.gradient[i] = part.gradient[i];
        }
      }
      ExpectSame(parts, whole);
    }
  }
}

TEST(PoolReluTest, WithoutWinnersTheResultIsTheSame) {
  std::vector<Form> forms = Forms();
  forms.push_back({"plain", &kPlainPoolRelu, true});
  for (const Form& one : forms) {
    if (!one.here) continue;
    for (const Case& c : Cases()) {
      SCOPED_TRACE(testing::Message() << one.name << ", " << c);
      const std::vector<float> images = Draw(c.elements(), 1, true);
      std::vector<float> out(c.results(), kMark);

      one.form->forward(c.shape, images.data(), 0, c.rows(), out.data(), nullptr);

      EXPECT_EQ(Bits(out), Bits(ResultOf(kPlainPoolRelu, c, true, 0, c.rows()).out));
    }
  }
}

TEST(PoolReluTest, EachInstructionSetHasItsOwnFormAndFewChannelsThePlainOne) {
  EXPECT_EQ(&PoolReluFor(InstructionSet::kSse, 16), &kSsePoolRelu);
  EXPECT_EQ(&PoolReluFor(InstructionSet::kAvx2, 40), &kAvx2PoolRelu);
  EXPECT_EQ(&PoolReluFor(InstructionSet::kAvx512, 256), &kAvx512PoolRelu);
  EXPECT_EQ(&PoolReluFor(InstructionSet::kAvx512, 15), &kPlainPoolRelu);
}

}  // namespace
}  // namespace noisefloor::trainer
