#include "coordinator/query/query.h"

#include <cmath>
#include <future>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "SQLiteCpp/SQLiteCpp.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/query/event_reader.h"
#include "coordinator/store/database.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MemberQuestion Basic(uint64_t sweep = 1) { return {.sweep = SweepId{sweep}, .most = 100}; }

MemberQuestion Whole(uint64_t sweep = 1) {
  MemberQuestion question = Basic(sweep);
  question.view = MemberView::kFull;
  return question;
}

MemberQuestion OfState(MemberState state) {
  MemberQuestion question = Basic();
  question.selection.states = {state};
  return question;
}

class QueryTest : public ::testing::Test {
 protected:
  SweepSummary Sweep(uint64_t id = 0) {
    auto found = home_.query().SummariseSweep(SweepId{id}, SweepView::kFull);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *std::move(found) : SweepSummary{};
  }

  MemberWhole Member(const std::string& id) {
    auto found = home_.query().GetMember(*ParseMemberId(id));
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *std::move(found) : MemberWhole{};
  }

  // Damages rows past the store.
  int Damage(const std::string& sql) {
    SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
    database.exec("PRAGMA ignore_check_constraints = ON");
    return database.exec(sql);
  }

  FilledHome home_;
};

TEST_F(QueryTest, TheNewestSweepIsToldWithItsCounts) {
  const SweepSummary sweep = Sweep();

  EXPECT_EQ(sweep.facts->id, SweepId{1});
  EXPECT_EQ(sweep.facts->name, "two-rates");
  EXPECT_EQ(sweep.facts->kind, sweep::Kind::kTrain);
  EXPECT_EQ(sweep.facts->of, std::nullopt);
  EXPECT_THAT(sweep.facts->hardware, ElementsAre("cpu-test-avx2"));
  EXPECT_EQ(sweep.now.cells, 4u);
  EXPECT_EQ(sweep.now.done, 6u);
  EXPECT_EQ(sweep.now.waiting, 6u);
  EXPECT_EQ(sweep.now.retries, 0u);
  EXPECT_EQ(sweep.progress, 6.0);
  EXPECT_EQ(sweep.now.mean_seconds, 47.0);
  EXPECT_EQ(sweep.facts->submitted_unix_seconds, 1700000000);
  EXPECT_EQ(sweep.facts->specification_sha256, sample::Keep().specification_sha256);
}

TEST_F(QueryTest, TheSweepComesBackAsItWouldBeSubmitted) {
  const SweepSummary found = Sweep();
  ASSERT_NE(found.submitted, nullptr);
  const sweep::SweepRequest& sweep = *found.submitted;

  EXPECT_EQ(sweep.seed, sample::Content().seed);
  ASSERT_EQ(sweep.training.size(), 1u) << "defaults are left out";
  EXPECT_EQ(sweep.training[0].first, "data.test_examples");
  ASSERT_EQ(sweep.axes.size(), 1u);
  EXPECT_EQ(sweep.axes[0].columns[0].values[1], SettingValue(0.5));
  ASSERT_EQ(sweep.noise.size(), 2u);
  EXPECT_EQ(sweep.noise[1].name, "algo");
  EXPECT_TRUE(sweep.noise[1].rules.empty()) << "a built-in plan is told by its name";
  EXPECT_EQ(sweep.hardware, sweep::HardwareKind::kList);
  EXPECT_TRUE(sweep.stacks.empty());
  EXPECT_EQ(sweep.tags.at("team"), "noise");
}

TEST_F(QueryTest, WhatWasSubmittedIsReadOnlyForWhoAsks) {
  home_.HoldCounts();
  ASSERT_EQ(Damage("UPDATE sweep SET definition = "
                   "json_object('hardware', json_extract(definition, '$.hardware'))"),
            1);

  const auto basic = home_.query().SummariseSweep(SweepId{1}, SweepView::kBasic);
  ASSERT_TRUE(basic.ok()) << basic.status();
  EXPECT_EQ(basic->submitted, nullptr);
  EXPECT_THAT(basic->facts->hardware, ElementsAre("cpu-test-avx2"));
  EXPECT_TRUE(home_.query().ListSweeps({.most = 1}).ok());
  EXPECT_FALSE(home_.query().SummariseSweep(SweepId{1}, SweepView::kFull).ok());
  EXPECT_FALSE(home_.query().ListSweeps({.most = 1, .view = SweepView::kFull}).ok());
}

