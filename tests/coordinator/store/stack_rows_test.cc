// Which stacks workers have offered, read back as the coordinator needs them when it starts.
#include "coordinator/store/stack_rows.h"

#include "SQLiteCpp/Database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/fields.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kForest[] =
    R"([{"path": "trees", "kind": "integer", "least": 1, "most": 9, "otherwise": 3}])";
constexpr char kWoods[] =
    R"([{"path": "trees", "kind": "integer", "least": 1, "most": 99, "otherwise": 3}])";

SettingsSchemaRef SchemaFrom(const std::string& json) {
  return std::make_shared<const SettingsSchema>(SettingsSchema::FromJson(json).value());
}

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(1700000000 + seconds); }

class StackRowsTest : public ::testing::Test {
 protected:
  void Apply(const std::vector<scheduler::Write>& writes) {
    auto store = SqliteStore::Open(home_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Apply(writes).ok());
  }
  // The worker opens a session and says that it has these stacks.
  static scheduler::KeepWorker Worker(uint64_t number, int64_t seen,
                                      const std::map<std::string, std::string>& schema_of_stack) {
    std::string offers;
    for (const auto& [stack, schema] : schema_of_stack) {
      offers += (offers.empty() ? "" : ",") +
                (R"({"hardware_class":"c","stack":")" + stack + R"(","schema":")" + schema + "\"}");
    }
    return {WorkerId{number},
            "w" + std::to_string(number),
            number,
            R"({"offers":[)" + offers + "]}",
            "0.2",
            At(seen)};
  }
  // "STACK of WORKER" of each.
  std::vector<std::string> Read() {
    std::vector<std::string> texts;
    const auto stacks = ReadOfferedStacks(home_.path());
    EXPECT_TRUE(stacks.ok()) << stacks.status();
    if (!stacks.ok()) return texts;
    for (const OfferedStack& one : *stacks) {
      texts.push_back(one.stack + " of " + one.worker_name);
    }
    return texts;
  }

  const SettingsSchemaRef forest_ = SchemaFrom(kForest);
  const SettingsSchemaRef woods_ = SchemaFrom(kWoods);
  TempHome home_;
};

TEST_F(StackRowsTest, TheNewestWorkerSaysWhichSettingsAStackHas) {
  Apply({scheduler::KeepSchema{forest_}, scheduler::KeepSchema{woods_},
         Worker(1, 20, {{"a", woods_->identity()}, {"b", woods_->identity()}}),
         Worker(2, 10, {{"a", forest_->identity()}, {"c", ""}})});

  EXPECT_THAT(Read(), ElementsAre("a of w1", "b of w1", "c of w2"));
  const auto stacks = ReadOfferedStacks(home_.path());
  EXPECT_EQ(stacks->at(0).schema->identity(), woods_->identity());
  EXPECT_EQ(stacks->at(0).worker, WorkerId{1});
  EXPECT_EQ(stacks->at(0).seen, At(20));
  EXPECT_EQ(stacks->at(2).schema, SettingsOf02());
}

TEST_F(StackRowsTest, AWorkerThatIsForgottenSpeaksLast) {
  Apply({scheduler::KeepSchema{forest_}, scheduler::KeepSchema{woods_},
         Worker(1, 10, {{"a", forest_->identity()}}),
         Worker(2, 20, {{"a", woods_->identity()}, {"b", woods_->identity()}}),
         scheduler::ForgetWorker{WorkerId{2}}});

  EXPECT_THAT(Read(), ElementsAre("a of w1", "b of w2"));
}

TEST_F(StackRowsTest, OnlySoManyWorkersAreLookedAt) {
  std::vector<scheduler::Write> writes;
  for (int i = 1; i <= kMostStackWorkers + 1; ++i) {
    writes.push_back(Worker(static_cast<uint64_t>(i), i, {{"s" + std::to_string(i), ""}}));
  }
  Apply(writes);

  const std::vector<std::string> stacks = Read();

  EXPECT_EQ(stacks.size(), static_cast<size_t>(kMostStackWorkers));
  EXPECT_THAT(stacks, ::testing::Not(::testing::Contains("s1 of w1")));
}

TEST_F(StackRowsTest, RowsThatMakeNoSenseAreNamed) {
  Apply({scheduler::KeepSchema{forest_}, Worker(7, 1, {{"a", forest_->identity()}})});
  const auto damage = [this](const std::string& sql) {
    SQLite::Database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs()).exec(sql);
    return Message(ReadOfferedStacks(home_.path()).status());
  };

  EXPECT_THAT(damage("UPDATE settings_schema SET settings = '[]'"),
              HasSubstr("settings " + forest_->identity() + ": other settings"));
  EXPECT_THAT(damage("UPDATE settings_schema SET settings = '['"),
              HasSubstr("the store is damaged"));
  EXPECT_THAT(damage("DELETE FROM settings_schema"), HasSubstr("worker 7: there are no settings"));
  EXPECT_THAT(damage("UPDATE worker SET inventory = '{'"), HasSubstr("the stacks of workers"));
}

}  // namespace
}  // namespace noisefloor
