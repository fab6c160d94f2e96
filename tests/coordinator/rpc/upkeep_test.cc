// Room is made beside workers that upload, and a restored backup knows nothing of what its workers
// were given after it was made.
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/clock.h"
#include "common/files/npy.h"
#include "coordinator/inputs/digest.h"
#include "coordinator/query/storage_reader.h"
#include "coordinator/rpc/garbage.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/blob_pins.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/database.h"
#include "coordinator/store/derived_files.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/loop/loop_fixture.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"
#include "tests/support/clock_ahead.h"
#include "tests/support/full_disk.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;

class UpkeepTest : public CoordinatorTest {
 protected:
  // Before the home that it may have moved to: without one it ends the process.
  ~UpkeepTest() override { coordinator_.reset(); }

  absl::StatusOr<v1::CollectGarbageResponse> Collect(const std::vector<std::string>& kinds = {},
                                                     const std::vector<uint64_t>& sweeps = {},
                                                     bool dry_run = false) {
    v1::CollectGarbageRequest request;
    request.mutable_kinds()->Add(kinds.begin(), kinds.end());
    request.mutable_sweep_ids()->Add(sweeps.begin(), sweeps.end());
    request.set_dry_run(dry_run);
    return Call(&People::CollectGarbage, request);
  }
  static void SendFile(v1::WorkerService::Stub& workers, uint64_t lease,
                       const std::string& content) {
    const auto sent =
        Upload(workers, {UploadHeader(lease, Sha256Hex(content), content.size()), Piece(content)});
    EXPECT_TRUE(sent.ok()) << sent.status();
  }
  // A sweep of one member, done with these weights.
  void Train(ScriptedWorker& worker, const std::string& name, const std::string& content) {
    ASSERT_TRUE(Submit(SmallSweep(name, 1)).ok());
    const uint64_t lease = worker.Started().lease_id();
    SendFile(*workers_, lease, content);
    ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0, {content})));
    EXPECT_TRUE(worker.Settled().accepted());
  }
  absl::StatusOr<std::string> Weights(const std::string& member) {
    v1::GetArtifactRequest request;
    request.set_member(member);
    request.set_kind("weights");
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    const auto reader = people_->GetArtifact(&context, request);
    std::string got;
    for (v1::GetArtifactResponse piece; reader->Read(&piece);) got += piece.piece();
    const absl::Status status = FromGrpc(reader->Finish());
    if (!status.ok()) return status;
    return got;
  }
  bool IsThere(const std::string& content) const {
    return BlobStore::At(home_.path()).Has({Sha256Hex(content), content.size()});
  }
  // All attempts have ended so much earlier than they did.
  void EndEarlier(absl::Duration by) {
    coordinator_.reset();
    const std::string us = std::to_string(absl::ToInt64Microseconds(by));
    SQLite::Database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs())
        .exec("UPDATE lease SET granted_us = granted_us - " + us + ", dropped_us = dropped_us - " +
              us);
    Start();
  }
  // What is asked from now on is asked of this home's coordinator.
  void MoveTo(const std::string& home) {
    coordinator_.reset();
    auto started = Coordinator::Start({.home = home, .listen = "127.0.0.1:0"});
    ASSERT_TRUE(started.ok()) << started.status();
    coordinator_ = *std::move(started);
    channel_ = MakeChannel(*ParseAddress(coordinator_->address()));
    people_ = v1::CoordinatorService::NewStub(channel_);
    workers_ = v1::WorkerService::NewStub(channel_);
  }

  const TempHome other_;
};

TEST_F(UpkeepTest, AFileOfALeaseThatIsNotSettledNeverGoes) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  SendFile(*workers_, lease, "weights on their way");
  auto collected = Collect({"weights"});
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->unused().files(), 0u);
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0, {"weights on their way"})));
  EXPECT_TRUE(worker.Settled().accepted());
  EXPECT_EQ(*Weights("s1c0r0"), "weights on their way");
}