TEST_F(QueryTest, ADefinitionThatIsNoneIsDamage) {
  home_.HoldCounts();
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  SQLite::Statement damage(database, "UPDATE sweep SET definition = ?");
  for (const char* const text : {"x", "{}", R"({"hardware": [1]})", R"({"hardware": "cpu"})"}) {
    damage.reset();
    damage.bind(1, text);
    ASSERT_EQ(damage.exec(), 1);
    const absl::Status told = home_.query().SummariseSweep(SweepId{1}, SweepView::kBasic).status();
    EXPECT_EQ(told.code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_THAT(Message(told), HasSubstr("the store is damaged: s1: its definition"));
  }
}

TEST_F(QueryTest, ACancelledMemberIsNoProgress) {
  home_.Apply({scheduler::SetMemberState{sample::Member(2, 0), MemberState::kCancelled, 0, 0}});

  EXPECT_EQ(Sweep().now.cancelled, 1u);
  EXPECT_EQ(Sweep().progress, 6.0);
}

TEST_F(QueryTest, ARunningMemberCountsByItsShareOfSteps) {
  home_.Apply({sample::Grant(7, sample::Member(2, 0)),
               scheduler::SetMemberState{sample::Member(2, 0), MemberState::kLeased, 1, 0}});
  home_.running()[sample::Member(2, 0)] = {30, 120};

  EXPECT_EQ(Sweep().progress, 6.25);
  const query::Member member = Member("s1c2r0").member;
  EXPECT_EQ(member.progress.step, 30);
  EXPECT_EQ(member.progress.step_count, 120);
  EXPECT_EQ(member.worker, "box-1");
}

TEST_F(QueryTest, WhatThereIsNotIsNamed) {
  const absl::Status sweep = home_.query().GetSweep(SweepId{9}).status();
  EXPECT_EQ(sweep.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(sweep), HasSubstr("s9: no such sweep; the newest is s1"));
  const absl::Status member = home_.query().GetMember(sample::Member(9, 0)).status();
  EXPECT_EQ(member.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(member), HasSubstr("s1c9r0: no such member"));
  EXPECT_EQ(*home_.query().FindSweep({}), SweepId{1});
  EXPECT_EQ(home_.query().FindSweep(SweepId{9}).status(), sweep);
}

TEST_F(QueryTest, PagesOfMembersHoldEachMemberOnce) {
  MemberQuestion question = Basic();
  question.most = 5;
  std::vector<std::string> ids;
  int pages = 0;
  do {
    const auto page = home_.query().ListMembers(question);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const query::Member& member : page->members) {
      ids.push_back(ToText(member.id));
      ASSERT_EQ(member.axes.size(), 1u);
      EXPECT_EQ(member.axes[0].second, SettingValue(member.id.cell < 2 ? 0.05 : 0.5)) << ids.back();
    }
    question.after = page->after;
    ++pages;
  } while (question.after && pages < 10);

  EXPECT_EQ(pages, 3);
  EXPECT_THAT(ids, ElementsAre("s1c0r0", "s1c0r1", "s1c0r2", "s1c1r0", "s1c1r1", "s1c1r2", "s1c2r0",
                               "s1c2r1", "s1c2r2", "s1c3r0", "s1c3r1", "s1c3r2"));
}

TEST_F(QueryTest, APageOfHugeMembersEndsBeforeItsMessageIsTooLong) {
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  const std::string huge = R"({"padding":")" + std::string(1 << 20, 'x') + R"("})";
  SQLite::Statement pad(database, "UPDATE environment SET facts = ?1");
  pad.bind(1, huge);
  ASSERT_GT(pad.exec(), 0);

  const auto page = home_.query().ListMembers(Whole());

  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->members.size(), 4u);
  EXPECT_EQ(page->after, sample::Member(1, 0));
  EXPECT_EQ(home_.query().ListMembers(Basic())->members.size(), 12u) << "of which little is told";
}

