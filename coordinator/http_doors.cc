#include "coordinator/http_doors.h"

#include <utility>

#include "common/files/sha256.h"
#include "common/log/log.h"
#include "common/rpc/address.h"
#include "coordinator/access/token.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/certificates/certificate.h"
#include "coordinator/live/live_page.h"
#include "coordinator/metrics/metrics_page.h"

namespace noisefloor {

namespace {

absl::Status MayRead(const AccessBook& access, std::string_view token) {
  NF_ASSIGN_OR_RETURN(const access::Caller caller, access.Check(token));
  if (Allows(caller.role, access::Role::kReader)) return absl::OkStatus();
  return MakeError(absl::StatusCode::kPermissionDenied, "this needs the role reader");
}

absl::Status OffLoopback(const std::string& what, const std::string& address) {
  return InvalidInput(what + ": refusing to serve it on " + address +
                      ": everybody who reaches it could read; expected a loopback address, or TLS "
                      "and tokens, which `noisefloor access init` makes");
}

absl::StatusOr<HttpDoor> Open(Address address, http::ServerSettings settings) {
  settings.host = address.host;
  settings.port = address.port;
  HttpDoor door;
  NF_ASSIGN_OR_RETURN(door.server, http::HttpServer::Start(std::move(settings)));
  address.port = door.server->port();
  door.address = ToText(address);
  return door;
}

// So that a restart signs nobody out; one that cannot be kept opens the page all the same.
std::string TokenOf(const std::string& home) {
  const std::string made = Sha256Hex(RandomBytes32());
  const absl::StatusOr<std::string> token = live::PageToken(home, made);
  if (token.ok()) return *token;
  LogWarning("page_token_not_kept", {{"error", token.status()}});
  return made;
}

}  // namespace

absl::StatusOr<HttpDoor> OpenMetrics(const HttpHost& host, const std::string& address,
                                     std::function<std::string()> text) {
  NF_ASSIGN_OR_RETURN(const Address where, ParseAddress(address));
  http::ServerSettings settings;
  std::function<absl::Status(std::string_view)> may_read;
  if (!IsLoopback(where)) {
    if (!host.access.enforced()) return OffLoopback("metrics", address);
    settings.key_and_certificate = ServerPemPath(host.home);
    may_read = [&access = host.access](std::string_view token) { return MayRead(access, token); };
  }
  settings.handler = metrics::MetricsPage(std::move(may_read), std::move(text));
  return Open(where, std::move(settings));
}

absl::StatusOr<HttpDoor> OpenPage(const HttpHost& host, const std::string& address,
                                  bool at_any_port, std::shared_ptr<grpc::Channel> channel) {
  NF_ASSIGN_OR_RETURN(const Address where, ParseAddress(address));
  const bool secure = host.access.enforced();
  if (!secure && !IsLoopback(where)) return OffLoopback("page", address);
  live::LivePage::Parts parts{.channel = std::move(channel), .identities = secure};
  http::ServerSettings settings;
  std::string token;
  if (secure) {
    settings.key_and_certificate = ServerPemPath(host.home);
    parts.may_read = [&access = host.access](std::string_view said) {
      return MayRead(access, said);
    };
  } else {
    token = TokenOf(host.home);
    parts.may_read = [hash = access::HashOf(token)](std::string_view said) {
      if (access::SameHash(access::HashOf(said), hash)) return absl::OkStatus();
      return MakeError(absl::StatusCode::kUnauthenticated, "the page needs its token");
    };
  }
  // shared: the handler is copied.
  const auto page = std::make_shared<const live::LivePage>(std::move(parts));
  settings.handler = [page](const http::Request& request, std::function<void(http::Answer)> then) {
    page->Ask(request, std::move(then));
  };
  absl::StatusOr<HttpDoor> opened = Open(where, settings);
  if (at_any_port && absl::IsUnavailable(opened.status())) opened = Open({where.host, 0}, settings);
  NF_ASSIGN_OR_RETURN(HttpDoor door, std::move(opened));
  Address found{where.host, door.server->port()};
  if (IsWildcard(where)) {
    NF_ASSIGN_OR_RETURN(const KeptAccess kept, ReadAccess(host.home));
    NF_ASSIGN_OR_RETURN(const Address coordinator, ParseAddress(kept.coordinator));
    found.host = coordinator.host;
  }
  door.url =
      secure ? "https://" + ToText(found) + "/" : "http://" + ToText(found) + "/?token=" + token;
  return door;
}

}  // namespace noisefloor
