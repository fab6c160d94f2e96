#include "coordinator/rpc/door.h"

#include <utility>

#include "grpc/byte_buffer.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/method_handler.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/sync_stream.h"

#include "common/rpc/status.h"
#include "coordinator/rpc/caller.h"

namespace noisefloor {

namespace {

using grpc::ByteBuffer;
using grpc::internal::MethodHandler;
using grpc::internal::RpcMethod;

// Refuses at once, and reads nothing.
template <typename Base>
class Refuser final : public Base {
 public:
  explicit Refuser(const grpc::Status& why) { this->Finish(why); }
  void OnDone() override { delete this; }
};

// As one that is refused is handled: its message stays the bytes that came. gRPC copies what it
// needs of the handler, which ends before the call does.
void Refuse(RpcMethod::RpcType type, bool blocking, const grpc::Status& why,
            const MethodHandler::HandlerParameter& param) {
  const auto run = [&](MethodHandler&& handler, bool has_message) {
    grpc::Status status;
    void* data = nullptr;
    void* request = nullptr;
    if (has_message) {
      request = handler.Deserialize(param.call->call(),
                                    static_cast<grpc_byte_buffer*>(param.request), &status, &data);
    }
    handler.RunHandler(
        {param.call, param.server_context, request, status, data, param.call_requester});
  };
  using Context = grpc::CallbackServerContext;
  if (blocking) {
    using Reader = grpc::ServerReader<ByteBuffer>;
    return run(
        grpc::internal::ClientStreamingHandler<const Door, ByteBuffer, ByteBuffer>(
            [&](const Door*, grpc::ServerContext*, Reader*, ByteBuffer*) { return why; }, nullptr),
        false);
  }
  switch (type) {
    case RpcMethod::NORMAL_RPC:
      return run(grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
                     [&](Context*, const ByteBuffer*, ByteBuffer*) {
                       return new Refuser<grpc::ServerUnaryReactor>(why);
                     }),
                 true);
    case RpcMethod::SERVER_STREAMING:
      return run(grpc::internal::CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>(
                     [&](Context*, const ByteBuffer*) {
                       return new Refuser<grpc::ServerWriteReactor<ByteBuffer>>(why);
                     }),
                 true);
    case RpcMethod::CLIENT_STREAMING:
      return run(grpc::internal::CallbackClientStreamingHandler<ByteBuffer, ByteBuffer>(
                     [&](Context*, ByteBuffer*) {
                       return new Refuser<grpc::ServerReadReactor<ByteBuffer>>(why);
                     }),
                 false);
    case RpcMethod::BIDI_STREAMING:
      return run(grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>([&](Context*) {
                   return new Refuser<grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>>(why);
                 }),
                 false);
  }
}

// Two signs, of which the network gives neither: its connections have addresses, and are encrypted.
template <typename Context>
bool IsInProcess(const Context& context) {
  const std::string peer = context.peer();
  const bool has_address =
      peer.starts_with("ipv4:") || peer.starts_with("ipv6:") || peer.starts_with("unix");
  const auto proofs =
      context.auth_context()->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  return !has_address && proofs.empty();
}

class GuardedHandler final : public MethodHandler {
 public:
  GuardedHandler(const MayEnter& may_enter, std::string_view path, RpcMethod::RpcType type,
                 MethodHandler* behind, bool blocking)
      : may_enter_(may_enter), path_(path), type_(type), behind_(behind), blocking_(blocking) {}

  // Later, once it is known who calls.
  void* Deserialize(grpc_call*, grpc_byte_buffer* message, grpc::Status*, void**) override {
    return message;
  }

  void RunHandler(const HandlerParameter& param) override {
    const absl::Status may = may_enter_(KnockOf(*param.server_context));
    if (!may.ok()) return Refuse(type_, blocking_, ToGrpc(may), param);
    if (!HasMessage()) return behind_->RunHandler(param);
    grpc::Status parsed;
    void* data = nullptr;
    void* request = behind_->Deserialize(
        param.call->call(), static_cast<grpc_byte_buffer*>(param.request), &parsed, &data);
    behind_->RunHandler(
        {param.call, param.server_context, request, parsed, data, param.call_requester});
  }

 private:
  bool HasMessage() const {
    return type_ == RpcMethod::NORMAL_RPC || type_ == RpcMethod::SERVER_STREAMING;
  }
  Knock KnockOf(const grpc::ServerContextBase& base) const {
    if (blocking_) {
      const auto& context = static_cast<const grpc::ServerContext&>(base);
      return {path_, IsInProcess(context), TokenOf(context)};
    }
    const auto& context = static_cast<const grpc::CallbackServerContext&>(base);
    return {path_, IsInProcess(context), TokenOf(context)};
  }

  const MayEnter& may_enter_;
  const std::string_view path_;
  const RpcMethod::RpcType type_;
  MethodHandler* const behind_;
  const bool blocking_;
};

RpcMethod::RpcType TypeOf(const google::protobuf::MethodDescriptor& method) {
  if (method.client_streaming()) {
    return method.server_streaming() ? RpcMethod::BIDI_STREAMING : RpcMethod::CLIENT_STREAMING;
  }
  return method.server_streaming() ? RpcMethod::SERVER_STREAMING : RpcMethod::NORMAL_RPC;
}

}  // namespace

void Door::Add(const google::protobuf::MethodDescriptor& method, MethodHandler* handler,
               bool blocking) {
  const std::string& path =
      paths_.emplace_back("/" + method.service()->full_name() + "/" + method.name());
  const RpcMethod::RpcType type = TypeOf(method);
  // gRPC's from here on.
  auto* guarded = new GuardedHandler(may_enter_, path, type, handler, blocking);
  auto* added = new grpc::internal::RpcServiceMethod(path.c_str(), type, guarded);
  if (!blocking) {
    added->SetServerApiType(grpc::internal::RpcServiceMethod::ApiType::CALL_BACK);
  }
  AddMethod(added);
}

}  // namespace noisefloor
