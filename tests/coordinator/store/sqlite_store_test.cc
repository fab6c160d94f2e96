// A step is applied whole or not at all: again, on a full disk, and when the process is killed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/store_fixture.h"

namespace noisefloor {
namespace {

using scheduler::AppendEvent;
using scheduler::Write;
using ::testing::HasSubstr;

class SqliteStoreTest : public StoreFixture {};

TEST_F(SqliteStoreTest, AStepThatComesAgainChangesNothing) {
  ASSERT_TRUE(store_->Apply(1, sample::Story()).ok());
  const auto before = Sizes();
  const std::string member = Ask("SELECT group_concat(state || attempt) FROM member");

  ASSERT_TRUE(store_->Apply(1, sample::Story()).ok());
  Reopen();
  ASSERT_TRUE(store_->Apply(1, sample::Story()).ok()) << "by the next process, too";

  EXPECT_EQ(Sizes(), before);
  EXPECT_EQ(Ask("SELECT group_concat(state || attempt) FROM member"), member);
  EXPECT_EQ(Ask("SELECT count(*) FROM event"), "3");
  EXPECT_EQ(*store_->LastStep(), 1u);
}

TEST_F(SqliteStoreTest, AStepThatDoesNotFollowIsRefused) {
  ASSERT_TRUE(store_->Apply(1, sample::Story()).ok());
  const std::vector<Write> writes = {
      AppendEvent{SweepId{1}, {}, "test", "another", sample::At(70), EventId{9}}};

  EXPECT_EQ(Message(store_->Apply(3, writes)),
            "step 3 does not follow step 1, the last in the store");
  EXPECT_EQ(store_->Apply(0, writes).code(), absl::StatusCode::kInternal);

  EXPECT_EQ(Ask("SELECT count(*) FROM event WHERE kind = 'test'"), "0");
  EXPECT_EQ(*store_->LastStep(), 1u);
  EXPECT_TRUE(store_->Apply(2, writes).ok());
}

// What two steps both claim to be the first of is a contradiction, and not one and the same.
TEST_F(SqliteStoreTest, WhatIsThereAlreadyIsNotWrittenByAnotherStep) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const auto before = Sizes();
  int refused = 0;
  for (const Write& write : sample::Story()) {
    const bool is_new = std::holds_alternative<scheduler::KeepSweep>(write) ||
                        std::holds_alternative<scheduler::GrantLease>(write) ||
                        std::holds_alternative<scheduler::KeepOutcome>(write) ||
                        std::holds_alternative<scheduler::PinIdentity>(write) ||
                        std::holds_alternative<AppendEvent>(write);
    if (!is_new) continue;
    ++refused;
    EXPECT_EQ(store_->Apply(std::span(&write, 1)).code(), absl::StatusCode::kInternal)
        << write.index();
  }
  EXPECT_GT(refused, 5);
  EXPECT_EQ(Sizes(), before);
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

}  // namespace
}  // namespace noisefloor
