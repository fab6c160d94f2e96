#include "common/trainer_protocol/schema.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/training_json.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

// A trainer that is none of ours.
constexpr char kForest[] = R"([
  {"path": "forest.trees", "kind": "integer", "least": 1, "most": 1000, "otherwise": 100,
   "help": "how many"},
  {"path": "forest.split", "kind": "choice", "choices": ["gini", "entropy"], "otherwise": "gini"},
  {"path": "forest.share", "kind": "number", "least": 0, "most": 1, "otherwise": 0.5},
  {"path": "table", "kind": "text", "most": 20, "otherwise": ""},
  {"path": "depths", "kind": "integers", "least": 1, "most": 9, "otherwise": []},
  {"path": "bootstrap", "kind": "boolean", "otherwise": true}
])";

SettingsSchema Forest() { return SettingsSchema::FromJson(kForest).value(); }

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// What FromJson says of the schema with one thing changed.
std::string RefusalOfChange(const std::string& from, const std::string& to) {
  return Message(SettingsSchema::FromJson(Replaced(kForest, from, to)).status());
}

// Homes and workers of version 0.2 that told of no settings had these.
TEST(SchemaTest, TheSettingsOfVersion02AreWhatTheyWere) {
  EXPECT_EQ(SettingsOf02()->identity(),
            "e6857f2887b66e466b90ba9389d9b9e58212822d86fd819d84bc7697b61d8ef6");
  EXPECT_EQ(IdentityOf(*SettingsOf02()), "");
  EXPECT_EQ(IdentityOf(Forest()), Forest().identity());
  EXPECT_EQ(BuiltInSchema(""), SettingsOf02());
  EXPECT_EQ(BuiltInSchema(IdentityOf(Forest())), nullptr);
}

// What our trainer promises with Trains: each setting of 0.2 is there, takes what it took, and
// fills in the same value.
TEST(SchemaTest, OursTakeWhatWasWrittenForVersion02) {
  for (const SettingRule& old : SettingsOf02()->rules()) {
    const SettingRule* now = OwnSchema()->Find(old.path);
    ASSERT_NE(now, nullptr) << old.path;
    EXPECT_EQ(now->otherwise, old.otherwise) << old.path;
    if (now->kind == SettingKind::kText && old.kind == SettingKind::kChoice) {
      for (const std::string& choice : old.choices) EXPECT_LE(choice.size(), now->most) << old.path;
      continue;  // A text takes each of them.
    }
    EXPECT_EQ(now->kind, old.kind) << old.path;
    EXPECT_LE(now->least, old.least) << old.path;
    EXPECT_GE(now->most, old.most) << old.path;
    EXPECT_THAT(now->choices, IsSupersetOf(old.choices)) << old.path;
  }
}

TEST(SchemaTest, OursAndNobodyElsesTrainWhatWasWrittenForVersion02) {
  const std::string ours = IdentityOf(*OwnSchema());
  const std::string forest = IdentityOf(Forest());
  EXPECT_TRUE(Trains(ours, ours));
  EXPECT_TRUE(Trains(ours, ""));
  EXPECT_TRUE(Trains(forest, forest));
  EXPECT_FALSE(Trains(forest, ""));
  EXPECT_FALSE(Trains(ours, forest));
  EXPECT_FALSE(Trains(forest, ours));
}

TEST(SchemaTest, OursCanBePublishedAndReadBack) {
  const auto back = SettingsSchema::FromJson(OwnSchema()->ToJson());

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->ToJson(), OwnSchema()->ToJson());
  EXPECT_EQ(back->identity(), OwnSchema()->identity());
  EXPECT_EQ(back->Defaults(), TrainingOf(Specification()).settings);
}

TEST(SchemaTest, ReadsEveryKindWithItsLimits) {
  const SettingsSchema schema = Forest();

  ASSERT_EQ(schema.rules().size(), 6u);
  EXPECT_EQ(schema.Find("forest.trees")->most, 1000);
  EXPECT_EQ(schema.Find("forest.trees")->help, "how many");
  EXPECT_THAT(schema.Find("forest.split")->choices, ElementsAre("gini", "entropy"));
  EXPECT_EQ(schema.Find("forest"), nullptr);
  EXPECT_TRUE(schema.HasSection("forest"));
  EXPECT_FALSE(schema.HasSection("table"));
  EXPECT_THAT(schema.Defaults(),
              ElementsAre(Setting("forest.trees", int64_t{100}),
                          Setting("forest.split", std::string("gini")),
                          Setting("forest.share", 0.5), Setting("table", std::string()),
                          Setting("depths", std::vector<int64_t>{}), Setting("bootstrap", true)));
}

