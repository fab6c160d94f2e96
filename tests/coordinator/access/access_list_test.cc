// Which tokens prove whom, until when, and what may be added.
#include "coordinator/access/access_list.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/access/token.h"

namespace noisefloor::access {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1700000000);

std::string TokenText(const std::string& identity, uint8_t chance) {
  Sha256Digest bytes = {};
  bytes[0] = chance;
  return MakeToken(identity, bytes);
}

class AccessListTest : public testing::Test {
 protected:
  absl::StatusOr<TokenRecord> Reserve(const std::string& identity, uint8_t chance,
                                      std::optional<Role> role = Role::kReader) {
    return list_.Reserve({.identity = identity,
                          .role = role,
                          .sha256 = HashOf(TokenText(identity, chance)),
                          .by = "root"},
                         kNow);
  }
  TokenRecord Add(const std::string& identity, uint8_t chance,
                  std::optional<Role> role = Role::kReader) {
    const absl::StatusOr<TokenRecord> record = Reserve(identity, chance, role);
    EXPECT_TRUE(record.ok()) << record.status();
    list_.Keep(*record);
    return *record;
  }
  std::string WhyNot(const std::string& token, absl::Time now = kNow) const {
    const absl::StatusOr<Caller> caller = list_.Check(token, now);
    EXPECT_EQ(caller.status().code(), absl::StatusCode::kUnauthenticated);
    EXPECT_THAT(Message(caller.status()), Not(HasSubstr("nfl_")));
    return Message(caller.status());
  }

  AccessList list_{{}};
};

TEST_F(AccessListTest, ATokenProvesItsIdentityAndNoOther) {
  Add("alice", 1, Role::kSubmitter);
  Add("bob", 2, Role::kAdmin);

  const absl::StatusOr<Caller> alice = list_.Check(TokenText("alice", 1), kNow);
  ASSERT_TRUE(alice.ok()) << alice.status();
  EXPECT_EQ(alice->identity, "alice");
  EXPECT_EQ(alice->role, Role::kSubmitter);
  EXPECT_EQ(alice->token, 1u);
  EXPECT_EQ(alice->expires, kNow + kUsualLife);
  EXPECT_THAT(WhyNot(TokenText("alice", 2)), HasSubstr("not known here"))
      << "bob's chance under alice's name";
  EXPECT_THAT(WhyNot(TokenText("carol", 1)), HasSubstr("not known here"));
  EXPECT_THAT(WhyNot(TokenText("alice", 1).substr(0, 40)), HasSubstr("not whole"));
  EXPECT_THAT(WhyNot(""), HasSubstr("wants a token"));
}

TEST_F(AccessListTest, ATokenProvesNobodyBeforeItIsKept) {
  const auto record = Reserve("alice", 1);
  ASSERT_TRUE(record.ok());
  EXPECT_THAT(WhyNot(TokenText("alice", 1)), HasSubstr("not known here"));
  EXPECT_TRUE(list_.Records().empty());
  list_.Drop(record->number);
  list_.Keep(*Reserve("alice", 2));
  EXPECT_THAT(WhyNot(TokenText("alice", 1)), HasSubstr("not known here"));
  EXPECT_TRUE(list_.Check(TokenText("alice", 2), kNow).ok());
}

TEST_F(AccessListTest, ItExpiresAtItsTime) {
  const TokenRecord record = Add("alice", 1);
  EXPECT_TRUE(list_.Check(TokenText("alice", 1), record.expires - absl::Nanoseconds(1)).ok());
  EXPECT_THAT(WhyNot(TokenText("alice", 1), record.expires),
              HasSubstr("token 1 of alice has expired on 2024-11-13"));
}

TEST_F(AccessListTest, ARevokedOneIsSaidToBeRevokedOnlyToWhoHasIt) {
  Add("alice", 1);
  list_.Revoke({1}, kNow + absl::Hours(24));
  EXPECT_EQ(WhyNot(TokenText("alice", 1)), "token 1 of alice was revoked on 2023-11-15");
  EXPECT_THAT(WhyNot(TokenText("alice", 9)), HasSubstr("not known here"));
}

TEST_F(AccessListTest, TwoAreActiveSoThatOneCanTakeTheOthersPlace) {
  Add("alice", 1, Role::kSubmitter);
  const TokenRecord second = Add("alice", 2, std::nullopt);
  EXPECT_EQ(second.role, Role::kSubmitter) << "that of the first";
  EXPECT_TRUE(list_.Check(TokenText("alice", 1), kNow).ok());
  EXPECT_TRUE(list_.Check(TokenText("alice", 2), kNow).ok());

  const absl::Status third = Reserve("alice", 3, std::nullopt).status();
  EXPECT_EQ(third.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(third), HasSubstr("revoke alice --token=1`"));

  list_.Revoke({1}, kNow);
  EXPECT_TRUE(Reserve("alice", 3).ok() == false) << "another role";
  EXPECT_TRUE(Reserve("alice", 3, Role::kSubmitter).ok());
}

