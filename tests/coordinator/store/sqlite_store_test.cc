#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "SQLiteCpp/Statement.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/extend.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using scheduler::AppendEvent;
using scheduler::MemberState;
using scheduler::RecoveredState;
using scheduler::Write;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  void Reopen() {
    store_.reset();
    auto opened = SqliteStore::Open(home_.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  RecoveredState Recovered() {
    auto state = store_->Recover();
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? *std::move(state) : RecoveredState{};
  }

  std::string Ask(const std::string& sql) {
    auto reader = OpenForReading(DatabasePath(home_.path()));
    EXPECT_TRUE(reader.ok()) << reader.status();
    SQLite::Statement row(**reader, sql);
    return row.executeStep() ? row.getColumn(0).getString() : "(none)";
  }

  // The number of rows of every table.
  std::map<std::string, std::string> Sizes() {
    auto reader = OpenForReading(DatabasePath(home_.path()));
    SQLite::Statement row(**reader,
                          "SELECT name FROM sqlite_schema WHERE type = 'table' "
                          "AND name NOT LIKE 'sqlite_%'");
    std::map<std::string, std::string> sizes;
    while (row.executeStep()) {
      const std::string table = row.getColumn(0).getString();
      sizes[table] = Ask("SELECT count(*) FROM " + table);
    }
    return sizes;
  }

  TempHome home_;
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(SqliteStoreTest, EmptyStoreRecoversNothing) {
  const RecoveredState state = Recovered();

  EXPECT_TRUE(state.sweeps.empty());
  EXPECT_EQ(state.last_lease, LeaseId{0});
  EXPECT_EQ(state.last_sweep, SweepId{0});
}

TEST_F(SqliteStoreTest, EverythingThatWasAppliedIsRecoveredByTheNextProcess) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  Reopen();

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.sweeps.size(), 1u);
  const scheduler::RecoveredSweep& sweep = state.sweeps[0];
  EXPECT_EQ(sweep.id, SweepId{1});
  EXPECT_EQ(sweep.request_id, "request-1");
  EXPECT_EQ(sweep.specification_sha256, sample::Keep().specification_sha256);
  EXPECT_EQ(sweep::CanonicalText(sweep.content), sweep::CanonicalText(sample::Content()));
  EXPECT_EQ(sweep.content.notes, "first \"look\"");
  EXPECT_EQ(sweep.content.tags, sample::Content().tags);
  EXPECT_EQ(sweep.identities.at("fashion-mnist-sample"), sample::kIdentity);
  EXPECT_THAT(sweep.cells_with_evaluation_set, ElementsAre(0));
  EXPECT_EQ(state.last_sweep, SweepId{1});
  EXPECT_EQ(state.last_lease, LeaseId{4});
  EXPECT_EQ(state.last_worker, WorkerId{2});
}

TEST_F(SqliteStoreTest, HowPeopleShareAFleetIsRecoveredByTheNextProcess) {
  std::vector<Write> writes = sample::Story();
  std::get<scheduler::KeepSweep>(writes[0]).sharing = {"ada", 7, false, 1, false};
  const scheduler::Sharing now = {"ada", -3, true, 5, true, 2, {{"cpu-test-avx2", 3}}, 8};
  writes.push_back(scheduler::KeepSharing{SweepId{1}, now});
  for (const uint32_t weight : {2, 9}) writes.push_back(scheduler::KeepShare{"ada", weight});
  for (const uint32_t weight : {3, 1}) writes.push_back(scheduler::KeepShare{"emmy", weight});
  scheduler::KeepNotes noted{SweepId{1}, sample::Content(), 2};
  noted.content.notes = "second \"look\"";
  noted.content.tags = {{"paper", "main"}};
  writes.push_back(noted);
  writes.push_back(scheduler::KeepWorkerUse{WorkerId{1}, false, {"GPU-7"}});
  writes.push_back(scheduler::KeepWorkerUse{WorkerId{1}, false, {}});
  writes.push_back(scheduler::KeepWorkerUse{WorkerId{2}, true, {"GPU-9", ""}});
  ASSERT_TRUE(store_->Apply(writes).ok());
  ASSERT_TRUE(store_->Apply(writes).ok()) << "twice is once";
  Reopen();

  const RecoveredState state = Recovered();

  EXPECT_EQ(state.sweeps[0].sharing, now);
  EXPECT_THAT(state.weights, ElementsAre(testing::Pair("ada", 9u)));
  EXPECT_EQ(state.sweeps[0].revision, 2u);
  EXPECT_EQ(state.sweeps[0].content.notes, "second \"look\"");
  EXPECT_EQ(state.sweeps[0].content.tags, noted.content.tags);
  ASSERT_EQ(state.workers.size(), 2u);
  EXPECT_FALSE(state.workers[0].drained);
  EXPECT_THAT(state.workers[0].quarantined, testing::IsEmpty());
  EXPECT_TRUE(state.workers[1].drained);
  EXPECT_THAT(state.workers[1].quarantined, ElementsAre("", "GPU-9"));
  EXPECT_EQ(Ask("SELECT owner || priority || paused || max_failures || archived FROM v_sharing"),
            "ada-3151");
  EXPECT_EQ(Ask("SELECT weight || ' ' || owner_weight FROM v_sharing"), "8 9");
  EXPECT_EQ(Ask("SELECT group_concat(worker || how || unit) FROM v_out_of_use"),
            "box-2drained,box-2quarantined,box-2quarantinedGPU-9");
}

