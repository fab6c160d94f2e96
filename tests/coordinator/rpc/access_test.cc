// A coordinator with TLS and tokens, over real connections: who gets in, with what, for how long.
#include <map>
#include <set>

#include "google/protobuf/descriptor.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "common/access/access_file.h"
#include "common/base/clock.h"
#include "common/files/atomic_file.h"
#include "coordinator/access/token.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/rpc/method_rules.h"
#include "coordinator/store/store.h"
#include "noisefloor/v1/access_api.grpc.pb.h"
#include "tests/coordinator/rpc/call_with_bytes.h"
#include "tests/coordinator/rpc/coordinator_fixture.h"

namespace noisefloor::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Code = absl::StatusCode;

class AccessTest : public testing::Test {
 protected:
  AccessTest() {
    EXPECT_TRUE(SetUpAccess(home_.path(), "box:7077", {}, SystemClock().Now()).ok());
    Start();
  }

  void Start(const std::string& listen = "127.0.0.1:0") {
    auto started = Coordinator::Start({.home = home_.path(),
                                       .listen = listen,
                                       .use_access = true,
                                       .lease_ttl = absl::Minutes(2)});
    ASSERT_TRUE(started.ok()) << started.status();
    coordinator_ = *std::move(started);
    address_ = *ParseAddress(coordinator_->address());
    owner_ = ReadAccessFile(OwnerAccessPath(home_.path())).value();
    admin_ = ChannelWith(owner_.token);
  }

  std::shared_ptr<grpc::Channel> ChannelWith(const std::string& token) const {
    const ChannelAccess access = {.certificate = owner_.certificate,
                                  .token = [token] { return token; }};
    return MakeChannel(address_, &access);
  }

