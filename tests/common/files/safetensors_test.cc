#include "common/files/safetensors.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;

constexpr std::array<float, 6> kFloats = {0.f, -1.5f, 2.f, 3.f, 4.f, 1e30f};
constexpr std::array<int64_t, 1> kCount = {-7};

std::vector<TensorView> Tensors() {
  return {MakeTensorView<float>("b.weight", {2, 3}, kFloats),
          MakeTensorView<int64_t>("z.count", {}, kCount),
          MakeTensorView<float>("a.bias", {1}, std::span(kFloats).first(1))};
}

TEST(SafetensorsTest, TensorsAndMetadataAreReadBack) {
  Scratch scratch;

  ASSERT_TRUE(WriteSafetensors(scratch.Path("x"), Tensors(), {{"member", "s1c2r3"}}).ok());
  const SafetensorsFile file = SafetensorsFile::Open(scratch.Path("x")).value();

  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, "a.bias");
  EXPECT_EQ(file.Find("b.weight")->shape, (Shape{2, 3}));
  EXPECT_THAT(CopyValues<float>(*file.Find("b.weight")).value(),
              ElementsAre(0.f, -1.5f, 2.f, 3.f, 4.f, 1e30f));
  EXPECT_THAT(CopyValues<int64_t>(*file.Find("z.count")).value(), ElementsAre(-7));
  EXPECT_EQ(file.Find("c"), nullptr);
  EXPECT_EQ(file.metadata().at("member"), "s1c2r3");
}

TEST(SafetensorsTest, ContentThatIsFilledInLaterIsTheFileOfTheSameTensors) {
  Scratch scratch;
  ASSERT_TRUE(WriteSafetensors(scratch.Path("x"), Tensors(), {{"member", "s1c2r3"}}).ok());
  std::vector<TensorView> shapes = Tensors();
  for (TensorView& tensor : shapes) tensor.bytes = {};

  SafetensorsContent content = SafetensorsContent::Make(shapes, {{"member", "s1c2r3"}}).value();
  for (size_t i = 0; i < shapes.size(); ++i) {
    ASSERT_EQ(content.Values(i).size(), Tensors()[i].bytes.size());
    std::ranges::copy(Tensors()[i].bytes, content.Values(i).begin());
  }

  EXPECT_EQ(content.bytes(), ReadFile(scratch.Path("x"), 1000).value());
  const SafetensorsView view = ReadSafetensors(content.bytes(), "x").value();
  EXPECT_THAT(CopyValues<int64_t>(*view.Find("z.count")).value(), ElementsAre(-7));
  EXPECT_EQ(view.Find("c"), nullptr);
  EXPECT_FALSE(SafetensorsContent::Make({MakeTensorView<float>("a", {-1}, kFloats)}).ok());
}

TEST(SafetensorsTest, ContentOfAnyOtherLengthIsRefused) {
  const std::string whole(SafetensorsContent::Make(Tensors()).value().bytes());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ReadSafetensors(std::string_view(whole).substr(0, size), "x").ok()) << size;
  }
  EXPECT_FALSE(ReadSafetensors(whole + "x", "x").ok());
}

TEST(SafetensorsTest, OrderOfTheTensorsDoesNotChangeTheFile) {
  Scratch scratch;
  std::vector<TensorView> reversed = Tensors();
  std::swap(reversed[0], reversed[2]);

  ASSERT_TRUE(WriteSafetensors(scratch.Path("x"), Tensors()).ok());
  ASSERT_TRUE(WriteSafetensors(scratch.Path("y"), reversed).ok());

  EXPECT_EQ(ReadFile(scratch.Path("x"), 1000).value(), ReadFile(scratch.Path("y"), 1000).value());
}