TEST_F(SqliteStoreTest, AnExtendedSweepIsRecoveredAsTheLargerOne) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const sweep::Extension wish = {.replicates = 5000, .blocks = 2, .plans = {"algo"}};
  const auto extended = std::get<sweep::Sweep>(sweep::Extend(sample::Content(), wish));
  std::vector<sweep::Cell> cells = sweep::Expand(extended);
  ASSERT_EQ(cells.size(), 6u);
  cells.erase(cells.begin(), cells.begin() + 4);
  const std::vector<Write> writes = {
      scheduler::KeepExtension{SweepId{1}, extended, cells, "hash", 3}};
  ASSERT_TRUE(store_->Apply(writes).ok());
  ASSERT_TRUE(store_->Apply(writes).ok()) << "twice is once";
  Reopen();

  const RecoveredState state = Recovered();

  const scheduler::RecoveredSweep& sweep = state.sweeps.at(0);
  EXPECT_EQ(sweep.specification_sha256, "hash");
  EXPECT_EQ(sweep.revision, 3u);
  EXPECT_EQ(sweep::CanonicalText(sweep.content), sweep::CanonicalText(extended));
  EXPECT_EQ(sweep.content.before, extended.before);
  ASSERT_EQ(sweep.cells.size(), 6u);
  EXPECT_EQ(sweep.cells[1].cell.replicates, 5000u);
  EXPECT_EQ(sweep.cells[5].cell.block, 1u);
  EXPECT_EQ(sweep.cells[5].untouched, scheduler::MemberState::kWaiting);
  EXPECT_EQ(Ask("SELECT count(*) FROM v_member WHERE plan = 'algo'"), "20000");
  EXPECT_EQ(Ask("SELECT members FROM v_sweep"), "20006");
}

TEST_F(SqliteStoreTest, ADefinitionThatWasLargerBeforeIsDamage) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  SQLite::Database damage(home_.path() + "/noisefloor.db", SQLite::OPEN_READWRITE);
  damage.exec(
      "UPDATE sweep SET definition = json_set(definition, '$.before', json("
      "'[{\"hardware\":[\"cpu-test-avx2\"],\"plans\":[[9,1],[3,1]]}]'))");

  const auto recovered = store_->Recover();

  EXPECT_EQ(recovered.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(recovered.status()), testing::HasSubstr("was larger before"));
}