// They go with its rows, of which a large sweep has some for an hour.
TEST_F(UpkeepTest, FilesOfADeletedSweepAreNotThoseOfMembersThatEnded) {
  ScriptedWorker worker(*workers_, "box", 7);
  Train(worker, "first", "weights of a deleted sweep");
  coordinator_.reset();
  const auto collectable = [this] {
    const query::Retention retention = {
        .kinds = {"weights"}, .ended_before = absl::InfiniteFuture(), .sweeps = {}};
    return (*query::StorageReader::Open(home_.path()))->Collectable(retention, {}, 10)->size();
  };
  EXPECT_EQ(collectable(), 1u);

  SQLite::Database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs())
      .exec("UPDATE sweep SET deleted_us = 1");

  EXPECT_EQ(collectable(), 0u);
}

TEST_F(UpkeepTest, AFileWhoseLeaseIsLostGoes) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  SendFile(*workers_, lease, "never finished");
  worker.SayHeld({lease});
  worker.SayHeld({});
  EXPECT_GT(worker.Started().lease_id(), lease) << "its member was given again";
  EXPECT_EQ(Collect({}, {}, /*dry_run=*/true)->unused().files(), 1u);
  const auto unused = [&] {
    return Call(&People::GetStorage, v1::GetStorageRequest())->unused().files();
  };
  EXPECT_EQ(unused(), 1u);
  EXPECT_TRUE(IsThere("never finished"));
  const auto collected = Collect();
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->unused().files(), 1u);
  EXPECT_EQ(collected->unused().bytes(), std::string("never finished").size());
  EXPECT_EQ(unused(), 0u) << "it is counted anew";
  EXPECT_FALSE(IsThere("never finished"));
}

