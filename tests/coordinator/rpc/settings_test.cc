// Trainers with settings of their own, and sweep files submitted as text.
#include "common/rpc/settings.h"

#include "SQLiteCpp/Database.h"

#include "common/rpc/status.h"
#include "common/trainer_protocol/fields.h"
#include "coordinator/store/database.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Code = absl::StatusCode;

constexpr char kForest[] = R"([
  {"path": "forest.trees", "kind": "integer", "least": 1, "most": 1000, "otherwise": 100,
   "help": "how many"},
  {"path": "forest.split", "kind": "choice", "choices": ["gini", "entropy"], "otherwise": "gini"},
  {"path": "rows", "kind": "integers", "least": 1, "most": 9, "otherwise": [2, 3]}
])";

constexpr char kFile[] =
    "name: woods\n"
    "stack: forest\n"
    "hardware: [cpu-amd-avx2]\n"
    "forest:\n"
    "  split: entropy\n"
    "axes: {forest.trees: [10, 20]}\n"
    "noise: [control]\n"
    "replicates: 1\n";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// A worker whose trainer nobody else has.
v1::SessionRequest ForestWorker(const std::string& settings = kForest) {
  v1::SessionRequest request = RegisterAs("woods", 9);
  v1::Inventory& inventory = *request.mutable_register_()->mutable_inventory();
  inventory.mutable_offers(0)->set_stack("forest");
  inventory.mutable_offers(0)->set_schema(SettingsSchema::FromJson(settings).value().identity());
  inventory.add_schemas(settings);
  return request;
}

class SettingsTest : public CoordinatorTest {
 protected:
  // Registers it; welcomed.
  void Bring(const v1::SessionRequest& registration) {
    worker_ = std::make_unique<ScriptedWorker>(*workers_);
    ASSERT_TRUE(worker_->Send(registration));
    ASSERT_TRUE(worker_->Next(ScriptedWorker::Case::kWelcome).has_value());
  }
  ~SettingsTest() override { worker_.reset(); }

  absl::StatusOr<v1::ListSettingsResponse> SettingsOf(const std::string& stack) {
    v1::ListSettingsRequest request;
    request.set_stack(stack);
    return Call(&People::ListSettings, request);
  }
  absl::StatusOr<v1::SubmitSweepResponse> SubmitFile(const std::string& text) {
    v1::SubmitSweepRequest request;
    request.set_file(text);
    return Call(&People::SubmitSweep, request);
  }
  // "LINE:COLUMN: FIELD: DESCRIPTION" of each violation.
  static std::vector<std::string> Places(const absl::Status& refused) {
    std::vector<std::string> places;
    const auto bad = BadSweepOf(refused);
    if (!bad) return {refused.ToString()};
    for (const v1::FieldViolation& one : bad->violations()) {
      places.push_back(std::to_string(one.line()) + ":" + std::to_string(one.column()) + ": " +
                       one.field() + ": " + one.description());
    }
    return places;
  }

  std::unique_ptr<ScriptedWorker> worker_;
};

TEST_F(SettingsTest, OursAreKnownBeforeAnyWorkerCame) {
  const auto ours = SettingsOf("");

  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_THAT(ours->stacks(), ElementsAre("torch-2.11-cu130", "torch-2.7-cu126"));
  EXPECT_EQ(ours->schema_sha256(), OwnSchema()->identity());
  const auto schema = SchemaFrom(*ours);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->ToJson(), OwnSchema()->ToJson());
  EXPECT_EQ(SettingsOf("torch-2.11-cu130")->schema_sha256(), ours->schema_sha256());
}

TEST_F(SettingsTest, AnUnknownStackIsRefusedWithTheCommandThatBringsIt) {
  const absl::Status unknown = SettingsOf("forest").status();

  EXPECT_EQ(unknown.code(), Code::kNotFound);
  EXPECT_THAT(Message(unknown), HasSubstr("noisefloor run --trainer \"forest=COMMAND\""));
  EXPECT_EQ(SettingsOf("for est").status().code(), Code::kInvalidArgument);
  v1::Sweep sweep = SmallSweep("a", 1);
  sweep.add_stacks("torch-2.11-cu13");
  EXPECT_THAT(Places(Submit(sweep).status()),
              ElementsAre(testing::AllOf(
                  HasSubstr("stacks[0]: nobody has offered the stack torch-2.11-cu13 here"),
                  HasSubstr("did you mean torch-2.11-cu130?"))));
  EXPECT_THAT(Places(SubmitFile(kFile).status()),
              ElementsAre(HasSubstr("2:8: stacks: nobody has offered the stack forest here")));
}