// Its rows go in pieces; nobody sees it from the first moment on, nor a number used again.
TEST_F(SqliteStoreTest, ADeletedSweepGoesInPiecesAndLeavesItsNumbers) {
  std::vector<Write> writes = sample::Story();
  // It has ended: none of its leases is live.
  writes.push_back(
      scheduler::DropLease{LeaseId{3}, CauseClass::kInterrupted, "cancelled", sample::At(98)});
  writes.push_back(sample::Keep(2));
  writes.push_back(scheduler::AppendEvent{SweepId{1}, std::nullopt, "sweep_deleted", "s1 deleted",
                                          sample::At(99), EventId{900}, "ada"});
  writes.push_back(scheduler::DeleteSweep{SweepId{1}, sample::At(99)});
  ASSERT_TRUE(store_->Apply(writes).ok());
  const auto expect_gone = [&] {
    const RecoveredState state = Recovered();
    ASSERT_EQ(state.sweeps.size(), 1u);
    EXPECT_EQ(state.sweeps[0].id, SweepId{2});
    EXPECT_THAT(state.leases, testing::IsEmpty());
    EXPECT_THAT(state.past_leases, testing::IsEmpty());
    EXPECT_EQ(state.last_lease, LeaseId{4});
    EXPECT_EQ(state.last_sweep, SweepId{2});
    EXPECT_EQ(state.last_event, EventId{900});
    for (const char* view : {"v_sweep", "v_sharing", "v_member", "v_lane", "v_attempt", "v_metric",
                             "v_hash", "v_accuracy", "v_record", "v_artifact", "v_replay"}) {
      const std::string name(view);
      EXPECT_EQ(Ask("SELECT count(*) FROM " + name + " WHERE sweep = 1"), "0") << name;
    }
    EXPECT_EQ(Ask("SELECT group_concat(kind || caller) FROM v_event WHERE sweep = 1"),
              "sweep_deletedada");
  };
  expect_gone();
  size_t pieces = 0;
  while (true) {
    const absl::StatusOr<bool> more = store_->RemoveDeleted(3);
    ASSERT_TRUE(more.ok()) << more.status();
    ++pieces;
    expect_gone();
    Reopen();  // A restart goes on with the rest.
    if (!*more) break;
  }
  EXPECT_GT(pieces, 10u);
  for (const char* table : {"cell", "member", "plan_source", "specification", "sweep_data"}) {
    EXPECT_EQ(Ask(std::string("SELECT count(*) FROM ") + table + " WHERE sweep = 1"), "0") << table;
  }
  for (const char* table :
       {"lease", "record", "attempt", "attempt_hash", "attempt_metric", "artifact"}) {
    EXPECT_EQ(Ask(std::string("SELECT count(*) FROM ") + table), "0") << table;
  }
  EXPECT_EQ(Ask("SELECT count(*) FROM cell WHERE sweep = 2"), "4");
  EXPECT_EQ(Ask("SELECT definition || file || notes FROM sweep WHERE sweep = 1"), "");
  EXPECT_FALSE(*store_->RemoveDeleted(3));
}

TEST_F(SqliteStoreTest, CellsComeBackWithTheirPins) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.sweeps[0].cells.size(), 4u);
  const scheduler::RecoveredCell& pinned = state.sweeps[0].cells[1];
  EXPECT_EQ(pinned.fingerprint, "fingerprint-1");
  EXPECT_EQ(pinned.build, "build-1");
  EXPECT_EQ(pinned.cell.stack, "torch-2.11");
  EXPECT_EQ(pinned.cell.axes, sweep::Expand(sample::Content())[1].axes);
  EXPECT_EQ(pinned.cell.states, sweep::Expand(sample::Content())[1].states);
  EXPECT_EQ(state.sweeps[0].cells[3].fingerprint, "");
  EXPECT_EQ(state.sweeps[0].cells[3].cell.stack, "");
}

TEST_F(SqliteStoreTest, MembersComeBackAsTheyWere) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  const RecoveredState state = Recovered();

  const auto& cells = state.sweeps[0].cells;
  EXPECT_EQ(cells[0].At(0).state, MemberState::kDone);
  EXPECT_EQ(cells[0].At(0).attempt, 2u);
  EXPECT_EQ(cells[0].At(0).accepted, LeaseId{2});
  EXPECT_EQ(cells[0].At(1).state, MemberState::kWaiting);
  EXPECT_EQ(cells[0].At(1).attempt, 0u);
  EXPECT_EQ(cells[1].At(2).state, MemberState::kLeased);
  EXPECT_EQ(cells[1].At(1).state, MemberState::kFailed);
  EXPECT_EQ(cells[1].At(1).accepted, LeaseId{0});
  EXPECT_EQ(cells[3].At(0).state, MemberState::kCancelled);
  EXPECT_EQ(cells[3].At(1).forgiven, 4u);
  EXPECT_EQ(Ask("SELECT group_concat(cell || '/' || replicate, ' ') FROM member"),
            "0/0 1/1 1/2 3/0 3/1")
      << "the others have no row";
  EXPECT_EQ(state.sweeps[0].times.at("cpu-test-avx2").count, 1u);
  EXPECT_EQ(state.sweeps[0].times.at("cpu-test-avx2").sum, 47);
}

