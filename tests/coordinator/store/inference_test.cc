// Sweeps that evaluate weights, as the store keeps them and their files.
#include <memory>
#include <string>
#include <vector>

#include "SQLiteCpp/SQLiteCpp.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/scheduler/recovered.h"
#include "coordinator/store/database.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/store.h"
#include "coordinator/store/summed_vfs.h"
#include "coordinator/sweep/infer.h"
#include "tests/coordinator/store/rows_of.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kOwn(64, '5');
const std::string kTheirs(64, '6');

class InferenceTest : public testing::Test {
 protected:
  // s1c1r0 and s1c1r2 have trained; s2 evaluates both on two classes, of s1c1r0 other weights.
  InferenceTest() {
    Open();
    const sweep::Cell cell = sweep::Expand(sample::Content()).at(1);
    sweep::InferSource source = {
        cell, sample::kIdentity, {{0, kTheirs, 12, "theirs.safetensors"}, {2, kOwn, 34, ""}}};
    source.cell.stack = "torch-2.11";
    scheduler::KeepSweep infer = sample::Keep(2);
    infer.content = sweep::InferenceOf(sample::Content(), {source},
                                       {SweepId{1}, {"cpu-test-avx2", "cpu-test-sse"}, ""});
    infer.cells = sweep::Expand(infer.content);
    Apply({sample::Keep(), sample::Worker(), sample::Pin(1)});
    Train(1, 0, 'a');
    Train(2, 2, 'b');
    Apply({infer, scheduler::PinCell{SweepId{2}, 0, "cpu-test-avx2", "torch-2.11", "f1", "b"},
           scheduler::PinCell{SweepId{2}, 1, "cpu-test-sse", "torch-2.11", "f2", "b"}});
  }

