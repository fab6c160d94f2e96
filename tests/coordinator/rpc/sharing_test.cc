// People share a fleet over real gRPC: who pauses, selects, drains and asks, and what is still so
// after a restart.
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SharingTest : public CoordinatorTest {
 protected:
  absl::StatusOr<v1::UpdateSweepResponse> Update(
      uint64_t sweep, const std::function<void(v1::UpdateSweepRequest&)>& say) {
    v1::UpdateSweepRequest request;
    request.set_sweep_id(sweep);
    say(request);
    return Call(&People::UpdateSweep, request);
  }
  absl::StatusOr<v1::UpdateWorkerResponse> Use(
      const std::string& worker, const std::function<void(v1::UpdateWorkerRequest&)>& say) {
    v1::UpdateWorkerRequest request;
    request.set_worker(worker);
    say(request);
    return Call(&People::UpdateWorker, request);
  }
  v1::SweepSummary Sweep(uint64_t sweep) {
    v1::GetSweepRequest request;
    request.set_sweep_id(sweep);
    const auto found = Call(&People::GetSweep, request);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? found->sweep() : v1::SweepSummary();
  }
  std::string Explained(uint64_t sweep) {
    v1::ExplainSweepRequest request;
    request.set_sweep_id(sweep);
    const auto answer = Call(&People::ExplainSweep, request);
    return answer.ok() ? answer->text() : Message(answer.status());
  }
  std::string ExplainedWorker(const std::string& name) {
    v1::ExplainWorkerRequest request;
    request.set_worker(name);
    const auto answer = Call(&People::ExplainWorker, request);
    return answer.ok() ? answer->text() : Message(answer.status());
  }
  std::vector<uint64_t> Listed(bool archived) {
    v1::ListSweepsRequest request;
    request.set_archived(archived);
    std::vector<uint64_t> sweeps;
    const auto answer = Call(&People::ListSweeps, request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok()) return sweeps;
    for (const v1::SweepSummary& sweep : answer->sweeps()) sweeps.push_back(sweep.id());
    return sweeps;
  }
};

TEST_F(SharingTest, APausedSweepGetsNothingUntilItIsResumedOverARestartToo) {
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  ASSERT_TRUE(Submit(SmallSweep("second", 1)).ok());
  const auto paused = Update(1, [](auto& request) { request.set_paused(true); });
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_TRUE(paused->sweep().paused());
  EXPECT_THAT(Explained(1), HasSubstr("`resume s1` lets it go on"));
  Restart();

  ScriptedWorker worker(*workers_, "box", 7);
  const v1::StartMember start = worker.Started();
  EXPECT_EQ(start.member(), "s2c0r0") << "the older sweep is paused";
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(start.lease_id(), 0)));
  ASSERT_TRUE(Update(1, [](auto& request) { request.set_paused(false); }).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r0");
}

TEST_F(SharingTest, WeightsAreThereAfterARestartAndSaidToBeWhose) {
  v1::UpdateShareRequest share;
  share.set_owner("ada");
  share.set_weight(3);
  const auto changed = Call(&People::UpdateShare, share);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->share().weight(), 3u);
  ASSERT_TRUE(Submit(SmallSweep("first", 2)).ok());
  EXPECT_EQ(Sweep(1).weight(), 1u);
  ASSERT_TRUE(Update(1, [](auto& request) { request.set_weight(4); }).ok());
  EXPECT_THAT(Message(Update(1, [](auto& request) { request.set_weight(0); }).status()),
              HasSubstr("weight: expected 1 to 1000, got 0"));
  share.set_weight(1001);
  EXPECT_THAT(Message(Call(&People::UpdateShare, share).status()),
              HasSubstr("weight: expected 1 to 1000, got 1001"));
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    EXPECT_EQ(Sweep(1).weight(), 4u);
    const auto listed = Call(&People::ListShares, v1::ListSharesRequest());
    ASSERT_TRUE(listed.ok()) << listed.status();
    ASSERT_EQ(listed->shares_size(), 2) << listed->DebugString();
    uint32_t waiting = 0;
    uint32_t weights = 0;
    for (const v1::Share& one : listed->shares()) {
      waiting += one.waiting();
      weights += one.weight();
      if (one.owner() == "ada") {
        EXPECT_EQ(one.weight(), 3u);
      }
    }
    EXPECT_EQ(waiting, Sweep(1).waiting());
    EXPECT_EQ(weights, 4u);
  }
}