TEST_F(QueryTest, ARowThatMakesNoSenseIsAnErrorAndNotTheEnd) {
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs());
  database.exec("PRAGMA foreign_keys = OFF");
  ASSERT_EQ(database.exec("DELETE FROM cell WHERE cell = 1"), 1);

  const absl::Status damaged = home_.query().GetStudy({}).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(damaged), "the store is damaged: lease 4: there is no member s1c1r0");

  EXPECT_TRUE(home_.query().ListWorkers().ok()) << "the next question is answered";
}

TEST_F(QueryTest, AMemberWhoseRowsMakeNoSenseIsNamedAsDamage) {
  home_.HoldCounts();
  const std::string member = " WHERE cell = 1 AND replicate = 2";
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"UPDATE member SET state = 'dine'" + member, "UPDATE member SET state = 'done'" + member},
      {"UPDATE attempt SET outcome = 'dine' WHERE lease = 6",
       "UPDATE attempt SET outcome = 'done' WHERE lease = 6"},
      {"UPDATE attempt SET cause = 'dine' WHERE lease = 6",
       "UPDATE attempt SET cause = 'none' WHERE lease = 6"}};
  for (const auto& [damage, mend] : damages) {
    ASSERT_EQ(Damage(damage), 1);
    const absl::Status one = home_.query().GetMember(sample::Member(1, 2)).status();
    EXPECT_EQ(one.code(), absl::StatusCode::kDataLoss) << damage;
    EXPECT_THAT(Message(one), HasSubstr("the store is damaged: s1c1r2: "));
    EXPECT_EQ(home_.query().ListMembers(Basic()).status(), one) << damage;
    EXPECT_TRUE(home_.query().GetMember(sample::Member(1, 1)).ok());
    ASSERT_EQ(Damage(mend), 1);
    EXPECT_TRUE(home_.query().GetMember(sample::Member(1, 2)).ok());
  }
}

TEST_F(QueryTest, AStudyOfAStateThatIsNoneIsDamage) {
  home_.HoldCounts();
  const std::vector<std::tuple<std::string, std::string, std::string>> damages = {
      {"UPDATE member SET state = 'dine' WHERE cell = 1 AND replicate = 2",
       "UPDATE member SET state = 'done' WHERE cell = 1 AND replicate = 2", "s1c1r2"},
      {"UPDATE cell SET untouched = 'dine' WHERE cell = 3",
       "UPDATE cell SET untouched = 'waiting' WHERE cell = 3", "s1c3r0"}};
  for (const auto& [damage, mend, member] : damages) {
    ASSERT_EQ(Damage(damage), 1);
    EXPECT_THAT(Message(home_.query().GetStudy({.form = StudyForm::kJson}).status()),
                HasSubstr("the store is damaged: " + member + ": its state is none"));
    ASSERT_EQ(Damage(mend), 1);
  }
  EXPECT_TRUE(home_.query().GetStudy({.form = StudyForm::kJson}).ok());
}

TEST_F(QueryTest, MembersOfOneStateOnly) {
  const auto page = home_.query().ListMembers(OfState(MemberState::kWaiting));

  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->members.size(), 6u);
  EXPECT_EQ(page->members[0].id, sample::Member(2, 0));
  EXPECT_EQ(home_.query().ListMembers(OfState(MemberState::kDone))->members.size(), 6u);
  EXPECT_EQ(home_.query().ListMembers(OfState(MemberState::kCancelled))->members.size(), 0u);
}

TEST_F(QueryTest, AListOfWhatTheSweepHasNotIsRefusedByName) {
  MemberQuestion question = Basic();
  question.selection.plans = {"contrl"};
  const absl::Status plan = home_.query().ListMembers(question).status();
  EXPECT_EQ(plan.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(plan), HasSubstr("s1 has no plan contrl; it has "));

  question = Basic();
  question.selection.cells = {99};
  const absl::Status cell = home_.query().ListMembers(question).status();
  EXPECT_EQ(cell.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(cell), HasSubstr("s1 has no cell 99; its cells are 0 to 3"));
}

