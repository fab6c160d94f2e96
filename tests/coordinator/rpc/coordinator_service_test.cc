#include "common/base/sweep_limits.h"
#include "common/rpc/settings.h"
#include "common/rpc/status.h"
#include "common/trainer_protocol/fields.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Code = absl::StatusCode;

class CoordinatorServiceTest : public CoordinatorTest {
 protected:
  CoordinatorServiceTest() : worker_(std::make_unique<ScriptedWorker>(*workers_, "box", 7)) {}
  ~CoordinatorServiceTest() override { worker_.reset(); }

  // One message of a watch from there on, or its end.
  absl::StatusOr<v1::WatchSweepResponse> WatchOnce(uint64_t sweep, uint64_t token) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::WatchSweepRequest request;
    request.set_sweep_id(sweep);
    request.set_resume_token(token);
    const auto reader = people_->WatchSweep(&context, request);
    v1::WatchSweepResponse news;
    if (!reader->Read(&news)) return FromGrpc(reader->Finish());
    context.TryCancel();
    (void)reader->Finish();
    return news;
  }

  std::unique_ptr<ScriptedWorker> worker_;
};

TEST_F(CoordinatorServiceTest, ARepeatedRequestAnswersWithTheSameSweep) {
  const auto first = Submit(SmallSweep("a", 2), "id-1");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->resumed());
  const auto again = Submit(SmallSweep("a", 2), "id-1");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->sweep_id(), first->sweep_id());
  EXPECT_TRUE(again->resumed());
  EXPECT_EQ(again->members(), 2u);
  EXPECT_EQ(Submit(SmallSweep("a", 2), "id-2")->sweep_id(), first->sweep_id() + 1);
  EXPECT_EQ(Submit(SmallSweep("a", 2))->sweep_id(), first->sweep_id() + 2);

  Restart();

  EXPECT_EQ(Submit(SmallSweep("a", 2), "id-1")->sweep_id(), first->sweep_id());
}

TEST_F(CoordinatorServiceTest, ARepeatedRequestIsAnsweredEvenWhenNoWorkerIsConnectedAnyMore) {
  v1::Sweep everywhere = SmallSweep("a", 2);
  everywhere.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_ALL);
  everywhere.mutable_hardware()->clear_classes();
  const auto first = Submit(everywhere, "id-1");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->hardware(), ElementsAre("cpu-amd-avx2"));
  Restart();

  const auto again = Submit(everywhere, "id-1");

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->sweep_id(), first->sweep_id());
  EXPECT_THAT(again->hardware(), ElementsAre("cpu-amd-avx2"));
  EXPECT_EQ(Submit(everywhere, "id-2").status().code(), Code::kInvalidArgument);
}

// It would be wrong with any fleet, so that it is another sweep than the one that is kept.
TEST_F(CoordinatorServiceTest, ARequestWithAMistakeIsRefusedWhateverItsIdCameToBefore) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2), "id-1").ok());
  v1::Sweep nowhere = SmallSweep("a", 2);
  nowhere.mutable_hardware()->clear_classes();
  EXPECT_EQ(Submit(nowhere, "id-1").status().code(), Code::kInvalidArgument);

  Restart();  // No worker is connected: of these two things the fleet is one.
  v1::Sweep unnamed = SmallSweep("", 2);
  unnamed.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_ALL);
  unnamed.mutable_hardware()->clear_classes();
  EXPECT_EQ(Submit(unnamed, "id-1").status().code(), Code::kInvalidArgument);
}

TEST_F(CoordinatorServiceTest, AnEqualSweepIsResumedWhenAskedFor) {
  const auto first = Submit(SmallSweep("a", 2));
  ASSERT_TRUE(first.ok());
  const auto resumed = Submit(SmallSweep("a", 2), "", true);
  ASSERT_TRUE(resumed.ok());
  EXPECT_TRUE(resumed->resumed());
  EXPECT_EQ(resumed->sweep_id(), first->sweep_id());
  EXPECT_THAT(Message(Submit(SmallSweep("a", 3), "", true).status()),
              HasSubstr("`extend s1 --replicates=3`"));
  EXPECT_FALSE(Submit(SmallSweep("b", 3), "", true)->resumed());
}

TEST_F(CoordinatorServiceTest, ABadSweepIsRefusedWholeWithEveryPlace) {
  v1::Sweep sweep = SmallSweep("a", sweep::kMaxMembers + 1);
  sweep.add_noise()->set_name("chaos");
  v1::Setting& setting = *sweep.add_training();
  setting.set_path("train.epoch");
  setting.mutable_value()->set_integer(3);
  const auto refused = Submit(sweep);
  ASSERT_EQ(refused.status().code(), Code::kInvalidArgument);
  const auto bad = BadSweepOf(refused.status());
  ASSERT_TRUE(bad.has_value());
  std::string all;
  for (const v1::FieldViolation& violation : bad->violations()) {
    all += violation.field() + ": " + violation.description() + "\n";
  }
  EXPECT_THAT(all, HasSubstr("train.epochs"));
  EXPECT_THAT(all, HasSubstr("chaos"));
  EXPECT_THAT(all, HasSubstr("replicates"));
  v1::GetSweepRequest newest;
  EXPECT_EQ(Call(&People::GetSweep, newest).status(),
            absl::NotFoundError("there is no sweep in this data directory yet"));
}