// What a member names takes a write to go, which a full disk has no room for; the rest takes none.
TEST_F(UpkeepTest, OnAFullDiskWhatNobodyNamesGoesAllTheSame) {
  ScriptedWorker worker(*workers_, "box", 7);
  Train(worker, "first", "weights");
  ASSERT_TRUE(Submit(SmallSweep("second", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  SendFile(*workers_, lease, "never finished");
  worker.SayHeld({lease});
  worker.SayHeld({});
  EXPECT_GT(worker.Started().lease_id(), lease);
  const FullDisk full(home_.path());
  EXPECT_FALSE(Submit(SmallSweep("third", 1)).ok()) << "it is full";

  EXPECT_EQ(Collect({"weights"}).status().code(), absl::StatusCode::kResourceExhausted);

  EXPECT_FALSE(IsThere("never finished"));
  EXPECT_TRUE(IsThere("weights"));
}

// Nobody names these predictions in the end.
TEST_F(UpkeepTest, OfPredictionsADigestIsMadeAsTheyComeAndGoesWithThem) {
  const std::vector<float> logits = {0, 1, 1, 0};
  const std::string content = *EncodeNpy(MakeTensorView<float>("logits", {2, 2}, logits));
  const std::string sha256 = Sha256Hex(content);
  const DerivedFiles digests = DerivedFiles::At(home_.path());
  auto worker = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker->Started().lease_id();
  SendFile(*workers_, lease, "weights");
  v1::UploadRequest header = UploadHeader(lease, sha256, content.size());
  header.mutable_header()->set_kind("predictions");
  ASSERT_TRUE(Upload(*workers_, {header, Piece(content)}).ok());
  worker.reset();

  Restart();  // What was begun has ended then.

  EXPECT_TRUE(inputs::DecodeDigest(*digests.Read(sha256), sha256).ok());
  const std::string of_nothing(64, 'e');
  ASSERT_TRUE(digests.Keep(of_nothing, "its file went while it was made").ok());
  v1::SessionRequest register_again = RegisterAs("box", 7);
  register_again.mutable_register_()->add_held()->set_lease_id(lease);
  ScriptedWorker again(*workers_);
  ASSERT_TRUE(again.Send(register_again));
  ASSERT_TRUE(again.Send(ScriptedWorker::Finish(lease, 0, {"weights"})));
  EXPECT_TRUE(again.Settled().accepted());
  const auto collected = Collect();
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_FALSE(IsThere(content));
  EXPECT_TRUE(absl::IsNotFound(digests.Read(sha256).status()));
  EXPECT_TRUE(absl::IsNotFound(digests.Read(of_nothing).status()));
}

TEST_F(UpkeepTest, AContentGoesWithTheLastMemberThatHasIt) {
  ScriptedWorker worker(*workers_, "box", 7);
  Train(worker, "first", "the same weights");
  Train(worker, "second", "the same weights");
  const auto dry = Collect({"weights"}, {1}, /*dry_run=*/true);
  ASSERT_TRUE(dry.ok()) << dry.status();
  EXPECT_EQ(dry->artifacts_size(), 0) << "what another one names would stay";
  EXPECT_EQ(Collect({"weights"}, {}, /*dry_run=*/true)->artifacts(0).files(), 1u);
  EXPECT_EQ(Member("s1c0r0").outcome().artifacts(0).collected_unix_seconds(), 0);

  auto collected = Collect({"weights"}, {1});
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->artifacts_size(), 0) << "no byte was won";
  EXPECT_EQ(*Weights("s2c0r0"), "the same weights");
  EXPECT_THAT(std::string(Weights("s1c0r0").status().message()),
              HasSubstr("was removed to make room on"));
  const v1::Artifact artifact = Member("s1c0r0").outcome().artifacts(0);
  EXPECT_GT(artifact.collected_unix_seconds(), 0);
  EXPECT_EQ(artifact.sha256(), Sha256Hex("the same weights")) << "what is told of it stays";

  collected = Collect({"weights"});
  ASSERT_TRUE(collected.ok()) << collected.status();
  ASSERT_EQ(collected->artifacts_size(), 1);
  EXPECT_EQ(collected->artifacts(0).kind(), "weights");
  EXPECT_EQ(collected->artifacts(0).files(), 1u);
  EXPECT_FALSE(IsThere("the same weights"));
  EXPECT_EQ(Collect({"weights"})->artifacts_size(), 0) << "what has gone does not go again";

  // Who trains the same again has it again.
  Train(worker, "third", "the same weights");
  EXPECT_EQ(*Weights("s3c0r0"), "the same weights");
  EXPECT_FALSE(Weights("s1c0r0").ok());
}

TEST_F(UpkeepTest, WeightsAfterEvaluationsGoWithTheirKind) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  SendFile(*workers_, lease, "on the way");
  SendFile(*workers_, lease, "of another kind");
  v1::SessionRequest finish = ScriptedWorker::Finish(lease, 0, {"on the way", "of another kind"});
  v1::Outcome& outcome = *finish.mutable_finished()->mutable_outcome();
  outcome.mutable_artifacts(0)->set_kind("weights-12");
  outcome.mutable_artifacts(1)->set_kind("weights-x");
  ASSERT_TRUE(worker.Send(finish));
  EXPECT_TRUE(worker.Settled().accepted());

  const auto collected = Collect({"weights"});

  ASSERT_TRUE(collected.ok()) << collected.status();
  ASSERT_EQ(collected->artifacts_size(), 1);
  EXPECT_EQ(collected->artifacts(0).kind(), "weights");
  EXPECT_FALSE(IsThere("on the way"));
  EXPECT_TRUE(IsThere("of another kind"));
}

// The last evaluation's are those of the end: without them nothing would be won, and a figure lost.
TEST_F(UpkeepTest, ThoseAfterEvaluationsMayGoAlone) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  SendFile(*workers_, lease, "on the way");
  SendFile(*workers_, lease, "at the end");
  v1::SessionRequest finish =
      ScriptedWorker::Finish(lease, 0, {"on the way", "at the end", "at the end"});
  v1::Outcome& outcome = *finish.mutable_finished()->mutable_outcome();
  outcome.mutable_artifacts(0)->set_kind("weights-1");
  outcome.mutable_artifacts(1)->set_kind("weights-2");
  ASSERT_TRUE(worker.Send(finish));
  EXPECT_TRUE(worker.Settled().accepted());

  const auto storage = Call(&People::GetStorage, v1::GetStorageRequest());
  ASSERT_TRUE(storage.ok()) << storage.status();
  ASSERT_EQ(storage->artifacts_size(), 1) << "of all evaluations one share";
  EXPECT_EQ(storage->artifacts(0).kind(), "weights");
  EXPECT_EQ(storage->artifacts(0).files(), 2u) << "contents";
  const auto one = Collect({"weights-2"});
  EXPECT_TRUE(absl::IsInvalidArgument(one.status()));
  EXPECT_THAT(std::string(one.status().message()), HasSubstr("expected weights-N"));
  EXPECT_TRUE(absl::IsInvalidArgument(Collect({"predictions-2"}).status()));
  const auto collected = Collect({"weights-N"});

  ASSERT_TRUE(collected.ok()) << collected.status();
  ASSERT_EQ(collected->artifacts_size(), 1);
  EXPECT_EQ(collected->artifacts(0).files(), 1u);
  EXPECT_FALSE(IsThere("on the way"));
  EXPECT_EQ(*Weights("s1c0r0"), "at the end");
  const v1::Member member = Member("s1c0r0");
  for (const v1::Artifact& artifact : member.outcome().artifacts()) {
    EXPECT_EQ(artifact.collected_unix_seconds() > 0, artifact.kind() == "weights-1");
  }
}

