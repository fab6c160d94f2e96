#include "coordinator/exports/read_export.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/exports/layout.h"
#include "tests/coordinator/exports/tiny_export.h"

namespace noisefloor::exports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TinyExport TwoMembers() { return {.answers = {{0, 1, 0, 1, 0, 1}, {0, 1, 1, 1, 0, 0}}}; }

std::string Content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Reads the export after `from` in a file of it became `to`; the error.
std::string ErrorAfter(const std::string& file, const std::string& from, const std::string& to) {
  const Scratch scratch;
  const std::string folder = WriteTinyExport(scratch, TwoMembers());
  std::string text = Content(folder + "/" + file);
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
  (void)scratch.Put("tiny/" + file, text);
  const absl::StatusOr<ExportedStudy> read = ReadExport(folder);
  EXPECT_FALSE(read.ok()) << "with " << to;
  return std::string(read.status().message());
}

TEST(ReadExportTest, GivesBackWhatWasWritten) {
  const Scratch scratch;
  const absl::StatusOr<ExportedStudy> read = ReadExport(WriteTinyExport(scratch, TwoMembers()));
  ASSERT_TRUE(read.ok()) << read.status();
  const report::StudyInput& input = read->input;
  EXPECT_EQ(input.sweep.name, "tiny");
  EXPECT_EQ(input.sweep.seed, 7u);
  EXPECT_EQ(input.sweep.reference_accuracy, 0.1);
  ASSERT_EQ(input.sweep.settings.size(), 1u);
  EXPECT_EQ(input.sweep.settings[0].path, "train.epochs");
  EXPECT_TRUE(input.sweep.settings[0].changed);

  ASSERT_EQ(input.cells.size(), 1u);
  const report::CellInput& cell = input.cells[0];
  EXPECT_EQ(cell.plan, "algo");
  EXPECT_EQ(cell.hardware, "cpu-a");
  EXPECT_THAT(cell.axes, ElementsAre(report::AxisSetting{"train.epochs", "3"}));
  EXPECT_EQ(cell.sources.at(NoiseSource::kInit), SourceState::kFree);
  EXPECT_EQ(cell.sources.at(NoiseSource::kPoke), SourceState::kOff);

  ASSERT_EQ(input.members.size(), 2u);
  const report::MemberInput& member = input.members[1];
  EXPECT_EQ(member.id, "s1c0r1");
  EXPECT_EQ(member.state, MemberState::kDone);
  EXPECT_EQ(member.lanes.at(NoiseSource::kInit), (Lane{0, 2}));
  EXPECT_FALSE(member.lanes.contains(NoiseSource::kPoke)) << "it does not act";
  EXPECT_NEAR(member.final_metrics.at("top1"), 4.0 / 6, 1e-12);
  EXPECT_TRUE(std::isnan(member.final_metrics.at("loss")));
  ASSERT_EQ(member.predictions.size(), 12u);
  EXPECT_EQ(member.predictions[4], 0);  // Example 2 is answered 1.
  EXPECT_EQ(member.predictions[5], 1);

  ASSERT_EQ(input.evaluations.size(), 1u);
  EXPECT_EQ(input.evaluations[0].identity, "the data");
  EXPECT_EQ(input.evaluations[0].classes, 2);
  EXPECT_THAT(input.evaluations[0].labels, ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(ReadExportTest, PredictionsThatMadeRoomAreNotMissed) {
  const Scratch scratch;
  const std::string folder = WriteTinyExport(scratch, TwoMembers());
  ASSERT_EQ(unlink((folder + "/predictions/s1c0r1.npy").c_str()), 0);
  EXPECT_EQ(ReadExport(folder).status().code(), absl::StatusCode::kNotFound) << "it is listed";
  nlohmann::json members = nlohmann::json::parse(Content(folder + "/members.json"));
  members["members"][1]["artifacts"][1]["collected"] = "2026-01-01 00:00:00";
  (void)scratch.Put("tiny/members.json", members.dump());
  const absl::StatusOr<ExportedStudy> read = ReadExport(folder);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->input.members[1].predictions.empty());
  EXPECT_FALSE(read->input.members[0].predictions.empty());
}

TEST(ReadExportTest, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_THAT(ErrorAfter("members.json", "\"algo\"", "5"),
              HasSubstr("members.json.members[0].plan: expected a text"));
  EXPECT_THAT(ErrorAfter("members.json", "\"plan\"", "\"plane\""),
              HasSubstr("members.json.members[0].plan: it is missing"));
  EXPECT_THAT(ErrorAfter("members.json", "\"done\"", "\"gone\""), HasSubstr("expected a state"));
  EXPECT_THAT(ErrorAfter("members.json", "s1c0r0", "../../x"), HasSubstr("expected an id"));
  EXPECT_THAT(ErrorAfter("members.json", "\"init\":1", "\"luck\":1"),
              HasSubstr("lanes.luck: expected a lane of a source"));
  EXPECT_THAT(ErrorAfter("members.json", "\"free\"", "\"wild\""),
              HasSubstr("sources.init: expected off, fixed or free"));
  EXPECT_THAT(ErrorAfter("members.json", "the data", "other data"),
              HasSubstr("members were tested on other data of the same name"));
  EXPECT_THAT(ErrorAfter("members.json", "{", "["), HasSubstr("members.json"));
  EXPECT_THAT(ErrorAfter("members.json", "s1c0r1", "s1c0r0"),
              HasSubstr("expected each member once"));
  EXPECT_THAT(ErrorAfter("study.json", "\"7\"", "\"seven\""), HasSubstr("sweep.seed: expected"));
  EXPECT_THAT(ErrorAfter("study.json", "\"sweep\"", "\"swap\""), HasSubstr("sweep: it is missing"));
}

TEST(ReadExportTest, PredictionsThatAreNotTheMembersOwnAreDamage) {
  const Scratch scratch;
  const std::string folder = WriteTinyExport(scratch, TwoMembers());
  const std::string path = folder + "/predictions/s1c0r0.npy";
  std::string bytes = Content(path);
  bytes.back() ^= 1;
  (void)scratch.Put("tiny/predictions/s1c0r0.npy", bytes);
  const absl::Status status = ReadExport(folder).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("s1c0r0.npy: its SHA-256 is "));
}