// One value each, that of the default: one cell.
v1::Sweep SweepWithAxes(size_t count) {
  v1::Sweep sweep = SmallSweep("wide", 1);
  for (size_t i = 0; i < count; ++i) {
    v1::AxisColumn& column = *sweep.add_axes()->add_columns();
    column.set_path(AllFields()[i].rule.path);
    *column.add_values() = ToProto(AllFields()[i].rule.otherwise);
  }
  return sweep;
}

TEST_F(CoordinatorServiceTest, WhatASweepLeavesOutIsAsInASweepFile) {
  v1::Sweep sweep;
  sweep.set_name("least");
  sweep.add_noise()->set_name("control");
  v1::Setting& epochs = *sweep.add_training();
  epochs.set_path("train.epochs");
  epochs.mutable_value()->set_number(2);  // As a client says it whose numbers are of one kind.
  const auto submitted = Submit(sweep);
  ASSERT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_EQ(submitted->members(), 1u);
  EXPECT_THAT(submitted->hardware(), ElementsAre("cpu-amd-avx2")) << "all that there are";

  sweep.mutable_hardware()->add_classes("cpu-amd-sse");
  const auto listed = Submit(sweep);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_THAT(listed->hardware(), ElementsAre("cpu-amd-sse"));
  epochs.mutable_value()->set_number(2.5);
  EXPECT_THAT(Message(Submit(sweep).status()),
              HasSubstr("train.epochs: expected an integer from 0 to 100000, got 2.5"));
}

TEST_F(CoordinatorServiceTest, AsManyAxesAsTheCoreAllowsPass) {
  const auto most = Submit(SweepWithAxes(sweep::kMaxAxes));
  EXPECT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(most->members(), 1u);

  const auto bad = BadSweepOf(Submit(SweepWithAxes(sweep::kMaxAxes + 1)).status());
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->violations(0).field(), "axes");
}

TEST_F(CoordinatorServiceTest, APlanHasTheNumbersThatItStates) {
  v1::Sweep sweep = SmallSweep("own", 5);
  sweep.set_reference_accuracy(0.75);
  v1::NoisePlan& algo = *sweep.add_noise();
  algo.set_name("algo");
  algo.set_replicates(2);
  algo.set_blocks(3);

  const auto submitted = Submit(sweep);

  ASSERT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_EQ(submitted->members(), 5u + 3 * 2);
  v1::GetSweepRequest newest;
  const auto kept = Call(&People::GetSweep, newest);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->sweep().sweep().noise(0).replicates(), 0u);
  EXPECT_EQ(kept->sweep().sweep().noise(1).replicates(), 2u);
  EXPECT_EQ(kept->sweep().sweep().noise(1).blocks(), 3u);
  EXPECT_EQ(kept->sweep().sweep().reference_accuracy(), 0.75);
}

TEST_F(CoordinatorServiceTest, WhatIsAskedWronglyIsRefusedWithItsPlace) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  v1::ExplainMemberRequest explain;
  explain.set_member("member one");
  EXPECT_EQ(Call(&People::ExplainMember, explain).status(),
            InvalidInput("member: expected a name like s3c12r4, got 'member one'"));
  v1::GetMemberRequest member;
  member.set_member("s1c0r9");
  EXPECT_EQ(Call(&People::GetMember, member).status(),
            absl::NotFoundError("s1c0r9: no such member in this sweep"));
  EXPECT_EQ(Call(&People::CancelSweep, v1::CancelSweepRequest()).status(),
            InvalidInput("sweep_id: expected the number of a sweep, from 1, got 0"));
  EXPECT_EQ(Call(&People::RetrySweep, v1::RetrySweepRequest()).status(),
            InvalidInput("sweep_id: expected the number of a sweep, from 1, got 0"));
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(9);
  EXPECT_EQ(Call(&People::CancelSweep, cancel).status(),
            absl::NotFoundError("there is no sweep s9"));
  v1::ListMembersRequest list;
  list.set_page_size(1001);
  EXPECT_EQ(Call(&People::ListMembers, list).status(),
            InvalidInput("page_size: expected at most 1000, got 1001"));
  EXPECT_EQ(Submit(SmallSweep("a", 1), std::string(101, 'x')).status(),
            InvalidInput("request_id: expected at most 100 bytes, got 101"));
  EXPECT_EQ(WatchOnce(0, 0).status(),
            InvalidInput("sweep_id: expected the number of a sweep, from 1, got 0"));
  EXPECT_EQ(WatchOnce(9, 0).status(), absl::NotFoundError("s9: no such sweep; the newest is s1"));
}

