// Files of a study that other programs may have written.
#include "coordinator/inputs/study_files.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/files/atomic_file.h"
#include "common/files/npy.h"
#include "common/files/safetensors.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/datasets.h"
#include "coordinator/inputs/load_arrays.h"
#include "tests/common/files/scratch.h"

namespace noisefloor::inputs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool IsAligned(std::span<const float> values) {
  return reinterpret_cast<uintptr_t>(values.data()) % alignof(float) == 0;
}

class StudyFilesTest : public ::testing::Test {
 protected:
  StudyFiles Files(uint64_t copy_limit_bytes = uint64_t{1} << 30) {
    return StudyFiles([this](const InputFile& file) { return scratch_.Path(file.path); },
                      copy_limit_bytes);
  }

  InputFile Put(const std::string& kind, const std::string& path, const std::string& content) {
    (void)scratch_.Put(path, content);
    return {kind, "s1c0r0", path, Sha256Hex(content), content.size()};
  }

  // Weights 2 and 3 with a running mean of 1, whose values begin so many bytes beyond a multiple
  // of 4.
  InputFile Weights(size_t beyond) {
    std::string header = R"({"a.running_mean":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                         R"("b.weight":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
    while (header.size() % 4 != beyond) header += ' ';
    const uint64_t length = header.size();
    const std::vector<float> values = {1, 2, 3};
    std::string content(sizeof length + length + values.size() * sizeof(float), 0);
    std::memcpy(content.data(), &length, sizeof length);
    std::memcpy(content.data() + sizeof length, header.data(), length);
    std::memcpy(content.data() + sizeof length + length, values.data(), 12);
    return Put("weights", "weights.safetensors", content);
  }

  InputFile Array(const std::string& kind, const TensorView& tensor) {
    return Put(kind, kind + ".npy", *EncodeNpy(tensor));
  }

  Scratch scratch_;
};

TEST_F(StudyFilesTest, LabelsAreClassesOrAttributes) {
  StudyFiles files = Files();
  const std::vector<int32_t> values = {0, 1, 1, 0, 1, 0};
  const auto classes = files.Labels(Array("a", MakeTensorView<int32_t>("l", {6}, values)));
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_EQ(classes->attributes, 0);
  const auto attributes = files.Labels(Array("b", MakeTensorView<int32_t>("l", {2, 3}, values)));
  ASSERT_TRUE(attributes.ok()) << attributes.status();
  EXPECT_EQ(attributes->attributes, 3);
  EXPECT_EQ(attributes->values, values);
  EXPECT_THAT(
      Message(files.Labels(Array("c", MakeTensorView<int32_t>("l", {1, 2, 3}, values))).status()),
      HasSubstr("whole numbers [examples] or [examples, attributes]"));
}

TEST_F(StudyFilesTest, LogitsOfAttributesAreDecisions) {
  const std::vector<float> logits = {1.5f, -2.0f, 0.0f, 3.0f};
  const StudyFiles::Matrix matrix = {2, 2, logits};
  StudyFiles files = Files();
  const auto decisions = files.Decisions(matrix);
  ASSERT_TRUE(decisions.ok()) << decisions.status();
  EXPECT_EQ(decisions->rows, 4);
  EXPECT_EQ(decisions->columns, 2);
  EXPECT_THAT(decisions->values, ElementsAre(0, 1.5f, 0, -2.0f, 0, 0.0f, 0, 3.0f));
  StudyFiles small = Files(31);
  EXPECT_EQ(small.Decisions(matrix).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(StudyFilesTest, WhatLogitsAnswerIsWhatTheirMatrixAnswers) {
  const float nan = std::nanf("");
  const std::vector<float> logits = {1.5f, -2.0f, 0.0f, 3.0f, nan, 1.0f};
  const InputFile file = Array("p", MakeTensorView<float>("l", {3, 2}, logits));
  StudyFiles files = Files();

  const absl::StatusOr<Digest> classes = files.AnswersOfLogits(file, 0);
  const absl::StatusOr<Digest> attributes = files.AnswersOfLogits(file, 2);

  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_EQ(classes->classes, 2);
  EXPECT_THAT(classes->answers, ElementsAre(0, 1, -1));
  ASSERT_TRUE(attributes.ok()) << attributes.status();
  EXPECT_EQ(attributes->classes, 2);
  EXPECT_THAT(attributes->answers, ElementsAre(1, 0, 0, 1, -1, 1));
  EXPECT_THAT(Message(files.AnswersOfLogits(file, 3).status()),
              HasSubstr("expected float32 [examples, 3]"));
}

// A digest is of classes, which one attribute of an example is not.
TEST_F(StudyFilesTest, OnTheWayLogitsOfAttributesAreDecisionsThoughThereAreDigests) {
  const std::vector<int32_t> labels = {1, 0, 0, 1, 0, 1};
  const std::vector<float> logits = {1.5f, -2.0f, 0.0f, 3.0f, -1.0f, 1.0f};
  StudySource source;
  source.sets.emplace_back().labels =
      Array("evaluation_labels", MakeTensorView<int32_t>("l", {3, 2}, labels));
  source.input.cells.emplace_back().hardware = "cpu-a";
  report::MemberInput& member = source.input.members.emplace_back();
  member.id = "s1c0r0";
  member.state = MemberState::kDone;
  const TensorView tensor = MakeTensorView<float>("p", {3, 2}, logits);
  source.members.emplace_back().predictions = Array("predictions", tensor);
  source.members.back().on_the_way = {Array("predictions-1", tensor)};

  const LoadedStudy loaded = LoadArrays(
      source, [&](const InputFile& file) { return scratch_.Path(file.path); },
      [&](const InputFile& file) { return DigestOf(*NpyView::Open(scratch_.Path(file.path))); });

  EXPECT_TRUE(loaded.faults.empty());
  const auto& answers_at = loaded.input.members[0].answers_at;
  ASSERT_TRUE(answers_at.contains(1));
  EXPECT_THAT(answers_at.at(1), ElementsAre(1, 0, 0, 1, 0, 1));
}

// The same thirty numbers, in one order or the other: a pixel has its colours beside each other.
TEST_F(StudyFilesTest, ImagesComeWithTheirColoursFirstOrLastOrWithout) {
  std::vector<uint8_t> values(30);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i);
  StudyFiles files = Files();
  int count = 0;
  const auto read = [&](const Shape& shape) {
    return files.EvaluationImages(
        Array("images" + std::to_string(++count), MakeTensorView<uint8_t>("i", shape, values)));
  };

  const auto first = read({2, 3, 1, 5});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->examples, 2);
  EXPECT_EQ(first->height, 1);
  EXPECT_EQ(first->width, 5);
  EXPECT_EQ(first->channels, 3);
  EXPECT_THAT(first->pixels,
              ElementsAre(0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14,  // Of the first image.
                          15, 20, 25, 16, 21, 26, 17, 22, 27, 18, 23, 28, 19, 24, 29));
  const auto last = read({2, 5, 1, 3});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->height, 5);
  EXPECT_EQ(last->width, 1);
  EXPECT_EQ(last->channels, 3);
  EXPECT_TRUE(std::ranges::equal(last->pixels, values)) << "as they lie";
  const auto grey = read({2, 3, 5});
  ASSERT_TRUE(grey.ok()) << grey.status();
  EXPECT_EQ(grey->height, 3);
  EXPECT_EQ(grey->width, 5);
  EXPECT_EQ(grey->channels, 1);
  EXPECT_TRUE(std::ranges::equal(grey->pixels, values));
  EXPECT_THAT(Message(read({1, 5, 1, 6}).status()), HasSubstr("images of 1 to 4 channels"));
  EXPECT_THAT(Message(read({30}).status()), HasSubstr("uint8 [examples, height, width, channels]"));
}

