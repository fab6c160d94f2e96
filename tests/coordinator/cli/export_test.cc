#include <sys/stat.h>

#include <fstream>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/files/sha256.h"
#include "coordinator/inputs/read_export.h"
#include "tests/coordinator/cli/command_line.h"

namespace noisefloor::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

CannedAnswers OneMember() {
  CannedAnswers answers;
  v1::Member& member = answers.members.emplace_back();
  member.set_id("s1c0r0");
  member.set_sweep(1);
  member.set_state(v1::MEMBER_STATE_DONE);
  member.set_specification(R"({"data": {"name": "cifar10", "test_examples": 500}})");
  for (const std::string kind : {"weights", "predictions", "predictions-1", "predictions-2",
                                 "evaluation_images", "evaluation_labels", "log", "weights-1"}) {
    v1::Artifact& artifact = *member.mutable_outcome()->add_artifacts();
    artifact.set_kind(kind);
    artifact.set_sha256(Sha256Hex("the " + kind));
    artifact.set_size(kind.size() + 4);
    answers.artifacts["s1c0r0 " + kind] = "the " + kind;
  }
  return answers;
}

// As a store names one that OneMember's artifacts hold.
inputs::InputFile FileOf(const std::string& kind, const std::string& member) {
  return {kind, member, "a name", Sha256Hex("the " + kind), kind.size() + 4};
}

std::set<std::string> FilesBelow(const std::string& folder) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), folder).string());
  }
  return files;
}

TEST(Export, LeavesOutWhatMadeRoomAndSaysSo) {
  CannedAnswers answers = OneMember();
  v1::Artifact& weights = *answers.members[0].mutable_outcome()->mutable_artifacts(0);
  weights.set_collected_unix_seconds(1700000000);
  answers.artifacts.erase("s1c0r0 weights");
  CommandLine line(std::move(answers));
  const std::string to = line.home() + "/out";
  const Printed printed = line.Run({"export", "s1", "--to=" + to});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("1 file made room and could not be written"));
  EXPECT_THAT(FilesBelow(to), Not(Contains("weights/s1c0r0.safetensors")));
  EXPECT_THAT(FilesBelow(to), Contains("weights/s1c0r0-1.safetensors"));
  const auto members = nlohmann::json::parse(Content(to + "/members.json"));
  EXPECT_EQ(members["members"][0]["artifacts"][0]["collected"], "2023-11-14 22:13:20");
}

TEST(Export, WritesMembersStudyPredictionsAndWeights) {
  CommandLine line(OneMember());
  const std::string to = line.home() + "/out";
  const Printed printed = line.Run({"export", "s1", "--to=" + to + "/"});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(FilesBelow(to),
              UnorderedElementsAre(
                  "sweep.yaml", "members.json", "study.json", "study.csv", "report.html",
                  "predictions/s1c0r0.npy", "predictions/s1c0r0-1.npy", "predictions/s1c0r0-2.npy",
                  "weights/s1c0r0.safetensors", "weights/s1c0r0-1.safetensors", "README.md",
                  "evaluation_images/cifar10-500.npy", "evaluation_labels/cifar10-500.npy"));
  EXPECT_EQ(Content(to + "/predictions/s1c0r0-2.npy"), "the predictions-2");
  EXPECT_EQ(Content(to + "/weights/s1c0r0.safetensors"), "the weights");
  EXPECT_EQ(Content(to + "/evaluation_labels/cifar10-500.npy"), "the evaluation_labels");
  EXPECT_EQ(Content(to + "/study.csv"), "a study\n");
  EXPECT_EQ(Content(to + "/sweep.yaml"), "name: a  # as submitted\n");
  EXPECT_THAT(printed.out, HasSubstr("(1 member)"));
  EXPECT_THAT(printed.out, HasSubstr("7 files of predictions, weights and test sets"));
}

