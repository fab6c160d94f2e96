#include "coordinator/cli/connection.h"

#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "fmt/format.h"

#include "common/base/names.h"
#include "common/files/directory.h"
#include "common/rpc/address.h"
#include "coordinator/cli/read_only_home.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

// Looking at a folder that is none makes nothing in it.
absl::Status CheckNamesHome(const std::string& path) {
  absl::Status home = CheckIsHome(path);
  if (home.ok()) return home;
  return MakeError(home.code(),
                   Message(home) + "; name one with --home, or a server with --coordinator");
}

// Of the user that the process runs as; empty: it has none, or one that no header may hold.
std::string UserName() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room(size_t{16} << 10);
  if (getpwuid_r(geteuid(), &entry, room.data(), room.size(), &found) != 0) return "";
  if (found == nullptr || !IsName(found->pw_name)) return "";
  return found->pw_name;
}

}  // namespace

void SayCaller(grpc::ClientContext& context) {
  static const std::string name = UserName();
  if (!name.empty()) context.AddMetadata("noisefloor-user", name);
}

absl::StatusOr<Connection> Connection::Open(const Context& context, const Wish& wish) {
  Connection connection;
  if (context.options.coordinator.empty()) {
    NF_RETURN_IF_ERROR(connection.OpenHome(context, wish));
  } else {
    const absl::Status reached = connection.Reach(context.options.coordinator);
    if (absl::IsUnavailable(reached)) {
      return MakeError(reached.code(), fmt::format("{}; `{} serve` on that machine starts one",
                                                   Message(reached), context.program));
    }
    NF_RETURN_IF_ERROR(reached);
  }
  return connection;
}

absl::Status Connection::Reach(const std::string& address) {
  NF_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  address_ = address;
  channel_ = MakeChannel(parsed);
  NF_RETURN_IF_ERROR(WaitUntilConnected(*channel_, parsed, kConnectTimeout));
  stub_ = v1::CoordinatorService::NewStub(channel_);
  return absl::OkStatus();
}

absl::Status Connection::OpenHome(const Context& context, const Wish& wish) {
  std::string home = context.options.home;
  const bool only_reads = wish.home == Home::kMustExist;
  if (only_reads || wish.home == Home::kToChange) NF_RETURN_IF_ERROR(CheckNamesHome(home));
  if (wish.home == Home::kAny && !CheckIsHome(home).ok()) {
    NF_ASSIGN_OR_RETURN(home, MakeTemporaryHome());
    temporary_home_ = home;
  }
  auto started = context.start_coordinator({.home = home, .listen = wish.listen});
  if (only_reads && absl::IsPermissionDenied(started.status())) {
    NF_ASSIGN_OR_RETURN(temporary_home_, MakeTemporaryHome());
    NF_RETURN_IF_ERROR(CopyToRead(home, temporary_home_));
    started = context.start_coordinator({.home = temporary_home_, .listen = wish.listen});
  }
  if (!started.ok()) {
    const bool may_ask = wish.listen.empty();
    return may_ask ? ReachHolder(home, started.status()) : started.status();
  }
  coordinator_ = *std::move(started);
  channel_ = coordinator_->InProcessChannel();
  stub_ = v1::CoordinatorService::NewStub(channel_);
  return absl::OkStatus();
}

absl::Status Connection::ReachHolder(const std::string& home, const absl::Status& refused) {
  const std::string holder = HolderAddress(refused);
  if (holder.empty()) return refused;
  if (Reach(holder).ok() && Serves(home)) return absl::OkStatus();
  return MakeError(refused.code(), Message(refused) +
                                       ", which does not answer there; add --coordinator=ADDR "
                                       "where it does");
}

bool Connection::Serves(const std::string& home) {
  const auto answer = Call(&Stub::GetVersion, v1::GetVersionRequest());
  std::error_code error;
  return answer.ok() && std::filesystem::equivalent(answer->home(), home, error);
}

Connection::~Connection() {
  stub_.reset();
  channel_.reset();
  if (coordinator_) coordinator_->Stop();
  coordinator_.reset();
  if (!temporary_home_.empty()) (void)RemoveTree(temporary_home_);
}

absl::Status Connection::InWords(const absl::Status& status, absl::Duration timeout) {
  if (absl::IsDeadlineExceeded(status)) {
    return MakeError(status.code(), "gave no answer within " + absl::FormatDuration(timeout));
  }
  // Its text is the library's: the answer held what no message may hold.
  if (status.message().find("No message returned") == absl::string_view::npos) return status;
  return MakeError(absl::StatusCode::kDataLoss,
                   "the coordinator has an answer that it cannot write: a text in its store is "
                   "damaged; `report` and `export` name the damaged rows that they meet");
}

absl::Status Connection::Named(const absl::Status& status) const {
  const bool unreachable = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  if (!unreachable || address_.empty()) return status;
  return Annotate(status, "coordinator " + address_);
}

}  // namespace noisefloor::cli
