#include <future>

#include "common/base/clock.h"
#include "coordinator/rpc/worker_session.h"
#include "coordinator/store/blob_store.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using Code = absl::StatusCode;

using WorkerServiceTest = CoordinatorTest;

TEST_F(WorkerServiceTest, AMemberIsLeasedReportedUploadedFinishedAndSettled) {
  ScriptedWorker worker(*workers_, "box", 7);
  const auto submitted = Submit(SmallSweep("first", 1));
  ASSERT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_EQ(submitted->members(), 1u);

  const v1::StartMember start = worker.Started();
  EXPECT_EQ(start.member(), "s1c0r0");
  EXPECT_EQ(start.attempt(), 1u);
  EXPECT_EQ(Sha256Hex(start.specification()), start.specification_sha256());
  worker.SayRecords(start.lease_id(), 1);
  const auto kept = worker.Next(ScriptedWorker::Case::kKept);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->kept().sequence(), 1u);
  const std::string content(3 << 20, 'w');
  std::vector<v1::UploadRequest> parts = {
      UploadHeader(start.lease_id(), Sha256Hex(content), content.size())};
  for (int i = 0; i < 3; ++i) parts.push_back(Piece(content.substr(0, 1 << 20)));
  const auto uploaded = Upload(*workers_, parts);
  ASSERT_TRUE(uploaded.ok()) << uploaded.status();
  EXPECT_FALSE(uploaded->known_already());
  EXPECT_TRUE(Upload(*workers_, parts)->known_already());
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(start.lease_id(), 1, {content})));

  const v1::Settled settled = worker.Settled();
  EXPECT_EQ(settled.lease_id(), start.lease_id());
  EXPECT_TRUE(settled.accepted()) << settled.reason();
  const v1::Member member = Member("s1c0r0");
  EXPECT_EQ(member.state(), v1::MEMBER_STATE_DONE);
  EXPECT_EQ(member.outcome().hashes().at("weights"), Sha256Hex("weights"));
  v1::GetArtifactRequest request;
  request.set_member("s1c0r0");
  request.set_kind("weights");
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  const auto reader = people_->GetArtifact(&context, request);
  std::string got;
  for (v1::GetArtifactResponse piece; reader->Read(&piece);) got += piece.piece();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(got, content);
  EXPECT_TRUE(worker.Leave().ok());
}

TEST_F(WorkerServiceTest, EachLeaseHasItsSlotAndSaysHowFarItIs) {
  ScriptedWorker worker(*workers_);
  v1::SessionRequest request = RegisterAs("box", 7);
  v1::Inventory& inventory = *request.mutable_register_()->mutable_inventory();
  *inventory.add_slots() = v1::Slot(inventory.slots(0));
  ASSERT_TRUE(worker.Send(request));
  const auto welcome = worker.Next(ScriptedWorker::Case::kWelcome);
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->welcome().lease_ttl_ms(), 120'000u);
  EXPECT_EQ(welcome->welcome().heartbeat_interval_ms(), 3'000u);
  ASSERT_TRUE(Submit(SmallSweep("first", 2)).ok());
  const v1::StartMember first = worker.Started();
  const v1::StartMember second = worker.Started();
  EXPECT_EQ(first.slot() + second.slot(), 1u);

  v1::SessionRequest beat;
  for (const v1::StartMember& start : {first, second}) {
    v1::HeldLease& held = *beat.mutable_heartbeat()->add_held();
    held.set_lease_id(start.lease_id());
    held.set_step(start.member() == "s1c0r0" ? 3 : 6);
    held.set_step_count(12);
  }
  ASSERT_TRUE(worker.Send(beat));
  worker.SayRecords(first.lease_id(), 1);
  ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kKept).has_value());  // Said after the beat.
  EXPECT_EQ(Member("s1c0r0").step(), 3);
  EXPECT_EQ(Member("s1c0r1").step(), 6);
  EXPECT_EQ(Member("s1c0r1").step_count(), 12);
  v1::GetSweepRequest get;
  get.set_sweep_id(1);
  EXPECT_DOUBLE_EQ(Call(&People::GetSweep, get)->sweep().progress(), 0.75);
}

