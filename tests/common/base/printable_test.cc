#include "common/base/printable.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(PrintableTest, TextStaysAsItIs) {
  for (const std::string text :
       {"", "two words\n\tand a line\n", "50 % \u2013 \u00e9\u4e16\U0001f600"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(Printable("\x1b[2J\x1b]0;title\a\r\b\x7f"),
            "\\x1b[2J\\x1b]0;title\\x07\\x0d\\x08\\x7f");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Printable("\u009b2J\u0085"), "\\x9b2J\\x85") << "those that two bytes make";
  EXPECT_EQ(Printable("\u202eabc\u2066\u200f\u2028"), "\\u202eabc\\u2066\\u200f\\u2028");
  EXPECT_EQ(Printable("\u061c\u200e\u202a\u2069\u2029\u009f\x1f"),
            "\\u061c\\u200e\\u202a\\u2069\\u2029\\x9f\\x1f");
  EXPECT_EQ(Printable("\u00a0\u202f\u206a "), "\u00a0\u202f\u206a ") << "their neighbours";
}

TEST(PrintableTest, InsideJsonTheyAreJson) {
  EXPECT_EQ(Printable("\x1b\u009b\x7f", EscapeStyle::kJson), "\\u001b\\u009b\\u007f");
}

TEST(PrintableTest, ALineStaysOne) { EXPECT_EQ(PrintableLine("a\n\tb\x1b"), "a\\n\\tb\\x1b"); }

TEST(PrintableTest, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(Printable("a\xff"
                      "b"),
            "a\uFFFDb");
  EXPECT_EQ(Printable("\x9b"
                      "2J"),
            "\uFFFD2J")
      << "a bare control byte of Latin-1";
  EXPECT_EQ(Printable("\xe2\x82"), "\uFFFD") << "cut off at the end";
  EXPECT_EQ(Printable("\xe2\x82\x1b"), "\uFFFD\\x1b") << "cut off by another";
  EXPECT_EQ(Printable("\xe0\x82\x9b"), "\uFFFD") << "longer than need be";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\uFFFD") << "half a pair";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\uFFFD") << "beyond the last character";
}

TEST(PrintableTest, PiecesMayEndAnywhere) {
  const std::string text = "a\u20ac\U0001f600\u009b\x1b";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    PrintableText pieces(EscapeStyle::kText);
    std::string shown = pieces.Take(text.substr(0, cut));
    shown += pieces.Take(text.substr(cut));
    EXPECT_EQ(shown + pieces.Rest(), "a\u20ac\U0001f600\\x9b\\x1b") << cut;
  }
  PrintableText unfinished(EscapeStyle::kText);
  EXPECT_EQ(unfinished.Take("a\xe2"), "a");
  EXPECT_EQ(unfinished.Rest(), "\uFFFD");
  EXPECT_EQ(unfinished.Rest(), "");
}

}  // namespace
}  // namespace noisefloor
