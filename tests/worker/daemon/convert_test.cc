#include "worker/daemon/convert.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/rpc/inventory.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;

TEST(ConvertTest, RecordsBecomeColumnsWithEachNameOnce) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const RecordsEvent event{3, {{1, 0.5, "loss", 2.0}, {1, 0.5, "top1", nan}, {2, 1, "loss", 1.0}}};

  const v1::RecordBatch batch = ToProto(event);

  EXPECT_EQ(batch.sequence(), 3u);
  EXPECT_THAT(batch.metric_names(), ElementsAre("loss", "top1"));
  EXPECT_THAT(batch.metric(), ElementsAre(0u, 1u, 0u));
  EXPECT_THAT(batch.step(), ElementsAre(1, 1, 2));
  EXPECT_THAT(batch.epoch(), ElementsAre(0.5, 0.5, 1.0));
  EXPECT_EQ(batch.value(0), 2.0);
  EXPECT_TRUE(std::isnan(batch.value(1)));
}

TEST(ConvertTest, AnOutcomeKeepsEverything) {
  AttemptResult result;
  result.outcome.kind = Outcome::Kind::kDiverged;
  result.outcome.message = "m";
  result.outcome.hashes["init"] = "h";
  result.outcome.metrics["loss"] = std::numeric_limits<double>::infinity();
  result.outcome.per_class_accuracy = {0.5, 1};
  result.outcome.environment = "{}";
  result.outcome.train_seconds = 1.5;
  result.data_identity = "d";
  result.record_batches = 4;
  result.artifacts = {{"weights", "w", "s", 9}};

  const v1::Outcome outcome = ToProto(result);

  EXPECT_EQ(outcome.kind(), v1::Outcome::KIND_DIVERGED);
  EXPECT_EQ(outcome.cause(), "");
  EXPECT_EQ(outcome.message(), "m");
  EXPECT_EQ(outcome.hashes().at("init"), "h");
  EXPECT_TRUE(std::isinf(outcome.metrics().at("loss")));
  EXPECT_THAT(outcome.per_class_accuracy(), ElementsAre(0.5, 1.0));
  EXPECT_EQ(outcome.train_seconds(), 1.5);
  EXPECT_EQ(outcome.data_identity(), "d");
  EXPECT_EQ(outcome.record_batches(), 4u);
  ASSERT_EQ(outcome.artifacts_size(), 1);
  EXPECT_EQ(outcome.environment(), "{}");
  EXPECT_EQ(outcome.artifacts(0).kind(), "weights");
  EXPECT_EQ(outcome.artifacts(0).path(), "w");
  EXPECT_EQ(outcome.artifacts(0).sha256(), "s");
  EXPECT_EQ(outcome.artifacts(0).size(), 9u);
}

TEST(ConvertTest, EveryMessageNamesItsLease) {
  EXPECT_EQ(StartedMessage(LeaseId{7}, "d", true).started().lease_id(), 7u);
  EXPECT_EQ(StartedMessage(LeaseId{7}, "d", true).started().data_identity(), "d");
  EXPECT_TRUE(StartedMessage(LeaseId{7}, "d", true).started().resumes());
  EXPECT_FALSE(StartedMessage(LeaseId{7}, "d", false).started().resumes());
  const auto records = RecordsMessage(LeaseId{7}, {3, {{1, 0.5, "loss", 2.0}}}).records();
  EXPECT_EQ(records.lease_id(), 7u);
  EXPECT_EQ(records.batch().sequence(), 3u);
  const auto finished =
      FinishedMessage(LeaseId{7}, FailedResult(CauseClass::kBadData, "m")).finished();
  EXPECT_EQ(finished.lease_id(), 7u);
  EXPECT_EQ(finished.outcome().cause(), "bad_data");
  EXPECT_EQ(finished.outcome().kind(), v1::Outcome::KIND_FAILED);
}

