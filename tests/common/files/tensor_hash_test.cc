#include "common/files/tensor_hash.h"

#include <array>

#include "gtest/gtest.h"

#include "common/files/sha256.h"

namespace noisefloor {
namespace {

constexpr std::array<float, 2> kWeight = {1.f, -2.f};
constexpr std::array<int64_t, 1> kThree = {3};

TEST(TensorHashTest, LayoutIsTheOneOfTheHeader) {
  const std::string expected(
      "\x01\0\0\0\0\0\0\0b\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0"                      // b
      "\x01\0\0\0\0\0\0\0w\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"  // w
      "\0\0\x80\x3f\0\0\0\xc0",
      25 + 33 + 8);

  EXPECT_EQ(HashTensors({MakeTensorView<float>("w", {1, 2}, kWeight),
                         MakeTensorView<int64_t>("b", {}, kThree)})
                .value(),
            Sha256Hex(expected));
}

// From the Python program in the header, of {"conv.weight": arange(6, dtype=float32).reshape(2, 3),
// "bn.count": int64(7)}.
TEST(TensorHashTest, HashIsThatOfThePythonProgram) {
  const std::array<float, 6> values = {0, 1, 2, 3, 4, 5};
  const std::array<int64_t, 1> count = {7};

  EXPECT_EQ(HashTensors({MakeTensorView<float>("conv.weight", {2, 3}, values),
                         MakeTensorView<int64_t>("bn.count", {}, count)})
                .value(),
            "e602aab404472029ca8a59fa0d83e6171460cfff355ec592fa238bb2a0055bc0");
}

TEST(TensorHashTest, NameShapeAndValuesEachChangeTheHash) {
  const std::array<float, 2> other = {1.f, 2.f};
  const auto hash = [](std::string name, Shape shape, std::span<const float> values) {
    return HashTensors({MakeTensorView<float>(std::move(name), std::move(shape), values)}).value();
  };
  const std::string base = hash("w", {2}, kWeight);

  EXPECT_EQ(hash("w", {2}, kWeight), base);
  EXPECT_NE(hash("v", {2}, kWeight), base);
  EXPECT_NE(hash("w", {1, 2}, kWeight), base);
  EXPECT_NE(hash("w", {2}, other), base);
}

TEST(TensorHashTest, NegativeZeroIsAnotherValue) {
  const std::array<float, 1> plus = {0.f};
  const std::array<float, 1> minus = {-0.f};

  EXPECT_NE(HashTensors({MakeTensorView<float>("w", {1}, plus)}).value(),
            HashTensors({MakeTensorView<float>("w", {1}, minus)}).value());
}

TEST(TensorHashTest, TwoTensorsOfOneNameAreRefused) {
  const TensorView w = MakeTensorView<float>("w", {2}, kWeight);

  EXPECT_EQ(Message(HashTensors({w, w}).status()), "two tensors named 'w'");
}

TEST(TensorHashTest, BytesThatDoNotFitTheShapeAreRefused) {
  EXPECT_EQ(Message(HashTensors({MakeTensorView<float>("w", {3}, kWeight)}).status()),
            "w: 8 bytes of values, expected 12 for float32 [3]");
}

}  // namespace
}  // namespace noisefloor