// A cell of which one member has a row of its own, and the others are what the cell says.
TEST_F(QueryTest, MembersWithoutARowAreListedBetweenThoseThatHaveOne) {
  home_.Apply({scheduler::SetMemberState{sample::Member(3, 1), MemberState::kWaiting, 1, 1},
               scheduler::SetUntouched{SweepId{1}, 3, MemberState::kCancelled}});
  const auto list = [&](std::set<MemberState> states, uint32_t most) {
    MemberQuestion question = Basic();
    question.most = most;
    question.selection.states = std::move(states);
    std::string ids;
    do {
      const auto page = home_.query().ListMembers(question);
      EXPECT_TRUE(page.ok()) << page.status();
      for (const query::Member& member : page->members) ids += ToText(member.id) + " ";
      question.after = page->after;
    } while (question.after);
    return ids;
  };
  for (const uint32_t most : {1u, 2u, 5u, 100u}) {
    EXPECT_EQ(list({MemberState::kCancelled}, most), "s1c3r0 s1c3r2 ") << most;
    EXPECT_EQ(list({MemberState::kWaiting}, most), "s1c2r0 s1c2r1 s1c2r2 s1c3r1 ") << most;
    EXPECT_EQ(list({MemberState::kWaiting, MemberState::kCancelled}, most),
              "s1c2r0 s1c2r1 s1c2r2 s1c3r0 s1c3r1 s1c3r2 ")
        << most;
    EXPECT_EQ(list({}, most),
              "s1c0r0 s1c0r1 s1c0r2 s1c1r0 s1c1r1 s1c1r2 s1c2r0 s1c2r1 s1c2r2 s1c3r0 s1c3r1 "
              "s1c3r2 ")
        << most;
  }
  EXPECT_EQ(Sweep().now.cancelled, 2u);
  EXPECT_EQ(Sweep().now.waiting, 4u);
}

// In one list as alone, whatever cell was told before.
TEST_F(QueryTest, AMemberThatHasHadNoAttemptIsToldWhatItsCellWouldBeGiven) {
  home_.Apply({sample::Keep(2)});
  const auto whole = home_.query().ListMembers(Whole(2));
  ASSERT_TRUE(whole.ok()) << whole.status();
  const sweep::Sweep content = sample::Content();
  int compared = 0;
  for (const sweep::Cell& cell : sweep::Expand(content)) {
    for (uint32_t replicate = 0; replicate < 3; ++replicate, ++compared) {
      EXPECT_EQ(whole->members[static_cast<size_t>(compared)].specification,
                TrainingToJson(sweep::MemberTraining(content, cell, replicate, cell.hardware,
                                                     cell.stack, "")));
    }
  }
  EXPECT_EQ(whole->members.size(), static_cast<size_t>(compared));
}

TEST_F(QueryTest, AMemberWhoseSpecificationIsDamagedIsListedWithoutIt) {
  const auto whole = home_.query().ListMembers(Whole());
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const size_t i : {0, 3}) {  // Of two cells.
    EXPECT_EQ(whole->members[i].specification,
              sample::Grant(1, whole->members[i].id).specification);
  }
  ASSERT_EQ(Damage("UPDATE specification SET text = 'x' WHERE cell = 1"), 1);

  const auto page = home_.query().ListMembers(Whole());

  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->members.size(), 12u);
  EXPECT_NE(page->members[0].specification, "");
  EXPECT_EQ(page->members[3].specification, "");
  const absl::Status one = home_.query().GetMember(sample::Member(1, 0)).status();
  EXPECT_EQ(one.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(one), HasSubstr("s1c1r0: no specification of its cell"));
}

TEST_F(QueryTest, AMemberThatItsCellDoesNotHaveIsNotFound) {
  for (const char* name : {"s1c3r3", "s1c4r0", "s2c0r0"}) {
    EXPECT_EQ(home_.query().GetMember(*ParseMemberId(name)).status().code(),
              absl::StatusCode::kNotFound)
        << name;
  }
}

