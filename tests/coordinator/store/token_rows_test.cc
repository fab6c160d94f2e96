// Tokens are kept without what they are made of, and read back as they were.
#include "coordinator/store/token_rows.h"

#include <string>
#include <utility>
#include <vector>

#include "SQLiteCpp/Database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/store/summed_vfs.h"
#include "tests/coordinator/store/rows_of.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kIssued = absl::FromUnixSeconds(1700000000);

access::TokenRecord Token(uint64_t number) {
  access::TokenRecord token{.number = number,
                            .identity = "alice",
                            .role = access::Role::kSubmitter,
                            .sha256 = {},
                            .created = kIssued,
                            .expires = kIssued + absl::Hours(48),
                            .revoked = std::nullopt,
                            .created_by = "root"};
  token.sha256 = {0, 1, 2, 255};  // A hash may hold any byte.
  token.sha256.back() = static_cast<uint8_t>(number);
  return token;
}

class TokenRowsTest : public ::testing::Test {
 protected:
  void Apply(const std::vector<scheduler::Write>& writes) {
    auto store = SqliteStore::Open(home_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Apply(writes).ok());
  }
  void Damage(const std::string& sql) {
    SQLite::Database(DatabasePath(home_.path()), SQLite::OPEN_READWRITE, 0, SummedVfs()).exec(sql);
  }
  TempHome home_;
};

TEST_F(TokenRowsTest, AreReadBackAsTheyWere) {
  Apply({scheduler::KeepToken{Token(1)}, scheduler::KeepToken{Token(2)},
         scheduler::RevokeToken{1, kIssued + absl::Hours(1)}});
  Apply({scheduler::RevokeToken{1, kIssued + absl::Hours(9)}});

  const auto tokens = ReadTokens(home_.path());

  ASSERT_TRUE(tokens.ok()) << tokens.status();
  ASSERT_EQ(tokens->size(), 2u);
  const access::TokenRecord& first = tokens->at(0);
  EXPECT_EQ(first.number, 1u);
  EXPECT_EQ(first.identity, "alice");
  EXPECT_EQ(first.role, access::Role::kSubmitter);
  EXPECT_EQ(first.sha256, Token(1).sha256);
  EXPECT_EQ(first.created, kIssued);
  EXPECT_EQ(first.expires, kIssued + absl::Hours(48));
  EXPECT_EQ(first.revoked, kIssued + absl::Hours(1)) << "once";
  EXPECT_EQ(first.created_by, "root");
  EXPECT_FALSE(tokens->at(1).revoked.has_value());
}

TEST_F(TokenRowsTest, TheViewHasNoHash) {
  Apply({scheduler::KeepToken{Token(1)}});
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READONLY);
  EXPECT_THAT(RowsOf(database, "SELECT * FROM v_token"),
              ElementsAre("1|alice|submitter|2023-11-14 22:13:20|2023-11-16 22:13:20|NULL|root"));
}

TEST_F(TokenRowsTest, EveryRoleIsReadBackAndHasItsWord) {
  const std::pair<access::Role, std::string> roles[] = {{access::Role::kReader, "reader"},
                                                        {access::Role::kSubmitter, "submitter"},
                                                        {access::Role::kWorker, "worker"},
                                                        {access::Role::kAdmin, "admin"}};
  std::vector<scheduler::Write> writes;
  for (const auto& [role, word] : roles) {
    access::TokenRecord token = Token(writes.size() + 1);
    token.role = role;
    writes.emplace_back(scheduler::KeepToken{token});
  }
  Apply(writes);
  const auto tokens = ReadTokens(home_.path());
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  ASSERT_EQ(tokens->size(), 4u);
  SQLite::Database database(DatabasePath(home_.path()), SQLite::OPEN_READONLY);
  const auto words = RowsOf(database, "SELECT role FROM v_token ORDER BY token");
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tokens->at(i).role, roles[i].first);
    EXPECT_EQ(words.at(i), roles[i].second);
  }
}

TEST_F(TokenRowsTest, ARowThatMakesNoSenseIsNamed) {
  Apply({scheduler::KeepToken{Token(5)}});
  Damage("UPDATE token SET role = 1");
  EXPECT_EQ(ReadTokens(home_.path()).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(ReadTokens(home_.path()).status()), HasSubstr("token 5"));
  Damage("UPDATE token SET role = 2, sha256 = x'00'");
  EXPECT_THAT(Message(ReadTokens(home_.path()).status()), HasSubstr("a hash of 1 bytes"));
}

}  // namespace
}  // namespace noisefloor
