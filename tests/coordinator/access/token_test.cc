// Tokens as text, and which role may do what.
#include "coordinator/access/token.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/access/role.h"

namespace noisefloor::access {
namespace {

Sha256Digest Chance(uint8_t first) {
  Sha256Digest chance = {};
  chance[0] = first;
  return chance;
}

TEST(Token, NamesItsIdentityAndAllOfItsChance) {
  const std::string token = MakeToken("alice", Chance(0xab));
  EXPECT_EQ(token, "nfl_alice_ab" + std::string(62, '0'));
  EXPECT_EQ(IdentityIn(token), "alice");
  EXPECT_NE(HashOf(token), HashOf(MakeToken("alice", Chance(0xac))));
}

TEST(Token, AnyNameCanBeReadBack) {
  for (const std::string& name :
       std::vector<std::string>{"a", "a_b", "_", "-.-", "a_" + std::string(64, 'f')}) {
    EXPECT_EQ(IdentityIn(MakeToken(name, Chance(1))), name);
  }
}

TEST(Token, WhatIsNotWholeIsNone) {
  const std::string token = MakeToken("alice", Chance(1));
  for (const std::string& text :
       {std::string(), std::string("nfl_"), token.substr(0, token.size() - 1), token + "0",
        token.substr(1), "nfl_" + std::string(64, 'a'), "nfl__" + std::string(64, 'a'),
        "nfl_alice_" + std::string(63, 'a') + "A", "nfl_al ice_" + std::string(64, 'a'),
        "nfl_alice-" + std::string(64, 'a')}) {
    EXPECT_FALSE(IdentityIn(text).has_value()) << text;
  }
}

TEST(Token, HashesAreComparedWhole) {
  Sha256Digest a = Chance(1);
  Sha256Digest b = a;
  EXPECT_TRUE(SameHash(a, b));
  b.back() ^= 1;
  EXPECT_FALSE(SameHash(a, b));
}

TEST(Role, WhoMayDoWhat) {
  struct Row {
    Role needs;
    bool reader, submitter, worker, admin;
  };
  for (const Row& row :
       {Row{Role::kAny, true, true, true, true}, Row{Role::kReader, true, true, false, true},
        Row{Role::kSubmitter, false, true, false, true},
        Row{Role::kWorker, false, false, true, false},
        Row{Role::kAdmin, false, false, false, true}}) {
    EXPECT_EQ(Allows(Role::kReader, row.needs), row.reader) << Name(row.needs);
    EXPECT_EQ(Allows(Role::kSubmitter, row.needs), row.submitter) << Name(row.needs);
    EXPECT_EQ(Allows(Role::kWorker, row.needs), row.worker) << Name(row.needs);
    EXPECT_EQ(Allows(Role::kAdmin, row.needs), row.admin) << Name(row.needs);
  }
}

TEST(Role, NamesAndNumbersAreReadBack) {
  for (const Role role : {Role::kReader, Role::kSubmitter, Role::kWorker, Role::kAdmin}) {
    EXPECT_EQ(ParseRole(Name(role)), role);
    EXPECT_EQ(RoleFrom(static_cast<uint32_t>(role)), role);
  }
  EXPECT_FALSE(ParseRole("any").has_value()) << "nobody has it";
  EXPECT_EQ(RoleFrom(1), Role::kAny);
  EXPECT_FALSE(RoleFrom(0).has_value());
  EXPECT_FALSE(RoleFrom(6).has_value());
}

}  // namespace
}  // namespace noisefloor::access
