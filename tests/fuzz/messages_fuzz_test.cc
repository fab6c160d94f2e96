// Sweep files, uploads and messages of sessions, as nobody should write them.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/datasets.h"
#include "coordinator/coordinator.h"
#include "coordinator/rpc/upload.h"
#include "coordinator/sweep_file/sweep_file.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"
#include "tests/coordinator/rpc/scripted_worker.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/fuzz/fuzz.h"

namespace noisefloor::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Of text that is none, the library says so for each field.
const google::protobuf::LogSilencer* const kSilence = new google::protobuf::LogSilencer();

TEST(MessagesFuzz, SweepFiles) {
  const char* source = std::getenv("NOISEFLOOR_SOURCE");
  ASSERT_NE(source, nullptr) << "run through ctest";
  std::vector<std::string> seeds;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(source) + "/deploy/sweeps")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto file = sweep_file::ReadSweepFile(entry.path().string(), sweep_file::OwnSettings);
    ASSERT_TRUE(file.ok()) << file.status();
    seeds.push_back(file->text);
  }
  int read = 0;
  Fuzz(seeds, {"axes:", "noise:", "  - ", "&a", "*a", "!!binary", "<<:", "? ", "|", "seed: -1"},
       4000, [&](const std::string& input) {
         const auto file = sweep_file::ParseSweep(input, "x.yaml", sweep_file::OwnSettings);
         if (!file.ok()) {
           EXPECT_THAT(std::string(file.status().message()), StartsWith("x.yaml"));
           return;
         }
         ++read;
         const auto again = sweep_file::ParseSweep(input, "x.yaml", sweep_file::OwnSettings);
         EXPECT_EQ(again->sweep.SerializeAsString(), file->sweep.SerializeAsString());
       });
  EXPECT_GT(read, 100);
}

// Says what it was given.
class Reader final : public grpc::ServerReaderInterface<v1::UploadRequest> {
 public:
  explicit Reader(std::deque<v1::UploadRequest> parts) : parts_(std::move(parts)) {}
  void SendInitialMetadata() override {}
  bool NextMessageSize(uint32_t* bytes) override {
    *bytes = parts_.empty() ? 0 : static_cast<uint32_t>(parts_.front().ByteSizeLong());
    return !parts_.empty();
  }
  bool Read(v1::UploadRequest* part) override {
    if (parts_.empty()) return false;
    *part = std::move(parts_.front());
    parts_.pop_front();
    return true;
  }

 private:
  std::deque<v1::UploadRequest> parts_;
};

TEST(MessagesFuzz, Uploads) {
  const TempHome home;
  const auto blobs = BlobStore::Open(home.path());
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  const std::string content = "the weights of a member";
  const UploadLimits limits = {.max_bytes = 1 << 20,
                               .is_live = [](LeaseId lease) { return lease.value == 7; }};
  const std::vector<std::string> seeds = {
      UploadHeader(7, Sha256Hex(content), content.size()).SerializeAsString(),
      UploadHeader(7, Sha256Hex(""), 0).SerializeAsString(), Piece(content).SerializeAsString()};
  int taken = 0;
  Fuzz(seeds, {Sha256Hex(content), "../../x", std::string(64, '.')}, 5000,
       [&](const std::string& input) {
         v1::UploadRequest first;
         if (!first.ParseFromString(input)) return;
         Reader reader({first, Piece(content)});
         const auto answer = ReceiveUpload(reader, *blobs, limits);
         if (!answer.ok()) {
           EXPECT_FALSE(answer.status().message().empty());
           return;
         }
         ++taken;
         EXPECT_EQ(first.header().lease_id(), 7u);
         EXPECT_TRUE(blobs->Verify({first.header().sha256(), first.header().size()}).ok());
       });
  EXPECT_GT(taken, 2);
}

