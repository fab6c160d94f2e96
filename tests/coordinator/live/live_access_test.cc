// The page where access is set up: TLS, and tokens of identities.
#include <filesystem>
#include <optional>
#include <thread>

#include "common/access/access_file.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/files/atomic_file.h"
#include "coordinator/certificates/access_folder.h"
#include "noisefloor/v1/access_api.grpc.pb.h"
#include "tests/coordinator/live/live_fixture.h"

namespace noisefloor::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class LiveAccessTest : public testing::Test {
 protected:
  explicit LiveAccessTest(const std::string& page = "127.0.0.1:0") {
    EXPECT_TRUE(SetUpAccess(home_.path(), "127.0.0.1:7077", {}, SystemClock().Now()).ok());
    auto started = Coordinator::Start({.home = home_.path(),
                                       .listen = "127.0.0.1:0",
                                       .use_access = true,
                                       .page = page,
                                       .lease_ttl = absl::Minutes(2)});
    EXPECT_TRUE(started.ok()) << started.status();
    if (!started.ok()) return;
    coordinator_ = *std::move(started);
    owner_ = ReadAccessFile(OwnerAccessPath(home_.path())).value();
    const ChannelAccess access = {.certificate = owner_.certificate,
                                  .token = [this] { return owner_.token; }};
    admin_ = MakeChannel(*ParseAddress(coordinator_->address()), &access);
    page_ = ParsePageUrl(coordinator_->page_url());
  }

