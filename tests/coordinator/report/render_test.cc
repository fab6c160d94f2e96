// The forms of a study: JSON, tables, CSV, page.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "coordinator/report/export.h"
#include "coordinator/report/failures.h"
#include "coordinator/report/json_facts.h"
#include "coordinator/report/layout.h"
#include "coordinator/report/page.h"
#include "coordinator/report/study.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "coordinator/report/words.h"
#include "tests/coordinator/report/example_study.h"

namespace noisefloor::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;
using Json = nlohmann::json;

TEST(StudyJsonTest, FiguresAreThoseOfTheStudyToTheLastBit) {
  const Study study = BuildStudy(MakeExampleStudy().input);

  const Json json = Json::parse(StudyToJson(study));

  EXPECT_EQ(json["study_version"], 2);
  EXPECT_EQ(json["sweep"]["seed"], "0");
  for (size_t c = 0; c < study.cohorts.size(); ++c) {
    const Json& churn = json["cohorts"][c]["churn"];
    EXPECT_EQ(churn["value"].get<double>(), *study.cohorts[c].churn.value);
    EXPECT_EQ(churn["n"], 4);
    if (study.cohorts[c].churn.low) {
      EXPECT_EQ(churn["low"].get<double>(), *study.cohorts[c].churn.low);
    } else {
      EXPECT_TRUE(churn["low"].is_null());
      EXPECT_NE(churn["note"], "");
    }
  }
  EXPECT_EQ(json["heat_map"]["values"][3][20].get<double>(), *study.heat_map.values[3][20]);
  EXPECT_EQ(json["hardware"].size(), 9u);
  EXPECT_EQ(json["members"][13]["lanes"]["init"], "0.2");
}

TEST(StudyJsonTest, NumbersThatAreNotFiniteAreWordsAndAbsentOnesAreNull) {
  Study study;
  study.curves.push_back({0, "train_loss", {1, 2, 3}, {0, 0, 0}, {}, {}, {}, {}});
  study.curves[0].members.push_back({"s1c0r0",
                                     {std::numeric_limits<double>::quiet_NaN(),
                                      -std::numeric_limits<double>::infinity(), std::nullopt}});
  study.sweep.seed = std::numeric_limits<uint64_t>::max();

  const Json json = Json::parse(StudyToJson(study));

  EXPECT_EQ(json["curves"][0]["members"][0]["values"], (Json{"nan", "-inf", nullptr}));
  EXPECT_EQ(json["sweep"]["seed"], "18446744073709551615");
}

// Every path of names in a JSON value; lists count as one.
void CollectPaths(const Json& json, const std::string& path, std::set<std::string>& paths) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) CollectPaths(value, path + "." + key, paths);
  } else if (json.is_array()) {
    for (const Json& item : json) CollectPaths(item, path + "[]", paths);
  } else {
    paths.insert(path);
  }
}

// The page's tests draw tests/web/sample_study.json; it must stay what this code writes.
// NOISEFLOOR_UPDATE_SAMPLES=1 writes it anew.
TEST(StudyJsonTest, TheSampleOfThePagesTestsHasTodaysShape) {
  const ExampleStudy example =
      MakeExampleStudy({.side = 16, .break_control = true, .groups = true});
  const std::string today = StudyToJson(BuildStudy(example.input));
  const char* source = std::getenv("NOISEFLOOR_SOURCE");
  ASSERT_NE(source, nullptr) << "run through ctest, which sets NOISEFLOOR_SOURCE";
  const std::string path = std::string(source) + "/tests/web/sample_study.json";
  if (std::getenv("NOISEFLOOR_UPDATE_SAMPLES") != nullptr) std::ofstream(path) << today << "\n";

  std::stringstream kept;
  kept << std::ifstream(path).rdbuf();
  std::set<std::string> paths_today;
  std::set<std::string> paths_kept;
  CollectPaths(Json::parse(today), "", paths_today);
  const Json json = Json::parse(kept.str(), nullptr, false);
  ASSERT_TRUE(json.is_object()) << path;
  CollectPaths(json, "", paths_kept);

  EXPECT_EQ(paths_today, paths_kept);
  EXPECT_LT(kept.str().size(), 384u * 1024);
}

