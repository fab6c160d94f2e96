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

}  // namespace
}  // namespace noisefloor::report