TEST(Export, AsJsonSaysHowMuchItWrote) {
  CommandLine line(OneMember());
  const Printed printed =
      line.Run({"export", "s1", "--to=" + line.home() + "/out", "--output=json"});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  const auto told = nlohmann::json::parse(printed.out);
  EXPECT_EQ(told["members"], 1);
  EXPECT_EQ(told["artifacts"], 7) << "all but the log";
  EXPECT_EQ(told["artifact_bytes"], "115") << "\"the \" and the name of its kind, of each";
  EXPECT_EQ(told["collected"], 0);
  EXPECT_EQ(told["page"], true);
}

TEST(Export, WritesATestSetOnceWhoeverKeptIt) {
  CannedAnswers answers = OneMember();
  v1::Member second = answers.members[0];
  second.set_id("s1c0r1");
  answers.members.push_back(second);
  for (const v1::Artifact& artifact : second.outcome().artifacts()) {
    const std::string& kind = artifact.kind();
    if (!kind.starts_with("evaluation")) answers.artifacts["s1c0r1 " + kind] = "the " + kind;
  }
  CommandLine line(answers);  // Which has no second copy to give.
  const std::string to = line.home() + "/out";
  const Printed printed = line.Run({"export", "s1", "--to=" + to});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(Content(to + "/evaluation_images/cifar10-500.npy"), "the evaluation_images");
  EXPECT_TRUE(fs::exists(to + "/weights/s1c0r1.safetensors"));
}

// Of a sweep whose test set an earlier one has kept: labels come from there, and input.json says
// where everything lies.
TEST(Export, WritesWhatAStudyIsMadeOfWhoeverKeptIt) {
  CannedAnswers answers = OneMember();
  answers.members[0].mutable_outcome()->mutable_artifacts()->DeleteSubrange(4, 2);
  for (const std::string kind : {"evaluation_images", "evaluation_labels"}) {
    answers.artifacts.erase("s1c0r0 " + kind);
    answers.artifacts["s9c0r3 " + kind] = "the " + kind;
  }
  inputs::StudySource source;
  source.input.cells.push_back({.plan = "control"});
  source.input.members.push_back({.id = "s1c0r0", .state = MemberState::kDone});
  source.sets = {{FileOf("evaluation_labels", "s9c0r3"), FileOf("evaluation_images", "s9c0r3")}};
  source.members = {{FileOf("predictions", "s1c0r0"),
                     FileOf("weights", "s1c0r0"),
                     {FileOf("predictions-1", "s1c0r0"), FileOf("predictions-2", "s1c0r0"),
                      FileOf("weights-1", "s1c0r0")}}};
  answers.input = inputs::SourceToJson(source);
  CommandLine line(std::move(answers));
  const std::string to = line.home() + "/out";
  const Printed printed = line.Run({"export", "s1", "--to=" + to});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(Content(to + "/evaluation_labels/cifar10-500.npy"), "the evaluation_labels");
  EXPECT_EQ(Content(to + "/evaluation_images/cifar10-500.npy"), "the evaluation_images");
  const absl::StatusOr<inputs::StudySource> read = inputs::ReadSource(to);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->sets[0].labels->path, to + "/evaluation_labels/cifar10-500.npy");
  EXPECT_EQ(read->members[0].predictions->path, to + "/predictions/s1c0r0.npy");
  EXPECT_TRUE(inputs::FindExported(*read->members[0].weights).ok());
  ASSERT_EQ(read->members[0].on_the_way.size(), 3u);
  EXPECT_EQ(read->members[0].on_the_way[1].kind, "predictions-2");
  EXPECT_EQ(read->members[0].on_the_way[1].path, to + "/predictions/s1c0r0-2.npy");
  EXPECT_TRUE(inputs::FindExported(read->members[0].on_the_way[1]).ok());
  EXPECT_EQ(read->members[0].on_the_way[2].path, to + "/weights/s1c0r0-1.safetensors");
}

TEST(Export, OfASweepWithoutAFileWritesWhatItMeans) {
  CannedAnswers answers = OneMember();
  answers.file = "";
  CommandLine line(answers);
  const std::string to = line.home() + "/out";
  ASSERT_EQ(line.Run({"export", "s1", "--to=" + to}).code, kDone);
  EXPECT_EQ(Content(to + "/sweep.yaml"), "name: \"a\"\n");
}

