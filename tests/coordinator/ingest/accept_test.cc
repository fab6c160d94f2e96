#include "coordinator/ingest/accept.h"

#include <limits>
#include <map>

#include "gtest/gtest.h"

#include "common/trainer_protocol/measured.h"

namespace noisefloor::ingest {
namespace {

using Kind = BatchVerdict::Kind;
using End = OutcomeVerdict::Kind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

RecordBatch Batch(uint64_t sequence) { return {sequence, {{10, 0.5, "loss", 1.5}}}; }

BatchVerdict Judge(RecordBatch batch, uint64_t stored = 0) { return JudgeBatch(batch, stored); }

AttemptOutcome Done(uint64_t batches = 0) {
  AttemptOutcome outcome;
  outcome.kind = Outcome::Kind::kDone;
  outcome.hashes = {{"init", std::string(64, 'a')}};
  outcome.record_batches = batches;
  outcome.environment = "{}";
  return outcome;
}

TEST(JudgeBatch, KeepsTheNextOne) {
  EXPECT_EQ(Judge(Batch(1)).kind, Kind::kKeep);
  EXPECT_EQ(Judge(Batch(4), 3).kind, Kind::kKeep);
}

TEST(JudgeBatch, AcknowledgesARepeatAndAsksForAGap) {
  EXPECT_EQ(Judge(Batch(3), 3).kind, Kind::kRepeat);
  EXPECT_EQ(Judge(Batch(1), 3).kind, Kind::kRepeat);
  EXPECT_EQ(Judge(Batch(5), 3).kind, Kind::kGap);
}

TEST(JudgeBatch, KeepsValuesThatAreNotFinite) {
  for (const double value : {kNan, kInf, -kInf}) {
    EXPECT_EQ(Judge({1, {{0, 0, "loss", value}}}).kind, Kind::kKeep);
  }
}

TEST(JudgeBatch, RefusesWhatNoColumnCanHold) {
  EXPECT_EQ(Judge(Batch(0)).reason, "record batch 0: batches are numbered from 1");
  EXPECT_EQ(Judge({1, {}}).reason, "record batch 1: expected 1 to 100000 records, got 0");
  EXPECT_EQ(Judge({2, std::vector<Record>(100001, {0, 0, "loss", 1})}, 1).reason,
            "record batch 2: expected 1 to 100000 records, got 100001");
  EXPECT_EQ(Judge({1, {{0, 0, "loss", 1}, {0, kNan, "loss", 1}}}).reason,
            "record batch 1, record 1: expected a finite epoch, got nan");
  EXPECT_EQ(Judge({1, {{-1, 0, "loss", 1}}}).reason,
            "record batch 1, record 0: expected a step from 0 on, got -1");
  EXPECT_EQ(Judge({1, {{0, 0, "", 1}}}).reason,
            "record batch 1, record 0: expected the name of a metric, got an empty text");
}

// Beyond it readers of JSON, which have doubles only, would round.
TEST(JudgeBatch, KeepsStepsUpToTheLastThatEveryReaderKnowsExactly) {
  constexpr int64_t kLast = 9007199254740992;  // 2^53.
  EXPECT_EQ(Judge({1, {{kLast, 0, "loss", 1}}}).kind, Kind::kKeep);
  EXPECT_EQ(Judge({1, {{kLast + 1, 0, "loss", 1}}}).kind, Kind::kBroken);
}

TEST(JudgeBatch, RefusesAMessageThatMadeNoSenseWhenItIsItsTurn) {
  RecordBatch batch = Batch(3);
  batch.fault = "two lengths";

  EXPECT_EQ(Judge(batch, 1).kind, Kind::kGap);
  EXPECT_EQ(Judge(batch, 3).kind, Kind::kRepeat);
  EXPECT_EQ(Judge(batch, 2).kind, Kind::kBroken);
  EXPECT_EQ(Judge(batch, 2).reason, "record batch 3: two lengths");
}

TEST(JudgeBatch, CutsAndMendsNames) {
  RecordBatch batch = {1,
                       {{0, 0, std::string(300, 'x'), 1},
                        {0, 0,
                         "a\xff"
                         "b",
                         1}}};

  EXPECT_EQ(JudgeBatch(batch, 0).kind, Kind::kKeep);

  EXPECT_EQ(batch.records[0].metric, std::string(200, 'x'));
  EXPECT_EQ(batch.records[1].metric, "a?b");
}

TEST(ToStorableText, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(ToStorableText("Größe 5 \xE2\x82\xAC\n\tx", 100), "Größe 5 \xE2\x82\xAC\n\tx");
  EXPECT_EQ(ToStorableText(std::string_view("a\0b\x1b", 4), 100), "a?b?");
  EXPECT_EQ(ToStorableText("a\x7f", 100), "a?");
  EXPECT_EQ(ToStorableText("\xC0\xAF", 100), "??");            // Overlong, in two bytes,
  EXPECT_EQ(ToStorableText("\xE0\x80\xAF", 100), "???");       // three
  EXPECT_EQ(ToStorableText("\xF0\x80\x80\xAF", 100), "????");  // and four.
  EXPECT_EQ(ToStorableText("\xED\xA0\x80", 100), "???");       // Half of a surrogate pair.
  EXPECT_EQ(ToStorableText("\xF4\x90\x80\x80", 100), "????");  // Beyond Unicode.
  EXPECT_EQ(ToStorableText("\xE2\x82", 100), "??");            // Ends in the middle.
}

TEST(ToStorableText, CutsBetweenCharacters) {
  EXPECT_EQ(ToStorableText("ab\xC3\xB6", 3), "ab");
  EXPECT_EQ(ToStorableText("ab\xC3\xB6", 4), "ab\xC3\xB6");
}

TEST(JudgeOutcome, AcceptsWhatIsComplete) {
  EXPECT_EQ(JudgeOutcome(Done(3), {3, {}}).kind, End::kAccept);
  AttemptOutcome diverged = Done();
  diverged.kind = Outcome::Kind::kDiverged;
  diverged.metrics = {{"loss", kNan}};
  EXPECT_EQ(JudgeOutcome(MakeStorable(diverged), {}).kind, End::kAccept);
}

TEST(JudgeOutcome, WaitsForRecordsThatAreMissing) {
  const OutcomeVerdict verdict = JudgeOutcome(Done(3), {2, {}});

  EXPECT_EQ(verdict.kind, End::kWait);
  EXPECT_EQ(verdict.reason, "2 of 3 record batches are stored");
}

TEST(JudgeOutcome, RefusesAnEndThatCountsFewerRecordsThanAreStored) {
  const OutcomeVerdict verdict = JudgeOutcome(Done(1), {2, {}});

  EXPECT_EQ(verdict.kind, End::kRefuse);
  EXPECT_EQ(verdict.reason, "it counts 1 record batches, 2 are stored");
}

TEST(JudgeOutcome, RefusesAResultWithoutItsFile) {
  AttemptOutcome outcome = Done();
  outcome.artifacts = {{"weights", "w.safetensors", std::string(64, 'c'), 5}};

  EXPECT_EQ(JudgeOutcome(outcome, {0, {std::string(64, 'd')}}).kind, End::kAccept);
  const OutcomeVerdict verdict = JudgeOutcome(outcome, {0, {std::string(64, 'c')}});
  EXPECT_EQ(verdict.reason,
            "artifact w.safetensors (" + std::string(64, 'c') + ") was never uploaded");
}

TEST(JudgeOutcome, NamesTheFirstFileThatIsMissingWhateverTheirOrder) {
  AttemptOutcome outcome = Done();
  for (const char letter : {'a', 'e', 'c'}) {
    outcome.artifacts.push_back({"log", std::string(1, letter), std::string(64, letter), 5});
  }
  const OutcomeVerdict verdict = JudgeOutcome(
      outcome, {0, {std::string(64, 'e'), std::string(64, 'c'), std::string(64, 'd')}});
  EXPECT_EQ(verdict.reason, "artifact e (" + std::string(64, 'e') + ") was never uploaded");
}

TEST(JudgeOutcome, RefusesAHashThatIsNone) {
  AttemptOutcome outcome = Done();
  outcome.hashes["weights"] = "DEADBEEF";

  EXPECT_EQ(JudgeOutcome(MakeStorable(outcome), {}).reason,
            "hash weights: expected 64 hexadecimal digits");
}

TEST(JudgeOutcome, RefusesAFileWhoseHashIsNone) {
  AttemptOutcome outcome = Done();
  outcome.artifacts = {{"weights", "w.safetensors", std::string(64, 'C'), 5}};

  const AttemptOutcome stored = MakeStorable(outcome);

  EXPECT_EQ(JudgeOutcome(stored, {}).reason,
            "artifact w.safetensors: expected 64 hexadecimal digits");
  EXPECT_TRUE(stored.artifacts.empty());
  EXPECT_EQ(stored.message, "[some artifacts left out]");
}

TEST(JudgeOutcome, RefusesASizeThatNoFileHas) {
  AttemptOutcome outcome = Done();
  outcome.artifacts = {{"weights", "w.safetensors", std::string(64, 'c'), uint64_t{1} << 63}};

  EXPECT_EQ(JudgeOutcome(MakeStorable(outcome), {}).reason,
            "artifact w.safetensors: no file has 9223372036854775808 bytes");
}

TEST(JudgeOutcome, RefusesFiguresThatNothingDoneHas) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto judged = [](const char* name, double value) {
    AttemptOutcome outcome = Done();
    outcome.metrics[name] = value;
    return JudgeOutcome(MakeStorable(outcome), {}).reason;
  };
  EXPECT_EQ(judged("loss", nan), "metrics.loss: expected a finite number of what is done, got nan");
  EXPECT_EQ(judged("top1", -5), "metrics.top1: expected 0 to 1, got -5.000000");
  EXPECT_EQ(judged("top5", 1.5), "metrics.top5: expected 0 to 1, got 1.500000");
  EXPECT_EQ(judged("top1", nan), "metrics.top1: expected 0 to 1, got nan");
  EXPECT_EQ(judged("top1", 0), "");
  EXPECT_EQ(judged("top5", 1), "");
  EXPECT_EQ(judged("my_own", nan), "") << "a trainer's own figure";