TEST_F(WorkerServiceTest, AWorkerThatWillSoonEndGetsWhatGoesOnElsewhereAlone) {
  ASSERT_TRUE(Submit(SmallSweep("first", 3)).ok());
  const auto joined = [&](const std::string& name, uint64_t identity, uint64_t lives_ms) {
    auto worker = std::make_unique<ScriptedWorker>(*workers_);
    v1::SessionRequest request = RegisterAs(name, identity);
    request.mutable_register_()->set_lives_ms(lives_ms);
    EXPECT_TRUE(worker->Send(request));
    EXPECT_TRUE(worker->Next(ScriptedWorker::Case::kWelcome).has_value());
    return worker;
  };
  // However much it says.
  const auto first = joined("lasting", 7, ~uint64_t{0});
  const uint64_t lease = first->Started().lease_id();
  v1::SessionRequest finish = ScriptedWorker::Finish(lease, 0);
  finish.mutable_finished()->mutable_outcome()->set_train_seconds(100);
  ASSERT_TRUE(first->Send(finish));
  const uint64_t second = first->Started().lease_id();
  const auto brief = joined("brief", 8, 60'000);
  EXPECT_EQ(Member("s1c0r2").state(), v1::MEMBER_STATE_WAITING);
  v1::SessionRequest started;
  started.mutable_started()->set_lease_id(second);
  started.mutable_started()->set_resumes(true);
  ASSERT_TRUE(first->Send(started));
  EXPECT_EQ(brief->Started().member(), "s1c0r2");
}

// Of member s1c0r0, which is done then: much more than waits in buffers of a connection.
std::string KeepLargeArtifact(const std::string& home, ScriptedWorker& worker) {
  std::string content;
  for (char piece = 'a'; piece < 'i'; ++piece) content += std::string(8 << 20, piece);
  const auto blobs = BlobStore::Open(home);
  auto blob = blobs->Create({Sha256Hex(content), content.size()});
  EXPECT_TRUE(blob->Write(content).ok());
  EXPECT_TRUE(blob->Commit().ok());
  EXPECT_TRUE(worker.Send(ScriptedWorker::Finish(worker.Started().lease_id(), 0, {content})));
  EXPECT_TRUE(worker.Settled().accepted());
  return content;
}

// Reads what KeepLargeArtifact has kept.
class ArtifactReader {
 public:
  explicit ArtifactReader(v1::CoordinatorService::Stub& people) {
    v1::GetArtifactRequest request;
    request.set_member("s1c0r0");
    request.set_kind("weights");
    SetDeadline(context_, kPatience);
    reader_ = people.GetArtifact(&context_, request);
  }
  ~ArtifactReader() {
    if (!reader_) return;
    context_.TryCancel();
    (void)End();
  }
  // Of the next piece.
  bool Comes() {
    v1::GetArtifactResponse piece;
    if (!reader_->Read(&piece)) return false;
    got_ += piece.piece();
    return true;
  }
  absl::Status End() {
    while (Comes()) {
    }
    const absl::Status status = FromGrpc(reader_->Finish());
    reader_.reset();
    return status;
  }
  const std::string& got() const { return got_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::GetArtifactResponse>> reader_;
  std::string got_;
};

TEST_F(WorkerServiceTest, FilesAreReadByAsManyAtOnceAsMayAndTheNextIsTurnedAway) {
  max_artifact_reads_ = 2;
  Restart();
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const std::string content = KeepLargeArtifact(home_.path(), worker);
  std::vector<std::unique_ptr<ArtifactReader>> readers;
  for (int i = 0; i < 2; ++i) {
    readers.push_back(std::make_unique<ArtifactReader>(*people_));
    ASSERT_TRUE(readers.back()->Comes()) << i;
  }
  const absl::Status busy = ArtifactReader(*people_).End();
  EXPECT_EQ(Message(busy),
            "2 files of members are on their way at this moment, as many as may; try again");

  EXPECT_TRUE(readers.front()->End().ok());
  EXPECT_EQ(readers.front()->got(), content);

  // Its end is heard here before it is counted there.
  absl::Status next = busy;
  const absl::Duration give_up = SystemClock().Steady() + kPatience;
  while (absl::IsResourceExhausted(next) && SystemClock().Steady() < give_up) {
    next = ArtifactReader(*people_).End();
  }
  EXPECT_TRUE(next.ok()) << next;
}

TEST_F(WorkerServiceTest, AFileOfWhichNothingIsTakenMakesWay) {
  stream_idle_ = absl::Seconds(3);
  max_artifact_reads_ = 1;
  Restart();
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const std::string content = KeepLargeArtifact(home_.path(), worker);
  ArtifactReader untaken(*people_);
  ASSERT_TRUE(untaken.Comes());

  absl::Status next = absl::ResourceExhaustedError("not asked yet");
  const absl::Duration give_up = SystemClock().Steady() + kPatience;
  while (absl::IsResourceExhausted(next) && SystemClock().Steady() < give_up) {
    next = ArtifactReader(*people_).End();
  }

  EXPECT_TRUE(next.ok()) << next;
  EXPECT_EQ(untaken.End().code(), Code::kCancelled);
  EXPECT_LT(untaken.got().size(), content.size());
}

TEST_F(WorkerServiceTest, AnEndThatComesTwiceIsSettledTwiceAndKeptOnce) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  const v1::SessionRequest finish = ScriptedWorker::Finish(lease, 0);

  ASSERT_TRUE(worker.Send(finish));
  ASSERT_TRUE(worker.Send(finish));

  EXPECT_TRUE(worker.Settled().accepted());
  EXPECT_EQ(worker.Settled().lease_id(), lease);
  EXPECT_EQ(Member("s1c0r0").attempt(), 1u);
  EXPECT_EQ(Member("s1c0r0").state(), v1::MEMBER_STATE_DONE);
}

TEST_F(WorkerServiceTest, AnUnknownLeaseIsSettledByNameAndTheStreamLives) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(99, 0)));
  const v1::Settled settled = worker.Settled();
  EXPECT_EQ(settled.lease_id(), 99u);
  EXPECT_FALSE(settled.accepted());
  EXPECT_THAT(settled.reason(), HasSubstr("99"));

  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r0");
}