TEST_F(UpkeepTest, WhatReportsAreMadeOfStays) {
  const auto refused = Collect({"predictions"});
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("what reports are made of"));
  ScriptedWorker worker(*workers_, "box", 7);
  Train(worker, "first", "weights");
  ASSERT_TRUE(Collect({"weights"}).ok());
  v1::GetStudyRequest request;
  request.set_sweep_id(1);
  request.set_form(v1::GetStudyRequest::FORM_JSON);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  const auto reader = people_->GetStudy(&context, request);
  std::string study;
  for (v1::GetStudyResponse piece; reader->Read(&piece);) study += piece.piece();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_THAT(study, HasSubstr("The weights of 1 member were removed to make room"));
}

TEST_F(UpkeepTest, OnlyWhatEndedLongEnoughAgoGoes) {
  ScriptedWorker worker(*workers_, "box", 7);
  Train(worker, "first", "young weights");
  v1::CollectGarbageRequest request;
  request.add_kinds("weights");
  request.set_older_than_seconds(3600);
  EXPECT_EQ(Call(&People::CollectGarbage, request)->artifacts_size(), 0);
  EXPECT_TRUE(IsThere("young weights"));
  request.set_older_than_seconds(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(Call(&People::CollectGarbage, request).status()));
}

TEST_F(UpkeepTest, HowLongAgoIsCountedInSeconds) {
  auto worker = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  Train(*worker, "first", "weights");
  worker.reset();
  v1::CollectGarbageRequest request;
  request.add_kinds("weights");
  request.set_older_than_seconds(3600);

  EndEarlier(absl::Seconds(10));
  auto collected = Call(&People::CollectGarbage, request);
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->artifacts_size(), 0);
  EXPECT_TRUE(IsThere("weights"));

  EndEarlier(absl::Hours(1));
  collected = Call(&People::CollectGarbage, request);
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->artifacts_size(), 1);
  EXPECT_FALSE(IsThere("weights"));
}

TEST_F(UpkeepTest, NothingGoesWhileLeasesOfBeforeARestartLive) {
  auto worker = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker->Started().lease_id();
  SendFile(*workers_, lease, "sent before");
  worker.reset();
  Restart();
  EXPECT_THAT(std::string(Collect().status().message()),
              HasSubstr("1 attempt runs that began before this coordinator did"));
  EXPECT_TRUE(IsThere("sent before"));
  v1::SessionRequest register_again = RegisterAs("box", 7);
  register_again.mutable_register_()->add_held()->set_lease_id(lease);
  ScriptedWorker again(*workers_);
  ASSERT_TRUE(again.Send(register_again));
  ASSERT_TRUE(again.Send(ScriptedWorker::Finish(lease, 0, {"sent before"})));
  EXPECT_TRUE(again.Settled().accepted());
  EXPECT_TRUE(Collect().ok());
  EXPECT_EQ(*Weights("s1c0r0"), "sent before");
}

