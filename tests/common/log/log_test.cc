#include "common/log/log.h"

#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

std::string KeyValue(std::initializer_list<LogField> fields) {
  const std::vector<LogField> list(fields);
  return FormatLogEvent(LogFormat::kKeyValue, "event", list);
}

std::string Json(std::initializer_list<LogField> fields) {
  const std::vector<LogField> list(fields);
  return FormatLogEvent(LogFormat::kJson, "event", list);
}

TEST(LogTest, PlainValuesStandBare) {
  EXPECT_EQ(KeyValue({{"lease", 7}, {"member", "s1c0r2"}, {"ok", true}, {"seconds", 0.5}}),
            "event lease=7 member=s1c0r2 ok=true seconds=0.5");
}

TEST(LogTest, TextWithSpacesOrNewlinesIsQuotedAndStaysOneLine) {
  EXPECT_EQ(KeyValue({{"why", "no \"room\"\nleft"}, {"empty", ""}}),
            "event why=\"no \\\"room\\\"\\nleft\" empty=\"\"");
}

TEST(LogTest, ControlCharactersCannotForgeALine) {
  EXPECT_EQ(KeyValue({{"name", std::string("a\r\x1b[2K")}}), "event name=\"a\\u000d\\u001b[2K\"");
}

TEST(LogTest, NoByteOfAValueSpeaksToTheTerminal) {
  EXPECT_EQ(KeyValue({{"unit", std::string("a\xc2\x9b"
                                           "2J")}}),
            "event unit=\"a\\u009b2J\"");
  EXPECT_EQ(KeyValue({{"unit", std::string("a\xff")}}), "event unit=\"a\uFFFD\"");
}

TEST(LogTest, JsonQuotesTextsAndLeavesNumbers) {
  EXPECT_EQ(Json({{"lease", uint64_t{18446744073709551615u}}, {"member", "s1"}, {"ok", false}}),
            R"("event":"event","lease":18446744073709551615,"member":"s1","ok":false)");
}

TEST(LogTest, NotFiniteNumbersAreTextsInJson) {
  EXPECT_EQ(Json({{"loss", std::numeric_limits<double>::quiet_NaN()}}),
            R"("event":"event","loss":"nan")");
}

TEST(LogTest, WhatCouldBeTakenForAnotherFieldIsQuoted) {
  EXPECT_EQ(
      KeyValue({{"a", "x=1"}, {"b", "c:\\d"}, {"c", "say\"so"}, {"d", "\x7f"}, {"e", "a:b/c"}}),
      "event a=\"x=1\" b=\"c:\\\\d\" c=\"say\\\"so\" d=\"\\u007f\" e=a:b/c");
}

TEST(LogTest, WhatJsonCannotHoldBareIsEscaped) {
  EXPECT_EQ(Json({{"why", "a \"b\"\\\n\t"}, {"seconds", 0.25}, {"count", -3}}),
            R"("event":"event","why":"a \"b\"\\\n\u0009","seconds":0.25,"count":-3)");
}

TEST(LogTest, StatusesAreWrittenWhole) {
  EXPECT_EQ(KeyValue({{"error", InvalidInput("slots: 0")}}),
            "event error=\"INVALID_ARGUMENT: slots: 0\"");
}

TEST(LogTest, LevelNamesComeBackAndOthersAreRefused) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError, LogLevel::kOff}) {
    EXPECT_EQ(ParseLogLevel(Name(level)), level);
  }
  EXPECT_EQ(ParseLogLevel("loud"), std::nullopt);
}

TEST(LogTest, LinesBelowTheLevelAreNotWritten) {
  SetUpLog({.program = "test", .level = LogLevel::kWarning, .format = LogFormat::kJson});
  testing::internal::CaptureStderr();
  LogInfo("quiet");
  LogWarning("heard", {{"n", 1}});
  const std::string text = testing::internal::GetCapturedStderr();

  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find(R"("program":"test","level":"warning","event":"heard","n":1})"),
            std::string::npos)
      << text;
}

TEST(LogTest, EachLineSaysWhenInUtcAndHowBadItIs) {
  setenv("TZ", "Asia/Tokyo", 1);
  tzset();
  const std::time_t before = std::time(nullptr);
  for (const LogFormat format : {LogFormat::kKeyValue, LogFormat::kJson}) {
    SetUpLog({.program = "test", .level = LogLevel::kDebug, .format = format});
    testing::internal::CaptureStderr();
    LogError("fell");
    LogDebug("stood", {{"n", 1}});
    const std::string text = testing::internal::GetCapturedStderr();
    const bool json = format == LogFormat::kJson;
    const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";
    EXPECT_THAT(
        text, testing::MatchesRegex(
                  json ? "\\{\"time\":\"" + time +
                             "\",\"program\":\"test\",\"level\":\"error\","
                             "\"event\":\"fell\"\\}\n\\{.*\"level\":\"debug\",\"event\":\"stood\","
                             "\"n\":1\\}\n"
                       : time + " error fell\n" + time + " debug stood n=1\n"));
    std::tm told = {};
    ASSERT_NE(strptime(text.c_str() + (json ? 9 : 0), "%Y-%m-%dT%H:%M:%S", &told), nullptr);
    EXPECT_GE(timegm(&told), before);
    EXPECT_LE(timegm(&told), std::time(nullptr) + 1);  // It may be some ms behind the log's clock.
  }
  unsetenv("TZ");
  tzset();
}

TEST(LogTest, OnlyWhatIsWrittenIsLogged) {
  SetUpLog({.program = "test", .level = LogLevel::kError});
  EXPECT_FALSE(IsLogged(LogLevel::kWarning));
  EXPECT_TRUE(IsLogged(LogLevel::kError));
  SetUpLog({.program = "test", .level = LogLevel::kOff});
  EXPECT_FALSE(IsLogged(LogLevel::kError));
}

// In a process of its own: the name stays.
[[noreturn]] void SayWhoThisIs() {
  SetUpLog({.program = "test"});
  NameInLog("worker", "before");
  NameInLog("worker", "w 1");
  LogInfo("one", {{"n", 1}});
  LogInfo("two", {{"worker", "w2"}, {"n", 1}});
  std::exit(0);
}

TEST(LogTest, WhoThisIsStandsLastInEachLineUnlessTheLineSaysIt) {
  EXPECT_EXIT(SayWhoThisIs(), testing::ExitedWithCode(0),
              testing::AllOf(testing::HasSubstr(" info one n=1 worker=\"w 1\"\n"),
                             testing::HasSubstr(" info two worker=w2 n=1\n")));
}

}  // namespace
}  // namespace noisefloor