TEST_F(CoordinatorServiceTest, AWatchResumesWhereItEndedAndEndsWithTheSweep) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lease = worker_->Started().lease_id();
  const auto begin = WatchOnce(1, 0);
  ASSERT_TRUE(begin.ok()) << begin.status();
  EXPECT_EQ(begin->sweep().leased(), 1u);
  EXPECT_EQ(begin->lines_size(), 0);
  ASSERT_TRUE(worker_->Send(ScriptedWorker::Finish(lease, 0)));
  ASSERT_TRUE(worker_->Settled().accepted());
  Restart();

  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WatchSweepRequest request;
  request.set_sweep_id(1);
  request.set_resume_token(begin->resume_token());
  const auto reader = people_->WatchSweep(&context, request);
  v1::WatchSweepResponse news;
  ASSERT_TRUE(reader->Read(&news));
  ASSERT_EQ(news.lines_size(), 1);
  EXPECT_THAT(news.lines(0), HasSubstr("s1c0r0 done on box: top-1 50.00 %"));
  EXPECT_EQ(news.sweep().done(), 1u);
  EXPECT_FALSE(reader->Read(&news));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(CoordinatorServiceTest, AnOpenWatchHearsOfAChange) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lease = worker_->Started().lease_id();
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WatchSweepRequest request;
  request.set_sweep_id(1);
  const auto reader = people_->WatchSweep(&context, request);
  v1::WatchSweepResponse news;
  ASSERT_TRUE(reader->Read(&news));
  ASSERT_TRUE(worker_->Send(ScriptedWorker::Finish(lease, 0)));
  std::vector<std::string> lines;  // Counts may be of later than the lines that come with them.
  while (reader->Read(&news)) lines.insert(lines.end(), news.lines().begin(), news.lines().end());
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(news.sweep().done(), 1u);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("s1c0r0 done on box")));
}

TEST_F(CoordinatorServiceTest, ACancelledSweepStopsItsMembersAndARetryStartsThemAgain) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  const uint64_t lease = worker_->Started().lease_id();
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(1);
  EXPECT_EQ(Call(&People::CancelSweep, cancel)->members(), 2u);
  const auto stop = worker_->Next(ScriptedWorker::Case::kStop);
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->stop().lease_id(), lease);
  EXPECT_EQ(stop->stop().reason(), "the sweep was cancelled");
  EXPECT_EQ(Member("s1c0r0").state(), v1::MEMBER_STATE_CANCELLED);

  v1::RetrySweepRequest retry;
  retry.set_sweep_id(1);
  EXPECT_EQ(Call(&People::RetrySweep, retry)->members(), 2u);
  EXPECT_GT(worker_->Started().lease_id(), lease);
}

TEST_F(CoordinatorServiceTest, WorkersAreListedWithWhatTheyRun) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  (void)worker_->Started();
  const auto list = Call(&People::ListWorkers, v1::ListWorkersRequest());
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->workers_size(), 1);
  EXPECT_TRUE(list->workers(0).connected());
  EXPECT_EQ(list->workers(0).name(), "box");
  EXPECT_THAT(list->workers(0).running(), ElementsAre("s1c0r0"));
  v1::ExplainMemberRequest explain;
  explain.set_member("s1c0r0");
  EXPECT_THAT(Call(&People::ExplainMember, explain)->text(), HasSubstr("runs on box"));
}