TEST(SchemaTest, TakesWhatTheRuleAcceptsAndSaysWhatItExpected) {
  const SettingsSchema schema = Forest();

  EXPECT_EQ(schema.Take("forest.share", int64_t{1}).value(), SettingValue(1.0));
  EXPECT_EQ(schema.Take("depths", int64_t{3}).value(), SettingValue(std::vector<int64_t>{3}));
  EXPECT_EQ(Message(schema.Take("forest.trees", int64_t{1001}).status()),
            "forest.trees: expected an integer from 1 to 1000, got 1001");
  EXPECT_EQ(Message(schema.Take("forest.split", std::string("Gini")).status()),
            "forest.split: expected one of gini, entropy, got Gini");
  EXPECT_EQ(Message(schema.Take("table", std::string(21, 'x')).status()),
            "table: expected a text of at most 20 characters, got " + std::string(21, 'x'));
  EXPECT_EQ(Message(schema.Take("forest.tree", int64_t{1}).status()),
            "unknown key forest.tree; did you mean forest.trees?");
  EXPECT_EQ(Message(schema.Take("train.optimizer", int64_t{1}).status()),
            "unknown key train.optimizer");
}

// Two that accept the same and fill it in alike are one, whatever they tell people.
TEST(SchemaTest, IdentityIsOfAllButTheWordsForPeople) {
  const std::string identity = Forest().identity();
  const auto changed = [](const std::string& from, const std::string& to) {
    return SettingsSchema::FromJson(Replaced(kForest, from, to)).value().identity();
  };

  EXPECT_EQ(changed("how many", "the number of trees"), identity);
  EXPECT_NE(changed("1000", "1001"), identity);
  EXPECT_NE(changed("\"least\": 1,", "\"least\": 2,"), identity);
  EXPECT_NE(changed("100,", "101,"), identity);
  EXPECT_NE(changed("entropy", "entropies"), identity);
  EXPECT_NE(changed("forest.share", "forest.part"), identity);
}

TEST(SchemaTest, RefusesWhatIsNoSchemaAndSaysWhere) {
  EXPECT_EQ(RefusalOfChange("\"integer\"", "\"whole\""),
            "settings[0].kind: expected boolean, integer, number, choice, text or integers");
  EXPECT_THAT(RefusalOfChange("\"least\": 1, \"most\": 1000,", ""), HasSubstr("settings[0].least"));
  EXPECT_THAT(RefusalOfChange("\"most\": 1000", "\"most\": 0"), HasSubstr("not below least"));
  EXPECT_THAT(RefusalOfChange("[\"gini\", \"entropy\"]", "[]"), HasSubstr("settings[1].choices"));
  EXPECT_THAT(RefusalOfChange("\"gini\", \"entropy\"", "\"gini\", 3"),
              HasSubstr("settings[1].choices"));
  EXPECT_EQ(RefusalOfChange("0.5", "1.5"),
            "settings[2].otherwise: forest.share: expected a number from 0 to 1, got 1.5");
  EXPECT_THAT(RefusalOfChange("\"table\"", "\"Table\""), HasSubstr("settings[3].path"));
  EXPECT_THAT(RefusalOfChange("\"table\"", "\"a..b\""), HasSubstr("settings[3].path"));
  EXPECT_THAT(RefusalOfChange("\"table\"", "\"notes\""),
              HasSubstr("what a sweep file has already"));
  EXPECT_THAT(RefusalOfChange("\"table\"", "\"noise.init\""),
              HasSubstr("what a sweep file has already"));
  EXPECT_THAT(RefusalOfChange("\"otherwise\": true", "\"otherwise\": true, \"unit\": 1"),
              HasSubstr("settings[5].unit"));
  EXPECT_EQ(RefusalOfChange("\"table\"", "\"bootstrap\", \"x\": 1").find("settings[3]"), 0u);
  EXPECT_EQ(Message(SettingsSchema::FromJson("{}").status()),
            "settings: expected a list of at most 1000");
  EXPECT_FALSE(SettingsSchema::FromJson("[").ok());
  EXPECT_EQ(Message(SettingsSchema::FromJson(std::string(kMostSchemaBytes + 1, ' ')).status()),
            "settings: expected at most 256 KiB");
}

