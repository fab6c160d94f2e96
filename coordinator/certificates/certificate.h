// A private authority, and certificates of servers that it signs: ECDSA over P-256, X.509, as PEM.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"

namespace noisefloor {

inline constexpr absl::Duration kAuthorityLife = absl::Hours(24 * 3650);
inline constexpr absl::Duration kServerLife = absl::Hours(24 * 730);

// Both PEM. The key is a secret.
struct Certificate {
  std::string certificate;
  std::string key;
};

// What OpenSSL refuses is Internal: there is nothing that a user could mend. Any thread.
absl::StatusOr<Certificate> MakeAuthority(std::string_view name, absl::Time now);

// For a server that is reached by any of `names`, host names or addresses, at least one.
// InvalidArgument: a name that is neither; an authority that cannot be read.
absl::StatusOr<Certificate> MakeServerCertificate(const Certificate& authority,
                                                  std::span<const std::string> names,
                                                  absl::Time now);

// Of the first certificate in `pem`. InvalidArgument when there is none.
struct CertificateFacts {
  std::vector<std::string> names;  // Host names and addresses, as MakeServerCertificate took them.
  absl::Time expires;
};
absl::StatusOr<CertificateFacts> ReadCertificate(std::string_view pem);

// 256 bits that nobody can guess, for a token.
std::string RandomBytes32();

}  // namespace noisefloor
