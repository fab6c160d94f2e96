#include "coordinator/cli/sweep_notes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/cli/sweep_file.h"

namespace noisefloor::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> NotesIn(const std::string& text) {
  const auto file = ParseSweep("name: a\nnoise: [control]\n" + text, "s.yaml");
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

}  // namespace
}  // namespace noisefloor::cli
