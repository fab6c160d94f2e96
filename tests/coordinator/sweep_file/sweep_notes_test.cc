#include "coordinator/sweep_file/sweep_notes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/sweep_file/sweep_file.h"

namespace noisefloor::sweep_file {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> NotesIn(const std::string& text) {
  const auto file = ParseSweep("name: a\nnoise: [control]\n" + text, "s.yaml", OwnSettings);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? NotesOn(file->sweep) : std::vector<std::string>();
}

constexpr char kNamed[] = "model: {name: mlp}\ndata: {name: cifar10}\n";

TEST(SweepNotesTest, AFileThatSaysWhatItTrainsHasNone) {
  EXPECT_THAT(NotesIn(kNamed), IsEmpty());
  EXPECT_THAT(NotesIn("model.name: mlp\naxes: {data.name: [cifar10, cifar100]}\n"), IsEmpty());
}

TEST(SweepNotesTest, TheDefaultsOfModelAndDataAreNamed) {
  EXPECT_THAT(NotesIn("seed: 1\n"),
              ElementsAre("model.name is not given: it is small_cnn, the default",
                          "data.name is not given: it is fashion-mnist-sample, the default"));
}

TEST(SweepNotesTest, AMeasurementReadsNoData) {
  EXPECT_THAT(NotesIn("kind: measure\nmodel: {name: mlp}\n"), IsEmpty());
}

TEST(SweepNotesTest, AValueThatAnAxisOverridesIsNamed) {
  EXPECT_THAT(NotesIn(std::string(kNamed) + "train: {epochs: 3}\naxes: {train.epochs: [1, 2]}\n"),
              ElementsAre("train.epochs outside axes has no effect: its axis says all its values"));
}

TEST(SweepNotesTest, AMilestoneBeyondTheEpochsIsNamed) {
  EXPECT_THAT(
      NotesIn(std::string(kNamed) +
              "train: {epochs: 2, schedule: {name: step, milestones: [1, 2, 5]}}\n"),
      ElementsAre("train.schedule.milestones: 2 is never reached before the end of 2 epochs",
                  "train.schedule.milestones: 5 is never reached before the end of 2 epochs"));
}

TEST(SweepNotesTest, NothingIsSaidOfMilestonesWhereAnAxisSaysTheEpochs) {
  EXPECT_THAT(NotesIn(std::string(kNamed) + "train: {schedule: {name: step, milestones: [500]}}\n"
                                            "axes: {train.epochs: [1, 1000]}\n"),
              IsEmpty());
}

// Nobody but its trainer knows what its settings mean.
TEST(SweepNotesTest, OfAnotherTrainersSweepOnlyWhatAnAxisOverridesIsNamed) {
  v1::Sweep sweep;
  EXPECT_TRUE(IsForOurs(sweep));
  sweep.add_stacks("torch-2.11-cu130");
  EXPECT_TRUE(IsForOurs(sweep));
  sweep.add_stacks("forest");
  EXPECT_FALSE(IsForOurs(sweep));
  EXPECT_THAT(NotesOn(sweep), IsEmpty());
  sweep.add_training()->set_path("forest.trees");
  sweep.add_axes()->add_columns()->set_path("forest.trees");
  EXPECT_THAT(NotesOn(sweep),
              ElementsAre("forest.trees outside axes has no effect: its axis says all its values"));
}

}  // namespace
}  // namespace noisefloor::sweep_file
