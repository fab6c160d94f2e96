#include "worker/daemon/stacks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
  EXPECT_EQ(Message(FindStacks({{"", "/bin/false"}}).status()),
            "/bin/false --describe: exit code 1");
  EXPECT_THAT(Message(FindStacks({{"x", "/no/such/program"}}).status()),
              HasSubstr("/no/such/program"));
  EXPECT_THAT(Message(FindStacks({{"x", "/bin/true"}}).status()),
              HasSubstr("/bin/true --describe"));
}

TEST(StacksTest, TheBuiltInTrainerNeedsNoProgram) {
  const auto stacks = FindStacks({{"noop", ""}});
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  EXPECT_EQ(stacks->at("noop").program, "");
}

}  // namespace
}  // namespace noisefloor
