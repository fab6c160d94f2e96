// What query tells as messages: with a data directory, without a server.
#include "coordinator/rpc/convert_answers.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "SQLiteCpp/SQLiteCpp.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/rpc/settings.h"
#include "common/trainer_protocol/fields.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/store/database.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/rpc/asked.h"

namespace noisefloor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using AnswersTest = AskedTest;

TEST_F(AnswersTest, ASweepIsToldWithItsCountsAndAsItWouldBeSubmitted) {
  const auto answer = asked_.GetSweep(0);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const v1::SweepSummary& summary = answer->sweep();
  EXPECT_EQ(summary.id(), 1u);
  EXPECT_EQ(summary.name(), "two-rates");
  EXPECT_EQ(summary.submitted_unix_seconds(), 1700000000);
  EXPECT_EQ(summary.cells(), 4u);
  EXPECT_EQ(summary.done(), 6u);
  EXPECT_EQ(summary.waiting(), 6u);
  EXPECT_EQ(summary.progress(), 6.0);
  EXPECT_EQ(summary.mean_member_seconds(), 47.0);
  EXPECT_EQ(summary.specification_sha256(), sample::Keep().specification_sha256);
  EXPECT_EQ(summary.kind(), "train");
  EXPECT_EQ(summary.of(), "");
  EXPECT_THAT(summary.hardware(), ElementsAre("cpu-test-avx2"));
  const v1::Sweep& sweep = summary.sweep();
  EXPECT_EQ(sweep.seed(), sample::Content().seed);
  ASSERT_EQ(sweep.training_size(), 1) << "defaults are left out";
  EXPECT_EQ(sweep.training(0).path(), "data.test_examples");
  EXPECT_EQ(sweep.axes(0).columns(0).values(1).number(), 0.5);
  ASSERT_EQ(sweep.noise_size(), 2);
  EXPECT_EQ(sweep.noise(1).name(), "algo");
  EXPECT_EQ(sweep.noise(1).rules_size(), 0) << "a built-in plan is told by its name";
  EXPECT_EQ(sweep.hardware().kind(), v1::HardwareChoice::KIND_LIST);
  EXPECT_EQ(sweep.stacks_size(), 0);
  EXPECT_EQ(sweep.tags().at("team"), "noise");
  EXPECT_THAT(answer->resolved_file(), HasSubstr("two-rates"));
}

// What is told of a sweep, submitted again, is the same sweep: nothing is lost between the two.
TEST_F(AnswersTest, WhatIsToldOfASweepCanBeSubmittedAgain) {
  scheduler::KeepSweep other = sample::Keep(2);
  other.content.plans = {{"mine", *sweep::BuiltInPlan("control"), 2, 3},
                         {"impl", *sweep::BuiltInPlan("impl"), 0, 0}};
  RuleOf(other.content.plans[0].rules, NoiseSource::kInit) = {SourceState::kFree, {}};
  RuleOf(other.content.plans[0].rules, NoiseSource::kDataOrder) = {SourceState::kFree, {2, 0, 1}};
  RuleOf(other.content.plans[0].rules, NoiseSource::kDropout).state = SourceState::kOff;
  other.content.reference_accuracy = 0.875;
  other.content.hardware = {""};
  other.content.stacks = {"torch-2.11"};
  other.content.notes = "two\nlines, Größe";
  other.cells = sweep::Expand(other.content);
  home_.Apply({other});
  for (const uint64_t number : {1u, 2u}) {
    const auto answer = asked_.GetSweep(number);
    ASSERT_TRUE(answer.ok()) << answer.status();
    std::vector<sweep::Problem> problems;
    const sweep::SweepRequest again = SweepRequestFrom(answer->sweep().sweep(), problems);
    EXPECT_TRUE(problems.empty());
    sweep::Known known;
    known.stacks["torch-2.11"] = OwnSchema();
    const auto resolved = sweep::Resolve(again, known);
    ASSERT_TRUE(std::holds_alternative<sweep::Sweep>(resolved))
        << std::get<std::vector<sweep::Problem>>(resolved).front().message;
    EXPECT_EQ(sweep::CanonicalText(std::get<sweep::Sweep>(resolved)),
              sweep::CanonicalText(number == 1 ? sample::Content() : other.content));
    EXPECT_EQ(again.notes, number == 1 ? sample::Content().notes : other.content.notes);
  }
}

