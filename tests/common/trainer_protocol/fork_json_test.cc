#include "common/trainer_protocol/fork_json.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(ForkJsonTest, EveryMessageComesBackAsItWas) {
  for (const ForkRequest& request :
       {ForkRequest{77, {}, {}}, ForkRequest{2147483647, {0, 3, 65535}, {{"A", "1"}, {"B", ""}}}}) {
    EXPECT_EQ(ForkRequestFromJson(ForkRequestToJson(request)).value(), request);
  }
  using Kind = ForkAnswer::Kind;
  for (const ForkAnswer& answer :
       {ForkAnswer{Kind::kReady, 0, ""}, ForkAnswer{Kind::kForked, 123, ""},
        ForkAnswer{Kind::kStarted, 0, ""}, ForkAnswer{Kind::kRefused, 0, "it has 2 threads"}}) {
    EXPECT_EQ(ForkAnswerFromJson(ForkAnswerToJson(answer)).value(), answer);
  }
}

TEST(ForkJsonTest, TheTextsAreThoseOfTheReadme) {
  EXPECT_EQ(ForkRequestToJson({77, {0, 1}, {{"A", "b"}}}),
            R"({"cores":[0,1],"parent":77,"protocol":1,"variables":{"A":"b"}})");
  EXPECT_EQ(ForkAnswerToJson({ForkAnswer::Kind::kReady, 0, ""}), R"({"ready":1})");
  EXPECT_EQ(ForkAnswerToJson({ForkAnswer::Kind::kForked, 9, ""}), R"({"process":9})");
  EXPECT_EQ(ForkAnswerToJson({ForkAnswer::Kind::kStarted, 0, ""}), R"({"started":true})");
  EXPECT_EQ(ForkAnswerToJson({ForkAnswer::Kind::kRefused, 0, "no"}), R"({"refused":"no"})");
}

struct BrokenFork {
  const char* text;
  const char* message;
};

class BrokenForkTest : public testing::TestWithParam<BrokenFork> {};
class BrokenForkAnswerTest : public testing::TestWithParam<BrokenFork> {};

TEST_P(BrokenForkTest, IsRefusedWithItsPlace) {
  EXPECT_EQ(Message(ForkRequestFromJson(GetParam().text).status()), GetParam().message);
}
TEST_P(BrokenForkAnswerTest, IsRefusedWithItsPlace) {
  EXPECT_EQ(Message(ForkAnswerFromJson(GetParam().text).status()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, BrokenForkTest,
    testing::Values(
        BrokenFork{"{}", "protocol: missing"},
        BrokenFork{R"({"protocol":2,"parent":1,"cores":[]})",
                   "protocol: expected an integer from 1 to 1"},
        BrokenFork{R"({"protocol":1,"parent":0,"cores":[]})",
                   "parent: expected an integer from 1 to 2147483647"},
        BrokenFork{R"({"protocol":1,"parent":1,"cores":1})", "cores: expected an array"},
        BrokenFork{R"({"protocol":1,"parent":1,"cores":[-1]})", "cores: expected numbers of cores"},
        BrokenFork{R"({"protocol":1,"parent":1,"cores":[65536]})",
                   "cores: expected numbers of cores"},
        BrokenFork{R"({"protocol":1,"parent":1,"cores":["0"]})",
                   "cores: expected numbers of cores"},
        BrokenFork{R"({"protocol":1,"parent":1,"cores":[],"variables":{},"x":1})",
                   "x: unknown key"},
        BrokenFork{R"({"protocol":1,"parent":1,"cores":[],"variables":[]})",
                   "variables: expected an object"},
        BrokenFork{R"({"protocol":1,"parent":1,"cores":[],"variables":{"a":1}})",
                   "variables: expected texts"}));

INSTANTIATE_TEST_SUITE_P(
    Answers, BrokenForkAnswerTest,
    testing::Values(BrokenFork{"{}", "refused: missing"},
                    BrokenFork{R"({"ready":2})", "ready: expected an integer from 1 to 1"},
                    BrokenFork{R"({"process":0})",
                               "process: expected an integer from 1 to 2147483647"},
                    BrokenFork{R"({"started":false})", "started: expected true"},
                    BrokenFork{R"({"process":1,"started":true})", "started: unknown key"}));

}  // namespace
}  // namespace noisefloor