TEST_F(SettingsTest, AWorkerBringsTheSettingsOfItsTrainer) {
  Bring(ForestWorker());

  const auto settings = SettingsOf("forest");

  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->stacks(), ElementsAre("forest"));
  ASSERT_EQ(settings->settings_size(), 3);
  EXPECT_EQ(settings->settings(0).help(), "how many");
  EXPECT_EQ(settings->settings(0).kind(), v1::SETTING_KIND_INTEGER);
  EXPECT_EQ(settings->settings(0).most(), 1000);
  EXPECT_THAT(settings->settings(1).choices(), ElementsAre("gini", "entropy"));
  EXPECT_THAT(settings->settings(2).otherwise().list().values(), ElementsAre(2, 3));
}

TEST_F(SettingsTest, ASweepIsFilledInAndLeasedWithTheSettingsOfItsStack) {
  Bring(ForestWorker());
  const auto sweep = SubmitFile(kFile);
  ASSERT_TRUE(sweep.ok()) << sweep.status();

  const v1::StartMember start = worker_->Started();

  EXPECT_THAT(start.specification(), HasSubstr(R"("forest":{"split":"entropy","trees":10})"));
  EXPECT_THAT(start.specification(), HasSubstr(R"("rows":[2,3])"));
  EXPECT_THAT(start.specification(), HasSubstr(R"("stack":"forest")"));
  EXPECT_THAT(start.specification(), testing::Not(HasSubstr("train")));
  v1::GetSweepRequest asked;
  asked.set_sweep_id(sweep->sweep_id());
  const auto kept = Call(&People::GetSweep, asked);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->file(), kFile);
  EXPECT_THAT(kept->resolved_file(), HasSubstr("forest:\n  split: \"entropy\"\n  trees: 100\n"));
  const auto again = SubmitFile(kept->resolved_file());
  ASSERT_TRUE(again.ok()) << again.status();
  asked.set_sweep_id(again->sweep_id());
  EXPECT_EQ(Call(&People::GetSweep, asked)->sweep().specification_sha256(),
            kept->sweep().specification_sha256());
}

TEST_F(SettingsTest, SettingsOfAnotherTrainerAreRefused) {
  Bring(ForestWorker());

  EXPECT_THAT(
      Places(
          SubmitFile(Replaced(kFile, "forest:\n  split: entropy", "train:\n  epochs: 1")).status()),
      ElementsAre(HasSubstr("4:1: train: ")));
  EXPECT_THAT(Places(SubmitFile(Replaced(kFile, "[10, 20]", "[10, 2000]")).status()),
              ElementsAre("6:27: axes.forest.trees[1]: expected an integer from 1 to 1000, got "
                          "2000"));
  v1::Sweep both = SmallSweep("a", 1);
  both.add_stacks("torch-2.11-cu130");
  both.add_stacks("forest");
  EXPECT_THAT(Places(Submit(both).status()),
              ElementsAre(HasSubstr("stacks[1]: forest has other settings than torch-2.11-cu130")));
}

// A member waits for a trainer with the settings that its sweep was checked against, and says so.
TEST_F(SettingsTest, ATrainerWithOtherSettingsIsGivenNothingOfTheSweep) {
  Bring(ForestWorker());
  const auto sweep = SubmitFile(Replaced(kFile, "[10, 20]", "[10]"));
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const uint64_t lease = worker_->Started().lease_id();
  ASSERT_GT(lease, 0u);
  worker_.reset();
  Restart();
  const std::string newer = Replaced(kForest, "1000", "2000");

  Bring(ForestWorker(newer));

  v1::ExplainMemberRequest request;
  request.set_member("s1c0r0");
  EXPECT_THAT(Call(&People::ExplainMember, request)->text(),
              HasSubstr("what woods offers has other settings than those that s1 was checked "
                        "against"));
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM settings_schema").getInt(), 2);
}

// A worker that is away for a moment while the coordinator restarts: nothing is refused for it.
TEST_F(SettingsTest, AStackIsKnownAfterARestartBeforeItsWorkerIsBack) {
  Bring(ForestWorker());
  worker_.reset();
  Restart();

  const auto settings = SettingsOf("forest");

  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->stacks(), ElementsAre("forest"));
  EXPECT_EQ(settings->schema_sha256(), SettingsSchema::FromJson(kForest).value().identity());
  const auto sweep = SubmitFile(kFile);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  Bring(ForestWorker());
  EXPECT_THAT(worker_->Started().specification(), HasSubstr(R"("split":"entropy")"));
}

