#include "common/trainer_protocol/fields.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/datasets.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::Field;

std::string RefusalOf(std::string_view path, SettingValue value) {
  Specification specification;
  return Message(SetField(specification, path, std::move(value)));
}

TEST(FieldsTest, EveryFieldReadsBackWhatWasSetAndTouchesNoOther) {
  for (const noisefloor::Field& field : AllFields()) {
    Specification specification;
    SettingValue value = field.get(specification);
    if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
    if (auto* whole = std::get_if<int64_t>(&value)) *whole = *whole == 3 ? 4 : 3;
    if (auto* number = std::get_if<double>(&value)) *number = *number == 0.25 ? 0.5 : 0.25;
    if (auto* list = std::get_if<std::vector<int64_t>>(&value)) *list = {1, 3};
    if (auto* text = std::get_if<std::string>(&value)) {
      *text =
          field.rule.kind == SettingKind::kChoice ? std::string(field.rule.choices.back()) : "text";
    }

    ASSERT_EQ(Message(SetField(specification, field.rule.path, value)), "") << field.rule.path;

    EXPECT_EQ(field.get(specification), value) << field.rule.path;
    const Specification untouched;
    for (const noisefloor::Field& other : AllFields()) {
      if (other.rule.path == field.rule.path) continue;
      EXPECT_EQ(other.get(specification), other.get(untouched))
          << field.rule.path << " " << other.rule.path;
    }
  }
}

TEST(FieldsTest, PathsAreDistinctAndHaveHelp) {
  std::set<std::string_view> paths;
  for (const noisefloor::Field& field : AllFields()) {
    EXPECT_TRUE(paths.insert(field.rule.path).second) << field.rule.path;
    EXPECT_FALSE(field.rule.help.empty()) << field.rule.path;
  }
}

TEST(FieldsTest, DefaultsAreWithinTheirLimits) {
  const Specification defaults;
  for (const noisefloor::Field& field : AllFields()) {
    Specification specification;
    EXPECT_EQ(Message(SetField(specification, field.rule.path, field.get(defaults))), "");
  }
}

TEST(FieldsTest, WrongValuesAreRefusedWithWhatWasExpected) {
  EXPECT_EQ(RefusalOf("train.epochs", int64_t{-1}),
            "train.epochs: expected an integer from 0 to 100000, got -1");
  EXPECT_EQ(RefusalOf("train.epochs", 1.5),
            "train.epochs: expected an integer from 0 to 100000, got 1.5");
  EXPECT_EQ(RefusalOf("model.batch_norm", std::string("yes")),
            "model.batch_norm: expected true or false, got yes");
  EXPECT_EQ(RefusalOf("model.name", std::string("lenet5")),
            "model.name: expected one of small_cnn, medium_cnn, resnet18, mlp, kernel_cnn, lenet, "
            "resnet9, resnet9_whitened, "
            "resnet20, resnet50, resnet101, resnet152, vgg16, vgg19, densenet121, densenet169, "
            "densenet201, inception_v3, xception, mobilenet, efficientnet_b0, vit, got lenet5");
  EXPECT_EQ(RefusalOf("train.optimizer.learning_rate", std::numeric_limits<double>::infinity()),
            "train.optimizer.learning_rate: expected a number from 0 to 1e+30, got inf");
  EXPECT_EQ(RefusalOf("train.schedule.milestones", std::vector<int64_t>{1, 0}),
            "train.schedule.milestones: expected a list of integers from 1 to 100000, got [1, 0]");
  EXPECT_EQ(
      RefusalOf("model.name", std::string()),
      "model.name: expected one of small_cnn, medium_cnn, resnet18, mlp, kernel_cnn, lenet, "
      "resnet9, resnet9_whitened, "
      "resnet20, resnet50, resnet101, resnet152, vgg16, vgg19, densenet121, densenet169, "
      "densenet201, inception_v3, xception, mobilenet, efficientnet_b0, vit, got an empty text");
  EXPECT_EQ(RefusalOf("data.identity", std::string(65, 'a')),
            "data.identity: expected a text of at most 64 characters, got " + std::string(65, 'a'));
}

TEST(FieldsTest, UnknownPathsNameTheNearestKnownOne) {
  EXPECT_EQ(RefusalOf("train.epoch", int64_t{1}),
            "unknown key train.epoch; did you mean train.epochs?");
  EXPECT_EQ(RefusalOf("zzz", int64_t{1}), "unknown key zzz");
}

TEST(FieldsTest, AnIntegerIsANumberAndASingleIntegerAList) {
  Specification specification;
  ASSERT_EQ(Message(SetField(specification, "train.optimizer.learning_rate", int64_t{1})), "");
  ASSERT_EQ(Message(SetField(specification, "train.schedule.milestones", int64_t{2})), "");

  EXPECT_EQ(specification.train.optimizer.learning_rate, 1.0);
  EXPECT_THAT(specification.train.schedule.milestones, ElementsAre(2));
}

// Of programs whose numbers are all of one kind.
TEST(FieldsTest, AWholeNumberIsAnIntegerWhereOneIsAsked) {
  EXPECT_EQ(OwnSchema()->Take("train.epochs", 2.0).value(), SettingValue(int64_t{2}));
  EXPECT_EQ(OwnSchema()->Take("train.schedule.milestones", 3.0).value(),
            SettingValue(std::vector<int64_t>{3}));
  EXPECT_EQ(RefusalOf("train.epochs", -1.0),
            "train.epochs: expected an integer from 0 to 100000, got -1");
  EXPECT_EQ(RefusalOf("train.epochs", 1e300),
            "train.epochs: expected an integer from 0 to 100000, got 1e+300");
  EXPECT_EQ(RefusalOf("train.epochs", std::numeric_limits<double>::quiet_NaN()),
            "train.epochs: expected an integer from 0 to 100000, got nan");
}

TEST(DatasetsTest, KnownSetsAreFoundByName) {
  for (const KnownDataset& known : KnownDatasets()) EXPECT_EQ(FindDataset(known.name), &known);
  EXPECT_EQ(FindDataset("imagenet"), nullptr);
}

}  // namespace
}  // namespace noisefloor