TEST_F(QueryTest, AMemberIsToldWholeWithItsHistory) {
  const MemberWhole whole = Member("s1c1r2");

  const query::Member& member = whole.member;
  EXPECT_EQ(member.state, MemberState::kDone);
  EXPECT_EQ(member.plan, "algo");
  EXPECT_EQ(member.hardware, "cpu-test-avx2");
  EXPECT_EQ(member.axes[0].second, SettingValue(0.05));
  EXPECT_EQ(member.sources.at(NoiseSource::kInit).lane.number, 3u);
  EXPECT_EQ(member.sources.at(NoiseSource::kInit).state, SourceState::kFree);
  EXPECT_EQ(member.sources.at(NoiseSource::kKernels).lane.number, 0u);
  EXPECT_EQ(member.specification, sample::Grant(6, sample::Member(1, 2)).specification);
  EXPECT_EQ(member.specification_sha256, Sha256Hex(member.specification));
  ASSERT_TRUE(member.outcome.has_value());
  const ingest::AttemptOutcome& attempt = member.outcome->attempt;
  EXPECT_EQ(attempt.hashes.at("weights"), std::string(64, '3'));
  EXPECT_THAT(attempt.per_class_accuracy, ElementsAre(0.5, 1.0));
  EXPECT_EQ(attempt.artifacts.size(), 2u);
  EXPECT_THAT(member.outcome->removed_unix_seconds, ElementsAre(0, 0));
  EXPECT_THAT(attempt.environment, HasSubstr("Test 9000"));
  ASSERT_EQ(whole.history.size(), 1u);
  EXPECT_THAT(whole.history[0], HasSubstr("attempt 1 on box-1 (lease 6)"));
  EXPECT_THAT(whole.history[0], HasSubstr("done; accepted"));
}

TEST_F(QueryTest, ALostMemberSaysWhatItsLastLeaseSaid) {
  home_.Apply(
      {sample::Grant(7, sample::Member(2, 0)),
       scheduler::DropLease{LeaseId{7}, CauseClass::kLostWorker, "silent for 15 s", sample::At(90)},
       scheduler::SetMemberState{sample::Member(2, 0), MemberState::kFailed, 1, 0}});

  const MemberWhole whole = Member("s1c2r0");

  ASSERT_TRUE(whole.member.outcome.has_value());
  EXPECT_EQ(whole.member.outcome->attempt.kind, Outcome::Kind::kFailed);
  EXPECT_EQ(whole.member.outcome->attempt.cause, CauseClass::kLostWorker);
  EXPECT_EQ(whole.member.outcome->attempt.message, "silent for 15 s");
  EXPECT_THAT(whole.history[0], HasSubstr("lost: silent for 15 s"));
}

TEST_F(QueryTest, ANotFiniteLossIsToldAsSuch) {
  scheduler::KeepOutcome diverged = sample::Finish(7, sample::Member(2, 0));
  diverged.outcome.kind = Outcome::Kind::kDiverged;
  diverged.outcome.per_class_accuracy = {0.25, std::numeric_limits<double>::quiet_NaN(), 1};
  home_.Apply({sample::Grant(7, sample::Member(2, 0)), diverged,
               scheduler::SetMemberState{sample::Member(2, 0), MemberState::kDiverged, 1, 0}});

  const query::Member member = Member("s1c2r0").member;
  ASSERT_TRUE(member.outcome.has_value());
  const ingest::AttemptOutcome& attempt = member.outcome->attempt;

  EXPECT_EQ(attempt.kind, Outcome::Kind::kDiverged);
  EXPECT_TRUE(std::isnan(attempt.metrics.at("loss")));
  ASSERT_EQ(attempt.per_class_accuracy.size(), 3u);
  EXPECT_EQ(attempt.per_class_accuracy[0], 0.25);
  EXPECT_TRUE(std::isnan(attempt.per_class_accuracy[1])) << "a class without examples";
  EXPECT_EQ(attempt.per_class_accuracy[2], 1);
}