class ReplayTest : public CoordinatorServiceTest {
 protected:
  absl::StatusOr<v1::ReplayMemberResponse> Replay(const std::string& member, uint32_t count = 1,
                                                  const std::string& hardware = "",
                                                  const std::string& stack = "") {
    v1::ReplayMemberRequest request;
    request.set_member(member);
    request.set_count(count);
    request.set_hardware_class(hardware);
    request.set_stack(stack);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::ReplayMemberResponse response;
    const grpc::Status status = people_->ReplayMember(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }
  v1::Member Get(const std::string& member) {
    v1::GetMemberRequest request;
    request.set_member(member);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::GetMemberResponse answer;
    EXPECT_TRUE(people_->GetMember(&context, request, &answer).ok()) << member;
    return answer.member();
  }
  // s1 of two members, of which the worker has done s1c0r0 and holds s1c0r1.
  v1::StartMember TrainOne() {
    v1::Sweep sweep = SmallSweep("a", 2);
    sweep.mutable_noise(0)->set_name("algo");  // Its replicates differ.
    EXPECT_TRUE(Submit(sweep).ok());
    v1::StartMember first = worker_->Started();
    EXPECT_TRUE(worker_->Send(ScriptedWorker::Finish(first.lease_id(), 0)));
    last_ = worker_->Started().lease_id();
    return first;
  }
  uint64_t last_ = 0;
};

TEST_F(ReplayTest, AReplayIsLeasedAsAnyMemberAndTrainsTheSame) {
  const v1::StartMember original = TrainOne();
  ASSERT_EQ(original.member(), "s1c0r0");

  const auto replay = Replay("s1c0r0", 2);

  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->sweep_id(), 2u);
  EXPECT_EQ(replay->members(), 2u);
  ASSERT_TRUE(worker_->Send(ScriptedWorker::Finish(last_, 0)));
  const v1::StartMember again = worker_->Started();
  EXPECT_EQ(again.member(), "s2c0r0");
  EXPECT_EQ(again.specification(), original.specification()) << "to the last seed";
  EXPECT_FALSE(again.write_evaluation_set());
  ASSERT_TRUE(worker_->Send(ScriptedWorker::Finish(again.lease_id(), 0)));
  const v1::StartMember second = worker_->Started();
  EXPECT_EQ(second.member(), "s2c0r1");
  EXPECT_EQ(second.specification(), original.specification());

  const v1::Member told = Get("s2c0r1");
  const v1::Member wanted = Get("s1c0r0");
  ASSERT_EQ(told.sources().size(), wanted.sources().size());
  for (const auto& [source, lane] : wanted.sources()) {
    EXPECT_EQ(told.sources().at(source).lane(), lane.lane()) << source;
    EXPECT_EQ(told.sources().at(source).seed(), lane.seed()) << source;
  }

  worker_.reset();
  Restart();

  worker_ = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  const v1::StartMember retried = worker_->Started();
  EXPECT_EQ(retried.member(), "s2c0r1");
  EXPECT_EQ(retried.specification(), original.specification()) << "as the store has it";
}

TEST_F(ReplayTest, IsNoStudyAndSaysWhatItIs) {
  (void)TrainOne();
  ASSERT_TRUE(Replay("s1c0r0").ok());
  v1::GetSweepRequest request;
  request.set_sweep_id(2);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::GetSweepResponse answer;
  ASSERT_TRUE(people_->GetSweep(&context, request, &answer).ok());
  EXPECT_EQ(answer.sweep().kind(), "replay");
  EXPECT_EQ(answer.sweep().of(), "s1c0r0");
  EXPECT_EQ(answer.sweep().name(), "replay-s1c0r0");

  v1::GetStudyRequest study;
  study.set_sweep_id(2);
  study.set_form(v1::GetStudyRequest::FORM_JSON);
  grpc::ClientContext another;
  SetDeadline(another, kPatience);
  const auto reader = people_->GetStudy(&another, study);
  v1::GetStudyResponse piece;
  EXPECT_FALSE(reader->Read(&piece));
  EXPECT_EQ(Message(FromGrpc(reader->Finish())),
            "s2 is a replay of s1c0r0 and no study of its own");
}

TEST_F(ReplayTest, WhatCannotBeReplayedIsRefusedInWords) {
  (void)TrainOne();
  ASSERT_TRUE(Replay("s1c0r0").ok());
  const auto refusal = [&](auto&&... wish) { return Message(Replay(wish...).status()); };
  EXPECT_EQ(refusal("s1c0r1"), "s1c0r1 is leased: expected a member that is done or diverged");
  EXPECT_EQ(refusal("s2c0r0"), "s2c0r0 is itself a replay of s1c0r0");
  EXPECT_EQ(refusal("s1c9r0"), "s1c9r0: no such member");
  EXPECT_EQ(refusal("s9c0r0"), "s9c0r0: no such member");
  EXPECT_THAT(refusal("nonsense"), HasSubstr("member"));
  EXPECT_EQ(refusal("s1c0r0", 1001u), "count: expected at most 1000, got 1001");
  EXPECT_THAT(refusal("s1c0r0", 1u, "cpu-x"), HasSubstr("hardware_class: 'cpu-x'"));
  EXPECT_EQ(refusal("s1c0r0", 1u, "nvidia-t4-x2"),
            "hardware_class: nvidia-t4-x2 has another number of devices than s1c0r0 was trained on "
            "(train.devices)");
}

TEST_F(ReplayTest, ItMayGoElsewhere) {
  (void)TrainOne();
  ASSERT_TRUE(Replay("s1c0r0", 1, "nvidia-t4", "any").ok());
  EXPECT_EQ(Get("s2c0r0").hardware(), "nvidia-t4");
  EXPECT_EQ(Get("s2c0r0").stack(), "");
}

}  // namespace
}  // namespace noisefloor::test