TEST_F(SharingTest, AHigherPriorityGoesFirst) {
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  ASSERT_TRUE(Submit(SmallSweep("second", 1)).ok());
  ASSERT_TRUE(Update(2, [](auto& request) { request.set_priority(5); }).ok());
  EXPECT_EQ(Sweep(2).priority(), 5);
  Restart();
  EXPECT_EQ(Sweep(2).priority(), 5);

  ScriptedWorker worker(*workers_, "box", 7);
  EXPECT_EQ(worker.Started().member(), "s2c0r0");
  v1::ExplainMemberRequest explain;
  explain.set_member("s1c0r0");
  EXPECT_THAT(Call(&People::ExplainMember, explain)->text(), HasSubstr("the one slot"));
}

TEST_F(SharingTest, NotesAndTagsAreWhatWasSaidLast) {
  v1::Sweep sweep = SmallSweep("a", 1);
  sweep.set_notes("first look");
  (*sweep.mutable_tags())["draft"] = "yes";
  ASSERT_TRUE(Submit(sweep).ok());
  ASSERT_EQ(Sweep(1).sweep().notes(), "first look");
  const std::string hash = Sweep(1).specification_sha256();
  const auto updated = Update(1, [](auto& request) {
    request.set_notes("for figure 2");
    (*request.mutable_set_tags())["paper"] = "main";
    request.add_remove_tags("draft");
  });
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(updated->sweep().sweep().notes(), "for figure 2");
  Restart();

  EXPECT_EQ(Sweep(1).sweep().notes(), "for figure 2");
  ASSERT_EQ(Sweep(1).sweep().tags().size(), 1u);
  EXPECT_EQ(Sweep(1).sweep().tags().at("paper"), "main");
  EXPECT_EQ(Sweep(1).specification_sha256(), hash);
}

// What was submitted comes when a watch begins and when it has changed, not with every count.
TEST_F(SharingTest, WhoWatchesIsToldOfNewNotesAndNotOfOldOnes) {
  v1::Sweep sweep = SmallSweep("a", 1);
  sweep.set_notes("first look");
  ASSERT_TRUE(Submit(sweep).ok());
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WatchSweepRequest watch;
  watch.set_sweep_id(1);
  const auto reader = people_->WatchSweep(&context, watch);
  v1::WatchSweepResponse news;
  ASSERT_TRUE(reader->Read(&news));
  EXPECT_EQ(news.sweep().sweep().notes(), "first look");

  ASSERT_TRUE(Update(1, [](auto& request) { request.set_priority(3); }).ok());
  do {  // That it was submitted may still be on its way.
    ASSERT_TRUE(reader->Read(&news));
    EXPECT_FALSE(news.sweep().has_sweep());
  } while (news.sweep().priority() != 3);

  ASSERT_TRUE(Update(1, [](auto& request) { request.set_notes("for figure 2"); }).ok());
  do {  // So may its priority be, if what was submitted already came with it.
    ASSERT_TRUE(reader->Read(&news));
  } while (!news.sweep().has_sweep());
  EXPECT_EQ(news.sweep().sweep().notes(), "for figure 2");
  context.TryCancel();
  (void)reader->Finish();
}

