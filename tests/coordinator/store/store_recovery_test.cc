// What the next process reads back of what was applied.
#include <map>

#include "SQLiteCpp/Statement.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/summed_vfs.h"
#include "coordinator/sweep/extend.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/store_fixture.h"

namespace noisefloor {
namespace {

using scheduler::RecoveredState;
using scheduler::Write;
using ::testing::ElementsAre;

class StoreRecoveryTest : public StoreFixture {};

TEST_F(StoreRecoveryTest, EmptyStoreRecoversNothing) {
  const RecoveredState state = Recovered();

  EXPECT_TRUE(state.sweeps.empty());
  EXPECT_EQ(state.last_lease, LeaseId{0});
  EXPECT_EQ(state.last_sweep, SweepId{0});
}

TEST_F(StoreRecoveryTest, EverythingThatWasAppliedIsRecoveredByTheNextProcess) {
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

TEST_F(StoreRecoveryTest, HowPeopleShareAFleetIsRecoveredByTheNextProcess) {
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
  ASSERT_TRUE(store_->Apply(1, writes).ok());
  ASSERT_TRUE(store_->Apply(1, writes).ok()) << "twice is once";
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

// What the budget of a sweep is compared with: of attempts that have ended and of those that run.
TEST_F(StoreRecoveryTest, TheGpuHoursOfASweepAndWhatItHasHadOfThemAreRecovered) {
  std::vector<Write> writes = sample::Story();
  std::get<scheduler::KeepSweep>(writes[0]).sharing.gpu_hours = 1.5;
  const std::map<LeaseId, uint32_t> gpus = {
      {LeaseId{1}, 4}, {LeaseId{2}, 2}, {LeaseId{3}, 8}, {LeaseId{4}, 32}};
  for (Write& write : writes) {  // All are granted at 2 s.
    if (auto* grant = std::get_if<scheduler::GrantLease>(&write)) {
      grant->gpus = gpus.at(grant->lease);
    }
    auto* drop = std::get_if<scheduler::DropLease>(&write);
    if (drop != nullptr && drop->lease == LeaseId{4}) drop->used = false;
  }
  scheduler::GrantLease late = sample::Grant(5, sample::Member(2, 0));
  late.gpus = 16;
  late.at = sample::At(200);
  writes.push_back(late);
  writes.push_back(scheduler::SetMemberState{sample::Member(2, 0), MemberState::kWaiting, 1, 0});
  writes.push_back(  // The clock was put back meanwhile.
      scheduler::DropLease{LeaseId{5}, CauseClass::kLostWorker, "silent", sample::At(100)});
  ASSERT_TRUE(store_->Apply(writes).ok());
  Reopen();

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.sweeps.size(), 1u);
  EXPECT_EQ(state.sweeps[0].sharing.gpu_hours, 1.5);
  EXPECT_EQ(state.sweeps[0].gpu_time, absl::Seconds(4 * 18 + 2 * 58));
  ASSERT_EQ(state.leases.size(), 1u);
  EXPECT_EQ(state.leases[0].gpus, 8u);
  EXPECT_EQ(state.leases[0].granted, sample::At(2));
  EXPECT_EQ(Ask("SELECT group_concat(gpus) FROM (SELECT gpus FROM v_attempt ORDER BY lease)"),
            "4,2,8,0,16");
}

TEST_F(StoreRecoveryTest, WhatAFingerprintWasTakenOfIsKeptOnceAndSeen) {
  std::vector<Write> writes = sample::Story();
  const std::string pinned =
      std::get<scheduler::PinCell>(*std::ranges::find_if(writes, [](const Write& write) {
        return std::holds_alternative<scheduler::PinCell>(write);
      })).fingerprint;
  const Versions versions = {{"cudnn", "9.1.0"}, {"driver", "570"}};
  const auto keep = [&](const std::string& text) {
    writes.push_back(
        scheduler::KeepSoftware{{pinned, std::make_shared<const Versions>(versions), text}});
  };
  keep(R"({"cudnn":"9.1.0","driver":"570"})");
  keep(R"({"cudnn":"other"})");
  ASSERT_TRUE(store_->Apply(writes).ok());
  EXPECT_EQ(Ask("SELECT group_concat(name || ' ' || version, ', ') FROM (SELECT * FROM v_software "
                "WHERE fingerprint = '" +
                pinned + "' ORDER BY name)"),
            "cudnn 9.1.0, driver 570");
  Reopen();

  const RecoveredState state = Recovered();

  ASSERT_TRUE(state.software.contains(pinned));
  EXPECT_EQ(*state.software.at(pinned), versions);
}

TEST_F(StoreRecoveryTest, AnExtendedSweepIsRecoveredAsTheLargerOne) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const sweep::Extension wish = {.replicates = 5000, .blocks = 2, .plans = {"algo"}};
  const auto extended = std::get<sweep::Sweep>(sweep::Extend(sample::Content(), wish));
  std::vector<sweep::Cell> cells = sweep::Expand(extended);
  ASSERT_EQ(cells.size(), 6u);
  cells.erase(cells.begin(), cells.begin() + 4);
  const std::vector<Write> writes = {
      scheduler::KeepExtension{SweepId{1}, extended, cells, "hash", 3}};
  ASSERT_TRUE(store_->Apply(2, writes).ok());
  ASSERT_TRUE(store_->Apply(2, writes).ok()) << "twice is once";
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
  EXPECT_EQ(sweep.cells[5].untouched, MemberState::kWaiting);
  EXPECT_EQ(Ask("SELECT count(*) FROM v_member WHERE plan = 'algo'"), "20000");
  EXPECT_EQ(Ask("SELECT members FROM v_sweep"), "20006");
}

TEST_F(StoreRecoveryTest, ADefinitionThatWasLargerBeforeIsDamage) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  SQLite::Database damage(home_.path() + "/noisefloor.db", SQLite::OPEN_READWRITE, 0, SummedVfs());
  damage.exec(
      "UPDATE sweep SET definition = json_set(definition, '$.before', json("
      "'[{\"hardware\":[\"cpu-test-avx2\"],\"plans\":[[9,1],[3,1]]}]'))");

