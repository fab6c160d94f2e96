// What a replay is judged by. That its members are trained as any other: tests/integration.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/coordinator/cli/command_line.h"
#include "tests/coordinator/cli/finished_member.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;

// `members` are of the original's sweep, s1; `replays` of s2.
Printed Replay(std::vector<v1::Member> members, const std::vector<v1::Member>& replays,
               const std::vector<std::string>& more = {}) {
  for (const v1::Member& replay : replays) members.push_back(Replayed(replay.id(), replay));
  const CannedCoordinator coordinator({.members = members, .replays = 2}, /*listens=*/true);
  std::vector<std::string> arguments = {"replay", "s1c0r0",
                                        "--coordinator=" + coordinator.address()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return CommandLine().Run(arguments);
}

v1::Member WithOtherWeights(v1::Member member, const std::string& id = "s2c0r0") {
  member.set_id(id);
  (*member.mutable_outcome()->mutable_hashes())["weights"] = std::string(64, 'a');
  return member;
}

Specification WithFreeOrder() {
  Specification specification = Small();
  specification.Source(NoiseSource::kReduceOrder).state = SourceState::kFree;
  return specification;
}

TEST(Replay, OfAFixedMemberFindsEqualBits) {
  const Printed printed = Replay({Finished("s1c0r0", Small())}, {Finished("s2c0r0", Small())});
  ASSERT_EQ(printed.code, kDone) << printed.err << printed.out;
  EXPECT_THAT(printed.err, HasSubstr("expects equal bits"));
  EXPECT_THAT(printed.err, HasSubstr("s2 trains it again"));
  EXPECT_THAT(printed.out, HasSubstr("s2c0r0 on box\n"));
  EXPECT_THAT(printed.out, HasSubstr("held: equal bits"));
  EXPECT_THAT(printed.out, HasSubstr("kept as s2\n"));
}

// The channel repeats what may have been lost on its way.
TEST(Replay, HasAnIdSoThatARepeatOfItsRequestTrainsNothingMore) {
  std::vector<std::string> ids;
  CannedAnswers answers = {
      .members = {Finished("s1c0r0", Small()), Replayed("s2c0r0", Finished("s2c0r0", Small()))},
      .replays = 2};
  answers.on_again = [&ids](const std::string& id) { ids.push_back(id); };
  const CannedCoordinator coordinator(std::move(answers), /*listens=*/true);
  const Printed printed =
      CommandLine().Run({"replay", "s1c0r0", "--coordinator=" + coordinator.address()});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(ids, ::testing::ElementsAre(::testing::StartsWith("cli-")));
}

TEST(Replay, OfAFixedMemberWithOtherBitsIsRefusedAndNamesWhere) {
  const Printed printed =
      Replay({Finished("s1c0r0", Small())}, {WithOtherWeights(Finished("s1c0r0", Small()))},
             {"--output=json"});
  EXPECT_EQ(printed.code, kDidNotHold);
  const auto json = nlohmann::json::parse(printed.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << printed.out << printed.err;
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["replay_of"], "s1c0r0");
  EXPECT_EQ(json["sweep"], "s2");
  ASSERT_EQ(json["replays"].size(), 1u);
  const auto& replay = json["replays"][0];
  EXPECT_EQ(replay["member"], "s2c0r0");
  EXPECT_EQ(replay["expected"], "equal bits");
  EXPECT_EQ(replay["bits_equal"], false);
  EXPECT_EQ(replay["first_difference"], "the final weights");
  EXPECT_EQ(replay["hashes"]["init"]["equal"], true);
  EXPECT_EQ(replay["hashes"]["weights"]["equal"], false);
}

TEST(Replay, OneOfSeveralThatDiffersIsEnough) {
  const v1::Member original = Finished("s1c0r0", Small());
  const Printed printed =
      Replay({original}, {Finished("s2c0r0", Small()), WithOtherWeights(original, "s2c0r1")});
  EXPECT_EQ(printed.code, kDidNotHold);
  EXPECT_THAT(printed.out, HasSubstr("s2c0r0 on box"));
  EXPECT_THAT(printed.out, HasSubstr("s2c0r1 on box"));
}

TEST(Replay, OfAMemberWithAFreePhysicalSourceExpectsTheDistribution) {
  const v1::Member member = Finished("s1c0r0", WithFreeOrder());
  v1::Member other = Finished("s1c0r1", WithFreeOrder());
  (*other.mutable_outcome()->mutable_metrics())["top1"] += 0.01;
  const Printed printed = Replay({member, other}, {WithOtherWeights(member)});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.err, HasSubstr("reduce_order is free"));
  EXPECT_THAT(printed.err, HasSubstr("cohort of 2: mean top-1"));
  EXPECT_THAT(printed.out, HasSubstr("expected: the distribution"));
  EXPECT_THAT(printed.out, HasSubstr("held: the distribution"));
}