TEST_F(SharingTest, WhatIsWrongIsRefusedByNameAndChangesNothing) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  EXPECT_THAT(Message(Update(1, [](auto& r) { r.set_priority(1001); }).status()),
              HasSubstr("priority: expected -1000 to 1000, got 1001"));
  EXPECT_THAT(Message(Update(1, [](auto& r) { r.set_archived(true); }).status()),
              HasSubstr("only a sweep that has ended is archived"));
  const auto long_tag = Update(1, [](auto& r) {
    r.set_priority(3);
    (*r.mutable_set_tags())[std::string(150, 'x')] = "";
  });
  EXPECT_EQ(long_tag.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Sweep(1).priority(), 0) << "of what is refused nothing is done";
  EXPECT_EQ(Update(9, [](auto& r) { r.set_paused(true); }).status().code(),
            absl::StatusCode::kNotFound);
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(1);
  cancel.mutable_selection()->add_plans("contrl");
  EXPECT_THAT(Message(Call(&People::CancelSweep, cancel).status()),
              HasSubstr("s1 has no plan contrl; it has control"));
  cancel.mutable_selection()->Clear();
  cancel.mutable_selection()->add_members("s2c0r0");
  EXPECT_THAT(Message(Call(&People::CancelSweep, cancel).status()),
              HasSubstr("expected members of s1, got s2c0r0"));
}

TEST_F(SharingTest, ASelectionIsCancelledRetriedAndListed) {
  ASSERT_TRUE(Submit(SmallSweep("a", 5)).ok());
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(1);
  cancel.mutable_selection()->add_members("s1c0r1");
  cancel.mutable_selection()->add_members("s1c0r3");
  EXPECT_EQ(Call(&People::CancelSweep, cancel)->members(), 2u);
  EXPECT_EQ(Sweep(1).waiting(), 3u);

  v1::ListMembersRequest list;
  list.mutable_selection()->add_states(v1::MEMBER_STATE_CANCELLED);
  const auto ids = [&] {
    std::vector<std::string> found;
    const auto answer = Call(&People::ListMembers, list);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok()) return found;
    for (const v1::Member& member : answer->members()) found.push_back(member.id());
    return found;
  };
  EXPECT_THAT(ids(), ElementsAre("s1c0r1", "s1c0r3"));
  list.mutable_selection()->add_members("s1c0r3");
  list.mutable_selection()->add_members("s1c0r4");
  EXPECT_THAT(ids(), ElementsAre("s1c0r3"));
  list.mutable_selection()->clear_states();
  EXPECT_THAT(ids(), ElementsAre("s1c0r3", "s1c0r4"));
  list.mutable_selection()->add_plans("impl");
  EXPECT_THAT(Message(Call(&People::ListMembers, list).status()),
              HasSubstr("s1 has no plan impl; it has control"));
  list.mutable_selection()->Clear();
  list.mutable_selection()->add_workers("box");
  EXPECT_THAT(ids(), IsEmpty());
  ScriptedWorker worker(*workers_, "box", 7);
  EXPECT_EQ(worker.Started().member(), "s1c0r0");
  EXPECT_THAT(ids(), ElementsAre("s1c0r0"));

  v1::RetrySweepRequest retry;
  retry.set_sweep_id(1);
  retry.mutable_selection()->add_members("s1c0r3");
  EXPECT_EQ(Call(&People::RetrySweep, retry)->members(), 1u);
  EXPECT_EQ(Sweep(1).cancelled(), 1u);
}

TEST_F(SharingTest, ADrainedWorkerGetsNothingWhoeverRestarts) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  {
    ScriptedWorker worker(*workers_, "box", 7);
    const uint64_t lease = worker.Started().lease_id();
    const auto drained = Use("box", [](auto& request) { request.set_draining(true); });
    ASSERT_TRUE(drained.ok()) << drained.status();
    EXPECT_TRUE(drained->worker().draining());
    EXPECT_THAT(drained->worker().running(), ElementsAre("s1c0r0"));
    ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0)));
    ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kSettled).has_value()) << "it finishes";
  }
  Restart();
  ScriptedWorker worker(*workers_, "box", 7);
  EXPECT_THAT(ExplainedWorker("box"), HasSubstr("`undrain box` opens it again"));
  v1::ExplainMemberRequest explain;
  explain.set_member("s1c0r1");
  EXPECT_THAT(Call(&People::ExplainMember, explain)->text(),
              HasSubstr("box was drained by a person"));
  ASSERT_TRUE(Use("box", [](auto& request) { request.set_draining(false); }).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r1");
}

