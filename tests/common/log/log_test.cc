#include "common/log/log.h"

#include <limits>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace noisefloor
