// A worker that says what a test tells it to, over real gRPC.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

#include "common/base/status.h"
#include "common/files/sha256.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "common/trainer_protocol/fields.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"

namespace noisefloor::test {

inline constexpr absl::Duration kPatience = absl::Minutes(2);

inline v1::SessionRequest RegisterAs(const std::string& name, uint64_t identity) {
  v1::SessionRequest request;
  v1::Register& message = *request.mutable_register_();
  message.set_name(name);
  message.set_identity(identity);
  message.set_version("test");
  v1::Inventory& inventory = *message.mutable_inventory();
  inventory.add_devices()->set_unit("host-" + name);
  v1::Offer& offer = *inventory.add_offers();
  offer.set_hardware_class("cpu-amd-avx2");
  offer.set_stack("torch-2.11-cpu");
  offer.set_fingerprint(std::string(64, 'f'));
  offer.set_build("build");
  offer.set_schema(OwnSchema()->identity());
  inventory.add_schemas(OwnSchema()->ToJson());
  v1::Slot& slot = *inventory.add_slots();
  slot.add_devices(0);
  slot.add_offers(0);
  return request;
}

// One session. One thread.
class ScriptedWorker {
 public:
  using Case = v1::SessionResponse::MessageCase;

  explicit ScriptedWorker(v1::WorkerService::Stub& stub) {
    SetDeadline(context_, kPatience);
    context_.set_wait_for_ready(true);  // A coordinator that starts again is waited for.
    stream_ = stub.Session(&context_);
  }
  // Registered and welcomed.
  ScriptedWorker(v1::WorkerService::Stub& stub, const std::string& name, uint64_t identity)
      : ScriptedWorker(stub) {
    Send(RegisterAs(name, identity));
    EXPECT_TRUE(Next(Case::kWelcome).has_value());
  }
  ~ScriptedWorker() {
    if (stream_) (void)(context_.TryCancel(), stream_->Finish());
  }

  bool Send(const v1::SessionRequest& message) { return stream_->Write(message); }
  // Waits for the next message of that kind; others are thrown away. Empty: the stream ended.
  std::optional<v1::SessionResponse> Next(Case kind) {
    v1::SessionResponse response;
    while (stream_->Read(&response)) {
      if (response.message_case() == kind) return response;
    }
    return std::nullopt;
  }
  // Reads to the end of the stream.
  absl::Status End() {
    v1::SessionResponse response;
    while (stream_->Read(&response)) {
    }
    const absl::Status status = FromGrpc(stream_->Finish());
    stream_.reset();
    return status;
  }
  absl::Status Leave() {
    stream_->WritesDone();
    return End();
  }

  // The lease of the next start.
  v1::StartMember Started() {
    const auto start = Next(Case::kStart);
    EXPECT_TRUE(start.has_value()) << "no lease came";
    return start ? start->start() : v1::StartMember();
  }
  void SayHeld(std::initializer_list<uint64_t> leases) {
    v1::SessionRequest request;
    request.mutable_heartbeat();
    for (const uint64_t lease : leases) {
      request.mutable_heartbeat()->add_held()->set_lease_id(lease);
    }
    EXPECT_TRUE(Send(request));
  }
  void SayRecords(uint64_t lease, uint64_t sequence) {
    v1::SessionRequest request;
    request.mutable_records()->set_lease_id(lease);
    v1::RecordBatch& batch = *request.mutable_records()->mutable_batch();
    batch.set_sequence(sequence);
    batch.add_metric_names("loss");
    batch.add_step(static_cast<int64_t>(sequence));
    batch.add_epoch(0.5);
    batch.add_metric(0);
    batch.add_value(0.25);
    EXPECT_TRUE(Send(request));
  }
  // A result with that many batches and these files.
  static v1::SessionRequest Finish(uint64_t lease, uint64_t batches,
                                   const std::vector<std::string>& contents = {}) {
    v1::SessionRequest request;
    request.mutable_finished()->set_lease_id(lease);
    v1::Outcome& outcome = *request.mutable_finished()->mutable_outcome();
    outcome.set_kind(v1::Outcome::KIND_DONE);
    outcome.set_environment("{}");
    outcome.set_record_batches(batches);
    (*outcome.mutable_hashes())["weights"] = Sha256Hex("weights");
    (*outcome.mutable_metrics())["top1"] = 0.5;
    for (const std::string& content : contents) {
      v1::Artifact& artifact = *outcome.add_artifacts();
      artifact.set_kind("weights");
      artifact.set_path("weights.safetensors");
      artifact.set_sha256(Sha256Hex(content));
      artifact.set_size(content.size());
    }
    return request;
  }
  v1::Settled Settled() {
    const auto settled = Next(Case::kSettled);
    EXPECT_TRUE(settled.has_value()) << "nothing was settled";
    return settled ? settled->settled() : v1::Settled();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>> stream_;
};

inline v1::UploadRequest UploadHeader(uint64_t lease, const std::string& sha256, uint64_t size) {
  v1::UploadRequest request;
  request.mutable_header()->set_lease_id(lease);
  request.mutable_header()->set_kind("weights");
  request.mutable_header()->set_sha256(sha256);
  request.mutable_header()->set_size(size);
  return request;
}

inline v1::UploadRequest Piece(const std::string& content) {
  v1::UploadRequest request;
  request.set_piece(content);
  return request;
}

// Sends all of it, or as much as is taken.
inline absl::StatusOr<v1::UploadResponse> Upload(v1::WorkerService::Stub& stub,
                                                 const std::vector<v1::UploadRequest>& parts) {
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::UploadResponse response;
  const auto writer = stub.Upload(&context, &response);
  for (const v1::UploadRequest& part : parts) {
    if (!writer->Write(part)) break;
  }
  writer->WritesDone();
  const absl::Status status = FromGrpc(writer->Finish());
  if (!status.ok()) return status;
  return response;
}

}  // namespace noisefloor::test