TEST_F(SqliteStoreTest, WhatAWholeCellIsComesBackForEachMemberWithoutARow) {
  std::vector<Write> writes = sample::Story();
  writes.push_back(scheduler::SetUntouched{SweepId{1}, 3, MemberState::kCancelled});
  ASSERT_TRUE(store_->Apply(writes).ok());
  Reopen();

  const RecoveredState state = Recovered();

  const scheduler::RecoveredCell& cell = state.sweeps[0].cells[3];
  EXPECT_EQ(cell.At(0).state, MemberState::kCancelled) << "it has a row that says so";
  EXPECT_EQ(cell.At(1).state, MemberState::kWaiting) << "it has a row that says otherwise";
  EXPECT_EQ(cell.At(2).state, MemberState::kCancelled);
  EXPECT_EQ(state.sweeps[0].cells[2].At(0).state, MemberState::kWaiting);
  EXPECT_EQ(Ask("SELECT waiting || ' ' || cancelled FROM v_sweep"), "7 2");
  EXPECT_EQ(Ask("SELECT group_concat(state) FROM v_member WHERE cell = 3"),
            "cancelled,waiting,cancelled");
}

TEST_F(SqliteStoreTest, APlanWithNumbersOfItsOwnComesBackWithAsManyMembers) {
  sweep::Sweep content = sample::Content();
  content.plans[0].blocks = 2;
  content.plans[0].replicates = 1;
  scheduler::KeepSweep keep = sample::Keep();
  keep.content = content;
  keep.cells = sweep::Expand(content);
  const std::vector<scheduler::Write> writes = {keep};
  ASSERT_TRUE(store_->Apply(writes).ok());
  Reopen();

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.sweeps[0].cells.size(), 6u) << "2 rates x (2 blocks of control, 1 of algo)";
  std::vector<size_t> members;
  for (const auto& cell : state.sweeps[0].cells) members.push_back(cell.cell.replicates);
  EXPECT_THAT(members, ElementsAre(1, 1, 3, 1, 1, 3));
  EXPECT_EQ(Ask("SELECT count(*) FROM v_member"), "10");
  EXPECT_EQ(Ask("SELECT count(*) FROM v_member WHERE cell = 1"), "1");
  EXPECT_EQ(Ask("SELECT count(*) FROM member"), "0");
}

TEST_F(SqliteStoreTest, LiveAndPastLeasesAreToldApart) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.leases.size(), 1u);
  EXPECT_EQ(state.leases[0].lease, LeaseId{3});
  EXPECT_EQ(state.leases[0].member, sample::Member(1, 2));
  EXPECT_EQ(state.leases[0].worker, WorkerId{1});
  EXPECT_EQ(state.leases[0].sequence, 2u);
  EXPECT_EQ(state.leases[0].specification, sample::Grant(3, sample::Member(1, 2)).specification);
  ASSERT_EQ(state.past_leases.size(), 2u) << "lease 2 was accepted";
  EXPECT_EQ(state.past_leases[0].lease, LeaseId{1});
  EXPECT_EQ(state.past_leases[0].cause, CauseClass::kLostWorker);
  EXPECT_EQ(state.past_leases[0].reason, "silent");
  EXPECT_FALSE(state.past_leases[0].has_outcome);
  EXPECT_EQ(state.past_leases[1].lease, LeaseId{4});
  EXPECT_TRUE(state.past_leases[1].has_outcome);
}

TEST_F(SqliteStoreTest, WorkersKeepAll64BitsAndTheirLastName) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  scheduler::KeepWorker renamed = sample::Worker(2);
  renamed.name = "box-two";
  ASSERT_TRUE(store_->Apply(std::vector<Write>{renamed}).ok());

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.workers.size(), 2u);
  EXPECT_EQ(state.workers[0].identity, sample::Worker(1).identity);
  EXPECT_EQ(state.workers[1].name, "box-two");
}

