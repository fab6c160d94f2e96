// Folders of runs that other programs trained.
#include "coordinator/inputs/runs.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/npy.h"
#include "coordinator/inputs/load_arrays.h"
#include "coordinator/inputs/read_export.h"
#include "tests/common/files/scratch.h"

namespace noisefloor::inputs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RunsTest : public ::testing::Test {
 protected:
  // Four examples of three classes.
  RunsTest() {
    Answers("labels.npy", {0, 1, 2, 1});
    for (const char* run : {"a", "b", "c", "d"}) {
      Answers(std::string(run) + ".npy", {0, 1, 2, 1});
    }
  }

  void Answers(const std::string& file, const std::vector<int32_t>& values) {
    ASSERT_TRUE(WriteNpy<int32_t>(scratch_.Path(file), {static_cast<int64_t>(values.size())},
                                  std::span<const int32_t>(values))
                    .ok());
  }

  StudySource Read(const std::string& table) {
    (void)scratch_.Put("runs.csv", table);
    absl::StatusOr<StudySource> source = ReadRuns(scratch_.folder());
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? *std::move(source) : StudySource();
  }

  std::string Error(const std::string& table) {
    (void)scratch_.Put("runs.csv", table);
    const absl::StatusOr<StudySource> source = ReadRuns(scratch_.folder());
    EXPECT_FALSE(source.ok()) << table;
    return std::string(source.status().message());
  }

  const Scratch scratch_;
};

TEST_F(RunsTest, ATableOfNamesIsAStudy) {
  const LoadedStudy loaded = LoadArrays(Read("run\na\nb\n"), FindExported);
  EXPECT_THAT(loaded.faults, SizeIs(0));
  ASSERT_THAT(loaded.input.members, SizeIs(2));
  EXPECT_EQ(loaded.input.members[0].id, "a");
  EXPECT_THAT(loaded.input.members[0].answers, ElementsAre(0, 1, 2, 1));
  EXPECT_EQ(loaded.input.members[1].replicate, 1u);
  EXPECT_EQ(loaded.input.evaluations[0].classes, 3);
  const report::Study study = BuildStudy(loaded);
  ASSERT_THAT(study.cohorts, SizeIs(1));
  EXPECT_EQ(study.cohorts[0].churn.value, 0.0);
  EXPECT_EQ(study.cohorts[0].accuracy.value, 1.0);
}

TEST_F(RunsTest, SeedsSayWhatAPlanFreesAndWhatItHolds) {
  const StudySource source = Read(
      "run,plan,init,data_order,kernels,dropout\n"
      "a,order,7,1,off,free\nb,order,7,2,off,free\nc,control,7,1,off,3\nd,control,7,1,off,3\n");
  ASSERT_THAT(source.input.sweep.plans, SizeIs(2));
  const auto& order = source.input.sweep.plans[0];
  EXPECT_EQ(order.name, "order");
  EXPECT_EQ(order.sources.at(NoiseSource::kInit).state, SourceState::kFixed);
  EXPECT_EQ(order.sources.at(NoiseSource::kDataOrder).state, SourceState::kFree);
  EXPECT_EQ(order.sources.at(NoiseSource::kKernels).state, SourceState::kOff);
  EXPECT_EQ(order.sources.at(NoiseSource::kDropout).state, SourceState::kFree);
  const auto& control = source.input.sweep.plans[1];
  EXPECT_EQ(control.sources.at(NoiseSource::kDataOrder).state, SourceState::kFixed);
  const auto& a = source.input.members[0].lanes;
  const auto& b = source.input.members[1].lanes;
  const auto& c = source.input.members[2].lanes;
  EXPECT_EQ(a.at(NoiseSource::kInit), b.at(NoiseSource::kInit));
  EXPECT_EQ(a.at(NoiseSource::kDataOrder), c.at(NoiseSource::kDataOrder)) << "the same seed";
  EXPECT_NE(a.at(NoiseSource::kDataOrder), b.at(NoiseSource::kDataOrder));
  EXPECT_NE(a.at(NoiseSource::kDropout), b.at(NoiseSource::kDropout));
  EXPECT_FALSE(a.contains(NoiseSource::kKernels));
  EXPECT_FALSE(a.contains(NoiseSource::kAugment)) << "nothing is said of it";
}

// Equal seeds on two classes are pairs, in whichever order the table has them.
TEST_F(RunsTest, EqualSeedsPairAcrossHardware) {
  const StudySource source = Read("run,hardware,init\na,old,1\nb,old,2\nc,new,2\nd,new,1\n");
  ASSERT_THAT(source.input.cells, SizeIs(2));
  EXPECT_EQ(source.input.cells[0].hardware, "old");
  std::map<std::string, const report::MemberInput*> of;
  for (const report::MemberInput& member : source.input.members) of[member.id] = &member;
  EXPECT_EQ(of["a"]->replicate, of["d"]->replicate);
  EXPECT_EQ(of["a"]->lanes, of["d"]->lanes);
  EXPECT_EQ(of["b"]->replicate, of["c"]->replicate);
  EXPECT_NE(of["a"]->replicate, of["b"]->replicate);
}

