// Our pass over pooling and ReLU against LibTorch's own operations, bit for bit.
#include "worker/trainer/torch/model/pool_relu.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <ostream>
#include <string>
#include <vector>

#include "common/base/philox.h"
#include "tests/worker/trainer/torch/capability.h"

namespace noisefloor::trainer {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

class PoolReluTorchTest : public testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);  // On a busy machine threads wait for each other longer than they work.
    if (!ProcessorHasAtensCapability()) {
      GTEST_SKIP() << "SKIPPED: this processor has no " << at::get_cpu_capability();
    }
  }
};

struct PoolCase {
  std::vector<int64_t> sizes;
  bool odd;  // Few values, all of them odd in comparisons.
};

std::ostream& operator<<(std::ostream& out, const PoolCase& c) {
  return out << at::IntArrayRef(c.sizes) << (c.odd ? " odd" : "");
}

std::vector<PoolCase> Cases() {
  std::vector<PoolCase> cases;
  for (const bool odd : {false, true}) {
    for (const int64_t channels : {3, 16, 40}) {
      for (const int64_t side : {2, 3, 8}) {
        cases.push_back({{3, channels, side, side}, odd});
        cases.push_back({{2, channels, side, side + 1}, odd});
      }
    }
  }
  return cases;
}

float Value(uint32_t draw, bool odd) {
  if (!odd) return static_cast<float>(static_cast<int32_t>(draw)) / 1e9f;
  constexpr std::array<uint32_t, 12> kBits = {
      0x00000000, 0x80000000, 0x3f800000, 0xbf800000,
      0x40000000, 0xc0000000, 0x7f800000, 0xff800000,  // Infinities.
      0x7fc00001, 0xffc00002,                          // NaNs that can be told apart.
      0x00000001, 0x80000001};
  return std::bit_cast<float>(kBits[(draw >> 7) % kBits.size()]);
}

at::Tensor Draw(at::IntArrayRef sizes, uint64_t seed, bool odd) {
  const at::Tensor values = at::empty(sizes, at::kFloat);
  auto* data = values.mutable_data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    data[i] = Value(PhiloxStream(seed, 0).Word(static_cast<uint64_t>(i)), odd);
  }
  return values;
}

at::Tensor Theirs(const at::Tensor& x) { return at::max_pool2d(x, {2, 2}).relu_(); }

// Their bits in logical order.
std::vector<int32_t> Bits(const at::Tensor& values) {
  const at::Tensor bits = values.detach().contiguous().view(at::kInt);
  const auto* data = bits.const_data_ptr<int32_t>();
  return {data, data + bits.numel()};
}

struct PassedPool {
  at::Tensor out, gradient;
};

template <typename Operation>
PassedPool Pass(const Operation& operation, const at::Tensor& values, const at::Tensor& gradient) {
  const at::Tensor x = values.detach().clone(at::MemoryFormat::Preserve).requires_grad_(true);
  const at::Tensor out = operation(x);
  out.backward(gradient);
  return {out, x.grad()};
}

void ExpectSameBits(const PassedPool& ours, const PassedPool& theirs) {
  EXPECT_EQ(ours.out.sizes(), theirs.out.sizes());
  EXPECT_EQ(ours.out.strides(), theirs.out.strides());
  EXPECT_EQ(Bits(ours.out), Bits(theirs.out));
  EXPECT_EQ(ours.gradient.strides(), theirs.gradient.strides());
  EXPECT_EQ(Bits(ours.gradient), Bits(theirs.gradient));
}

TEST_F(PoolReluTorchTest, ValuesAndGradientsAreLibTorchsBitForBit) {
  for (const PoolCase& c : Cases()) {
    SCOPED_TRACE(testing::Message() << c);
    const at::Tensor x = Draw(c.sizes, 1, c.odd).contiguous(kLast);
    const at::Tensor gradient = Draw(Theirs(x).sizes(), 2, c.odd);
    const PassedPool theirs = Pass(Theirs, x, gradient);

    ExpectSameBits(Pass(PoolThenRelu, x, gradient), theirs);
    ExpectSameBits(Pass(PoolThenRelu, x, gradient.contiguous(kLast)), theirs);
    const at::NoGradGuard no_grad;
    EXPECT_EQ(Bits(PoolThenRelu(x)), Bits(theirs.out));
    EXPECT_EQ(PoolThenRelu(x).strides(), theirs.out.strides());
  }
}

