// Sweeps whose pilot decides how many replicates they take, over real gRPC and over restarts.
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "SQLiteCpp/Database.h"

#include "common/log/log.h"
#include "coordinator/store/database.h"
#include "coordinator/store/migrations.h"
#include "coordinator/sweep/extend.h"
#include "coordinator/until/until_keeper.h"
#include "tests/coordinator/loop/loop_fixture.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"
#include "tests/coordinator/rpc/held_query.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;

class UntilTest : public CoordinatorTest {
 protected:
  static v1::Sweep Asking(double half_width, uint32_t most) {
    v1::Sweep sweep = SmallSweep("a", 5);
    sweep.mutable_noise(0)->set_name("algo");
    sweep.mutable_until()->set_figure("top1");
    sweep.mutable_until()->set_half_width(half_width);
    sweep.mutable_until()->set_most(most);
    return sweep;
  }
  // The next member ends with that top-1.
  void Train(ScriptedWorker& worker, double top1) {
    const v1::StartMember start = worker.Started();
    v1::SessionRequest finished = ScriptedWorker::Finish(start.lease_id(), 0);
    (*finished.mutable_finished()->mutable_outcome()->mutable_metrics())["top1"] = top1;
    ASSERT_TRUE(worker.Send(finished));
    ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kSettled).has_value());
  }
  void TrainPilot(ScriptedWorker& worker) {
    for (const double top1 : {0.80, 0.82, 0.79, 0.83, 0.81}) Train(worker, top1);  // SD 1.58 %.
  }
  // As it is once a watch says something else than before, and that `is`.
  template <typename Is>
  v1::SweepSummary Watched(const Is& is, std::string* lines = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::WatchSweepRequest request;
    request.set_sweep_id(1);
    request.set_resume_token(1);
    const auto reader = people_->WatchSweep(&context, request);
    v1::WatchSweepResponse news;
    while (reader->Read(&news)) {
      for (const std::string& line : news.lines()) {
        if (lines != nullptr) *lines += line + "\n";
      }
      if (is(news.sweep())) break;
    }
    context.TryCancel();
    return news.sweep();
  }
  static bool IsSettled(const v1::SweepSummary& sweep) { return !sweep.undecided(); }
};

// t(4; 97.5 %) = 2.776: (2.776 * 1.581 / 1.5)^2 = 8.56 and (2.776 * 1.581 / 2)^2 = 4.8.
TEST_F(UntilTest, ThePilotsSpreadDecidesOnceHowManyThereAre) {
  ASSERT_TRUE(Submit(Asking(0.015, 40)).ok());
  ScriptedWorker worker(*workers_, "box", 7);
  TrainPilot(worker);

  std::string lines;
  const v1::SweepSummary extended = Watched(IsSettled, &lines);

  EXPECT_EQ(extended.done() + extended.waiting() + extended.leased(), 9u);
  EXPECT_THAT(lines, HasSubstr("s1 extended by 4 members, 0 new cells: 9 members in 1 cell, by "
                               "its `until`: algo takes 9 replicates: top-1 spreads by 1.58 % over "
                               "the 5 of its pilot"));
  for (int i = 0; i < 4; ++i) Train(worker, 0.5 + 0.1 * i);  // As wide as it likes: once is once.
  const v1::SweepSummary end =
      Watched([](const v1::SweepSummary& sweep) { return sweep.done() == 9; });
  EXPECT_FALSE(end.undecided());
}

TEST_F(UntilTest, APilotThatIsEnoughEndsTheSweep) {
  ASSERT_TRUE(Submit(Asking(0.02, 40)).ok());
  ScriptedWorker worker(*workers_, "box", 7);
  TrainPilot(worker);
  std::string lines;
  const v1::SweepSummary end = Watched(IsSettled, &lines);
  EXPECT_EQ(end.done(), 5u);
  EXPECT_EQ(end.waiting(), 0u);
  EXPECT_THAT(lines, HasSubstr("algo takes 5 replicates"));
}

