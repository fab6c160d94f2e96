#include "common/trainer_protocol/specification_template.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/seed.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {
namespace {

constexpr uint64_t kSeed = 18446744073709551615ull;

// The member of a cell in which source i is in state (pattern / 3^i) % 3.
Specification Member(uint32_t pattern, uint32_t replicate) {
  Specification specification;
  specification.data.name = R"("lane":0,"seed":"")";  // A text that looks like a place to fill.
  for (const NoiseSource source : kAllNoiseSources) {
    SourceSpec& spec = specification.Source(source);
    spec.state = static_cast<SourceState>(pattern % 3);
    pattern /= 3;
    spec.lane = LaneOf(spec.state, 7, replicate);
    spec.seed = DeriveSeed(kSeed, source, spec.lane);
  }
  return specification;
}

TEST(SpecificationTemplate, GivesEachMembersTextToTheLastByte) {
  for (uint32_t pattern = 0; pattern < 19683; pattern += 61) {
    const auto shared = SpecificationTemplate::Of(TrainingOf(Member(pattern, 3)), kSeed);
    EXPECT_EQ(shared.text(),
              SpecificationTemplate::Of(TrainingOf(Member(pattern, 8)), kSeed).text())
        << "whichever member it is made of";
    const auto read = SpecificationTemplate::Parse(shared.text(), kSeed);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->text(), shared.text());
    for (const uint32_t replicate : {0u, 3u, 99999u}) {
      const std::string text = SpecificationToJson(Member(pattern, replicate));
      EXPECT_EQ(shared.ForReplicate(replicate), text) << pattern;
      EXPECT_EQ(read->ForReplicate(replicate), text) << pattern;
    }
  }
}

TEST(SpecificationTemplate, SharesTheSeedsOfFixedSourcesAndNoOthers) {
  Specification member = Member(0, 4);
  member.Source(NoiseSource::kInit).state = SourceState::kFree;

  const auto text = ParseJson(SpecificationTemplate::Of(TrainingOf(member), kSeed).text());

  ASSERT_TRUE(text.ok());
  EXPECT_EQ((*text)["noise"]["init"], (Json{{"state", "free"}, {"block", 7}}));
  EXPECT_TRUE((*text)["noise"]["augment"].contains("seed"));
}

TEST(SpecificationTemplate, AFixedOneIsTheSameForEveryReplicate) {
  Specification member = Member(0, 4);
  member.Source(NoiseSource::kInit).state = SourceState::kFree;
  const std::string text = SpecificationToJson(member);

  const auto fixed = SpecificationTemplate::Fixed(TrainingOf(member));

  EXPECT_EQ(fixed.text(), text);
  EXPECT_EQ(fixed.ForReplicate(0), text);
  EXPECT_EQ(fixed.ForReplicate(9), text);
  const auto read = SpecificationTemplate::Parse(text, kSeed);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ForReplicate(7), text) << "as the store gives it back";
  const auto shared = SpecificationTemplate::OfText(text, kSeed);
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(shared->text(), SpecificationTemplate::Of(TrainingOf(member), kSeed).text());
  EXPECT_NE(shared->ForReplicate(7), text);
}

TEST(SpecificationTemplate, WhatIsNoSpecificationIsSaidToBeNone) {
  const std::string good = SpecificationTemplate::Of(TrainingOf(Member(5, 0)), kSeed).text();
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), good.substr(1),
        std::string(R"({"noise":[]})"), std::string(R"({"noise":{"nobody":{}}})"),
        std::string(R"({"noise":{"init":7}})"), std::string(R"({"noise":{"init":{"block":0}}})"),
        std::string(R"({"noise":{"init":{"state":"free","block":-1}}})")}) {
    const auto shared = SpecificationTemplate::Parse(text, kSeed);
    EXPECT_EQ(shared.status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace noisefloor
