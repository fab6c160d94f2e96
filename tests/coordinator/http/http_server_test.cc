// Whole answers, over real connections.
#include "tests/coordinator/http/http_fixture.h"

namespace noisefloor::http {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class HttpServerTest : public HttpTest {};

TEST_F(HttpServerTest, AnAnswerIsWhole) {
  Start({.handler = [](const Request&, const Reply& then) {
    then({.status = 404,
          .type = "text/x-test",
          .headers = {{"X-Test", "yes"}},
          .body = "nothing\nhere"});
  }});
  RawClient client(port());
  client.Get("/a");
  const RawAnswer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.version, "HTTP/1.1");
  EXPECT_EQ(answer.body, "nothing\nhere");
  EXPECT_TRUE(answer.whole);
  EXPECT_THAT(answer.headers, Contains(Pair("content-type", "text/x-test")));
  EXPECT_THAT(answer.headers, Contains(Pair("content-length", "12")));
  EXPECT_THAT(answer.headers, Contains(Pair("x-test", "yes")));
  EXPECT_THAT(answer.headers, Contains(Pair("cache-control", "no-store")));
  EXPECT_THAT(answer.headers, Contains(Pair("x-content-type-options", "nosniff")));
  EXPECT_THAT(answer.headers, Contains(Pair("referrer-policy", "no-referrer")));
  EXPECT_THAT(answer.headers, Not(Contains(Pair("connection", "close"))));
}

TEST_F(HttpServerTest, ARequestIsHandedOverDecoded) {
  Request asked;
  Start({.handler = [&](Request request, const Reply& then) {
    asked = std::move(request);
    then({});
  }});
  RawClient client(port());
  client.Get("/a%20b?c=d+e&c=f", "X-Thing:  one \r\nAuthorization: Bearer abc\r\nX-THING: two\r\n");
  ASSERT_EQ(client.ReadAnswer().status, 200);
  EXPECT_EQ(asked.path, "/a b");
  EXPECT_THAT(asked.query, ElementsAre(Pair("c", "d e"), Pair("c", "f")));
  EXPECT_THAT(asked.headers, Contains(Pair("host", "localhost")));
  EXPECT_EQ(asked.Header("x-thing"), "one");
  EXPECT_EQ(asked.Header("x-other"), "");
  EXPECT_EQ(asked.BearerToken(), "abc");
  EXPECT_FALSE(asked.tls);
}

TEST_F(HttpServerTest, OnlyBearerIsABearerToken) {
  const auto token = [](const std::string& said) {
    Request request;
    request.headers = {{"authorization", said}};
    return std::string(request.BearerToken());
  };
  EXPECT_EQ(token("Bearer a b"), "a b");
  EXPECT_EQ(token("Basic abc"), "");
  EXPECT_EQ(token("Bearerabc"), "");
  EXPECT_EQ(token("Bearer "), "");
  EXPECT_EQ(Request().BearerToken(), "");
}

TEST_F(HttpServerTest, AConnectionServesOneRequestAfterTheOther) {
  Start({});
  RawClient client(port());
  for (const char* const target : {"/a", "/b", "/c"}) {
    client.Get(target);
    const RawAnswer answer = client.ReadAnswer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, target);
  }
}

TEST_F(HttpServerTest, RequestsThatComeTogetherAreAnsweredInOrder) {
  KeptReplies kept;
  Start({.handler = [keep = kept.Keep()](const Request& request, const Reply& then) {
    request.path == "/slow" ? keep(request, then) : then(Told(request));
  }});
  RawClient client(port());
  const std::string rest = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  client.Send("GET /slow" + rest + "HEAD /head" + rest + "GET /last" + rest);
  OnAThread([slow = kept.Take()] { slow({.body = "at last"}); });
  EXPECT_EQ(client.ReadAnswer().body, "at last");
  EXPECT_EQ(client.ReadAnswer(true).Header("content-length"), "5");
  EXPECT_EQ(client.ReadAnswer().body, "/last");
}

TEST_F(HttpServerTest, ManyRequestsMayComeAtOnce) {
  Start({});
  RawClient client(port());
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  std::thread sender([&] { client.Send(all); });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.ReadAnswer().body, "/" + std::to_string(i));
  sender.join();
}

TEST_F(HttpServerTest, ARequestMayComeByteByByte) {
  Start({});
  RawClient client(port());
  for (const char byte : std::string("GET /a?b=c HTTP/1.1\r\nHost: localhost\r\n\r\n")) {
    client.Send(std::string(1, byte));
  }
  EXPECT_EQ(client.ReadAnswer().body, "/a b=c");
}

TEST_F(HttpServerTest, HeadHasTheHeadersAndNoBody) {
  Start({});
  RawClient client(port());
  client.Send("HEAD /abc HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.Get("/abc");
  RawAnswer head = client.ReadAnswer(true);
  RawAnswer whole = client.ReadAnswer();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers, whole.headers);
  EXPECT_EQ(whole.Header("content-length"), "4");
  EXPECT_EQ(whole.body, "/abc");
}

TEST_F(HttpServerTest, AnEmptyBodyHasALengthToo) {
  Start({.handler = [](const Request&, const Reply& then) { then({.status = 303}); }});
  RawClient client(port());
  client.Get("/a");
  RawAnswer answer = client.ReadAnswer();
  EXPECT_EQ(answer.Header("content-length"), "0");
  client.Get("/a");
  EXPECT_EQ(client.ReadAnswer().status, 303);
}

