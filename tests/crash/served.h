// A coordinator as a process of its own, on a disk that a test lets fail.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/access/access_file.h"
#include "common/base/status.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "noisefloor/v1/access_api.grpc.pb.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/support/fault_disk/fault_disk.h"

namespace noisefloor::test {

// As MakeChannel, but a call is made once: what comes back is of that one.
std::shared_ptr<grpc::Channel> PlainChannel(const std::string& address,
                                            const ChannelAccess* access = nullptr);

// One thread. Killed at its end when it still runs.
class Served {
 public:
  // FOLDER/home and FOLDER/log, and FOLDER/access, where there is one. `disk` (of the home;
  // outlives it) may be null.
  Served(std::string folder, FaultDisk* disk);

  // The home is made for TLS and tokens, and access files in FOLDER/access, with which people() is
  // an admin and workers() a worker from the next start on. Does not serve.
  absl::Status SetUpAccess() const;

  std::string home() const { return folder_ + "/home"; }
  const std::string& address() const { return address_; }
  // Of the latest start.
  v1::CoordinatorService::Stub& people() { return *people_; }
  v1::WorkerService::Stub& workers() { return *workers_; }
  v1::AccessService::Stub& tokens() { return *tokens_; }
  std::string Log() const { return EndOfFile(folder_ + "/log", 6000); }

  // Serves when OK. Not OK: it ended, by a fault; the message has the end of its log.
  // `address`: where, else at a port of its own choice.
  absl::Status Start(const std::string& address = "127.0.0.1:0");
  // SIGKILL, unless it has ended by itself.
  void Kill();
  // SIGTERM; not OK unless it ends with 0.
  absl::Status Stop();
  bool Ended() const { return !process_ || process_->Ended(); }
  // Waits a while for it: false when it goes on.
  bool EndsSoon() const { return process_->EndsWithin(absl::Seconds(5)); }
  // Of one that has ended: its exit code, or minus the signal.
  int Code() { return process_->Wait(absl::ZeroDuration()).value_or(0); }
  bool Signal(int number) const { return process_->Signal(number); }

 private:
  std::string AccessFolder() const { return folder_ + "/access"; }
  absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelOf(AccessUser user) const;

  const std::string folder_;
  FaultDisk* const disk_;
  std::optional<Process> process_;
  std::string address_;
  std::unique_ptr<v1::CoordinatorService::Stub> people_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
  std::unique_ptr<v1::AccessService::Stub> tokens_;
};

// A call with the deadline of a test. Ends early when the coordinator goes.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Ask(Stub& stub,
                             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                             const Request& request) {
  grpc::ClientContext context;
  SetDeadline(context, absl::Minutes(2));
  Response response;
  const absl::Status status = FromGrpc((stub.*method)(&context, request, &response));
  if (!status.ok()) return status;
  return response;
}

}  // namespace noisefloor::test
