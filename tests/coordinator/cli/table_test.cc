#include "coordinator/cli/table.h"

#include <sstream>

#include "gtest/gtest.h"

namespace noisefloor::cli {
namespace {

std::string TextOf(const Table& table, size_t columns, bool bold = false) {
  std::ostringstream out;
  table.Print(out, bold, columns);
  return out.str();
}

Table Fleet() {
  Table table({"worker", "slots", "classes", "seen"});
  table.Add({"box", "2", "sse avx2 avx512", "12:00"});
  table.Add({"den", "16", "sse", "11:58"});
  return table;
}

TEST(TableTest, IsAsWideAsItsCells) {
  EXPECT_EQ(TextOf(Fleet(), 0),
            "worker  slots  classes          seen\n"
            "box         2  sse avx2 avx512  12:00\n"
            "den        16  sse              11:58\n");
  EXPECT_EQ(TextOf(Fleet(), 37), TextOf(Fleet(), 0)) << "it fits";
}

TEST(TableTest, ANarrowTerminalBreaksCellsAtSpaces) {
  EXPECT_EQ(TextOf(Fleet(), 33),
            "worker  slots  classes      seen\n"
            "box         2  sse avx2     12:00\n"
            "               avx512\n"
            "den        16  sse          11:58\n");
}

TEST(TableTest, WhatDoesNotFitGoesOnBelowWithItsFirstColumn) {
  EXPECT_EQ(TextOf(Fleet(), 20),
            "worker  slots\n"
            "box         2\n"
            "den        16\n"
            "\n"
            "worker  classes\n"
            "box     sse\n"
            "        avx2\n"
            "        avx512\n"
            "den     sse\n"
            "\n"
            "worker  seen\n"
            "box     12:00\n"
            "den     11:58\n");
}

TEST(TableTest, NoLineIsWiderThanTheTerminal) {
  Table table({"member", "hash", "what happened"});
  table.Add({"s1c0r0", std::string(64, 'a'), "a few words and averyverylongonewithoutspaces"});
  table.Add({std::string(50, 'm'), "b",
             "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"});
  for (size_t columns = 10; columns < 140; ++columns) {
    std::istringstream lines(TextOf(table, columns));
    for (std::string line; std::getline(lines, line);) {
      size_t width = 0;
      for (const char c : line) width += (c & 0xC0) != 0x80 ? 1 : 0;
      EXPECT_LE(width, columns) << line;
    }
  }
}

TEST(TableTest, ACellStaysACell) {
  Table table({"unit"});
  table.Add({"box\x1b[2J\nden  forged"});
  EXPECT_EQ(TextOf(table, 0), "unit\nbox\\x1b[2J\\nden  forged\n");
}

TEST(WrappedTest, ParagraphsAreBrokenAtSpaces) {
  EXPECT_EQ(Wrapped("one two three", 0), "one two three\n");
  EXPECT_EQ(Wrapped("one two three", 8), "one two\n  three\n");
  EXPECT_EQ(Wrapped("averylongword b", 5), "averylongword\n  b\n");
}

}  // namespace
}  // namespace noisefloor::cli
