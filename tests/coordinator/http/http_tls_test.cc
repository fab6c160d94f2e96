// The same over TLS, with certificates as a coordinator has them.
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/files/atomic_file.h"
#include "coordinator/certificates/access_folder.h"
#include "httplib.h"
#include "tests/coordinator/http/http_fixture.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An authority, and a server's certificate that it has signed.
struct Signed {
  Signed() {
    EXPECT_TRUE(SetUpAccess(home.path(), "127.0.0.1:7077", {}, SystemClock().Now()).ok());
  }
  std::string Pem() const { return ServerPemPath(home.path()); }
  std::string AuthorityPem() const { return home.path() + "/access/ca.pem"; }

  TempHome home;
};

class HttpTlsTest : public HttpTest {
 protected:
  HttpTlsTest() : pem_(folder_.path() + "/server.pem") {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL's clients write with it.
    Put(signed_);
  }

  void Put(const Signed& with) {
    const auto pem = ReadFile(with.Pem(), 1 << 20);
    ASSERT_TRUE(pem.ok()) << pem.status();
    ASSERT_TRUE(WriteFileAtomically(pem_, *pem).ok());
  }
  void StartTls(ServerSettings settings = {}) {
    settings.key_and_certificate = pem_;
    Start(std::move(settings));
  }
  // One that takes certificates of that authority alone.
  std::unique_ptr<httplib::SSLClient> Trusting(const Signed& authority) {
    auto client = std::make_unique<httplib::SSLClient>("127.0.0.1", port());
    client->set_ca_cert_path(authority.AuthorityPem());
    client->enable_server_certificate_verification(true);
    client->set_read_timeout(60);
    return client;
  }
  bool Takes(const Signed& authority) {
    const httplib::Result answer = Trusting(authority)->Get("/a");
    return answer && answer->status == 200;
  }

  TempHome folder_;
  Signed signed_;
  std::string pem_;
};

TEST_F(HttpTlsTest, RequestsSayThatTheyCameOverIt) {
  std::atomic<bool> tls = false;
  StartTls({.handler = [&](const Request& request, const Reply& then) {
    tls = request.tls;
    then(Told(request));
  }});
  const auto client = Trusting(signed_);
  client->set_keep_alive(true);
  for (const char* const target : {"/a", "/b"}) {
    const httplib::Result answer = client->Get(target);
    ASSERT_TRUE(answer) << httplib::to_string(answer.error());
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, target);
  }
  EXPECT_TRUE(tls);
  EXPECT_EQ(client->Head("/abc")->get_header_value("Content-Length"), "4");
}

TEST_F(HttpTlsTest, PiecesComeToo) {
  const auto pieces = std::make_shared<ScriptedPieces>();
  StartTls({.handler = [&](const Request&, const Reply& then) { then({.pieces = pieces}); }});
  const std::string large(3 << 20, 'x');
  for (const std::string& piece : {std::string("one"), large, std::string()}) pieces->Say(piece);
  const httplib::Result answer = Trusting(signed_)->Get("/a");
  ASSERT_TRUE(answer) << httplib::to_string(answer.error());
  EXPECT_TRUE(answer->body == "one" + large);
}

TEST_F(HttpTlsTest, AnErrorIsNoEndOfTheBody) {
  const auto pieces = std::make_shared<ScriptedPieces>();
  StartTls({.handler = [&](const Request&, const Reply& then) { then({.pieces = pieces}); }});
  pieces->Say("one");
  pieces->Say(absl::InternalError("x"));
  EXPECT_FALSE(Trusting(signed_)->Get("/a"));
}

TEST_F(HttpTlsTest, WhoLeavesCancelsThePieces) {
  const auto pieces = std::make_shared<ScriptedPieces>();
  StartTls({.handler = [&](const Request&,
                           const Reply& then) { then({.pieces = pieces, .idle = "idle"}); },
            .idle = absl::Milliseconds(5)});
  const httplib::Result answer =
      Trusting(signed_)->Get("/a", [](const char*, size_t) { return false; });
  EXPECT_EQ(answer.error(), httplib::Error::Canceled);
  EXPECT_TRUE(pieces->AwaitCancel());
  pieces->Say(absl::CancelledError());
}

TEST_F(HttpTlsTest, APostIsRefused) {
  StartTls();
  const httplib::Result answer = Trusting(signed_)->Post("/a");
  ASSERT_TRUE(answer) << httplib::to_string(answer.error());
  EXPECT_EQ(answer->status, 405);
  EXPECT_EQ(answer->get_header_value("Allow"), "GET, HEAD");
}

