#include "coordinator/query/query.h"

#include <google/protobuf/util/message_differencer.h>

#include <cmath>
#include <future>
#include <thread>

#include "SQLiteCpp/SQLiteCpp.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/detectable.h"
#include "coordinator/query/event_reader.h"
#include "coordinator/store/database.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor::query {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::ListMembersRequest Whole() {
  v1::ListMembersRequest request;
  request.set_view(v1::MEMBER_VIEW_FULL);
  return request;
}

// A worker with slots of cpu-test-avx2.
FleetWorker Box(uint32_t slots, const std::string& stack) {
  Inventory inventory;
  inventory.devices = {{"cpu of box-1", "Test 9000", 0, "", ""}};
  inventory.offers = {{"cpu-test-avx2", stack, "f", "b"}};
  inventory.slots.assign(slots, {{0}, 1, {0}});
  return {"box-1", std::make_shared<const Inventory>(std::move(inventory))};
}

class QueryTest : public ::testing::Test {
 protected:
  v1::SweepSummary Sweep(uint64_t id = 0) {
    v1::GetSweepRequest request;
    request.set_sweep_id(id);
    const auto response = home_.query().GetSweep(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->sweep() : v1::SweepSummary{};
  }

  v1::GetMemberResponse Member(const std::string& id) {
    v1::GetMemberRequest request;
    request.set_member(id);
    const auto response = home_.query().GetMember(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::GetMemberResponse{};
  }

  FilledHome home_;
};

TEST_F(QueryTest, TheNewestSweepIsToldWithItsCounts) {
  const v1::SweepSummary sweep = Sweep();

  EXPECT_EQ(sweep.id(), 1u);
  EXPECT_EQ(sweep.name(), "two-rates");
  EXPECT_EQ(sweep.cells(), 4u);
  EXPECT_EQ(sweep.done(), 6u);
  EXPECT_EQ(sweep.waiting(), 6u);
  EXPECT_EQ(sweep.retries(), 0u);
  EXPECT_EQ(sweep.progress(), 6.0);
  EXPECT_EQ(sweep.mean_member_seconds(), 47.0);
  EXPECT_EQ(sweep.submitted_unix_seconds(), 1700000000);
  EXPECT_EQ(sweep.specification_sha256(), sample::Keep().specification_sha256);
}

TEST_F(QueryTest, TheSweepComesBackAsItWouldBeSubmitted) {
  const v1::Sweep sweep = Sweep().sweep();

  EXPECT_EQ(sweep.seed(), sample::Content().seed);
  ASSERT_EQ(sweep.training_size(), 1) << "defaults are left out";
  EXPECT_EQ(sweep.training(0).path(), "data.test_examples");
  ASSERT_EQ(sweep.axes_size(), 1);
  EXPECT_EQ(sweep.axes(0).columns(0).values(1).number(), 0.5);
  ASSERT_EQ(sweep.noise_size(), 2);
  EXPECT_EQ(sweep.noise(1).name(), "algo");
  EXPECT_EQ(sweep.noise(1).rules_size(), 0) << "a built-in plan is told by its name";
  EXPECT_EQ(sweep.hardware().kind(), v1::HardwareChoice::KIND_LIST);
  EXPECT_EQ(sweep.stacks_size(), 0);
  EXPECT_EQ(sweep.tags().at("team"), "noise");
}

TEST_F(QueryTest, ARunningMemberCountsByItsShareOfSteps) {
  home_.Apply(
      {sample::Grant(7, sample::Member(2, 0)),
       scheduler::SetMemberState{sample::Member(2, 0), scheduler::MemberState::kLeased, 1, 0}});
  home_.running()[sample::Member(2, 0)] = {30, 120};

  EXPECT_EQ(Sweep().progress(), 6.25);
  const v1::Member member = Member("s1c2r0").member();
  EXPECT_EQ(member.step(), 30);
  EXPECT_EQ(member.step_count(), 120);
  EXPECT_EQ(member.worker(), "box-1");
}

TEST_F(QueryTest, WhatThereIsNotIsNamed) {
  v1::GetSweepRequest sweep;
  sweep.set_sweep_id(9);
  EXPECT_EQ(home_.query().GetSweep(sweep).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(home_.query().GetSweep(sweep).status()),
              HasSubstr("s9: no such sweep; the newest is s1"));
  v1::GetMemberRequest member;
  member.set_member("s1c9r0");
  EXPECT_EQ(home_.query().GetMember(member).status().code(), absl::StatusCode::kNotFound);
  member.set_member("nonsense");
  EXPECT_THAT(Message(home_.query().GetMember(member).status()), HasSubstr("s3c12r4"));
}

TEST_F(QueryTest, PagesOfMembersHoldEachMemberOnce) {
  v1::ListMembersRequest request;
  request.set_page_size(5);
  std::vector<std::string> ids;
  int pages = 0;
  do {
    const auto response = home_.query().ListMembers(request);
    ASSERT_TRUE(response.ok()) << response.status();
    for (const v1::Member& member : response->members()) ids.push_back(member.id());
    request.set_page_token(response->next_page_token());
    ++pages;
  } while (!request.page_token().empty() && pages < 10);

  EXPECT_EQ(pages, 3);
  EXPECT_THAT(ids, ElementsAre("s1c0r0", "s1c0r1", "s1c0r2", "s1c1r0", "s1c1r1", "s1c1r2", "s1c2r0",
                               "s1c2r1", "s1c2r2", "s1c3r0", "s1c3r1", "s1c3r2"));
}

TEST_F(QueryTest, APageOfHugeMembersEndsBeforeItsMessageIsTooLong) {
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE);
  const std::string huge = R"({"padding":")" + std::string(1 << 20, 'x') + R"("})";
  SQLite::Statement pad(database, "UPDATE environment SET facts = ?1");
  pad.bind(1, huge);
  ASSERT_GT(pad.exec(), 0);

  const auto response = home_.query().ListMembers(Whole());

  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->members_size(), 4);
  EXPECT_EQ(response->next_page_token(), "s1c1r0");
  EXPECT_EQ(home_.query().ListMembers({})->members_size(), 12) << "of which little is told";
}

