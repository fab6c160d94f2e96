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

std::shared_ptr<ReadCall> ReadCall::Start(const std::shared_ptr<grpc::Channel>& channel,
                                          const MethodDescriptor& method, const Message& request,
                                          std::string_view token, absl::Duration within) {
  const std::shared_ptr<ReadCall> call(new ReadCall(method, request));
  call->self_ = call;
  if (within != absl::InfiniteDuration()) {
    SetDeadline(call->context_, within);
  }
  if (!token.empty()) {
    call->context_.AddMetadata(std::string(kTokenMetadata),
                               fmt::format("{}{}", kTokenScheme, token));
  }
  grpc::GenericStub(channel).PrepareBidiStreamingCall(
      &call->context_, fmt::format("/{}/{}", method.service()->full_name(), method.name()), {},
      call.get());
  call->AddHold();
  call->StartWriteLast(&call->request_, {});
  call->StartCall();
  return call;
}

ReadCall::ReadCall(const MethodDescriptor& method, const Message& request)
    : message_(MessageFactory::generated_factory()->GetPrototype(method.output_type())->New()) {
  bool own_buffer = false;
  (void)grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(request, &request_, &own_buffer);
}

void ReadCall::Next(Then then) {
  {
    const MutexLock lock(mutex_);
    then_ = std::move(then);
  }
  StartRead(&response_);
}

void ReadCall::Cancel() {
  context_.TryCancel();
  bool let_go = false;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    // Whoever waits is answered by OnReadDone, which lets go.
    if (!then_) let_go = std::exchange(held_, false);
  }
  if (let_go) RemoveHold();
}

void ReadCall::OnReadDone(bool ok) {
  Then then;
  bool let_go = false;
  {
    const MutexLock lock(mutex_);
    if (!ok || cancelled_) let_go = std::exchange(held_, false);
    if (ok) then = std::exchange(then_, nullptr);  // Else OnDone answers.
  }
  if (let_go) RemoveHold();  // Without the lock: OnDone may come at once.
  if (!ok) return;
  const grpc::Status parsed =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, Message>(&response_, message_.get());
  parsed.ok() ? then(message_.get()) : then(FromGrpc(parsed));
}

void ReadCall::OnDone(const grpc::Status& status) {
  const std::shared_ptr<ReadCall> self = std::move(self_);
  Then then;
  {
    const MutexLock lock(mutex_);
    then = std::exchange(then_, nullptr);
  }
  if (!then) return;
  status.ok() ? then(nullptr) : then(FromGrpc(status));
}

}  // namespace noisefloor::live
