// What is refused, and how long anybody is waited for.
#include "tests/coordinator/http/http_fixture.h"

namespace noisefloor::http {
namespace {

using testing::Contains;
using testing::Pair;

constexpr absl::Duration kLittlePatience = absl::Seconds(1);

class HttpLimitsTest : public HttpTest {
 protected:
  // That is what it is answered, readable, and then the connection ends.
  void ExpectRefused(const std::string& bytes, int status) {
    RawClient client(port());
    client.Send(bytes);
    const RawAnswer answer = client.ReadAnswer();
    EXPECT_EQ(answer.status, status) << bytes.substr(0, 200);
    EXPECT_TRUE(answer.whole);
    EXPECT_NE(answer.body, "");
    EXPECT_THAT(answer.headers, Contains(Pair("connection", "close")));
    EXPECT_TRUE(client.IsClosed());
    EXPECT_FALSE(client.was_reset()) << "an answer may be lost";
  }
  void ExpectServes() {
    RawClient client(port());
    client.Get("/still");
    EXPECT_EQ(client.ReadAnswer().body, "/still");
  }
};

TEST_F(HttpLimitsTest, OnlyGetAndHead) {
  Start({});
  for (const char* const method :
       {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "NONSENSE"}) {
    RawClient client(port());
    client.Send(std::string(method) + " /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    RawAnswer answer = client.ReadAnswer();
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.Header("allow"), "GET, HEAD");
    EXPECT_EQ(answer.Header("connection"), "close");
    EXPECT_TRUE(client.IsClosed());
  }
}

TEST_F(HttpLimitsTest, ThatAPostIsRefusedCanBeReadWhileItsBodyComes) {
  Start({});
  ExpectRefused("POST /a HTTP/1.1\r\nContent-Length: 20000\r\n\r\n" + std::string(20000, 'x'), 405);
  ExpectRefused("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
                405);
}

TEST_F(HttpLimitsTest, HoweverLargeItIsSaidToBe) {
  Start({});
  ExpectRefused("POST /a HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n", 405);
  ExpectRefused("GET /a HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n", 413);
}

TEST_F(HttpLimitsTest, ABodyIsTooMuch) {
  Start({});
  ExpectRefused("GET /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", 413);
  ExpectRefused("GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413);
  RawClient client(port());
  client.Get("/a", "Content-Length: 0\r\n");
  EXPECT_EQ(client.ReadAnswer().body, "/a");
}

TEST_F(HttpLimitsTest, ALongHeaderIsTooMuch) {
  Start({});
  ExpectRefused("GET /a HTTP/1.1\r\nX-Long: " + std::string(17 << 10, 'x') + "\r\n\r\n", 431);
  ExpectRefused("GET /" + std::string(17 << 10, 'x') + " HTTP/1.1\r\n\r\n", 431);
  std::string many = "GET /a HTTP/1.1\r\n";
  for (int i = 0; i < 2000; ++i) many += "X-" + std::to_string(i) + ": 1234567890\r\n";
  ExpectRefused(many + "\r\n", 431);
  RawClient client(port());
  client.Get("/a", "X-Long: " + std::string(15 << 10, 'x') + "\r\n");
  EXPECT_EQ(client.ReadAnswer().body, "/a");
}

TEST_F(HttpLimitsTest, GarbageIsABadRequest) {
  Start({});
  for (const char* const bytes :
       {"garbage\r\n\r\n", "\r\n\r\n\r\n", "GET\r\n\r\n", "GET /a\r\n\r\n", "GET /a HTTP/3\r\n\r\n",
        "GET /a HTTP/1.1\r\nno colon\r\n\r\n", "GET /a HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "GET /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "\x16\x03\x01\x02 TLS"}) {
    ExpectRefused(bytes, 400);
  }
  ExpectServes();
}

TEST_F(HttpLimitsTest, ATargetThatIsNoneIsABadRequest) {
  Start({});
  for (const char* const target :
       {"//evil", "/%2Fevil", "/%", "/%0d%0aSet-Cookie:a=b", "/?a=%zz", "*", "http://localhost/"}) {
    ExpectRefused("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 400);
  }
}

TEST_F(HttpLimitsTest, WhatIsRefusedAfterAHeadHasItsBody) {
  Start({});
  RawClient client(port());
  client.Send("HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer(true).status, 200);
  client.Send("garbage\r\n\r\n");
  const RawAnswer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(answer.whole);
}

TEST_F(HttpLimitsTest, HalfARequestIsNone) {
  std::atomic<int> asked = 0;
  Start({.handler = [&](const Request& request, const Reply& then) {
    ++asked;
    then(Told(request));
  }});
  for (const char* const half :
       {"", "G", "GET /a HTTP/1.1\r\n", "GET /a HTTP/1.1\r\nHost: a\r\n"}) {
    RawClient client(port());
    client.Send(half);
    client.StopSending();
    EXPECT_TRUE(client.IsClosed()) << half;
  }
  EXPECT_EQ(asked, 0);
  ExpectServes();
}

TEST_F(HttpLimitsTest, WhoHasSaidAllIsStillAnswered) {
  Start({});
  RawClient client(port());
  client.Get("/a");
  client.StopSending();
  EXPECT_EQ(client.ReadAnswer().body, "/a");
  EXPECT_TRUE(client.IsClosed());
}

TEST_F(HttpLimitsTest, WhoSaysNothingIsNotWaitedFor) {
  Start({.patience = kLittlePatience});
  RawClient silent(port());
  RawClient begun(port());
  begun.Send("G");
  RawClient kept(port());
  kept.Get("/a");
  EXPECT_EQ(kept.ReadAnswer().status, 200);
  EXPECT_TRUE(silent.IsClosed());
  EXPECT_TRUE(begun.IsClosed());
  EXPECT_TRUE(kept.IsClosed());
  ExpectServes();
}

// Each byte comes in time; the whole never does.
TEST_F(HttpLimitsTest, WhoSaysLittleForLongIsNotWaitedFor) {
  Start({.patience = kLittlePatience});
  RawClient slow(port());
  std::atomic<bool> closed = false;
  Mutex mutex;
  CondVar changed;
  std::thread sender([&] {
    slow.Send("GET /a HTTP/1.1\r\nX-Long: ");
    while (!closed) {
      slow.Send("x");
      const MutexLock lock(mutex);
      changed.WaitFor(mutex, absl::Milliseconds(20));
    }
  });
  EXPECT_TRUE(slow.IsClosed());
  closed = true;
  changed.NotifyAll();
  sender.join();
}

TEST_F(HttpLimitsTest, WhoStaysAfterARefusalIsNotWaitedFor) {
  Start({.most_connections = 1, .patience = kLittlePatience});
  RawClient stays(port());
  stays.Send("POST /a HTTP/1.1\r\n\r\n");
  EXPECT_EQ(stays.ReadAnswer().status, 405);
  for (int status = 0; status != 200;) {  // Until it has the one place.
    RawClient next(port());
    next.Get("/a");
    status = next.ReadAnswer().status;
  }
}

TEST_F(HttpLimitsTest, AHandlerMayTakeLongerThanAClientMay) {
  KeptReplies kept;
  Start({.handler = kept.Keep(), .patience = kLittlePatience});
  RawClient client(port());
  client.Get("/a");
  const Reply waiting = kept.Take();
  RawClient silent(port());
  EXPECT_TRUE(silent.IsClosed()) << "patience has passed since";
  waiting({.body = "at last"});
  EXPECT_EQ(client.ReadAnswer().body, "at last");
}

TEST_F(HttpLimitsTest, ThereAreSoManyConnectionsAndNoMore) {
  Start({.most_connections = 2});
  RawClient first(port());
  first.Get("/a");
  EXPECT_EQ(first.ReadAnswer().status, 200);
  {
    RawClient second(port());
    second.Get("/a");
    EXPECT_EQ(second.ReadAnswer().status, 200);
    RawClient third(port());
    EXPECT_TRUE(third.IsClosed());
    second.Get("/b");
    EXPECT_EQ(second.ReadAnswer().body, "/b") << "those before stay";
  }
  for (int status = 0; status != 200;) {  // Until the server has seen it leave.
    RawClient next(port());
    next.Get("/a");
    status = next.ReadAnswer().status;
  }
  first.Get("/c");
  EXPECT_EQ(first.ReadAnswer().body, "/c");
}

TEST_F(HttpLimitsTest, WhoLeftBeforeTheAnswerFreesThePlace) {
  KeptReplies kept;
  Start({.handler =
             [keep = kept.Keep()](const Request& request, const Reply& then) {
               request.path == "/slow" ? keep(request, then) : then(Told(request));
             },
         .most_connections = 1});
  RawClient client(port());
  client.Get("/slow");
  const Reply waiting = kept.Take();
  client.Leave();
  waiting({.body = "nobody reads it"});
  for (int status = 0; status != 200;) {
    RawClient next(port());
    next.Get("/b");
    status = next.ReadAnswer().status;
  }
}

}  // namespace
}  // namespace noisefloor::http
