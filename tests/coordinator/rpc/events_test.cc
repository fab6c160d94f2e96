// What happened, as values: over WatchSweep, GetMember and WatchMember of a real coordinator.
#include <set>
#include <thread>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Reader = std::unique_ptr<grpc::ClientReader<v1::WatchMemberResponse>>;

class EventsTest : public CoordinatorTest {
 protected:
  EventsTest() : worker_(std::make_unique<ScriptedWorker>(*workers_, "box", 7)) {}
  ~EventsTest() override { worker_.reset(); }

  // The events of the sweep after the one of that number, to its end.
  std::vector<v1::Event> EventsOf(uint64_t sweep, uint64_t after = 1) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::WatchSweepRequest request;
    request.set_sweep_id(sweep);
    request.set_resume_token(after);
    const auto reader = people_->WatchSweep(&context, request);
    std::vector<v1::Event> events;
    v1::WatchSweepResponse news;
    while (reader->Read(&news)) {
      EXPECT_EQ(news.lines_size(), news.events_size()) << "one beside the other";
      events.insert(events.end(), news.events().begin(), news.events().end());
    }
    EXPECT_TRUE(reader->Finish().ok());
    return events;
  }
  static std::vector<v1::EventKind> KindsOf(const std::vector<v1::Event>& events) {
    std::vector<v1::EventKind> kinds;
    for (const v1::Event& event : events) kinds.push_back(event.kind());
    return kinds;
  }

  void End(uint64_t lease, v1::Outcome::Kind kind, const std::string& cause = "") {
    v1::SessionRequest finish = ScriptedWorker::Finish(lease, 0);
    v1::Outcome& outcome = *finish.mutable_finished()->mutable_outcome();
    outcome.set_kind(kind);
    outcome.set_cause(cause);
    if (kind == v1::Outcome::KIND_DIVERGED) {
      (*outcome.mutable_metrics())["loss"] = std::numeric_limits<double>::quiet_NaN();
    }
    ASSERT_TRUE(worker_->Send(finish));
    (void)worker_->Settled();
  }

  std::unique_ptr<ScriptedWorker> worker_;
};

TEST_F(EventsTest, ALifeIsToldByItsLeaseAttemptAndWorker) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lease = worker_->Started().lease_id();
  End(lease, v1::Outcome::KIND_DONE);

  const std::vector<v1::Event> events = EventsOf(1);

  ASSERT_THAT(KindsOf(events), ElementsAre(v1::EVENT_KIND_LEASED, v1::EVENT_KIND_DONE));
  for (const v1::Event& event : events) {
    EXPECT_EQ(event.member(), "s1c0r0");
    EXPECT_EQ(event.lease(), lease);
    EXPECT_EQ(event.attempt(), 1u);
    EXPECT_EQ(event.worker(), "box");
    EXPECT_GT(event.unix_micros(), 0);
  }
  EXPECT_LT(events[0].number(), events[1].number());
  EXPECT_THAT(events[1].text(), HasSubstr("s1c0r0 done on box: top-1 50.00 %"));
}

TEST_F(EventsTest, AMemberTellsTheSameOfItselfAsItsSweep) {
  ASSERT_TRUE(Submit(SmallSweep("a", 2)).ok());
  for (int i = 0; i < 2; ++i) End(worker_->Started().lease_id(), v1::Outcome::KIND_DONE);
  std::vector<v1::Event> expected = EventsOf(1);
  std::erase_if(expected, [](const v1::Event& event) { return event.member() != "s1c0r1"; });
  v1::GetMemberRequest request;
  request.set_member("s1c0r1");

  const auto member = Call(&People::GetMember, request);

  ASSERT_TRUE(member.ok()) << member.status();
  ASSERT_EQ(member->events_size(), 2);
  ASSERT_EQ(expected.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(member->events(i).number(), expected[i].number());
    EXPECT_EQ(member->events(i).kind(), expected[i].kind());
    EXPECT_EQ(member->events(i).lease(), expected[i].lease());
    EXPECT_EQ(member->events(i).unix_micros(), expected[i].unix_micros());
  }
}

TEST_F(EventsTest, FailuresAreRetriedUntilTheLastOne) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  std::set<uint64_t> leases;
  while (Member("s1c0r0").state() != v1::MEMBER_STATE_FAILED) {
    leases.insert(worker_->Started().lease_id());
    End(*leases.rbegin(), v1::Outcome::KIND_FAILED, "bug");
  }
  const std::vector<v1::Event> events = EventsOf(1);
  ASSERT_EQ(events.back().kind(), v1::EVENT_KIND_FAILED);
  EXPECT_EQ(events.back().attempt(), leases.size());
  EXPECT_EQ(events.back().lease(), *leases.rbegin());
  ASSERT_GE(leases.size(), 2u) << "a bug is tried again";
  EXPECT_EQ(events[1].kind(), v1::EVENT_KIND_RETRIED);
  EXPECT_EQ(events[1].lease(), *leases.begin()) << "of the attempt that failed";
  EXPECT_EQ(events[1].attempt(), 1u);
}