TEST_F(WorkerServiceTest, AStaleLeaseIsRefusedAndTheNewOneCounts) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t stale = worker.Started().lease_id();
  worker.SayHeld({stale});
  worker.SayHeld({});
  const v1::StartMember again = worker.Started();
  EXPECT_GT(again.lease_id(), stale);
  EXPECT_EQ(again.attempt(), 2u);

  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(stale, 0)));
  const v1::Settled late = worker.Settled();
  EXPECT_EQ(late.lease_id(), stale);
  EXPECT_FALSE(late.accepted());
  EXPECT_THAT(late.reason(), HasSubstr("had ended before"));
  EXPECT_EQ(Member("s1c0r0").state(), v1::MEMBER_STATE_LEASED);
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(again.lease_id(), 0)));
  EXPECT_TRUE(worker.Settled().accepted());
}

TEST_F(WorkerServiceTest, AResultWhoseFileWasNeverUploadedIsRefusedByName) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0, {"not here"})));

  const v1::Settled settled = worker.Settled();
  EXPECT_FALSE(settled.accepted());
  EXPECT_EQ(settled.reason(),
            "artifact weights.safetensors (" + Sha256Hex("not here") + ") was never uploaded");
}

TEST_F(WorkerServiceTest, ARestartedCoordinatorTakesTheResultOfALeaseThatItGaveBefore) {
  uint64_t lease = 0;
  {
    ScriptedWorker worker(*workers_, "box", 7);
    ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
    lease = worker.Started().lease_id();
    worker.SayRecords(lease, 1);
    ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kKept).has_value());
    Restart();
    EXPECT_EQ(worker.End(), absl::UnavailableError("the coordinator is stopping"));
  }
  ScriptedWorker worker(*workers_);
  v1::SessionRequest hello = RegisterAs("box", 7);
  hello.mutable_register_()->add_held()->set_lease_id(lease);
  ASSERT_TRUE(worker.Send(hello));
  ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kWelcome).has_value());
  worker.SayRecords(lease, 1);
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 1)));
  EXPECT_TRUE(worker.Settled().accepted());
  EXPECT_EQ(Member("s1c0r0").attempt(), 1u);
}

TEST_F(WorkerServiceTest, AnotherWorkerOfTheSameNameIsRefusedAndTheFirstOneStays) {
  ScriptedWorker first(*workers_, "box", 7);
  ScriptedWorker second(*workers_);
  ASSERT_TRUE(second.Send(RegisterAs("box", 8)));
  EXPECT_EQ(second.End(),
            absl::AlreadyExistsError("a worker named 'box' is connected with identity 7; this one "
                                     "has 8: give one of them another name"));
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  EXPECT_EQ(first.Started().member(), "s1c0r0");
}