TEST_F(QueryTest, AWatchBeginsWithTheCountsAndGoesOnWhereItWas) {
  const auto first = home_.query().WatchSweep({.sweep = SweepId{1}});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->events.empty());
  EXPECT_EQ(first->sweep.now.done, 6u);
  const auto same = home_.query().WatchSweep(first->place);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->place.after, first->place.after);

  home_.Apply({scheduler::AppendEvent{SweepId{1}, sample::Member(2, 0), "leased", "leased to box-1",
                                      sample::At(70), EventId{100}}});
  const auto second = home_.query().WatchSweep(first->place);

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->place.after, EventId{100});
  ASSERT_EQ(second->events.size(), 1u);
  EXPECT_EQ(second->events[0].member, sample::Member(2, 0));
  EXPECT_EQ(second->events[0].text, "leased to box-1");
}

// Whose place is in an attempt that was lost: the next one begins at its first step.
TEST_F(QueryTest, AWatchOfAMemberTellsTheNextAttemptFromItsBeginning) {
  const MemberId member = sample::Member(2, 0);
  scheduler::KeepRecords records{LeaseId{8}, member, 2, {}};
  records.batch.sequence = 1;
  records.batch.records = {
      {1, 0.25, "train_loss", 2.5}, {2, 0.5, "train_loss", 2}, {3, 0.75, "train_loss", 1.5}};
  home_.Apply({sample::Grant(7, member),
               scheduler::DropLease{LeaseId{7}, CauseClass::kLostWorker, "silent", sample::At(20)},
               sample::Grant(8, member, 2), records,
               scheduler::SetMemberState{member, MemberState::kLeased, 2, 0}});

  const auto news = home_.query().WatchMember(
      {.member = member, .first = LeaseId{7}, .events = 1, .lease = LeaseId{7}, .after_step = 3});

  ASSERT_TRUE(news.ok()) << news.status();
  EXPECT_EQ(news->lease, LeaseId{8});
  std::vector<int64_t> steps;
  for (const MeasuredValue& value : news->values) steps.push_back(value.step);
  EXPECT_THAT(steps, ElementsAre(1, 2, 3));
}

// Whoever leaves at the counts of an end has heard of it.
TEST_F(QueryTest, AWatchCountsNothingThatNoEventTellsOf) {
  auto first = home_.query().WatchSweep({.sweep = SweepId{1}});
  ASSERT_TRUE(first.ok()) << first.status();
  home_.CommitBeforeCounts(
      {scheduler::SetMemberState{sample::Member(2, 0), MemberState::kCancelled, 0, 0},
       scheduler::AppendEvent{SweepId{1}, sample::Member(2, 0), "cancelled", "1 member cancelled",
                              sample::At(70), EventId{100}}});

  const auto second = home_.query().WatchSweep(first->place);

  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->sweep.now.cancelled, 1u);
  ASSERT_EQ(second->events.size(), 1u);
  EXPECT_EQ(second->events[0].text, "1 member cancelled");
}

// What hardly ever changes is not told with each count.
TEST_F(QueryTest, AWatchTellsWhatWasSubmittedOnceForEachRevision) {
  const auto first = home_.query().WatchSweep({.sweep = SweepId{1}});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_NE(first->sweep.submitted, nullptr);
  EXPECT_EQ(first->place.revision, 0u);
  const auto second = home_.query().WatchSweep(first->place);
  EXPECT_EQ(second->sweep.submitted, nullptr);
  EXPECT_EQ(second->sweep.facts->name, "two-rates");
  SweepPlace older = first->place;
  older.revision = 7;
  const auto changed = home_.query().WatchSweep(older);
  EXPECT_NE(changed->sweep.submitted, nullptr);
  EXPECT_EQ(changed->place.revision, 0u);
}

TEST_F(QueryTest, WorkersAreToldFromTheStore) {
  const auto workers = home_.query().ListWorkers();

  ASSERT_TRUE(workers.ok());
  ASSERT_EQ(workers->size(), 1u);
  EXPECT_EQ(workers->front().id, WorkerId{1});
  EXPECT_EQ(workers->front().name, "box-1");
  EXPECT_EQ(workers->front().version, "0.1.0");
  EXPECT_THAT(workers->front().inventory, HasSubstr("cpu of box-1"));
}