TEST_F(EventsTest, ALostLeaseIsNoFailure) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lost = worker_->Started().lease_id();
  worker_.reset();
  worker_ = std::make_unique<ScriptedWorker>(*workers_, "box", 7);  // It holds nothing any more.
  const uint64_t lease = worker_->Started().lease_id();
  End(lease, v1::Outcome::KIND_DIVERGED);

  const std::vector<v1::Event> events = EventsOf(1);

  ASSERT_THAT(KindsOf(events), ElementsAre(v1::EVENT_KIND_LEASED, v1::EVENT_KIND_LOST,
                                           v1::EVENT_KIND_LEASED, v1::EVENT_KIND_DIVERGED));
  EXPECT_EQ(events[1].lease(), lost);
  EXPECT_EQ(events[1].attempt(), 1u);
  EXPECT_EQ(events[3].lease(), lease);
  EXPECT_EQ(events[3].attempt(), 2u);
}

TEST_F(EventsTest, WhatPeopleHadDoneIsOfTheSweep) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t first = worker_->Started().lease_id();
  ASSERT_TRUE(Submit(SmallSweep("b", 1)).ok());
  v1::UpdateSweepRequest update;
  update.set_sweep_id(2);
  update.set_priority(3);
  ASSERT_TRUE(Call(&People::UpdateSweep, update).ok());
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(2);
  ASSERT_TRUE(Call(&People::CancelSweep, cancel).ok());
  v1::RetrySweepRequest retry;
  retry.set_sweep_id(2);
  ASSERT_TRUE(Call(&People::RetrySweep, retry).ok());
  ASSERT_TRUE(Call(&People::CancelSweep, cancel).ok());

  const std::vector<v1::Event> events = EventsOf(2);

  ASSERT_THAT(KindsOf(events), ElementsAre(v1::EVENT_KIND_SUBMITTED, v1::EVENT_KIND_UPDATED,
                                           v1::EVENT_KIND_CANCELLED, v1::EVENT_KIND_REQUEUED,
                                           v1::EVENT_KIND_CANCELLED));
  for (const v1::Event& event : events) {
    EXPECT_EQ(event.member(), "");
    EXPECT_EQ(event.lease(), 0u);
  }
  cancel.set_sweep_id(1);
  ASSERT_TRUE(Call(&People::CancelSweep, cancel).ok());
  v1::GetMemberRequest request;
  request.set_member("s1c0r0");
  const auto member = Call(&People::GetMember, request);
  ASSERT_GE(member->events_size(), 2);
  EXPECT_EQ(member->events(1).kind(), v1::EVENT_KIND_CANCELLED) << "the attempt was stopped";
  EXPECT_EQ(member->events(1).lease(), first);
}

// Watches of a member.

class MemberWatchTest : public EventsTest {
 protected:
  // The call lives as long as the test.
  Reader Watch(const std::string& member, uint64_t lease = 0, int64_t after_step = 0) {
    calls_.push_back(std::make_unique<grpc::ClientContext>());
    SetDeadline(*calls_.back(), kPatience);
    v1::WatchMemberRequest request;
    request.set_member(member);
    request.set_lease(lease);
    request.set_after_step(after_step);
    return people_->WatchMember(calls_.back().get(), request);
  }
  // Reads until so many values have come, and what came with them.
  static void ReadValues(Reader& reader, size_t count, std::vector<int64_t>& steps,
                         std::vector<v1::Event>* events = nullptr) {
    v1::WatchMemberResponse news;
    while (steps.size() < count && reader->Read(&news)) {
      for (const v1::RecordedValue& value : news.values()) steps.push_back(value.step());
      if (events == nullptr) continue;
      events->insert(events->end(), news.events().begin(), news.events().end());
    }
  }

  std::vector<std::unique_ptr<grpc::ClientContext>> calls_;
};

TEST_F(MemberWatchTest, RecordsComeWhileItRunsAndItEndsWithTheMember) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lease = worker_->Started().lease_id();
  Reader reader = Watch("s1c0r0");
  std::vector<int64_t> steps;
  std::vector<v1::Event> events;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    worker_->SayRecords(lease, sequence);
    ReadValues(reader, sequence, steps, &events);
    ASSERT_EQ(steps.size(), sequence) << "each before the next is sent";
  }
  ASSERT_TRUE(worker_->Send(ScriptedWorker::Finish(lease, 3)));
  v1::WatchMemberResponse news;
  v1::MemberState state = v1::MEMBER_STATE_UNSPECIFIED;
  while (reader->Read(&news)) {
    state = news.state();
    EXPECT_EQ(news.lease(), lease);
    EXPECT_EQ(news.values_size(), 0) << "nothing twice";
    events.insert(events.end(), news.events().begin(), news.events().end());
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(state, v1::MEMBER_STATE_DONE);
  EXPECT_THAT(steps, ElementsAre(1, 2, 3));
  EXPECT_THAT(KindsOf(events), ElementsAre(v1::EVENT_KIND_LEASED, v1::EVENT_KIND_DONE));
}

