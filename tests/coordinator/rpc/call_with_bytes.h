// Calls any method by its path, without a stub.
#pragma once

#include <memory>
#include <string>

#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

#include "tests/coordinator/rpc/scripted_worker.h"

namespace noisefloor::test {

// One message for one, as bytes: gRPC's own services, whose stubs are not installed everywhere.
inline absl::StatusOr<std::string> CallWithBytes(const std::shared_ptr<grpc::Channel>& channel,
                                                 const std::string& method,
                                                 const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  const grpc::Slice slice(request);
  const grpc::ByteBuffer send(&slice, 1);
  grpc::ByteBuffer received;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, method, send, &queue);
  grpc::Status status;
  call->StartCall();
  call->Finish(&received, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok)) return absl::InternalError("the queue ended");
  if (!status.ok()) return FromGrpc(status);
  grpc::Slice answer;
  if (!received.DumpToSingleSlice(&answer).ok()) return absl::InternalError("no answer");
  return std::string(answer.begin(), answer.end());
}

}  // namespace noisefloor::test
