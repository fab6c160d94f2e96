// Which tokens there are, whom each one proves, and what may be added. Pure: values in, values out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/files/sha256.h"
#include "coordinator/access/role.h"

namespace noisefloor::access {

// So many of an identity open something at one time: an old one, and the one in its place.
inline constexpr size_t kMostActive = 2;
// Of all identities together.
inline constexpr size_t kMostTokens = 10000;
inline constexpr absl::Duration kUsualLife = absl::Hours(24 * 365);
inline constexpr absl::Duration kLongestLife = absl::Hours(24 * 3650);
// Of whoever owns the data directory of a running coordinator; never in the store.
inline constexpr std::string_view kOwner = "owner";

// What is kept of a token.
struct TokenRecord {
  uint64_t number = 0;  // Rises for ever; 0: the owner's, which dies with the process.
  std::string identity;
  Role role = Role::kReader;
  Sha256Digest sha256 = {};
  absl::Time created;
  absl::Time expires;
  std::optional<absl::Time> revoked;
  std::string created_by;  // Empty: not known.

  bool IsActive(absl::Time now) const { return !revoked && now < expires; }
};

// Whom a token proves.
struct Caller {
  std::string identity;
  Role role = Role::kAny;
  uint64_t token = 0;
  absl::Time expires;
};

// What is asked for.
struct NewToken {
  std::string identity;
  std::optional<Role> role;  // Nothing: that of the identity's active token.
  Sha256Digest sha256 = {};
  absl::Duration life = kUsualLife;
  std::string by;
};

// Not thread-safe; deterministic given the calls so far. A token opens nothing before Keep.
class AccessList {
 public:
  explicit AccessList(std::vector<TokenRecord> kept);

  // Unauthenticated: no token, one that is not whole, not known, revoked or expired; the words say
  // which of them as far as it was proved, and never the token.
  absl::StatusOr<Caller> Check(std::string_view token, absl::Time now) const;

  // The record of a new token, which takes its place among the two from now on: until Keep says
  // that it is on disk, or Drop that it will not be. InvalidArgument: no name, role or life.
  // FailedPrecondition: two are active, or they have another role. ResourceExhausted: too many.
  absl::StatusOr<TokenRecord> Reserve(const NewToken& wish, absl::Time now);
  void Keep(const TokenRecord& record);
  void Drop(uint64_t number);

  // Numbers of the tokens of `identity` that are not revoked, or of them only `number`. NotFound.
  // Aborted: one of them is between Reserve and Keep, and would outlive this.
  absl::StatusOr<std::vector<uint64_t>> ToRevoke(std::string_view identity, uint64_t number) const;
  void Revoke(const std::vector<uint64_t>& numbers, absl::Time now);

  // All that are kept, by number; not the owner's.
  std::vector<TokenRecord> Records() const;

 private:
  struct Entry {
    TokenRecord record;
    bool kept = true;
  };
  std::vector<const TokenRecord*> ActiveOf(std::string_view identity, absl::Time now) const;

  std::map<uint64_t, Entry> tokens_;
  std::multimap<std::string, uint64_t, std::less<>> by_identity_;
  uint64_t last_ = 0;
};

}  // namespace noisefloor::access
