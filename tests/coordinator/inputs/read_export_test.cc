#include "coordinator/inputs/read_export.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "tests/coordinator/inputs/tiny_export.h"

namespace noisefloor::inputs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TinyExport TwoMembers() { return {.answers = {{0, 1, 0, 1, 0, 1}, {0, 1, 1, 1, 0, 0}}}; }

std::string Content(const std::string& path) { return ReadFile(path, 1 << 20).value(); }

TEST(ReadExportTest, GivesBackWhatWasWritten) {
  const Scratch scratch;
  const absl::StatusOr<LoadedStudy> read = ReadExport(WriteTinyExport(scratch, TwoMembers()));
  ASSERT_TRUE(read.ok()) << read.status();
  const report::StudyInput& input = read->input;
  EXPECT_EQ(input.sweep.name, "tiny");
  ASSERT_EQ(input.members.size(), 2u);
  ASSERT_EQ(input.members[1].predictions.size(), 12u);
  EXPECT_EQ(input.members[1].predictions.values()[4], 0);  // Example 2 is answered 1.
  EXPECT_EQ(input.members[1].predictions.values()[5], 1);
  ASSERT_EQ(input.evaluations.size(), 1u);
  EXPECT_EQ(input.evaluations[0].identity, "the data");
  EXPECT_EQ(input.evaluations[0].classes, 2);
  EXPECT_THAT(input.evaluations[0].labels, ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_TRUE(read->warnings.empty());
}

TEST(ReadExportTest, AFileThatIsNamedHasToBeThere) {
  const Scratch scratch;
  const std::string folder = WriteTinyExport(scratch, TwoMembers());
  ASSERT_EQ(unlink((folder + "/predictions/s1c0r1.npy").c_str()), 0);
  EXPECT_EQ(ReadExport(folder).status().code(), absl::StatusCode::kNotFound);
  absl::StatusOr<StudySource> source = SourceFromJson(Content(folder + "/input.json"));
  ASSERT_TRUE(source.ok()) << source.status();
  source->members[1].predictions.reset();  // It made room.
  (void)scratch.Put("tiny/input.json", SourceToJson(*source));
  const absl::StatusOr<LoadedStudy> read = ReadExport(folder);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->input.members[1].predictions.empty());
  EXPECT_FALSE(read->input.members[0].predictions.empty());
}

TEST(ReadExportTest, NoPathLeadsOutOfTheFolder) {
  for (const char* path : {"../secret.npy", "/etc/passwd", "predictions/../../x", ""}) {
    const Scratch scratch;
    const std::string folder = WriteTinyExport(scratch, TwoMembers());
    absl::StatusOr<StudySource> source = SourceFromJson(Content(folder + "/input.json"));
    ASSERT_TRUE(source.ok()) << source.status();
    source->members[0].weights = {"weights", "s1c0r0", path, "", 0};
    (void)scratch.Put("tiny/input.json", SourceToJson(*source));
    EXPECT_THAT(ReadSource(folder).status().message(), HasSubstr("leads out of the folder"))
        << path;
  }
}

TEST(ReadExportTest, PredictionsThatAreNotTheMembersOwnAreDamage) {
  const Scratch scratch;
  const std::string folder = WriteTinyExport(scratch, TwoMembers());
  std::string bytes = Content(folder + "/predictions/s1c0r0.npy");
  bytes.back() ^= 1;
  (void)scratch.Put("tiny/predictions/s1c0r0.npy", bytes);
  const absl::Status status = ReadExport(folder).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("s1c0r0.npy: its SHA-256 is "));
}

// Of another number of examples, or of a class that no example can have.
TEST(ReadExportTest, LabelsThatFitNoPredictionsAreRefused) {
  const Scratch scratch;
  const std::string folder = WriteTinyExport(scratch, TwoMembers());
  const auto with_labels = [&](const std::vector<int32_t>& labels) {
    const std::string path = "evaluation_labels/own.npy";
    EXPECT_TRUE(
        WriteNpy<int32_t>(folder + "/" + path, {static_cast<int64_t>(labels.size())}, labels).ok());
    absl::StatusOr<StudySource> source = SourceFromJson(Content(folder + "/input.json"));
    source->sets[0].labels = FileOf("evaluation_labels", "s1c0r0", folder, path);
    (void)scratch.Put("tiny/input.json", SourceToJson(*source));
    return std::string(ReadExport(folder).status().message());
  };
  EXPECT_THAT(with_labels({0, 1, 0}), HasSubstr("logits [6, 2], expected [3, 2]"));
  EXPECT_THAT(with_labels({0, 1, 0, -1, 0, 1}), HasSubstr("the class -1 of example 3"));
  EXPECT_THAT(with_labels({0, 1, 0, 1, 2, 1}),
              HasSubstr("the class 2 of example 4 is not below 2"));
}

// Without predictions and of no known data set, the labels say how many classes there are.
TEST(ReadExportTest, LabelsAloneNameTheClasses) {
  const Scratch scratch;
  const std::string folder = WriteTinyExport(scratch, TwoMembers());
  absl::StatusOr<StudySource> source = SourceFromJson(Content(folder + "/input.json"));
  ASSERT_TRUE(source.ok()) << source.status();
  for (StudySource::MemberFiles& files : source->members) files.predictions.reset();
  (void)scratch.Put("tiny/input.json", SourceToJson(*source));
  const absl::StatusOr<LoadedStudy> read = ReadExport(folder);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->input.evaluations[0].classes, 2);
  EXPECT_EQ(read->input.evaluations[0].labels.size(), 6u);
}

TEST(ReadExportTest, WhatIsNoExportIsSaid) {
  const Scratch scratch;
  EXPECT_THAT(ReadExport(scratch.folder()).status().message(), HasSubstr("input.json"));
}

}  // namespace
}  // namespace noisefloor::inputs