TEST(Replay, WithAnotherBuildPromisesNoBits) {
  v1::Member original = Finished("s1c0r0", Small());
  original.mutable_outcome()->set_environment(R"({"build":"another"})");
  const Printed printed = Replay({original}, {WithOtherWeights(Finished("s1c0r0", Small()))});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("of build another and is of build fake-build here"));
}

TEST(Replay, OnAnotherClassPromisesNoBits) {
  v1::Member replay = WithOtherWeights(Finished("s1c0r0", Small()));
  replay.set_hardware("nvidia-t4");
  const Printed printed = Replay({Finished("s1c0r0", Small())}, {replay});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out,
              HasSubstr("the hardware class was " + ClassHere() + " and is nvidia-t4 here"));
}

TEST(Replay, OfTwoEqualMembersHasABandOfItsTestSet) {
  v1::Member member = Finished("s1c0r0", WithFreeOrder());
  const v1::Member replay = WithOtherWeights(member);
  // What the replay has, and two of the 1000 examples more.
  (*member.mutable_outcome()->mutable_metrics())["top1"] += 0.002;
  v1::Member other = member;
  other.set_id("s1c0r1");
  v1::Member stranger = member;  // Of another cell: no part of this cohort.
  stranger.set_id("s1c1r0");
  stranger.set_cell(1);
  (*stranger.mutable_outcome()->mutable_metrics())["top1"] = 0.01;
  EXPECT_THAT(Replay({member, other, stranger}, {replay}).out,
              HasSubstr("held: the distribution: one more training of this cohort lies within 0.50 "
                        "% of its mean in 95 of 100 cases, were top-1 normal but for its counting "
                        "in examples; the replay is 0.20 % away\n"));
}

TEST(Replay, OfAMemberThatWaitsIsRefused) {
  v1::Member member = Finished("s1c0r0", Small());
  member.set_state(v1::MEMBER_STATE_WAITING);
  member.clear_outcome();
  const Printed printed = Replay({member}, {});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("s1c0r0 is waiting: expected a member that is done"));
}

TEST(Replay, OfADamagedSpecificationIsRefused) {
  v1::Member member = Finished("s1c0r0", Small());
  member.set_specification_sha256(Sha256Hex("another"));
  EXPECT_THAT(Replay({member}, {}).err, HasSubstr("does not have its hash"));
}

TEST(Replay, ThatFailsSaysWhy) {
  v1::Member failed = Finished("s2c0r0", Small());
  failed.set_state(v1::MEMBER_STATE_FAILED);
  failed.mutable_outcome()->set_cause("out_of_memory");
  failed.mutable_outcome()->set_message("no memory for a batch");
  const Printed printed = Replay({Finished("s1c0r0", Small())}, {failed});
  EXPECT_EQ(printed.code, kFailedMembers);
  EXPECT_THAT(printed.err,
              HasSubstr("the replay s2c0r0 is failed, out_of_memory: no memory for a batch"));
}

TEST(Replay, WithoutAWorkerProgramSaysWhichIsMissing) {
  CommandLine line({.members = {Finished("s1c0r0", Small())}});
  const Printed printed = line.Run({"replay", "s1c0r0"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr(line.home() + "/noisefloor-worker"));
}

}  // namespace
}  // namespace noisefloor::cli