TEST_F(SharingTest, ADeviceInQuarantineIsReleasedByAPerson) {
  ScriptedWorker worker(*workers_, "box", 7);
  const auto put = Use("box", [](auto& request) {
    request.set_quarantined(true);
    request.set_unit("host-box");
  });
  ASSERT_TRUE(put.ok()) << put.status();
  ASSERT_EQ(put->worker().paused_size(), 1);
  EXPECT_EQ(put->worker().paused(0).unit(), "host-box");
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  EXPECT_THAT(ExplainedWorker("box"), HasSubstr("in quarantine by a person; `release box` ends"));
  EXPECT_THAT(Message(Use("box",
                          [](auto& request) {
                            request.set_quarantined(true);
                            request.set_unit("GPU-1");
                          })
                          .status()),
              HasSubstr("box has no device GPU-1; it has host-box"));
  EXPECT_EQ(Use("nobody", [](auto& r) { r.set_draining(true); }).status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(Use("box", [](auto& request) { request.set_quarantined(false); }).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r0");
}

TEST_F(SharingTest, AnArchivedSweepIsLeftOutOfListsAndNothingElse) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  ASSERT_TRUE(Submit(SmallSweep("b", 1)).ok());
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(1);
  ASSERT_TRUE(Call(&People::CancelSweep, cancel).ok());
  ASSERT_TRUE(Update(1, [](auto& request) { request.set_archived(true); }).ok());
  Restart();
  EXPECT_THAT(Listed(false), ElementsAre(2));
  EXPECT_THAT(Listed(true), ElementsAre(2, 1));
  EXPECT_EQ(Sweep(1).cancelled(), 1u);
  v1::RetrySweepRequest retry;
  retry.set_sweep_id(1);
  ASSERT_TRUE(Call(&People::RetrySweep, retry).ok());
  EXPECT_THAT(Listed(false), ElementsAre(2, 1)) << "what waits again is seen again";
}

TEST_F(SharingTest, ASweepStopsAtSoManyFailures) {
  v1::SubmitSweepRequest request;
  *request.mutable_sweep() = SmallSweep("a", 4);
  request.set_max_failures(1);
  ASSERT_TRUE(Call(&People::SubmitSweep, request).ok());
  ScriptedWorker worker(*workers_, "box", 7);
  v1::SessionRequest failed = ScriptedWorker::Finish(worker.Started().lease_id(), 0);
  failed.mutable_finished()->mutable_outcome()->set_kind(v1::Outcome::KIND_FAILED);
  failed.mutable_finished()->mutable_outcome()->set_cause("bad_specification");
  ASSERT_TRUE(worker.Send(failed));
  ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kSettled).has_value());

  const v1::SweepSummary sweep = Sweep(1);
  EXPECT_EQ(sweep.failed(), 1u);
  EXPECT_EQ(sweep.cancelled(), 3u);
  EXPECT_EQ(sweep.max_failures(), 1u);
}

