// The whole coordinator as one object: home, store, event loop, queries, services, server.
//
//   NF_ASSIGN_OR_RETURN(auto coordinator, Coordinator::Start({.home = home, .listen = "..."}));
//   auto stub = v1::CoordinatorService::NewStub(coordinator->InProcessChannel());
//
// A command without --coordinator builds one in process; `serve` builds one that listens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"

#include "common/base/status.h"

namespace noisefloor {

struct CoordinatorOptions {
  std::string home;    // Data directory; made when it is not there.
  std::string listen;  // "127.0.0.1:0", "[::1]:7700"; empty: no network.
  // TLS and tokens, once `noisefloor access init` has set them up in `home`; else `listen` must be
  // on loopback, where everybody on this machine may do everything.
  bool use_access = false;
  // With them: from now on it is found at this host, and the port that is bound. Empty: as access
  // was set up.
  std::string host = "";
  // Where Prometheus reads figures: "127.0.0.1:9464"; empty: nowhere. Off loopback only with TLS
  // and tokens, of which that of any reader will do.
  std::string metrics = "";
  // Where browsers find its page: "127.0.0.1:7078"; empty: nowhere. Off loopback only with TLS and
  // tokens.
  std::string page = "";
  bool page_at_any_port = false;                         // If taken, a free one; else no page.
  absl::Duration lease_ttl = absl::Seconds(15);          // A lease lives so long unrenewed,
  absl::Duration heartbeat_interval = absl::Seconds(3);  // and is renewed this often.
  absl::Duration storage_retry = absl::Seconds(2);       // Between tries when the disk is full.
  uint64_t max_upload_bytes = 4ull << 30;                // Of one file.
  // A stream of which the other side does not give or take a piece (of 1 MiB) in that time ends.
  absl::Duration stream_idle = absl::Minutes(1);
  absl::Duration register_by = absl::Seconds(10);  // Without a word, a session ends.
  // Where data sets lie that workers without them may have, searched in order.
  std::vector<std::string> data_roots = {};
  std::vector<std::string> stack_roots = {};        // Likewise, of folders with a stack each.
  uint32_t max_tree_reads = 64;                     // Of their files, at one time.
  uint32_t max_artifact_reads = 256;                // Of files of members by people, at one time.
  uint32_t max_workers = 1000;                      // Connected at one time.
  absl::Duration cluster_poll = absl::Seconds(15);  // Between two questions to a cluster.
};

// Thread-safe after Start. Owns the lock on the home, the store's writing connection and every
// thread it starts. The process ends (after a line in the log) when the store fails in a way that
// waiting cannot mend: what was acknowledged is on disk, and the next start goes on from there.
class Coordinator {
 public:
  // InvalidArgument: an address that cannot be understood, or off loopback without TLS and
  // tokens.
  // FailedPrecondition: another process holds the home; the message and HolderAddress say where it
  // serves. Or it was handed over (store/handover_folder.h).
  // PermissionDenied: the home cannot be written to.
  // Unavailable: the address cannot be bound. Others: the store cannot be opened.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(const CoordinatorOptions& options);

  virtual ~Coordinator() = default;  // Stops.
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // "127.0.0.1:41234", with the port that was bound; empty without network.
  virtual std::string address() const = 0;

  // "127.0.0.1:9464"; empty without metrics.
  virtual std::string metrics_address() const { return ""; }

  // What a browser opens: "http://127.0.0.1:7078/?token=..."; where access is set up without a
  // token. Empty without a page.
  virtual std::string page_url() const { return ""; }

  // Calls without a socket. Must not be used after Stop.
  // shared: gRPC's stubs hold their channel so.
  virtual std::shared_ptr<grpc::Channel> InProcessChannel() = 0;

  // Pools begin nothing more, health becomes NOT_SERVING, open streams end, the loop commits what
  // it has taken. From then on nothing is written; the lock is released with this object. Sweeps
  // are not cancelled. Idempotent.
  virtual void Stop() = 0;

 protected:
  Coordinator() = default;
};

// Where the coordinator serves that holds the home, from the refusal of Start: "127.0.0.1:7077".
// Empty: the error is another, or the holder serves nobody (yet).
inline constexpr char kHolderAddress[] = "noisefloor/holder-address";
inline std::string HolderAddress(const absl::Status& refused) {
  return std::string(refused.GetPayload(kHolderAddress).value_or(absl::Cord()));
}

}  // namespace noisefloor
