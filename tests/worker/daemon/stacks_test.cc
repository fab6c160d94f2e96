#include "worker/daemon/stacks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/fields.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;

constexpr char kGood[] =
    R"({"protocol":1,"stack":"torch-2.11-cu130","build":"b","environment":{},"fingerprint":"f","probes":1})";

TEST(StacksTest, ADescriptionNamesTheStack) {
  const auto description = ParseDescription(kGood);
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(description->name, "torch-2.11-cu130");
  EXPECT_EQ(description->stack.build, "b");
  EXPECT_EQ(description->stack.fingerprint.size(), 64u);
}

TEST(StacksTest, ATrainerSaysThatItServesForks) {
  EXPECT_FALSE(ParseDescription(kGood)->stack.serves_forks);
  const auto with = [](const std::string& value) {
    std::string text = kGood;
    return text.insert(1, "\"serves_forks\":" + value + ",");
  };
  EXPECT_TRUE(ParseDescription(with("1"))->stack.serves_forks);
  EXPECT_FALSE(ParseDescription(with("2"))->stack.serves_forks) << "a protocol of another time";
  EXPECT_EQ(ParseDescription(with("1"))->stack.fingerprint,
            ParseDescription(kGood)->stack.fingerprint)
      << "the bits are the same";
  EXPECT_FALSE(ParseDescription(with("true")).ok());
}

TEST(StacksTest, ATrainerPublishesItsSettings) {
  EXPECT_EQ(ParseDescription(kGood)->stack.schema, nullptr) << "a trainer of version 0.2";
  const auto with = [](const std::string& settings) {
    std::string text = kGood;
    return ParseDescription(text.insert(1, "\"settings\":" + settings + ","));
  };
  const auto own = with(OwnSchema()->ToJson());
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->stack.schema->identity(), OwnSchema()->identity());
  EXPECT_EQ(own->stack.fingerprint, ParseDescription(kGood)->stack.fingerprint)
      << "the bits are the same";
  EXPECT_EQ(with("[]")->stack.schema->rules().size(), 0u);
  EXPECT_THAT(Message(with(R"([{"path":"a"}])").status()), HasSubstr("settings[0]"));
  EXPECT_FALSE(with("3").ok());
}

TEST(StacksTest, OtherLibrariesAreAnotherFingerprint) {
  std::string other = kGood;
  other.replace(other.find("\"f\""), 3, "\"g\"");
  EXPECT_NE(ParseDescription(kGood)->stack.fingerprint, ParseDescription(other)->stack.fingerprint);
}

TEST(StacksTest, BrokenDescriptionsAreRefused) {
  EXPECT_FALSE(ParseDescription("").ok());
  EXPECT_FALSE(ParseDescription("{}").ok());
  std::string newer = kGood;
  newer.replace(newer.find(":1"), 2, ":2");
  EXPECT_THAT(Message(ParseDescription(newer).status()), HasSubstr("version 1"));
}

TEST(StacksTest, ProgramsThatAreNoTrainersAreRefused) {
  EXPECT_EQ(Message(FindStacks({{"", {"/bin/false"}}}).status()),
            "/bin/false --describe: exit code 1");
  EXPECT_THAT(Message(FindStacks({{"x", {"/no/such/program"}}}).status()),
              HasSubstr("/no/such/program"));
  EXPECT_THAT(Message(FindStacks({{"x", {"/bin/true"}}}).status()),
              HasSubstr("/bin/true --describe"));
}

TEST(StacksTest, OneOfNoNameMayBeMissingWhereOthersAre) {
  const auto stacks = FindStacks({{"", {"/bin/false"}}, {"noop", {}}});
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  EXPECT_EQ(stacks->size(), 1u);
  EXPECT_FALSE(FindStacks({{"mine", {"/bin/false"}}, {"noop", {}}}).ok()) << "it was asked for";
}

TEST(StacksTest, ProgramsAreLookedForInThePath) {
  const std::string say = std::string("printf '%s' '") + kGood + "'";
  const auto stacks = FindStacks({{"torch-2.11-cu130", {"sh", "-c", say}}});
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  const std::vector<std::string>& command = stacks->at("torch-2.11-cu130").command;
  EXPECT_THAT(command.at(0), testing::EndsWith("/sh"));
  EXPECT_EQ(command.at(2), say);
}

TEST(StacksTest, TheBuiltInTrainerNeedsNoProgram) {
  const auto stacks = FindStacks({{"noop", {}}});
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  EXPECT_TRUE(stacks->at("noop").command.empty());
}

}  // namespace
}  // namespace noisefloor
