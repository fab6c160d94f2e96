#include "worker/daemon/ask.h"

#include <stdlib.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using testing::HasSubstr;

Question Shell(const std::string& script) { return {{"/bin/sh", "-c", script}, {}}; }

TEST(AskTest, AnswersComeInTheOrderOfTheQuestions) {
  for (const size_t at_once : {1u, 2u, 8u}) {
    const auto answers =
        Ask({Shell("sleep 0.05; echo one"), Shell("echo two"), Shell("echo three")},
            {.at_once = at_once});
    ASSERT_EQ(answers.size(), 3u);
    EXPECT_EQ(*answers[0], "one\n");
    EXPECT_EQ(*answers[1], "two\n");
    EXPECT_EQ(*answers[2], "three\n");
  }
  EXPECT_TRUE(Ask({}, {}).empty());
}

TEST(AskTest, SeveralRunAtOnce) {
  // Each waits until the other has written: alone neither would end.
  std::string folder = testing::TempDir() + "nf-ask-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto meet = [&](const std::string& mine, const std::string& other) {
    return Shell("cd " + folder + "; mkfifo " + mine + "; while [ ! -p " + other +
                 " ]; do :; done; echo met");
  };
  const auto answers =
      Ask({meet("a", "b"), meet("b", "a")}, {.at_once = 2, .silence = absl::Seconds(30)});
  EXPECT_EQ(*answers[0], "met\n");
  EXPECT_EQ(*answers[1], "met\n");
  std::filesystem::remove_all(folder);
}

TEST(AskTest, WhatAScriptSaysBeforeIsNoPartOfIt) {
  const auto answers = Ask({Shell("echo 'Using cpu'; echo; echo '{\"a\": 1}'; echo"),
                            Shell("printf '{\n\"a\":\n1}\n'"), Shell("printf 'no\nend'")},
                           {});
  EXPECT_EQ(*answers[0], "{\"a\": 1}\n\n");
  EXPECT_EQ(*answers[1], "{\n\"a\":\n1}\n");
  EXPECT_EQ(*answers[2], "end");
}

TEST(AskTest, EveryFailureHasItsReason) {
  const auto answers = Ask({Shell("exit 3"),
                            Shell("kill -9 $$"),
                            {{"/no/such/program"}, {}},
                            Shell("head -c 3000000 /dev/zero"),
                            Shell("echo $GREETING")},
                           {});
  EXPECT_EQ(Message(answers[0].status()), "/bin/sh -c exit 3: exit code 3");
  EXPECT_THAT(Message(answers[1].status()), HasSubstr("ended by signal 9"));
  EXPECT_THAT(Message(answers[2].status()), HasSubstr("/no/such/program"));
  EXPECT_THAT(Message(answers[3].status()), HasSubstr("more than 1 MiB"));
  EXPECT_EQ(*answers[4], "\n") << "nothing of our environment";
  Question greets = Shell("echo $GREETING");
  greets.environment["GREETING"] = "hello";
  EXPECT_EQ(*Ask({greets}, {})[0], "hello\n");
}

TEST(AskTest, ItsLastErrorIsPartOfTheReason) {
  const auto answers = Ask({Shell("echo first >&2; echo 'no module torch' >&2; echo >&2; exit 1"),
                            Shell("printf 'x%.0s' $(seq 3000) >&2; printf '\\377' >&2; exit 1"),
                            Shell("echo noise >&2; echo fine")},
                           {});
  EXPECT_THAT(Message(answers[0].status()), testing::EndsWith("exit code 1: no module torch"));
  EXPECT_THAT(Message(answers[1].status()), testing::MatchesRegex(".*exit code 1: x+[^x]*"))
      << "cut, and of no other bytes than text has";
  EXPECT_LT(Message(answers[1].status()).size(), 700u);
  EXPECT_EQ(*answers[2], "fine\n");
}

TEST(AskTest, OneThatIsSilentIsKilled) {
  const AskOptions impatient = {.at_once = 2, .silence = absl::Seconds(2)};
  const auto answers =
      Ask({Shell("sleep 1000"), Shell("echo said; exec >&-; sleep 1000"), Shell("echo quick")},
          impatient);
  EXPECT_THAT(Message(answers[0].status()), HasSubstr("no answer within 2s"));
  EXPECT_THAT(Message(answers[1].status()), HasSubstr("it has closed its output and does not end"));
  ASSERT_TRUE(answers[2].ok()) << answers[2].status();
  EXPECT_EQ(*answers[2], "quick\n");
}

}  // namespace
}  // namespace noisefloor