  const auto recovered = store_->Recover();

  EXPECT_EQ(recovered.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(recovered.status()), testing::HasSubstr("was larger before"));
}

// Its rows go in pieces; nobody sees it from the first moment on, nor a number used again.
TEST_F(StoreRecoveryTest, ADeletedSweepGoesInPiecesAndLeavesItsNumbers) {
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
  EXPECT_EQ(Ask("SELECT group_concat(kind) FROM event WHERE sweep = 1"), "sweep_deleted");
  EXPECT_EQ(Ask("SELECT count(*) FROM event WHERE sweep IS NULL"), "1") << "of no sweep";
  EXPECT_EQ(Ask("SELECT count(*) FROM cell WHERE sweep = 2"), "4");
  EXPECT_EQ(Ask("SELECT definition || file || notes FROM sweep WHERE sweep = 1"), "");
  EXPECT_FALSE(*store_->RemoveDeleted(3));
}

TEST_F(StoreRecoveryTest, CellsComeBackWithTheirPins) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.sweeps[0].cells.size(), 4u);
  const scheduler::RecoveredCell& pinned = state.sweeps[0].cells[1];
  EXPECT_EQ(pinned.fingerprint, "fingerprint-1");
  EXPECT_EQ(pinned.build, "build-1");
  EXPECT_EQ(pinned.cell.stack, "torch-2.11");
  EXPECT_EQ(pinned.cell.axes, sweep::Expand(sample::Content())[1].axes);
  EXPECT_EQ(pinned.cell.rules, sweep::Expand(sample::Content())[1].rules);
  EXPECT_EQ(state.sweeps[0].cells[3].fingerprint, "");
  EXPECT_EQ(state.sweeps[0].cells[3].cell.stack, "");
}

TEST_F(StoreRecoveryTest, MembersComeBackAsTheyWere) {
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

TEST_F(StoreRecoveryTest, WhatAWholeCellIsComesBackForEachMemberWithoutARow) {
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

  ASSERT_TRUE(
      store_
          ->Apply(std::vector<Write>{scheduler::SetUntouched{SweepId{1}, 2, MemberState::kFailed}})
          .ok());
  EXPECT_EQ(Ask("SELECT waiting || ' ' || failed || ' ' || cancelled FROM v_sweep"), "4 4 2");
}

TEST_F(StoreRecoveryTest, APlanWithNumbersOfItsOwnComesBackWithAsManyMembers) {
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

TEST_F(StoreRecoveryTest, LiveAndPastLeasesAreToldApart) {
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

TEST_F(StoreRecoveryTest, WorkersKeepAll64BitsAndTheirLastName) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  scheduler::KeepWorker renamed = sample::Worker(2);
  renamed.name = "box-two";
  ASSERT_TRUE(store_->Apply(std::vector<Write>{renamed}).ok());

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.workers.size(), 2u);
  EXPECT_EQ(state.workers[0].identity, sample::Worker(1).identity);
  EXPECT_EQ(state.workers[1].name, "box-two");
}

TEST_F(StoreRecoveryTest, WorkersWereLastThereWhenTheyCameOrWereKeptAsGone) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  ASSERT_TRUE(
      store_->Apply(std::vector<Write>{scheduler::KeepSeen{WorkerId{2}, sample::At(9)}}).ok());

  const RecoveredState state = Recovered();

  ASSERT_EQ(state.workers.size(), 2u);
  EXPECT_EQ(state.workers[0].seen, sample::At(1));
  EXPECT_EQ(state.workers[1].seen, sample::At(9));
}

TEST_F(StoreRecoveryTest, AForgottenWorkerIsNotReadBackAndItsPastLeasesAre) {
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
  EXPECT_EQ(state.forgotten, (std::map<WorkerId, std::string>{{WorkerId{3}, "box-3"}}));
  EXPECT_EQ(state.last_worker, WorkerId{3}) << "its number is not used again";
  EXPECT_EQ(Ask("SELECT worker FROM v_attempt WHERE lease = 1"), "box-3");
}

}  // namespace
}  // namespace noisefloor
