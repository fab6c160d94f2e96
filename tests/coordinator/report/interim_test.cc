// What a study says while members are still to come, and where a pilot decided how many there are.
#include "coordinator/report/interim.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/sequential.h"
#include "coordinator/analysis/spread.h"
#include "coordinator/report/gate.h"
#include "coordinator/report/until.h"
#include "coordinator/report/words.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/report/has_warning.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using analysis::Draws;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kInterimExamples = 200;

std::vector<int16_t> InterimAnswers(Draws& draws, double wrong, int64_t moved = 0) {
  std::vector<int16_t> answers;
  for (int64_t x = 0; x < kInterimExamples; ++x) {
    const bool is_wrong = draws.Uniform() < wrong || x < moved;
    answers.push_back(static_cast<int16_t>(is_wrong ? 1 - x % 2 : x % 2));
  }
  return answers;
}

// So far apart that any test of all members says so.
void FillTwo(TinyStudy& tiny, int replicates) {
  Draws draws(5);
  for (const char* hardware : {"cpu-a", "cpu-b"}) {
    tiny.AddCell("algo", Algo(), hardware);
    for (int r = 0; r < replicates; ++r) {
      tiny.AddMember(InterimAnswers(draws, 0.1, hardware[4] == 'b' ? 40 : 0));
    }
  }
}

TEST(InterimTest, NothingIsTestedBeforeAllMembersHaveEnded) {
  TinyStudy tiny(kInterimExamples, 2);
  FillTwo(tiny, 8);
  const Study whole = BuildStudy(tiny.input);
  EXPECT_FALSE(whole.interim);
  ASSERT_TRUE(whole.hardware_tests.at(0).shift.shown);
  EXPECT_THAT(whole.headlines, Contains(HasSubstr("the hardware shifts the mean answer")));

  tiny.input.members.back().state = MemberState::kLeased;
  const Study study = BuildStudy(tiny.input);

  EXPECT_TRUE(study.interim);
  EXPECT_EQ(study.headlines.at(0),
            "Interim: 15 of 16 members have ended. Intervals of the churn inside a cell and of its "
            "top-1 hold at every look, whenever one stops; others hold for one look. Nothing is "
            "tested or claimed before all members have ended.");
  EXPECT_EQ(study.worst_classes.text, "");
  EXPECT_NE(whole.worst_classes.text, "");
  EXPECT_THAT(study.headlines, Not(Contains(HasSubstr("no difference of churn"))));
  EXPECT_FALSE(study.hardware_tests.at(0).shift.p.has_value());
  EXPECT_FALSE(study.hardware_tests.at(0).shift.shown);
  EXPECT_FALSE(study.hardware.at(0).shift.p.has_value());
  EXPECT_EQ(study.hardware.at(0).shift.note, kTestedOnce);
  for (const Contrast& contrast : study.contrasts) {
    for (const FigureContrast& figure : contrast.figures) EXPECT_FALSE(figure.p.has_value());
    EXPECT_THAT(contrast.text, HasSubstr("nothing is claimed: it is tested once"));
  }
  EXPECT_THAT(study.headlines, Not(Contains(HasSubstr("shifts the mean answer ("))));
  EXPECT_THAT(study.headlines, Not(Contains(HasSubstr("pays most"))));
}

// Whoever cancels what is to come may have looked: the study is whole, and says what that means.
TEST(InterimTest, WhatWasCancelledIsTheFirstWarningOfAWholeStudy) {
  TinyStudy tiny(kInterimExamples, 2);
  FillTwo(tiny, 9);
  for (const size_t m : {8u, 17u}) tiny.input.members[m].state = MemberState::kCancelled;

  const Study study = BuildStudy(tiny.input);

  EXPECT_FALSE(study.interim);
  EXPECT_TRUE(study.hardware_tests.at(0).shift.shown);
  const std::string text =
      "2 of 18 members cancelled: where that was decided after a look at results, tests and "
      "intervals promise too much; `noisefloor retry` lets them wait again.";
  EXPECT_EQ(study.warnings.at(0).severity, "warning");
  EXPECT_EQ(study.warnings.at(0).subject, "sweep");
  EXPECT_EQ(study.warnings.at(0).text, text);
  EXPECT_THAT(study.warnings, Warns("1 of 9 cancelled."));

  tiny.input.members[16].state = MemberState::kWaiting;
  EXPECT_THAT(BuildStudy(tiny.input).warnings, Not(Warns("promise too much")))
      << "nothing is tested yet";
}