TEST_F(SqliteStoreTest, AForgottenWorkerIsNotReadBackAndItsPastLeasesAre) {
  std::vector<Write> writes = sample::Story();
  writes.insert(writes.begin() + 3, sample::Worker(3));
  for (Write& write : writes) {
    auto* grant = std::get_if<scheduler::GrantLease>(&write);
    if (grant != nullptr && grant->lease == LeaseId{1}) grant->worker = WorkerId{3};
  }
  writes.push_back(scheduler::ForgetWorker{WorkerId{3}});
  ASSERT_TRUE(store_->Apply(writes).ok());

  const RecoveredState state = Recovered();

  EXPECT_EQ(state.workers.size(), 2u);
  EXPECT_EQ(state.past_leases.at(0).worker, WorkerId{3});
  EXPECT_EQ(state.last_worker, WorkerId{3}) << "its number is not used again";
  EXPECT_EQ(Ask("SELECT worker FROM v_attempt WHERE lease = 1"), "box-3");
}

TEST_F(SqliteStoreTest, EveryWriteAppliedAgainChangesNothing) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const auto before = Sizes();
  const std::string member = Ask("SELECT group_concat(state || attempt) FROM member");

  for (const Write& write : sample::Story()) {
    ASSERT_TRUE(store_->Apply(std::span(&write, 1)).ok()) << write.index();
  }

  EXPECT_EQ(Sizes(), before);
  EXPECT_EQ(Ask("SELECT group_concat(state || attempt) FROM member"), member);
  EXPECT_EQ(Ask("SELECT count(*) FROM event"), "3");
}

TEST_F(SqliteStoreTest, ValuesThatAreNotFiniteSurvive) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  EXPECT_EQ(Ask("SELECT group_concat(value || '/' || special) FROM record WHERE lease = 2"),
            "2.5/0,0.0/1,0.0/2,0.0/3");
  EXPECT_EQ(Ask("SELECT special FROM v_record WHERE metric = 'test_top1' AND accepted"), "nan");
  EXPECT_EQ(Ask("SELECT value IS NULL FROM v_record WHERE metric = 'test_top1' AND accepted"), "1");
  EXPECT_EQ(Ask("SELECT max(value) FROM v_record WHERE metric = 'test_loss'"), "Inf");
  EXPECT_EQ(Ask("SELECT special FROM v_metric WHERE metric = 'loss' AND accepted"), "nan");
}

TEST_F(SqliteStoreTest, AnUnboundedTimeOrEpochIsKeptAsANumber) {
  std::vector<Write> writes = sample::Story();
  scheduler::KeepRecords records = sample::Records(3, sample::Member(1, 2), 3);
  records.batch.records[0].epoch = std::numeric_limits<double>::quiet_NaN();
  writes.push_back(records);
  scheduler::KeepOutcome outcome = sample::Finish(3, sample::Member(1, 2));
  outcome.outcome.train_seconds = std::numeric_limits<double>::infinity();
  writes.push_back(outcome);

  EXPECT_TRUE(store_->Apply(writes).ok());

  EXPECT_EQ(Ask("SELECT train_seconds_special FROM attempt WHERE lease = 3"), "2");
}

TEST_F(SqliteStoreTest, EnvironmentsAreKeptOnce) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  ASSERT_TRUE(store_->Apply(std::vector<Write>{sample::Finish(3, sample::Member(1, 2))}).ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM environment"), "1");
  EXPECT_EQ(Ask("SELECT count(*) FROM attempt WHERE environment IS NOT NULL"), "2");
}

TEST_F(SqliteStoreTest, OneBadWriteUndoesAllOfItsStep) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const auto before = Sizes();
  const std::vector<Write> writes = {
      AppendEvent{{}, {}, "test", "lost", sample::At(99), EventId{9}},
      sample::Records(3, sample::Member(1, 2), 7), sample::Records(777, sample::Member(1, 2), 1)};

  const absl::Status status = store_->Apply(writes);

  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(status), HasSubstr("FOREIGN KEY"));
  EXPECT_EQ(Sizes(), before);
}

TEST_F(SqliteStoreTest, MetricNamesOfAStepThatWasUndoneAreNotRemembered) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  scheduler::KeepRecords records = sample::Records(3, sample::Member(1, 2), 3);
  records.batch.records = {{1, 0.1, "a new metric", 1.0}};
  const std::vector<Write> bad = {records, sample::Records(777, sample::Member(1, 2), 1)};
  ASSERT_FALSE(store_->Apply(bad).ok());

  ASSERT_TRUE(store_->Apply(std::vector<Write>{records}).ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM v_record WHERE metric = 'a new metric'"), "1");
}

