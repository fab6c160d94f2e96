// A whole coordinator on a free loopback port, and clients of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/rpc/address.h"
#include "coordinator/coordinator.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"
#include "tests/coordinator/rpc/scripted_worker.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::test {

inline constexpr uint64_t kUploadLimit = 8 << 20;

inline v1::Sweep SmallSweep(const std::string& name, uint32_t replicates) {
  v1::Sweep sweep;
  sweep.set_name(name);
  sweep.add_noise()->set_name("control");
  sweep.mutable_hardware()->set_kind(v1::HardwareChoice::KIND_LIST);
  sweep.mutable_hardware()->add_classes("cpu-amd-avx2");
  sweep.set_replicates(replicates);
  sweep.set_blocks(1);
  return sweep;
}

class CoordinatorTest : public testing::Test {
 protected:
  using People = v1::CoordinatorService::Stub;

  CoordinatorTest() { Start(); }

  void Start() {
    auto coordinator = Coordinator::Start({.home = home_.path(),
                                           .listen = "127.0.0.1:0",
                                           .lease_ttl = absl::Minutes(2),
                                           .storage_retry = absl::Milliseconds(50),
                                           .max_upload_bytes = kUploadLimit,
                                           .stream_idle = stream_idle_,
                                           .register_by = register_by_,
                                           .data_roots = data_roots_,
                                           .stack_roots = stack_roots_,
                                           .max_tree_reads = max_tree_reads_,
                                           .max_artifact_reads = max_artifact_reads_,
                                           .max_workers = max_workers_});
    ASSERT_TRUE(coordinator.ok()) << coordinator.status();
    coordinator_ = *std::move(coordinator);
    channel_ = MakeChannel(*ParseAddress(coordinator_->address()));
    people_ = v1::CoordinatorService::NewStub(channel_);
    workers_ = v1::WorkerService::NewStub(channel_);
  }
  void Restart() {
    coordinator_.reset();
    Start();
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (People::*method)(grpc::ClientContext*, const Request&,
                                                               Response*),
                                const std::type_identity_t<Request>& request) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    Response response;
    const absl::Status status = FromGrpc((people_.get()->*method)(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }

  absl::StatusOr<v1::SubmitSweepResponse> Submit(const v1::Sweep& sweep,
                                                 const std::string& request_id = "",
                                                 bool resume = false) {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = sweep;
    request.set_request_id(request_id);
    request.set_resume(resume);
    return Call(&People::SubmitSweep, request);
  }
  v1::Member Member(const std::string& id) {
    v1::GetMemberRequest request;
    request.set_member(id);
    const auto response = Call(&People::GetMember, request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->member() : v1::Member();
  }

  absl::Duration stream_idle_ = absl::Minutes(1);  // As of the next start.
  absl::Duration register_by_ = absl::Minutes(2);
  uint32_t max_workers_ = 1000;
  std::vector<std::string> data_roots_;
  std::vector<std::string> stack_roots_;
  uint32_t max_tree_reads_ = 64;
  uint32_t max_artifact_reads_ = 256;
  TempHome home_;
  std::unique_ptr<Coordinator> coordinator_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<People> people_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
};

}  // namespace noisefloor::test