// A line is of an example, which has two decisions here.
TEST_F(StudyFilesTest, AllDecisionsOfAnExampleAreInItsGroup) {
  const std::vector<int32_t> labels = {1, 0, 0, 1, 0, 1};
  StudySource source;
  source.sets.emplace_back().labels =
      Array("evaluation_labels", MakeTensorView<int32_t>("l", {3, 2}, labels));
  source.sets.back().groups =
      Put("evaluation_groups", "groups.csv", "camera,example\nold,0\nnew,1\nold,2\n");
  source.input.cells.emplace_back().hardware = "cpu-a";

  const LoadedStudy loaded =
      LoadArrays(source, [&](const InputFile& file) { return scratch_.Path(file.path); });

  EXPECT_TRUE(loaded.faults.empty());
  ASSERT_EQ(loaded.input.evaluations[0].groups.size(), 1u);
  const report::ExampleGroups& groups = loaded.input.evaluations[0].groups[0];
  EXPECT_EQ(groups.column, "camera");
  EXPECT_THAT(groups.values, ElementsAre("new", "old"));
  EXPECT_THAT(groups.of_example, ElementsAre(1, 1, 0, 0, 1, 1));
}

TEST_F(StudyFilesTest, AColumnHasAThousandGroupsAtMost) {
  std::string table = "example,id\n";
  for (int x = 0; x < 1000; ++x) table += std::to_string(x) + ",g" + std::to_string(x) + "\n";
  StudyFiles files = Files();
  const auto most = files.Groups(Put("evaluation_groups", "groups.csv", table));
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(most->at(0).values.size(), 1000u);
  EXPECT_THAT(
      Message(files.Groups(Put("evaluation_groups", "more.csv", table + "1000,g1000\n")).status()),
      HasSubstr("more.csv:1: column id has 1001 values; expected at most 1000"));
}

