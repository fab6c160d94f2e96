// The coordinator under load.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "grpcpp/channel.h"

#include "common/base/status.h"
#include "common/rpc/address.h"
#include "common/rpc/channel.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor::bench {

// Where it is and what opens it. Thread-safe after construction.
class Target {
 public:
  // `access`: an access file, or empty: plain text.
  static absl::StatusOr<Target> Make(const std::string& address, const std::string& access);

  // shared: gRPC's stubs hold their channel that way. Each is a connection of its own.
  std::shared_ptr<grpc::Channel> Connect() const;
  // A channel that stands. Unavailable after half a minute.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectNow() const;

 private:
  Address address_;
  std::optional<ChannelAccess> access_;
};

// Exit with a message: a measurement that failed has no figures.
void MustBe(const absl::Status& status);
void MustBe(const grpc::Status& status);

}  // namespace noisefloor::bench
