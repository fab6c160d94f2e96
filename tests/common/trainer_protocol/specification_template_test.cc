#include "common/trainer_protocol/specification_template.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/seed.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {
namespace {

constexpr uint64_t kSeed = 18446744073709551615ull;

// Of a cell in which source i is in state (pattern / 3^i) % 3; every other free source has levels.
LaneRules RulesOf(uint32_t pattern) {
  LaneRules rules;
  for (const NoiseSource source : kAllNoiseSources) {
    LaneRule& rule = RuleOf(rules, source);
    rule.state = static_cast<SourceState>(pattern % 3);
    if (rule.state == SourceState::kFree && static_cast<int>(source) % 2 == 0) {
      rule.levels = {0, 3, 0, 1, 99998};
    }
    pattern /= 3;
  }
  return rules;
}

Specification Member(const LaneRules& rules, uint32_t replicate) {
  Specification specification;
  specification.data.name = R"("lane":0,"seed":"")";  // A text that looks like a place to fill.
  for (const NoiseSource source : kAllNoiseSources) {
    SourceSpec& spec = specification.Source(source);
    spec.state = RuleOf(rules, source).state;
    spec.lane = LaneOf(RuleOf(rules, source), 7, replicate);
    spec.seed = DeriveSeed(kSeed, source, spec.lane);
  }
  return specification;
}

TEST(SpecificationTemplate, GivesEachMembersTextToTheLastByte) {
  for (uint32_t pattern = 0; pattern < 177147; pattern += 547) {
    const LaneRules rules = RulesOf(pattern);
    const auto shared = SpecificationTemplate::Of(TrainingOf(Member(rules, 3)), rules, kSeed);
    EXPECT_EQ(shared.text(),
              SpecificationTemplate::Of(TrainingOf(Member(rules, 8)), rules, kSeed).text())
        << "whichever member it is made of";
    const auto read = SpecificationTemplate::Parse(shared.text(), kSeed);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->text(), shared.text());
    for (const uint32_t replicate : {0u, 3u, 99999u}) {
      const std::string text = SpecificationToJson(Member(rules, replicate));
      EXPECT_EQ(shared.ForReplicate(replicate), text) << pattern;
      EXPECT_EQ(read->ForReplicate(replicate), text) << pattern;
    }
  }
}

TEST(SpecificationTemplate, SharesTheSeedsOfFixedSourcesAndNoOthers) {
  LaneRules rules;
  RuleOf(rules, NoiseSource::kInit).state = SourceState::kFree;
  RuleOf(rules, NoiseSource::kDropout) = {SourceState::kFree, {1, 0}};

  const auto text =
      ParseJson(SpecificationTemplate::Of(TrainingOf(Member(rules, 4)), rules, kSeed).text());

  ASSERT_TRUE(text.ok());
  EXPECT_EQ((*text)["noise"]["init"], (Json{{"state", "free"}, {"block", 7}}));
  EXPECT_EQ((*text)["noise"]["dropout"],
            (Json{{"state", "free"}, {"block", 7}, {"levels", {1, 0}}}));
  EXPECT_TRUE((*text)["noise"]["augment"].contains("seed"));
}

TEST(SpecificationTemplate, AFixedOneIsTheSameForEveryReplicate) {
  LaneRules rules;
  RuleOf(rules, NoiseSource::kInit).state = SourceState::kFree;
  const Specification member = Member(rules, 4);
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
  EXPECT_EQ(shared->text(), SpecificationTemplate::Of(TrainingOf(member), rules, kSeed).text());
  EXPECT_NE(shared->ForReplicate(7), text);
}

TEST(SpecificationTemplate, WhatIsNoSpecificationIsSaidToBeNone) {
  const LaneRules rules = RulesOf(5);
  const std::string good =
      SpecificationTemplate::Of(TrainingOf(Member(rules, 0)), rules, kSeed).text();
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), good.substr(1),
        std::string(R"({"noise":[]})"), std::string(R"({"noise":{"nobody":{}}})"),
        std::string(R"({"noise":{"init":7}})"), std::string(R"({"noise":{"init":{"block":0}}})"),
        std::string(R"({"noise":{"init":{"state":"free","block":-1}}})"),
        std::string(R"({"noise":{"init":{"state":"free","block":0,"levels":[]}}})"),
        std::string(R"({"noise":{"init":{"state":"free","block":0,"levels":[-1]}}})"),
        std::string(R"({"noise":{"init":{"state":"free","block":0,"levels":1}}})")}) {
    const auto shared = SpecificationTemplate::Parse(text, kSeed);
    EXPECT_EQ(shared.status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace noisefloor
