#include "common/files/csv_reader.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

std::string ErrorOf(std::string_view text) {
  absl::StatusOr<CsvReader> csv = CsvReader::Open("x.csv", text);
  while (csv.ok() && !csv->at_end()) {
    const absl::Status status = csv->Next().status();
    if (!status.ok()) return std::string(status.message());
  }
  return csv.ok() ? "" : std::string(csv.status().message());
}

TEST(CsvReader, ReadsQuotesCommasAndBothEndsOfLines) {
  absl::StatusOr<CsvReader> csv = CsvReader::Open("x.csv", "a,\"b,c\"\r\n1,\"say \"\"no\"\"\"\n,2");
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_EQ(csv->columns(), (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(*csv->Next(), (std::vector<std::string>{"1", "say \"no\""}));
  EXPECT_FALSE(csv->at_end());
  EXPECT_EQ(*csv->Next(), (std::vector<std::string>{"", "2"}));
  EXPECT_EQ(csv->line(), 3);
  EXPECT_TRUE(csv->at_end());
}

TEST(CsvReader, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf(""), "x.csv:1: an empty file; expected a line of column names");
  EXPECT_EQ(ErrorOf("a,a\n"), "x.csv:1: column a is there twice");
  EXPECT_EQ(ErrorOf("a,\n"), "x.csv:1: column 2 has no name");
  EXPECT_EQ(ErrorOf("\xef\xbb\xbf"
                    "a\n"),
            "x.csv:1: it begins with a BOM; expected none");
  EXPECT_EQ(ErrorOf("a,b\n1\n"), "x.csv:2: 1 cells; expected 2");
  EXPECT_EQ(ErrorOf("a,b\n\n"), "x.csv:2: an empty line");
  EXPECT_EQ(ErrorOf("a\n1\n\"2\n"), "x.csv:3: a quoted cell that does not end on its line");
  EXPECT_EQ(ErrorOf("a\n\"2\"x\n"), "x.csv:2: text after the end of a quoted cell");
  EXPECT_EQ(ErrorOf("a\n2\"\n"), "x.csv:2: a quote within a cell that is not quoted");
  EXPECT_EQ(ErrorOf("a\n\xff\n"), "x.csv:2: not UTF-8");
  EXPECT_EQ(ErrorOf("a\n" + std::string(201, 'x')),
            "x.csv:2: a cell of 201 bytes; expected at most 200");
}

}  // namespace
}  // namespace noisefloor