TEST_F(SqliteStoreTest, AFullDiskIsSaidAndTheSameStepCanBeAppliedLater) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const int64_t pages = std::stoll(Ask("PRAGMA page_count"));
  ASSERT_TRUE(store_->LimitPages(pages + 2).ok());
  const std::vector<Write> writes = {
      AppendEvent{SweepId{1}, {}, "test", std::string(100000, 'x'), sample::At(70), EventId{9}}};

  EXPECT_EQ(store_->Apply(writes).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Apply(writes).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Ask("SELECT count(*) FROM event WHERE kind = 'test'"), "0");
  EXPECT_TRUE(store_->Recover().ok()) << "reading goes on";

  ASSERT_TRUE(store_->LimitPages(0).ok());
  EXPECT_TRUE(store_->Apply(writes).ok());
  EXPECT_EQ(Ask("SELECT count(*) FROM event WHERE kind = 'test'"), "1");
}

// What a step that was undone has told of an environment is not believed afterwards.
TEST_F(SqliteStoreTest, EnvironmentsAndDataOfAnUndoneStepAreKeptByTheNext) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const scheduler::AppendEvent large{SweepId{1},     {},        "test", std::string(100000, 'x'),
                                     sample::At(70), EventId{9}};
  scheduler::KeepOutcome late = sample::Finish(1, sample::Member(0, 0));
  late.accepted = false;
  late.outcome.environment = R"({"cpu":{"model":"another"}})";
  late.outcome.data_identity = std::string(64, '7');
  ASSERT_TRUE(store_->LimitPages(std::stoll(Ask("PRAGMA page_count")) + 2).ok());
  ASSERT_EQ(store_->Apply(std::vector<Write>{late, large}).code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(store_->LimitPages(0).ok());

  ASSERT_TRUE(store_->Apply(std::vector<Write>{late, large}).ok());

  EXPECT_EQ(Ask("SELECT facts FROM attempt JOIN environment USING (environment) WHERE lease = 1"),
            late.outcome.environment);
  EXPECT_EQ(Ask("SELECT sha256 FROM attempt JOIN data_identity USING (data_identity) "
                "WHERE lease = 1"),
            late.outcome.data_identity);
}

TEST_F(SqliteStoreTest, MoreEnvironmentsThanAreRememberedAreAllKept) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  for (int i = 0; i < 250; ++i) {
    scheduler::KeepOutcome late = sample::Finish(1, sample::Member(0, 0));
    late.outcome.environment = fmt::format(R"({{"host":{}}})", i % 200);
    ASSERT_TRUE(store_->Apply(std::vector<Write>{late}).ok());
  }

  EXPECT_EQ(Ask("SELECT count(*) FROM environment WHERE facts LIKE '{\"host\"%'"), "200");
}

TEST_F(SqliteStoreTest, ALateResultIsKeptWithoutTakingTheMembersPlace) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  scheduler::KeepOutcome late = sample::Finish(1, sample::Member(0, 0));
  late.accepted = false;
  late.reason = "the lease was lost";

  ASSERT_TRUE(store_->Apply(std::vector<Write>{late}).ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM v_hash WHERE member = 's1c0r0' AND hash = 'weights'"), "2");
  EXPECT_EQ(Ask("SELECT why FROM v_attempt WHERE lease = 1"), "the lease was lost");
  const RecoveredState state = Recovered();
  EXPECT_EQ(state.sweeps[0].cells[0].At(0).accepted, LeaseId{2});
  EXPECT_TRUE(state.past_leases[0].has_outcome);
}

