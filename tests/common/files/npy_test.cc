#include "common/files/npy.h"

#include <array>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

template <typename T>
class NpyTypedTest : public ::testing::Test {};
using Types = ::testing::Types<float, uint8_t, int32_t, int64_t, double>;
TYPED_TEST_SUITE(NpyTypedTest, Types);

TYPED_TEST(NpyTypedTest, ValuesAndShapeAreReadBack) {
  Scratch scratch;
  const std::vector<TypeParam> values = {1, 2, 3, 4, 5, 250};

  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{3, 1, 2}}) {
    ASSERT_TRUE(WriteNpy<TypeParam>(scratch.Path("x.npy"), shape, values).ok());
    const NpyView view = NpyView::Open(scratch.Path("x.npy")).value();
    EXPECT_EQ(view.shape(), shape);
    EXPECT_THAT(view.Values<TypeParam>().value(), ElementsAreArray(values));
  }
}

TEST(NpyTest, ScalarsAndEmptyArraysAreReadBack) {
  Scratch scratch;
  const std::array<float, 1> one = {2.5f};

  ASSERT_TRUE(WriteNpy<float>(scratch.Path("scalar"), {}, one).ok());
  ASSERT_TRUE(WriteNpy<float>(scratch.Path("empty"), {0, 3}, {}).ok());

  EXPECT_THAT(NpyView::Open(scratch.Path("scalar"))->Values<float>().value(), ElementsAre(2.5f));
  EXPECT_THAT(NpyView::Open(scratch.Path("empty"))->shape(), ElementsAre(0, 3));
}

// The bytes that numpy.save writes for np.array([[1, 2, 3]], dtype="<f4").
TEST(NpyTest, BytesAreThoseOfNumpy) {
  const std::array<float, 3> values = {1, 2, 3};
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
  expected.resize(127, ' ');
  expected += std::string("\n\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 13);

  EXPECT_EQ(EncodeNpy(MakeTensorView<float>("", {1, 3}, values)).value(), expected);
}

// What numpy calls each type, and that a header as long as the bound is read.
TEST(NpyTest, TypesHaveNumpysNames) {
  const std::string_view names[] = {"<f4", "|u1", "<i4", "<i8", "<f8"};
  const ElementType types[] = {ElementType::kFloat32, ElementType::kUint8, ElementType::kInt32,
                               ElementType::kInt64, ElementType::kFloat64};
  for (size_t i = 0; i < std::size(names); ++i) {
    const std::string header = EncodeNpyHeader({types[i], {1}});
    EXPECT_EQ(header.substr(10, 17), "{'descr': '" + std::string(names[i]) + "', ");
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(DecodeNpyHeader(header)->header.type, types[i]);
  }
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  dictionary.resize(4096, ' ');
  std::string text("\x93NUMPY\x01\x00\x00\x10", 10);
  EXPECT_EQ(DecodeNpyHeader(text + dictionary)->size_bytes, 4106u);
}

TEST(NpyTest, WrongTypeIsRefusedOnAccess) {
  Scratch scratch;
  const std::array<int32_t, 2> values = {1, 2};
  ASSERT_TRUE(WriteNpy<int32_t>(scratch.Path("x"), {2}, values).ok());

  EXPECT_EQ(Message(NpyView::Open(scratch.Path("x"))->Values<float>().status()),
            scratch.Path("x") + ": values are int32, expected float32");
}

TEST(NpyTest, ShapeThatDoesNotFitTheValuesIsNotWritten) {
  Scratch scratch;
  const std::array<float, 3> values = {1, 2, 3};

  EXPECT_EQ(Message(WriteNpy<float>(scratch.Path("x"), {2, 2}, values)),
            scratch.Path("x") + ": 12 bytes of values, expected 16 for float32 [2, 2]");
  EXPECT_FALSE(PathExists(scratch.Path("x")));
}

std::string NpyFileOf(std::string_view dictionary, size_t value_bytes) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text.push_back(static_cast<char>(dictionary.size() & 0xff));
  text.push_back(static_cast<char>(dictionary.size() >> 8));
  return text.append(dictionary).append(value_bytes, '\0');
}

TEST(NpyTest, OtherSpacingsAndOrdersOfKeysAreRead) {
  const std::string text =
      NpyFileOf(" {\"shape\":(2,2),'fortran_order' : False , 'descr':'|u1'}\n", 4);

  EXPECT_THAT(DecodeNpy(text, "x")->shape, ElementsAre(2, 2));
}

