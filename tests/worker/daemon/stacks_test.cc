#include "worker/daemon/stacks.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/fields.h"
#include "tests/common/files/scratch.h"

namespace noisefloor {
namespace {

using testing::AllOf;
using testing::EndsWith;
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

TEST(StacksTest, ATrainerSaysThatItInfers) {
  EXPECT_FALSE(ParseDescription(kGood)->stack.infers);
  const auto with = [](const std::string& value) {
    std::string text = kGood;
    return ParseDescription(text.insert(1, "\"infers\":" + value + ","));
  };
  EXPECT_TRUE(with("1")->stack.infers);
  EXPECT_FALSE(with("2")->stack.infers) << "of another time";
  EXPECT_FALSE(with("true").ok());
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

// As the loader ends it. `place`: "/usr/lib/noisefloor/libexec".
std::string WordsWithoutLibTorch(const Scratch& scratch, const std::string& place) {
  const std::string program = scratch.Path(place + "/noisefloor-trainer");
  std::filesystem::create_directories(scratch.Path(place));
  std::ofstream(program) << "#!/bin/sh\n"
                            "echo error while loading: libtorch_cpu.so: No such file >&2\n"
                            "exit 127\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return Message(FindStacks({{"", {program}}}).status());
}

TEST(StacksTest, AnInstalledTrainerWithoutLibTorchSaysWhereItGoes) {
  const Scratch scratch;
  EXPECT_THAT(WordsWithoutLibTorch(scratch, "noisefloor/libexec"),
              AllOf(HasSubstr("libtorch_cpu.so: No such file; "),
                    HasSubstr(scratch.Path("noisefloor/torch") + " is to be the folder `torch`")));
  EXPECT_THAT(WordsWithoutLibTorch(scratch, "noisefloor/programs/libexec"),
              EndsWith("; pip install 'torch==2.11.*' where noisefloor is installed"));
  EXPECT_THAT(WordsWithoutLibTorch(scratch, "build/bin"), EndsWith("libtorch_cpu.so: No such file"))
      << "not installed: the build knows where it is";
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