  absl::StatusOr<v1::AddTokenResponse> Add(const std::string& identity, v1::Role role) {
    v1::AddTokenRequest request;
    request.set_identity(identity);
    request.set_role(role);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::AddTokenResponse response;
    const absl::Status status =
        FromGrpc(v1::AccessService::NewStub(admin_)->AddToken(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  std::string TokenFor(const std::string& identity, v1::Role role) {
    const auto made = Add(identity, role);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? made->token() : "";
  }
  absl::Status Revoke(const std::string& identity) {
    v1::RevokeTokensRequest request;
    request.set_identity(identity);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::RevokeTokensResponse response;
    return FromGrpc(v1::AccessService::NewStub(admin_)->RevokeTokens(&context, request, &response));
  }
  static absl::StatusOr<v1::WhoAmIResponse> WhoAmI(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::WhoAmIResponse response;
    const absl::Status status =
        FromGrpc(v1::AccessService::NewStub(channel)->WhoAmI(&context, {}, &response));
    if (!status.ok()) return status;
    return response;
  }
  // What a call with this token is refused with.
  absl::Status Refusal(const std::string& token) {
    const absl::Status status = WhoAmI(ChannelWith(token)).status();
    EXPECT_EQ(status.code(), Code::kUnauthenticated) << status;
    EXPECT_THAT(Message(status), Not(HasSubstr(access::kTokenPrefix)));
    return status;
  }
  absl::StatusOr<uint64_t> SubmitWith(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = SmallSweep("mine", 2);
    v1::SubmitSweepResponse response;
    const absl::Status status = FromGrpc(
        v1::CoordinatorService::NewStub(channel)->SubmitSweep(&context, request, &response));
    if (!status.ok()) return status;
    return response.sweep_id();
  }

  TempHome home_;
  std::unique_ptr<Coordinator> coordinator_;
  Address address_;
  AccessFile owner_;
  std::shared_ptr<grpc::Channel> admin_;
};

TEST_F(AccessTest, EachRoleMayCallWhatTheDescriptorsSayAndNothingElse) {
  const std::map<access::Role, std::string> tokens = {
      {access::Role::kReader, TokenFor("r", v1::ROLE_READER)},
      {access::Role::kSubmitter, TokenFor("s", v1::ROLE_SUBMITTER)},
      {access::Role::kWorker, TokenFor("w", v1::ROLE_WORKER)},
      {access::Role::kAdmin, TokenFor("a", v1::ROLE_ADMIN)}};
  size_t methods = 0;
  for (const std::string& name : AllServices()) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    for (int i = 0; i < service->method_count(); ++i) {
      const auto& method = *service->method(i);
      const auto needs =
          access::RoleFrom(static_cast<uint32_t>(method.options().GetExtension(v1::needs)));
      ASSERT_TRUE(needs.has_value()) << method.full_name() << " needs the option `needs`";
      const std::string path = "/" + name + "/" + method.name();
      for (const auto& [role, token] : tokens) {
        const Code code = CallWithBytes(ChannelWith(token), path, "").status().code();
        const bool let_in = code != Code::kPermissionDenied && code != Code::kUnauthenticated;
        EXPECT_EQ(let_in, access::Allows(role, *needs))
            << access::Name(role) << " " << path << ": " << absl::StatusCodeToString(code);
      }
      EXPECT_EQ(CallWithBytes(ChannelWith(""), path, "").status().code(), Code::kUnauthenticated);
      ++methods;
    }
  }
  EXPECT_GE(methods, 26u);
}

TEST_F(AccessTest, WhoIsNotTakenIsToldWhyAndNeverTheToken) {
  const std::string token = TokenFor("alice", v1::ROLE_READER);
  EXPECT_TRUE(WhoAmI(ChannelWith(token)).ok());

  EXPECT_THAT(Message(Refusal("")), HasSubstr("wants a token"));
  EXPECT_THAT(Message(Refusal(token.substr(0, token.size() - 1))), HasSubstr("not whole"));
  std::string wrong = token;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  EXPECT_THAT(Message(Refusal(wrong)), HasSubstr("not known here"));
  EXPECT_THAT(Message(Refusal("Bearer " + token)), HasSubstr("not whole"));
  const absl::Status denied =
      CallWithBytes(ChannelWith(token), "/noisefloor.v1.CoordinatorService/CancelSweep", "")
          .status();
  EXPECT_EQ(denied, MakeError(Code::kPermissionDenied,
                              "CancelSweep needs the role submitter; alice is a reader"));
}

// What programs read of a refusal.
google::rpc::ErrorInfo InfoOf(const grpc::Status& refused) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(refused.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(refused.error_code()));
  EXPECT_EQ(details.message(), refused.error_message());
  google::rpc::ErrorInfo info;
  EXPECT_TRUE(details.details_size() == 1 && details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.domain(), "noisefloor");
  return info;
}

TEST_F(AccessTest, EveryRefusalSaysItsReasonToPrograms) {
  const auto reader = ChannelWith(TokenFor("alice", v1::ROLE_READER));
  const auto nobody = ChannelWith("");
  const auto refusals = [](const std::shared_ptr<grpc::Channel>& channel) {
    const auto people = v1::CoordinatorService::NewStub(channel);
    const auto workers = v1::WorkerService::NewStub(channel);
    std::vector<grpc::Status> all;
    const auto with_context = [&](auto call) {
      grpc::ClientContext context;
      SetDeadline(context, kPatience);
      all.push_back(call(context));
    };
    with_context([&](grpc::ClientContext& context) {
      v1::SubmitSweepResponse response;
      return people->SubmitSweep(&context, v1::SubmitSweepRequest(), &response);
    });
    with_context([&](grpc::ClientContext& context) {
      v1::UploadResponse response;
      return workers->Upload(&context, &response)->Finish();
    });
    with_context(
        [&](grpc::ClientContext& context) { return workers->Session(&context)->Finish(); });
    return all;
  };
  for (const grpc::Status& refused : refusals(reader)) {
    const google::rpc::ErrorInfo info = InfoOf(refused);
    EXPECT_EQ(info.reason(), "ROLE_TOO_LOW") << refused.error_message();
    EXPECT_EQ(info.metadata().at("has"), "reader");
    EXPECT_THAT(info.metadata().at("needs"), testing::AnyOf("submitter", "worker"));
  }
  for (const grpc::Status& refused : refusals(nobody)) {
    EXPECT_EQ(refused.error_code(), grpc::UNAUTHENTICATED) << refused.error_message();
    EXPECT_EQ(refused.error_details(), "") << "at the headers: no message of a stranger is kept";
  }
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  const auto watch = v1::CoordinatorService::NewStub(nobody)->WatchSweep(&context, {});
  EXPECT_EQ(watch->Finish().error_code(), grpc::UNAUTHENTICATED);
}

TEST_F(AccessTest, OfAMessageOfWhoMayNotNothingIsParsed) {
  const std::string no_message = "\xff\xff\xff\xff";
  const std::string path = "/noisefloor.v1.CoordinatorService/SubmitSweep";
  EXPECT_EQ(CallWithBytes(ChannelWith(""), path, no_message).status().code(),
            Code::kUnauthenticated);
  const auto reader = ChannelWith(TokenFor("alice", v1::ROLE_READER));
  EXPECT_EQ(CallWithBytes(reader, path, no_message).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(CallWithBytes(reader, path, std::string(1 << 20, 'x')).status().code(),
            Code::kPermissionDenied);
  EXPECT_NE(CallWithBytes(admin_, path, no_message).status().code(), Code::kOk);
}

TEST_F(AccessTest, WhoIsInTheSameProcessNeedsNoToken) {
  const auto answer = WhoAmI(coordinator_->InProcessChannel());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->proved());
}

TEST_F(AccessTest, AnExpiredTokenOpensNothing) {
  coordinator_.reset();
  const std::string token = access::MakeToken("old", {1, 2, 3});
  {
    auto store = SqliteStore::Open(home_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    const absl::Time now = SystemClock().Now();
    ASSERT_TRUE((*store)
                    ->Apply(std::vector<scheduler::Write>{
                        scheduler::KeepToken{{.number = 9,
                                              .identity = "old",
                                              .role = access::Role::kReader,
                                              .sha256 = access::HashOf(token),
                                              .created = now - absl::Hours(48),
                                              .expires = now - absl::Hours(1),
                                              .created_by = "test"}}})
                    .ok());
  }
  Start();
  EXPECT_THAT(Message(Refusal(token)), HasSubstr("token 9 of old has expired on "));
  const auto next = Add("next", v1::ROLE_READER);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->summary().number(), 10u);
}

TEST_F(AccessTest, TokensOutliveARestartAndTheOwnersDoesNot) {
  const std::string token = TokenFor("alice", v1::ROLE_SUBMITTER);
  const std::string revoked = TokenFor("bob", v1::ROLE_ADMIN);
  const std::string owner = owner_.token;
  EXPECT_EQ(WhoAmI(ChannelWith(owner))->role(), v1::ROLE_ADMIN);
  ASSERT_TRUE(Revoke("bob").ok());
  coordinator_.reset();
  EXPECT_NE(::access(OwnerAccessPath(home_.path()).c_str(), F_OK), 0) << "it serves no more";
  Start();

  const auto alice = WhoAmI(ChannelWith(token));
  ASSERT_TRUE(alice.ok()) << alice.status();
  EXPECT_EQ(alice->identity(), "alice");
  EXPECT_EQ(alice->role(), v1::ROLE_SUBMITTER);
  EXPECT_TRUE(alice->proved());
  EXPECT_THAT(Message(Refusal(revoked)), HasSubstr("token 2 of bob was revoked"));
  EXPECT_THAT(Message(Refusal(owner)), HasSubstr("not known here"));
}

TEST_F(AccessTest, TwoOfAnIdentityAreActive) {
  const std::string first = TokenFor("alice", v1::ROLE_READER);
  const std::string second = TokenFor("alice", v1::ROLE_UNSPECIFIED);
  EXPECT_TRUE(WhoAmI(ChannelWith(first)).ok());
  EXPECT_TRUE(WhoAmI(ChannelWith(second)).ok());
  EXPECT_EQ(Add("alice", v1::ROLE_READER).status().code(), Code::kFailedPrecondition);
}

TEST_F(AccessTest, ARevokedWorkersStreamsEnd) {
  const auto channel = ChannelWith(TokenFor("cluster", v1::ROLE_WORKER));
  const auto workers = v1::WorkerService::NewStub(channel);
  ScriptedWorker worker(*workers, "box-1", 1);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::UploadResponse response;
  const auto upload = workers->Upload(&context, &response);

  ASSERT_TRUE(Revoke("cluster").ok());

  EXPECT_EQ(worker.End(),
            MakeError(Code::kUnauthenticated, "the token that this was opened with was revoked"));
  EXPECT_FALSE(FromGrpc(upload->Finish()).ok()) << "it waits for a header no more";
  EXPECT_THAT(Message(Refusal(TokenFor("x", v1::ROLE_READER) + "0")), HasSubstr("not whole"));
  ScriptedWorker again(*workers);
  EXPECT_EQ(again.End().code(), Code::kUnauthenticated);
}

TEST_F(AccessTest, AStrangersStreamIsCutOffHoweverMuchItHasToSay) {
  const auto workers = v1::WorkerService::NewStub(ChannelWith(""));
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  const auto stream = workers->Session(&context);
  v1::SessionRequest large;
  large.mutable_register_()->set_name(std::string(1 << 20, 'x'));
  int written = 0;
  while (written < 1000 && stream->Write(large)) ++written;
  EXPECT_LT(written, 1000);
  EXPECT_EQ(FromGrpc(stream->Finish()).code(), Code::kUnauthenticated);
}

TEST_F(AccessTest, OneTokenServesManyWorkers) {
  const auto workers = v1::WorkerService::NewStub(ChannelWith(TokenFor("all", v1::ROLE_WORKER)));
  ScriptedWorker first(*workers, "box-1", 1);
  ScriptedWorker second(*workers, "box-2", 2);
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::ListWorkersResponse response;
  ASSERT_TRUE(v1::CoordinatorService::NewStub(admin_)->ListWorkers(&context, {}, &response).ok());
  EXPECT_EQ(response.workers_size(), 2);
}

TEST_F(AccessTest, ARevokedReadersWatchEnds) {
  const auto sweep = SubmitWith(admin_);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const auto people =
      v1::CoordinatorService::NewStub(ChannelWith(TokenFor("alice", v1::ROLE_READER)));
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WatchSweepRequest request;
  request.set_sweep_id(*sweep);
  const auto watch = people->WatchSweep(&context, request);
  v1::WatchSweepResponse news;
  ASSERT_TRUE(watch->Read(&news));

  ASSERT_TRUE(Revoke("alice").ok());

  while (watch->Read(&news)) {
  }
  EXPECT_EQ(FromGrpc(watch->Finish()).code(), Code::kUnauthenticated);
}

TEST_F(AccessTest, WhoDidWhatIsKeptAndShown) {
  const auto alice = ChannelWith(TokenFor("alice", v1::ROLE_SUBMITTER));
  const auto people = v1::CoordinatorService::NewStub(alice);
  const auto sweep = SubmitWith(alice);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  v1::WatchSweepRequest watch;
  watch.set_sweep_id(*sweep);
  watch.set_resume_token(1);  // After that alice was added.
  {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    context.AddMetadata("noisefloor-user", "mallory");  // What is proved is what counts.
    v1::CancelSweepRequest request;
    request.set_sweep_id(*sweep);
    v1::CancelSweepResponse response;
    ASSERT_TRUE(people->CancelSweep(&context, request, &response).ok());
  }
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  const auto stream = people->WatchSweep(&context, watch);
  v1::WatchSweepResponse news;
  std::vector<std::string> lines;
  while (stream->Read(&news)) lines.insert(lines.end(), news.lines().begin(), news.lines().end());
  EXPECT_THAT(lines,
              ElementsAre("s1 mine: 2 members in 1 cell by alice", "2 members cancelled by alice"));
  EXPECT_EQ(news.sweep().owner(), "alice");
  grpc::ClientContext ask;
  SetDeadline(ask, kPatience);
  v1::GetMemberRequest member;
  member.set_member("s1c0r0");
  v1::GetMemberResponse told;
  ASSERT_TRUE(people->GetMember(&ask, member, &told).ok());
  EXPECT_THAT(told.history(), ElementsAre(EndsWith(" UTC: 2 members cancelled by alice")));
}

TEST_F(AccessTest, HealthNeedsNoTokenAndReflectionNeedsOne) {
  const std::string health = "/grpc.health.v1.Health/Check";
  const std::string reflection = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  EXPECT_TRUE(CallWithBytes(ChannelWith(""), health, "").ok());
  EXPECT_EQ(CallWithBytes(ChannelWith(""), reflection, "").status().code(), Code::kUnauthenticated);
  const std::string token = TokenFor("alice", v1::ROLE_READER);
  EXPECT_NE(CallWithBytes(ChannelWith(token), reflection, "").status().code(),
            Code::kUnauthenticated);
  EXPECT_EQ(CallWithBytes(ChannelWith(token), "/noisefloor.v1.Other/Method", "").status(),
            MakeError(Code::kPermissionDenied, "no role may call /noisefloor.v1.Other/Method"));
}

TEST_F(AccessTest, PlainTextAndTlsAndOtherAuthoritiesAreToldApart) {
  const auto wait = [](const Address& address, const ChannelAccess* access) {
    const absl::Status status =
        WaitUntilConnected(*MakeChannel(address, access), address, absl::Minutes(1), access);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    return Message(status);
  };
  const ChannelAccess good = {.certificate = owner_.certificate, .token = [] { return ""; }};
  EXPECT_TRUE(WaitUntilConnected(*MakeChannel(address_, &good), address_, kPatience, &good).ok());
  EXPECT_THAT(wait(address_, nullptr), HasSubstr("wants TLS and a token: expected an access file"));

  const TempHome other;
  ASSERT_TRUE(SetUpAccess(other.path(), "box:7077", {}, SystemClock().Now()).ok());
  const ChannelAccess stranger = {.certificate = ReadAccess(other.path())->certificate,
                                  .token = [] { return ""; }};
  EXPECT_THAT(wait(address_, &stranger),
              HasSubstr("it is not of the authority in the access file"));

  const TempHome open;
  const auto plain = Coordinator::Start({.home = open.path(), .listen = "127.0.0.1:0"});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_THAT(wait(*ParseAddress((*plain)->address()), &good), HasSubstr("speaks no TLS"));
}

TEST_F(AccessTest, ANameThatTheCertificateDoesNotHoldForIsSaid) {
  coordinator_.reset();
  Start("0.0.0.0:0");
  const Address second = {"127.0.0.2", address_.port};
  const ChannelAccess good = {.certificate = owner_.certificate, .token = [] { return ""; }};
  EXPECT_THAT(
      Message(WaitUntilConnected(*MakeChannel(second, &good), second, absl::Minutes(1), &good)),
      HasSubstr("`noisefloor access renew --name=127.0.0.2` on its machine adds it"));
}

// The certificate that a new connection sees.
std::string CertificateSeen(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::WhoAmIResponse response;
  EXPECT_TRUE(v1::AccessService::NewStub(channel)->WhoAmI(&context, {}, &response).ok());
  const auto seen = context.auth_context()->FindPropertyValues("x509_pem_cert");
  return seen.empty() ? "" : std::string(seen[0].data(), seen[0].size());
}

TEST_F(AccessTest, ACertificateIsReplacedUnderOpenStreams) {
  const std::string token = TokenFor("cluster", v1::ROLE_WORKER);
  const auto before = ChannelWith(token);
  const auto workers = v1::WorkerService::NewStub(before);
  ScriptedWorker worker(*workers, "box-1", 1);
  const std::string old = CertificateSeen(before);
  ASSERT_FALSE(old.empty());

  ASSERT_TRUE(RenewServerCertificate(home_.path(), {}, SystemClock().Now()).ok());

  const absl::Time give_up = SystemClock().Now() + kPatience;
  std::string seen = old;
  while (seen == old && SystemClock().Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(50));
    seen = CertificateSeen(ChannelWith(token));
  }
  EXPECT_NE(seen, old);
  EXPECT_EQ(CertificateSeen(before), old) << "the same connection";
  ASSERT_TRUE(SubmitWith(admin_).ok());
  EXPECT_EQ(worker.Started().member(), "s1c0r0") << "its stream lives on";
}