TEST(Export, OfAProgramWithoutThePageSaysSo) {
  CannedAnswers answers = OneMember();
  answers.has_page = false;
  CommandLine line(answers);
  const std::string to = line.home() + "/out";
  const Printed printed = line.Run({"export", "s1", "--to=" + to});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_THAT(printed.err, HasSubstr("no page: built without"));
  EXPECT_FALSE(fs::exists(to + "/report.html"));
  EXPECT_TRUE(fs::exists(to + "/study.csv"));
  EXPECT_THAT(printed.out, ::testing::Not(HasSubstr("report.html")));
}

TEST(Export, WritesTheSameMembersAsTheListingPrints) {
  CommandLine line(OneMember());
  const std::string to = line.home() + "/out";
  ASSERT_EQ(line.Run({"export", "s1", "--to=" + to}).code, kDone);
  const Printed listing = line.Run({"members", "s1", "--output=json"});
  EXPECT_EQ(nlohmann::json::parse(Content(to + "/members.json")),
            nlohmann::json::parse(listing.out));
}

TEST(Export, ReplacesOnlyWhatItWroteAndOnlyWhenForced) {
  CommandLine line(OneMember());
  const std::string to = line.home() + "/out";
  fs::create_directories(to);
  std::ofstream(to + "/mine") << "x";
  const Printed refused = line.Run({"export", "s1", "--to=" + to});
  EXPECT_EQ(refused.code, kRefused);
  EXPECT_THAT(refused.err, HasSubstr("no export wrote it"));
  EXPECT_THAT(FilesBelow(to), UnorderedElementsAre("mine"));
  const Printed foreign = line.Run({"export", "s1", "--to=" + to, "--force"});
  EXPECT_EQ(foreign.code, kRefused);
  EXPECT_THAT(foreign.err, HasSubstr("and no export wrote it"));
  EXPECT_THAT(FilesBelow(to), UnorderedElementsAre("mine"));

  fs::remove(to + "/mine");
  EXPECT_EQ(line.Run({"export", "s1", "--to=" + to}).code, kDone);
  EXPECT_THAT(line.Run({"export", "s1", "--to=" + to}).err,
              HasSubstr("an earlier export lies there; --force replaces it"));
  std::ofstream(to + "/notebook.ipynb") << "mine";
  const Printed beside = line.Run({"export", "s1", "--to=" + to, "--force"});
  EXPECT_EQ(beside.code, kRefused);
  EXPECT_THAT(beside.err, HasSubstr("no export wrote notebook.ipynb, which would go with"));
  EXPECT_EQ(Content(to + "/notebook.ipynb"), "mine");
  fs::remove(to + "/notebook.ipynb");
  std::ofstream(to + "/members.json") << "old";
  std::ofstream(to + "/predictions/s1c9r9.npy") << "of a member that is no more";
  EXPECT_EQ(line.Run({"export", "s1", "--to=" + to, "--force"}).code, kDone);
  EXPECT_NE(Content(to + "/members.json"), "old");
  EXPECT_FALSE(fs::exists(to + "/predictions/s1c9r9.npy"));
  EXPECT_THAT(FilesBelow(line.home()), Not(Contains(HasSubstr("s1c9r9"))));
}

// A mount, or where we are, cannot be replaced by a folder beside it.
TEST(Export, FillsAFolderThatIsEmpty) {
  CommandLine line(OneMember());
  const std::string to = line.home() + "/out";
  fs::create_directories(to);
  fs::create_directory_symlink(to, line.home() + "/link");
  struct stat before {
  }, after{};
  ASSERT_EQ(stat(to.c_str(), &before), 0);
  const Printed printed = line.Run({"export", "s1", "--to=" + line.home() + "/link"});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  ASSERT_EQ(stat(to.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_TRUE(fs::is_symlink(line.home() + "/link"));
  EXPECT_EQ(Content(to + "/weights/s1c0r0.safetensors"), "the weights");
  for (const auto& entry : fs::directory_iterator(to)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("part-")));
  }
}

