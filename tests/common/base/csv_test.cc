#include "common/base/csv.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(CsvField(""), "");
  EXPECT_EQ(CsvField("init only"), "init only");
  EXPECT_EQ(CsvField("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvField("say \"no\""), "\"say \"\"no\"\"\"");
  EXPECT_EQ(CsvField("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(CsvField("two\rlines"), "\"two\rlines\"");
}

TEST(Csv, NoTextIsAFormula) {
  for (const char first : {'=', '+', '@', '\t'}) {
    EXPECT_EQ(CsvField(std::string(1, first) + "1"), std::string("'") + first + "1");
  }
  EXPECT_EQ(CsvField("-1+2"), "'-1+2");
  EXPECT_EQ(CsvField("-x"), "'-x");
  EXPECT_EQ(CsvField("-"), "'-");
  EXPECT_EQ(CsvField("\r1"), "\"'\r1\"");
  EXPECT_EQ(CsvField("1=2"), "1=2");
}

TEST(Csv, ANumberStaysWhatItIs) {
  for (const char* number : {"-1", "-1.5e-3", "-inf", "-nan", "nan"}) {
    EXPECT_EQ(CsvField(number), number);
  }
}

}  // namespace
}  // namespace noisefloor