TEST_F(SqliteStoreTest, ViewsSayWhatTheTablesHold) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  EXPECT_EQ(Ask("SELECT members || ' ' || waiting || ' ' || leased || ' ' || done || ' ' || failed "
                "|| ' ' || cancelled FROM v_sweep WHERE sweep = 1"),
            "12 8 1 1 1 1");
  EXPECT_EQ(Ask("SELECT weights_sha256 FROM v_member WHERE member = 's1c0r0'"),
            std::string(64, 'b'));
  EXPECT_EQ(Ask("SELECT count(*) FROM v_member"), "12");
  EXPECT_EQ(Ask("SELECT axes FROM v_member WHERE member = 's1c0r0'"),
            R"({"train.optimizer.learning_rate":0.05})");
  EXPECT_EQ(Ask("SELECT top1 || ' ' || plan FROM v_accuracy"), "0.75 control");
  EXPECT_EQ(Ask("SELECT file FROM v_artifact WHERE kind = 'predictions'"),
            "blobs/dd/" + std::string(62, 'd'));
  EXPECT_EQ(Ask("SELECT group_concat(outcome) FROM (SELECT outcome FROM v_attempt ORDER BY lease)"),
            "lost,done,running,failed");
  EXPECT_EQ(Ask("SELECT member FROM v_event WHERE kind = 'done'"), "s1c0r0");
  EXPECT_EQ(Ask("SELECT seed FROM sweep"), "18446744073709551615");
}

TEST_F(SqliteStoreTest, EveryMemberHasItsLanesThoughNoneIsKept) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM v_lane"), std::to_string(12 * kAllNoiseSources.size()));
  for (const sweep::Cell& cell : sweep::Expand(sample::Content())) {
    for (uint32_t replicate = 0; replicate < cell.replicates; ++replicate) {
      const MemberId member = sample::Member(cell.index, replicate);
      const Training trained = sample::SpecificationOf(member);
      for (const NoiseSource source : kAllNoiseSources) {
        const SourceSpec& spec = trained.Source(source);
        EXPECT_EQ(Ask("SELECT state || ' ' || block || ' ' || lane FROM v_lane WHERE member = '" +
                      ToText(member) + "' AND source = '" + std::string(Name(source)) + "'"),
                  std::string(Name(spec.state)) + " " + std::to_string(spec.lane.block) + " " +
                      std::to_string(spec.lane.number))
            << ToText(member) << " " << Name(source);
      }
    }
  }
}

TEST_F(SqliteStoreTest, ViewsShowEveryMemberOfALargeCell) {
  scheduler::KeepSweep keep = sample::Keep();
  keep.content.plans.resize(1);
  keep.content.replicates = 9000;
  keep.cells = sweep::Expand(keep.content);
  ASSERT_TRUE(store_->Apply(std::vector<Write>{keep}).ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM v_member WHERE cell = 1"), "9000");
  EXPECT_EQ(Ask("SELECT max(lane) FROM v_lane WHERE cell = 1 AND source = 'init'"), "0");
  EXPECT_EQ(Ask("SELECT state FROM v_member WHERE member = 's1c1r8999'"), "waiting");
  EXPECT_EQ(Ask("SELECT count(*) FROM member"), "0");
}

TEST_F(SqliteStoreTest, ASpecificationIsKeptOnceForItsCellAndAgainWhenItHasChanged) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  scheduler::KeepSpecification other = sample::Specify(1);
  other.text.replace(other.text.find("torch-2.11"), 10, "torch-2.12");
  ASSERT_TRUE(store_->Apply(std::vector<Write>{other, sample::Specify(1), other}).ok());

  EXPECT_EQ(Ask("SELECT group_concat(cell || '/' || version, ' ') FROM specification"),
            "0/1 1/1 1/2");
  const RecoveredState state = Recovered();
  EXPECT_EQ(state.leases[0].specification, sample::Grant(3, sample::Member(1, 2)).specification)
      << "the one whose hash the lease has";
  EXPECT_EQ(Ask("SELECT length(specification_sha256) FROM lease WHERE lease = 3"), "32");
}