TEST_F(QueryTest, ARowThatMakesNoSenseIsAnErrorAndNotTheEnd) {
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE);
  database.exec("PRAGMA foreign_keys = OFF");
  ASSERT_EQ(database.exec("DELETE FROM cell WHERE cell = 1"), 1);

  v1::GetStudyRequest request;
  request.set_form(v1::GetStudyRequest::FORM_JSON);
  const absl::Status damaged = home_.query().GetStudy(request).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(damaged), "the store is damaged: lease 4: there is no member s1c1r0");

  EXPECT_TRUE(home_.query().ListWorkers().ok()) << "the next question is answered";
}

TEST_F(QueryTest, MembersOfOneStateOnly) {
  v1::ListMembersRequest request;
  request.set_state(v1::MEMBER_STATE_WAITING);

  const auto response = home_.query().ListMembers(request);

  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->members_size(), 6);
  EXPECT_EQ(response->members(0).id(), "s1c2r0");
  request.set_state(v1::MEMBER_STATE_DONE);
  EXPECT_EQ(home_.query().ListMembers(request)->members_size(), 6);
  request.set_state(v1::MEMBER_STATE_CANCELLED);
  EXPECT_EQ(home_.query().ListMembers(request)->members_size(), 0);
}

// A cell of which one member has a row of its own, and the others are what the cell says.
TEST_F(QueryTest, MembersWithoutARowAreListedBetweenThoseThatHaveOne) {
  home_.Apply(
      {scheduler::SetMemberState{sample::Member(3, 1), scheduler::MemberState::kWaiting, 1, 1},
       scheduler::SetUntouched{SweepId{1}, 3, scheduler::MemberState::kCancelled}});
  v1::ListMembersRequest request;
  const auto list = [&](v1::MemberState state) {
    request.set_state(state);
    std::string ids;
    std::string token;
    do {
      request.set_page_token(token);
      const auto page = home_.query().ListMembers(request);
      EXPECT_TRUE(page.ok()) << page.status();
      for (const v1::Member& member : page->members()) ids += member.id() + " ";
      token = page->next_page_token();
    } while (!token.empty());
    return ids;
  };
  for (const uint32_t page : {1u, 2u, 5u, 100u}) {
    request.set_page_size(page);
    EXPECT_EQ(list(v1::MEMBER_STATE_CANCELLED), "s1c3r0 s1c3r2 ") << page;
    EXPECT_EQ(list(v1::MEMBER_STATE_WAITING), "s1c2r0 s1c2r1 s1c2r2 s1c3r1 ") << page;
    EXPECT_EQ(list(v1::MEMBER_STATE_UNSPECIFIED),
              "s1c0r0 s1c0r1 s1c0r2 s1c1r0 s1c1r1 s1c1r2 s1c2r0 s1c2r1 s1c2r2 s1c3r0 s1c3r1 "
              "s1c3r2 ")
        << page;
  }
  EXPECT_EQ(Sweep().cancelled(), 2u);
  EXPECT_EQ(Sweep().waiting(), 4u);
}