TEST(NpyTest, UnalignedValuesAreRefusedOnAccess) {
  Scratch scratch;
  const std::string path =
      scratch.Put("x", NpyFileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8));

  EXPECT_EQ(Message(NpyView::Open(path)->Values<float>().status()),
            path + ": values begin at byte 65, not a multiple of 4");
}

struct BrokenNpy {
  std::string file;
  std::string message;
};

std::vector<BrokenNpy> BrokenNpyFiles() {
  const std::string good = NpyFileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8);
  std::string version = good;
  version[6] = 2;
  std::string long_header = good;
  long_header[9] = 0x7f;
  const std::string begin = "{'descr': '<f4', 'fortran_order': False, ";
  return {
      {"", "does not begin with the magic of .npy files"},
      {"PK\x03\x04zip", "does not begin with the magic of .npy files"},
      {good.substr(0, 8), "ends after 8 bytes, within the header"},
      {version, ".npy version 2.0; expected 1.0"},
      {long_header, "header of 32567 bytes; at most 4096 are allowed"},
      {good.substr(0, 30), "ends after 30 bytes; the header alone is 65"},
      {good.substr(0, 70), "5 bytes of values, expected 8 for float32 [2]"},
      {good + "x", "9 bytes of values, expected 8 for float32 [2]"},
      {NpyFileOf("[]", 0), "header, byte 10: expected { to begin the header"},
      {NpyFileOf("{descr: 1}", 0), "header, byte 11: expected a key in quotes or }"},
      {NpyFileOf("{'descr' 1}", 0), "header, byte 19: expected : after a key"},
      {NpyFileOf("{'descr': 1}", 0), "header, byte 20: expected a type in quotes"},
      {NpyFileOf("{'descr': '<f4' 'shape'}", 0), "header, byte 26: expected , or } after a value"},
      {NpyFileOf("{'descr': '>f4'}", 0),
       "values are of type '>f4'; expected <f4, <f8, |u1, <i4 or <i8"},
      {NpyFileOf("{'descr': '|O'}", 0),
       "values are of type '|O'; expected <f4, <f8, |u1, <i4 or <i8"},
      {NpyFileOf("{'fortran_order': True}", 0),
       "fortran_order is True; expected values in C order"},
      {NpyFileOf("{'fortran_order': 0}", 0), "header, byte 28: expected True or False"},
      {NpyFileOf(begin + "}", 0), "header without shape"},
      {NpyFileOf("{'fortran_order': False, 'shape': ()}", 0), "header without descr"},
      {NpyFileOf("{'descr': '<f4', 'shape': ()}", 0), "header without fortran_order"},
      {NpyFileOf(begin + "'descr': '<f4'}", 0),
       "header key 'descr'; expected each of descr, fortran_order and shape once"},
      {NpyFileOf(begin + "'evil': 1}", 0),
       "header key 'evil'; expected each of descr, fortran_order and shape once"},
      {NpyFileOf(begin + "'shape': [2]}", 0), "header, byte 60: expected ( to begin the shape"},
      {NpyFileOf(begin + "'shape': (2)}", 0),
       "header, byte 63: expected (n,) for a shape of one size"},
      {NpyFileOf(begin + "'shape': (x,)}", 0),
       "header, byte 61: expected a size of the shape or )"},
      {NpyFileOf(begin + "'shape': (2;3)}", 0),
       "header, byte 62: expected , or ) after a size of the shape"},
      {NpyFileOf(begin + "'shape': (-1,)}", 0), "shape [-1]: a size is negative"},
      {NpyFileOf(begin + "'shape': (2097152, 2097152)}", 0),
       "shape [2097152, 2097152]: more than 2^40 elements"},
      {NpyFileOf(begin + "'shape': (99999999999999999999,)}", 0),
       "header, byte 61: expected a size of the shape or )"},
      {NpyFileOf(begin + "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", 4),
       "17 dimensions; at most 16 are allowed"},
      {NpyFileOf(begin + "'shape': (1,)} x", 4),
       "header, byte 66: expected only spaces after the header's }"},
  };
}

TEST(NpyTest, BrokenFilesAreRefusedWithTheReason) {
  Scratch scratch;
  for (const BrokenNpy& broken : BrokenNpyFiles()) {
    const std::string path = scratch.Put("broken.npy", broken.file);

    const absl::Status status = NpyView::Open(path).status();

    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << broken.message;
    EXPECT_EQ(Message(status), path + ": " + broken.message);
  }
}

}  // namespace
}  // namespace noisefloor