TEST_F(AccessListTest, OneThatIsBeingKeptCountsAmongTheTwo) {
  Add("alice", 1);
  ASSERT_TRUE(Reserve("alice", 2).ok());
  EXPECT_EQ(Reserve("alice", 3).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AccessListTest, AnExpiredOneLeavesItsPlace) {
  list_ = AccessList({{.number = 7,
                       .identity = "alice",
                       .role = Role::kAdmin,
                       .sha256 = {},
                       .created = kNow - absl::Hours(2),
                       .expires = kNow}});
  const TokenRecord next = Add("alice", 1, Role::kReader);
  EXPECT_EQ(next.number, 8u) << "numbers rise over a restart";
}

TEST_F(AccessListTest, ThoseThatHaveExpiredAreNotCountedAmongTheMostThereMayBe) {
  const auto kept_until = [](absl::Time expires) {
    std::vector<TokenRecord> kept;
    for (uint64_t number = 1; number <= 10000; ++number) {
      kept.push_back({.number = number,
                      .identity = "worker-" + std::to_string(number),
                      .role = Role::kWorker,
                      .sha256 = {},
                      .created = kNow - absl::Hours(2),
                      .expires = expires});
    }
    return kept;
  };
  list_ = AccessList(kept_until(kNow));
  EXPECT_TRUE(Reserve("alice", 1).ok());
  list_ = AccessList(kept_until(kNow + absl::Nanoseconds(1)));
  EXPECT_EQ(Reserve("alice", 1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(AccessListTest, WhatMakesNoSenseIsRefused) {
  const auto refused = [&](const NewToken& wish) {
    const absl::Status status = list_.Reserve(wish, kNow).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return Message(status);
  };
  EXPECT_THAT(refused({.identity = "al ice", .role = Role::kReader}), HasSubstr("identity: "));
  EXPECT_THAT(refused({.identity = "", .role = Role::kReader}), HasSubstr("identity: "));
  EXPECT_THAT(refused({.identity = "owner", .role = Role::kReader}), HasSubstr("data directory"));
  EXPECT_THAT(refused({.identity = "alice", .role = Role::kAny}), HasSubstr("role: expected"));
  EXPECT_THAT(refused({.identity = "alice"}), HasSubstr("alice has no active token"));
  EXPECT_THAT(refused({.identity = "a", .role = Role::kReader, .life = absl::ZeroDuration()}),
              HasSubstr("days: expected 1 to 3650"));
  EXPECT_THAT(
      refused(
          {.identity = "a", .role = Role::kReader, .life = kLongestLife + absl::Nanoseconds(1)}),
      HasSubstr("days: expected"));
}

TEST_F(AccessListTest, RevokingNamesWhatItEnds) {
  Add("alice", 1);
  Add("alice", 2);
  Add("bob", 3);
  EXPECT_THAT(*list_.ToRevoke("alice", 0), ElementsAre(1, 2));
  EXPECT_THAT(*list_.ToRevoke("alice", 2), ElementsAre(2));
  EXPECT_EQ(list_.ToRevoke("alice", 3).status().code(), absl::StatusCode::kNotFound)
      << "bob's is not alice's";
  EXPECT_EQ(list_.ToRevoke("carol", 0).status().code(), absl::StatusCode::kNotFound);
  list_.Revoke({1}, kNow);
  EXPECT_THAT(*list_.ToRevoke("alice", 0), ElementsAre(2));
  EXPECT_TRUE(list_.Records()[0].revoked.has_value());
  EXPECT_FALSE(list_.Records()[1].revoked.has_value());
}

TEST_F(AccessListTest, ATokenInTheMakingDoesNotOutliveItsIdentity) {
  Add("alice", 1);
  const absl::StatusOr<TokenRecord> second = Reserve("alice", 2);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(list_.ToRevoke("alice", 0).status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(*list_.ToRevoke("alice", 1), ElementsAre(1));
  list_.Keep(*second);
  EXPECT_THAT(*list_.ToRevoke("alice", 0), ElementsAre(1, 2));
}

TEST_F(AccessListTest, TheOwnersIsNotListedAndNotRevoked) {
  list_.Keep({.identity = std::string(kOwner),
              .role = Role::kAdmin,
              .sha256 = HashOf(TokenText("owner", 1)),
              .created = kNow,
              .expires = absl::InfiniteFuture()});
  EXPECT_TRUE(list_.Check(TokenText("owner", 1), kNow + absl::Hours(1000000)).ok());
  EXPECT_TRUE(list_.Records().empty());
  EXPECT_EQ(list_.ToRevoke("owner", 0).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace noisefloor::access