TEST(SafetensorsTest, BytesAreThoseOfTheFormat) {
  Scratch scratch;
  const std::string header = R"({"a":{"data_offsets":[8,12],"dtype":"F32","shape":[1]},)"
                             R"("n":{"data_offsets":[0,8],"dtype":"I64","shape":[]}}     )";
  ASSERT_EQ(header.size(), 112u);

  ASSERT_TRUE(WriteSafetensors(scratch.Path("x"),
                               {MakeTensorView<float>("a", {1}, std::span(kFloats).subspan(2, 1)),
                                MakeTensorView<int64_t>("n", {}, kCount)})
                  .ok());

  EXPECT_EQ(ReadFile(scratch.Path("x"), 1000).value(),
            std::string("\x70\0\0\0\0\0\0\0", 8) + header +
                std::string("\xf9\xff\xff\xff\xff\xff\xff\xff\0\0\0\x40", 12));
}

TEST(SafetensorsTest, WhatTheFormatCannotHoldIsNotWritten) {
  Scratch scratch;
  const std::array<uint8_t, 1> byte = {1};
  const auto write = [&](std::vector<TensorView> tensors) {
    return Message(WriteSafetensors(scratch.Path("x"), tensors));
  };
  const TensorView a = MakeTensorView<float>("a", {1}, std::span(kFloats).first(1));

  EXPECT_EQ(write({MakeTensorView<uint8_t>("u", {1}, byte)}),
            "tensor 'u' is uint8; expected float32 or int64");
  EXPECT_EQ(write({a, a}), "two entries named 'a'");
  TensorView metadata = a;
  metadata.name = "__metadata__";
  EXPECT_EQ(write({metadata}), "two entries named '__metadata__'");
  EXPECT_EQ(write({MakeTensorView<float>("w", {2}, std::span(kFloats).first(1))}),
            "w: 4 bytes of values, expected 8 for float32 [2]");
  EXPECT_THAT(write({MakeTensorView<float>("\xff", {6}, kFloats)}),
              ::testing::StartsWith("a tensor's name is not UTF-8: "));
  EXPECT_FALSE(PathExists(scratch.Path("x")));
}

TEST(SafetensorsTest, WhatOthersWriteIsReadInWhateverOrderItLies) {
  const std::string header = R"({"b":{"shape":[0,3],"dtype":"I64","data_offsets":[8,8]},)"
                             R"("__metadata__":{"format":"pt"},)"
                             R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )";
  const std::string length(1, static_cast<char>(header.size()));
  const std::string values("\0\0\x80\x3f\0\0\0\x40", 8);
  const std::string content = length + std::string(7, '\0') + header + values;

  const SafetensorsView view = ReadSafetensors(content, "x").value();

  EXPECT_THAT(CopyValues<float>(*view.Find("a")).value(), ElementsAre(1.f, 2.f));
  EXPECT_EQ(view.Find("b")->shape, (Shape{0, 3}));
  EXPECT_THAT(CopyValues<int64_t>(*view.Find("b")).value(), ElementsAre());
  EXPECT_EQ(view.metadata.at("format"), "pt");
}

TEST(SafetensorsTest, ValuesOfAnotherTypeAreNotCopied) {
  EXPECT_EQ(Message(CopyValues<int64_t>(Tensors()[0]).status()),
            "b.weight: values are float32, expected int64");
}

struct Broken {
  std::string file;
  std::string message;
};

std::string File(const std::string& header, size_t value_bytes) {
  std::string text;
  for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(header.size() >> (8 * i)));
  return text + header + std::string(value_bytes, '\0');
}

std::string One(const std::string& entry) { return "{\"a\":" + entry + "}"; }