// Enough for a table, in a page of 100 that is at most 20 KB long.
TEST_F(QueryTest, AListTellsWhoWhereAndHowItEndedAndNoMore) {
  const auto basic = home_.query().ListMembers({});
  const auto full = home_.query().ListMembers(Whole());
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
  v1::ListMembersRequest nonsense;
  nonsense.set_view(static_cast<v1::MemberView>(9));
  EXPECT_EQ(home_.query().ListMembers(nonsense).status(),
            InvalidInput("view: expected one of MemberView, got 9"));
}

// In one list as alone, whatever cell was told before.
TEST_F(QueryTest, AMemberThatHasHadNoAttemptIsToldWhatItsCellWouldBeGiven) {
  home_.Apply({sample::Keep(2)});
  v1::ListMembersRequest request = Whole();
  request.set_sweep_id(2);
  const auto whole = home_.query().ListMembers(request);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const sweep::Sweep content = sample::Content();
  int compared = 0;
  for (const sweep::Cell& cell : sweep::Expand(content)) {
    for (uint32_t replicate = 0; replicate < 3; ++replicate, ++compared) {
      EXPECT_EQ(whole->members(compared).specification(),
                TrainingToJson(sweep::MemberTraining(content, cell, replicate, cell.hardware,
                                                     cell.stack, "")));
    }
  }
  EXPECT_EQ(whole->members_size(), compared);
}

TEST_F(QueryTest, AMemberWhoseSpecificationIsDamagedIsListedWithoutIt) {
  const auto whole = home_.query().ListMembers(Whole());
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const int i : {0, 3}) {  // Of two cells.
    const MemberId member = *ParseMemberId(whole->members(i).id());
    EXPECT_EQ(whole->members(i).specification(), sample::Grant(1, member).specification);
  }
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE);
  ASSERT_EQ(database.exec("UPDATE specification SET text = 'x' WHERE cell = 1"), 1);

  const auto members = home_.query().ListMembers(Whole());

  ASSERT_TRUE(members.ok()) << members.status();
  EXPECT_EQ(members->members_size(), 12);
  EXPECT_NE(members->members(0).specification(), "");
  EXPECT_EQ(members->members(3).specification(), "");
  v1::GetMemberRequest request;
  request.set_member("s1c1r0");
  const absl::Status one = home_.query().GetMember(request).status();
  EXPECT_EQ(one.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(one), HasSubstr("s1c1r0: no specification of its cell"));
}