TEST(ReadExportTest, LabelsThatFitNoPredictionsAreRefused) {
  const Scratch scratch;
  TinyExport tiny = TwoMembers();
  const std::string folder = WriteTinyExport(scratch, tiny);
  ASSERT_TRUE(
      WriteNpy<int32_t>(folder + "/evaluation_labels/own.npy", {3}, std::vector<int32_t>{0, 1, 0})
          .ok());
  EXPECT_THAT(ReadExport(folder).status().message(), HasSubstr("are not the logits of 3 labels"));
  ASSERT_TRUE(WriteNpy<int32_t>(folder + "/evaluation_labels/own.npy", {6},
                                std::vector<int32_t>{0, 1, 0, -1, 0, 1})
                  .ok());
  EXPECT_THAT(ReadExport(folder).status().message(), HasSubstr("the class -1 of example 3"));
}

TEST(ReadExportTest, WhatIsNoExportIsSaid) {
  const Scratch scratch;
  EXPECT_THAT(ReadExport(scratch.folder()).status().message(), HasSubstr("study.json"));
}

TEST(LayoutTest, FilesLieWhereTheirKindAndTestSetSay) {
  const nlohmann::json specification = {{"data", {{"name", "cifar10"}, {"test_examples", 500}}}};
  EXPECT_EQ(PlaceOf("predictions", "s1c0r0", specification), "predictions/s1c0r0.npy");
  EXPECT_EQ(PlaceOf("predictions-3", "s1c0r0", specification), "predictions/s1c0r0-3.npy");
  EXPECT_EQ(PlaceOf("weights", "s1c0r0", specification), "weights/s1c0r0.safetensors");
  EXPECT_EQ(PlaceOf("evaluation_labels", "s1c0r0", specification),
            "evaluation_labels/cifar10-500.npy");
  EXPECT_EQ(PlaceOf("log", "s1c0r0", specification), "");
  const nlohmann::json faces = {
      {"data", {{"name", "faces"}, {"image_size", 64}, {"identity", "1a2b3c4d5e"}}}};
  EXPECT_EQ(PlaceOf("evaluation_groups", "s1c0r0", faces), "evaluation_groups/faces-1a2b3c4d.csv");
  EXPECT_EQ(PlaceOf("evaluation_labels", "s1c0r0", "no object"), "evaluation_labels/s1c0r0.npy");
}

}  // namespace
}  // namespace noisefloor::exports
