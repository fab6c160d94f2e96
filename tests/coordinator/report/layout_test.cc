#include "coordinator/report/layout.h"

#include "gtest/gtest.h"

namespace noisefloor::report {
namespace {

TEST(LayoutTest, ColumnsLineUpByCodePoints) {
  EXPECT_EQ(AlignColumns({"name", "x"}, {{"a", "1.5"}, {"häß", "10"}}),
            "  name    x\n"
            "  a     1.5\n"
            "  häß    10\n");
}

TEST(LayoutTest, AWideTableIsCutBetweenColumnsAndRepeatsTheFirst) {
  EXPECT_EQ(AlignColumns({"name", "x", "longer", "z"}, {{"a", "1", "2", "3"}}, 16),
            "  name  x\n"
            "  a     1\n"
            "\n"
            "  name  longer\n"
            "  a          2\n"
            "\n"
            "  name  z\n"
            "  a     3\n");
}

TEST(LayoutTest, ATableThatFitsExactlyIsNotCut) {
  const std::vector<std::string> header = {"name", "x", "y"};
  EXPECT_EQ(AlignColumns(header, {}, 12), "  name  x  y\n");
  EXPECT_EQ(AlignColumns(header, {}, 11), "  name  x\n\n  name  y\n");
}

TEST(LayoutTest, AColumnWiderThanTheScreenStillComesWhole) {
  EXPECT_EQ(AlignColumns({"name", "very wide", "y"}, {}, 5), "  name  very wide\n\n  name  y\n");
  EXPECT_EQ(AlignColumns({"name"}, {{"a"}}, 3), "  name\n  a\n");
}

TEST(LayoutTest, ParagraphsBreakAtSpacesAndHang) {
  EXPECT_EQ(WrapParagraph("one two three"), "  one two three\n");
  EXPECT_EQ(WrapParagraph("one two three", 9), "  one two\n    three\n");
  EXPECT_EQ(WrapParagraph("incomprehensibilities are long", 9),
            "  incomprehensibilities\n    are\n    long\n");
  EXPECT_EQ(WrapParagraph("", 9), "  \n");
  EXPECT_EQ(WrapParagraph("A heading of words", 10, 0), "A heading\n  of words\n");
}

TEST(LayoutTest, ColoursTakeNoPlace) {
  EXPECT_EQ(ScreenWidth("\x1b[31mred\x1b[0m"), 3u);
  EXPECT_EQ(WrapParagraph("\x1b[31mred\x1b[0m one", 9), "  \x1b[31mred\x1b[0m one\n");
  EXPECT_EQ(AlignColumns({"a", "b"}, {{"\x1b[31mr\x1b[0m", "1"}}),
            "  a  b\n"
            "  \x1b[31mr\x1b[0m  1\n");
}

}  // namespace
}  // namespace noisefloor::report