TEST(OpenCoordinator, BelievesWhatCallersSayAndMakesNoTokens) {
  const TempHome home;
  const auto coordinator = Coordinator::Start({.home = home.path(), .listen = "127.0.0.1:0"});
  ASSERT_TRUE(coordinator.ok()) << coordinator.status();
  const auto channel = MakeChannel(*ParseAddress((*coordinator)->address()));
  const auto stub = v1::AccessService::NewStub(channel);
  const auto who = [&](const std::string& says) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    context.AddMetadata("noisefloor-user", says);
    v1::WhoAmIResponse response;
    EXPECT_TRUE(stub->WhoAmI(&context, {}, &response).ok());
    EXPECT_FALSE(response.proved());
    return response.identity();
  };
  EXPECT_EQ(who("bob"), "bob");
  EXPECT_EQ(who("CORP\\bob, root"), "CORP_bob__root");
  EXPECT_EQ(who(std::string(300, 'b')), std::string(100, 'b'));
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::AddTokenRequest request;
  request.set_identity("mallory");
  request.set_role(v1::ROLE_ADMIN);
  v1::AddTokenResponse response;
  const absl::Status refused = FromGrpc(stub->AddToken(&context, request, &response));
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("anybody on its machine could make one"));
}

}  // namespace
}  // namespace noisefloor::test
