// Files that workers send, over the network.
#include <fstream>

#include "coordinator/rpc/upload.h"
#include "coordinator/store/blob_store.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using Code = absl::StatusCode;

using WorkerUploadsTest = CoordinatorTest;

TEST_F(WorkerUploadsTest, ADamagedFileIsReplacedByTheNextUpload) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  const std::string content = "weights";
  const BlobName name{Sha256Hex(content), content.size()};
  const std::vector<v1::UploadRequest> parts = {UploadHeader(lease, name.sha256, name.size_bytes),
                                                Piece(content)};
  ASSERT_TRUE(Upload(*workers_, parts).ok());
  const auto blobs = BlobStore::Open(home_.path());
  std::ofstream(blobs->PathOf(name.sha256)) << "damaged";
  ASSERT_EQ(blobs->Verify(name).code(), Code::kDataLoss);

  const auto again = Upload(*workers_, parts);

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->known_already());
  EXPECT_TRUE(blobs->Verify(name).ok());
}

TEST_F(WorkerUploadsTest, BadUploadsAreRefusedWithTheirReasonAndLeaveNothing) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  const std::string sha = Sha256Hex("abc");
  v1::UploadRequest no_kind = UploadHeader(lease, sha, 3);
  no_kind.mutable_header()->clear_kind();
  v1::UploadRequest long_kind = UploadHeader(lease, sha, 3);
  long_kind.mutable_header()->set_kind(std::string(101, 'k'));
  const struct {
    std::vector<v1::UploadRequest> parts;
    absl::Status expected;
  } cases[] = {
      {{}, InvalidInput("the first message of an upload: expected header")},
      {{Piece("abc")}, InvalidInput("the first message of an upload: expected header")},
      {{no_kind}, InvalidInput("header.kind: expected 1 to 100 bytes, got 0")},
      {{long_kind}, InvalidInput("header.kind: expected 1 to 100 bytes, got 101")},
      {{UploadHeader(lease, "../../etc", 3)},
       InvalidInput("header.sha256: sha256: expected 64 lower-case hexadecimal digits, got "
                    "\"../../etc\"")},
      {{UploadHeader(lease, sha, kUploadLimit + 1)},
       InvalidInput("header.size: expected at most 8388608 bytes, got 8388609")},
      {{UploadHeader(99, sha, 3), Piece("abc")},
       absl::FailedPreconditionError("lease 99 is not live; nothing of it is taken")},
      {{UploadHeader(lease, sha, 3), Piece("abd")},
       InvalidInput("SHA-256 " + sha + " announced, the content has " + Sha256Hex("abd"))},
      {{UploadHeader(lease, sha, 3), Piece("ab")},
       InvalidInput(sha + ": 3 bytes announced, 2 came")},
      {{UploadHeader(lease, sha, 3), Piece("abcd")},
       InvalidInput(sha + ": more than the announced 3 bytes")},
      {{UploadHeader(lease, sha, 3), UploadHeader(lease, sha, 3)},
       InvalidInput("upload: expected a piece after the header")},
      {{UploadHeader(lease, Sha256Hex("x"), 4 << 20), Piece(std::string((1 << 20) + 1, 'x'))},
       InvalidInput("piece: expected 1 to 1048576 bytes, got 1048577")},
      {{UploadHeader(lease, sha, 3), Piece("")},
       InvalidInput("piece: expected 1 to 1048576 bytes, got 0")},
  };
  for (const auto& bad : cases) {
    const auto uploaded = Upload(*workers_, bad.parts);
    EXPECT_EQ(uploaded.status(), bad.expected);
  }
  const auto blobs = BlobStore::Open(home_.path());
  EXPECT_FALSE(blobs->Has({sha, 3}));
}