TEST(InterimTest, StacksAreNotTestedBeforeThenEither) {
  TinyStudy tiny(kInterimExamples, 2);
  Draws draws(5);
  for (const char* stack : {"ours", "theirs"}) {
    tiny.AddCell("algo", Algo(), "cpu-a").stack = stack;
    for (int r = 0; r < 8; ++r)
      tiny.AddMember(InterimAnswers(draws, 0.1, stack[0] == 't' ? 40 : 0));
  }
  ASSERT_TRUE(BuildStudy(tiny.input).stacks.at(0).shift.p.has_value());

  tiny.input.members.back().state = MemberState::kLeased;
  const Study study = BuildStudy(tiny.input);

  EXPECT_FALSE(study.stack_tests.at(0).shift.p.has_value());
  const ShiftClaim& shift = study.stacks.at(0).shift;
  EXPECT_FALSE(shift.p.has_value());
  EXPECT_FALSE(shift.p_holm.has_value());
  EXPECT_FALSE(shift.shown);
  EXPECT_EQ(shift.note, kTestedOnce);
}

TEST(InterimTest, IntervalsOfChurnAndTop1AreThoseOfEveryLookUntilThen) {
  TinyStudy tiny(kInterimExamples, 2);
  FillTwo(tiny, 8);
  tiny.input.members.back().state = MemberState::kWaiting;
  const Study study = BuildStudy(tiny.input);
  const Cohort& cohort = study.cohorts.at(0);
  EXPECT_EQ(cohort.churn.method, "holds at every look, after each member");
  EXPECT_EQ(cohort.accuracy.method, "holds at every look, after each member");
  std::vector<double> top1;
  for (const MemberInput& member : tiny.input.members) {
    if (member.cell == 0) top1.push_back(member.final_metrics.at("top1"));
  }
  const double half = *analysis::AlwaysValidHalfWidth(8) * analysis::SdOf(top1);
  EXPECT_NEAR(*cohort.accuracy.high, analysis::MeanOf(top1) + half, 1e-12);
  EXPECT_NEAR(*cohort.accuracy.low, analysis::MeanOf(top1) - half, 1e-12);
  analysis::PredictionMatrix answers(kInterimExamples, 2);
  for (const MemberInput& member : tiny.input.members) {
    if (member.cell != 0) continue;
    ASSERT_TRUE(answers.AddLogits(member.predictions.values()).ok());
  }
  const double of_churn = *analysis::AlwaysValidHalfWidth(8) *
                          analysis::SdOf(analysis::PseudoValues(analysis::ChurnSums(answers)));
  EXPECT_NEAR(*cohort.churn.high, *cohort.churn.value + of_churn, 1e-12);
}

// `replicates` of which six are the pilot; the later ones are further apart.
void FillPilot(TinyStudy& tiny, int replicates, const UntilInput& until) {
  Draws draws(6);
  tiny.AddCell("algo", Algo(), "cpu-a");
  for (int r = 0; r < replicates; ++r) tiny.AddMember(InterimAnswers(draws, r < 6 ? 0.1 : 0.3));
  tiny.AddCell("control", Control(), "cpu-a");
  const std::vector<int16_t> same = InterimAnswers(draws, 0.1);
  for (int r = 0; r < 2; ++r) tiny.AddMember(same);
  tiny.input.sweep.until = until;
  tiny.input.sweep.plans = {{"algo", {}, static_cast<uint32_t>(replicates), 1, 6},
                            {"control", {}, 2, 1, 0}};
}

double PilotSd(const TinyStudy& tiny) {
  analysis::PredictionMatrix answers(kInterimExamples, 2);
  for (int m = 0; m < 6; ++m) {
    EXPECT_TRUE(
        answers.AddLogits(tiny.input.members[static_cast<size_t>(m)].predictions.values()).ok());
  }
  return analysis::SdOf(analysis::PseudoValues(analysis::ChurnSums(answers)));
}

TEST(UntilDecisionTest, ThePilotsSpreadOfChurnSaysHowMany) {
  TinyStudy tiny(kInterimExamples, 2);
  FillPilot(tiny, 6, {"churn", 0.01, 1000, false});
  const double sd = PilotSd(tiny);
  const Enough enough = DecideUntil(tiny.input);
  const auto expected = static_cast<uint32_t>(analysis::SteinSize(sd, 6, 0.01));
  ASSERT_GT(expected, 6u);
  ASSERT_EQ(enough.replicates.size(), 1u);
  EXPECT_EQ(enough.replicates.at("algo"), expected);
  EXPECT_THAT(enough.text, StartsWith("algo takes " + std::to_string(expected) +
                                      " replicates: churn spreads by "));
  EXPECT_THAT(enough.text, HasSubstr("over the 6 of its pilot (algo"));

  tiny.input.sweep.until->most = expected - 1;
  EXPECT_EQ(DecideUntil(tiny.input).replicates.at("algo"), expected - 1);
  EXPECT_THAT(DecideUntil(tiny.input).text,
              HasSubstr("which would take " + std::to_string(expected)));
  tiny.input.sweep.until->half_width = 0.4;
  EXPECT_TRUE(DecideUntil(tiny.input).replicates.empty());
}