TEST_F(PoolReluTorchTest, TheirDefinitionIsOursWhateverTheForm) {
  for (const PoolCase& c : Cases()) {
    SCOPED_TRACE(testing::Message() << c);
    const at::Tensor x = Draw(c.sizes, 1, c.odd).contiguous(kLast);
    const PoolShape shape{c.sizes[2], c.sizes[3], c.sizes[1]};
    const at::Tensor out = Theirs(x).zero_();

    kPlainPoolRelu.forward(shape, x.const_data_ptr<float>(), 0, c.sizes[0] * shape.windows_high(),
                           out.mutable_data_ptr<float>(), nullptr);

    EXPECT_EQ(Bits(out), Bits(Theirs(x)));
  }
}

// As the mean over an image's pixels hands it down: one value for all of them, without memory.
TEST_F(PoolReluTorchTest, AGradientWithoutMemoryOfItsOwnIsTaken) {
  const at::Tensor x = Draw({2, 16, 8, 8}, 1, false).contiguous(kLast);
  const at::Tensor gradient = Draw({2, 16, 1, 1}, 2, false).expand({2, 16, 4, 4});

  ExpectSameBits(Pass(PoolThenRelu, x, gradient), Pass(Theirs, x, gradient));
}

TEST_F(PoolReluTorchTest, OtherTypesAndLayoutsAreLibTorchsOwn) {
  const at::Tensor plain = Draw({2, 16, 6, 6}, 1, false);
  const at::Tensor gradient = Draw({2, 16, 3, 3}, 2, false);

  ExpectSameBits(Pass(PoolThenRelu, plain, gradient), Pass(Theirs, plain, gradient));
  const at::Tensor doubles = plain.to(at::kDouble).contiguous(kLast);
  const PassedPool ours = Pass(PoolThenRelu, doubles, gradient.to(at::kDouble));
  const PassedPool theirs = Pass(Theirs, doubles, gradient.to(at::kDouble));
  EXPECT_TRUE(ours.out.equal(theirs.out));
  EXPECT_TRUE(ours.gradient.equal(theirs.gradient));
  EXPECT_ANY_THROW(PoolThenRelu(Draw({2, 16, 1, 4}, 1, false).contiguous(kLast)));
}

TEST_F(PoolReluTorchTest, TheNumberOfThreadsChangesNoBit) {
  const int before = at::get_num_threads();
  const at::Tensor x = Draw({8, 32, 31, 33}, 1, true).contiguous(kLast);
  const at::Tensor gradient = Draw({8, 32, 15, 16}, 2, true).contiguous(kLast);
  at::set_num_threads(1);
  const PassedPool alone = Pass(PoolThenRelu, x, gradient);

  at::set_num_threads(3);
  ExpectSameBits(Pass(PoolThenRelu, x, gradient), alone);
  at::set_num_threads(before);
}

// Multiples of 1/8 that lie at least 1/8 apart: a step of 1/32 changes no winner, and every number
// here is exact.
TEST_F(PoolReluTorchTest, GradientsAreTheSlopes) {
  constexpr int64_t kChannels = 16;
  const at::Tensor steps = at::arange(kChannels * 36, at::kLong).mul_(211).remainder_(577);
  const at::Tensor x =
      steps.sub_(288).to(at::kFloat).div_(8).view({1, kChannels, 6, 6}).contiguous(kLast);
  const at::Tensor weights = Draw({1, kChannels, 3, 3}, 2, false).mul_(100).round_();
  const at::Tensor gradient = Pass(PoolThenRelu, x, weights).gradient.contiguous();
  const at::NoGradGuard no_grad;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto moved = [&](float by) {
      at::Tensor there = x.contiguous().clone();
      there.view(-1)[i].add_(by);
      return PoolThenRelu(there.contiguous(kLast)).mul_(weights).sum(at::kDouble).item<double>();
    };
    EXPECT_EQ((moved(1.0f / 32) - moved(-1.0f / 32)) * 16, gradient.view(-1)[i].item<double>());
  }
}

TEST_F(PoolReluTorchTest, TheFormIsThatOfTheInstructionSetInForce) {
  const std::string capability = at::get_cpu_capability();
  const InstructionSet expected = capability == "AVX512" ? InstructionSet::kAvx512
                                  : capability == "AVX2" ? InstructionSet::kAvx2
                                                         : InstructionSet::kSse;
  EXPECT_EQ(InstructionSetOfAten(), expected) << capability;
}

}  // namespace
}  // namespace noisefloor::trainer
