// Sweeps as a gate, from what two coordinators exported.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/coordinator/cli/command_line.h"
#include "tests/coordinator/inputs/tiny_export.h"

namespace noisefloor::cli {
namespace {

using inputs::TinyExport;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Members that answer right but for one example each; B's from `lost` on answer the first ones
// wrong, too.
std::string Exported(const Scratch& scratch, const std::string& name, int32_t lost) {
  TinyExport tiny{.name = name, .seed = static_cast<uint64_t>(lost) + 1, .labels = {}};
  for (int32_t x = 0; x < 200; ++x) tiny.labels.push_back(x % 2);
  for (int32_t r = 0; r < 6; ++r) {
    std::vector<int32_t> answers = tiny.labels;
    for (int32_t x = 0; x < lost; ++x) answers[static_cast<size_t>(x)] ^= 1;
    for (int32_t x = 0; x <= r % 3; ++x) answers[static_cast<size_t>(100 + 10 * r + x)] ^= 1;
    tiny.answers.push_back(answers);
  }
  return WriteTinyExport(scratch, tiny);
}

// The same results twice would look like those of two sites that agree.
TEST(Merge, TakesEachFolderOnceHoweverItIsNamed) {
  const Scratch scratch;
  const std::string a = Exported(scratch, "a", 0);
  CommandLine line;
  const std::string link = line.home() + "/link";
  ASSERT_EQ(symlink(a.c_str(), link.c_str()), 0);
  for (const std::string& again : {a, a + "/", a + "/../" + a.substr(a.rfind('/') + 1), link}) {
    const Printed twice = line.Run({"merge", a, again, "--form=json"});
    EXPECT_EQ(twice.code, kRefused) << again;
    EXPECT_THAT(twice.err, HasSubstr(": expected each folder once")) << again;
    EXPECT_EQ(twice.out, "");
  }
  EXPECT_EQ(line.Run({"merge", a, "--form=json"}).code, kDone);
}

TEST(Compare, ExitsWithTheVerdict) {
  const Scratch scratch;
  const std::string a = Exported(scratch, "a", 0);
  const std::string b = Exported(scratch, "b", 20);
  CommandLine line;
  const Printed same = line.Run({"compare", a, a});
  EXPECT_EQ(same.code, kDone) << same.err;
  EXPECT_THAT(same.out, HasSubstr("Pass: B has the answers of A in every draw"));
  const Printed other = line.Run({"compare", a, b});
  EXPECT_EQ(other.code, kDidNotHold) << other.err;
  EXPECT_THAT(other.out, HasSubstr("algo, epochs=3: top-1 differs by -10.00 %"));
  const Printed open = line.Run({"compare", a, b, "--margin=churn=1%,top1=10%,shift=20%"});
  EXPECT_EQ(open.code, kUndecided) << open.err;
  EXPECT_THAT(open.out, HasSubstr("Inconclusive: 2 of 3 figures lie inside their margins"));
  const Printed wide = line.Run({"compare", a, b, "--margin=top1=20%,shift=20%"});
  EXPECT_EQ(wide.code, kDone) << wide.err;
}

TEST(Compare, WritesForABuildServerAndForPeople) {
  const Scratch scratch;
  const std::string a = Exported(scratch, "a", 0);
  const std::string b = Exported(scratch, "b", 20);
  CommandLine line;
  const Printed printed =
      line.Run({"compare", a, b, "--output=json", "--junit=" + scratch.Path("x.xml"),
                "--page=" + scratch.Path("x.html")});
  EXPECT_EQ(printed.code, kDidNotHold) << printed.err;
  const auto json = nlohmann::json::parse(printed.out);
  EXPECT_EQ(json["verdict"], "fail");
  EXPECT_NEAR(json["settings"][0]["figures"][1]["difference"]["value"].get<double>(), -0.1, 1e-12);
  EXPECT_THAT(Content(scratch.Path("x.xml")), HasSubstr("<testcase classname=\"algo, epochs=3\""));
  EXPECT_THAT(Content(scratch.Path("x.html")), HasSubstr("<span class=\"fail\">fail</span>"));
}

// What is there and no file stays what it is; what an earlier comparison wrote goes.
TEST(Compare, WritesThroughLinksAndPipesAndLeavesNothingOld) {
  const Scratch scratch;
  const std::string a = Exported(scratch, "a", 0);
  CommandLine line;
  const std::string file = scratch.Put("kept.xml", "old");
  ASSERT_EQ(symlink(file.c_str(), scratch.Path("link.xml").c_str()), 0);
  EXPECT_EQ(line.Run({"compare", a, a, "--junit=" + scratch.Path("link.xml")}).code, kDone);
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.Path("link.xml")));
  EXPECT_EQ(line.Run({"compare", a, a, "--page=/dev/null"}).code, kDone);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const std::string old = scratch.Put("old.xml", "all green");
  EXPECT_EQ(line.Run({"compare", a, a, "--plan=nope", "--junit=" + old}).code, kRefused);
  EXPECT_FALSE(std::filesystem::exists(old));
}

TEST(Compare, TwoNamesOfOneFileAreNotTwoFiles) {
  const Scratch scratch;
  const std::string a = Exported(scratch, "a", 0);
  const std::string file = scratch.Put("there", "old");
  ASSERT_EQ(symlink(file.c_str(), scratch.Path("link").c_str()), 0);
  CommandLine line;
  for (const auto& [junit, page] :
       {std::pair{scratch.Path("new"), scratch.Path("./new")}, {file, scratch.Path("link")}}) {
    const Printed printed = line.Run({"compare", a, a, "--junit=" + junit, "--page=" + page});
    EXPECT_EQ(printed.code, kRefused) << page;
    EXPECT_THAT(printed.err, HasSubstr("--junit and --page: expected two files, got one"));
  }
  EXPECT_EQ(Content(file), "old");
}

TEST(Compare, SaysWhatItExpected) {
  const Scratch scratch;
  const std::string a = Exported(scratch, "a", 0);
  CommandLine line;
  for (const char* margin :
       {"churn", "churn=", "churn=x", "churn=0", "churn=200%", "churn=1", "churn=0.5", "luck=1%"}) {
    const Printed wrong = line.Run({"compare", a, a, std::string("--margin=") + margin});
    EXPECT_EQ(wrong.code, kRefused) << margin;
    EXPECT_THAT(wrong.err, AnyOf(HasSubstr("expected churn, top1 or shift, got 'luck'"),
                                 HasSubstr("expected a share of the answers above 0")));
  }
  const Printed nowhere = line.Run({"compare", a, scratch.Path("nothing")});
  EXPECT_EQ(nowhere.code, kRefused);
  EXPECT_THAT(nowhere.err,
              HasSubstr("expected a sweep, such as s3, or a folder that export wrote"));
}

}  // namespace
}  // namespace noisefloor::cli
