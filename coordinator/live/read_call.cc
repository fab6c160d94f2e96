#include "coordinator/live/read_call.h"

#include <utility>

#include "fmt/format.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/impl/codegen/proto_utils.h"

#include "common/rpc/caller_metadata.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"

namespace noisefloor::live {

using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

OpenCalls::~OpenCalls() {
  constexpr absl::Duration kLongest = absl::Seconds(5);
  const MutexLock lock(count_->mutex);
  while (count_->open > 0 && count_->changed.WaitFor(count_->mutex, kLongest)) {
  }
}

OpenCalls::OneOpen OpenCalls::Open() {
  const MutexLock lock(count_->mutex);
  ++count_->open;
  return {count_.get(), [count = count_](Count*) {
            const MutexLock closing(count->mutex);
            --count->open;
            count->changed.NotifyAll();
          }};
}

std::shared_ptr<ReadCall> ReadCall::Start(const std::shared_ptr<grpc::Channel>& channel,
                                          const MethodDescriptor& method, const Message& request,
                                          std::string_view token, absl::Duration within,
                                          OpenCalls::OneOpen counted) {
  const std::shared_ptr<ReadCall> call(new ReadCall(method, request, std::move(counted)));
  if (within != absl::InfiniteDuration()) {
    SetDeadline(call->context_, within);
  }
  if (!token.empty()) {
    call->context_.AddMetadata(std::string(kTokenMetadata),
                               fmt::format("{}{}", kTokenScheme, token));
  }
  const std::string path = fmt::format("/{}/{}", method.service()->full_name(), method.name());
  grpc::GenericStub stub(channel);
  if (!method.server_streaming()) {
    // Read as a stream, gRPC 1.51 loses in process the one message that comes with the end.
    stub.UnaryCall(&call->context_, path, {}, &call->request_, &call->response_,
                   [call](const grpc::Status& status) { call->OnAnswer(status); });
    return call;
  }
  call->self_ = call;
  stub.PrepareBidiStreamingCall(&call->context_, path, {}, call.get());
  call->AddHold();
  call->StartWriteLast(&call->request_, {});
  call->StartCall();
  return call;
}

ReadCall::ReadCall(const MethodDescriptor& method, const Message& request,
                   OpenCalls::OneOpen counted)
    : counted_(std::move(counted)),
      is_stream_(method.server_streaming()),
      message_(MessageFactory::generated_factory()->GetPrototype(method.output_type())->New()) {
  bool own_buffer = false;
  (void)grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(request, &request_, &own_buffer);
}

void ReadCall::Next(Then then) {
  std::optional<absl::Status> end;
  bool start = false;
  {
    const MutexLock lock(mutex_);
    if (!has_read_ && !end_) {
      then_ = std::move(then);
      start = is_stream_ && !std::exchange(reading_, true);
    } else if (!std::exchange(has_read_, false)) {
      end = end_;
    }
  }
  if (start) return StartRead(&response_);
  if (!then) return;  // It is told when it has come.
  if (!end) return Tell(then);
  end->ok() ? then(nullptr) : then(*end);
}

void ReadCall::Tell(const Then& then) {
  const grpc::Status parsed =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, Message>(&response_, message_.get());
  parsed.ok() ? then(message_.get()) : then(FromGrpc(parsed));
}

void ReadCall::Cancel() {
  context_.TryCancel();
  bool let_go = false;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    // What is being read lets go.
    if (is_stream_ && !reading_) let_go = std::exchange(held_, false);
  }
  if (let_go) RemoveHold();
}

void ReadCall::OnAnswer(const grpc::Status& status) {
  Then then;
  {
    const MutexLock lock(mutex_);
    end_ = FromGrpc(status);
    then = std::exchange(then_, nullptr);
    has_read_ = status.ok() && !then;
  }
  if (!then) return;
  status.ok() ? Tell(then) : then(FromGrpc(status));
}

void ReadCall::OnReadDone(bool ok) {
  Then then;
  bool let_go = false;
  {
    const MutexLock lock(mutex_);
    reading_ = false;
    if (!ok || cancelled_) let_go = std::exchange(held_, false);
    if (ok) {  // Else OnDone answers.
      then = std::exchange(then_, nullptr);
      has_read_ = !then;
    }
  }
  if (let_go) RemoveHold();  // Without the lock: OnDone may come at once.
  if (then) Tell(then);
}

void ReadCall::OnDone(const grpc::Status& status) {
  const std::shared_ptr<ReadCall> self = std::move(self_);
  Then then;
  {
    const MutexLock lock(mutex_);
    end_ = FromGrpc(status);
    then = std::exchange(then_, nullptr);
  }
  if (!then) return;
  status.ok() ? then(nullptr) : then(FromGrpc(status));
}

}  // namespace noisefloor::live