TEST_F(WorkerUploadsTest, AnUploadWhoseNextPieceDoesNotComeIsEnded) {
  stream_idle_ = absl::Milliseconds(50);
  Restart();
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::UploadResponse response;
  const auto writer = workers_->Upload(&context, &response);
  ASSERT_TRUE(writer->Write(UploadHeader(lease, Sha256Hex("abc"), 3)));
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

// One that says nothing more, and the lease's that it is of.
class IdleUpload {
 public:
  IdleUpload(v1::WorkerService::Stub& workers, uint64_t lease, const std::string& content) {
    SetDeadline(context_, kPatience);
    writer_ = workers.Upload(&context_, &response_);
    EXPECT_TRUE(writer_->Write(UploadHeader(lease, Sha256Hex(content), content.size())));
  }
  ~IdleUpload() {
    context_.TryCancel();
    (void)writer_->Finish();
  }

 private:
  grpc::ClientContext context_;
  v1::UploadResponse response_;
  std::unique_ptr<grpc::ClientWriter<v1::UploadRequest>> writer_;
};

TEST_F(WorkerUploadsTest, UploadsOfOneLeaseTakeNoPlaceOfAnothers) {
  ScriptedWorker greedy(*workers_, "greedy", 7);
  ScriptedWorker other(*workers_, "other", 8);
  ASSERT_TRUE(Submit(SmallSweep("first", 2)).ok());
  const uint64_t lease = greedy.Started().lease_id();
  const std::vector<v1::UploadRequest> next = {UploadHeader(lease, Sha256Hex("abc"), 3),
                                               Piece("abc")};
  // Each is served on a thread of its own, so that one of ours may come before the last of them.
  std::vector<std::unique_ptr<IdleUpload>> idle;
  absl::Status refused;
  while (refused.ok() && idle.size() < 8 * LeaseUploads::kMost) {
    idle.push_back(std::make_unique<IdleUpload>(*workers_, lease, std::to_string(idle.size())));
    refused = Upload(*workers_, next).status();
  }

  EXPECT_EQ(refused.code(), Code::kResourceExhausted) << refused;
  EXPECT_EQ(Call(&People::GetSweep, v1::GetSweepRequest())->storage_problem(), "")
      << "it says nothing of the disk";
  const auto others = Upload(
      *workers_, {UploadHeader(other.Started().lease_id(), Sha256Hex("def"), 3), Piece("def")});
  EXPECT_TRUE(others.ok()) << others.status();
}

TEST_F(WorkerUploadsTest, NothingIsTakenForALeaseThatHasEnded) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  ASSERT_TRUE(worker.Send(ScriptedWorker::Finish(lease, 0)));
  ASSERT_TRUE(worker.Settled().accepted());
  const auto uploaded = Upload(*workers_, {UploadHeader(lease, Sha256Hex("abc"), 3), Piece("abc")});
  EXPECT_EQ(uploaded.status(),
            absl::FailedPreconditionError("lease 1 is not live; nothing of it is taken"));
}

TEST_F(WorkerUploadsTest, AnUploadEndsWithItsLease) {
  ScriptedWorker worker(*workers_, "box", 7);
  ASSERT_TRUE(Submit(SmallSweep("first", 1)).ok());
  const uint64_t lease = worker.Started().lease_id();
  const std::string content(5 << 20, 'w');
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::UploadResponse response;
  const auto writer = workers_->Upload(&context, &response);
  ASSERT_TRUE(writer->Write(UploadHeader(lease, Sha256Hex(content), content.size())));
  // More than is ever on its way: when all of it is written, the server has begun to take it.
  for (size_t i = 0; i < 4; ++i) ASSERT_TRUE(writer->Write(Piece(content.substr(0, 1 << 20))));

  worker.SayHeld({lease});
  worker.SayHeld({});
  EXPECT_EQ(worker.Started().attempt(), 2u);  // The first attempt is lost now.
  (void)writer->Write(Piece(content.substr(0, 1 << 20)));
  writer->WritesDone();

  EXPECT_EQ(FromGrpc(writer->Finish()),
            absl::FailedPreconditionError("lease 1 is not live; nothing of it is taken"));
  EXPECT_FALSE(BlobStore::Open(home_.path())->Has({Sha256Hex(content), content.size()}));
}

}  // namespace
}  // namespace noisefloor::test