// Own images have many test sets of one name; which one a member's is, its first lease does not
// know.
TEST(Export, TwoTestSetsOfOneNameLieApart) {
  CannedAnswers answers = OneMember();
  answers.members[0].set_specification(
      R"({"data": {"name": "pics", "image_size": 32, "identity": ""}})");
  v1::Member second = answers.members[0];
  second.set_id("s1c1r0");
  answers.members[0].mutable_outcome()->set_data_identity(std::string(64, 'a'));
  second.mutable_outcome()->set_data_identity(std::string(64, 'b'));
  for (v1::Artifact& artifact : *second.mutable_outcome()->mutable_artifacts()) {
    const std::string content = "other " + artifact.kind();
    artifact.set_sha256(Sha256Hex(content));
    artifact.set_size(content.size());
    answers.artifacts["s1c1r0 " + artifact.kind()] = content;
  }
  answers.members.push_back(second);
  CommandLine line(answers);
  const std::string to = line.home() + "/out";
  const Printed printed = line.Run({"export", "s1", "--to=" + to});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(Content(to + "/evaluation_labels/pics-aaaaaaaa.npy"), "the evaluation_labels");
  EXPECT_EQ(Content(to + "/evaluation_labels/pics-bbbbbbbb.npy"), "other evaluation_labels");
}

// Its set, which an earlier sweep has kept, lies where another member of the cell says.
TEST(Export, AMemberThatFailedBeforeItSawItsDataDoesNotNameTheirSet) {
  CannedAnswers answers = OneMember();
  v1::Member& second = answers.members[0];
  second.set_specification(R"({"data": {"name": "pics", "image_size": 32, "identity": ""}})");
  second.mutable_outcome()->clear_artifacts();
  v1::Member first = second;
  second.set_id("s1c0r1");
  second.mutable_outcome()->set_data_identity(std::string(64, 'a'));
  first.set_state(v1::MEMBER_STATE_FAILED);
  answers.members.insert(answers.members.begin(), first);
  answers.artifacts = {{"s9c0r3 evaluation_labels", "the evaluation_labels"},
                       {"s9c0r3 evaluation_images", "the evaluation_images"}};
  inputs::StudySource source;
  source.input.cells.push_back({.plan = "control"});
  source.input.members.push_back({.id = "s1c0r0", .state = MemberState::kFailed});
  source.input.members.push_back({.id = "s1c0r1", .state = MemberState::kDone});
  source.input.members[1].replicate = 1;
  source.sets = {{FileOf("evaluation_labels", "s9c0r3"), FileOf("evaluation_images", "s9c0r3")}};
  source.members.resize(2);
  answers.input = inputs::SourceToJson(source);
  CommandLine line(std::move(answers));
  const std::string to = line.home() + "/out";
  const Printed printed = line.Run({"export", "s1", "--to=" + to});
  ASSERT_EQ(printed.code, kDone) << printed.err;
  EXPECT_EQ(Content(to + "/evaluation_labels/pics-aaaaaaaa.npy"), "the evaluation_labels");
  EXPECT_EQ(Content(to + "/evaluation_images/pics-aaaaaaaa.npy"), "the evaluation_images");
}

TEST(Export, OfADamagedArtifactLeavesNothing) {
  CommandLine line(OneMember());
  line.answers().artifacts["s1c0r0 weights"] = "the weight";
  const Printed printed = line.Run({"export", "s1", "--to=" + line.home() + "/out"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("weights of s1c0r0: expected SHA-256"));
  EXPECT_THAT(FilesBelow(line.home()), UnorderedElementsAre("noisefloor.db"));
}

TEST(Export, ToAFileIsRefused) {
  CommandLine line(OneMember());
  std::ofstream(line.home() + "/file") << "x";
  const Printed printed = line.Run({"export", "s1", "--force", "--to=" + line.home() + "/file"});
  EXPECT_EQ(printed.code, kRefused);
  EXPECT_THAT(printed.err, HasSubstr("expected a folder"));
}

}  // namespace
}  // namespace noisefloor::cli
