// Streams end with their tokens, and methods without a rule are nobody's.
#include "coordinator/rpc/access_book.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/access/token.h"
#include "coordinator/rpc/access_gate.h"
#include "coordinator/rpc/method_rules.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SetClock final : public Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Duration Steady() const override { return now - absl::UnixEpoch(); }
  absl::Time now = absl::FromUnixSeconds(1700000000);
};

class AccessBookTest : public testing::Test {
 protected:
  // Its token.
  std::string Add(const std::string& identity, access::Role role, absl::Duration life) {
    const std::string token = access::MakeToken(identity, {++chance_});
    const auto record = book_.Reserve(
        {.identity = identity, .role = role, .sha256 = access::HashOf(token), .life = life});
    EXPECT_TRUE(record.ok()) << record.status();
    book_.Keep(*record);
    return token;
  }
  AccessBook::Close Note(const std::string& name) {
    return [this, name](const absl::Status& why) {
      EXPECT_EQ(why.code(), absl::StatusCode::kUnauthenticated);
      closed_.push_back(name + ": " + Message(why));
    };
  }

  SetClock clock_;
  AccessBook book_{clock_, {}, true};
  std::vector<std::string> closed_;
  uint8_t chance_ = 0;
};

TEST_F(AccessBookTest, RevokingEndsTheStreamsOfThatTokenOnly) {
  const std::string first = Add("alice", access::Role::kReader, absl::Hours(1));
  const std::string second = Add("alice", access::Role::kReader, absl::Hours(1));
  const OpenStream a(book_, first, Note("a"));
  const OpenStream b(book_, second, Note("b"));
  { const OpenStream ended(book_, first, Note("ended")); }

  book_.Revoke({1});
  book_.Revoke({1});

  EXPECT_THAT(closed_, ElementsAre("a: the token that this was opened with was revoked"));
  EXPECT_FALSE(book_.Check(first).ok());
  EXPECT_TRUE(book_.Check(second).ok());
}

TEST_F(AccessBookTest, StreamsEndWhenTheirTokensExpire) {
  const std::string soon = Add("soon", access::Role::kWorker, absl::Hours(1));
  const std::string later = Add("later", access::Role::kWorker, absl::Hours(2));
  const OpenStream a(book_, soon, Note("a"));
  const OpenStream b(book_, later, Note("b"));

  clock_.now += absl::Hours(1) - absl::Seconds(1);
  book_.EndExpired();
  EXPECT_TRUE(closed_.empty());
  clock_.now += absl::Seconds(1);
  book_.EndExpired();
  EXPECT_THAT(closed_, ElementsAre("a: the token that this was opened with has expired"));
  clock_.now += absl::Hours(1);
  book_.EndExpired();
  EXPECT_EQ(closed_.size(), 2u);
}

TEST_F(AccessBookTest, AStreamWhoseTokenWasRevokedMeanwhileEndsAtOnce) {
  const std::string token = Add("alice", access::Role::kReader, absl::Hours(1));
  book_.Revoke({1});
  const OpenStream stream(book_, token, Note("a"));
  EXPECT_THAT(closed_, ElementsAre(HasSubstr("a: token 1 of alice was revoked")));
}

TEST_F(AccessBookTest, WithoutATokenOrWithoutEnforcingNothingIsClosed) {
  AccessBook open(clock_, {}, false);
  const OpenStream in_process(book_, "", Note("in process"));
  const OpenStream anybody(open, "nfl_forged", Note("anybody"));
  EXPECT_TRUE(closed_.empty());
}

TEST_F(AccessBookTest, EveryMethodHasARuleAndWhatHasNoneIsNobodys) {
  const MethodRules rules = RulesOf(AllServices());
  const std::string admin = Add("root", access::Role::kAdmin, absl::Hours(1));
  const std::string reader = Add("alice", access::Role::kReader, absl::Hours(1));
  const std::string path = "/noisefloor.v1.CoordinatorService/CancelSweep";

  EXPECT_TRUE(MayCall(book_, rules, path, admin).ok());
  const absl::Status denied = MayCall(book_, rules, path, reader);
  EXPECT_EQ(denied.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Message(denied), "CancelSweep needs the role submitter; alice is a reader");
  MethodRules without = rules;
  ASSERT_EQ(without.erase(path), 1u);
  EXPECT_EQ(MayCall(book_, without, path, admin),
            MakeError(absl::StatusCode::kPermissionDenied, "no role may call " + path));
  EXPECT_EQ(MayCall(book_, without, path, "").code(), absl::StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace noisefloor
