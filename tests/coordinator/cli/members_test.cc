// The JSON of members is for other programs: its form is pinned here.
#include <limits>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/cli/member_json.h"
#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Member Sample(const std::string& id, v1::MemberState state) {
  v1::Member member;
  member.set_id(id);
  member.set_sweep(1);
  member.set_cell(2);
  member.set_plan("algo");
  member.set_hardware("cpu-amd-avx2");
  member.set_stack("torch");
  member.set_state(state);
  member.set_attempt(1);
  member.set_specification(R"({"model":{"name":"mlp"}})");
  member.set_specification_sha256("5bec");
  v1::Setting& axis = *member.add_axes();
  axis.set_path("train.epochs");
  axis.mutable_value()->set_integer(3);
  v1::SourceLane& lane = (*member.mutable_sources())["init"];
  lane.set_state(v1::SOURCE_STATE_FREE);
  lane.set_lane(7);
  lane.set_seed(std::numeric_limits<uint64_t>::max());
  return member;
}

v1::Member Done(const std::string& id) {
  v1::Member member = Sample(id, v1::MEMBER_STATE_DONE);
  v1::Outcome& outcome = *member.mutable_outcome();
  (*outcome.mutable_hashes())["init"] = "0123456789abcdef";
  (*outcome.mutable_metrics())["top1"] = 0.875;
  (*outcome.mutable_metrics())["loss"] = std::numeric_limits<double>::quiet_NaN();
  outcome.add_per_class_accuracy(std::numeric_limits<double>::infinity());
  outcome.set_environment(R"({"build":"b1"})");
  v1::Artifact& artifact = *outcome.add_artifacts();
  artifact.set_kind("weights");
  artifact.set_path("weights.safetensors");
  artifact.set_sha256("aa");
  artifact.set_size(12);
  return member;
}

TEST(MemberJson, HasSixtyFourBitNumbersAsTextAndNumbersThatAreNotFiniteAsWords) {
  const Json json = MemberJson(Done("s1c2r0"));
  EXPECT_EQ(json["id"], "s1c2r0");
  EXPECT_EQ(json["sweep"], "s1");
  EXPECT_EQ(json["state"], "done");
  EXPECT_EQ(json["seeds"]["init"], "18446744073709551615");
  EXPECT_EQ(json["lanes"]["init"], 7);
  EXPECT_EQ(json["sources"]["init"], "free");
  EXPECT_EQ(json["axes"]["train.epochs"], "3");
  EXPECT_EQ(json["metrics"]["top1"], 0.875);
  EXPECT_EQ(json["metrics"]["loss"], "nan");
  EXPECT_EQ(json["per_class_accuracy"], Json::array({"inf"}));
  EXPECT_EQ(json["environment"]["build"], "b1");
  EXPECT_EQ(json["specification"]["model"]["name"], "mlp");
  EXPECT_EQ(json["artifacts"][0].dump(),
            R"({"kind":"weights","path":"weights.safetensors","sha256":"aa","size":12})");
}

TEST(MemberJson, HasEachFigureUnderItsName) {
  v1::Member member = Done("s1c2r3");
  member.set_replicate(3);
  member.set_block(4);
  member.set_attempt(5);
  member.set_worker("box");
  member.set_step(6);
  member.set_step_count(7);
  member.set_subject("s8c9r10");
  member.set_weights_file("their.safetensors");
  v1::Outcome& outcome = *member.mutable_outcome();
  outcome.set_cause("bug");
  outcome.set_message("why");
  outcome.set_train_seconds(11.5);
  outcome.set_data_identity("9e");
  outcome.mutable_artifacts(0)->set_collected_unix_seconds(1700000000);
  const std::pair<const char*, Json> wanted[] = {{"cell", 2},
                                                 {"replicate", 3},
                                                 {"block", 4},
                                                 {"hardware", "cpu-amd-avx2"},
                                                 {"stack", "torch"},
                                                 {"plan", "algo"},
                                                 {"attempt", 5},
                                                 {"worker", "box"},
                                                 {"step", 6},
                                                 {"step_count", 7},
                                                 {"subject", "s8c9r10"},
                                                 {"weights_file", "their.safetensors"},
                                                 {"cause", "bug"},
                                                 {"message", "why"},
                                                 {"train_seconds", 11.5},
                                                 {"data_identity", "9e"},
                                                 {"specification_sha256", "5bec"}};
  const Json json = MemberJson(member);
  for (const auto& [name, value] : wanted) EXPECT_EQ(json.at(name), value) << name;
  EXPECT_EQ(json.at("hashes").dump(), R"({"init":"0123456789abcdef"})");
  EXPECT_EQ(json.at("artifacts")[0].at("collected"), "2023-11-14 22:13:20");
}

