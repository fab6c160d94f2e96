// Replays with a program that speaks the trainer protocol and makes its results from the seeds.
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/coordinator/cli/command_line.h"
#include "tests/coordinator/cli/finished_member.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;

Printed Replay(CommandLine& line, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"replay", "s1c0r0", std::string("--trainer=") + FAKE_TRAINER});
  return line.Run(more);
}

TEST(Replay, OfAFixedMemberFindsEqualBitsAndKeepsItsResult) {
  CommandLine line({.members = {Finished("s1c0r0", Small())}});
  const Printed printed = Replay(line);
  ASSERT_EQ(printed.code, kDone) << printed.err << printed.out;
  EXPECT_THAT(printed.err, HasSubstr("expects equal bits"));
  EXPECT_THAT(printed.out, HasSubstr("held: equal bits"));
  std::ifstream file(line.home() + "/replays/s1c0r0-1/replay.json");
  const auto json = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["replay_of"], "s1c0r0");
  EXPECT_EQ(json["expected"], "equal bits");
  EXPECT_EQ(json["bits_equal"], true);
  EXPECT_TRUE(std::filesystem::exists(line.home() + "/replays/s1c0r0-1/request.json"));
}

TEST(Replay, OfAFixedMemberWithOtherBitsIsRefusedAndNamesWhere) {
  v1::Member member = Finished("s1c0r0", Small());
  (*member.mutable_outcome()->mutable_hashes())["weights"] = std::string(64, 'a');
  CommandLine line({.members = {member}});
  const Printed printed = Replay(line, {"--output=json"});
  EXPECT_EQ(printed.code, kDidNotHold);
  const auto json = nlohmann::json::parse(printed.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << printed.out << printed.err;
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["bits_equal"], false);
  EXPECT_EQ(json["first_difference"], "the final weights");
  EXPECT_EQ(json["hashes"]["init"]["equal"], true);
  EXPECT_EQ(json["hashes"]["weights"]["equal"], false);
}

TEST(Replay, OfAMemberWithAFreePhysicalSourceExpectsTheDistribution) {
  Specification specification = Small();
  specification.Source(NoiseSource::kReduceOrder).state = SourceState::kFree;
  v1::Member member = Finished("s1c0r0", specification);
  (*member.mutable_outcome()->mutable_hashes())["weights"] = std::string(64, 'a');
  v1::Member other = Finished("s1c0r1", specification);
  (*other.mutable_outcome()->mutable_metrics())["top1"] += 0.01;
  CommandLine line({.members = {member, other}});
  const Printed printed = Replay(line);
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.err, HasSubstr("reduce_order is free"));
  EXPECT_THAT(printed.err, HasSubstr("cohort of 2: mean top-1"));
  EXPECT_THAT(printed.out, HasSubstr("expected: the distribution"));
  EXPECT_THAT(printed.out, HasSubstr("held: the distribution"));
}

TEST(Replay, WithAnotherBuildPromisesNoBits) {
  v1::Member member = Finished("s1c0r0", Small());
  member.mutable_outcome()->set_environment(R"({"build":"another"})");
  (*member.mutable_outcome()->mutable_hashes())["weights"] = std::string(64, 'a');
  CommandLine line({.members = {member}});
  const Printed printed = Replay(line);
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("of build another and is of build fake-build here"));
}

TEST(Replay, OnAnotherProcessorOfTheClassPromisesNoBits) {
  v1::Member member = Finished("s1c0r0", Small());
  member.mutable_outcome()->set_environment(
      R"({"build":"fake-build","machine":{"cpu_model":"another processor"}})");
  CommandLine line({.members = {member}});
  EXPECT_THAT(Replay(line).err,
              HasSubstr("expects the distribution, not equal bits: the processor was another "
                        "processor and is " +
                        ReadCpuFacts()->model + " here\n"));
}

TEST(Replay, OfTwoEqualMembersHasABandOfItsTestSet) {
  Specification specification = Small();
  specification.Source(NoiseSource::kReduceOrder).state = SourceState::kFree;
  v1::Member member = Finished("s1c0r0", specification);
  auto& metrics = *member.mutable_outcome()->mutable_metrics();
  // What the replay will have, and two of the 1000 examples more.
  metrics["top1"] = NoopOutcome(specification, "s1c0r0").metrics.at("top1") + 0.002;
  (*member.mutable_outcome()->mutable_hashes())["weights"] = std::string(64, 'a');
  v1::Member other = member;
  other.set_id("s1c0r1");
  v1::Member stranger = member;  // Of another cell: no part of this cohort.
  stranger.set_id("s1c1r0");
  stranger.set_cell(1);
  (*stranger.mutable_outcome()->mutable_metrics())["top1"] = 0.01;
  CommandLine line({.members = {member, other, stranger}});
  EXPECT_THAT(Replay(line).out,
              HasSubstr("held: the distribution: one more training of this cohort lies within 0.50 "
                        "% of its mean in 95 of 100 cases, were top-1 normal but for its counting "
                        "in examples; the replay is 0.20 % away\n"));
}

TEST(Replay, OnAMachineWithoutTheClassIsRefusedInWords) {
  Specification specification = Small();
  specification.hardware_class = "nvidia-none";
  CommandLine line({.members = {Finished("s1c0r0", specification)}});
  const Printed printed = Replay(line);
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("hardware class 'nvidia-none': this machine has cpu-"));
  EXPECT_FALSE(std::filesystem::exists(line.home() + "/replays"));
}

TEST(Replay, OfAMemberThatWaitsIsRefused) {
  v1::Member member = Finished("s1c0r0", Small());
  member.set_state(v1::MEMBER_STATE_WAITING);
  member.clear_outcome();
  CommandLine line({.members = {member}});
  const Printed printed = Replay(line);
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("s1c0r0 is waiting: expected a member that is done"));
}

TEST(Replay, OfADamagedSpecificationIsRefused) {
  v1::Member member = Finished("s1c0r0", Small());
  member.set_specification_sha256(Sha256Hex("another"));
  CommandLine line({.members = {member}});
  EXPECT_THAT(Replay(line).err, HasSubstr("does not have its hash"));
}

TEST(Replay, ThatFailsSaysWhyAndNamesTheLog) {
  struct Failure {
    std::string behaviour;
    std::string says;
  };
  for (const Failure& failure :
       {Failure{"oom", "the replay failed, out_of_memory"}, Failure{"abort", "and no outcome"},
        Failure{"garbage", "noisefloor replay: "}, Failure{"silent", "and no outcome"}}) {
    Specification specification = Small();
    specification.sources.poke_parameter = failure.behaviour;
    CommandLine line({.members = {Finished("s1c0r0", specification)}});
    const Printed printed = Replay(line);
    EXPECT_EQ(printed.code, kRefused) << failure.behaviour;
    EXPECT_THAT(printed.err, HasSubstr(failure.says));
    EXPECT_FALSE(std::filesystem::exists(line.home() + "/replays/s1c0r0-1/replay.json"));
  }
}

TEST(Replay, WithoutATrainerNamesTheProgram) {
  CommandLine line({.members = {Finished("s1c0r0", Small())}});
  const Printed printed = line.Run({"replay", "s1c0r0"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr(line.home() + "/noisefloor-trainer"));
}

}  // namespace
}  // namespace noisefloor::cli
