// A call of a method by name, whose messages come one after the other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace noisefloor::live {

// Counts the calls of a channel that goes with its owner: the last of whose ends must not be on a
// thread of gRPC's own, which would wait for itself. Thread-safe.
class OpenCalls {
 public:
  ~OpenCalls();  // Waits, for some seconds at most, until none is open.
  // One is open until what is returned is gone.
  // shared: with the call alone.
  using OneOpen = std::shared_ptr<void>;
  OneOpen Open();

 private:
  struct Count {
    Mutex mutex;
    CondVar changed;
    int open ABSL_GUARDED_BY(mutex) = 0;
  };
  const std::shared_ptr<Count> count_ = std::make_shared<Count>();  // shared: with open calls.
};

// Thread-safe. It lives until the call has ended and nobody holds it.
class ReadCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // `method` takes one message and answers with one or a stream of them. `token`: the
  // caller's; empty: none. A call that takes longer than `within` ends; infinite: none does.
  // `counted`: of OpenCalls::Open; goes when the call holds its channel no more.
  // shared: with gRPC, while it runs.
  static std::shared_ptr<ReadCall> Start(const std::shared_ptr<grpc::Channel>& channel,
                                         const google::protobuf::MethodDescriptor& method,
                                         const google::protobuf::Message& request,
                                         std::string_view token, absl::Duration within,
                                         OpenCalls::OneOpen counted = nullptr);

  // Calls `then` once, on a thread of gRPC or from within Next: with a message that lives until the
  // next call of Next, with null at the end, or with why there is none. One call at a time, none
  // after the end.
  using Then = std::function<void(absl::StatusOr<const google::protobuf::Message*> message)>;
  void Next(Then then) ABSL_LOCKS_EXCLUDED(mutex_);
  // What waits ends soon, as cancelled. Nothing is asked for after this.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ReadCall(const google::protobuf::MethodDescriptor& method,
           const google::protobuf::Message& request, OpenCalls::OneOpen counted);
  void Tell(const Then& then);  // What was read.
  void OnAnswer(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone(const grpc::Status& status) override ABSL_LOCKS_EXCLUDED(mutex_);

  const OpenCalls::OneOpen counted_;  // shared: see Start. First, so that it goes last.
  const bool is_stream_;
  std::shared_ptr<ReadCall> self_;  // shared: of a stream, until OnDone.
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::unique_ptr<google::protobuf::Message> message_;
  Mutex mutex_;
  Then then_ ABSL_GUARDED_BY(mutex_);  // Of the Next that waits.
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_read_ ABSL_GUARDED_BY(mutex_) = false;  // A message that nobody has asked for yet.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool held_ ABSL_GUARDED_BY(mutex_) = true;  // Else OnDone might come between two reads.
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace noisefloor::live