TEST_F(StudyFilesTest, WeightsBesideBuffersAreNotCopied) {
  StudyFiles files = Files(0);

  const auto weights = files.Weights(Weights(0));

  ASSERT_TRUE(weights.ok()) << weights.status();
  ASSERT_EQ((*weights)->parameters.size(), 1u);
  ASSERT_EQ((*weights)->buffers.size(), 1u);
  EXPECT_THAT((*weights)->parameters[0], ElementsAre(2, 3));
  EXPECT_THAT((*weights)->buffers[0], ElementsAre(1));
}

TEST_F(StudyFilesTest, WeightsAreCountedWithoutCopies) {
  const InputFile file = Weights(1);

  const absl::StatusOr<report::WeightsView::Facts> facts = Files(0).FactsOfWeights(file);

  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->parameters, 2u);
  EXPECT_EQ(facts->without_effect, 0);
  EXPECT_EQ(facts->content, file.sha256);
}

TEST_F(StudyFilesTest, CopiesAreLimitedAndCountAsLongAsTheyAreThere) {
  StudyFiles files = Files(12);
  const InputFile file = Weights(1);
  for (int round = 0; round < 3; ++round) {
    const auto first = files.Weights(file);
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = files.Weights(file);
    EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(Message(second.status()), HasSubstr("weights.safetensors"));
    EXPECT_THAT(Message(second.status()), HasSubstr("its values are not aligned"));
    EXPECT_THAT(Message(second.status()), HasSubstr("at most 12 bytes"));
  }
}

TEST(WithoutEffectTest, BiasesDirectlyBeforeBatchNormAreReadFromTheNames) {
  const std::set<std::string> small_cnn = {"conv1.bias",       "conv1.weight", "bn1.bias",
                                           "bn1.running_mean", "bn1.weight",   "conv2.bias",
                                           "dense1.bias"};
  EXPECT_TRUE(IsWithoutEffect("conv1.bias", small_cnn));
  for (const char* name : {"conv1.weight", "bn1.bias", "bn1.weight", "bn1.running_mean",
                           "conv2.bias", "dense1.bias", "bias", ""}) {
    EXPECT_FALSE(IsWithoutEffect(name, small_cnn)) << name;
  }
  EXPECT_TRUE(
      IsWithoutEffect("layer2.0.shortcut.conv.bias", {"layer2.0.shortcut.bn.running_mean"}));
  EXPECT_TRUE(IsWithoutEffect("layer1.0.conv2.bias", {"layer1.0.bn2.running_mean"}));
  EXPECT_FALSE(IsWithoutEffect("layer1.0.conv2.bias", {"layer1.0.bn1.running_mean"}));
}

