#include "coordinator/cli/connection.h"

#include <filesystem>

#include "fmt/format.h"

#include "common/base/names.h"
#include "common/files/directory.h"
#include "common/rpc/caller_metadata.h"
#include "common/rpc/reconnect.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/cli/read_only_home.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
constexpr absl::Duration kComeBack = absl::Seconds(8);
constexpr absl::Duration kLookAgain = absl::Seconds(1);  // Into the access file, meanwhile.

// Looking at a folder that is none makes nothing in it.
absl::Status CheckNamesHome(const std::string& path) {
  absl::Status home = CheckIsHome(path);
  if (home.ok()) return home;
  return MakeError(home.code(),
                   Message(home) + "; name one with --home, or a server with --coordinator");
}

}  // namespace

absl::StatusOr<Connection> Connection::Open(const Context& context, const Wish& wish) {
  Connection connection;
  connection.user_ = IsName(context.user) ? context.user : "";
  std::optional<FoundCoordinator> found;
  if (wish.listen.empty() && !wish.here) {
    NF_ASSIGN_OR_RETURN(found, FindCoordinator(context));
  }
  if (!found) {
    NF_RETURN_IF_ERROR(connection.OpenHome(context, wish));
  } else {
    const bool said = !context.options.coordinator.empty() || !context.default_coordinator.empty();
    if (!said) connection.access_path_ = found->access_path;
    absl::Status reached = connection.Reach(*found);
    if (absl::IsUnavailable(reached)) {
      connection.FollowAccessFile();  // It may have moved just now.
      NF_ASSIGN_OR_RETURN(const Address moved, ParseAddress(connection.address_));
      const bool is_there = connection.address_ != found->address &&
                            WaitUntilConnected(*connection.channel_, moved, kConnectTimeout).ok();
      if (is_there) reached = absl::OkStatus();
    }
    if (absl::IsUnavailable(reached)) {
      return MakeError(reached.code(), fmt::format("{}; `{} serve` on that machine starts one",
                                                   Message(reached), context.program));
    }
    NF_RETURN_IF_ERROR(reached);
  }
  return connection;
}

void Connection::Prepare(grpc::ClientContext& call, absl::Duration timeout) const {
  SetDeadline(call, timeout);
  if (!user_.empty()) call.AddMetadata(std::string(kUserMetadata), user_);
}

absl::Status Connection::Reach(const FoundCoordinator& found) {
  NF_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(found.address));
  Connect(found, parsed);
  const std::unique_ptr<ChannelAccess> access = ChannelAccessOf(found.access);
  return WaitUntilConnected(*channel_, parsed, kConnectTimeout, access.get());
}

void Connection::Connect(const FoundCoordinator& found, const Address& address) {
  address_ = found.address;
  const std::unique_ptr<ChannelAccess> access = ChannelAccessOf(found.access);
  secure_ = access != nullptr;
  channel_ = MakeChannel(address, access.get());
  stub_ = v1::CoordinatorService::NewStub(channel_);
}

// The coordinator may have been handed over to another machine.
void Connection::FollowAccessFile() {
  if (access_path_.empty()) return;
  const absl::StatusOr<AccessFile> file = ReadAccessFile(access_path_);
  if (!file.ok() || file->coordinator == address_) return;
  const absl::StatusOr<Address> address = ParseAddress(file->coordinator);
  if (!address.ok()) return;
  Connect({.address = file->coordinator, .access_path = access_path_, .access = *file}, *address);
}

bool Connection::WaitUntilBack(const std::function<bool()>& stopped) {
  for (absl::Duration left = kComeBack; left > absl::ZeroDuration(); left -= kLookAgain) {
    FollowAccessFile();
    if (WaitUntilConnectedAgain(*channel_, kLookAgain, stopped)) return true;
    if (stopped()) return false;
  }
  return false;
}

absl::Status Connection::OpenHome(const Context& context, const Wish& wish) {
  std::string home = context.options.home;
  const bool only_reads = wish.home == Home::kMustExist;
  if (only_reads || wish.home == Home::kToChange) NF_RETURN_IF_ERROR(CheckNamesHome(home));
  if (wish.home == Home::kAny && !CheckIsHome(home).ok()) {
    NF_ASSIGN_OR_RETURN(home, MakeTemporaryHome());
    temporary_home_ = home;
  }
  auto started =
      context.start_coordinator({.home = home, .listen = wish.listen, .page = wish.page});
  if (only_reads && absl::IsPermissionDenied(started.status())) {
    NF_ASSIGN_OR_RETURN(temporary_home_, MakeTemporaryHome());
    NF_RETURN_IF_ERROR(CopyToRead(home, temporary_home_));
    started = context.start_coordinator({.home = temporary_home_, .listen = wish.listen});
  }
  if (!started.ok()) {
    const bool may_ask = wish.listen.empty() && !wish.here;
    return may_ask ? ReachHolder(home, started.status()) : started.status();
  }
  coordinator_ = *std::move(started);
  channel_ = coordinator_->InProcessChannel();
  stub_ = v1::CoordinatorService::NewStub(channel_);
  return absl::OkStatus();
}

absl::Status Connection::ReachHolder(const std::string& home, const absl::Status& refused) {
  FoundCoordinator holder;
  holder.address = HolderAddress(refused);
  if (holder.address.empty()) return refused;
  if (const auto owner = ReadAccessFile(OwnerAccessPath(home)); owner.ok()) {
    holder.address = owner->coordinator;
    holder.access = *owner;
  }
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