  AttemptOutcome classes = Done();
  classes.per_class_accuracy = {0, nan, 1};
  EXPECT_EQ(JudgeOutcome(MakeStorable(classes), {}).kind, End::kAccept)
      << "a class may have no examples";
  classes.per_class_accuracy = {0, 2};
  EXPECT_EQ(JudgeOutcome(MakeStorable(classes), {}).reason,
            "per_class_accuracy[1]: expected 0 to 1, got 2.000000");

  AttemptOutcome diverged = Done();
  diverged.kind = Outcome::Kind::kDiverged;
  diverged.metrics["loss"] = nan;
  EXPECT_EQ(JudgeOutcome(MakeStorable(diverged), {}).kind, End::kAccept);
}

TEST(JudgeOutcome, RefusesMoreEntriesThanAnyTrainerHas) {
  AttemptOutcome outcome = Done();
  outcome.per_class_accuracy.resize(10001);

  EXPECT_EQ(JudgeOutcome(MakeStorable(outcome), {}).reason,
            "expected at most 10000 classes, got 10001");
  const auto judged = [](const AttemptOutcome& many) {
    return JudgeOutcome(MakeStorable(many), {}).reason;
  };
  AttemptOutcome hashes = Done();
  AttemptOutcome metrics = Done();
  AttemptOutcome artifacts = Done();
  for (size_t i = 0; i < 10001; ++i) {
    hashes.hashes[std::to_string(i)] = std::string(64, 'c');
    metrics.metrics[std::to_string(i)] = 0;
    artifacts.artifacts.push_back({"weights", std::to_string(i), std::string(64, 'c'), 5});
  }
  EXPECT_EQ(judged(hashes), "expected at most 10000 hashes, got 10002");
  EXPECT_EQ(judged(metrics), "expected at most 10000 metrics, got 10001");
  EXPECT_EQ(judged(artifacts), "expected at most 10000 artifacts, got 10001");
}

TEST(MakeStorable, KeepsNoMoreFilesThanAnyTrainerHas) {
  AttemptOutcome outcome = Done();
  for (size_t i = 0; i < 10001; ++i) {
    outcome.artifacts.push_back({"weights", std::to_string(i), std::string(64, 'c'), 5});
  }

  const AttemptOutcome stored = MakeStorable(outcome);

  ASSERT_EQ(stored.artifacts.size(), 10000u);
  EXPECT_EQ(stored.artifacts.back().path, "9999") << "the first ones";
  EXPECT_EQ(stored.message, "[some artifacts left out]");
}

TEST(JudgeOutcome, TakesAFailureAtItsWordWhateverIsMissing) {
  AttemptOutcome failed;
  failed.record_batches = 9;

  EXPECT_EQ(JudgeOutcome(MakeStorable(failed), {}).kind, End::kFailure);
}

TEST(MakeStorable, NeedsNothingFromAnHonestOutcome) {
  AttemptOutcome outcome = Done(2);
  outcome.metrics = {{"loss", kInf}};
  outcome.message = "fine";

  const AttemptOutcome stored = MakeStorable(outcome);

  EXPECT_EQ(stored.message, "fine");
  EXPECT_EQ(stored.metrics, outcome.metrics);
  EXPECT_EQ(stored.hashes, outcome.hashes);
}

TEST(MakeStorable, LeavesOutAnEnvironmentThatIsNoObjectAndSaysSo) {
  AttemptOutcome outcome = Done();
  outcome.environment = "[1,";

  const AttemptOutcome stored = MakeStorable(outcome);

  EXPECT_EQ(stored.environment, "{}");
  EXPECT_EQ(stored.message, "[environment left out: not a JSON object]");
}

TEST(MakeStorable, TakesWhatWasMeasuredOutOfTheEnvironment) {
  AttemptOutcome outcome = Done();
  outcome.environment =
      R"({"measured":{"steps":7},"load_at_end":"1.5","machine":{"load":"0.5","host":"a"},"b":1})";

  const AttemptOutcome stored = MakeStorable(outcome);

  EXPECT_EQ(stored.environment, R"({"b":1,"machine":{"host":"a"}})");
  EXPECT_EQ(stored.measured, R"({"load_at_end":"1.5","load_at_start":"0.5","steps":7})");
  EXPECT_EQ(JoinEnvironment(stored.environment, stored.measured),
            R"({"b":1,"machine":{"host":"a"},"measured":{"load_at_end":"1.5",)"
            R"("load_at_start":"0.5","steps":7}})");
  EXPECT_EQ(JoinEnvironment("{}", stored.measured), "{\"measured\":" + stored.measured + "}");
  EXPECT_EQ(JoinEnvironment("{}", ""), "{}");
}

TEST(MakeStorable, LeavesOutWhatIsTooLong) {
  AttemptOutcome outcome = Done();
  outcome.environment = "{\"x\": \"" + std::string(kMaxEnvironmentBytes, 'y') + "\"}";
  outcome.message = std::string(9000, 'm');
  outcome.artifacts = {{"log", "l", "no hash", 1}};
  outcome.hashes = {{"init", "no hash"}};

  const AttemptOutcome stored = MakeStorable(outcome);

  EXPECT_EQ(stored.environment, "{}");
  EXPECT_LE(stored.message.size(), kMaxMessageBytes);
  EXPECT_TRUE(stored.artifacts.empty());
  EXPECT_TRUE(stored.hashes.empty());
}

TEST(MakeStorable, GivesEveryFailureACauseAndNoResultOne) {
  AttemptOutcome failed;
  AttemptOutcome done = Done();
  done.cause = CauseClass::kBug;

  EXPECT_EQ(MakeStorable(failed).cause, CauseClass::kBug);
  EXPECT_EQ(MakeStorable(done).cause, CauseClass::kNone);
  for (const CauseClass cause : {CauseClass::kBadSpecification, CauseClass::kOutOfMemory}) {
    failed.cause = cause;
    EXPECT_EQ(MakeStorable(failed).cause, cause) << "what it said";
  }
}

TEST(MakeStorable, MendsEveryText) {
  const std::string hash(64, 'c');
  AttemptOutcome outcome = Done();
  outcome.message = "m\xff";
  outcome.data_identity = "d\xff";
  outcome.hashes = {{"h\xff", hash}};
  outcome.metrics = {{"t\xff", 1}, {"", 2}};
  outcome.artifacts = {{"k\xff", "p\xff", hash, 5}};

  const AttemptOutcome stored = MakeStorable(outcome);

  EXPECT_EQ(stored.message, "m?");
  EXPECT_EQ(stored.data_identity, "d?");
  EXPECT_EQ(stored.hashes, (std::map<std::string, std::string>{{"h?", hash}}));
  EXPECT_EQ(stored.metrics, (std::map<std::string, double>{{"t?", 1}}));
  ASSERT_EQ(stored.artifacts.size(), 1u);
  EXPECT_EQ(stored.artifacts[0].kind, "k?");
  EXPECT_EQ(stored.artifacts[0].path, "p?");
}

TEST(MakeStorable, KeepsNumbersThatColumnsHold) {
  AttemptOutcome outcome = Done(uint64_t{1} << 63);
  outcome.per_class_accuracy.resize(10001);

  const AttemptOutcome stored = MakeStorable(outcome);

  EXPECT_EQ(stored.record_batches, (uint64_t{1} << 63) - 1);
  EXPECT_EQ(stored.per_class_accuracy.size(), 10000u);
  EXPECT_EQ(stored.message, "[accuracy of later classes left out]");
}

TEST(MakeStorable, KeepsAnEnvironmentOfTheMostBytes) {
  AttemptOutcome outcome = Done();
  outcome.environment = "{\"x\":\"" + std::string(kMaxEnvironmentBytes - 8, 'y') + "\"}";
  ASSERT_EQ(outcome.environment.size(), kMaxEnvironmentBytes);

  EXPECT_EQ(MakeStorable(outcome).environment, outcome.environment);
}

}  // namespace
}  // namespace noisefloor::ingest
