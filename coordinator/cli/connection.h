// The way to a coordinator: over the network when one is named or holds the data directory, else
// built in process on the data directory. Both look the same to a command.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "grpcpp/client_context.h"

#include "common/base/status.h"
#include "common/rpc/address.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "coordinator/cli/command.h"
#include "coordinator/cli/find_coordinator.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor::cli {

using Stub = v1::CoordinatorService::StubInterface;

// Without an answer in between, of whoever follows: about four minutes.
inline constexpr int kMostTriesUnanswered = 30;

// Owns the coordinator in process, if there is one. Move-only. Not thread-safe; its stub is.
class Connection {
 public:
  enum class Home {
    kMustExist,  // Reading what is no data directory makes none; one that is read-only can be read.
    kToChange,   // The same, and what is read-only is refused.
    kMake,
    kAny,  // For questions that need no data: a temporary one when there is none.
  };
  struct Wish {
    Home home = Home::kMustExist;
    // Address of the coordinator in process; empty: no network, and where another process holds the
    // home, its coordinator does as well.
    std::string listen;
    // Of the one in process: where browsers find its page; empty: nowhere.
    std::string page;
    // This process, whatever is named elsewhere; refused where another process holds the home.
    bool here = false;
  };
  static absl::StatusOr<Connection> Open(const Context& context, const Wish& wish);
  ~Connection();
  Connection(Connection&&) noexcept = default;
  Connection& operator=(Connection&&) = delete;

  Stub& stub() { return *stub_; }
  Coordinator* coordinator() { return coordinator_.get(); }  // Null when it is another process.
  bool secure() const { return secure_; }                    // With TLS and a token.
  bool remote() const { return coordinator_ == nullptr; }
  // shared: gRPC's stubs hold their channel so.
  std::shared_ptr<grpc::Channel> channel() const { return channel_; }
  // Gives a call its deadline and says who asks.
  void Prepare(grpc::ClientContext& call, absl::Duration timeout) const;
  const std::string& address() const { return address_; }  // Of the one in another process.
  bool connected() const {
    return channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
  }

  // How long to pause before a call is made again: as long as `backoff` says to a coordinator that
  // is there and refuses, and hardly to one that has gone, which WaitUntilBack waits for.
  absl::Duration PauseOf(bool lost, absl::Duration backoff) const {
    return lost && !connected() ? std::min(backoff, absl::Milliseconds(100)) : backoff;
  }
  // After a call that was lost: true once its coordinator answers again, where its access file says
  // by then; false after a while, or when `stopped` says so. The stub may be another one
  // afterwards.
  bool WaitUntilBack(const std::function<bool()>& stopped);

  // One call with a deadline.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request,
                                absl::Duration timeout = absl::Seconds(60)) {
    return CallOn<Stub>(*stub_, method, request, timeout);
  }
  // The same of another service.
  template <typename Service, typename Request, typename Response>
  absl::StatusOr<Response> Ask(grpc::Status (Service::StubInterface::*method)(grpc::ClientContext*,
                                                                              const Request&,
                                                                              Response*),
                               const Request& request,
                               absl::Duration timeout = absl::Seconds(60)) const {
    const auto stub = Service::NewStub(channel_);
    return CallOn<typename Service::StubInterface>(*stub, method, request, timeout);
  }

  // What gRPC says of an answer that did not come, or cannot be read, as a person would.
  static absl::Status InWords(const absl::Status& status, absl::Duration timeout);
  // Says which coordinator, when it could not be reached.
  absl::Status Named(const absl::Status& status) const;

 private:
  Connection() = default;

  template <typename OfService, typename Request, typename Response>
  absl::StatusOr<Response> CallOn(OfService& stub,
                                  grpc::Status (OfService::*method)(grpc::ClientContext*,
                                                                    const Request&, Response*),
                                  const Request& request, absl::Duration timeout) const {
    grpc::ClientContext context;
    Prepare(context, timeout);
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (!status.ok()) return Named(InWords(FromGrpc(status), timeout));
    return response;
  }

  absl::Status Reach(const FoundCoordinator& found);
  void Connect(const FoundCoordinator& found, const Address& address);
  void FollowAccessFile();
  absl::Status OpenHome(const Context& context, const Wish& wish);
  // To the one that holds `home`, as the refusal to start another says; else that refusal.
  absl::Status ReachHolder(const std::string& home, const absl::Status& refused);
  // Whether the other end has this very directory: a lock that another container holds names an
  // address that may be somebody else's here.
  bool Serves(const std::string& home);

  bool secure_ = false;
  std::string user_;            // Who asks; may be empty.
  std::string address_;         // Of the coordinator in another process,
  std::string access_path_;     // and the file that says it; empty: it was said otherwise.
  std::string temporary_home_;  // Removed at the end.
  std::unique_ptr<Coordinator> coordinator_;
  // shared: gRPC's stubs hold their channel so.
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> stub_;
};

// All pieces of a streamed answer, each given to `take` until it fails.
template <typename Reader, typename Piece, typename Take>
absl::Status ReadPieces(Reader& reader, Piece& piece, const Take& take) {
  absl::Status taken;
  while (taken.ok() && reader.Read(&piece)) taken = take(piece.piece());
  if (!taken.ok()) return taken;
  const absl::Status read = FromGrpc(reader.Finish());
  if (!absl::IsCancelled(read)) return read;
  // By the coordinator: nobody here cancels such a call.
  return MakeError(absl::StatusCode::kUnavailable,
                   "it ended the stream, of which a piece was not taken for a minute; try again");
}

}  // namespace noisefloor::cli