TEST_F(QueryTest, AMemberThatItsCellDoesNotHaveIsNotFound) {
  for (const char* name : {"s1c3r3", "s1c4r0", "s2c0r0"}) {
    v1::GetMemberRequest request;
    request.set_member(name);
    EXPECT_EQ(home_.query().GetMember(request).status().code(), absl::StatusCode::kNotFound)
        << name;
  }
}

TEST_F(QueryTest, TextThatNobodyCouldReadIsNamedAsDamage) {
  SQLite::Database raw(DatabasePath(home_.path()), SQLite::OPEN_READWRITE);
  raw.exec("UPDATE cell SET plan = CAST(x'ff61' AS TEXT)");

  const absl::Status refused = home_.query().ListMembers(v1::ListMembersRequest()).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(refused), HasSubstr("noisefloor.db: holds text that is not UTF-8"));
}

TEST_F(QueryTest, PageTokensAndSizesThatNobodyGaveAreRefused) {
  v1::ListMembersRequest members;
  members.set_state(static_cast<v1::MemberState>(99));
  EXPECT_EQ(home_.query().ListMembers(members).status(),
            InvalidInput("state: expected one of MemberState, got 99"));
  members.clear_state();
  members.set_page_token("s2c0r0");
  EXPECT_EQ(home_.query().ListMembers(members).status().code(), absl::StatusCode::kInvalidArgument);
  v1::ListSweepsRequest sweeps;
  sweeps.set_page_size(1001);
  EXPECT_THAT(Message(home_.query().ListSweeps(sweeps).status()), HasSubstr("at most 1000"));
}

TEST_F(QueryTest, AMemberIsToldWholeWithItsHistory) {
  const v1::GetMemberResponse response = Member("s1c1r2");

  const v1::Member& member = response.member();
  EXPECT_EQ(member.state(), v1::MEMBER_STATE_DONE);
  EXPECT_EQ(member.plan(), "algo");
  EXPECT_EQ(member.hardware(), "cpu-test-avx2");
  EXPECT_EQ(member.axes(0).value().number(), 0.05);
  EXPECT_EQ(member.sources().at("init").lane(), 3u);
  EXPECT_EQ(member.sources().at("init").state(), v1::SOURCE_STATE_FREE);
  EXPECT_EQ(member.sources().at("kernels").lane(), 0u);
  EXPECT_EQ(member.specification(), sample::Grant(6, sample::Member(1, 2)).specification);
  EXPECT_EQ(member.specification_sha256(), Sha256Hex(member.specification()));
  EXPECT_EQ(member.outcome().hashes().at("weights"), std::string(64, '3'));
  EXPECT_THAT(member.outcome().per_class_accuracy(), ElementsAre(0.5, 1.0));
  EXPECT_EQ(member.outcome().artifacts_size(), 2);
  EXPECT_THAT(member.outcome().environment(), HasSubstr("Test 9000"));
  ASSERT_EQ(response.history_size(), 1);
  EXPECT_THAT(response.history(0), HasSubstr("attempt 1 on box-1 (lease 6)"));
  EXPECT_THAT(response.history(0), HasSubstr("done; accepted"));
}

TEST_F(QueryTest, ALostMemberSaysWhatItsLastLeaseSaid) {
  home_.Apply(
      {sample::Grant(7, sample::Member(2, 0)),
       scheduler::DropLease{LeaseId{7}, CauseClass::kLostWorker, "silent for 15 s", sample::At(90)},
       scheduler::SetMemberState{sample::Member(2, 0), scheduler::MemberState::kFailed, 1, 0}});

  const v1::GetMemberResponse response = Member("s1c2r0");

  EXPECT_EQ(response.member().outcome().kind(), v1::Outcome::KIND_FAILED);
  EXPECT_EQ(response.member().outcome().cause(), "lost_worker");
  EXPECT_THAT(response.history(0), HasSubstr("lost: silent for 15 s"));
}