TEST(UntilDecisionTest, OfTwoCellsTheWiderOneDecides) {
  TinyStudy tiny(kInterimExamples, 2);
  FillPilot(tiny, 6, {"top1", 0.01, 1000, false});
  const uint32_t alone = DecideUntil(tiny.input).replicates.at("algo");
  Draws draws(9);
  tiny.AddCell("algo", Algo(), "cpu-b");
  for (int r = 0; r < 6; ++r) tiny.AddMember(InterimAnswers(draws, r % 2 == 0 ? 0.05 : 0.4));
  const Enough both = DecideUntil(tiny.input);
  EXPECT_GT(both.replicates.at("algo"), 10 * alone);
  EXPECT_THAT(both.text, HasSubstr("cpu-b"));
}

TEST(UntilDecisionTest, WithoutResultsOrAfterACancelItTakesNoMore) {
  TinyStudy tiny(kInterimExamples, 2);
  FillPilot(tiny, 6, {"churn", 0.01, 1000, false});
  for (size_t m = 0; m < 4; ++m) tiny.input.members[m].state = MemberState::kFailed;
  const Enough failed = DecideUntil(tiny.input);
  EXPECT_TRUE(failed.replicates.empty());
  EXPECT_THAT(failed.text, HasSubstr("algo stays at 6 replicates: "));
  tiny.input.sweep.until->figure = "top1";
  EXPECT_TRUE(DecideUntil(tiny.input).replicates.empty()) << "nor do two results of top-1";
  EXPECT_THAT(DecideUntil(tiny.input).text,
              StartsWith("algo stays at 6 replicates: 2 results of algo"));
  tiny.input.members[0].state = MemberState::kCancelled;
  EXPECT_EQ(DecideUntil(tiny.input).text, "some of them were cancelled");
}

TEST(UntilDecisionTest, OnceSettledTheFigureHasThePilotsSpreadAndTheOthersTheirOwn) {
  TinyStudy tiny(kInterimExamples, 2);
  FillPilot(tiny, 12, {"churn", 0.01, 1000, true});
  const Study study = BuildStudy(tiny.input);
  EXPECT_FALSE(study.interim);
  const Estimate& churn = study.cohorts.at(0).churn;
  EXPECT_EQ(churn.method, "Stein's two stages: the spread is the pilot's");
  Estimate expected = churn;
  analysis::SetSteinInterval(expected, PilotSd(tiny), 6);
  EXPECT_NEAR(*churn.low, *expected.low, 1e-12);
  EXPECT_NEAR(*churn.high, *expected.high, 1e-12);
  EXPECT_THAT(study.cohorts.at(0).accuracy.method, Not(HasSubstr("Stein")));
  EXPECT_EQ(
      study.headlines.at(0),
      "As many replicates were asked for as churn within 1.00 % to either side takes, which a "
      "pilot "
      "decides once (Stein's two stages): algo has 12 after a pilot of 6. Their intervals of churn "
      "allow for that. Wider than that came out " +
          study.cohorts.at(0).label + " " + WithInterval(churn) + ".");
  tiny.input.sweep.until->half_width = 0.2;
  EXPECT_THAT(BuildStudy(tiny.input).headlines.at(0), EndsWith("of churn allow for that."));
  std::vector<MemberInput> members = tiny.input.members;
  for (MemberInput& member : tiny.input.members) member.state = MemberState::kCancelled;
  EXPECT_THAT(BuildStudy(tiny.input).headlines.at(0),
              EndsWith("No trained cell of these has such an interval."));
  tiny.input.members = members;
  tiny.input.sweep.until->settled = false;
  const Study undecided = BuildStudy(tiny.input);
  EXPECT_TRUE(undecided.interim);
  EXPECT_THAT(undecided.headlines.at(0),
              StartsWith("Interim: how many more members it takes is not decided yet."));
}

