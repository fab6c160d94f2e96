// Folders of runs that other programs trained.
#include "coordinator/inputs/runs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/npy.h"
#include "coordinator/analysis/prediction_matrix.h"
#include "coordinator/inputs/load_arrays.h"
#include "coordinator/inputs/read_export.h"
#include "coordinator/inputs/runs_table.h"
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

// Nobody said that equal seeds give equal bits: what pairs differ by need not be the hardware.
TEST_F(RunsTest, KernelsThatNobodySpeaksOfAreFreeWhereDrawsVary) {
  const auto state_of = [](const StudySource& source) {
    const auto& sources = source.input.sweep.plans[0].sources;
    const auto kernels = sources.find(NoiseSource::kKernels);
    return kernels == sources.end() ? SourceState::kOff : kernels->second.state;
  };
  const StudySource source = Read("run,hardware,init\na,old,1\nb,old,2\nc,new,2\nd,new,1\n");
  EXPECT_EQ(state_of(source), SourceState::kFree);
  EXPECT_FALSE(BuildStudy(LoadArrays(source, FindExported)).hardware[0].kernels_fixed);
  EXPECT_EQ(state_of(Read("run,hardware\na,old\nb,old\nc,new\nd,new\n")), SourceState::kFree);

  EXPECT_EQ(state_of(Read("run,hardware,init,kernels\na,old,1,0\nb,old,2,0\nc,new,2,0\n")),
            SourceState::kFixed);
  EXPECT_EQ(state_of(Read("run,hardware,init,autotune\na,old,1,off\nb,old,2,off\n")),
            SourceState::kOff);
  EXPECT_EQ(state_of(Read("run,hardware,init\na,old,1\nb,old,1\nc,new,1\n")), SourceState::kOff)
      << "all is held: bits tell";
}