TEST_F(AnswersTest, AListTellsWhatWasSubmittedOnlyInTheFullView) {
  for (const auto view : {v1::SWEEP_VIEW_UNSPECIFIED, v1::SWEEP_VIEW_BASIC}) {
    const auto basic = asked_.ListSweeps(view);
    ASSERT_TRUE(basic.ok()) << basic.status();
    ASSERT_EQ(basic->sweeps_size(), 1);
    EXPECT_FALSE(basic->sweeps(0).has_sweep());
    v1::SweepSummary wanted = asked_.GetSweep(1)->sweep();
    wanted.clear_sweep();
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(basic->sweeps(0), wanted))
        << basic->DebugString();
  }
  const auto full = asked_.ListSweeps(v1::SWEEP_VIEW_FULL);
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(full->sweeps(0),
                                                                 asked_.GetSweep(1)->sweep()));
}

TEST_F(AnswersTest, AWatchTellsWhatWasSubmittedAtFirst) {
  const auto first = home_.query().WatchSweep({.sweep = SweepId{1}});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(asked_.WatchSweep({.sweep = SweepId{1}})->sweep().has_sweep());
  const auto later = asked_.WatchSweep(first->place);
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_FALSE(later->sweep().has_sweep());
  EXPECT_EQ(later->sweep().name(), "two-rates");
  EXPECT_EQ(later->resume_token(), first->place.after.value);
}

TEST_F(AnswersTest, ALineNamesItsMemberAndWhoAskedForIt) {
  const auto first = home_.query().WatchSweep({.sweep = SweepId{1}});
  ASSERT_TRUE(first.ok()) << first.status();
  home_.Apply({scheduler::AppendEvent{SweepId{1}, sample::Member(2, 0), "leased", "leased to box-1",
                                      sample::At(70), EventId{100}},
               scheduler::AppendEvent{SweepId{1}, sample::Member(2, 0), "done", "s1c2r0 done",
                                      sample::At(71), EventId{101}},
               scheduler::AppendEvent{SweepId{1},
                                      {},
                                      "sweep_cancelled",
                                      "cancelled 3 members",
                                      sample::At(72),
                                      EventId{102},
                                      "ada"}});
  const auto news = asked_.WatchSweep(first->place);
  ASSERT_TRUE(news.ok()) << news.status();
  EXPECT_THAT(news->lines(),
              ElementsAre("s1c2r0 leased to box-1", "s1c2r0 done", "cancelled 3 members by ada"));
  EXPECT_EQ(news->resume_token(), 102u);
  ASSERT_EQ(news->events_size(), 3);
  EXPECT_EQ(news->events(0).member(), "s1c2r0");
  EXPECT_EQ(news->events(0).number(), 100u);
  EXPECT_EQ(news->events(2).kind(), v1::EVENT_KIND_CANCELLED);
  EXPECT_EQ(news->events(2).caller(), "ada");
  EXPECT_EQ(news->events(2).member(), "");
}

// Enough for a table, in a page of 100 that is at most 20 KB long.
TEST_F(AnswersTest, AListTellsWhoWhereAndHowItEndedAndNoMore) {
  const auto basic = asked_.ListMembers(v1::MEMBER_VIEW_UNSPECIFIED);
  const auto full = asked_.ListMembers(v1::MEMBER_VIEW_FULL);
  ASSERT_TRUE(basic.ok() && full.ok()) << basic.status() << full.status();
  ASSERT_EQ(basic->members_size(), full->members_size());
  for (int i = 0; i < basic->members_size(); ++i) {
    v1::Member wanted = full->members(i);
    EXPECT_FALSE(wanted.specification().empty());
    EXPECT_FALSE(wanted.sources().empty());
    wanted.clear_specification();
    wanted.clear_specification_sha256();
    wanted.clear_sources();
    wanted.clear_step();
    wanted.clear_step_count();
    if (wanted.has_outcome()) {
      v1::Outcome& outcome = *wanted.mutable_outcome();
      EXPECT_FALSE(outcome.environment().empty());
      outcome.clear_environment();
      outcome.clear_data_identity();
      outcome.clear_hashes();
      outcome.clear_per_class_accuracy();
      outcome.clear_artifacts();
      outcome.clear_record_batches();
    }
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(basic->members(i), wanted))
        << basic->members(i).DebugString() << wanted.DebugString();
    EXPECT_LE(basic->members(i).ByteSizeLong(), 200u) << basic->members(i).DebugString();
  }
}

