// HOME/access: the authority of a coordinator, the certificate that it serves with, and where it is
// found. Only the owner of the data directory can read any of it.
//
//   ca.pem ca.key     the authority; the key signs new certificates and is needed for nothing else
//   server.pem        key and certificate of the server in one file, so that both change at once
//   address           "box:7077"
//   owner.access      access file for whoever owns the data directory, while a coordinator serves
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/rpc/address.h"
#include "coordinator/certificates/certificate.h"

namespace noisefloor {

// Whether there is one: then `serve` wants TLS and tokens.
bool AccessIsSetUp(const std::string& home);

std::string ServerPemPath(const std::string& home);
std::string OwnerAccessPath(const std::string& home);

// Where the coordinator is found, and the certificate of its authority (PEM).
struct KeptAccess {
  std::string coordinator;
  std::string certificate;
};
// NotFound when access is not set up; the message says how it is.
absl::StatusOr<KeptAccess> ReadAccess(const std::string& home);

// Where whoever owns the data directory reaches a server that is bound to `bound`: under that
// address, or, when its certificate does not hold for it, under the one that access was set up for.
Address OwnerAddress(const Address& bound, const std::vector<std::string>& certificate_names,
                     const KeptAccess& kept);

// Why those who hold access files will not find a server that is bound to `bound`; empty: nothing
// speaks against it.
std::string WhyNotFound(const Address& bound, const KeptAccess& kept);

// Makes the folder, whole or not at all, for a coordinator found at `coordinator` ("box:7077"),
// whose certificate also holds for localhost and `more_names`. FailedPrecondition: there is one.
// InvalidArgument: an address or a name that cannot be understood.
absl::Status SetUpAccess(const std::string& home, const std::string& coordinator,
                         const std::vector<std::string>& more_names, absl::Time now);

// A new certificate of the server, with the names of the one before and these. A coordinator that
// serves takes it for new connections within seconds. NotFound: access is not set up.
absl::StatusOr<CertificateFacts> RenewServerCertificate(const std::string& home,
                                                        const std::vector<std::string>& more_names,
                                                        absl::Time now);

// For a coordinator that has come to another machine: its certificate holds for `host`, by a new
// one where the old one does not. NotFound: access is not set up, or the key that would sign it is
// not there.
absl::Status LetCertificateHold(const std::string& home, const std::string& host, absl::Time now);

// From now on it is found at `coordinator` ("box:7077").
absl::Status KeepAddress(const std::string& home, const std::string& coordinator);

}  // namespace noisefloor
