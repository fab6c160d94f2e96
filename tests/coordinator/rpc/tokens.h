// Tokens of a book that is not kept.
#pragma once

#include <string>

#include "grpcpp/client_context.h"
#include "gtest/gtest.h"

#include "common/rpc/caller_metadata.h"
#include "coordinator/access/token.h"
#include "coordinator/rpc/access_book.h"

namespace noisefloor::test {

struct AddedToken {
  std::string token;
  uint64_t number = 0;
};

// One each of an identity.
inline AddedToken AddToken(AccessBook& book, const std::string& identity, access::Role role) {
  const std::string token = access::MakeToken(identity, {1});
  const auto record = book.Reserve({.identity = identity,
                                    .role = role,
                                    .sha256 = access::HashOf(token),
                                    .life = absl::Hours(1),
                                    .by = "test"});
  EXPECT_TRUE(record.ok()) << record.status();
  if (!record.ok()) return {};
  book.Keep(*record);
  return {token, record->number};
}

// The call is of whoever has that token.
inline void SetToken(grpc::ClientContext& context, const std::string& token) {
  context.AddMetadata(std::string(kTokenMetadata), std::string(kTokenScheme) + token);
}

}  // namespace noisefloor::test
