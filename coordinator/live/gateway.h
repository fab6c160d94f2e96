// The reading methods of the coordinator's service over HTTP: GET /api/METHOD?FIELD=VALUE. What has
// one answer is its proto3 JSON, with the names of the .proto and all fields; what streams messages
// are server-sent events; what streams pieces of a file is the file. A method that only reads, and
// is new in the .proto, is here by itself; one that changes anything is not.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "google/protobuf/descriptor.h"
#include "grpcpp/channel.h"

#include "coordinator/http/http_server.h"
#include "coordinator/live/read_call.h"

namespace noisefloor::live {

// As an answer: {"error": {"code": "NOT_FOUND", "message": "..."}} with the status that HTTP has
// for it.
http::Answer ErrorAnswer(const absl::Status& status);

// The method of the service of that name when a reader may call it; null: there is none.
const google::protobuf::MethodDescriptor* ReadingMethod(std::string_view name);

// Any thread.
class Gateway {
 public:
  // `channel`: to the coordinator; calls have the token that they are asked with, so that what it
  // opened ends with it.
  // shared: gRPC's stubs hold their channel so.
  explicit Gateway(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}

  // Calls `then` once. `token`: the caller's; empty: none is needed. `request` is that of
  // /api/METHOD; "last-event-id" among its headers resumes a stream where that event was told.
  void Ask(const google::protobuf::MethodDescriptor& method, const http::Request& request,
           std::string_view token, const std::function<void(http::Answer answer)>& then) const;

 private:
  // Calls are over before the channel goes.
  const std::shared_ptr<grpc::Channel> channel_;  // shared: see the constructor.
  mutable OpenCalls calls_;
};

}  // namespace noisefloor::live