TEST_F(HttpServerTest, ALargeBodyComesWhole) {
  std::string body;
  for (int i = 0; i < 4 << 20; ++i) body += static_cast<char>(i * 7 + i / 256);
  Start({.handler = [&](const Request&, const Reply& then) { then({.body = body}); }});
  RawClient client(port());
  client.Get("/a");
  const RawAnswer answer = client.ReadAnswer();
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(answer.body == body);
}

TEST_F(HttpServerTest, WhoWantsTheConnectionClosedHasIt) {
  Start({});
  RawClient client(port());
  client.Get("/a", "Connection: close\r\n");
  RawAnswer answer = client.ReadAnswer();
  EXPECT_EQ(answer.body, "/a");
  EXPECT_EQ(answer.Header("connection"), "close");
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(HttpServerTest, Http10ClosesUnlessAskedNotTo) {
  Start({});
  RawClient client(port());
  client.Send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  RawAnswer kept = client.ReadAnswer();
  EXPECT_EQ(kept.version, "HTTP/1.0");
  EXPECT_EQ(kept.Header("content-length"), "2");
  EXPECT_EQ(kept.Header("connection"), "keep-alive");
  client.Send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer().body, "/b");
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(HttpServerTest, HandlersAnswerFromOtherThreads) {
  std::vector<std::thread> threads;
  Mutex mutex;
  Start({.handler = [&](Request request, Reply then) {
    const MutexLock lock(mutex);
    threads.emplace_back(
        [request = std::move(request), then = std::move(then)] { then(Told(request)); });
  }});
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([this, i] {
      RawClient client(port());
      for (int k = 0; k < 20; ++k) {
        const std::string target = "/" + std::to_string(i) + "/" + std::to_string(k);
        client.Get(target);
        EXPECT_EQ(client.ReadAnswer().body, target);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  server_.reset();
  EXPECT_EQ(threads.size(), 160u);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(HttpServerTest, OneThatWaitsKeepsNobodyElseWaiting) {
  KeptReplies kept;
  Start({.handler = [keep = kept.Keep()](const Request& request, const Reply& then) {
    request.path == "/slow" ? keep(request, then) : then(Told(request));
  }});
  RawClient slow(port());
  slow.Get("/slow");
  const Reply waiting = kept.Take();
  RawClient fast(port());
  fast.Get("/fast");
  EXPECT_EQ(fast.ReadAnswer().body, "/fast");
  waiting({.body = "slow"});
  EXPECT_EQ(slow.ReadAnswer().body, "slow");
}

TEST_F(HttpServerTest, TheEndWaitsForHandlersThatHaveNotAnswered) {
  KeptReplies kept;
  Start({.handler = kept.Keep()});
  RawClient first(port());
  RawClient second(port());
  first.Get("/a");
  Reply one = kept.Take();
  second.Get("/b");
  Reply other = kept.Take();
  std::atomic<bool> ended = false;
  std::thread end([&] {
    server_.reset();
    ended = true;
  });
  EXPECT_TRUE(first.IsClosed());
  EXPECT_TRUE(second.IsClosed());
  std::exchange(one, nullptr)({.body = "too late"});
  EXPECT_FALSE(ended);
  const auto pieces = std::make_shared<ScriptedPieces>();
  std::exchange(other, nullptr)({.pieces = pieces});
  end.join();
  EXPECT_TRUE(pieces->cancelled());
  EXPECT_EQ(pieces->misused(), "");
}

// Whoever answered still holds `then`, and by it the connection, when the server goes.
TEST_F(HttpServerTest, TheEndIsNotOvertakenByWhoeverAnswers) {
  for (int i = 0; i < 200; ++i) {
    KeptReplies kept;
    Start({.handler = kept.Keep()});
    RawClient client(port());
    client.Get("/a");
    Reply then = kept.Take();
    std::thread end([this] { server_.reset(); });
    EXPECT_TRUE(client.IsClosed());
    const auto pieces = std::make_shared<ScriptedPieces>();
    then({.pieces = pieces});
    EXPECT_TRUE(pieces->AwaitCancel());
    then = nullptr;
    end.join();
  }
}

TEST_F(HttpServerTest, TheEndClosesWhatIsIdle) {
  Start({});
  RawClient silent(port());
  RawClient kept(port());
  kept.Get("/a");
  EXPECT_EQ(kept.ReadAnswer().status, 200);
  RawClient begun(port());
  begun.Send("GET /a HTTP/1.1\r\n");
  const uint16_t old = port();
  server_.reset();
  EXPECT_TRUE(silent.IsClosed());
  EXPECT_TRUE(kept.IsClosed());
  EXPECT_TRUE(begun.IsClosed());
  Start({.port = old});
  EXPECT_EQ(port(), old) << "it is free again";
}

TEST_F(HttpServerTest, OneThatBeginsAndEndsServesNobody) {
  for (int i = 0; i < 20; ++i) {
    Start({});
    server_.reset();
  }
}

TEST_F(HttpServerTest, ATakenPortIsUnavailable) {
  Start({});
  const auto second =
      HttpServer::Start({.host = "127.0.0.1", .port = port(), .handler = HttpTest::Tell});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(second.status()), HasSubstr("127.0.0.1:" + std::to_string(port())));
  RawClient client(port());
  client.Get("/a");
  EXPECT_EQ(client.ReadAnswer().status, 200);
}

TEST_F(HttpServerTest, AnAddressThatIsNotOursIsUnavailable) {
  EXPECT_EQ(HttpServer::Start({.host = "203.0.113.1", .handler = HttpTest::Tell}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(HttpServer::Start({.host = "no such host", .handler = HttpTest::Tell}).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace noisefloor::http
