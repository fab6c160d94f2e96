#include "coordinator/certificates/access_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/private_file.h"
#include "common/rpc/address.h"

namespace noisefloor {

namespace {

constexpr uint64_t kMostBytes = 64 << 10;

std::string FolderOf(const std::string& home) { return home + "/access"; }

// Each once, in order.
std::vector<std::string> Together(std::vector<std::string> names,
                                  const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

absl::Status WriteServer(const std::string& folder, const Certificate& made) {
  return WritePrivateFile(folder + "/server.pem", made.key + made.certificate);
}

absl::Status Fill(const std::string& folder, const std::string& coordinator,
                  const std::vector<std::string>& names, absl::Time now) {
  NF_ASSIGN_OR_RETURN(const Certificate authority,
                      MakeAuthority("noisefloor " + names.front().substr(0, 50), now));
  NF_ASSIGN_OR_RETURN(const Certificate server, MakeServerCertificate(authority, names, now));
  NF_RETURN_IF_ERROR(WritePrivateFile(folder + "/ca.pem", authority.certificate));
  NF_RETURN_IF_ERROR(WritePrivateFile(folder + "/ca.key", authority.key));
  NF_RETURN_IF_ERROR(WritePrivateFile(folder + "/address", coordinator + "\n"));
  return WriteServer(folder, server);
}

}  // namespace

bool AccessIsSetUp(const std::string& home) { return PathExists(ServerPemPath(home)); }

std::string ServerPemPath(const std::string& home) { return FolderOf(home) + "/server.pem"; }

std::string OwnerAccessPath(const std::string& home) { return FolderOf(home) + "/owner.access"; }

absl::StatusOr<KeptAccess> ReadAccess(const std::string& home) {
  if (!AccessIsSetUp(home)) {
    return MakeError(absl::StatusCode::kNotFound,
                     fmt::format("{}: access is not set up; `noisefloor access init "
                                 "--address=HOST:PORT` does it",
                                 home));
  }
  KeptAccess kept;
  NF_ASSIGN_OR_RETURN(kept.coordinator, ReadFile(FolderOf(home) + "/address", kMostBytes));
  while (kept.coordinator.ends_with('\n')) kept.coordinator.pop_back();
  NF_ASSIGN_OR_RETURN(kept.certificate, ReadFile(FolderOf(home) + "/ca.pem", kMostBytes));
  return kept;
}

Address OwnerAddress(const Address& bound, const std::vector<std::string>& certificate_names,
                     const KeptAccess& kept) {
  Address address = bound;
  if (IsWildcard(address)) address.host = address.host == "::" ? "::1" : "127.0.0.1";
  const auto named = ParseAddress(kept.coordinator);
  const bool holds = std::ranges::find(certificate_names, address.host) != certificate_names.end();
  if (!holds && named.ok()) address.host = named->host;
  return address;
}

std::string WhyNotFound(const Address& bound, const KeptAccess& kept) {
  const auto named = ParseAddress(kept.coordinator);
  if (!named.ok()) return Message(named.status());
  if (bound.port != named->port) {
    return fmt::format("access files name {}, and it listens on port {}", kept.coordinator,
                       bound.port);
  }
  if (!IsLoopback(bound) || IsLoopback(*named)) return "";
  return fmt::format("access files name {}, and it listens on loopback alone", kept.coordinator);
}

absl::Status SetUpAccess(const std::string& home, const std::string& coordinator,
                         const std::vector<std::string>& more_names, absl::Time now) {
  NF_ASSIGN_OR_RETURN(const Address address, ParseAddress(coordinator));
  if (address.port == 0) {
    return InvalidInput(fmt::format("address '{}': expected the port of the server", coordinator));
  }
  if (PathExists(FolderOf(home))) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{} is there already: `noisefloor access renew` makes a new "
                                 "certificate of the server, `noisefloor access add` a token",
                                 FolderOf(home)));
  }
  const std::string aside = FolderOf(home) + ".new";
  NF_RETURN_IF_ERROR(RemoveTree(aside));
  if (mkdir(aside.c_str(), S_IRWXU) != 0) return FileError(aside, "make", errno);
  const std::vector<std::string> names =
      Together(Together({address.host}, {"localhost", "127.0.0.1", "::1"}), more_names);
  absl::Status filled = Fill(aside, coordinator, names, now);
  if (filled.ok()) filled = LocalFileSystem().Rename(aside, FolderOf(home));
  if (!filled.ok()) {
    (void)RemoveTree(aside);
    return filled;
  }
  return LocalFileSystem().SyncFolder(home);
}

absl::StatusOr<CertificateFacts> RenewServerCertificate(const std::string& home,
                                                        const std::vector<std::string>& more_names,
                                                        absl::Time now) {
  NF_RETURN_IF_ERROR(ReadAccess(home).status());
  const std::string folder = FolderOf(home);
  Certificate authority;
  NF_ASSIGN_OR_RETURN(authority.certificate, ReadFile(folder + "/ca.pem", kMostBytes));
  NF_ASSIGN_OR_RETURN(authority.key, ReadFile(folder + "/ca.key", kMostBytes));
  NF_ASSIGN_OR_RETURN(const std::string before, ReadFile(ServerPemPath(home), kMostBytes));
  NF_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(before));
  NF_ASSIGN_OR_RETURN(const Certificate server,
                      MakeServerCertificate(authority, Together(facts.names, more_names), now));
  NF_RETURN_IF_ERROR(WriteServer(folder, server));
  return ReadCertificate(server.certificate);
}

absl::Status LetCertificateHold(const std::string& home, const std::string& host, absl::Time now) {
  NF_RETURN_IF_ERROR(ReadAccess(home).status());
  NF_ASSIGN_OR_RETURN(const std::string pem, ReadFile(ServerPemPath(home), kMostBytes));
  NF_ASSIGN_OR_RETURN(const CertificateFacts facts, ReadCertificate(pem));
  if (std::ranges::find(facts.names, host) != facts.names.end()) return absl::OkStatus();
  return Annotate(RenewServerCertificate(home, {host}, now).status(),
                  fmt::format("the certificate does not hold for {}, and a new one", host));
}

absl::Status KeepAddress(const std::string& home, const std::string& coordinator) {
  NF_RETURN_IF_ERROR(ParseAddress(coordinator).status());
  return WritePrivateFile(FolderOf(home) + "/address", coordinator + "\n");
}

}  // namespace noisefloor