TEST_F(AnswersTest, AMemberIsToldWhole) {
  const auto answer = asked_.GetMember("s1c1r2");
  ASSERT_TRUE(answer.ok()) << answer.status();
  const v1::Member& member = answer->member();
  EXPECT_EQ(member.id(), "s1c1r2");
  EXPECT_EQ(member.sweep(), 1u);
  EXPECT_EQ(member.cell(), 1u);
  EXPECT_EQ(member.replicate(), 2u);
  EXPECT_EQ(member.state(), v1::MEMBER_STATE_DONE);
  EXPECT_EQ(member.plan(), "algo");
  EXPECT_EQ(member.hardware(), "cpu-test-avx2");
  EXPECT_EQ(member.attempt(), 1u);
  EXPECT_EQ(member.worker(), "box-1");
  EXPECT_EQ(member.axes(0).value().number(), 0.05);
  EXPECT_EQ(member.sources().at("init").lane(), 3u);
  EXPECT_EQ(member.sources().at("init").state(), v1::SOURCE_STATE_FREE);
  EXPECT_EQ(member.sources().at("kernels").lane(), 0u);
  EXPECT_EQ(member.specification(), sample::Grant(6, sample::Member(1, 2)).specification);
  EXPECT_EQ(member.specification_sha256(), Sha256Hex(member.specification()));
  EXPECT_EQ(member.step(), member.step_count());
  const v1::Outcome& outcome = member.outcome();
  EXPECT_EQ(outcome.kind(), v1::Outcome::KIND_DONE);
  EXPECT_EQ(outcome.cause(), "") << "a success has none";
  EXPECT_EQ(outcome.metrics().at("loss"), 0.5);
  EXPECT_EQ(outcome.train_seconds(), 47);
  EXPECT_EQ(outcome.data_identity(), sample::kIdentity);
  EXPECT_EQ(outcome.hashes().at("weights"), std::string(64, '3'));
  EXPECT_THAT(outcome.per_class_accuracy(), ElementsAre(0.5, 1.0));
  ASSERT_EQ(outcome.artifacts_size(), 2);
  EXPECT_EQ(outcome.artifacts(0).kind(), "predictions");
  EXPECT_EQ(outcome.artifacts(0).sha256(), home_.Blob("s1c1r2", "predictions").sha256);
  EXPECT_EQ(outcome.artifacts(0).size(), home_.Blob("s1c1r2", "predictions").size_bytes);
  EXPECT_THAT(outcome.environment(), HasSubstr("Test 9000"));
  ASSERT_EQ(answer->history_size(), 1);
  EXPECT_THAT(answer->history(0), HasSubstr("attempt 1 on box-1 (lease 6)"));
  ASSERT_EQ(answer->events_size(), 2);
  EXPECT_EQ(answer->events(0).kind(), v1::EVENT_KIND_LEASED);
  EXPECT_EQ(answer->events(1).kind(), v1::EVENT_KIND_DONE);
}

