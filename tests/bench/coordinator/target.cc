#include "tests/bench/coordinator/target.h"

#include <cstdlib>
#include <iostream>

#include "common/access/access_file.h"
#include "common/rpc/status.h"

namespace noisefloor::bench {

absl::StatusOr<Target> Target::Make(const std::string& address, const std::string& access) {
  Target target;
  NF_ASSIGN_OR_RETURN(target.address_, ParseAddress(address));
  if (access.empty()) return target;
  NF_ASSIGN_OR_RETURN(const AccessFile file, ReadAccessFile(access));
  target.access_ = {file.certificate, [token = file.token] { return token; }};
  return target;
}

std::shared_ptr<grpc::Channel> Target::Connect() const {
  return MakeChannel(address_, access_ ? &*access_ : nullptr);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Target::ConnectNow() const {
  auto channel = Connect();
  NF_RETURN_IF_ERROR(
      WaitUntilConnected(*channel, address_, absl::Seconds(30), access_ ? &*access_ : nullptr));
  return channel;
}

void MustBe(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << "noisefloor-load: " << Message(status) << std::endl;
  std::_Exit(EXIT_FAILURE);
}

void MustBe(const grpc::Status& status) { MustBe(FromGrpc(status)); }

}  // namespace noisefloor::bench