TEST(TableTest, AnswersInTheOrderAPersonAsks) {
  const Study study = BuildStudy(MakeExampleStudy({.break_control = true}).input);

  const std::string text = RenderTables(study);

  size_t at = 0;
  for (const char* heading :
       {"first-study (s1)", "Findings", "Noise of each cell", "Control", "Physical sources",
        "Hardware", "Who pays", "Most divergent", "What was trained", "Warnings"}) {
    const size_t next = text.find(heading, at);
    ASSERT_NE(next, std::string::npos) << heading;
    at = next;
  }
  EXPECT_THAT(text, HasSubstr(WithInterval(study.cohorts[3].churn)));
  EXPECT_THAT(text, HasSubstr(WithInterval(study.hardware[3].churn_paired)));
  EXPECT_THAT(text, HasSubstr("error: cell 2 (control, cpu-intel-sse): The control cohort is not"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b[")));
}

TEST(TableTest, ComparisonsOfHardwareNameTheirSetting) {
  Study study = BuildStudy(MakeExampleStudy().input);
  EXPECT_THAT(RenderTables(study), HasSubstr("  algo: avx2 / avx512"));

  study.hardware[3].setting = "algo, block 1";

  EXPECT_THAT(RenderTables(study), HasSubstr("  algo, block 1: avx2 / avx512"));
}

TEST(TableTest, ColourIsOnlyThereWhenAskedFor) {
  const Study study = BuildStudy(MakeExampleStudy({.break_control = true}).input);

  const std::string text = RenderTables(study, {.colour = Colour::kOn});

  EXPECT_THAT(text, HasSubstr("\x1b[31merror\x1b[0m"));
  EXPECT_THAT(text, HasSubstr("\x1b[1mFindings\x1b[0m"));
}

TEST(TableTest, NoLineIsWiderThanTheScreenAndNoFigureIsLost) {
  const Study study = BuildStudy(MakeExampleStudy({.break_control = true}).input);
  const auto figures = [](const std::string& text) {
    std::istringstream words(text);
    return std::set<std::string>(std::istream_iterator<std::string>(words), {});
  };

  const std::string narrow = RenderTables(study, {.colour = Colour::kOn, .columns = 80});

  std::istringstream lines(narrow);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(ScreenWidth(line), 80u) << line;
  EXPECT_EQ(figures(narrow), figures(RenderTables(study, {.colour = Colour::kOn})));
}

TEST(TableTest, WhereNoPairMeasuresDisagreementIsLeftOutAndSaid) {
  Study study = BuildStudy(MakeExampleStudy().input);
  ASSERT_FALSE(study.divergent.examples.empty());
  EXPECT_THAT(RenderTables(study), HasSubstr("disagreement   "));

  study.divergent.subset_disagreement =
      analysis::Absent("fraction", 0, "no cohort has two measuring members");
  const std::string text = RenderTables(study);

  EXPECT_THAT(text, Not(HasSubstr("disagreement   ")));
  EXPECT_THAT(text, HasSubstr("Disagreement: no cohort has two measuring members.\n"));
}

TEST(TableTest, NoiseFarBelowItsDigitsIsNotShownAsThatOfControl) {
  Study study = BuildStudy(MakeExampleStudy().input);
  study.cohorts[0].l2_normalised.value = 0.0;
  study.cohorts[3].l2_normalised.value = 1.2e-8;

  const std::string text = RenderTables(study);

  EXPECT_THAT(text, HasSubstr(" 1.2e-08 "));
  EXPECT_THAT(text, HasSubstr(" 0.000 "));
}

TEST(TableTest, AnyDisagreementIsSaidToHaveNoIntervalOverMembers) {
  const std::string text = RenderTables(BuildStudy(MakeExampleStudy().input));

  EXPECT_THAT(text, HasSubstr("any differs: not all n agree, of which n cannot see how it spreads "
                              "over other members (an interval of it is over examples)"));
  EXPECT_THAT(text,
              HasSubstr("Only an interval of any-disagreement is over examples: it says nothing of "
                        "other draws of n members."));
}

TEST(TableTest, OfExamplesThatFlipThoseThatFollowTheSideAreShown) {
  Study study;
  SensitiveExamples& sensitive = study.sensitive.emplace_back();
  for (const int64_t example : {5, 77, 9, 11, 12, 13, 14, 15}) {
    sensitive.most.emplace_back().example = example;
    sensitive.most.back().label_name = "x";
  }
  sensitive.found = {77};
  const std::string one = RenderTables(study);
  EXPECT_THAT(one, HasSubstr("  77 (x)"));
  EXPECT_THAT(one, Not(HasSubstr("  5 (x)")));
  EXPECT_THAT(one, Not(HasSubstr("  9 (x)")));
  EXPECT_THAT(one, Not(HasSubstr("The table shows")));

  sensitive.found = {9, 11, 12, 13, 14, 15, 77};
  const std::string seven = RenderTables(study);
  EXPECT_THAT(seven, HasSubstr("  13 (x)"));
  EXPECT_THAT(seven, Not(HasSubstr("  14 (x)")));
  EXPECT_THAT(seven, HasSubstr("The table shows 5 of these 7.\n"));
}

TEST(TableTest, AControlPaysNothingThoughItIsBroken) {
  Study study = BuildStudy(MakeExampleStudy().input);
  ASSERT_TRUE(study.cohorts[0].all_fixed);
  study.cohorts[0].churn.value = 0.9;
  const std::string text = RenderTables(study);
  EXPECT_THAT(text, HasSubstr("Who pays: classes of "));
  EXPECT_THAT(text, Not(HasSubstr("Who pays: classes of control")));
}

TEST(TableTest, AStudyWithoutResultsIsStillATable) {
  EXPECT_THAT(RenderTables(Study{}), HasSubstr("0 members, 0 done"));
}

TEST(WordsTest, DigitsFollowTheSizeOfTheNumber) {
  const auto value = [](double number, const std::string& unit) {
    Estimate estimate;
    estimate.value = number;
    estimate.unit = unit;
    return Value(estimate);
  };
  EXPECT_EQ(value(0.0812, "fraction"), "8.12 %");
  EXPECT_EQ(value(0.00003, "fraction"), "0.0030 %");
  EXPECT_EQ(value(0, "fraction"), "0.00 %");
  EXPECT_EQ(value(-1e-17, "fraction"), "0.00 %");
  EXPECT_EQ(value(12.3456, "norm"), "12.346");
  EXPECT_EQ(value(12345.6, "norm"), "12346");
  EXPECT_EQ(value(8.53, "seconds"), "8.5 s");
  EXPECT_EQ(Value(analysis::Absent("fraction", 0, "why")), "-");
}

std::optional<double> NumberIn(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

// tests/web/page_test.mjs holds the page to the same file.
TEST(WordsTest, FiguresAreWrittenAsOnThePage) {
  const char* source = std::getenv("NOISEFLOOR_SOURCE");
  ASSERT_NE(source, nullptr) << "run through ctest, which sets NOISEFLOOR_SOURCE";
  std::ifstream file(std::string(source) + "/tests/web/figures.json");
  const Json figures = Json::parse(file, nullptr, false);
  ASSERT_TRUE(figures.is_array());
  ASSERT_GE(figures.size(), 20u);

  for (const Json& figure : figures) {
    Estimate estimate;
    estimate.unit = figure["unit"];
    estimate.value = NumberIn(figure["value"]);
    estimate.low = NumberIn(figure["low"]);
    estimate.high = NumberIn(figure["high"]);
    EXPECT_EQ(WithInterval(estimate), figure["text"].get<std::string>()) << figure;
  }
}

TEST(WordsTest, APercentageTooSmallForItsDigitsIsNotZero) {
  EXPECT_EQ(Percent(0.0123, 2), "1.23 %");
  EXPECT_EQ(Percent(0.00005, 2), "0.01 %");
  EXPECT_EQ(Percent(0.00004, 2), "<0.01 %");
  EXPECT_EQ(Percent(0.0004, 1), "<0.1 %");
  EXPECT_EQ(Percent(0, 2), "0.00 %");
}

TEST(WordsTest, IntervalsHaveTheDigitsOfTheirValue) {
  Estimate estimate;
  estimate.value = 0.08;
  estimate.low = 0.0711;
  estimate.high = 0.0899;
  estimate.unit = "fraction";
  EXPECT_EQ(WithInterval(estimate), "8.00 % [7.11, 8.99]");
  // A bound that is not zero does not look like zero.
  estimate.low = 0.00003;
  EXPECT_EQ(WithInterval(estimate), "8.000 % [0.003, 8.990]");
  EXPECT_EQ(Value(estimate), "8.000 %");
  estimate.low = 0;
  EXPECT_EQ(WithInterval(estimate), "8.00 % [0.00, 8.99]");
  EXPECT_EQ(Counted(1, "member"), "1 member");
  EXPECT_EQ(Counted(3, "member"), "3 members");
  EXPECT_EQ(Listed(std::vector<std::string>{"a", "b", "c"}), "a, b and c");
}

// Splits one line of RFC 4180.
std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t k = 0; k < line.size(); ++k) {
    if (quoted && line[k] == '"' && k + 1 < line.size() && line[k + 1] == '"') {
      fields.back() += line[k++];
    } else if (line[k] == '"') {
      quoted = !quoted;
    } else if (line[k] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[k];
    }
  }
  return fields;
}

TEST(ExportTest, EveryLineHasEveryColumnAndTheFiguresOfTheStudy) {
  const Study study = BuildStudy(MakeExampleStudy().input);

  std::stringstream csv(StudyToCsv(study));

  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(
      line,
      "table,cell,label,subject,metric,value,low,high,n,unit,detectable,detectable_kind,note");
  std::set<std::string> tables;
  bool found = false;
  while (std::getline(csv, line)) {
    const std::vector<std::string> fields = Fields(line);
    ASSERT_EQ(fields.size(), 13u) << line;
    tables.insert(fields[0]);
    if (fields[0] != "cohort" || fields[1] != "3" || fields[4] != "churn") continue;
    found = true;
    EXPECT_EQ(fields[2], "algo, cpu-intel-avx2");
    EXPECT_EQ(std::stod(fields[5]), *study.cohorts[3].churn.value);
    EXPECT_EQ(std::stod(fields[7]), *study.cohorts[3].churn.high);
    EXPECT_EQ(fields[8], "4");
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(tables, ElementsAre("class", "cohort", "contrast", "control", "curve",
                                  "divergent_group", "ensemble", "example", "flipping_example",
                                  "hardware", "hardware_test", "member", "mixing", "pair",
                                  "physical", "trajectory", "trajectory_hardware", "warning"));
}

TEST(ExportTest, AbsentIsEmptyAndNotFiniteIsAWord) {
  Study study;
  Cohort& cohort = study.cohorts.emplace_back();
  cohort.label = "a \"b\", c";
  cohort.churn = analysis::Absent("fraction", 1, "needs two members, there are 1");
  cohort.loss.value = std::numeric_limits<double>::quiet_NaN();

  const std::string csv = StudyToCsv(study);

  EXPECT_THAT(csv, HasSubstr("cohort,0,\"a \"\"b\"\", c\",,churn,,,,1,fraction,,,"
                             "\"needs two members, there are 1\"\n"));
  EXPECT_THAT(csv, HasSubstr(",loss,nan,,,"));
}

TEST(ExportTest, NoTextIsAFormula) {
  Study study;
  for (const char* label : {"=1+1", "-rf", "+1", "@sum", "plain=1"}) {
    study.cohorts.emplace_back().label = label;
  }
  const std::string csv = StudyToCsv(study);
  for (const char* label : {"'=1+1", "'-rf", "'+1", "'@sum", "plain=1"}) {
    EXPECT_THAT(csv, HasSubstr("," + std::string(label) + ",,churn,"));
  }
}

TEST(TableTest, SaysWhatWasTrained) {
  Study study = BuildStudy(MakeExampleStudy().input);
  study.sweep.axes = {{{"train.optimizer.learning_rate", {"0.1", "0.5"}}}};

  const std::string text = RenderTables(study);

  EXPECT_THAT(text,
              HasSubstr("model.name small_cnn; data.name fashion-mnist-sample; augment.flip "
                        "true; train.epochs 3; train.batch_size 64; train.optimizer.name sgd; "
                        "train.optimizer.learning_rate {0.1, 0.5}\n"));
  EXPECT_THAT(text, Not(HasSubstr("model.dropout"))) << "a default that nobody asks for";
  EXPECT_THAT(text, HasSubstr("algo: frees init, data_order, augment and dropout; fixes kernels, "
                              "autotune, reduce_order and threads; 1 block of 4 replicates\n"));
  EXPECT_THAT(text, HasSubstr("specification " + study.sweep.specification_sha256));
  EXPECT_THAT(text, HasSubstr("submitted 2023-11-14 22:13:20 UTC, last result 2023-11-14 22:16:05 "
                              "UTC\n"));
  study.sweep.ended_unix_seconds = 0;
  EXPECT_THAT(RenderTables(study), HasSubstr(" UTC, no result yet\n"));
}

TEST(FailuresTest, EveryReasonIsAWarningWithHowManyEndedSo) {
  ExampleStudy example = MakeExampleStudy();
  const auto fail = [&](size_t m, const char* cause, const char* message) {
    example.input.members[m].state = MemberState::kFailed;
    example.input.members[m].failure_cause = cause;
    example.input.members[m].failure_message = message;
  };
  fail(1, "bug", "300 examples make no batch of 1000");
  fail(2, "data", "t10k-images is truncated");
  fail(5, "data", "t10k-images is truncated");
  fail(9, "", "");
  example.input.members[0].failure_cause = "data";  // Which was tried again and is done.

  const Study study = BuildStudy(example.input);

  std::vector<std::string> told;
  for (const Warning& warning : study.warnings) {
    if (warning.text.starts_with("Failed, ")) told.push_back(warning.subject + ": " + warning.text);
  }
  EXPECT_THAT(told, ElementsAre("s1c0r2 and 1 more: Failed, data: t10k-images is truncated",
                                "s1c0r1: Failed, bug: 300 examples make no batch of 1000",
                                "s1c2r1: Failed, unknown"));
  EXPECT_EQ(study.members[2].failure, "data: t10k-images is truncated");
  EXPECT_EQ(study.members[0].failure, "");
  EXPECT_EQ(Json::parse(StudyToJson(study))["members"][1]["failure"],
            "bug: 300 examples make no batch of 1000");
  EXPECT_THAT(RenderTables(study), HasSubstr("s1c0r1: Failed, bug: 300 examples make no batch"));
}

TEST(FailuresTest, OfManyReasonsTwentyAreShown) {
  const auto warnings_of = [](int reasons) {
    StudyInput input;
    for (int i = 0; i < reasons; ++i) {
      MemberInput& member = input.members.emplace_back();
      member.state = MemberState::kFailed;
      member.failure_message = "reason " + std::to_string(i);
    }
    std::vector<Warning> warnings;
    AddFailures(input, warnings);
    return warnings;
  };
  EXPECT_EQ(warnings_of(20).size(), 20u);
  EXPECT_EQ(warnings_of(20).back().text, "Failed, unknown: reason 19");
  ASSERT_EQ(warnings_of(22).size(), 21u);
  EXPECT_EQ(warnings_of(22).back().text,
            "2 more reasons of failures are not shown; the members have them.");
}

TEST(PageTest, HoldsTheStudyTheScriptAndTheStyle) {
  const std::string page =
      RenderPage("x (s1)", {}, "{\"title\":\"x\"}", "let a = 1;", "p { color: red }");

  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("<script type=\"application/json\" id=\"study\">{\"title\":\"x\"}"
                              "</script>"));
  EXPECT_THAT(page, HasSubstr("let a = 1;</script>"));
  EXPECT_THAT(page, HasSubstr("<title>x (s1): noise study</title>"));
  EXPECT_THAT(page, HasSubstr("<style>p { color: red }</style>"));
}

TEST(PageTest, WithoutAScriptTitleAndFindingsAreThere) {
  const std::vector<std::string> findings = {"Churn is 3 %.", "</noscript> & <b>"};

  const std::string page = RenderPage("x (s1)", findings, "{}", "", "");

  const size_t begin = page.find("<noscript>");
  const std::string without = page.substr(begin, page.find("</noscript>", begin) - begin);
  EXPECT_THAT(without, HasSubstr("<h1>x (s1)</h1>"));
  EXPECT_THAT(without, HasSubstr("<li>Churn is 3 %.</li>\n<li>&lt;/noscript> &amp; &lt;b></li>"));
}

TEST(PageTest, NothingCanEndItsElementEarly) {
  const std::string json = "{\"a\":\"</SCRIPT><script>alert(1)</script><!--\"}";

  const std::string page =
      RenderPage("a </title> & b", {}, json, "x = '</Script><!-- <script>'; y = 1 < 2;",
                 "a:after{content:'</STYLE>'}");

  const size_t begin = page.find("id=\"study\">") + 11;
  const std::string embedded = page.substr(begin, page.find("</script>", begin) - begin);
  EXPECT_EQ(Json::parse(embedded), Json::parse(json));
  EXPECT_THAT(page, HasSubstr("<title>a &lt;/title> &amp; b: noise study</title>"));
  EXPECT_THAT(embedded, Not(HasSubstr("<")));
  EXPECT_THAT(page, HasSubstr("x = '\\x3c/Script>\\x3c!-- <script>'; y = 1 < 2;</script>"));
  EXPECT_THAT(page, HasSubstr("content:'\\3c /STYLE>'"));
}

TEST(PageTest, ItsPolicyForbidsEveryRequestAndForeignScript) {
  const std::string page = RenderPage("", {}, "{}", "", "");

  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("base-uri 'none'; form-action 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  const size_t nonce = page.find("'nonce-") + 7;
  EXPECT_THAT(page, HasSubstr("<script nonce=\"" + page.substr(nonce, 32) + "\">"));
  EXPECT_EQ(RenderPage("", {}, "{}", "", ""), page);
}

TEST(JsonFactsTest, FlattensObjectsAndJoinsPlainLists) {
  EXPECT_THAT(FlattenObject(R"({"a":{"b":1,"c":"x"},"d":[1,"y",true],"e":[{"f":null}],"g":1.5})"),
              ElementsAre(Pair("a.b", "1"), Pair("a.c", "x"), Pair("d", "1, y, true"),
                          Pair("e.0.f", "null"), Pair("g", "1.5")));
  EXPECT_THAT(FlattenObject(R"({"switches":[{"name":"tf32","read":"off"}]})"),
              ElementsAre(Pair("switches.tf32.read", "off")));
  EXPECT_THAT(FlattenObject("{"), IsEmpty());
  EXPECT_THAT(FlattenObject("[1]"), IsEmpty());
  EXPECT_THAT(FlattenObject(""), IsEmpty());
}

}  // namespace
}  // namespace noisefloor::report
