// The text that a study's input becomes, and what is refused of one.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/inputs/study_source.h"
#include "coordinator/report/study_json.h"
#include "tests/coordinator/inputs/tiny_export.h"

namespace noisefloor::inputs {
namespace {

using ::testing::HasSubstr;

// One value in every place that a source has.
StudySource Full() {
  StudySource source = TinySource({.answers = {{0, 1, 0, 1, 0, 1}, {0, 1, 1, 1, 0, 0}}});
  report::SweepInput& sweep = source.input.sweep;
  sweep.notes = "a \"note\"\n";
  sweep.tags = {"who=we", "gpu"};
  sweep.seed = std::numeric_limits<uint64_t>::max();
  sweep.specification_sha256 = "5ec";
  sweep.submitted_unix_seconds = 1700000000;
  sweep.ended_unix_seconds = 1700000100;
  sweep.noisefloor_version = "9.9";
  sweep.file = "name: tiny\n";
  sweep.file_submitted = true;
  sweep.plans[0].sources[NoiseSource::kInit].levels = {0, 1};
  sweep.plans[0].blocks = 3;
  source.warnings = {{"note", "s1c0r0", "A note."}};
  report::CellInput& cell = source.input.cells[0];
  cell.block = 2;
  cell.stack_fingerprint = "f";
  cell.trainer_build = "b";
  cell.idle[NoiseSource::kDropout] = "no layer has it";
  report::MemberInput& member = source.input.members[0];
  member.hashes = {"i", "f", "w", "l", {"1", "2"}, "d", "p"};
  member.duplicates = {{"i", "f", "w", "l", {"1"}, "", ""}};
  member.curves["train_loss"] = {{10, 0.5, 0.1}, {20, 1, std::nan("")}};
  member.curves["test_top1"] = {{20, 1, 1.0 / 3}};
  member.final_metrics["loss"] = std::numeric_limits<double>::infinity();
  member.per_class_accuracy = {0.1, std::nan("")};
  member.seconds = 1.1;
  member.unit = "GPU-1";
  member.stack_fingerprint = "mf";
  member.trainer_build = "mb";
  member.environment_json = R"({"host": "a"})";
  member.lanes[NoiseSource::kDial] = {4, 9};
  report::MemberInput& failed = source.input.members[1];
  failed.state = MemberState::kFailed;
  failed.failure_cause = "bug";
  failed.failure_message = "it broke";
  failed.environment_json = R"({"host": "b"})";
  source.sets[0] = {{{"evaluation_labels", "s9c0r0", "l.npy", "aa", 12}},
                    {{"evaluation_images", "s9c0r1", "i.npy", "bb", 34}},
                    {{"evaluation_groups", "s9c0r2", "g.csv", "ee", 56}}};
  source.members[0] = {{{"predictions", "s1c0r0", "p.npy", "cc", 56}},
                       {{"weights", "s1c0r0", "w.safetensors", "dd", 78}},
                       {{"predictions-1", "s1c0r0", "p-1.npy", "ff", 90},
                        {"predictions-2", "s1c0r0", "p-2.npy", "ab", 91},
                        {"weights-1", "s1c0r0", "w-1.safetensors", "ba", 92}}};
  return source;
}

TEST(SourceJsonTest, ComesBackBitForBit) {
  const std::string text = SourceToJson(Full());
  const absl::StatusOr<StudySource> read = SourceFromJson(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(SourceToJson(*read), text);
  const report::MemberInput& member = read->input.members[0];
  EXPECT_EQ(member.curves.at("test_top1")[0].value, 1.0 / 3);
  EXPECT_EQ(member.curves.at("test_top1")[0].step, 20);
  EXPECT_TRUE(std::isnan(member.curves.at("train_loss")[1].value));
  EXPECT_EQ(member.curves.at("train_loss")[1].epoch, 1);
  EXPECT_TRUE(std::isinf(member.final_metrics.at("loss")));
  EXPECT_EQ(member.environment_json, R"({"host": "a"})");
  EXPECT_EQ(read->input.members[1].environment_json, R"({"host": "b"})");
  EXPECT_EQ(member.duplicates[0].weights, "w");
  EXPECT_EQ(read->input.sweep.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(read->input.sweep.plans[0].sources.at(NoiseSource::kInit).levels,
            (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(read->sets[0].images->member, "s9c0r1");
  EXPECT_EQ(read->sets[0].groups->path, "g.csv");
  EXPECT_EQ(read->members[0].weights->size_bytes, 78u);
  ASSERT_EQ(read->members[0].on_the_way.size(), 3u);
  EXPECT_EQ(read->members[0].on_the_way[1].path, "p-2.npy");
  EXPECT_EQ(read->members[0].on_the_way[2].kind, "weights-1");
  EXPECT_TRUE(read->members[1].on_the_way.empty());
}

// No field is left behind: the study of what came back is the study of what was written.
TEST(SourceJsonTest, GivesTheSameStudy) {
  const StudySource source = Full();
  const absl::StatusOr<StudySource> read = SourceFromJson(SourceToJson(source));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(report::StudyToJson(report::BuildStudy(read->input)),
            report::StudyToJson(report::BuildStudy(source.input)));
}

std::string ErrorWith(const std::string& from, const std::string& to) {
  std::string text = SourceToJson(Full());
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
  const absl::StatusOr<StudySource> read = SourceFromJson(text);
  EXPECT_FALSE(read.ok()) << "with " << to;
  return std::string(read.status().message());
}

TEST(SourceJsonTest, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_THAT(ErrorWith("\"version\":1", "\"version\":2"), HasSubstr("version: expected"));
  EXPECT_THAT(ErrorWith("\"plan\":\"algo\"", "\"plan\":5"), HasSubstr("cells[0].plan: expected"));
  EXPECT_THAT(ErrorWith("\"replicate\":0", "\"replica\":0"),
              HasSubstr("members[0].replicate: missing"));
  EXPECT_THAT(ErrorWith("\"state\":\"done\"", "\"state\":\"gone\""),
              HasSubstr("members[0].state: expected a state"));
  EXPECT_THAT(ErrorWith("\"dial\":[4,9]", "\"dial\":[4]"),
              HasSubstr("members[0].lanes.dial: expected a block and a number"));
  EXPECT_THAT(ErrorWith("\"dial\":[4,9]", "\"luck\":[4,9]"), HasSubstr("no such source"));
  EXPECT_THAT(ErrorWith("\"init\":\"free\"", "\"init\":\"wild\""),
              HasSubstr("expected off, fixed or free"));
  EXPECT_THAT(ErrorWith("\"steps\":[20]", "\"steps\":[20,30]"),
              HasSubstr("as many steps as epochs"));
  EXPECT_THAT(ErrorWith("\"environment\":0", "\"environment\":7"), HasSubstr("environment"));
  EXPECT_THAT(ErrorWith("\"predictions-2\"", "\"predictions-x\""),
              HasSubstr("members[0].on_the_way[1].kind: expected predictions-1, weights-1"));
  EXPECT_THAT(ErrorWith("\"evaluation\":0", "\"evaluation\":3"), HasSubstr("evaluation"));
  EXPECT_THAT(ErrorWith("\"id\":\"s1c0r1\"", "\"id\":\"s1c0r0\""), HasSubstr("it comes twice"));
  EXPECT_THAT(ErrorWith("\"cell\":0,\"replicate\":1", "\"cell\":4,\"replicate\":1"),
              HasSubstr("there is no cell 4"));
  EXPECT_THAT(ErrorWith("\"seconds\":1.1", "\"seconds\":\"long\""), HasSubstr("seconds"));
  EXPECT_THAT(
      ErrorWith("\"values\":[\"3\"]}", "\"values\":[\"3\"]},{\"path\":\"b\",\"values\":[]}"),
      HasSubstr("sweep.axes[0]: expected columns with as many values each"));
  EXPECT_THAT(ErrorWith("{", "["), HasSubstr("JSON"));
}

// A cell is known by its number and by what it is, a member by its name and by its place.
TEST(SourceJsonTest, WhatComesTwiceUnderAnotherNameIsRefused) {
  const auto error = [](const StudySource& source) {
    return std::string(SourceFromJson(SourceToJson(source)).status().message());
  };
  StudySource source = Full();
  source.input.cells.push_back(source.input.cells[0]);
  source.input.cells[1].block = 7;
  EXPECT_EQ(error(source), "cells: 0 comes twice") << "by its number";
  source.input.cells[1].index = 1;
  EXPECT_EQ(error(source), "") << "another block";
  source.input.cells[1].block = source.input.cells[0].block;
  EXPECT_EQ(error(source), "cells: 1 comes twice") << "by what it is";
  source.input.cells.pop_back();
  source.input.members[1].replicate = 0;
  EXPECT_EQ(error(source), "s1c0r1: it comes twice") << "by its place";
}

}  // namespace
}  // namespace noisefloor::inputs