TEST_F(UntilTest, NeverMoreThanTheMostAndItIsSaid) {
  ASSERT_TRUE(Submit(Asking(0.001, 6)).ok());
  ScriptedWorker worker(*workers_, "box", 7);
  TrainPilot(worker);
  std::string lines;
  const v1::SweepSummary extended = Watched(IsSettled, &lines);
  EXPECT_EQ(extended.done() + extended.waiting() + extended.leased(), 6u);
  EXPECT_THAT(lines, HasSubstr("which would take 1928, and `most` is 6"));
}

TEST_F(UntilTest, WhatOneCoordinatorLeftUndecidedTheNextOneDecides) {
  ASSERT_TRUE(Submit(Asking(0.02, 40)).ok());
  {
    ScriptedWorker worker(*workers_, "box", 7);
    for (int i = 0; i < 4; ++i) Train(worker, 0.80 + 0.01 * i);
    EXPECT_TRUE(Watched([](const v1::SweepSummary& s) { return s.done() == 4; }).undecided());
    Train(worker, 0.79);
    Watched(IsSettled);
  }
  coordinator_.reset();
  {
    // As if it had ended between the last result and the decision.
    const auto database = OpenForWriting(DatabasePath(home_.path()), CurrentSchema());
    ASSERT_TRUE(database.ok()) << database.status();
    SQLite::Statement undo(**database,
                           "UPDATE sweep SET definition = replace(definition, "
                           "'\"settled\":true', '\"settled\":false')");
    ASSERT_EQ(undo.exec(), 1);
  }
  Start();
  std::string lines;
  EXPECT_FALSE(Watched(IsSettled, &lines).undecided());
  // Twice, by the same results.
  const size_t first = lines.find("algo takes 5 replicates");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(lines.find("algo takes 5 replicates", first + 1), std::string::npos);
}

TEST_F(UntilTest, ACancelledPilotTakesNoMore) {
  ASSERT_TRUE(Submit(Asking(0.001, 40)).ok());
  ScriptedWorker worker(*workers_, "box", 7);
  Train(worker, 0.8);
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(1);
  ASSERT_TRUE(Call(&People::CancelSweep, cancel).ok());
  std::string lines;
  const v1::SweepSummary end = Watched(IsSettled, &lines);
  EXPECT_EQ(end.cancelled(), 4u);
  EXPECT_EQ(end.waiting(), 0u);
  EXPECT_THAT(lines,
              HasSubstr("s1 takes no more members by its `until`: some of them were cancelled"));
}

TEST_F(UntilTest, UntilItIsDecidedNobodyExtendsOrArchivesIt) {
  ASSERT_TRUE(Submit(Asking(0.015, 40)).ok());
  v1::ExtendSweepRequest extend;
  extend.set_sweep_id(1);
  extend.set_replicates(12);
  const auto refused = Call(&People::ExtendSweep, extend);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("`until` decides"));
}

TEST_F(UntilTest, WhatWasSubmittedIsToldAsItWas) {
  ASSERT_TRUE(Submit(Asking(0.015, 40)).ok());
  v1::GetSweepRequest get;
  get.set_sweep_id(1);
  const auto kept = Call(&People::GetSweep, get);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->sweep().sweep().until().figure(), "top1");
  EXPECT_EQ(kept->sweep().sweep().until().half_width(), 0.015);
  EXPECT_EQ(kept->sweep().sweep().until().most(), 40u);
  EXPECT_TRUE(kept->sweep().undecided());
}

TEST_F(UntilTest, AnUnknownFigureIsRefused) {
  v1::Sweep sweep = Asking(0.015, 40);
  sweep.mutable_until()->set_figure("loss\n");
  const auto refused = Submit(sweep);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("until.figure"));
}

// Whose results can be read at some of the tries.
class UnreadableQuery final : public HeldQuery {
 public:
  explicit UnreadableQuery(query::Query& real) : real_(real) {}