  std::string TokenFor(const std::string& identity, v1::Role role) {
    v1::AddTokenRequest request;
    request.set_identity(identity);
    request.set_role(role);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::AddTokenResponse response;
    const grpc::Status status =
        v1::AccessService::NewStub(admin_)->AddToken(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.token();
  }
  void Revoke(const std::string& identity) {
    v1::RevokeTokensRequest request;
    request.set_identity(identity);
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::RevokeTokensResponse response;
    EXPECT_TRUE(
        v1::AccessService::NewStub(admin_)->RevokeTokens(&context, request, &response).ok());
  }
  void Submit() {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = SmallSweep("a", 2);
    v1::SubmitSweepResponse response;
    EXPECT_TRUE(
        v1::CoordinatorService::NewStub(admin_)->SubmitSweep(&context, request, &response).ok());
  }
  // One that takes certificates of this authority alone.
  std::unique_ptr<httplib::SSLClient> Client() const {
    auto client = std::make_unique<httplib::SSLClient>("127.0.0.1", page_.address.port);
    client->set_ca_cert_path(home_.path() + "/access/ca.pem");
    client->enable_server_certificate_verification(true);
    client->set_read_timeout(120);
    return client;
  }
  httplib::Result Get(const std::string& target, const Headers& headers) const {
    httplib::Result answer = Client()->Get(target, headers);
    EXPECT_TRUE(answer) << httplib::to_string(answer.error());
    return answer;
  }

  TempHome home_;
  std::unique_ptr<Coordinator> coordinator_;
  AccessFile owner_;
  std::shared_ptr<grpc::Channel> admin_;
  PageUrl page_;
};

class LiveAccessAnywhereTest : public LiveAccessTest {
 protected:
  LiveAccessAnywhereTest() : LiveAccessTest("0.0.0.0:0") {}
};

TEST_F(LiveAccessTest, ItsAddressHasNoToken) {
  EXPECT_EQ(page_.scheme, "https");
  EXPECT_EQ(page_.token, "");
  EXPECT_EQ(coordinator_->page_url(), "https://" + ToText(page_.address) + "/");
  EXPECT_FALSE(std::filesystem::exists(home_.path() + "/page.token"));
}

TEST_F(LiveAccessTest, WhoMayReadReads) {
  for (const auto role : {v1::ROLE_READER, v1::ROLE_SUBMITTER, v1::ROLE_ADMIN}) {
    const std::string token = TokenFor("id-" + std::to_string(role), role);
    EXPECT_EQ(Get("/", Bearer(token))->status, 200);
    const auto answer = Get("/api/ListSweeps", Bearer(token));
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(Get("/api/CancelSweep", Bearer(token))->status, 404) << "nobody changes anything";
  }
  EXPECT_EQ(Get("/api/GetVersion", Bearer(owner_.token))->status, 200);
}

TEST_F(LiveAccessTest, AWorkerMayNot) {
  const std::string token = TokenFor("cluster", v1::ROLE_WORKER);
  const auto page = Get("/", Bearer(token));
  EXPECT_EQ(page->status, 403);
  EXPECT_THAT(page->body, AllOf(HasSubstr("may not read"), Not(HasSubstr("cluster"))));
  const auto signed_in = Get("/?token=" + token, {});
  EXPECT_EQ(signed_in->status, 303);
  EXPECT_THAT(signed_in->get_header_value("Set-Cookie"), HasSubstr("=refused;"));
  for (const char* const method : {"GetVersion", "ListSweeps", "WatchSweep"}) {
    const auto api = Get(std::string("/api/") + method, Bearer(token));
    EXPECT_EQ(api->status, 403) << method;
    EXPECT_EQ(ErrorCode(api->body), "PERMISSION_DENIED");
  }
}

TEST_F(LiveAccessTest, NobodyElseMay) {
  for (const Headers& headers :
       {Headers{}, Bearer("nfl_wrong"), Bearer(owner_.token + "0"), Bearer(std::string(64, 'a'))}) {
    EXPECT_EQ(Get("/", headers)->status, 401);
    const auto api = Get("/api/GetVersion", headers);
    EXPECT_EQ(api->status, 401);
    EXPECT_EQ(ErrorCode(api->body), "UNAUTHENTICATED");
  }
  EXPECT_THAT(Get("/", {})->body, HasSubstr("access file"));
}

TEST_F(LiveAccessTest, TheCookieIsNeverSentWithoutTls) {
  const std::string token = TokenFor("alice", v1::ROLE_READER);
  const auto answer = Get("/sweeps/3?token=" + token, {});
  EXPECT_EQ(answer->status, 303);
  EXPECT_EQ(answer->get_header_value("Location"), "/sweeps/3");
  const std::string cookie = answer->get_header_value("Set-Cookie");
  EXPECT_THAT(
      cookie,
      AllOf(StartsWith("noisefloor-" + std::to_string(page_.address.port) + "=" + token + "; "),
            HasSubstr("; HttpOnly"), HasSubstr("; SameSite=Lax"), EndsWith("; Secure")));
  EXPECT_EQ(Get("/", {{"Cookie", cookie.substr(0, cookie.find(';'))}})->status, 200);
}

TEST_F(LiveAccessTest, ARevokedTokenOpensNothing) {
  const std::string token = TokenFor("alice", v1::ROLE_READER);
  EXPECT_EQ(Get("/api/GetVersion", Bearer(token))->status, 200);
  Revoke("alice");
  const auto answer = Get("/api/GetVersion", Bearer(token));
  EXPECT_EQ(answer->status, 401);
  EXPECT_THAT(answer->body, Not(HasSubstr(token)));
  EXPECT_EQ(Get("/", Bearer(token))->status, 401);
}

TEST_F(LiveAccessTest, AWatchEndsWithItsToken) {
  Submit();
  const std::string token = TokenFor("alice", v1::ROLE_READER);
  Mutex mutex;
  CondVar came;
  std::string body;
  std::thread watches([&] {
    const auto answer = Client()->Get("/api/WatchSweep?sweep_id=1", Bearer(token),
                                      [&](const char* data, size_t size) {
                                        const MutexLock lock(mutex);
                                        body.append(data, size);
                                        came.NotifyAll();
                                        return true;
                                      });
    EXPECT_TRUE(answer) << "the body is whole: " << httplib::to_string(answer.error());
  });
  {
    const MutexLock lock(mutex);
    while (body.find("\n\n") == std::string::npos) {
      if (!came.WaitFor(mutex, kPatience)) break;
    }
    EXPECT_THAT(body, StartsWith("id: "));
    EXPECT_THAT(body, Not(HasSubstr("event: ")));
  }
  Revoke("alice");
  watches.join();
  EXPECT_THAT(body, HasSubstr("event: failed\n"));
  EXPECT_THAT(body, HasSubstr("UNAUTHENTICATED"));
  EXPECT_THAT(body, HasSubstr("revoked"));
  EXPECT_THAT(body, Not(HasSubstr("event: end")));
}

TEST_F(LiveAccessTest, OnePersonsWatchDoesNotEndWithAnothersToken) {
  Submit();
  const std::string token = TokenFor("alice", v1::ROLE_READER);
  TokenFor("bob", v1::ROLE_READER);
  Mutex mutex;
  CondVar came;
  std::string body;
  std::thread watches([&] {
    (void)Client()->Get("/api/WatchSweep?sweep_id=1", Bearer(token),
                        [&](const char* data, size_t size) {
                          const MutexLock lock(mutex);
                          body.append(data, size);
                          came.NotifyAll();
                          return true;
                        });
  });
  const auto wait_for = [&](const std::string& text) {
    const MutexLock lock(mutex);
    while (body.find(text) == std::string::npos) {
      if (!came.WaitFor(mutex, kPatience)) return false;
    }
    return true;
  };
  EXPECT_TRUE(wait_for("\n\n"));
  Revoke("bob");
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  v1::CancelSweepRequest cancel;
  cancel.set_sweep_id(1);
  v1::CancelSweepResponse cancelled;
  EXPECT_TRUE(
      v1::CoordinatorService::NewStub(admin_)->CancelSweep(&context, cancel, &cancelled).ok());
  EXPECT_TRUE(wait_for("event: end\n"));
  watches.join();
}

TEST_F(LiveAccessTest, TheEndOfTheCoordinatorEndsWatchesOverTls) {
  Submit();
  Mutex mutex;
  CondVar came;
  bool begun = false;
  std::thread watches([&] {
    (void)Client()->Get("/api/WatchSweep?sweep_id=1", Bearer(owner_.token),
                        [&](const char*, size_t) {
                          const MutexLock lock(mutex);
                          begun = true;
                          came.NotifyAll();
                          return true;
                        });
  });
  {
    const MutexLock lock(mutex);
    while (!begun) {
      if (!came.WaitFor(mutex, kPatience)) break;
    }
    EXPECT_TRUE(begun);
  }
  coordinator_->Stop();
  watches.join();
}

TEST_F(LiveAccessTest, WithoutTlsNobodyIsAnswered) {
  RawClient plain(page_.address.port);
  plain.Get("/?token=" + owner_.token);
  EXPECT_THAT(plain.ReadToEnd(), Not(HasSubstr("HTTP/")));
}

TEST_F(LiveAccessAnywhereTest, OffLoopbackItIsServedUnderAnyName) {
  EXPECT_EQ(page_.address.host, "127.0.0.1") << "as access was set up";
  Headers headers = Bearer(owner_.token);
  headers.emplace("Host", "box.example:7078");
  EXPECT_EQ(Get("/", headers)->status, 200);
  EXPECT_EQ(Get("/api/GetVersion", headers)->status, 200);
  EXPECT_EQ(Get("/", {})->status, 401);
}

TEST_F(LiveAccessTest, ANewCertificateIsUsedForTheNextConnection) {
  const auto names = [this] {
    return ReadCertificate(ReadFile(ServerPemPath(home_.path()), 1 << 20).value())->names;
  };
  EXPECT_THAT(names(), Not(testing::Contains("box.example")));
  ASSERT_TRUE(RenewServerCertificate(home_.path(), {"box.example"}, SystemClock().Now()).ok());
  EXPECT_THAT(names(), testing::Contains("box.example"));
  EXPECT_EQ(Get("/api/GetVersion", Bearer(owner_.token))->status, 200);
}

}  // namespace
}  // namespace noisefloor::test