// Without seeds nothing says that two runs on two classes had the same draws.
TEST_F(RunsTest, DrawsThatNobodyNotedPairWithNone) {
  const StudySource source =
      Read("run,hardware,init\na,old,free\nb,old,free\nc,new,free\nd,new,free\n");
  std::set<Lane> lanes;
  for (const report::MemberInput& member : source.input.members) {
    lanes.insert(member.lanes.at(NoiseSource::kInit));
  }
  EXPECT_THAT(lanes, SizeIs(4));
  const report::Study study = BuildStudy(LoadArrays(source, FindExported));
  for (const auto& comparison : study.hardware) EXPECT_EQ(comparison.accuracy_difference.n, 0);
}

TEST_F(RunsTest, OtherColumnsAreAxesInTheOrderOfTheTable) {
  const StudySource source = Read("run,rate,top1\na,0.1,0.5\nb,0.01,0.75\nc,0.1,0.5\nd,0.01,1\n");
  ASSERT_THAT(source.input.sweep.axes, SizeIs(1));
  EXPECT_THAT(source.input.sweep.axes[0][0].values, ElementsAre("0.1", "0.01"));
  ASSERT_THAT(source.input.cells, SizeIs(2));
  EXPECT_THAT(source.input.cells[0].axes, ElementsAre(report::AxisSetting{"rate", "0.1"}));
  EXPECT_EQ(source.input.members[2].final_metrics.at("top1"), 0.75);
}

TEST_F(RunsTest, LogitsOfBothWidthsAndNamesOfClassesAreRead) {
  const std::vector<double> logits = {3, 1, 2, 0, 5, 1, 0, 0, 1, 9, 1, 1};
  ASSERT_TRUE(WriteNpy<double>(scratch_.Path("a.npy"), {4, 3}, std::span(logits)).ok());
  (void)scratch_.Put("classes.txt", "cat\ndog\nowl\n");
  const LoadedStudy loaded = LoadArrays(Read("run\na\nb\n"), FindExported);
  ASSERT_THAT(loaded.faults, SizeIs(0));
  EXPECT_THAT(loaded.input.members[0].predictions, SizeIs(12));
  EXPECT_EQ(loaded.input.evaluations[0].class_names[2], "owl");
  const report::Study study = BuildStudy(loaded);
  EXPECT_DOUBLE_EQ(study.cohorts[0].churn.value.value(), 0.25) << "the last example";
}

TEST_F(RunsTest, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_THAT(Error("name\na\n"), HasSubstr("runs.csv:1: no column run"));
  EXPECT_THAT(Error("run\n"), HasSubstr("runs.csv:1: no runs"));
  EXPECT_THAT(Error("run\na\na\n"), HasSubstr("runs.csv:3: run a is there twice"));
  EXPECT_THAT(Error("run\na\nnone\n"), HasSubstr("runs.csv:3"));
  EXPECT_THAT(Error("run,predictions\na,../b.npy\n"), HasSubstr("leads out of the folder"));
  EXPECT_THAT(Error("run,top1\na,87.1\n"),
              HasSubstr("runs.csv:2: top1 '87.1'; expected a number from 0 to 1"));
  EXPECT_THAT(Error("run,block\na,-1\n"), HasSubstr("runs.csv:2: block '-1'"));
  EXPECT_THAT(Error("run,init\na,1\nb,\n"), HasSubstr("says what init was of some runs"));
  EXPECT_THAT(Error("run,init\na,1\nb,off\n"),
              HasSubstr("runs.csv:3: init is 'off', and '1' in other runs"));
  EXPECT_THAT(ReadRuns(scratch_.Path("none")).status().message(), HasSubstr("no such folder"));
}

TEST_F(RunsTest, AnswersThatDoNotFitAreFaults) {
  Answers("b.npy", {0, 1});
  LoadedStudy loaded = LoadArrays(Read("run\na\nb\n"), FindExported);
  ASSERT_THAT(loaded.faults, SizeIs(1));
  EXPECT_THAT(loaded.faults[0].message(), HasSubstr("b.npy: 2 answers, expected 4"));
  Answers("b.npy", {0, 1, -2, 1});
  const LoadedStudy again = LoadArrays(Read("run\na\nb\n"), FindExported);
  ASSERT_THAT(again.faults, SizeIs(1));
  EXPECT_THAT(again.faults[0].message(), HasSubstr("the answer -2 to example 2 is no class"));
}

}  // namespace
}  // namespace noisefloor::inputs