// A setting by such a name could never be written down in a sweep file.
TEST(SchemaTest, NoSettingHasTheNameOfWhatASweepFileHasAlready) {
  for (const std::string taken :
       {"name", "seed", "axes", "noise", "hardware", "hardware_class", "stack", "replicates",
        "blocks", "notes", "tags", "reference_accuracy", "stacks", "until", "kind", "design"}) {
    EXPECT_THAT(RefusalOfChange("\"table\"", "\"" + taken + "\""),
                HasSubstr("what a sweep file has already"))
        << taken;
    EXPECT_THAT(RefusalOfChange("\"table\"", "\"" + taken + ".of\""),
                HasSubstr("what a sweep file has already"))
        << taken;
  }
}

TEST(SchemaTest, APathHasLettersDigitsAndTwoSigns) {
  const auto path = [](const std::string& text) {
    return RefusalOfChange("\"table\"", "\"" + text + "\"");
  };
  const std::vector<std::string> good = {"a", "z.a", "x09.b_c-d", "0.9", std::string(200, 'a')};
  for (const std::string& one : good) EXPECT_EQ(path(one), "") << one;
  for (const char* wrong : {"", ".a", "a.", "a b", "A", "a/b", "a:", "a{", "a`"}) {
    EXPECT_THAT(path(wrong), HasSubstr("settings[3].path")) << wrong;
  }
}

TEST(SchemaTest, RefusesPathsThatASweepFileCannotHold) {
  EXPECT_EQ(RefusalOfChange("\"table\"", "\"forest.trees\""), "settings: two of forest.trees");
  EXPECT_EQ(RefusalOfChange("\"bootstrap\"", "\"forest.late\""),
            "settings: forest.late stands apart from others of its section");
  EXPECT_EQ(RefusalOfChange("\"table\"", "\"depths.all\""),
            "settings: depths is a setting and a section");
}

TEST(TrainingTest, OneOfOursIsUnderstoodWithItsDefaults) {
  Training training = TrainingOf(Specification());
  PutSetting(training.settings, "train.epochs", int64_t{7});
  std::erase_if(training.settings,
                [](const Setting& setting) { return setting.first == "model.hidden"; });
  training.Source(NoiseSource::kInit).state = SourceState::kFree;
  training.stack = "s";

  const std::optional<Specification> read = Understood(training);

  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->train.epochs, 7);
  EXPECT_EQ(read->model.hidden, Specification().model.hidden);
  EXPECT_EQ(read->Source(NoiseSource::kInit).state, SourceState::kFree);
  EXPECT_EQ(read->stack, "s");
}

TEST(TrainingTest, OneOfAnothersIsNot) {
  EXPECT_FALSE(Understood({.settings = Forest().Defaults()}).has_value());
  EXPECT_FALSE(Understood({}).has_value()) << "nothing says that it is ours";
  Training with_more = TrainingOf(Specification());
  PutSetting(with_more.settings, "model.depth", int64_t{3});
  EXPECT_FALSE(Understood(with_more).has_value());
  Training beyond = TrainingOf(Specification());
  PutSetting(beyond.settings, "train.epochs", int64_t{-1});
  EXPECT_FALSE(Understood(beyond).has_value());
}

TEST(TrainingTest, TheTextOfOneOfOursIsThatOfItsSpecification) {
  Specification specification;
  specification.train.optimizer.learning_rate = 0.1 + 0.2;

  EXPECT_EQ(SpecificationFromJson(TrainingToJson(TrainingOf(specification)))
                ->train.optimizer.learning_rate,
            0.1 + 0.2);
  EXPECT_EQ(TrainingToJson(TrainingOf(specification)), SpecificationToJson(specification));
  EXPECT_THAT(TrainingToJson({.settings = Forest().Defaults(), .stack = "forest"}),
              testing::AllOf(HasSubstr(R"("forest":{"share":0.5,"split":"gini","trees":100})"),
                             HasSubstr(R"("stack":"forest")")));
}

TEST(SettingTest, ValuesAreFoundReplacedAndAdded) {
  Settings settings = {{"a", int64_t{1}}, {"b.c", std::string("x")}};

  EXPECT_EQ(IntSetting(settings, "a"), 1);
  EXPECT_EQ(IntSetting(settings, "b.c"), 0);
  EXPECT_EQ(TextSetting(settings, "b.c"), "x");
  EXPECT_EQ(TextSetting(settings, "a"), "");
  EXPECT_EQ(FindSetting(settings, "b"), nullptr);
  PutSetting(settings, "a", 2.5);
  PutSetting(settings, "d", true);
  EXPECT_THAT(settings,
              ElementsAre(Setting("a", 2.5), Setting("b.c", std::string("x")), Setting("d", true)));
}

}  // namespace
}  // namespace noisefloor