TEST_F(SettingsTest, AWorkerThatComesBackWithoutItsStackNoLongerVouchesForIt) {
  Bring(ForestWorker());
  worker_.reset();
  Restart();
  Bring(RegisterAs("woods", 9));

  EXPECT_THAT(Message(SettingsOf("forest").status()),
              HasSubstr("nobody offers the stack forest any more: worker woods had it last, on 2"));
}

TEST_F(SettingsTest, OfAStackWhoseWorkerIsForgottenItIsToldWhoHadIt) {
  Bring(ForestWorker());
  worker_.reset();
  coordinator_.reset();
  SQLite::Database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs())
      .exec("UPDATE worker SET forgotten = 1");
  Start();

  const absl::Status refused = SettingsOf("forest").status();

  EXPECT_EQ(refused.code(), Code::kNotFound);
  EXPECT_THAT(Message(refused), HasSubstr("worker woods had it last, on 2"));
  EXPECT_THAT(Message(refused), HasSubstr("noisefloor run --trainer \"forest=COMMAND\""));
}

TEST_F(SettingsTest, SettingsThatAreDamagedAreUnknownUntilTheWorkerIsBack) {
  Bring(ForestWorker());
  worker_.reset();
  coordinator_.reset();
  SQLite::Database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs())
      .exec("UPDATE settings_schema SET settings = '['");
  Start();

  EXPECT_EQ(SettingsOf("forest").status().code(), Code::kNotFound);
  Bring(ForestWorker());
  EXPECT_TRUE(SettingsOf("forest").ok());
}

TEST_F(SettingsTest, WhatIsNoSchemaIsRefusedAtRegistration) {
  const auto refusal = [&](const std::function<void(v1::Inventory&)>& change) {
    v1::SessionRequest request = ForestWorker();
    change(*request.mutable_register_()->mutable_inventory());
    ScriptedWorker worker(*workers_);
    EXPECT_TRUE(worker.Send(request));
    return Message(worker.End());
  };

  EXPECT_THAT(refusal([](v1::Inventory& inventory) { inventory.set_schemas(0, "[3]"); }),
              HasSubstr("register.inventory.schemas: settings[0]"));
  EXPECT_THAT(refusal([](v1::Inventory& inventory) { inventory.clear_schemas(); }),
              HasSubstr("register.inventory.offers.schema"));
  EXPECT_THAT(refusal([](v1::Inventory& inventory) {
                for (int i = 0; i < 16; ++i) inventory.add_schemas("[]");
              }),
              HasSubstr("0 to 16 entries"));
}

TEST_F(SettingsTest, AFileIsReadAsTheCommandLineReadsIt) {
  constexpr char kGood[] =
      "name: a\nnoise: [control]\nhardware: [cpu-amd-avx2]\ntrain: {epochs: 1}\nreplicates: 2\n";
  EXPECT_THAT(Places(SubmitFile("name: a\nnoise: [control]\ntrain:\n  epoch: 1\n").status()),
              ElementsAre("4:3: train.epoch: unknown key; did you mean train.epochs?"));
  EXPECT_THAT(Places(SubmitFile("name: a\nnoise: [control]\nhardware: [cpu-amd-avx2]\n"
                                "train: {optimizer: {nesterov: true}}\n")
                         .status()),
              ElementsAre(HasSubstr("4:31: train.optimizer.nesterov: needs")))
      << "what only the core knows";
  EXPECT_THAT(Places(SubmitFile("name: [").status()), ElementsAre(HasSubstr("1:")));
  v1::PlanSweepRequest plan;
  plan.set_file(kGood);
  const auto planned = Call(&People::PlanSweep, plan);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->members(), 2u);
  const auto sweep = SubmitFile(kGood);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  v1::GetSweepRequest asked;
  asked.set_sweep_id(sweep->sweep_id());
  EXPECT_EQ(Call(&People::GetSweep, asked)->sweep().specification_sha256(),
            planned->specification_sha256());
  plan.set_file(std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(Call(&People::PlanSweep, plan).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Call(&People::PlanSweep, v1::PlanSweepRequest()).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace noisefloor::test