// A reset would lose the answer, or keep who still sends from reading it.
TEST_F(HttpTlsTest, WhoStillSendsABodyIsNotReset) {
  StartTls();
  RawClient client(port());
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), SSL_free);
  ASSERT_EQ(SSL_set_fd(tls.get(), client.socket()), 1);
  ASSERT_EQ(SSL_connect(tls.get()), 1);
  const std::string head = "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40000\r\n\r\n";
  const std::string body(40000, 'x');
  ASSERT_GT(SSL_write(tls.get(), head.data(), static_cast<int>(head.size())), 0);
  char bytes[4096];
  ASSERT_EQ(SSL_peek(tls.get(), bytes, 1), 1) << "it is answered";
  EXPECT_GT(SSL_write(tls.get(), body.data(), static_cast<int>(body.size())), 0);
  std::string answer;
  int read = 0;
  while ((read = SSL_read(tls.get(), bytes, sizeof(bytes))) > 0) {
    answer.append(bytes, static_cast<size_t>(read));
  }
  EXPECT_EQ(SSL_get_error(tls.get(), read), SSL_ERROR_ZERO_RETURN);
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 405 "));
  client.StopSending();
  client.ReadToEnd();
  EXPECT_FALSE(client.was_reset());
}

TEST_F(HttpTlsTest, PlainHttpIsNotAnswered) {
  StartTls();
  RawClient plain(port());
  plain.Get("/a");
  EXPECT_THAT(plain.ReadToEnd(), testing::Not(HasSubstr("HTTP/")));
  EXPECT_TRUE(Takes(signed_));
}

TEST_F(HttpTlsTest, WhoNeverFinishesTheHandshakeIsNotWaitedFor) {
  StartTls({.patience = absl::Seconds(1)});
  RawClient silent(port());
  RawClient begun(port());
  begun.Send("\x16");
  EXPECT_TRUE(silent.IsClosed());
  EXPECT_TRUE(begun.IsClosed());
}

TEST_F(HttpTlsTest, TheEndClosesHandshakesAndWaitsForHandlers) {
  KeptReplies kept;
  StartTls({.handler = kept.Keep()});
  RawClient silent(port());
  std::thread asks([this] { EXPECT_FALSE(Trusting(signed_)->Get("/a")); });
  Reply waiting = kept.Take();
  std::thread end([&] { server_.reset(); });
  EXPECT_TRUE(silent.IsClosed());
  std::exchange(waiting, nullptr)({.body = "too late"});
  end.join();
  asks.join();
}

TEST_F(HttpTlsTest, ACertificateInItsPlaceIsUsedAtOnce) {
  StartTls();
  const Signed next;
  const auto old = Trusting(signed_);
  old->set_keep_alive(true);
  EXPECT_EQ(old->Get("/a")->status, 200);
  EXPECT_FALSE(Takes(next));
  Put(next);
  EXPECT_TRUE(Takes(next));
  EXPECT_FALSE(Takes(signed_));
  EXPECT_EQ(old->Get("/a")->status, 200) << "a connection that stands goes on";
}

TEST_F(HttpTlsTest, OneThatCannotBeReadIsNotUsed) {
  StartTls();
  const auto good = ReadFile(pem_, 1 << 20);
  ASSERT_TRUE(good.ok());
  for (const std::string& bad : {std::string("garbage"), std::string(), good->substr(0, 200)}) {
    ASSERT_TRUE(WriteFileAtomically(pem_, bad).ok());
    EXPECT_TRUE(Takes(signed_)) << bad;
  }
  std::filesystem::remove(pem_);
  EXPECT_TRUE(Takes(signed_));
  const Signed next;
  Put(next);
  EXPECT_TRUE(Takes(next));
}

TEST_F(HttpTlsTest, WithoutOneItDoesNotStart) {
  const auto code = [this] {
    const auto started = HttpServer::Start(
        {.host = "127.0.0.1", .key_and_certificate = pem_, .handler = HttpTest::Tell});
    EXPECT_THAT(Message(started.status()), HasSubstr(pem_));
    return started.status().code();
  };
  const auto good = ReadFile(pem_, 1 << 20);
  ASSERT_TRUE(WriteFileAtomically(pem_, "garbage").ok());
  EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument);
  const size_t certificate = good->find("-----BEGIN CERTIFICATE");
  ASSERT_NE(certificate, std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(pem_, good->substr(certificate)).ok());
  EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument) << "a certificate without its key";
  std::filesystem::remove(pem_);
  EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace noisefloor::http