// No worker could send anything meanwhile, and each offers all of it again when it comes back.
TEST_F(UpkeepTest, WithoutAnAddressWhatLeasesOfBeforeHaveSentGoes) {
  auto worker = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker->Started().lease_id();
  SendFile(*workers_, lease, "sent before");
  worker.reset();
  coordinator_.reset();
  {
    const auto alone = Coordinator::Start({.home = home_.path(), .listen = ""});
    ASSERT_TRUE(alone.ok()) << alone.status();
    const auto people = v1::CoordinatorService::NewStub((*alone)->InProcessChannel());
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::CollectGarbageResponse collected;
    const absl::Status status =
        FromGrpc(people->CollectGarbage(&context, v1::CollectGarbageRequest(), &collected));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(collected.unused().files(), 1u);
  }
  Start();
  v1::SessionRequest register_again = RegisterAs("box", 7);
  register_again.mutable_register_()->add_held()->set_lease_id(lease);
  ScriptedWorker again(*workers_);
  ASSERT_TRUE(again.Send(register_again));
  ASSERT_TRUE(again.Next(ScriptedWorker::Case::kWelcome).has_value());
  SendFile(*workers_, lease, "sent before");
  ASSERT_TRUE(again.Send(ScriptedWorker::Finish(lease, 0, {"sent before"})));
  EXPECT_TRUE(again.Settled().accepted());
  EXPECT_EQ(*Weights("s1c0r0"), "sent before");
}

// Whoever makes room, and its clock, are in the test's hand. A lease is older than it.
class OlderLeaseTest : public LoopTest {
 protected:
  OlderLeaseTest() {
    Submit("sweep");
    EXPECT_TRUE(journal_.Await("sweep: OK"));
    Connect(1);
    EXPECT_TRUE(journal_.Await("sent lease 1"));
    Start({});
    EXPECT_TRUE(blobs_.Put(blob_, "sent before").ok());
  }

  std::unique_ptr<Garbage> Open() {
    auto garbage = Garbage::Open({*loop_, blobs_, pins_, ahead_, home_.path(),
                                  [] { return std::string(); }, /*listens=*/true, absl::Hours(1)});
    EXPECT_TRUE(garbage.ok()) << garbage.status();
    return *std::move(garbage);
  }
  static absl::StatusOr<v1::CollectGarbageResponse> Collect(
      Garbage& garbage, const v1::CollectGarbageRequest& request = {}) {
    std::promise<absl::StatusOr<v1::CollectGarbageResponse>> answer;
    garbage.Collect(
        request, "me", [] { return false; },
        [&](const absl::Status& status, const v1::CollectGarbageResponse& response) {
          if (status.ok()) {
            answer.set_value(response);
          } else {
            answer.set_value(status);
          }
        });
    return answer.get_future().get();
  }
  // Its worker, with it.
  void ComeBack() {
    scheduler::WorkerConnected again = Join(1, 1, "u");
    again.held.push_back({LeaseId{1}, 0, 0, 0});
    EXPECT_TRUE(loop_->Post(SessionId{1}, std::move(again), true));
    EXPECT_TRUE(journal_.AwaitCount("sent welcome", 2));
  }

  const BlobName blob_{Sha256Hex("sent before"), 11};
  BlobStore blobs_ = *BlobStore::Open(home_.path());
  BlobPins pins_{[](LeaseId) { return false; }};
  ClockAhead ahead_;
};

// Where nothing can be kept it lives on for ever, and room is what helps.
TEST_F(OlderLeaseTest, WhatItHasSentGoesWhenItsWorkerHasNotComeBackInTime) {
  const auto garbage = Open();
  EXPECT_THAT(std::string(Message(Collect(*garbage).status())),
              HasSubstr(" s where their workers do not come back"));

  ahead_.Advance(absl::Hours(1));

  const auto collected = Collect(*garbage);
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->unused().files(), 1u);
  EXPECT_TRUE(loop_->live().IsLive(LeaseId{1})) << "or this shows nothing";
}