TEST_F(QueryTest, ANotFiniteLossIsToldAsSuch) {
  scheduler::KeepOutcome diverged = sample::Finish(7, sample::Member(2, 0));
  diverged.outcome.kind = OutcomeEvent::Kind::kDiverged;
  diverged.outcome.per_class_accuracy = {0.25, std::numeric_limits<double>::quiet_NaN(), 1};
  home_.Apply(
      {sample::Grant(7, sample::Member(2, 0)), diverged,
       scheduler::SetMemberState{sample::Member(2, 0), scheduler::MemberState::kDiverged, 1, 0}});

  const v1::Outcome outcome = Member("s1c2r0").member().outcome();

  EXPECT_EQ(outcome.kind(), v1::Outcome::KIND_DIVERGED);
  EXPECT_TRUE(std::isnan(outcome.metrics().at("loss")));
  ASSERT_EQ(outcome.per_class_accuracy_size(), 3);
  EXPECT_EQ(outcome.per_class_accuracy(0), 0.25);
  EXPECT_TRUE(std::isnan(outcome.per_class_accuracy(1))) << "a class without examples";
  EXPECT_EQ(outcome.per_class_accuracy(2), 1);
}

TEST_F(QueryTest, AWatchBeginsWithTheCountsAndGoesOnWhereItWas) {
  v1::WatchSweepRequest request;
  request.set_sweep_id(1);
  const auto first = home_.query().WatchSweep(request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->lines_size(), 0);
  EXPECT_EQ(first->sweep().done(), 6u);
  request.set_resume_token(first->resume_token());
  EXPECT_EQ(home_.query().WatchSweep(request)->resume_token(), first->resume_token());

  home_.Apply({scheduler::AppendEvent{SweepId{1}, sample::Member(2, 0), "leased", "leased to box-1",
                                      sample::At(70), EventId{100}}});
  const auto second = home_.query().WatchSweep(request);

  EXPECT_GT(second->resume_token(), first->resume_token());
  EXPECT_THAT(second->lines(), ElementsAre("s1c2r0 leased to box-1"));
}

TEST_F(QueryTest, WorkersAreToldFromTheStore) {
  const auto response = home_.query().ListWorkers();

  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->workers_size(), 1);
  EXPECT_EQ(response->workers(0).name(), "box-1");
  const v1::Inventory& inventory = response->workers(0).inventory();
  ASSERT_EQ(inventory.offers_size(), 2);
  EXPECT_EQ(inventory.offers(0).hardware_class(), "cpu-test-avx2");
  EXPECT_EQ(inventory.offers(1).stack(), "torch-2.11");
  EXPECT_EQ(inventory.devices(0).unit(), "cpu of box-1");
  EXPECT_EQ(inventory.slots_size(), 2);
  EXPECT_EQ(inventory.withheld(0).reason(), "it burns");
  EXPECT_EQ(response->workers(0).version(), "0.1.0");
}

TEST_F(QueryTest, SweepsAreListedNewestFirstInPages) {
  home_.Apply({sample::Keep(2), sample::Keep(3)});
  v1::ListSweepsRequest request;
  request.set_page_size(2);

  const auto first = home_.query().ListSweeps(request);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->sweeps_size(), 2);
  EXPECT_EQ(first->sweeps(0).id(), 3u);
  request.set_page_token(first->next_page_token());
  const auto second = home_.query().ListSweeps(request);

  ASSERT_EQ(second->sweeps_size(), 1);
  EXPECT_EQ(second->sweeps(0).id(), 1u);
  EXPECT_EQ(second->next_page_token(), "");
}