  absl::StatusOr<query::Definition> FindDefinition(SweepId sweep) override {
    return real_.FindDefinition(sweep);
  }
  absl::StatusOr<query::Settlement> DecideUntil(SweepId sweep) override {
    const int tries = ++tries_;
    keeper_->Look({sweep});  // So that nobody waits for the next one.
    NF_RETURN_IF_ERROR(answer_(tries));
    return real_.DecideUntil(sweep);
  }
  int tries() const { return tries_; }

  UntilKeeper* keeper_ = nullptr;            // Set before it starts, and so is
  std::function<absl::Status(int)> answer_;  // what comes of the first, the second, ... try.

 private:
  query::Query& real_;
  std::atomic<int> tries_ = 0;
};

class UntilKeeperTest : public LoopTest {
 protected:
  // An undecided sweep whose pilot has ended: it was cancelled.
  void EndAPilot() {
    sweep::Sweep asking = MakeSweep({"algo"}, 5);
    asking.until = sweep::Until{sweep::UntilFigure::kTop1, 0.02, 40, false};
    loop_->Call(test::Submit(asking), [this](const CallResult& result) {
      journal_.Add("submit: " + InWords(result.status));
    });
    ASSERT_TRUE(journal_.Await("submit: OK"));
    Cancel("cancel");
    ASSERT_TRUE(journal_.Await("cancel: OK"));
    auto query = query::Query::Open({.home = home_.path()});
    ASSERT_TRUE(query.ok()) << query.status();
    query_ = *std::move(query);
  }
  // How many tries there were when it was decided.
  int TriesUntilDecided(std::function<absl::Status(int)> answer) {
    UnreadableQuery query(*query_);
    UntilKeeper keeper(*loop_, query);
    query.keeper_ = &keeper;
    query.answer_ = std::move(answer);
    keeper.Start();
    EXPECT_TRUE(journal_.Await("kept extension"));
    keeper.Stop();
    return query.tries();
  }

  std::unique_ptr<query::Query> query_;
};

TEST_F(UntilKeeperTest, WhatCannotBeReadAtTenTriesStaysAsLargeAsItIs) {
  EndAPilot();
  EXPECT_EQ(TriesUntilDecided([](int tries) {
              const absl::Status damaged = absl::DataLossError("a file is damaged");
              return tries <= 20 ? damaged : absl::OkStatus();
            }),
            10);
  const auto kept = query_->FindDefinition(SweepId{1});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_FALSE(sweep::IsUndecided(kept->sweep));
  EXPECT_EQ(kept->sweep.replicates, 5u);
}

TEST_F(UntilKeeperTest, TriesCountOnlyInARow) {
  EndAPilot();
  EXPECT_EQ(TriesUntilDecided([](int tries) {
              if (tries == 10) return absl::FailedPreconditionError("more of it waits");
              return tries < 20 ? absl::UnavailableError("not now") : absl::OkStatus();
            }),
            20);
}

TEST_F(UntilKeeperTest, WhatCouldNotBeKeptIsDecidedAgainByTheSameCoordinator) {
  EndAPilot();
  UntilKeeper keeper(*loop_, *query_);
  store_->Fail(MakeError(absl::StatusCode::kResourceExhausted, "the disk is full"));

  keeper.Start();

  ASSERT_TRUE(journal_.Await("commit failed"));
  store_->Fail(absl::OkStatus());
  EXPECT_TRUE(journal_.Await("kept extension"));
}

// A pilot takes long to read, and a disk may be full for long.
TEST_F(UntilKeeperTest, WhileNothingCanBeKeptNothingIsDecidedAgain) {
  EndAPilot();
  testing::internal::CaptureStderr();
  SetUpLog({.program = "test"});
  store_->Fail(MakeError(absl::StatusCode::kResourceExhausted, "the disk is full"));
  UntilKeeper keeper(*loop_, *query_);

  keeper.Start();

  EXPECT_TRUE(journal_.AwaitCount("commit failed", 150));  // 20 ms apart: three rounds of it.
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t first = log.find("until_not_kept");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("until_not_kept", first + 1), std::string::npos) << log;
  store_->Fail(absl::OkStatus());
  EXPECT_TRUE(journal_.Await("kept extension"));
}

}  // namespace
}  // namespace noisefloor::test
