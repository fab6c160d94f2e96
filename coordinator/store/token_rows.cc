#include "coordinator/store/token_rows.h"

#include <algorithm>
#include <optional>

#include "SQLiteCpp/Statement.h"
#include "absl/time/time.h"

#include "coordinator/store/database.h"
#include "coordinator/store/recover_check.h"

namespace noisefloor {

namespace {

absl::StatusOr<access::TokenRecord> TokenAt(SQLite::Statement& row) {
  access::TokenRecord token;
  token.number = static_cast<uint64_t>(row.getColumn(0).getInt64());
  token.identity = row.getColumn(1).getString();
  const auto role = access::RoleFrom(row.getColumn(2).getUInt());
  const std::string hash = row.getColumn(3).getString();  // Any bytes.
  const std::string name = "token " + std::to_string(token.number);
  if (!role || *role == access::Role::kAny) {
    return Damaged(name, "role " + row.getColumn(2).getString());
  }
  if (hash.size() != token.sha256.size()) {
    return Damaged(name, "a hash of " + std::to_string(hash.size()) + " bytes");
  }
  token.role = *role;
  std::ranges::copy(hash, token.sha256.begin());
  token.created = absl::FromUnixMicros(row.getColumn(4).getInt64());
  token.expires = absl::FromUnixMicros(row.getColumn(5).getInt64());
  if (!row.getColumn(6).isNull()) {
    token.revoked = absl::FromUnixMicros(row.getColumn(6).getInt64());
  }
  token.created_by = row.getColumn(7).getString();
  return token;
}

}  // namespace

absl::StatusOr<std::vector<access::TokenRecord>> ReadTokens(const std::string& home) {
  const std::string path = DatabasePath(home);
  NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(path));
  try {
    std::vector<access::TokenRecord> tokens;
    SQLite::Statement row(*database,
                          "SELECT token, identity, role, sha256, created_us, expires_us, "
                          "revoked_us, created_by FROM token ORDER BY token");
    while (row.executeStep()) {
      NF_ASSIGN_OR_RETURN(access::TokenRecord token, TokenAt(row));
      tokens.push_back(std::move(token));
    }
    return tokens;
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + path);
  }
}

}  // namespace noisefloor