TEST_F(QueryTest, AnArtifactIsFoundByMemberAndKind) {
  v1::GetArtifactRequest request;
  request.set_member("s1c1r0");
  request.set_kind("weights");

  const auto file = home_.query().FindArtifact(request);

  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Sha256Hex(*ReadFile(file->path, 1 << 20)), home_.Blob("s1c1r0", "weights").sha256);
  request.set_kind("checkpoint");
  EXPECT_EQ(home_.query().FindArtifact(request).status().code(), absl::StatusCode::kNotFound);
  request.set_kind("weights");
  ASSERT_TRUE(RemoveFile(file->path).ok());
  EXPECT_EQ(home_.query().FindArtifact(request).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(QueryTest, APlanTakesItsTimeFromEndedMembers) {
  const std::vector<FleetWorker> fleet = {Box(2, "torch-2.11")};

  const auto plan = home_.query().PlanSweep(sample::Content(), fleet);

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->members, 12u);
  // 6000 examples, 47 batches of 128, 2 epochs; every ended member took 47 s for 94 steps.
  EXPECT_EQ(plan->steps, 12 * 94);
  EXPECT_DOUBLE_EQ(plan->expected_seconds, 12 * 47.0 / 2);
  EXPECT_THAT(plan->expected_from, HasSubstr("6 ended members"));
  EXPECT_THAT(plan->cells[0].workers, ElementsAre("box-1"));
  ASSERT_EQ(plan->plans.size(), 2u);
  EXPECT_TRUE(plan->plans[0].control);
  EXPECT_EQ(plan->plans[0].detectable_sd_ratio, 0) << "a control spreads nowhere";
  EXPECT_GT(plan->plans[1].detectable_sd_ratio, 1);
  EXPECT_THAT(plan->warnings, Each(HasSubstr("algo frees")));  // What acts on nothing.
}

TEST_F(QueryTest, APlanTakesAnotherBatchOrLengthIntoAccount) {
  const std::vector<FleetWorker> fleet = {Box(2, "torch-2.11")};
  sweep::Sweep sweep = sample::Content();
  PutSetting(sweep.base, "train.batch_size", int64_t{64});
  PutSetting(sweep.base, "train.epochs", int64_t{6});

  const auto plan = home_.query().PlanSweep(sweep, fleet);

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->steps, 12 * 94 * 6);
  EXPECT_DOUBLE_EQ(plan->expected_seconds, 12 * 47.0 * 3 / 2);
}

TEST_F(QueryTest, APlanForWhatNeverRanGuessesNothing) {
  sweep::Sweep sweep = sample::Content();
  PutSetting(sweep.base, "model.name", std::string("mlp"));
  sweep.hardware = {"cpu-other"};
  sweep.replicates = 1;

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->expected_seconds, 0);
  EXPECT_THAT(plan->expected_from, HasSubstr("for 4 of 4 cells no member"));
  EXPECT_THAT(plan->warnings.at(0), HasSubstr("no worker offers cpu-other"));
  EXPECT_THAT(plan->warnings.at(1), HasSubstr("no spread can be measured"));
}

TEST_F(QueryTest, APlanCountsWhatEachOfItsNoisePlansComesTo) {
  sweep::Sweep sweep = sample::Content();  // Two rates, three replicates.
  PutSetting(sweep.base, "augment.flip", true);
  sweep.plans = {{"control", *sweep::BuiltInPlan("control"), 2, 3},
                 {"algo", *sweep::BuiltInPlan("algo"), 6, 0},
                 {"impl", *sweep::BuiltInPlan("impl"), 0, 4},
                 {"init", *sweep::BuiltInPlan("control"), 6, 0}};
  sweep.plans[3].states[0] = SourceState::kFree;
  const auto draws = [](const Plan& plan) {
    std::vector<uint32_t> found;
    for (const PlannedPlan& one : plan.plans) found.push_back(one.draws);
    return found;
  };

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->members, 2u * (2 * 3 + 6 + 3 * 4 + 6));
  EXPECT_EQ(plan->plans[0].members, 12u);
  EXPECT_EQ(plan->plans[2].replicates, 3u);
  EXPECT_EQ(plan->plans[2].cells, 8u);
  EXPECT_EQ(plan->cells[0].cell.replicates, 2u);
  EXPECT_EQ(plan->steps, 60 * 94);
  EXPECT_THAT(draws(*plan), ElementsAre(3, 6, 4, 1)) << "blocks where a seeded source is fixed";
  EXPECT_EQ(plan->plans[1].detectable_sd_ratio, *analysis::DetectableSdRatio(6));
  EXPECT_EQ(plan->plans[2].detectable_sd_ratio, *analysis::DetectableSdRatio(9))
      << "pooled: 4 blocks with 3 - 1 degrees of freedom";

  // Without augmentation and order nothing seeded is left that the last plan fixes.
  PutSetting(sweep.base, "augment.flip", false);
  PutSetting(sweep.base, "sources.data_order.window", int64_t{1});
  EXPECT_THAT(draws(*home_.query().PlanSweep(sweep, {})), ElementsAre(3, 6, 4, 6));
}