TEST_F(AnswersTest, ALossThatIsNotFiniteIsToldAsSuch) {
  scheduler::KeepOutcome diverged = sample::Finish(7, sample::Member(2, 0));
  diverged.outcome.kind = Outcome::Kind::kDiverged;
  diverged.outcome.per_class_accuracy = {0.25, std::numeric_limits<double>::quiet_NaN(), 1};
  home_.Apply({sample::Grant(7, sample::Member(2, 0)), diverged,
               scheduler::SetMemberState{sample::Member(2, 0), MemberState::kDiverged, 1, 0}});
  const v1::Outcome outcome = asked_.GetMember("s1c2r0")->member().outcome();
  EXPECT_EQ(outcome.kind(), v1::Outcome::KIND_DIVERGED);
  EXPECT_TRUE(std::isnan(outcome.metrics().at("loss")));
  ASSERT_EQ(outcome.per_class_accuracy_size(), 3);
  EXPECT_EQ(outcome.per_class_accuracy(0), 0.25);
  EXPECT_TRUE(std::isnan(outcome.per_class_accuracy(1))) << "a class without examples";
}

TEST_F(AnswersTest, AWatchedMemberIsToldWithItsValues) {
  const auto news = asked_.WatchMember("s1c1r0");
  ASSERT_TRUE(news.ok()) << news.status();
  EXPECT_EQ(news->state(), v1::MEMBER_STATE_DONE);
  EXPECT_EQ(news->lease(), 4u);
  EXPECT_EQ(news->attempt(), 1u);
  EXPECT_GT(news->values_size(), 0);
  EXPECT_EQ(news->events_size(), 2);
}

TEST_F(AnswersTest, WorkersAreToldWithWhatTheyHave) {
  const auto answer = asked_.ListWorkers();
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->workers_size(), 1);
  EXPECT_EQ(answer->workers(0).name(), "box-1");
  const v1::Inventory& inventory = answer->workers(0).inventory();
  ASSERT_EQ(inventory.offers_size(), 2);
  EXPECT_EQ(inventory.offers(0).hardware_class(), "cpu-test-avx2");
  EXPECT_EQ(inventory.offers(1).stack(), "torch-2.11");
  EXPECT_EQ(inventory.devices(0).unit(), "cpu of box-1");
  EXPECT_EQ(inventory.slots_size(), 2);
  EXPECT_EQ(inventory.withheld(0).reason(), "it burns");
  EXPECT_EQ(answer->workers(0).version(), "0.1.0");

  SQLite::Database raw(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  ASSERT_EQ(raw.exec("UPDATE worker SET inventory = '{'"), 1);
  EXPECT_FALSE(asked_.ListWorkers()->workers(0).has_inventory())
      << "its next registration mends it";
}

// Damage.