TEST(EventJson, HasEachFigureUnderItsName) {
  v1::Event event;
  event.set_number(1);
  event.set_unix_micros(2);
  event.set_kind(v1::EVENT_KIND_LOST);
  event.set_member("s1c2r3");
  event.set_attempt(4);
  event.set_lease(5);
  event.set_worker("box");
  event.set_caller("ada");
  event.set_text("so");
  EXPECT_EQ(EventJson(event).dump(),
            R"({"number":"1","unix_micros":"2","kind":"EVENT_KIND_LOST","member":"s1c2r3",)"
            R"("attempt":4,"lease":"5","worker":"box","caller":"ada","text":"so"})");
}

TEST(MemberJson, HasTheSameKeysWithoutAnOutcome) {
  const Json waiting = MemberJson(Sample("s1c2r0", v1::MEMBER_STATE_WAITING));
  const Json done = MemberJson(Done("s1c2r1"));
  std::vector<std::string> waiting_keys;
  std::vector<std::string> done_keys;
  for (const auto& [key, value] : waiting.items()) waiting_keys.push_back(key);
  for (const auto& [key, value] : done.items()) done_keys.push_back(key);
  EXPECT_EQ(waiting_keys, done_keys);
}

TEST(MemberJson, TheStepOfOneThatBrokeOffIsNotKnownRatherThanZero) {
  EXPECT_EQ(MemberJson(Sample("s1c2r0", v1::MEMBER_STATE_WAITING))["step"], 0);
  for (const auto state :
       {v1::MEMBER_STATE_DIVERGED, v1::MEMBER_STATE_FAILED, v1::MEMBER_STATE_CANCELLED}) {
    EXPECT_TRUE(MemberJson(Sample("s1c2r0", state))["step"].is_null());
  }
}

CannedAnswers FiveMembers() {
  CannedAnswers answers;
  for (int i = 0; i < 4; ++i) answers.members.push_back(Done("s1c2r" + std::to_string(i)));
  answers.members.push_back(Sample("s1c2r4", v1::MEMBER_STATE_FAILED));
  answers.members.back().mutable_outcome()->set_cause("out_of_memory");
  return answers;
}

TEST(Members, AsJsonAreAllPagesWithTheirDetails) {
  CommandLine line(FiveMembers());
  const Printed printed = line.Run({"members", "--output=json"});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  const Json json = Json::parse(printed.out);
  EXPECT_EQ(json.dump(2) + "\n", printed.out) << "printed piece by piece as it would be whole";
  EXPECT_EQ(json["version"], 1);
  ASSERT_EQ(json["members"].size(), 5u);
  EXPECT_NE(json["members"][0]["sources"], Json::object());
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(json["members"][i]["id"], "s1c2r" + std::to_string(i));
    EXPECT_EQ(json["members"][i]["environment"]["build"], "b1") << "lists leave it out";
    EXPECT_EQ(json["members"][i]["artifacts"].size(), 1u);
  }
}

TEST(Members, NoneAsJsonAreAnEmptyList) {
  CommandLine line;
  const std::string printed = line.Run({"members", "--output=json"}).out;
  EXPECT_EQ(printed, Json({{"version", 1}, {"members", Json::array()}}).dump(2) + "\n");
}