TEST_F(QueryTest, APlanLooksAtTheShardsOfEachCell) {
  sweep::Sweep sweep = sample::Content();
  sweep.plans = {{"impl", *sweep::BuiltInPlan("impl")}};
  const auto about_shards = [&](const std::vector<SettingValue>& shards) {
    sweep.axes = {{{{"train.shards", shards}}}};
    std::vector<std::string> found;
    const auto plan = home_.query().PlanSweep(sweep, {});
    if (!plan.ok()) return found;
    for (const std::string& warning : plan->warnings) {
      if (warning.starts_with("impl frees reduce_order")) found.push_back(warning);
    }
    return found;
  };

  ASSERT_EQ(IntSetting(sweep.base, "train.shards"), 1);
  EXPECT_TRUE(about_shards({int64_t{4}, int64_t{8}}).empty());
  PutSetting(sweep.base, "train.shards", int64_t{8});
  EXPECT_THAT(about_shards({int64_t{1}, int64_t{2}, int64_t{4}}),
              ElementsAre(HasSubstr("acts on nothing in 1 of its 3 cells: train.shards is 1: "),
                          HasSubstr("acts on nothing in 1 of its 3 cells: train.shards is 2: ")));
}

TEST_F(QueryTest, APlanNamesFreeSourcesThatActOnNothing) {
  sweep::Sweep sweep = sample::Content();
  sweep.plans = {{"control", *sweep::BuiltInPlan("control")},
                 {"algo", *sweep::BuiltInPlan("algo")}};
  PutSetting(sweep.base, "model.name", std::string("small_cnn"));
  PutSetting(sweep.base, "augment.flip", false);

  const auto plan = home_.query().PlanSweep(sweep, {});

  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(
      plan->warnings,
      AllOf(Contains("algo frees dropout, which acts on nothing: small_cnn has no dropout"),
            Contains("algo frees augment, which acts on nothing: no crop, flip or cutout is "
                     "on"),
            Not(Contains(HasSubstr("frees init"))), Not(Contains(HasSubstr("control frees")))));
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
  EXPECT_EQ(KindOf("member_leased", false), v1::EVENT_KIND_LEASED);
  EXPECT_EQ(KindOf("member_waits_again", false), v1::EVENT_KIND_RETRIED);
  EXPECT_EQ(KindOf("member_waits_again", true), v1::EVENT_KIND_LOST);
  EXPECT_EQ(KindOf("member_failed", true), v1::EVENT_KIND_FAILED) << "lost too often";
  EXPECT_EQ(KindOf("members_failed", false), v1::EVENT_KIND_FAILED);
  EXPECT_EQ(KindOf("members_cancelled", false), v1::EVENT_KIND_CANCELLED);
  EXPECT_EQ(KindOf("members_retried", false), v1::EVENT_KIND_REQUEUED);
  EXPECT_EQ(KindOf("sweep_extended", false), v1::EVENT_KIND_EXTENDED);
  EXPECT_EQ(KindOf("late_result", false), v1::EVENT_KIND_OTHER);
  EXPECT_EQ(KindOf("of another version", false), v1::EVENT_KIND_OTHER);
}

}  // namespace
}  // namespace noisefloor::query
