// Values and rows as they are kept, once where they repeat, and as the views show them.
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/record_rows.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/store_fixture.h"

namespace noisefloor {
namespace {

using scheduler::RecoveredState;
using scheduler::Write;

class StoreValuesTest : public StoreFixture {};

TEST_F(StoreValuesTest, ValuesThatAreNotFiniteSurvive) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  EXPECT_EQ(Ask("SELECT group_concat(coalesce(value, 'none')) FROM record WHERE lease = 2"),
            "2.5,none,Inf,-Inf");
  EXPECT_EQ(Ask("SELECT special FROM v_record WHERE metric = 'test_top1' AND accepted"), "nan");
  EXPECT_EQ(Ask("SELECT value IS NULL FROM v_record WHERE metric = 'test_top1' AND accepted"), "1");
  EXPECT_EQ(Ask("SELECT max(value) FROM v_record WHERE metric = 'test_loss'"), "Inf");
  EXPECT_EQ(Ask("SELECT special FROM v_metric WHERE metric = 'loss' AND accepted"), "nan");
}

TEST_F(StoreValuesTest, AnUnboundedTimeOrEpochIsKeptAsANumber) {
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

scheduler::KeepRecords Curve(uint64_t sequence, std::vector<Record> records) {
  scheduler::KeepRecords write = sample::Records(4, sample::Member(1, 1), sequence);
  write.batch.records = std::move(records);
  return write;
}

TEST_F(StoreValuesTest, AnEpochThatFollowsFromTheStepIsNotKept) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  std::vector<Record> records = {{0, 0, "curve", 1}};
  for (int64_t step = 1; step <= 1200; ++step) {
    records.push_back({step, static_cast<double>(step) / 391, "curve", 1});
  }
  ASSERT_TRUE(store_->Apply(std::vector<Write>{Curve(1, records)}).ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM record WHERE lease = 4 AND epoch IS NOT NULL"), "0");
  EXPECT_EQ(Ask("SELECT count(*) FROM v_record WHERE metric = 'curve' AND epoch = step / 391.0"),
            "1201");
  EXPECT_EQ(Ask("SELECT typeof(epoch) FROM v_record WHERE metric = 'curve' AND step = 391"),
            "real");
}

TEST_F(StoreValuesTest, AnEpochThatDoesNotFollowIsKeptAsItCame) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const double near = std::nextafter(20 / 10.0, 3);
  ASSERT_TRUE(store_
                  ->Apply(std::vector<Write>{Curve(1, {{7, 0.3, "curve", 1},
                                                       {10, 1, "curve", 1},
                                                       {20, near, "curve", 1},
                                                       {30, 3, "curve", 1},
                                                       {40, 0, "curve", 1}})})
                  .ok());
  Reopen();
  ASSERT_TRUE(
      store_->Apply(std::vector<Write>{Curve(2, {{50, 1, "curve", 1}, {60, 6, "curve", 1}})}).ok());

  EXPECT_EQ(Ask("SELECT group_concat(step) FROM record WHERE lease = 4 AND epoch IS NULL"),
            "10,30,60");
  EXPECT_EQ(Ask(fmt::format("SELECT group_concat(epoch = CASE step WHEN 7 THEN 0.3 WHEN 20 THEN "
                            "{:.17g} WHEN 40 THEN 0 WHEN 50 THEN 1 ELSE step / 10.0 END) "
                            "FROM v_record WHERE metric = 'curve' ORDER BY step",
                            near)),
            "1,1,1,1,1,1,1");
  EXPECT_EQ(Ask("SELECT steps_per_epoch FROM lease WHERE lease = 4"), "10");
}

TEST_F(StoreValuesTest, WhatABatchThatWasTakenBackSaidOfEpochsIsForgotten) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  const std::vector<Write> bad = {Curve(1, {{10, 1, "curve", 1}}),
                                  sample::Records(777, sample::Member(1, 2), 1)};
  ASSERT_FALSE(store_->Apply(bad).ok());

  ASSERT_TRUE(store_->Apply(std::vector<Write>{Curve(1, {{20, 1, "curve", 1}})}).ok());

  EXPECT_EQ(Ask("SELECT steps_per_epoch FROM lease WHERE lease = 4"), "20");
  EXPECT_EQ(Ask("SELECT epoch FROM v_record WHERE metric = 'curve'"), "1.0");
}