TEST_F(RunsTest, ATableThatIsNoFileIsNotWaitedFor) {
  const Scratch scratch;
  ASSERT_EQ(mkfifo(scratch.Path("runs.csv").c_str(), 0600), 0);

  EXPECT_THAT(Message(ReadRuns(scratch.folder()).status()), HasSubstr("runs.csv: it is no file"));
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

// A table that speaks of no seeds proves nothing equal: no pairs, no control.
TEST_F(RunsTest, ATableWithoutSeedsPairsNothing) {
  const report::Study study = BuildStudy(
      LoadArrays(Read("run,hardware,kernels\na,old,free\nb,old,free\nc,new,free\nd,new,free\n"),
                 FindExported));
  EXPECT_THAT(study.controls, SizeIs(0));
  EXPECT_THAT(study.physical, SizeIs(0));
  for (const auto& comparison : study.hardware) EXPECT_EQ(comparison.accuracy_difference.n, 0);
}

// By their seeds, never by their lines, across a setting as across hardware.
TEST_F(RunsTest, EqualSeedsPairAcrossAxes) {
  const StudySource source = Read("run,rate,init\na,0.1,1\nb,0.1,2\nc,0.01,2\nd,0.01,1\n");
  std::map<std::string, const report::MemberInput*> of;
  for (const report::MemberInput& member : source.input.members) of[member.id] = &member;
  EXPECT_EQ(of["a"]->replicate, of["d"]->replicate);
  EXPECT_EQ(of["b"]->replicate, of["c"]->replicate);
  const report::Study paired = BuildStudy(LoadArrays(source, FindExported));
  ASSERT_THAT(paired.contrasts, SizeIs(1));
  EXPECT_TRUE(paired.contrasts[0].paired);
  const report::Study apart = BuildStudy(
      LoadArrays(Read("run,rate,init\na,0.1,1\nb,0.1,2\nc,0.01,3\nd,0.01,4\n"), FindExported));
  ASSERT_THAT(apart.contrasts, SizeIs(1));
  EXPECT_FALSE(apart.contrasts[0].paired);
}

TEST_F(RunsTest, WhatIsHeldIsOneDrawInABlockAndAnotherInTheNext) {
  EXPECT_THAT(Error("run,rate,init,data_order\na,0.1,7,1\nb,0.1,7,2\nc,1,8,1\nd,1,8,2\n"),
              HasSubstr("runs.csv:4: plan runs holds init at '8', and at '7' in other cells"));
  EXPECT_THAT(Error("run,block,init,data_order\na,0,7,1\nb,0,7,2\nc,1,7,1\nd,1,7,2\n"),
              HasSubstr("runs.csv:4: plan runs holds init at '7' in the blocks 0 and 1"));
  EXPECT_THAT(Error("run,block,init,data_order\na,0,7,1\nb,0,7,2\nc,1,8,3\nd,1,8,2\n"),
              HasSubstr("runs.csv:5: plan runs frees data_order and has its seed '2' in the blocks "
                        "0 and 1: blocks are independent draws"));
  const StudySource source =
      Read("run,block,init,data_order,kernels\na,0,7,1,x\nb,0,7,2,y\nc,1,8,3,x\nd,1,8,4,y\n");
  EXPECT_EQ(source.input.sweep.plans[0].blocks, 2u);
}

TEST_F(RunsTest, NamesOfClassesAreOneForEach) {
  for (const char* names : {"cat\ndog\n", "cat\ndog\ncat\n", "cat\n\nowl\n"}) {
    (void)scratch_.Put("classes.txt", names);
    const LoadedStudy loaded = LoadArrays(Read("run\na\nb\n"), FindExported);
    ASSERT_THAT(loaded.faults, SizeIs(1)) << names;
    EXPECT_THAT(loaded.faults[0].message(), HasSubstr("names of classes"));
  }
}

// As Keras has those of CIFAR; of attributes there are yes and no.
TEST_F(RunsTest, LabelsInAColumnAreClassesUnlessTheyAreZerosAndOnes) {
  const auto put = [&](const Shape& shape, std::vector<int32_t> labels) {
    ASSERT_TRUE(
        WriteNpy<int32_t>(scratch_.Path("labels.npy"), shape, std::span<const int32_t>(labels))
            .ok());
  };
  put({4, 1}, {0, 1, 2, 1});
  const LoadedStudy column = LoadArrays(Read("run\na\nb\n"), FindExported);
  ASSERT_THAT(column.faults, SizeIs(0));
  EXPECT_EQ(column.input.evaluations[0].attributes, 0);
  EXPECT_EQ(column.input.evaluations[0].classes, 3);
  put({2, 2}, {0, 1, 2, 1});
  const LoadedStudy wrong = LoadArrays(Read("run\na\nb\n"), FindExported);
  ASSERT_FALSE(wrong.faults.empty());
  EXPECT_THAT(wrong.faults[0].message(),
              HasSubstr("labels.npy: attributes [2, 2] hold 2; expected 0 and 1"));
}

// Without labels the first run says how many examples there are.
TEST_F(RunsTest, RunsOfOtherLengthsAreFaults) {
  ASSERT_EQ(unlink(scratch_.Path("labels.npy").c_str()), 0);
  Answers("b.npy", {0, 1});
  const LoadedStudy loaded = LoadArrays(Read("run\na\nb\nc\n"), FindExported);
  ASSERT_THAT(loaded.faults, SizeIs(1));
  EXPECT_THAT(loaded.faults[0].message(), HasSubstr("b.npy: 2 examples, expected 4"));
  EXPECT_EQ(BuildStudy(loaded).cohorts[0].churn.value, 0.0) << "of the other two";
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

// A planted subgroup is found as the one that pays.
TEST_F(RunsTest, GroupsOfExamplesAreToldApart) {
  std::string groups = "example,who\n";
  std::vector<int32_t> labels;
  std::string table = "run,init\n";
  for (int32_t x = 0; x < 200; ++x) {
    labels.push_back(x % 2);
    groups += std::to_string(x) + (x < 50 ? ",few\n" : ",many\n");
  }
  Answers("labels.npy", labels);
  for (int32_t r = 0; r < 6; ++r) {
    std::vector<int32_t> answers = labels;
    for (int32_t x = 0; x < 50; ++x) {
      if ((x * 7 + r * 5) % 3 == 0) answers[static_cast<size_t>(x)] ^= 1;
    }
    answers[static_cast<size_t>(60 + r)] ^= 1;
    Answers("run" + std::to_string(r) + ".npy", answers);
    table += "run" + std::to_string(r) + "," + std::to_string(r) + "\n";
  }
  (void)scratch_.Put("groups.csv", groups);
  const LoadedStudy loaded = LoadArrays(Read(table), FindExported);
  ASSERT_THAT(loaded.faults, SizeIs(0));
  const report::Study study = BuildStudy(loaded);
  ASSERT_THAT(study.worst_groups, SizeIs(1));
  EXPECT_THAT(study.worst_groups[0].text, HasSubstr("who few pays most"));
  ASSERT_THAT(study.cohorts[0].per_group, SizeIs(2));
  EXPECT_EQ(study.cohorts[0].per_group[0].examples, 50);
  EXPECT_FALSE(study.cohorts[0].per_group[0].false_positive_rate.value.has_value())
      << "which class is yes?";
  (void)scratch_.Put("groups.csv", "example,who\n0,few\n2,many\n");
  EXPECT_THAT(LoadArrays(Read(table), FindExported).faults[0].message(),
              HasSubstr("groups.csv:3: example 2; expected 1"));
  (void)scratch_.Put("groups.csv", "example,who\n0,few\n");
  EXPECT_THAT(LoadArrays(Read(table), FindExported).faults[0].message(),
              HasSubstr("1 examples, expected 200"));
}

TEST_F(RunsTest, BlanksAndCapitalsDoNotChangeWhatIsMeant) {
  const StudySource source = Read("run, hardware ,init\na, old,FREE\nb,old ,Free\n");
  ASSERT_THAT(source.input.cells, SizeIs(1));
  EXPECT_EQ(source.input.cells[0].hardware, "old");
  EXPECT_EQ(source.input.cells[0].sources.at(NoiseSource::kInit), SourceState::kFree);
  EXPECT_EQ(MeantColumn("hardwear"), "hardware");
  EXPECT_EQ(MeantColumn("dataorder"), "data_order");
  EXPECT_EQ(MeantColumn("learning_rate"), "");
}

// What float32 cannot tell apart is answered before it is rounded; a row with a nan by nobody.
TEST_F(RunsTest, AnswersAreThoseOfTheFile) {
  const std::vector<double> logits = {1, 1 + 1e-12,    0, 1 + 1e-12, 1, 0, 0,
                                      1, std::nan(""), 0, 1,         0};
  ASSERT_TRUE(WriteNpy<double>(scratch_.Path("a.npy"), {4, 3}, std::span(logits)).ok());
  const LoadedStudy loaded = LoadArrays(Read("run\na\nb\n"), FindExported);
  ASSERT_THAT(loaded.faults, SizeIs(0));
  EXPECT_THAT(loaded.input.members[0].answers, ElementsAre(1, 0, analysis::kUndefined, 1));
  const report::Study study = BuildStudy(loaded);
  EXPECT_DOUBLE_EQ(study.cohorts[0].churn.value.value(), 0.75);
  EXPECT_TRUE(std::ranges::any_of(study.warnings, [](const report::Warning& warning) {
    return warning.subject == "a" && warning.text.starts_with("1 of 4 answers are none");
  }));
}

// A pipe would be waited for, for ever.
TEST_F(RunsTest, OnlyFilesAreRead) {
  ASSERT_EQ(mkfifo(scratch_.Path("pipe.npy").c_str(), 0600), 0);
  EXPECT_THAT(Error("run\npipe\n"), HasSubstr("pipe.npy: it is no file"));
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
  EXPECT_THAT(Error("run,block\na,10000\n"),
              HasSubstr("block '10000'; expected a whole number from 0 to 9999"));
  EXPECT_THAT(Error("run,weights_sha256\na,abc\n"), HasSubstr("expected 64 hexadecimal digits"));
  EXPECT_THAT(Error("run,predictions\na,a.npy\nb,a.npy\n"),
              HasSubstr("runs.csv:3: 'a.npy' is another run's predictions, too"));
  EXPECT_THAT(Error("run,init, init\na,1,1\n"), HasSubstr("column init is there twice"));
  EXPECT_THAT(Error("run,init\na,1\nb,\n"), HasSubstr("says what init was of some runs"));
  EXPECT_THAT(Error("run,init\na,1\nb,off\n"),
              HasSubstr("runs.csv:3: init is 'off', and '1' in other runs"));
  EXPECT_THAT(ReadRuns(scratch_.Path("none")).status().message(), HasSubstr("no such folder"));
}

TEST_F(RunsTest, AnswersThatDoNotFitAreFaults) {
  Answers("b.npy", {0, 1});
  LoadedStudy loaded = LoadArrays(Read("run\na\nb\n"), FindExported);
  ASSERT_THAT(loaded.faults, SizeIs(1));
  EXPECT_THAT(loaded.faults[0].message(), HasSubstr("b.npy: 2 examples, expected 4"));
  Answers("b.npy", {0, 1, -2, 1});
  const LoadedStudy again = LoadArrays(Read("run\na\nb\n"), FindExported);
  ASSERT_THAT(again.faults, SizeIs(1));
  EXPECT_THAT(again.faults[0].message(), HasSubstr("the answer to example 2 is no class"));
}

// There are at most 32767 classes: one more, and nothing would be compared.
TEST_F(RunsTest, AnAnswerBeyondAllClassesIsThatOfItsRunAlone) {
  Answers("b.npy", {0, 1, 32767, 1});
  const LoadedStudy loaded = LoadArrays(Read("run\na\nb\nc\n"), FindExported);
  ASSERT_THAT(loaded.faults, SizeIs(1));
  EXPECT_THAT(loaded.faults[0].message(), HasSubstr("b.npy"));
  EXPECT_THAT(loaded.faults[0].message(), HasSubstr("the answer to example 2 is no class"));
  EXPECT_EQ(BuildStudy(loaded).cohorts[0].churn.value, 0.0) << "of the other two";
  Answers("b.npy", {0, 1, 32766, 1});
  const LoadedStudy last = LoadArrays(Read("run\na\nb\nc\n"), FindExported);
  EXPECT_THAT(last.faults, SizeIs(0));
  EXPECT_EQ(last.input.evaluations[0].classes, 32767);
}

TEST_F(RunsTest, TheLastBlockIsTaken) {
  EXPECT_EQ(Read("run,block\na,0\nb,9999\n").input.cells.at(1).block, 9999u);
}

TEST_F(RunsTest, EveryColumnGoesWhereItBelongs) {
  const std::string upper(64, 'A');
  const StudySource source = Read(
      "run,predictions,hardware,stack,plan,unit,seconds,top1,top5,loss,weights_sha256\n"
      "first,b.npy,old,torch,seeds,GPU-1,2.5,0.5,0.75,3.5," +
      upper + "\n");

  ASSERT_THAT(source.input.cells, SizeIs(1));
  EXPECT_EQ(source.input.cells[0].hardware, "old");
  EXPECT_EQ(source.input.cells[0].stack, "torch");
  EXPECT_EQ(source.input.cells[0].plan, "seeds");
  const report::MemberInput& member = source.input.members.at(0);
  EXPECT_EQ(member.id, "first");
  EXPECT_EQ(member.unit, "GPU-1");
  EXPECT_EQ(member.seconds, 2.5);
  EXPECT_EQ(member.final_metrics.at("top1"), 0.5);
  EXPECT_EQ(member.final_metrics.at("top5"), 0.75);
  EXPECT_EQ(member.final_metrics.at("loss"), 3.5) << "is no share";
  EXPECT_EQ(member.hashes.weights, std::string(64, 'a')) << "as a coordinator writes it";
  EXPECT_EQ(source.members.at(0).predictions->path, scratch_.Path("b.npy"));
}

TEST_F(RunsTest, NumbersThatAreNoneAreRefused) {
  for (const char* seconds : {"-1", "inf", "nan", "1s"}) {
    EXPECT_THAT(Error(std::string("run,seconds\na,") + seconds + "\n"),
                HasSubstr(std::string("runs.csv:2: seconds '") + seconds + "'"));
  }
  EXPECT_THAT(Error("run,top5\na,99.8\n"), HasSubstr("runs.csv:2: top5 '99.8'"));
  EXPECT_THAT(Error("run,loss\na,small\n"), HasSubstr("runs.csv:2: loss 'small'"));
}

// Kernels are no draw: each block may have those that all have.
TEST_F(RunsTest, WhatIsPhysicalIsHeldAlikeInAllBlocks) {
  const StudySource source =
      Read("run,block,init,data_order,kernels\na,0,7,1,0\nb,0,7,2,0\nc,1,8,3,0\nd,1,8,4,0\n");
  ASSERT_THAT(source.input.sweep.plans, SizeIs(1));
  const auto& sources = source.input.sweep.plans[0].sources;
  EXPECT_EQ(sources.at(NoiseSource::kKernels).state, SourceState::kFixed);
  EXPECT_EQ(sources.at(NoiseSource::kInit).state, SourceState::kFixed);
  EXPECT_EQ(sources.at(NoiseSource::kDataOrder).state, SourceState::kFree);
  EXPECT_EQ(source.input.sweep.plans[0].blocks, 2u);
}

// Logits of one run say how many classes there are; another one answers none of them.
TEST_F(RunsTest, AnAnswerBeyondTheClassesOfTheLogitsIsThatOfItsRunAlone) {
  const std::vector<float> logits = {3, 1, 2, 0, 5, 1, 0, 0, 1, 0, 9, 1};
  ASSERT_TRUE(WriteNpy<float>(scratch_.Path("a.npy"), {4, 3}, std::span(logits)).ok());
  Answers("b.npy", {0, 1, 3, 1});

  const LoadedStudy loaded = LoadArrays(Read("run\na\nb\nc\n"), FindExported);

  ASSERT_THAT(loaded.faults, SizeIs(1));
  EXPECT_THAT(loaded.faults[0].message(),
              HasSubstr("b.npy: the answer 3 to example 2 is not below 3"));
  EXPECT_EQ(loaded.input.evaluations[0].classes, 3);
  EXPECT_EQ(BuildStudy(loaded).cohorts[0].churn.value, 0.0) << "of the other two";
}

}  // namespace
}  // namespace noisefloor::inputs