// Of Student's t with the five degrees of the six that are the pilot: 2.570582.
TEST(UntilDecisionTest, WhereTop1DecidesItsIntervalIsByThePilotAndThatOfChurnItsOwn) {
  TinyStudy tiny(kInterimExamples, 2);
  FillPilot(tiny, 12, {"top1", 0.01, 1000, true});
  std::vector<double> pilot;
  for (size_t m = 0; m < 6; ++m) {
    pilot.push_back(tiny.input.members[m].final_metrics.at("top1"));
  }

  const Cohort cohort = BuildStudy(tiny.input).cohorts.at(0);

  EXPECT_EQ(cohort.accuracy.method, "Stein's two stages: the spread is the pilot's");
  const double half = 2.570582 * analysis::SdOf(pilot) / std::sqrt(12.0);
  EXPECT_NEAR(*cohort.accuracy.low, *cohort.accuracy.value - half, 1e-7);
  EXPECT_NEAR(*cohort.accuracy.high, *cohort.accuracy.value + half, 1e-7);
  EXPECT_THAT(cohort.churn.method, Not(HasSubstr("Stein")));
}

TEST(InterimTest, AGateJudgesNothingBeforeAllMembersHaveEnded) {
  TinyStudy a(kInterimExamples, 2);
  TinyStudy b(kInterimExamples, 2);
  Draws draws(7);
  for (auto* const tiny : {&a, &b}) {
    tiny->AddCell("algo", Algo(), "cpu-a");
    for (int r = 0; r < 8; ++r) tiny->AddMember(InterimAnswers(draws, 0.1, tiny == &b ? 60 : 0));
    tiny->input.evaluations[0].identity = "same";
  }
  ASSERT_EQ(CompareStudies(a.input, b.input, {})->verdict, Verdict::kFail);
  b.input.members.back().state = MemberState::kLeased;
  const Gate gate = *CompareStudies(a.input, b.input, {});
  EXPECT_EQ(gate.verdict, Verdict::kInconclusive);
  for (const GateFigure& figure : gate.settings.at(0).figures) {
    EXPECT_EQ(figure.note, kTestedOnce);
    EXPECT_FALSE(figure.p_holm.has_value());
  }
  // Also of settings that have all their members.
  b.input.members.back().state = MemberState::kDone;
  for (auto* const tiny : {&a, &b}) {
    tiny->AddCell("other", Algo(), "cpu-a");
    for (int r = 0; r < 4; ++r) tiny->AddMember(InterimAnswers(draws, 0.1));
  }
  ASSERT_EQ(CompareStudies(a.input, b.input, {})->verdict, Verdict::kFail);
  a.input.members.back().state = MemberState::kWaiting;
  EXPECT_EQ(CompareStudies(a.input, b.input, {})->verdict, Verdict::kInconclusive);
  a.input.members.back().state = MemberState::kDone;
  b.input.sweep.until = UntilInput{"churn", 0.01, 20, false};
  b.input.sweep.plans = {{"algo", {}, 8, 1, 8}};
  EXPECT_EQ(CompareStudies(a.input, b.input, {})->verdict, Verdict::kInconclusive);
  b.input.sweep.until->settled = true;
  EXPECT_EQ(CompareStudies(a.input, b.input, {})->verdict, Verdict::kFail);
}

// Bits that differ stay so, whatever is to come.
TEST(InterimTest, OtherBitsFailAGateBeforeAllMembersHaveEnded) {
  TinyStudy a(kInterimExamples, 2);
  TinyStudy b(kInterimExamples, 2);
  for (auto* const tiny : {&a, &b}) {
    Draws draws(7);
    const std::vector<int16_t> control = InterimAnswers(draws, 0.1, tiny == &b ? 4 : 0);
    tiny->AddCell("control", Control(), "cpu-a");
    for (int r = 0; r < 3; ++r) tiny->AddMember(control);
    tiny->AddCell("algo", Algo(), "cpu-a");
    for (int r = 0; r < 4; ++r) tiny->AddMember(InterimAnswers(draws, 0.1));
    tiny->input.evaluations[0].identity = "same";
  }
  b.input.members.back().state = MemberState::kLeased;

  const Gate asked = *CompareStudies(a.input, b.input, {.same_bits = true});

  EXPECT_TRUE(asked.interim);
  EXPECT_EQ(asked.verdict, Verdict::kFail);
  EXPECT_EQ(asked.findings.at(0), "Fail: B is not what A is: it has other bits.");
  for (const GateFigure& figure : asked.settings.at(0).figures) {
    EXPECT_EQ(figure.verdict, Verdict::kInconclusive);
  }
  EXPECT_EQ(CompareStudies(a.input, b.input, {})->verdict, Verdict::kInconclusive);
}

}  // namespace
}  // namespace noisefloor::report