TEST_F(StoreValuesTest, StepsOfAnEpochAreThoseThatGiveItToTheBit) {
  EXPECT_EQ(StepsPerEpoch({391, 1, "m", 0}), 391);
  EXPECT_EQ(StepsPerEpoch({1, 1 / 391.0, "m", 0}), 391);
  EXPECT_EQ(StepsPerEpoch({7, 0.3, "m", 0}), std::nullopt);
  EXPECT_EQ(StepsPerEpoch({0, 0, "m", 0}), std::nullopt);
  EXPECT_EQ(StepsPerEpoch({5, 0, "m", 0}), std::nullopt);
  EXPECT_EQ(StepsPerEpoch({5, -1, "m", 0}), std::nullopt);
  EXPECT_EQ(StepsPerEpoch({5, 1e-300, "m", 0}), std::nullopt);
  EXPECT_EQ(StepsPerEpoch({5, std::numeric_limits<double>::quiet_NaN(), "m", 0}), std::nullopt);
  EXPECT_EQ(StepsPerEpoch({5, std::numeric_limits<double>::infinity(), "m", 0}), std::nullopt);
}

TEST_F(StoreValuesTest, EnvironmentsAreKeptOnce) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  ASSERT_TRUE(store_->Apply(std::vector<Write>{sample::Finish(3, sample::Member(1, 2))}).ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM environment"), "1");
  EXPECT_EQ(Ask("SELECT count(*) FROM attempt WHERE environment IS NOT NULL"), "2");
}

TEST_F(StoreValuesTest, EachAttemptHasTheDataThatItSaid) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  scheduler::KeepOutcome late = sample::Finish(1, sample::Member(0, 0));
  late.accepted = false;
  late.outcome.data_identity = std::string(64, '7');
  ASSERT_TRUE(store_->Apply(std::vector<Write>{late}).ok());
  EXPECT_EQ(Ask("SELECT group_concat(DISTINCT lease) FROM attempt JOIN data_identity "
                "USING (data_identity) WHERE sha256 = '" +
                late.outcome.data_identity + "'"),
            "1");
}

TEST_F(StoreValuesTest, MoreEnvironmentsThanAreRememberedAreAllKept) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());
  for (uint32_t i = 0; i < 250; ++i) {
    const auto lease = sample::Grant(100 + i, sample::Member(0, 0), 100 + i);
    scheduler::KeepOutcome late = sample::Finish(100 + i, sample::Member(0, 0));
    late.accepted = false;
    late.outcome.environment = fmt::format(R"({{"host":{}}})", i % 200);
    ASSERT_TRUE(store_->Apply(std::vector<Write>{lease, late}).ok());
  }

  EXPECT_EQ(Ask("SELECT count(*) FROM environment WHERE facts LIKE '{\"host\"%'"), "200");
}

TEST_F(StoreValuesTest, ALateResultIsKeptWithoutTakingTheMembersPlace) {
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

TEST_F(StoreValuesTest, ViewsSayWhatTheTablesHold) {
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

TEST_F(StoreValuesTest, EveryMemberHasItsLanesThoughNoneIsKept) {
  ASSERT_TRUE(store_->Apply(sample::Story()).ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM v_lane"), std::to_string(12 * 9)) << "dial, load: off";
  for (const sweep::Cell& cell : sweep::Expand(sample::Content())) {
    for (uint32_t replicate = 0; replicate < cell.replicates; ++replicate) {
      const MemberId member = sample::Member(cell.index, replicate);
      const Training trained = sample::SpecificationOf(member);
      for (const NoiseSource source : kAllNoiseSources) {
        const SourceSpec& spec = trained.Source(source);
        if (!IsTold(source, spec.state)) continue;
        EXPECT_EQ(Ask("SELECT state || ' ' || block || ' ' || lane FROM v_lane WHERE member = '" +
                      ToText(member) + "' AND source = '" + std::string(Name(source)) + "'"),
                  std::string(Name(spec.state)) + " " + std::to_string(spec.lane.block) + " " +
                      std::to_string(spec.lane.number))
            << ToText(member) << " " << Name(source);
      }
    }
  }
}

TEST_F(StoreValuesTest, ViewsShowEveryMemberOfALargeCell) {
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

TEST_F(StoreValuesTest, ASpecificationIsKeptOnceForItsCellAndAgainWhenItHasChanged) {
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

}  // namespace
}  // namespace noisefloor