TEST_F(QueryTest, SweepsAreListedNewestFirstInPages) {
  home_.Apply({sample::Keep(2), sample::Keep(3)});

  const auto first = home_.query().ListSweeps({.most = 2});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->sweeps.size(), 2u);
  EXPECT_EQ(first->sweeps[0].facts->id, SweepId{3});
  EXPECT_EQ(first->sweeps[0].submitted, nullptr);
  EXPECT_EQ(first->after, SweepId{2});
  const auto second =
      home_.query().ListSweeps({.most = 2, .after = first->after, .view = SweepView::kFull});

  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_EQ(second->sweeps.size(), 1u);
  EXPECT_EQ(second->sweeps[0].facts->id, SweepId{1});
  EXPECT_EQ(second->sweeps[0].submitted->tags.at("team"), "noise");
  EXPECT_EQ(second->after, std::nullopt);
}

TEST_F(QueryTest, AnArtifactIsFoundByMemberAndKind) {
  const MemberId member = sample::Member(1, 0);
  const auto file = home_.query().FindArtifact(member, "weights");

  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Sha256Hex(*ReadFile(file->path, 1 << 20)), home_.Blob("s1c1r0", "weights").sha256);
  EXPECT_EQ(home_.query().FindArtifact(member, "checkpoint").status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(RemoveFile(file->path).ok());
  EXPECT_EQ(home_.query().FindArtifact(member, "weights").status().code(),
            absl::StatusCode::kDataLoss);
}

// A worker that had been given up sent its files all the same.
TEST_F(QueryTest, TheArtifactOfAMemberIsThatOfItsResult) {
  const MemberId member = sample::Member(1, 0);
  const std::string accepted = home_.Blob("s1c1r0", "weights").sha256;
  scheduler::KeepOutcome late = sample::Finish(7, member, 2);
  late.accepted = false;
  late.reason = "the lease was lost";
  late.outcome.artifacts.clear();
  home_.AddFile(late.outcome, member, "weights", "other weights");
  home_.Apply({sample::Grant(7, member, 2), late});

  const auto file = home_.query().FindArtifact(member, "weights");

  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->sha256, accepted);
}

TEST_F(QueryTest, AMeasurementIsNotRepeated) {
  const MemberId member = {SweepId{2}, 0, 0};
  scheduler::KeepSweep keep = sample::Keep(2);
  PutSetting(keep.content.base, sweep::kMeasureSteps, int64_t{4});
  keep.content.kind = sweep::Kind::kMeasure;
  home_.Apply({keep, scheduler::SetMemberState{member, MemberState::kDone, 1, 0}});

  const absl::Status status = home_.query().FindReplaySource(member).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("s2c0r0 is a measurement"));
  EXPECT_TRUE(home_.query().FindReplaySource(sample::Member(0, 0)).ok());
}

TEST_F(QueryTest, PostedWorkRunsOnAnotherThread) {
  std::promise<std::thread::id> ran;

  ASSERT_TRUE(home_.query().Post(Work::kRead, [&] { ran.set_value(std::this_thread::get_id()); }));

  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(QueryOpenTest, ADirectoryWithoutADatabaseIsRefused) {
  TempHome home;
  QueryOptions options;
  options.home = home.path();

  EXPECT_FALSE(Query::Open(std::move(options)).ok());
}

TEST(EventReaderTest, EachKindOfTheStoreHasItsWordOrNone) {
  EXPECT_EQ(KindOf("member_leased", false), EventKind::kLeased);
  EXPECT_EQ(KindOf("member_waits_again", false), EventKind::kRetried);
  EXPECT_EQ(KindOf("member_waits_again", true), EventKind::kLost);
  EXPECT_EQ(KindOf("member_failed", true), EventKind::kFailed) << "lost too often";
  EXPECT_EQ(KindOf("members_failed", false), EventKind::kFailed);
  EXPECT_EQ(KindOf("members_cancelled", false), EventKind::kCancelled);
  EXPECT_EQ(KindOf("members_retried", false), EventKind::kRequeued);
  EXPECT_EQ(KindOf("sweep_extended", false), EventKind::kExtended);
  EXPECT_EQ(KindOf("late_result", false), EventKind::kOther);
  EXPECT_EQ(KindOf("of another version", false), EventKind::kOther);
}

}  // namespace
}  // namespace noisefloor::query
