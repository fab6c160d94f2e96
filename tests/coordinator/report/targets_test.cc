// Time to a target accuracy, and what diverged members would make of a mean.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/report/study.h"
#include "coordinator/report/table.h"
#include "tests/coordinator/report/has_warning.h"
#include "tests/coordinator/report/tiny_study.h"

namespace noisefloor::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<int16_t> kAnswers = {0, 1, 0, 1, 0, 1, 0, 0};

class TargetsTest : public ::testing::Test {
 protected:
  TargetsTest() {
    tiny_.input.sweep.reference_accuracy = 0.8;
    tiny_.AddCell("algo", Algo(), "cpu-a");
  }
  // Evaluated after each epoch.
  MemberInput& Add(const std::vector<double>& top1) {
    MemberInput& member = tiny_.AddMember(kAnswers);
    for (size_t k = 0; k < top1.size(); ++k) {
      const auto epoch = static_cast<int64_t>(k + 1);
      member.curves["test_top1"].push_back({100 * epoch, static_cast<double>(epoch), top1[k]});
    }
    return member;
  }
  const Estimate& Epochs() {
    study_ = BuildStudy(tiny_.input);
    return study_.cohorts.at(0).target_epochs;
  }

  TinyStudy tiny_{8, 2};
  Study study_;
};

TEST_F(TargetsTest, TheFirstEvaluationAtTheTargetCountsThoughLaterOnesFallBelow) {
  Add({0.5, 0.8, 0.7, 0.9});
  Add({0.85, 0.7});
  Add({0.1, 0.2, 0.3, 0.9});

  const Estimate& epochs = Epochs();

  EXPECT_DOUBLE_EQ(*epochs.value, (2 + 1 + 4) / 3.0);
  EXPECT_EQ(epochs.n, 3);
  EXPECT_EQ(epochs.unit, "epochs");
  EXPECT_EQ(*epochs.low, 0) << "none takes less";
  EXPECT_GT(*epochs.high, 4);
  EXPECT_THAT(epochs.method, HasSubstr("first evaluation at 80 % or more"));
  EXPECT_THAT(RenderTables(study_), HasSubstr("epochs to 80 %"));
}

TEST_F(TargetsTest, WhoNeverGotThereIsNotLeftOutOfAMean) {
  Add({0.9});
  Add({0.5, 0.79});
  Add({0.9}).state = MemberState::kDiverged;
  Add({0.5}).state = MemberState::kDiverged;
  EXPECT_FALSE(Epochs().value.has_value());
  EXPECT_THAT(Epochs().note, HasSubstr("2 of 4 members reach 80"));
  EXPECT_THAT(RenderTables(study_), HasSubstr("2 of 4 members reach 80"));
}

// One that diverged before its first evaluation.
TEST_F(TargetsTest, WhoHasNoCurveWhereOthersHaveOneNeverGotThere) {
  Add({0.9});
  Add({0.9});
  tiny_.AddMember(kAnswers).state = MemberState::kDiverged;
  EXPECT_THAT(Epochs().note, HasSubstr("2 of 3 members reach 80"));
}

TEST_F(TargetsTest, WithoutAReferenceOrCurvesThereIsNone) {
  tiny_.AddMember(kAnswers);
  EXPECT_EQ(Epochs().note, "no member has a curve of top-1");
  tiny_.input.sweep.reference_accuracy.reset();
  EXPECT_EQ(Epochs().note, "the sweep has no reference_accuracy");
  EXPECT_THAT(RenderTables(study_), Not(HasSubstr("epochs to")));
}

// Seven of eight are right, chance is one half: of three members, one of which diverged,
// (2 x 87.5 % + 50 %) / 3.
TEST_F(TargetsTest, DivergedMembersAreCountedAtChanceBesideTheMean) {
  for (int r = 0; r < 4; ++r) tiny_.AddMember(kAnswers);
  tiny_.input.members[2].state = MemberState::kDiverged;
  tiny_.input.members[3].final_metrics.clear();  // Done, and in no mean.
  tiny_.input.members[3].predictions = {};
  const Study study = BuildStudy(tiny_.input);
  EXPECT_THAT(study.warnings,
              HasWarning("warning",
                         "Counted at chance (50.0 %), the mean of top-1 would be 75.0 % instead of "
                         "87.5 %."));
}

}  // namespace
}  // namespace noisefloor::report