TEST_F(MemberWatchTest, ItGoesOnWhereItWasOverARestart) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lease = worker_->Started().lease_id();
  worker_->SayRecords(lease, 1);
  worker_->SayRecords(lease, 2);
  Reader reader = Watch("s1c0r0");
  std::vector<int64_t> steps;
  ReadValues(reader, 2, steps);
  calls_.back()->TryCancel();
  (void)reader->Finish();
  worker_.reset();
  Restart();
  worker_ = std::make_unique<ScriptedWorker>(*workers_);
  v1::SessionRequest back = RegisterAs("box", 7);
  back.mutable_register_()->add_held()->set_lease_id(lease);
  ASSERT_TRUE(worker_->Send(back));
  worker_->SayRecords(lease, 3);

  reader = Watch("s1c0r0", lease, steps.back());
  std::vector<v1::Event> events;
  ReadValues(reader, 3, steps, &events);

  EXPECT_THAT(steps, ElementsAre(1, 2, 3));
  EXPECT_THAT(events, testing::IsEmpty()) << "its grant was told before";
}

TEST_F(MemberWatchTest, ManyFollowersHearTheSame) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  const uint64_t lease = worker_->Started().lease_id();
  std::vector<Reader> readers;
  for (int i = 0; i < 50; ++i) readers.push_back(Watch("s1c0r0"));
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) worker_->SayRecords(lease, sequence);
  for (Reader& reader : readers) {
    std::vector<int64_t> steps;
    ReadValues(reader, 5, steps);
    EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4, 5));
  }
}

TEST_F(MemberWatchTest, WhatIsNotThereIsRefused) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  v1::WatchMemberResponse news;
  for (const auto& [member, code] :
       {std::pair("s1c0r9", grpc::NOT_FOUND), std::pair("s9c0r0", grpc::NOT_FOUND),
        std::pair("box", grpc::INVALID_ARGUMENT)}) {
    Reader reader = Watch(member);
    EXPECT_FALSE(reader->Read(&news));
    EXPECT_EQ(reader->Finish().error_code(), code) << member;
  }
}

// Why a call was refused, as a client in another language reads it.
TEST_F(EventsTest, RefusalsCarryTheirReasonOverTheWire) {
  const auto reason_of = [](const grpc::Status& status) {
    google::rpc::Status details;
    google::rpc::ErrorInfo info;
    EXPECT_TRUE(details.ParseFromString(status.error_details()));
    EXPECT_TRUE(details.details_size() > 0 && details.details(0).UnpackTo(&info));
    return info;
  };
  grpc::ClientContext get;
  v1::GetSweepRequest sweep;
  sweep.set_sweep_id(9);
  v1::GetSweepResponse found;
  const google::rpc::ErrorInfo no_sweep = reason_of(people_->GetSweep(&get, sweep, &found));
  EXPECT_EQ(no_sweep.reason(), "SWEEP_NOT_FOUND");
  EXPECT_EQ(no_sweep.metadata().at("sweep"), "s9");

  grpc::ClientContext cancelling;
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(9);
  v1::CancelSweepResponse cancelled;
  EXPECT_EQ(reason_of(people_->CancelSweep(&cancelling, cancel, &cancelled)).reason(),
            "SWEEP_NOT_FOUND")
      << "of the loop, too";

  ASSERT_TRUE(Submit(SmallSweep("a", 1), "id-1").ok());
  grpc::ClientContext submitting;
  v1::SubmitSweepRequest other;
  *other.mutable_sweep() = SmallSweep("b", 2);
  other.set_request_id("id-1");
  v1::SubmitSweepResponse submitted;
  EXPECT_EQ(reason_of(people_->SubmitSweep(&submitting, other, &submitted)).reason(),
            "REQUEST_ID_TAKEN");

  grpc::ClientContext draining;
  v1::UpdateWorkerRequest drain;
  drain.set_worker("nobody");
  drain.set_draining(true);
  v1::UpdateWorkerResponse drained;
  EXPECT_EQ(reason_of(people_->UpdateWorker(&draining, drain, &drained)).reason(),
            "WORKER_NOT_FOUND");
}

}  // namespace
}  // namespace noisefloor::test
