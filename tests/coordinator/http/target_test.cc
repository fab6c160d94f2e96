#include "coordinator/http/target.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::http {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

std::string EveryByte() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

TEST(PercentTest, EveryByteComesBack) {
  for (const char byte : EveryByte()) {
    const std::string one(1, byte);
    EXPECT_THAT(PercentDecoded(PercentEncoded(one)), Optional(one));
  }
  EXPECT_THAT(PercentDecoded(PercentEncoded(EveryByte())), Optional(EveryByte()));
}

TEST(PercentTest, OnlyWhatIsUnreservedStaysAsItIs) {
  const std::string unreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  EXPECT_EQ(PercentEncoded(unreserved), unreserved);
  EXPECT_EQ(PercentEncoded(" +/?&=%#;\"\\"), "%20%2B%2F%3F%26%3D%25%23%3B%22%5C");
  EXPECT_EQ(PercentEncoded(std::string("\0\n\x7f\xff", 4)), "%00%0A%7F%FF");
  EXPECT_EQ(PercentEncoded(""), "");
  size_t kept = 0;
  for (const char byte : EveryByte()) kept += PercentEncoded(std::string(1, byte)).size() == 1;
  EXPECT_EQ(kept, unreserved.size());
}

TEST(PercentTest, DigitsOfEitherCaseAreDecodedOnce) {
  EXPECT_THAT(PercentDecoded("%2f%2F"), Optional(std::string("//")));
  EXPECT_THAT(PercentDecoded("a%20b"), Optional(std::string("a b")));
  EXPECT_THAT(PercentDecoded("%2541"), Optional(std::string("%41")));
  EXPECT_THAT(PercentDecoded("%00x"), Optional(std::string("\0x", 2)));
  EXPECT_THAT(PercentDecoded("a+b"), Optional(std::string("a+b")));
  EXPECT_THAT(PercentDecoded(""), Optional(std::string()));
}

TEST(PercentTest, TwoDigitsFollowOrItIsNothing) {
  for (const char* const text :
       {"%", "%4", "a%", "a%4", "%%", "%zz", "%4g", "%g4", "% 4", "%-1", "%+1", "%0x", "%%41"}) {
    EXPECT_EQ(PercentDecoded(text), std::nullopt) << text;
  }
  EXPECT_EQ(PercentDecoded(std::string("%4\0", 3)), std::nullopt);
  EXPECT_EQ(PercentDecoded(std::string("%\0\0", 3)), std::nullopt);
  EXPECT_EQ(PercentDecoded(std::string("%\xb1\xb1", 3)), std::nullopt);
}

TEST(TargetTest, IsAPathAndAQuery) {
  const auto target = ParseTarget("/sweeps/3?sweep_id=3&a.b=c");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, "/sweeps/3");
  EXPECT_THAT(target->query, ElementsAre(Pair("sweep_id", "3"), Pair("a.b", "c")));
}

TEST(TargetTest, APlusIsASpaceInTheQueryAlone) {
  const auto target = ParseTarget("/a+b?c+d=e+f&g=%2B");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, "/a+b");
  EXPECT_THAT(target->query, ElementsAre(Pair("c d", "e f"), Pair("g", "+")));
}

TEST(TargetTest, NamesMayRepeatAndStayInOrder) {
  const auto target = ParseTarget("/?b=1&a=2&b=3");
  ASSERT_TRUE(target.has_value());
  EXPECT_THAT(target->query, ElementsAre(Pair("b", "1"), Pair("a", "2"), Pair("b", "3")));
}

TEST(TargetTest, WhatIsLeftOutIsEmpty) {
  for (const char* const text : {"/", "/?", "/?&", "/?&&"}) {
    const auto target = ParseTarget(text);
    ASSERT_TRUE(target.has_value()) << text;
    EXPECT_EQ(target->path, "/") << text;
    EXPECT_THAT(target->query, IsEmpty()) << text;
  }
  EXPECT_THAT(ParseTarget("/?a&b=&=c&=")->query,
              ElementsAre(Pair("a", ""), Pair("b", ""), Pair("", "c"), Pair("", "")));
  EXPECT_THAT(ParseTarget("/?a=b=c?d")->query, ElementsAre(Pair("a", "b=c?d")));
}

TEST(TargetTest, WhatIsEncodedDividesNothing) {
  const auto target = ParseTarget("/a%3Fb?c%26d=e%3Df&g%3Dh=%25");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, "/a?b");
  EXPECT_THAT(target->query, ElementsAre(Pair("c&d", "e=f"), Pair("g=h", "%")));
}

TEST(TargetTest, TwoSlashesAreNoPath) {
  for (const char* const text : {"//", "//evil", "/%2Fevil", "%2F%2Fevil", "//evil?a=b"}) {
    EXPECT_FALSE(ParseTarget(text).has_value()) << text;
  }
  EXPECT_TRUE(ParseTarget("/a//b").has_value());
  EXPECT_TRUE(ParseTarget("/?next=//evil").has_value());
}

TEST(TargetTest, ControlCharactersAreInNoPath) {
  for (int code = 0; code < 256; ++code) {
    const std::string path = "/a" + PercentEncoded(std::string(1, static_cast<char>(code)));
    EXPECT_EQ(ParseTarget(path).has_value(), code >= 32 && code != 127) << code;
  }
  EXPECT_FALSE(ParseTarget("/a\nb").has_value());
}

TEST(TargetTest, AnythingElseIsNothing) {
  for (const char* const text : {"", "a", "*", "?a=b", "http://127.0.0.1/", "127.0.0.1:80", "/%",
                                 "/%g0", "/?%", "/?a=%4", "/?%zz=a", "/?a=b&c=%x"}) {
    EXPECT_FALSE(ParseTarget(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace noisefloor::http