TEST_F(OlderLeaseTest, WhatItHasSentStaysWhileItsWorkerIsBack) {
  const auto garbage = Open();
  ahead_.Advance(absl::Hours(1));
  ComeBack();

  EXPECT_THAT(std::string(Message(Collect(*garbage).status())),
              HasSubstr("1 attempt runs that began before this coordinator did, and which files "
                        "they have sent is not known any more; try again when they have ended, or "
                        "run `noisefloor gc --home=HOME` while no coordinator serves it"));

  ASSERT_TRUE(loop_->Post(SessionId{1}, scheduler::SessionLost{SessionId{1}}, false));
  Submit("another");  // Behind it.
  ASSERT_TRUE(journal_.Await("another: OK"));
  EXPECT_TRUE(Collect(*garbage).ok());
}

// A wall clock that was set, or went on while the machine slept, makes nothing older.
TEST_F(OlderLeaseTest, HowLongAgoAMemberEndedIsCountedByTheLoopsClock) {
  const auto garbage = Open();
  ComeBack();
  scheduler::AttemptFinished finished = test::Finish(1, 1);
  finished.outcome.artifacts = {{"weights", "weights.safetensors", blob_.sha256, blob_.size_bytes}};
  ASSERT_TRUE(loop_->Post(SessionId{1}, std::move(finished), true));
  ASSERT_TRUE(journal_.Await("sent settled"));
  ahead_.Advance(absl::Hours(12));
  v1::CollectGarbageRequest request;
  request.add_kinds("weights");
  request.set_older_than_seconds(3600);

  EXPECT_EQ(Collect(*garbage, request)->artifacts_size(), 0);

  request.set_older_than_seconds(0);
  EXPECT_EQ(Collect(*garbage, request)->artifacts_size(), 1);
}

TEST_F(UpkeepTest, StorageIsCountedByKind) {
  ScriptedWorker worker(*workers_, "box", 7);
  Train(worker, "first", "the same weights");
  Train(worker, "second", "the same weights");
  const std::string database = DatabasePath(home_.path());
  const uint64_t before =
      std::filesystem::file_size(database) + std::filesystem::file_size(database + "-wal");
  const auto storage = Call(&People::GetStorage, v1::GetStorageRequest());
  ASSERT_TRUE(storage.ok()) << storage.status();
  ASSERT_EQ(storage->artifacts_size(), 1);
  EXPECT_EQ(storage->artifacts(0).kind(), "weights");
  EXPECT_EQ(storage->artifacts(0).files(), 1u) << "one content is one file";
  EXPECT_EQ(storage->artifacts(0).bytes(), std::string("the same weights").size());
  EXPECT_GE(storage->database_bytes(), before);
  EXPECT_GT(storage->free_bytes(), 0u);
}