// The child says which step it has been told is on disk; then it is killed.
TEST_F(SqliteStoreTest, KilledInTheMiddleItLosesNothingThatWasAcknowledged) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  store_.reset();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto store = SqliteStore::Open(home_.path());
    for (uint64_t sequence = 3; store.ok(); ++sequence) {
      const std::vector<Write> writes = {sample::Records(3, sample::Member(1, 2), sequence),
                                         AppendEvent{SweepId{1},
                                                     {},
                                                     "step",
                                                     std::to_string(sequence),
                                                     sample::At(100),
                                                     EventId{sequence + 1}}};
      if (!(*store)->Apply(writes).ok()) break;
      if (write(told[1], &sequence, sizeof(sequence)) != sizeof(sequence)) break;
    }
    _exit(1);
  }
  close(told[1]);
  uint64_t acknowledged = 0;
  while (acknowledged < 200) {
    ASSERT_EQ(read(told[0], &acknowledged, sizeof(acknowledged)),
              static_cast<ssize_t>(sizeof(acknowledged)));
  }

  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  uint64_t more = 0;
  while (read(told[0], &more, sizeof(more)) == sizeof(more)) acknowledged = more;
  close(told[0]);
  Reopen();

  const uint64_t kept = Recovered().leases.at(0).sequence;
  EXPECT_GE(kept, acknowledged);
  EXPECT_LE(kept, acknowledged + 1) << "at most the step that was not told any more";
  EXPECT_EQ(Ask("SELECT count(*) FROM event WHERE kind = 'step'"), std::to_string(kept - 2));
  EXPECT_EQ(Ask("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(Ask("SELECT count(*) FROM pragma_foreign_key_check"), "0");
}

TEST_F(SqliteStoreTest, ADirectoryCopiedAsideHoldsTheSame) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  store_.reset();  // Nobody has it open: then a copy is whole.
  TempHome other;
  std::filesystem::copy(home_.path(), other.path(), std::filesystem::copy_options::recursive);

  auto copy = SqliteStore::Open(other.path());

  ASSERT_TRUE(copy.ok()) << copy.status();
  const auto state = (*copy)->Recover();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->last_lease, LeaseId{4});
  EXPECT_EQ(state->sweeps.size(), 1u);
}

TEST(SweepJsonTest, SweepsComeBackWhole) {
  sweep::Sweep sweep = sample::Content();
  sweep.base = OwnSchema()->Defaults();
  PutSetting(sweep.base, "train.schedule.milestones", std::vector<int64_t>{1, 2});
  PutSetting(sweep.base, "train.optimizer.learning_rate", 0.1 + 0.2);
  sweep.axes.push_back({{{"train.epochs", {int64_t{1}, int64_t{2}}},
                         {"model.name", {std::string("mlp"), std::string("small_cnn")}}}});
  sweep.hardware = {""};
  sweep.plans[0].blocks = 3;
  sweep.plans[1].replicates = 6;
  sweep.reference_accuracy = 0.1 + 0.2;

  const auto back = SweepFromJson(SweepToJson(sweep));

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(SweepToJson(*back), SweepToJson(sweep));
  EXPECT_EQ(sweep::CanonicalText(*back), sweep::CanonicalText(sweep));
  EXPECT_EQ(*FindSetting(back->base, "train.optimizer.learning_rate"), SettingValue(0.1 + 0.2));
  EXPECT_EQ(back->seed, sweep.seed);
  EXPECT_EQ(sweep::MemberCount(*back), sweep::MemberCount(sweep));
  EXPECT_EQ(back->reference_accuracy, 0.1 + 0.2);
  EXPECT_EQ(SweepFromJson(SweepToJson(sample::Content()))->reference_accuracy, std::nullopt);
}

// They come back in the order of their paths, and mean the same.
TEST(SweepJsonTest, SettingsOfAnotherTrainerComeBackAsTheyWere) {
  sweep::Sweep sweep = sample::Content();
  sweep.schema = "of-the-forest";
  sweep.base = {{"forest.trees", int64_t{3}}, {"forest.share", 1.0}, {"deep", true}};
  sweep.axes = {{{{"forest.trees", {int64_t{1}, int64_t{2}}}}}};

  const auto back = SweepFromJson(SweepToJson(sweep));

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->schema, "of-the-forest");
  EXPECT_EQ(back->base,
            (Settings{{"deep", true}, {"forest.share", 1.0}, {"forest.trees", int64_t{3}}}));
  const sweep::Cell cell = sweep::Expand(sweep).at(1);
  EXPECT_EQ(TrainingToJson(sweep::MemberTraining(*back, cell, 0, "", "", "id")),
            TrainingToJson(sweep::MemberTraining(sweep, cell, 0, "", "", "id")));
}

TEST(SweepJsonTest, TextThatNobodyWroteIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"name": 3})", "not json"}) {
    EXPECT_FALSE(SweepFromJson(text).ok()) << text;
  }
}

TEST(SweepJsonTest, BytesThatAreNoTextDoNotStopTheStore) {
  sweep::Sweep sweep = sample::Content();
  sweep.notes = "bad \xff byte";

  EXPECT_TRUE(SweepFromJson(SweepToJson(sweep)).ok());
}

}  // namespace
}  // namespace noisefloor