TEST(Members, AsATableShowResultsAndCauses) {
  CommandLine line(FiveMembers());
  const Printed printed = line.Run({"members"});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("87.50 %"));
  EXPECT_THAT(printed.out, HasSubstr("01234567"));
  EXPECT_THAT(printed.out, HasSubstr("failed: out_of_memory"));
  EXPECT_THAT(printed.out, Not(HasSubstr("\x1b"))) << "no colours into a pipe";
}

TEST(Members, OfOneStateAreOnlyThose) {
  CommandLine line(FiveMembers());
  const Printed printed = line.Run({"members", "--state=failed", "--output=json"});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  const Json json = Json::parse(printed.out);
  ASSERT_EQ(json["members"].size(), 1u);
  EXPECT_EQ(json["members"][0]["cause"], "out_of_memory");
}

TEST(Members, OfAnUnknownStateAreRefused) {
  CommandLine line(FiveMembers());
  const Printed printed = line.Run({"members", "--state=dne"});
  EXPECT_EQ(printed.code, kUsage);
  EXPECT_THAT(printed.err,
              HasSubstr("--state=dne: expected waiting, running, done, diverged, failed or "
                        "cancelled"));
}

TEST(Members, ThatRunAreFoundByTheWordOfTheTableAndByTheStoredOne) {
  CannedAnswers answers = FiveMembers();
  answers.members.push_back(Sample("s1c2r5", v1::MEMBER_STATE_LEASED));
  CommandLine line(answers);
  const Printed shown = line.Run({"members", "--state=running"});
  EXPECT_EQ(shown.code, kDone) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("  running  "));
  EXPECT_THAT(shown.out, Not(HasSubstr("s1c2r4")));
  EXPECT_EQ(line.Run({"members", "--state=leased"}).out, shown.out);
  const Printed json = line.Run({"members", "--state=running", "--output=json"});
  EXPECT_EQ(Json::parse(json.out)["members"][0]["state"], "leased");
}

TEST(Members, TakeTheSweepAsOtherCommandsDo) {
  CommandLine line(FiveMembers());
  EXPECT_EQ(line.Run({"members", "x1"}).err,
            "noisefloor members: sweep x1: expected a number such as s3\n");
  const Printed printed = line.Run({"members", "s1"});
  EXPECT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(line.Run({"members", "--sweep=s1"}).out, printed.out);
  EXPECT_THAT(line.Run({"members", "--help"}).out, Not(HasSubstr("--sweep")));
}

TEST(Members, OneIsToldWhole) {
  CommandLine line(FiveMembers());
  const Printed printed = line.Run({"members", "s1c2r1"});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  for (const char* said :
       {"s1c2r1", "algo, block 0, replicate 0", "train.epochs=3", "18446744073709551615",
        "0123456789abcdef", "0.875", "weights", "nan", "attempt 1 on box"}) {
    EXPECT_THAT(printed.out, HasSubstr(said));
  }
  EXPECT_THAT(printed.out, Not(HasSubstr("s1c2r0")));

  const Printed json = line.Run({"members", "s1c2r1", "--output=json"});
  const Json told = Json::parse(json.out);
  EXPECT_EQ(told["member"], MemberJson(Done("s1c2r1")));
  EXPECT_EQ(told["history"][0], "attempt 1 on box");
  EXPECT_EQ(told["events"][0]["kind"], "EVENT_KIND_DONE");
}

TEST(Members, OfOneNothingIsSelectedAndWhatIsNotThereIsNamed) {
  CommandLine line(FiveMembers());
  EXPECT_THAT(line.Run({"members", "s1c2r1", "--plan=algo"}).err, HasSubstr("is one member"));
  EXPECT_EQ(line.Run({"members", "s1c2r1", "--limit=2"}).code, kRefused);
  const Printed missing = line.Run({"members", "s1c2r9"});
  EXPECT_EQ(missing.code, kRefused);
  EXPECT_THAT(missing.err, HasSubstr("s1c2r9: no such member"));
}

}  // namespace
}  // namespace noisefloor::cli