TEST_F(WorkerServiceTest, ANewerSessionOfTheSameWorkerReplacesTheOlder) {
  ScriptedWorker first(*workers_, "box", 7);
  ScriptedWorker second(*workers_, "box", 7);
  EXPECT_EQ(first.End(), absl::AbortedError("replaced by a newer session of worker 'box'"));
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  EXPECT_EQ(second.Started().member(), "s1c0r0");
}

TEST_F(WorkerServiceTest, ASessionThatNeverRegistersIsEndedAndOneThatDidIsNot) {
  register_by_ = absl::Milliseconds(300);
  Restart();
  ScriptedWorker worker(*workers_, "box", 7);
  ScriptedWorker silent(*workers_);
  EXPECT_EQ(silent.End(),
            MakeError(absl::StatusCode::kDeadlineExceeded,
                      "the first message of a session: expected register within 300ms"));
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r0");
}

TEST_F(WorkerServiceTest, WhoHasNotRegisteredTakesNoWorkersPlace) {
  max_workers_ = 3;
  Restart();
  ScriptedWorker silent(*workers_);
  ScriptedWorker silent_too(*workers_);
  ScriptedWorker first(*workers_, "one", 1);
  ScriptedWorker second(*workers_, "two", 2);
  ScriptedWorker third(*workers_, "three", 3);
  ScriptedWorker fourth(*workers_);
  ASSERT_TRUE(fourth.Send(RegisterAs("four", 4)));
  EXPECT_EQ(fourth.End(), MakeError(absl::StatusCode::kResourceExhausted,
                                    "3 workers are connected; no more are taken"));
}

TEST_F(WorkerServiceTest, OfTooManyThatHaveNotRegisteredTheOldestIsEnded) {
  max_workers_ = 3;
  register_by_ = absl::Seconds(3);
  Restart();
  std::vector<std::future<absl::Status>> ends;
  for (int i = 0; i < 4; ++i) {
    ends.push_back(
        std::async(std::launch::async, [this] { return ScriptedWorker(*workers_).End(); }));
  }
  int evicted = 0;
  for (std::future<absl::Status>& end : ends) {
    const absl::Status status = end.get();
    evicted += absl::IsResourceExhausted(status);
    if (!absl::IsResourceExhausted(status)) EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  }
  EXPECT_EQ(evicted, 1);
}

// More than the window of a session holds: what was dealt with makes room.
TEST_F(WorkerServiceTest, ASessionTakesAnyNumberOfMessages) {
  constexpr uint64_t kBatches = WorkerSession::kWindow + 100;
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();

  for (uint64_t sequence = 1; sequence <= kBatches; ++sequence) {
    worker.SayRecords(lease, sequence);
    const auto kept = worker.Next(ScriptedWorker::Case::kKept);
    ASSERT_TRUE(kept.has_value()) << sequence;
    ASSERT_EQ(kept->kept().sequence(), sequence);
  }

  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, kBatches)));
  EXPECT_TRUE(worker.Settled().accepted());
}

// Registers, asks so often about a thousand leases that are not its own, each of which is answered,
// and reads no answer.
void AskAndDoNotRead(ScriptedWorker& silent, int times) {
  v1::SessionRequest as_another = RegisterAs("silent", 8);  // Members are not for it.
  as_another.mutable_register_()->mutable_inventory()->mutable_offers(0)->set_hardware_class(
      "cpu-intel-avx2");
  silent.Send(as_another);
  ASSERT_TRUE(silent.Next(ScriptedWorker::Case::kWelcome).has_value());
  v1::SessionRequest question;
  for (uint64_t lease = 1; lease <= 1000; ++lease) {
    question.mutable_heartbeat()->add_held()->set_lease_id(1000 + lease);
  }
  for (int asked = 0; asked < times && silent.Send(question); ++asked) {
  }
}

TEST_F(WorkerServiceTest, WhoDoesNotReadIsEndedAtTheBoundAndOthersGoOn) {
  ScriptedWorker silent(*workers_);
  AskAndDoNotRead(silent, 1000);

  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r0");
  const absl::Status ended = silent.End();
  EXPECT_EQ(ended.code(), Code::kResourceExhausted);
  EXPECT_THAT(Message(ended), HasSubstr("the worker does not read what the coordinator sends"));
}

