// What is said of members that were disturbed while they trained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"

#include "coordinator/report/study.h"
#include "tests/coordinator/report/example_study.h"
#include "tests/coordinator/report/has_warning.h"

namespace noisefloor::report {
namespace {

using testing::Not;

std::string Environment(std::string_view surroundings) {
  return fmt::format(R"({{"versions":{{}},"measured":{{"surroundings":{}}}}})", surroundings);
}

constexpr std::string_view kCalm =
    R"({"looks":2,"processors":{"throttled":0,"stolen_share":{"least":0,"mean":0.05,"most":0.9}},)"
    R"("gpu":{"throttled_looks":0,"processes":{"most":1}}})";

TEST(DisturbancesTest, OfACalmMachineNothingIsSaid) {
  ExampleStudy example = MakeExampleStudy();
  for (MemberInput& member : example.input.members) member.environment_json = Environment(kCalm);
  const Study study = BuildStudy(example.input);
  EXPECT_THAT(study.warnings, Not(HasWarning("warning", "", "slowed")));
  EXPECT_THAT(study.warnings, Not(HasWarning("warning", "", "hypervisor")));
  EXPECT_THAT(study.warnings, Not(HasWarning("note", "", "shared")));
}

TEST(DisturbancesTest, MembersAreCountedByClassAmongThoseThatLooked) {
  ExampleStudy example = MakeExampleStudy();
  const auto set = [&](const char* member, std::string_view surroundings) {
    example.Member(member).environment_json = Environment(surroundings);
  };
  set("s1c3r0", R"({"processors":{"throttled":2},"gpu":{"processes":{"most":4}}})");
  set("s1c3r1", R"({"gpu":{"throttled_looks":1,"processes":{"most":2}}})");
  set("s1c3r2", R"({"processors":{"stolen_share":{"mean":0.06}}})");
  set("s1c3r3", kCalm);

  const auto warnings = BuildStudy(example.input).warnings;

  const std::string hardware = example.input.cells[3].hardware;
  EXPECT_THAT(warnings, HasWarning("warning", hardware,
                                   "2 of 4 members saw their processor or GPU "
                                   "slowed"));
  EXPECT_THAT(warnings, HasWarning("warning", hardware, "While 1 of 4 members trained"));
  EXPECT_THAT(warnings, HasWarning("warning", hardware,
                                   "more than 5 % of the processors' time to "
                                   "others, 6 % at most"));
  EXPECT_THAT(warnings,
              HasWarning("note", hardware, "2 of 4 members shared their GPU: at most 4 "));
}

}  // namespace
}  // namespace noisefloor::report