  void Open() {
    auto opened = SqliteStore::Open(home_.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  void Apply(const std::vector<scheduler::Write>& writes) {
    ASSERT_TRUE(store_->Apply(writes).ok());
  }
  void Train(uint64_t lease, uint32_t replicate, char logits) {
    End(lease, sample::Member(1, replicate), logits, 0.5);
  }
  void End(uint64_t lease, MemberId member, char logits, double top1) {
    scheduler::KeepOutcome ended = sample::Finish(lease, member);
    ended.outcome.hashes = {{"logits", std::string(64, logits)}};
    ended.outcome.metrics = {{"top1", top1}};
    ended.outcome.artifacts.clear();
    scheduler::GrantLease grant = sample::Grant(lease, sample::Member(1, member.replicate));
    grant.member = member;
    Apply({grant, ended,
           scheduler::DropLease{LeaseId{lease}, CauseClass::kNone, "", sample::At(60)},
           scheduler::SetMemberState{member, MemberState::kDone, 1, 0}});
  }
  std::vector<std::string> Ask(const std::string& sql) {
    auto reader = OpenForReading(DatabasePath(home_.path()));
    EXPECT_TRUE(reader.ok()) << reader.status();
    return RowsOf(**reader, sql);
  }
  // Damages rows past the store, and starts again.
  absl::Status RecoverAfter(const std::string& sql) {
    store_.reset();
    {
      SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
      database.exec(sql);
    }
    auto opened = SqliteStore::Open(home_.path());
    return opened.ok() ? (*opened)->Recover().status() : opened.status();
  }

  TempHome home_;
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(InferenceTest, TheViewHasTrainOnByInferOnAndWhetherThePredictionsAreTheSame) {
  End(3, {SweepId{2}, 0, 1}, 'b', 0.5);
  End(4, {SweepId{2}, 1, 1}, 'c', 0.25);
  End(5, {SweepId{2}, 0, 0}, 'a', 0.75);

  EXPECT_THAT(Ask("SELECT member, of, train_hardware, infer_hardware, state, top1, train_top1, "
                  "same_logits FROM v_infer WHERE file = ''"),
              ElementsAre("s2c0r1|s1c1r2|cpu-test-avx2|cpu-test-avx2|done|0.5|0.5|1",
                          "s2c1r1|s1c1r2|cpu-test-avx2|cpu-test-sse|done|0.25|0.5|0"));
  EXPECT_THAT(Ask("SELECT member, of, file, same_logits FROM v_infer WHERE file <> ''"),
              ElementsAre("s2c0r0|s1c1r0|theirs.safetensors|NULL",
                          "s2c1r0|s1c1r0|theirs.safetensors|NULL"));
  EXPECT_THAT(
      Ask("SELECT member, lane FROM v_lane WHERE sweep = 2 AND cell = 1 AND source = 'init'"),
      ElementsAre("s2c1r0|1", "s2c1r1|3"))
      << "those of their subjects";
  EXPECT_THAT(Ask("SELECT kind, of_sweep, of_cell FROM sweep WHERE sweep = 2"),
              ElementsAre("infer|1|NULL"));
}

TEST_F(InferenceTest, ComesBackAsItWas) {
  const auto state = store_->Recover();
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_EQ(state->sweeps.size(), 2u);
  const scheduler::RecoveredSweep& infer = state->sweeps[1];
  EXPECT_EQ(infer.cells.size(), 2u);
  EXPECT_EQ(infer.cells[1].cell.replicates, 2u);
  EXPECT_EQ(sweep::WeightsOf(infer.content, {SweepId{2}, 1, 1})->sha256, kOwn);
  EXPECT_EQ(sweep::SubjectOf(infer.content, {SweepId{2}, 1, 1}), sample::Member(1, 2));
}

// Whoever makes room, backs up or restores asks for these.
TEST_F(InferenceTest, ItsFilesAreNamedAsLongAsItIsThere) {
  const auto named = [&](const std::string& sha256) {
    auto reader = OpenForReading(DatabasePath(home_.path()));
    return IsNamed(**reader, sha256) && IsOfResult(**reader, sha256);
  };
  EXPECT_TRUE(named(kOwn));
  EXPECT_TRUE(named(kTheirs));
  EXPECT_FALSE(named(std::string(64, '7')));
  {
    auto reader = OpenForReading(DatabasePath(home_.path()));
    const std::vector<BlobName> blobs = NamedBlobs(**reader);
    ASSERT_EQ(blobs.size(), 2u);
    EXPECT_EQ(blobs[0].sha256, kOwn);
    EXPECT_EQ(blobs[0].size_bytes, 34u);
  }
  Apply({scheduler::DeleteSweep{SweepId{2}, sample::At(99)}});
  EXPECT_THAT(Ask("SELECT count(*) FROM v_infer"), ElementsAre("0"));
  while (*store_->RemoveDeleted(3)) {
  }
  EXPECT_FALSE(named(kOwn));
  EXPECT_THAT(Ask("SELECT count(*) FROM inference"), ElementsAre("0"));
}

TEST_F(InferenceTest, RowsThatContradictItsDefinitionAreNamed) {
  const absl::Status status =
      RecoverAfter("UPDATE inference SET sha256 = 'x' WHERE cell = 1 AND replicate = 0");
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status),
            "the store is damaged: s2c1r0: what it evaluates is not what its definition says");
}

TEST_F(InferenceTest, RowsThatAreGoneAreCounted) {
  EXPECT_EQ(
      Message(RecoverAfter("DELETE FROM inference WHERE cell = 1")),
      "the store is damaged: sweep s2: 2 members have weights to evaluate, and its definition "
      "has 4");
}

TEST_F(InferenceTest, ADefinitionOfNoWeightsIsDamage) {
  const absl::Status status = RecoverAfter(
      "UPDATE sweep SET definition = json_set(definition, '$.inference.cells', json('[]')) "
      "WHERE sweep = 2");
  EXPECT_THAT(Message(status), HasSubstr("sweep s2: its definition has no cells"));
}

}  // namespace
}  // namespace noisefloor