// Nothing that could not be parsed leaves, whichever text of the database is damaged: it is told as
// damage of that file, or is in no answer.
TEST_F(AnswersTest, TextThatNobodyCouldReadIsNamedWhereverItIs) {
  const google::protobuf::LogSilencer quiet;
  home_.Apply({scheduler::AppendEvent{
      SweepId{1}, {}, "sweep_cancelled", "cancelled", sample::At(70), EventId{100}, "ada"}});
  home_.HoldCounts();
  SQLite::Database whole(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  std::vector<std::pair<std::string, std::string>> columns;
  SQLite::Statement row(whole,
                        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c "
                        "WHERE t.type = 'table' AND c.type = 'TEXT'");
  while (row.executeStep()) {
    columns.emplace_back(row.getColumn(0).getString(), row.getColumn(1).getString());
  }
  row.reset();
  EXPECT_GT(columns.size(), 30u);
  std::set<std::string> named;
  for (const auto& [table, column] : columns) {
    const TempHome copy;
    whole.exec("VACUUM INTO '" + DatabasePath(copy.path()) + "'");
    {
      SQLite::Database raw(DatabasePath(copy.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
      raw.exec("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF");
      raw.exec("PRAGMA ignore_check_constraints = ON");
      raw.exec("UPDATE OR IGNORE " + table + " SET " + column + " = CAST(x'ff61' || CAST(" +
               column + " AS BLOB) AS TEXT)");
    }
    query::QueryOptions options;
    options.home = copy.path();
    options.live = {[&](SweepId sweep) { return home_.ProgressOf(sweep); },
                    [](const MemberId&) { return std::nullopt; }};
    const auto query = query::Query::Open(std::move(options));
    ASSERT_TRUE(query.ok()) << query.status();
    const Asked asked(**query);
    const auto look = [&, table = table, column = column](const auto& answer) {
      if (answer.ok()) {
        auto parsed = *answer;
        EXPECT_TRUE(parsed.ParseFromString(answer->SerializeAsString())) << table << "." << column;
      } else if (absl::IsDataLoss(answer.status())) {
        named.insert(table + "." + column);
      }
    };
    look(asked.GetSweep(1));
    look(asked.ListSweeps(v1::SWEEP_VIEW_BASIC));
    look(asked.ListSweeps(v1::SWEEP_VIEW_FULL));
    look(asked.ListMembers(v1::MEMBER_VIEW_BASIC));
    look(asked.ListMembers(v1::MEMBER_VIEW_FULL));
    look(asked.GetMember("s1c1r2"));
    look(asked.GetMember("s1c2r0"));
    look(asked.ListWorkers());
    look(asked.WatchSweep({.sweep = SweepId{1}, .after = EventId{1}}));
    look(asked.WatchMember("s1c1r0"));
  }
  for (const char* const one : {"sweep.name",          "sweep.specification_sha256",
                                "sweep.definition",    "sweep.file",
                                "sweep.kind",          "cell.plan",
                                "cell.hardware",       "cell.stack",
                                "member.state",        "specification.text",
                                "worker.name",         "worker.version",
                                "worker.inventory",    "attempt.message",
                                "attempt.outcome",     "attempt.cause",
                                "environment.facts",   "data_identity.sha256",
                                "attempt_metric.name", "attempt_hash.name",
                                "artifact.kind",       "artifact.path",
                                "artifact.sha256",     "metric.name",
                                "event.text",          "event.caller"}) {
    EXPECT_THAT(named, Contains(std::string(one)));
  }
}

TEST_F(AnswersTest, DamagedTextIsNamedWithItsFile) {
  SQLite::Database raw(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  raw.exec("UPDATE cell SET plan = CAST(x'ff61' AS TEXT)");

  const absl::Status refused = asked_.ListMembers(v1::MEMBER_VIEW_BASIC).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(refused),
            DatabasePath(home_.path()) +
                ": holds text that is not UTF-8; the file is damaged: put a backup in its place");
}

// Each figure of a value is told as itself: no two of them are equal here.
template <typename Message>
void ExpectTold(const Message& told, const std::string& wanted_text) {
  Message wanted;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(wanted_text, &wanted));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(told, wanted))
      << told.DebugString();
}

TEST(FiguresTest, OfASweep) {
  query::SweepFacts facts;
  facts.id = SweepId{3};
  facts.kind = sweep::Kind::kReplay;
  facts.of = MemberId{SweepId{1}, 2, 4};
  query::SweepSummary summary;
  summary.facts = std::make_shared<const query::SweepFacts>(facts);
  summary.now = {.cells = 1,
                 .waiting = 2,
                 .leased = 3,
                 .done = 4,
                 .diverged = 5,
                 .failed = 6,
                 .cancelled = 7,
                 .retries = 8,
                 .running = 0.25,
                 .mean_seconds = 9.5,
                 .owner = "ada",
                 .priority = -10,
                 .weight = 11,
                 .paused = true,
                 .max_failures = 12,
                 .archived = false,
                 .limits = {{"cpu", 13}},
                 .gpu_hours = 14.5,
                 .gpu_hours_used = 15.5,
                 .members_per_hour = 16.5,
                 .revision = 17,
                 .undecided = true};
  summary.progress = 18.5;
  summary.seconds_left = 19.5;
  Texts texts;
  ExpectTold(
      ToProto(summary, texts),
      "id: 3 kind: 'replay' of: 's1c2r4' cells: 1 waiting: 2 leased: 3 done: 4 diverged: 5 "
      "failed: 6 cancelled: 7 retries: 8 mean_member_seconds: 9.5 owner: 'ada' priority: -10 "
      "weight: 11 paused: true max_failures: 12 limits { key: 'cpu' value: 13 } "
      "gpu_hours: 14.5 gpu_hours_used: 15.5 members_per_hour: 16.5 undecided: true "
      "progress: 18.5 expected_seconds_left: 19.5");
  summary.now = {.archived = true};
  summary.progress = summary.seconds_left = 0;
  ExpectTold(ToProto(summary, texts), "id: 3 kind: 'replay' of: 's1c2r4' weight: 1 archived: true");
}

TEST(FiguresTest, OfAPlan) {
  query::Plan plan;
  query::PlannedCell& cell = plan.cells.emplace_back();
  cell.cell.index = 1;
  cell.cell.plan = "algo";
  cell.cell.hardware = "cpu";
  cell.cell.stack = "torch";
  cell.cell.block = 2;
  cell.cell.replicates = 3;
  cell.workers = {"box", "den"};
  plan.plans = {{.name = "algo",
                 .replicates = 4,
                 .blocks = 5,
                 .cells = 6,
                 .members = 7,
                 .draws = 8,
                 .control = true,
                 .detectable_sd_ratio = 9.5,
                 .detectable_mean_shift = 10.5}};
  plan.members = 11;
  plan.steps = 12;
  plan.expected_seconds = 13.5;
  plan.expected_from = "others";
  plan.warnings = {"long"};
  ExpectTold(ToProto(plan),
             "cells { cell: 1 plan: 'algo' hardware: 'cpu' stack: 'torch' block: 2 replicates: 3 "
             "workers: ['box', 'den'] } plans { name: 'algo' replicates: 4 blocks: 5 cells: 6 "
             "members: 7 draws: 8 control: true detectable_sd_ratio: 9.5 "
             "detectable_mean_shift: 10.5 } members: 11 steps: 12 expected_seconds: 13.5 "
             "expected_from: 'others' warnings: 'long'");
}

TEST(FiguresTest, OfAMember) {
  query::Member member;
  member.id = {SweepId{1}, 2, 3};
  member.block = 4;
  member.state = MemberState::kLeased;
  member.attempt = 5;
  member.sources[NoiseSource::kInit].seed = 6;
  member.sources[NoiseSource::kInit].lane.number = 7;
  member.sources[NoiseSource::kInit].state = SourceState::kFree;
  member.subject = MemberId{SweepId{8}, 9, 10};
  member.weights_file = "their.safetensors";
  member.progress = {11, 12};
  ingest::AttemptOutcome& attempt = member.outcome.emplace().attempt;
  attempt.kind = Outcome::Kind::kFailed;
  attempt.cause = CauseClass::kOutOfMemory;
  attempt.train_seconds = 13.5;
  attempt.record_batches = 14;
  attempt.artifacts = {{"weights", "w", "ab", 15}, {"log", "l", "cd", 16}};
  member.outcome->removed_unix_seconds = {0, 17};
  Texts texts;
  ExpectTold(
      ToProto(member, texts),
      "id: 's1c2r3' sweep: 1 cell: 2 replicate: 3 block: 4 state: MEMBER_STATE_LEASED "
      "attempt: 5 sources { key: 'init' value { state: SOURCE_STATE_FREE lane: 7 seed: 6 } } "
      "subject: 's8c9r10' weights_file: 'their.safetensors' step: 11 step_count: 12 "
      "outcome { kind: KIND_FAILED cause: 'out_of_memory' train_seconds: 13.5 "
      "record_batches: 14 artifacts { kind: 'weights' path: 'w' sha256: 'ab' size: 15 } "
      "artifacts { kind: 'log' path: 'l' sha256: 'cd' size: 16 "
      "collected_unix_seconds: 17 } }");
}

TEST(FiguresTest, OfWhatAMemberMeasures) {
  query::MemberNews news;
  news.state = MemberState::kLeased;
  news.lease = LeaseId{1};
  news.attempt = 2;
  news.progress = {3, 4};
  news.values = {{5, "loss", 6.5}};
  Texts texts;
  ExpectTold(ToProto(news, texts),
             "state: MEMBER_STATE_LEASED lease: 1 attempt: 2 step: 3 steps: 4 "
             "values { step: 5 name: 'loss' value: 6.5 }");
}

TEST(FiguresTest, OfAnEvent) {
  query::Event event;
  event.number = EventId{1};
  event.unix_micros = 2;
  event.member = MemberId{SweepId{3}, 4, 5};
  event.attempt = 6;
  event.lease = LeaseId{7};
  event.worker = "box";
  event.caller = "ada";
  event.text = "so";
  const std::string rest =
      "number: 1 unix_micros: 2 member: 's3c4r5' attempt: 6 lease: 7 worker: 'box' caller: 'ada' "
      "text: 'so' kind: EVENT_KIND_";
  using Kind = query::EventKind;
  const std::pair<Kind, std::string> kinds[] = {
      {Kind::kLeased, "LEASED"},       {Kind::kDone, "DONE"},         {Kind::kDiverged, "DIVERGED"},
      {Kind::kRetried, "RETRIED"},     {Kind::kFailed, "FAILED"},     {Kind::kLost, "LOST"},
      {Kind::kCancelled, "CANCELLED"}, {Kind::kRequeued, "REQUEUED"}, {Kind::kUpdated, "UPDATED"},
      {Kind::kSubmitted, "SUBMITTED"}, {Kind::kExtended, "EXTENDED"}, {Kind::kOther, "OTHER"}};
  for (const auto& [kind, name] : kinds) {
    event.kind = kind;
    Texts texts;
    ExpectTold(ToProto(event, texts), rest + name);
  }
}

// Of values whose every text is no UTF-8, no message has one that is none.
TEST(TextsTest, NoTextOfAnAnswerGoesUnchecked) {
  const std::string bad = "\xff";
  const auto see = [&](const auto& value) {
    const google::protobuf::LogSilencer quiet;
    Texts texts;
    auto message = ToProto(value, texts);
    EXPECT_FALSE(texts.Check("x").ok());
    auto parsed = message;
    EXPECT_TRUE(parsed.ParseFromString(message.SerializeAsString())) << message.GetTypeName();
  };
  sweep::SweepRequest submitted;
  submitted.name = submitted.notes = bad;
  submitted.training = {{bad, bad}, {"x", bad}};
  submitted.axes = {{{{bad, {bad}}}}};
  submitted.noise = {{bad, bad, {{bad, SourceState::kFree}}, 1, 1}};
  submitted.classes = submitted.stacks = {bad};
  submitted.tags = {{bad, bad}, {"x", bad}};
  see(submitted);
  query::SweepFacts facts;
  facts.name = facts.specification_sha256 = bad;
  facts.hardware = {bad};
  query::SweepSummary summary;
  summary.facts = std::make_shared<const query::SweepFacts>(facts);
  summary.submitted = std::make_shared<const sweep::SweepRequest>(submitted);
  summary.now.owner = bad;
  summary.now.limits = {{bad, 1}};
  see(summary);
  see(query::SweepPage{{summary}, SweepId{1}});
  see(query::SweepWhole{summary, bad, bad});
  query::Event event;
  event.worker = event.caller = event.text = bad;
  see(event);
  see(query::SweepNews{summary, {event}, {}});
  query::Member member;
  member.plan = member.hardware = member.stack = member.worker = bad;
  member.specification = member.specification_sha256 = bad;
  ingest::AttemptOutcome& attempt = member.outcome.emplace().attempt;
  attempt.message = attempt.environment = attempt.data_identity = bad;
  attempt.hashes = {{bad, bad}, {"x", bad}};
  attempt.metrics = {{bad, 1}};
  attempt.artifacts = {{bad, bad, bad, 1}};
  member.outcome->removed_unix_seconds = {0};
  see(member);
  see(query::MemberPage{{member}, member.id});
  see(query::MemberWhole{member, {bad}, {event}});
  query::MemberNews news;
  news.values = {{1, bad, 1}};
  news.events = {event};
  see(news);
  see(std::vector<query::WorkerRow>{{WorkerId{1}, bad, bad, bad, 0}});
}

}  // namespace
}  // namespace noisefloor