// Far fewer bytes than may wait for it, and more messages.
TEST_F(WorkerServiceTest, WhoIsEndedAndDoesNotReadThatEitherIsCutOff) {
  stream_idle_ = absl::Milliseconds(50);
  Restart();
  ScriptedWorker silent(*workers_);
  AskAndDoNotRead(silent, 40);
  const auto is_connected = [this] {
    const auto workers = Call(&People::ListWorkers, v1::ListWorkersRequest());
    return !workers.ok() || workers->workers_size() != 1 || workers->workers(0).connected();
  };
  const absl::Duration give_up = SystemClock().Steady() + kPatience;
  while (is_connected() && SystemClock().Steady() < give_up) {
  }
  // What the transport still takes is followed by the reason; its own deadline would be another.
  EXPECT_THAT(silent.End().code(), AnyOf(Code::kCancelled, Code::kResourceExhausted));
}

// What it has read waits for it no longer.
TEST_F(WorkerServiceTest, WhoReadsIsToldMoreBytesThanMayWait) {
  constexpr int kSlots = 64;
  v1::SessionRequest hello = RegisterAs("box", 7);
  v1::Inventory& inventory = *hello.mutable_register_()->mutable_inventory();
  const v1::Slot slot = inventory.slots(0);
  for (int i = 1; i < kSlots; ++i) *inventory.add_slots() = slot;
  ScriptedWorker worker(*workers_);
  ASSERT_TRUE(worker.Send(hello));
  ASSERT_TRUE(worker.Next(ScriptedWorker::Case::kWelcome).has_value());
  ASSERT_TRUE(Submit(SmallSweep("first", kSlots)).ok());

  size_t told = 0;
  uint64_t lease = 0;
  while (told < WorkerSession::kOutboxBytes + (1 << 20)) {
    for (int i = 0; i < kSlots; ++i) {
      const auto start = worker.Next(ScriptedWorker::Case::kStart);
      ASSERT_TRUE(start.has_value()) << "it was ended after " << told << " bytes";
      told += start->ByteSizeLong();
      lease = start->start().lease_id();
    }
    worker.SayHeld({});  // Each start is repeated until its lease is named.
  }

  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0)));
  EXPECT_TRUE(worker.Settled().accepted());
}

// More bytes than the window of a session holds, in few messages.
TEST_F(WorkerServiceTest, ASessionTakesAnyNumberOfBytes) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  for (uint64_t sequence = 1; sequence <= 8; ++sequence) {
    v1::SessionRequest message;
    message.mutable_records()->set_lease_id(lease);
    v1::RecordBatch& batch = *message.mutable_records()->mutable_batch();
    batch.set_sequence(sequence);
    batch.add_metric_names("loss");
    for (int i = 0; i < 20000; ++i) {
      batch.add_step(i);
      batch.add_epoch(0.5);
      batch.add_metric(0);
      batch.add_value(0.25);
    }
    ASSERT_GT(message.ByteSizeLong(), 300000u);
    ASSERT_TRUE(worker.Send(message));
    const auto kept = worker.Next(ScriptedWorker::Case::kKept);
    ASSERT_TRUE(kept.has_value()) << sequence;
    ASSERT_EQ(kept->kept().sequence(), sequence);
  }
}

TEST_F(WorkerServiceTest, WhatAnOutcomeSaysArrives) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  v1::SessionRequest finish = ScriptedWorker::Finish(worker.Started().lease_id(), 0);
  v1::Outcome& said = *finish.mutable_finished()->mutable_outcome();
  said.set_train_seconds(2.5);
  said.add_per_class_accuracy(0.25);
  said.add_per_class_accuracy(0.75);
  ASSERT_TRUE(worker.Send(finish));
  ASSERT_TRUE(worker.Settled().accepted());

  const v1::Outcome told = Member("s1c0r0").outcome();
  EXPECT_EQ(told.train_seconds(), 2.5);
  EXPECT_THAT(told.per_class_accuracy(), testing::ElementsAre(0.25, 0.75));
  EXPECT_EQ(told.metrics().at("top1"), 0.5);
}

TEST_F(WorkerServiceTest, AMessageBeyondTheLimitEndsOnlyItsStream) {
  ScriptedWorker worker(*workers_, "box", 7);
  v1::SessionRequest huge = ScriptedWorker::Finish(1, 0);
  huge.mutable_finished()->mutable_outcome()->set_environment(std::string(17 << 20, ' '));
  (void)worker.Send(huge);
  EXPECT_EQ(worker.End().code(), Code::kResourceExhausted);
  ScriptedWorker again(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  EXPECT_EQ(again.Started().member(), "s1c0r0");
}

}  // namespace
}  // namespace noisefloor::test
