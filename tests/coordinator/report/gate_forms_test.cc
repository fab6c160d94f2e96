// What a gate decided, as text, JSON, JUnit and a page.
#include "coordinator/report/gate_forms.h"

#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "tests/coordinator/report/gate_study.h"

namespace noisefloor::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Where the lines and circles of the page's pictures stand, from the left.
std::vector<double> PlacesIn(const std::string& page) {
  static const std::regex kPlace(R"re( (?:x1|cx)="([0-9.]+)")re");
  std::vector<double> places;
  for (std::sregex_iterator it(page.begin(), page.end(), kPlace), end; it != end; ++it) {
    places.push_back(std::stod((*it)[1].str()));
  }
  return places;
}

TEST(GateFormsTest, InThePicturesWhatIsMoreOnBLiesOnTheRight) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  AddGateAlgo(a, 10, 24, 1);
  AddGateAlgo(b, 10, 0, 2);
  b.input.sweep.seed = 1;
  const Gate gate = Compared(a, b);
  ASSERT_GT(*GateFigureOf(gate, "top1").low, GateFigureOf(gate, "top1").margin);
  ASSERT_GT(*GateFigureOf(gate, "shift").low, GateFigureOf(gate, "shift").margin);

  const std::vector<double> places = PlacesIn(GatePage(gate));

  // Of churn and top-1 a margin, nothing, the other margin, the interval and its middle; a shift
  // has one margin.
  ASSERT_EQ(places.size(), 5u + 5 + 4);
  for (size_t i = 6; i < places.size(); ++i) {
    if (i != 10) {
      EXPECT_LT(places[i - 1], places[i]) << i;
    }
  }
}

