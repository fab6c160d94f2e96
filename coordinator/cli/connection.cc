#include "coordinator/cli/connection.h"

#include <cstdlib>

#include "fmt/format.h"

#include "common/files/directory.h"
#include "common/rpc/address.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

absl::StatusOr<std::string> MakeTemporaryHome() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = std::string(parent && *parent ? parent : "/tmp") + "/noisefloor-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return MakeError(absl::StatusCode::kUnavailable, "cannot make a folder like " + path);
  }
  return path;
}

}  // namespace

absl::StatusOr<Connection> Connection::Open(const Context& context, const Wish& wish) {
  Connection connection;
  if (!context.options.coordinator.empty()) {
    NF_ASSIGN_OR_RETURN(const Address address, ParseAddress(context.options.coordinator));
    connection.address_ = context.options.coordinator;
    connection.channel_ = MakeChannel(address);
    NF_RETURN_IF_ERROR(WaitUntilConnected(*connection.channel_, address, kConnectTimeout));
  } else {
    std::string home = context.options.home;
    if (wish.home != Home::kMake && !PathExists(home)) {
      if (wish.home == Home::kMustExist) {
        return MakeError(absl::StatusCode::kNotFound,
                         fmt::format("no data directory {}; name one with --home, or a server with "
                                     "--coordinator",
                                     home));
      }
      NF_ASSIGN_OR_RETURN(home, MakeTemporaryHome());
      connection.temporary_home_ = home;
    }
    NF_ASSIGN_OR_RETURN(connection.coordinator_, context.start_coordinator({
                                                     .home = home,
                                                     .listen = wish.listen,
                                                 }));
    connection.channel_ = connection.coordinator_->InProcessChannel();
  }
  connection.stub_ = v1::CoordinatorService::NewStub(connection.channel_);
  return connection;
}

Connection::~Connection() {
  stub_.reset();
  channel_.reset();
  if (coordinator_) coordinator_->Stop();
  coordinator_.reset();
  if (!temporary_home_.empty()) (void)RemoveTree(temporary_home_);
}

absl::Status Connection::Named(const absl::Status& status) const {
  const bool unreachable = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  if (!unreachable || address_.empty()) return status;
  return Annotate(status, "coordinator " + address_);
}

}  // namespace noisefloor::cli