// A session that hears everything and heeds nothing: who does not read is waited for.
class Session {
 public:
  explicit Session(v1::WorkerService::Stub& stub) {
    SetDeadline(context_, absl::Minutes(1));
    stream_ = stub.Session(&context_);
    stream_->Write(RegisterAs("fuzz", 7));
    reader_ = std::thread([this] {
      v1::SessionResponse response;
      while (stream_->Read(&response)) {
        if (response.has_start()) lease_ = response.start().lease_id();
      }
    });
  }
  ~Session() {
    context_.TryCancel();
    reader_.join();
    (void)stream_->Finish();
  }
  bool Send(const v1::SessionRequest& message) { return stream_->Write(message); }
  // The latest that it was given.
  uint64_t lease() const { return lease_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
  std::atomic<uint64_t> lease_ = 0;
  std::thread reader_;
};

// Against a whole coordinator: what it takes, it keeps, and starts again from.
TEST(MessagesFuzz, Sessions) {
  const TempHome home;
  const CoordinatorOptions options = {.home = home.path()};
  auto coordinator = Coordinator::Start(options);
  ASSERT_TRUE(coordinator.ok()) << coordinator.status();
  uint64_t highest = 0;  // Lease that it was given.
  const auto people = v1::CoordinatorService::NewStub((*coordinator)->InProcessChannel());
  const auto workers = v1::WorkerService::NewStub((*coordinator)->InProcessChannel());
  v1::SubmitSweepRequest request;
  request.mutable_sweep()->set_name("fuzzed");
  request.mutable_sweep()->add_noise()->set_name("algo");
  request.mutable_sweep()->mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
  request.mutable_sweep()->mutable_hardware()->add_classes("cpu-amd-avx2");
  request.mutable_sweep()->set_replicates(4000);
  request.mutable_sweep()->set_blocks(1);
  grpc::ClientContext context;
  v1::SubmitSweepResponse response;
  ASSERT_TRUE(people->SubmitSweep(&context, request, &response).ok());

  std::vector<std::string> seeds;
  constexpr uint64_t kLease = 1;
  v1::SessionRequest message;
  message.mutable_started()->set_lease_id(kLease);
  message.mutable_started()->set_data_identity(
      std::string(FindDataset("fashion-mnist-sample")->identity));
  seeds.push_back(message.SerializeAsString());
  message.mutable_heartbeat()->add_held()->set_lease_id(kLease);
  message.mutable_heartbeat()->mutable_held(0)->set_step_count(100);
  seeds.push_back(message.SerializeAsString());
  v1::RecordBatch& batch = *message.mutable_records()->mutable_batch();
  message.mutable_records()->set_lease_id(kLease);
  batch.set_sequence(1);
  batch.add_metric_names("loss");
  batch.add_step(1);
  batch.add_epoch(0.5);
  batch.add_metric(0);
  batch.add_value(0.25);
  seeds.push_back(message.SerializeAsString());
  seeds.push_back(ScriptedWorker::Finish(kLease, 0).SerializeAsString());
  seeds.push_back(ScriptedWorker::Finish(kLease, 1, {"weights"}).SerializeAsString());
  seeds.push_back(RegisterAs("fuzz", 7).SerializeAsString());

  auto worker = std::make_unique<Session>(*workers);
  int sent = 0;
  Fuzz(seeds, {Sha256Hex("weights"), "\x08\x01", "\x08\x02"}, 3000, [&](const std::string& input) {
    v1::SessionRequest mutant;
    if (!mutant.ParseFromString(input)) return;
    ++sent;
    // One that is new gets its lease in a moment, unless it has to rest.
    for (int look = 0; look < 50 && worker->lease() == 0; ++look) poll(nullptr, 0, 2);
    highest = std::max(highest, worker->lease());
    // The seeds' lease is whichever is live: what is said of others is not looked at.
    if (mutant.started().lease_id() == kLease)
      mutant.mutable_started()->set_lease_id(worker->lease());
    if (mutant.records().lease_id() == kLease)
      mutant.mutable_records()->set_lease_id(worker->lease());
    if (mutant.finished().lease_id() == kLease) {
      mutant.mutable_finished()->set_lease_id(worker->lease());
    }
    if (worker->Send(mutant)) return;
    worker.reset();
    worker = std::make_unique<Session>(*workers);
  });
  EXPECT_GT(sent, 100);
  EXPECT_GT(highest, 0u) << "none was looked at";
  worker.reset();
  (*coordinator)->Stop();
  coordinator->reset();

  const auto again = Coordinator::Start(options);
  EXPECT_TRUE(again.ok()) << again.status();
}

}  // namespace
}  // namespace noisefloor::test
