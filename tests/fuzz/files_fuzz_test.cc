// Headers of files and events of trainers, as nobody should write them: refused in words, or read
// as something that, written again, is read as the same.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/npy_header.h"
#include "common/files/safetensors_header.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/json.h"
#include "tests/fuzz/fuzz.h"

namespace noisefloor::test {
namespace {

constexpr int kRounds = 20000;
constexpr size_t kMostWords = 8 << 10;  // Bytes of a refusal.

void ExpectWords(const absl::Status& refused) {
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_FALSE(refused.message().empty());
  EXPECT_LT(refused.message().size(), kMostWords);
}

TEST(FilesFuzz, NpyHeaders) {
  std::vector<std::string> seeds;
  for (const ElementType type : {ElementType::kFloat32, ElementType::kInt64, ElementType::kUint8}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{100, 10}, Shape{2, 1, 28, 28}}) {
      seeds.push_back(EncodeNpyHeader({type, shape}));
    }
  }
  int read = 0;
  Fuzz(seeds, {"<f4", "<i8", "|u1", "True", "'shape'", "'descr'", "(,)", "(0,)", "(-1, 2)"},
       kRounds, [&](const std::string& input) {
         const auto decoded = DecodeNpyHeader(input);
         if (!decoded.ok()) return ExpectWords(decoded.status());
         ++read;
         EXPECT_LE(decoded->size_bytes, input.size());
         const auto again = DecodeNpyHeader(EncodeNpyHeader(decoded->header));
         ASSERT_TRUE(again.ok()) << again.status();
         EXPECT_EQ(again->header.type, decoded->header.type);
         EXPECT_EQ(again->header.shape, decoded->header.shape);
       });
  EXPECT_GT(read, 12);
}

TEST(FilesFuzz, SafetensorsHeaders) {
  constexpr uint64_t kValuesBytes = 48;
  SafetensorsHeader header;
  header.tensors = {{"bias", ElementType::kInt64, {2}, 0, 16},
                    {"weight", ElementType::kFloat32, {2, 4}, 16, 48}};
  const std::string plain = EncodeSafetensorsHeader(header).value();
  header.metadata = {{"format", "pt"}, {"member", "s1c0r0"}};
  int read = 0;
  Fuzz({plain, EncodeSafetensorsHeader(header).value()},
       {"F32", "I64", "dtype", "data_offsets", "__metadata__", "[0,16]", "[16,48]", "shape"},
       kRounds, [&](const std::string& input) {
         const auto decoded = DecodeSafetensorsHeader(input, kValuesBytes);
         if (!decoded.ok()) return ExpectWords(decoded.status());
         ++read;
         const auto text = EncodeSafetensorsHeader(*decoded);
         ASSERT_TRUE(text.ok()) << text.status();
         const auto again = DecodeSafetensorsHeader(*text, kValuesBytes);
         ASSERT_TRUE(again.ok()) << again.status();
         EXPECT_EQ(EncodeSafetensorsHeader(*again).value(), *text);
         uint64_t end = 0;
         for (const TensorPlace& tensor : decoded->tensors) end = std::max(end, tensor.end);
         EXPECT_LE(end, kValuesBytes);
       });
  EXPECT_GT(read, 12);
}

TEST(FilesFuzz, EventsOfTrainers) {
  HelloEvent hello;
  hello.stack = "torch-2.11-cpu";
  hello.build = "build";
  hello.environment = R"({"cpu":{"model":"x"}})";
  hello.data_identity = Sha256Hex("data");
  RecordsEvent records;
  records.sequence = 3;
  records.records = {{10, 0.5, "loss", 0.25}, {20, 1.0, "loss", 0.125}};
  Outcome done;
  done.kind = Outcome::Kind::kDone;
  done.hashes = {{"weights", Sha256Hex("w")}};
  done.metrics = {{"top1", 0.5}};
  done.per_class_accuracy = {0.5, 0.25};
  done.environment = "{}";
  done.train_seconds = 1.5;
  Outcome failed;
  failed.cause = CauseClass::kOutOfMemory;
  failed.message = "no memory";
  std::vector<std::string> seeds;
  for (const TrainerEvent& event :
       {TrainerEvent(hello), TrainerEvent(records), TrainerEvent(ProgressEvent{1, 10}),
        TrainerEvent(Artifact{"weights", "w.safetensors", Sha256Hex("w"), 64}), TrainerEvent(done),
        TrainerEvent(failed)}) {
    seeds.push_back(EventToJson(event));
  }
  int read = 0;
  Fuzz(seeds,
       {"\"event\"", "\"records\"", "\"nan\"", "\"inf\"", "\"../x\"", "\"cause\"", "\"bug\""},
       kRounds, [&](const std::string& input) {
         const auto event = EventFromJson(input);
         if (!event.ok()) return ExpectWords(event.status());
         ++read;
         const std::string text = EventToJson(*event);
         const auto again = EventFromJson(text);
         ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
         EXPECT_EQ(EventToJson(*again), text);
       });
  EXPECT_GT(read, 12);
}

}  // namespace
}  // namespace noisefloor::test