TEST_F(UpkeepTest, AWorkerOfWhatCameAfterTheBackupIsAnsweredByName) {
  const std::string folder = other_.path() + "/backup";
  const std::string restored = other_.path() + "/home";
  auto worker = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1), "one").ok());
  const uint64_t in_backup = worker->Started().lease_id();
  ASSERT_TRUE(MakeBackup(home_.path(), folder, SystemClock(), {}).ok());
  // What the backup does not know: this lease is lost, the next is another, a second sweep is
  // there.
  worker->SayHeld({in_backup});
  worker->SayHeld({});
  const uint64_t after_it = worker->Started().lease_id();
  ASSERT_TRUE(Submit(SmallSweep("second", 1), "two").ok());
  worker.reset();
  const auto made = RestoreBackup(folder, restored, SystemClock(), RestoreOptions{});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->lost_leases, 1u);
  MoveTo(restored);

  EXPECT_EQ(Call(&People::GetVersion, v1::GetVersionRequest())->epoch(), 1u);
  EXPECT_EQ(Member("s1c0r0").state(), v1::MEMBER_STATE_WAITING);
  // The same request asks for a sweep that is not there any more: it is kept anew.
  EXPECT_EQ(Submit(SmallSweep("second", 1), "two")->sweep_id(), 2u);
  EXPECT_EQ(Submit(SmallSweep("first", 1), "one")->sweep_id(), 1u);

  // The old worker comes back with both.
  v1::SessionRequest hello = RegisterAs("box", 7);
  hello.mutable_register_()->add_held()->set_lease_id(in_backup);
  hello.mutable_register_()->add_held()->set_lease_id(after_it);
  ScriptedWorker again(*workers_);
  ASSERT_TRUE(again.Send(hello));
  std::map<uint64_t, std::string> stopped;
  for (int i = 0; i < 2; ++i) {
    const auto stop = again.Next(ScriptedWorker::Case::kStop);
    ASSERT_TRUE(stop.has_value());
    stopped[stop->stop().lease_id()] = stop->stop().reason();
  }
  EXPECT_THAT(stopped[in_backup], HasSubstr("restored from the backup of"));
  EXPECT_THAT(stopped[after_it], HasSubstr("is not this worker's"));
  for (const uint64_t old : {in_backup, after_it}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(
        Upload(*workers_, {UploadHeader(old, Sha256Hex("spooled"), 7), Piece("spooled")})
            .status()));
    ASSERT_TRUE(again.Send(ScriptedWorker::Finish(old, 0)));
    const v1::Settled settled = again.Settled();
    EXPECT_EQ(settled.lease_id(), old);
    EXPECT_FALSE(settled.accepted());
    EXPECT_NE(settled.reason(), "");
  }
  EXPECT_NE(Member("s1c0r0").state(), v1::MEMBER_STATE_DONE);
}

TEST_F(UpkeepTest, NumbersOfTheNewEpochAreNobodysOfBefore) {
  const std::string folder = other_.path() + "/backup";
  const std::string restored = other_.path() + "/home";
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  ASSERT_TRUE(MakeBackup(home_.path(), folder, SystemClock(), {}).ok());
  auto worker = std::make_unique<ScriptedWorker>(*workers_, "box", 7);
  const uint64_t before = worker->Started().lease_id();
  v1::WatchSweepRequest watch;
  watch.set_sweep_id(1);
  const uint64_t token = [&] {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    const auto reader = people_->WatchSweep(&context, watch);
    v1::WatchSweepResponse first;
    EXPECT_TRUE(reader->Read(&first));
    context.TryCancel();
    return first.resume_token();
  }();
  worker.reset();
  ASSERT_TRUE(RestoreBackup(folder, restored, SystemClock(), RestoreOptions{}).ok());
  MoveTo(restored);
  // Somebody else gets the member that the old worker still trains; whose number is whose is clear.
  ScriptedWorker other(*workers_, "other", 8);
  const uint64_t now = other.Started().lease_id();
  EXPECT_GT(now, before + 1000);
  ScriptedWorker old(*workers_, "box", 7);
  ASSERT_TRUE(old.Send(ScriptedWorker::Finish(before, 0)));
  EXPECT_FALSE(old.Settled().accepted());
  ASSERT_TRUE(old.Send(ScriptedWorker::Finish(now, 0)));
  EXPECT_FALSE(old.Settled().accepted()) << "it is the other's";
  ASSERT_TRUE(other.Send(ScriptedWorker::Finish(now, 0)));
  EXPECT_TRUE(other.Settled().accepted());
  // A watch that had seen the end of the old home sees all that is new.
  watch.set_resume_token(token);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  const auto reader = people_->WatchSweep(&context, watch);
  std::string lines;
  for (v1::WatchSweepResponse news; lines.find("done on other") == std::string::npos;) {
    ASSERT_TRUE(reader->Read(&news));
    EXPECT_GT(news.resume_token(), token);
    for (const std::string& line : news.lines()) lines += line + "\n";
  }
  context.TryCancel();
}

}  // namespace
}  // namespace noisefloor::test