// What a worker registers with. Each value another, so that none stands in another's place.
TEST(ConvertTest, AnInventoryKeepsEverything) {
  Inventory inventory;
  inventory.devices = {{"u1", "m1", 12, "d1", "n1", {"c1", "c2"}, {"sm_90"}}, {"u2", "m2"}};
  inventory.offers = {{"c1", "s1", "f1", "b1", "i1", {{"cudnn", "9.1"}}, true}};
  inventory.slots = {{{1, 0}, 5, {0}}};
  inventory.withheld = {{"w1", "c9", "s9", "r1"}};

  const v1::Inventory message = ToProto(inventory);

  ASSERT_EQ(message.devices_size(), 2);
  EXPECT_EQ(message.devices(0).unit(), "u1");
  EXPECT_EQ(message.devices(0).model(), "m1");
  EXPECT_EQ(message.devices(0).memory_bytes(), 12u);
  EXPECT_EQ(message.devices(0).driver(), "d1");
  EXPECT_EQ(message.devices(0).note(), "n1");
  EXPECT_THAT(message.devices(0).hardware_classes(), ElementsAre("c1", "c2"));
  EXPECT_THAT(message.devices(0).architectures(), ElementsAre("sm_90"));
  EXPECT_EQ(message.devices(1).unit(), "u2");
  ASSERT_EQ(message.offers_size(), 1);
  EXPECT_EQ(message.offers(0).hardware_class(), "c1");
  EXPECT_EQ(message.offers(0).stack(), "s1");
  EXPECT_EQ(message.offers(0).fingerprint(), "f1");
  EXPECT_EQ(message.offers(0).build(), "b1");
  EXPECT_EQ(message.offers(0).schema(), "i1");
  EXPECT_EQ(message.offers(0).versions().at("cudnn"), "9.1");
  EXPECT_TRUE(message.offers(0).infers());
  ASSERT_EQ(message.slots_size(), 1);
  EXPECT_THAT(message.slots(0).devices(), ElementsAre(1u, 0u));
  EXPECT_EQ(message.slots(0).cores(), 5u);
  EXPECT_THAT(message.slots(0).offers(), ElementsAre(0u));
  ASSERT_EQ(message.withheld_size(), 1);
  EXPECT_EQ(message.withheld(0).what(), "w1");
  EXPECT_EQ(message.withheld(0).hardware_class(), "c9");
  EXPECT_EQ(message.withheld(0).stack(), "s9");
  EXPECT_EQ(message.withheld(0).reason(), "r1");
}

TEST(ConvertTest, NoTextLeavesThatIsNotUtf8) {
  AttemptResult result;
  result.outcome.message =
      "a\xff"
      "b\xc3";
  result.outcome.hashes["\xfe"] = "h";
  result.outcome.metrics["\xfe"] = 1;
  result.outcome.environment = "\xfe";
  result.data_identity = "\xfe";
  result.artifacts = {{"\xfe", "\xfe", "s", 9}};

  const v1::Outcome outcome = ToProto(result);

  EXPECT_EQ(outcome.message(),
            "a\uFFFD"
            "b\uFFFD");
  EXPECT_EQ(outcome.hashes().count("\uFFFD"), 1u);
  EXPECT_EQ(outcome.metrics().count("\uFFFD"), 1u);
  EXPECT_EQ(outcome.environment(), "\uFFFD");
  EXPECT_EQ(outcome.data_identity(), "\uFFFD");
  EXPECT_EQ(outcome.artifacts(0).kind(), "\uFFFD");
  EXPECT_EQ(outcome.artifacts(0).path(), "\uFFFD");
  EXPECT_EQ(StartedMessage(LeaseId{1}, "\xfe", false).started().data_identity(), "\uFFFD");
  EXPECT_EQ(ToProto(RecordsEvent{1, {{1, 1, "\xfe", 1}}}).metric_names(0), "\uFFFD");
}

TEST(ConvertTest, AMessageIsCutBetweenCharacters) {
  const std::string most(9999, 'a');
  EXPECT_EQ(FailedResult(CauseClass::kBug, most + "\u00e9"
                                                  "b")
                .outcome.message,
            most);
  EXPECT_EQ(FailedResult(CauseClass::kBug, most + "b\u00e9").outcome.message, most + "b");
  EXPECT_EQ(ToUtf8("", 0), "");
}

TEST(ConvertTest, AFailureOfAnyBytesCanBeReadAgain) {
  const AttemptResult failed = FailedResult(CauseClass::kBug, std::string(20000, '\xff'));
  const auto again = ResultFromText(ResultToText(failed));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->outcome.message, failed.outcome.message);
}

TEST(ConvertTest, AFailureNamesItsCause) {
  EXPECT_EQ(ToProto(FailedResult(CauseClass::kOutOfMemory, "m")).cause(), "out_of_memory");
}

TEST(ConvertTest, HeartbeatsNameEveryLease) {
  const auto beat = HeartbeatMessage({{LeaseId{1}, 2, 3, 4}, {LeaseId{5}, 0, 0, 0}}).heartbeat();
  ASSERT_EQ(beat.held_size(), 2);
  EXPECT_EQ(beat.held(0).lease_id(), 1u);
  EXPECT_EQ(beat.held(0).sequence(), 2u);
  EXPECT_EQ(beat.held(0).step(), 3);
  EXPECT_EQ(beat.held(0).step_count(), 4);
}

}  // namespace
}  // namespace noisefloor