TEST(GateFormsTest, SayTheSame) {
  TinyStudy a(kGateExamples, 2);
  TinyStudy b(kGateExamples, 2);
  a.input.sweep.name = "<old> & \"A\"";
  AddGateAlgo(a, 10, 0, 1);
  AddGateAlgo(b, 10, 24, 2);
  b.input.sweep.seed = 1;
  const Gate gate = Compared(a, b);
  const GateFigure& top1 = GateFigureOf(gate, "top1");

  const auto json = nlohmann::json::parse(GateJson(gate));
  EXPECT_EQ(json["verdict"], "fail");
  EXPECT_EQ(json["settings"][0]["figures"][1]["figure"], "top1");
  EXPECT_EQ(json["settings"][0]["figures"][1]["difference"]["value"], *top1.difference.value);
  EXPECT_EQ(json["settings"][0]["figures"][1]["low_90"], *top1.low);
  EXPECT_EQ(json["settings"][0]["figures"][1]["p_holm"], *top1.p_holm);

  const std::string text = GateText(gate);
  for (const std::string& finding : gate.findings) EXPECT_THAT(text, HasSubstr(finding));

  const std::string xml = GateJUnit(gate);
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"2\" errors=\"1\""));
  EXPECT_THAT(xml, HasSubstr("&lt;old&gt; &amp; &quot;A&quot;"));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"algo\" name=\"top1\">\n      <failure "));

  const std::string page = GatePage(gate);
  EXPECT_THAT(page, HasSubstr("<span class=\"fail\">fail</span>"));
  EXPECT_THAT(page, HasSubstr("&lt;old&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<old>")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

// Every number occurs once, so that two that are swapped show.
Gate DistinctGate() {
  Gate gate;
  gate.name_a = "old";
  gate.name_b = "new";
  gate.options.margins = {.churn = 0.01, .top1 = 0.005, .shift = 0.02};
  GateSetting& setting = gate.settings.emplace_back();
  setting.setting = setting.plan = "algo";
  setting.hardware_a = {"cpu-a"};
  setting.hardware_b = {"cpu-b"};
  setting.draws_a = 7;
  setting.draws_b = 5;
  setting.losses = {.a = 1, .b = 2, .of_a = 8, .of_b = 9};
  setting.under_trained_b = true;
  GateFigure& top1 = setting.figures.emplace_back();
  top1.figure = "top1";
  top1.a = 0.91;
  top1.b = 0.87;
  top1.difference.value = -0.04;
  top1.difference.unit = "fraction";
  top1.low = -0.06;
  top1.high = -0.02;
  top1.margin = 0.005;
  top1.p_equivalent = 0.0123;
  top1.p_beyond = 0.789;
  top1.p_holm = 0.8;
  top1.verdict = Verdict::kFail;
  GateBits& bits = gate.bits.emplace_back();
  bits.setting = "control";
  bits.pairs = 15;
  bits.identical = 11;
  bits.unproved = 3;
  bits.losses = {.a = 4, .b = 6, .of_a = 19, .of_b = 21};
  return gate;
}

TEST(GateFormsTest, EveryNumberStandsUnderItsName) {
  const Gate gate = DistinctGate();

  const auto json = nlohmann::json::parse(GateJson(gate));

  const auto expect = [&](const char* pointer, const nlohmann::json& value) {
    EXPECT_EQ(json.at(nlohmann::json::json_pointer(pointer)), value) << pointer;
  };
  expect("/a", "old");
  expect("/b", "new");
  expect("/margins/churn", 0.01);
  expect("/margins/top1", 0.005);
  expect("/margins/shift", 0.02);
  expect("/settings/0/hardware_a/0", "cpu-a");
  expect("/settings/0/hardware_b/0", "cpu-b");
  expect("/settings/0/draws_a", 7);
  expect("/settings/0/draws_b", 5);
  expect("/settings/0/lost_a", 1);
  expect("/settings/0/lost_b", 2);
  expect("/settings/0/under_trained_a", false);
  expect("/settings/0/under_trained_b", true);
  expect("/settings/0/figures/0/a", 0.91);
  expect("/settings/0/figures/0/b", 0.87);
  expect("/settings/0/figures/0/low_90", -0.06);
  expect("/settings/0/figures/0/high_90", -0.02);
  expect("/settings/0/figures/0/margin", 0.005);
  expect("/settings/0/figures/0/p_equivalent", 0.0123);
  expect("/settings/0/figures/0/p_beyond", 0.789);
  expect("/settings/0/figures/0/p_holm", 0.8);
  expect("/bits/0/pairs", 15);
  expect("/bits/0/identical", 11);
  expect("/bits/0/unproved", 3);
  expect("/bits/0/lost_a", 4);
  expect("/bits/0/lost_b", 6);
}

TEST(GateFormsTest, EveryFormSaysWhichIsInQuestion) {
  const Gate gate = DistinctGate();
  EXPECT_THAT(GateText(gate), HasSubstr("A: old, B: new"));
  EXPECT_THAT(GateJUnit(gate), HasSubstr("<testsuite name=\"new against old\""));
  EXPECT_THAT(GatePage(gate), HasSubstr("</span>: new against old</h1>"));
  EXPECT_THAT(GatePage(gate), HasSubstr("trusted: old. B, which is in question: new."));
}

// Of 15 pairs of a control.
TEST(GateFormsTest, ABuildServerIsToldWhatBecameOfBits) {
  Gate gate = DistinctGate();
  const auto element = [&](int64_t identical, int64_t unproved, bool same_bits) {
    gate.bits.at(0).identical = identical;
    gate.bits[0].unproved = unproved;
    gate.options.same_bits = same_bits;
    const std::string xml = GateJUnit(gate);
    const std::string start = "<testcase classname=\"control\" name=\"bits\">\n      <";
    const size_t at = xml.find(start);
    if (at == std::string::npos) return xml;
    const size_t from = at + start.size();
    return xml.substr(from, xml.find_first_of(" >", from) - from);
  };
  for (const bool same_bits : {false, true}) EXPECT_EQ(element(15, 0, same_bits), "system-out");
  EXPECT_EQ(element(11, 4, true), "error") << "of four it is not known";
  EXPECT_EQ(element(11, 3, true), "failure") << "one has others";
  EXPECT_EQ(element(11, 3, false), "skipped") << "nobody asked";

  gate.only_a = {"gone"};
  const std::string xml = GateJUnit(gate);
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"1\" errors=\"3\" skipped=\"1\""));
  for (const std::string missing :
       {"classname=\"gone\" name=\"present\"", "classname=\"algo\" name=\"members\"",
        "classname=\"control\" name=\"members\""}) {
    EXPECT_THAT(xml, HasSubstr(missing + ">\n      <error ")) << "B has less than A";
  }
}

TEST(GateFormsTest, EveryNumberStandsInItsColumn) {
  const std::string page = GatePage(DistinctGate());

  EXPECT_THAT(page, HasSubstr("<th scope=\"col\">A</th><th scope=\"col\">B</th><th scope=\"col\">"
                              "B - A, 90 %</th><th scope=\"col\">margin</th><th scope=\"col\">"
                              "p outside</th><th scope=\"col\">verdict</th>"));
  EXPECT_THAT(page, HasSubstr("<td>91.00 %</td><td>87.00 %</td><td>-4.00 % [-6.00, -2.00]</td><td>"
                              "±0.50 %</td><td>0.012</td><td class=\"verdict fail\">"));
}

}  // namespace
}  // namespace noisefloor::report
