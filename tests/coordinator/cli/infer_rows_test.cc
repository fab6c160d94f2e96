// What an inference says of its subjects, as rows.
#include "coordinator/cli/infer_rows.h"

#include <cmath>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

v1::Member Member(const std::string& id, const std::string& hardware, char logits, double top1) {
  v1::Member member;
  member.set_id(id);
  member.set_hardware(hardware);
  member.set_stack("torch");
  member.set_state(v1::MEMBER_STATE_DONE);
  (*member.mutable_outcome()->mutable_hashes())["logits"] = std::string(4, logits);
  (*member.mutable_outcome()->mutable_metrics())["top1"] = top1;
  return member;
}

InferRow Row(const std::string& on, char logits, double top1) {
  InferRow row = {Member("s2c0r0", on, logits, top1), Member("s1c0r0", "cpu-a", 'a', 0.5)};
  row.member.set_subject("s1c0r0");
  row.subject.set_plan("algo");
  return row;
}

TEST(InferRowsTest, LogitsAreComparedOnlyWithThoseOfTheSameWeights) {
  EXPECT_EQ(SameLogits(Row("cpu-a", 'a', 0.5)), "yes");
  EXPECT_EQ(SameLogits(Row("cpu-b", 'b', 0.5)), "no");
  InferRow row = Row("cpu-a", 'a', 0.5);
  row.member.set_weights_file("theirs.safetensors");
  EXPECT_EQ(SameLogits(row), "");
  row = Row("cpu-a", 'a', 0.5);
  row.member.mutable_outcome()->clear_hashes();
  EXPECT_EQ(SameLogits(row), "") << "it has not ended";
}

TEST(InferRowsTest, TheCsvHasEveryDigitAndQuotesWhatItMust) {
  InferRow row = Row("cpu-b", 'b', 0.1 + 0.2);
  row.member.set_weights_file("my, \"own\".safetensors");
  const std::string csv = InferCsv({row});
  EXPECT_EQ(
      csv,
      "member,subject,weights_file,train_hardware,infer_hardware,train_stack,infer_stack,plan,"
      "block,state,same_logits,top1,top5,loss,train_top1,train_top5,train_loss,weights_sha256,"
      "logits_sha256,train_logits_sha256\n"
      "s2c0r0,s1c0r0,\"my, \"\"own\"\".safetensors\",cpu-a,cpu-b,torch,torch,algo,0,done,,"
      "0.30000000000000004,,,0.5,,,,bbbb,aaaa\n");
}

TEST(InferRowsTest, WhatIsMeasuredHereAndThereAreApart) {
  InferRow row = Row("cpu-b", 'b', 0.25);
  row.member.set_stack("torch-2");
  row.member.set_block(3);
  row.member.set_plan("impl");
  auto& here = *row.member.mutable_outcome();
  auto& there = *row.subject.mutable_outcome();
  (*here.mutable_metrics())["top5"] = 0.75;
  (*here.mutable_metrics())["loss"] = 1.5;
  (*here.mutable_hashes())["weights"] = "cccc";
  (*there.mutable_metrics())["top5"] = 0.875;
  (*there.mutable_metrics())["loss"] = 2.5;
  (*there.mutable_hashes())["weights"] = "dddd";
  const std::string csv = InferCsv({row});
  EXPECT_EQ(csv.substr(csv.find('\n')),
            "\ns2c0r0,s1c0r0,,cpu-a,cpu-b,torch,torch-2,algo,3,done,no,0.25,0.75,1.5,0.5,0.875,"
            "2.5,cccc,bbbb,aaaa\n");
  const Json json = InferJson(row);
  const std::pair<const char*, Json> wanted[] = {
      {"block", 3},          {"same_logits", "no"}, {"top1", 0.25},
      {"top5", 0.75},        {"loss", 1.5},         {"train_top1", 0.5},
      {"train_top5", 0.875}, {"train_loss", 2.5},   {"plan", "algo"}};
  for (const auto& [name, value] : wanted) EXPECT_EQ(json.at(name), value) << name;
  (void)here.mutable_metrics()->erase("top5");
  EXPECT_EQ(InferJson(row).at("top5"), "nan") << "there is none";
}

TEST(InferRowsTest, PairsOfClassesCountWhatIsTheSame) {
  InferRow waiting = Row("cpu-b", 'b', 0.5);
  waiting.member.clear_outcome();
  const auto pairs =
      PairClasses({Row("cpu-b", 'b', 0.75), Row("cpu-a", 'a', 0.5), Row("cpu-b", 'a', 0.5),
                   Row("cpu-b", 'c', std::nan("")), waiting});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].infer_hardware, "cpu-a");
  EXPECT_EQ(pairs[0].same, 1u);
  EXPECT_EQ(pairs[0].different, 0u);
  EXPECT_EQ(pairs[0].largest_top1_difference, 0);
  EXPECT_EQ(pairs[1].members, 4u);
  EXPECT_EQ(pairs[1].done, 3u);
  EXPECT_EQ(pairs[1].same, 1u);
  EXPECT_EQ(pairs[1].different, 2u);
  EXPECT_EQ(pairs[1].largest_top1_difference, 0.25);
}

TEST(InferRowsTest, WithoutATop1NoDifferenceIsSaid) {
  const auto pairs = PairClasses({Row("cpu-b", 'b', std::nan(""))});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].different, 1u);
  EXPECT_EQ(pairs[0].largest_top1_difference, std::nullopt);
}

TEST(InferRowsTest, WhatIsLostOnAnotherClassCountsAsWhatIsGained) {
  const auto pairs = PairClasses({Row("cpu-b", 'b', 0.25), Row("cpu-b", 'c', 0.625)});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].largest_top1_difference, 0.25);
}

TEST(InferTest, TheCommandsThatGoOnNameTheSameCoordinator) {
  CannedAnswers answers = {.replays = 2};
  answers.sweep.set_id(2);
  const CannedCoordinator coordinator(std::move(answers), /*listens=*/true);
  const std::string to = " --coordinator=" + coordinator.address() + "`";
  const Printed printed =
      CommandLine().Run({"infer", "s1", "--coordinator=" + coordinator.address()});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, ::testing::HasSubstr("kept as s2: `noisefloor report s2" + to +
                                                " says what changes, `noisefloor members s2" + to +
                                                ", `noisefloor export s2 --to=DIR" + to + "\n"));
}

// The channel repeats what may have been lost on its way.
TEST(InferTest, ARequestHasAnIdOfItsOwnSoThatItsRepeatMakesNoSecondSweep) {
  std::vector<std::string> ids;
  CannedAnswers answers = {.replays = 2};
  answers.on_again = [&ids](const std::string& id) { ids.push_back(id); };
  answers.sweep.set_id(2);
  const CannedCoordinator coordinator(std::move(answers), /*listens=*/true);
  for (int i = 0; i < 2; ++i) {
    const Printed printed =
        CommandLine().Run({"infer", "s1", "--coordinator=" + coordinator.address()});
    EXPECT_EQ(printed.code, kDone) << printed.err;
  }
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_THAT(ids[0], ::testing::StartsWith("cli-"));
  EXPECT_NE(ids[0], ids[1]);
}

}  // namespace
}  // namespace noisefloor::cli