TEST_F(SharingTest, GpuHoursAreBoundedKeptAndTold) {
  v1::SubmitSweepRequest request;
  *request.mutable_sweep() = SmallSweep("a", 2);
  for (const double wrong :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    request.set_gpu_hours(wrong);
    EXPECT_EQ(Call(&People::SubmitSweep, request).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  request.set_gpu_hours(12.5);
  ASSERT_TRUE(Call(&People::SubmitSweep, request).ok());
  EXPECT_EQ(Sweep(1).gpu_hours(), 12.5);
  EXPECT_EQ(Sweep(1).gpu_hours_used(), 0);
  v1::UpdateSweepRequest update;
  update.set_sweep_id(1);
  update.set_gpu_hours(-1);
  EXPECT_EQ(Call(&People::UpdateSweep, update).status().code(), absl::StatusCode::kInvalidArgument);
  update.set_gpu_hours(7);
  ASSERT_TRUE(Call(&People::UpdateSweep, update).ok());
  Restart();
  EXPECT_EQ(Sweep(1).gpu_hours(), 7);
}

TEST_F(SharingTest, WhatIsSaidAtSubmissionIsObeyedAndKept) {
  const std::string hardware = "cpu-amd-avx2";
  v1::SubmitSweepRequest request;
  *request.mutable_sweep() = SmallSweep("a", 3);
  request.set_priority(-2);
  request.set_weight(5);
  (*request.mutable_limits())["cpu-amd-sse"] = 1;
  EXPECT_EQ(Message(Call(&People::SubmitSweep, request).status()),
            "limits: the sweep has no hardware class cpu-amd-sse; it has cpu-amd-avx2");
  request.clear_limits();
  (*request.mutable_limits())["a b"] = 1;
  EXPECT_THAT(Message(Call(&People::SubmitSweep, request).status()),
              HasSubstr("limits: expected hardware classes"));
  request.clear_limits();
  (*request.mutable_limits())[hardware] = 1;
  ASSERT_TRUE(Call(&People::SubmitSweep, request).ok());
  {
    ScriptedWorker worker(*workers_);
    v1::SessionRequest two = RegisterAs("box", 7);
    v1::Inventory& inventory = *two.mutable_register_()->mutable_inventory();
    *inventory.add_slots() = v1::Slot(inventory.slots(0));
    ASSERT_TRUE(worker.Send(two));
    (void)worker.Started();
    EXPECT_EQ(Sweep(1).leased(), 1u) << "though there are two slots";
    ASSERT_TRUE(Update(1, [&](auto& r) { (*r.mutable_set_limits())[hardware] = 2; }).ok());
    (void)worker.Started();
  }
  Restart();
  const v1::SweepSummary kept = Sweep(1);
  EXPECT_EQ(kept.priority(), -2);
  EXPECT_EQ(kept.weight(), 5u);
  ASSERT_EQ(kept.limits().size(), 1u);
  EXPECT_EQ(kept.limits().at(hardware), 2u);
  ASSERT_TRUE(Update(1, [&](auto& r) { (*r.mutable_set_limits())[hardware] = 0; }).ok());
  EXPECT_TRUE(Sweep(1).limits().empty()) << "0 takes it away";
}

TEST_F(SharingTest, ASweepIsOfWhoSubmittedIt) {
  v1::SubmitSweepRequest request;
  *request.mutable_sweep() = SmallSweep("a", 1);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  context.AddMetadata("noisefloor-user", "ada");
  v1::SubmitSweepResponse response;
  ASSERT_TRUE(people_->SubmitSweep(&context, request, &response).ok());
  Restart();
  EXPECT_EQ(Sweep(1).owner(), "ada");
}

TEST_F(SharingTest, OwnersShareTheFleetHoweverMuchEachHasAskedFor) {
  for (const char* owner : {"ada", "ada", "grace"}) {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = SmallSweep(owner, 10);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    context.AddMetadata("noisefloor-user", owner);
    v1::SubmitSweepResponse response;
    ASSERT_TRUE(people_->SubmitSweep(&context, request, &response).ok());
  }
  ScriptedWorker worker(*workers_, "box", 7);
  std::vector<std::string> started;
  for (int i = 0; i < 4; ++i) {
    const v1::StartMember start = worker.Started();
    started.push_back(start.member());
    ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(start.lease_id(), 0)));
  }
  EXPECT_THAT(started, ElementsAre("s1c0r0", "s3c0r0", "s2c0r0", "s3c0r1"));
}

TEST_F(SharingTest, OfTwoWorkersOfOneNameTheOneThatWasChangedIsTold) {
  for (const uint64_t identity : {7, 8}) {
    { ScriptedWorker worker(*workers_, "box", identity); }
    Restart();  // Its name is free.
  }
  ScriptedWorker back(*workers_, "box", 7);
  const auto drained = Use("box", [](v1::UpdateWorkerRequest& r) { r.set_draining(true); });
  ASSERT_TRUE(drained.ok()) << drained.status();
  EXPECT_TRUE(drained->worker().connected());
  EXPECT_TRUE(drained->worker().draining());
}

}  // namespace
}  // namespace noisefloor::test