std::vector<Broken> BrokenFiles() {
  const std::string good = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string later = R"({"dtype":"F32","shape":[2],"data_offsets":[12,20]})";
  const std::string over = R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})";
  return {
      {"", "0 bytes; expected at least 8"},
      {"1234567", "7 bytes; expected at least 8"},
      {std::string(8, '\xff'),
       "no safetensors file, or with a header of 18446744073709551615 bytes, of which at most "
       "16777216 are allowed"},
      {std::string("\x20\0\0\0\0\0\0\0{}", 10), "ends after 10 bytes; the header alone is 40"},
      {File("", 0), "the header is not valid JSON"},
      {File("{\"a\":", 0), "the header is not valid JSON"},
      {File("[1]", 0), "the header is not a JSON object"},
      {File("{} ", 4), "4 bytes of values; the header says 0"},
      {File(One("7"), 0), "tensor 'a': not an object"},
      {File(One("{}"), 0), "tensor 'a': dtype is null; expected \"F32\" or \"I64\""},
      {File(One(R"({"dtype":"BF16"})"), 0),
       "tensor 'a': dtype is \"BF16\"; expected \"F32\" or \"I64\""},
      {File(One(R"({"dtype":"F32"})"), 0), "tensor 'a': shape is not a list of sizes"},
      {File(One(R"({"dtype":"F32","shape":[-2]})"), 0),
       "tensor 'a': shape has the size -2; expected a number of 0 to 2^40"},
      {File(One(R"({"dtype":"F32","shape":["2"]})"), 0),
       "tensor 'a': shape has the size \"2\"; expected a number of 0 to 2^40"},
      {File(One(R"({"dtype":"F32","shape":[1099511627776,2]})"), 0),
       "tensor 'a': shape [1099511627776, 2]: more than 2^40 elements"},
      {File(One(R"({"dtype":"F32","shape":[2]})"), 8),
       "tensor 'a': data_offsets is not a list of two numbers"},
      {File(One(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"), 8),
       "tensor 'a': data_offsets is not a list of two numbers"},
      {File(One(R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})"), 8),
       "tensor 'a': data_offsets is not a list of two numbers"},
      {File(One(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), 8),
       "tensor 'a': data_offsets [8, 0]; expected 8 bytes for float32 [2]"},
      {File(One(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), 4),
       "tensor 'a': data_offsets [0, 4]; expected 8 bytes for float32 [2]"},
      {File(One(good), 7), "7 bytes of values; the header says 8"},
      {File(One(good), 9), "9 bytes of values; the header says 8"},
      {File(One(over), 12), "tensor 'a' begins at byte 4; expected 0"},
      {File("{\"a\":" + good + ",\"b\":" + later + "}", 20),
       "tensor 'b' begins at byte 12; expected 8"},
      {File("{\"a\":" + good + ",\"b\":" + over + "}", 12),
       "tensor 'b' begins at byte 4; expected 8"},
      {File("{\"a\":" + good + ",\"a\":" + good + "}", 8), "two tensors named 'a'"},
      {File("{\"__metadata__\":[]}", 0), "__metadata__ is not an object"},
      {File("{\"__metadata__\":{\"k\":1}}", 0), "__metadata__: 'k' is not a string"},
  };
}

TEST(SafetensorsTest, BrokenFilesAreRefusedWithTheReason) {
  Scratch scratch;
  for (const Broken& broken : BrokenFiles()) {
    const std::string path = scratch.Put("broken.safetensors", broken.file);

    const absl::Status status = SafetensorsFile::Open(path).status();

    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << broken.message;
    EXPECT_EQ(Message(status), path + ": " + broken.message);
  }
}

TEST(SafetensorsTest, DeeplyNestedHeaderIsRefused) {
  Scratch scratch;
  const std::string path = scratch.Put("deep", File(std::string(1'000'000, '['), 0));

  const std::string refusal = "the header nests deeper than names, tensors and their shapes";
  EXPECT_EQ(Message(SafetensorsFile::Open(path).status()), path + ": " + refusal);
  // Valid JSON, too: what is wrong with it is said without writing it out.
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& entry :
       {"{\"dtype\":" + deep + "}", "{\"dtype\":\"F32\",\"shape\":[" + deep + "]}", deep}) {
    EXPECT_EQ(Message(SafetensorsFile::Open(scratch.Put("nested", File(One(entry), 0))).status()),
              scratch.Path("nested") + ": " + refusal);
  }
}

}  // namespace
}  // namespace noisefloor