TEST_F(StudyFilesTest, ParametersWithoutEffectAreCountedAndInNoDistance) {
  const std::string path = scratch_.Path("weights.safetensors");
  const std::vector<float> values = {1, 2, 3};
  ASSERT_TRUE(WriteSafetensors(path, {MakeTensorView<float>("bn1.running_mean", {3}, values),
                                      MakeTensorView<float>("conv1.bias", {3}, values),
                                      MakeTensorView<float>("conv2.bias", {3}, values)})
                  .ok());
  StudyFiles files = Files();

  const InputFile file = {"weights", "s1c0r0", "weights.safetensors", "", 0};

  const auto weights = files.Weights(file);
  const auto facts = files.FactsOfWeights(file);

  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ((*weights)->parameters.size(), 1u);
  EXPECT_EQ((*weights)->buffers.size(), 1u);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->without_effect, 3);
  EXPECT_EQ(facts->parameters, 3u);
}

TEST_F(StudyFilesTest, ValuesThatDoNotLieAsFloatsMustAreCopied) {
  StudyFiles files = Files();
  for (const size_t beyond : {1u, 2u, 3u}) {
    const auto weights = files.Weights(Weights(beyond));

    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_TRUE(IsAligned((*weights)->parameters[0]));
    EXPECT_TRUE(IsAligned((*weights)->buffers[0]));
    EXPECT_THAT((*weights)->parameters[0], ElementsAre(2, 3));
    EXPECT_THAT((*weights)->buffers[0], ElementsAre(1));
  }
}

TEST(IsBufferTest, RunningStatisticsAreNoParameters) {
  for (const char* name : {"bn1.running_mean", "bn1.running_var", "bn1.num_batches_tracked"}) {
    EXPECT_TRUE(IsBuffer(name)) << name;
  }
  for (const char* name : {"bn1.weight", "bn1.bias", "conv1.weight", "running_mean.weight"}) {
    EXPECT_FALSE(IsBuffer(name)) << name;
  }
}

// A study opens weights when it looks at them; then they may have gone.
TEST_F(StudyFilesTest, WeightsThatAreGoneWhenTheyAreLookedAtAreToldOnce) {
  StudySource source;
  source.sets.emplace_back();
  source.input.cells.emplace_back().hardware = "cpu-a";
  for (const char* id : {"s1c0r0", "s1c0r1", "s1c0r2"}) {
    report::MemberInput& member = source.input.members.emplace_back();
    member.id = id;
    member.state = MemberState::kDone;
    source.members.emplace_back().weights = Weights(0);
    source.members.back().weights->member = id;
  }
  std::set<std::string> found;
  const LoadedStudy loaded =
      LoadArrays(source, [&](const InputFile& file) -> absl::StatusOr<std::string> {
        const bool again = !found.insert(file.member).second;
        if (again && file.member == "s1c0r1") {
          return MakeError(absl::StatusCode::kNotFound, "it is gone");
        }
        return scratch_.Path(file.path);
      });
  EXPECT_TRUE(loaded.faults.empty());

  const report::WeightsView view = loaded.input.members[1].weights;
  EXPECT_EQ(view.Opened(), nullptr);
  const report::Study study = BuildStudy(loaded);

  EXPECT_EQ(study.cohorts[0].l2_raw.n, 2);
  EXPECT_EQ(std::ranges::count(study.warnings, "s1c0r1", &report::Warning::subject), 1);
  EXPECT_THAT(study.warnings[0].text, HasSubstr("it is gone. Its weights are left out."));
}

TEST(ClassNamesTest, KnownDataSetsHaveANameForEachClass) {
  for (const KnownDataset& known : KnownDatasets()) {
    const std::vector<std::string> names = ClassNames(known.name);
    EXPECT_EQ(names.size(), static_cast<size_t>(known.classes)) << known.name;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << known.name;
  }
  const std::vector<std::string> fine = ClassNames("cifar100");
  EXPECT_TRUE(std::is_sorted(fine.begin(), fine.end())) << "labels are numbered by the alphabet";
  EXPECT_EQ(fine[51], "mushroom");
  EXPECT_TRUE(ClassNames("something").empty());
}

}  // namespace
}  // namespace noisefloor::inputs
