// Bodies that come in pieces.
#include "tests/coordinator/http/http_fixture.h"

namespace noisefloor::http {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::Pair;

constexpr absl::Duration kSoon = absl::Milliseconds(5);
constexpr char kIdle[] = ": idle\n";

class HttpPiecesTest : public HttpTest {
 protected:
  ~HttpPiecesTest() override {
    server_.reset();
    EXPECT_EQ(pieces_->misused(), "");
  }

  const std::shared_ptr<ScriptedPieces> pieces_ = std::make_shared<ScriptedPieces>();
};

TEST_F(HttpPiecesTest, EachIsAChunk) {
  StartWith(pieces_);
  for (const char* const piece : {"one\r\n", "2", "three"}) pieces_->Say(piece);
  RawClient client(port());
  client.Get("/a");
  pieces_->Say("");
  RawAnswer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("transfer-encoding"), "chunked");
  EXPECT_EQ(answer.Header("content-type"), "text/x-pieces");
  EXPECT_EQ(answer.Header("cache-control"), "no-store");
  EXPECT_THAT(answer.headers, Not(Contains(Pair("content-length", testing::_))));
  EXPECT_THAT(answer.chunks, ElementsAre("one\r\n", "2", "three"));
  EXPECT_TRUE(answer.whole);
}

TEST_F(HttpPiecesTest, EachIsReadBeforeTheNextIsSaid) {
  StartWith(pieces_);
  RawClient client(port());
  client.Get("/a");
  RawAnswer answer = client.ReadHead();
  for (int i = 0; i < 100; ++i) {
    pieces_->Say(std::to_string(i));
    ASSERT_TRUE(client.ReadChunk(answer));
    EXPECT_EQ(answer.chunks.back(), std::to_string(i));
  }
  pieces_->Say("");
  EXPECT_FALSE(client.ReadChunk(answer));
  EXPECT_TRUE(answer.whole);
}

TEST_F(HttpPiecesTest, TheConnectionServesTheNextRequest) {
  Start({.handler = [this](const Request& request, const Reply& then) {
    request.path == "/pieces" ? then({.pieces = pieces_}) : then(Told(request));
  }});
  RawClient client(port());
  client.Get("/pieces");
  client.Get("/a");
  pieces_->Say("one");
  pieces_->Say("");
  EXPECT_THAT(client.ReadAnswer().chunks, ElementsAre("one"));
  EXPECT_EQ(client.ReadAnswer().body, "/a");
  EXPECT_FALSE(pieces_->cancelled());
}

TEST_F(HttpPiecesTest, NoneAreAnEmptyBody) {
  StartWith(pieces_);
  pieces_->Say("");
  RawClient client(port());
  client.Get("/a");
  const RawAnswer answer = client.ReadAnswer();
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body, "");
}

TEST_F(HttpPiecesTest, LargeOnesComeWhole) {
  StartWith(pieces_);
  std::string all;
  for (int i = 0; i < 16; ++i) {
    std::string piece(1 << 20, '\0');
    for (size_t k = 0; k < piece.size(); ++k) piece[k] = static_cast<char>(k * 31 + i + k / 999);
    all += piece;
    pieces_->Say(piece);
  }
  pieces_->Say("");
  RawClient client(port());
  client.Get("/a");
  const RawAnswer answer = client.ReadAnswer();
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(answer.body == all);
}

TEST_F(HttpPiecesTest, Http10HasThemToTheEndOfTheConnection) {
  StartWith(pieces_);
  for (const char* const piece : {"one", "two", ""}) pieces_->Say(piece);
  RawClient client(port());
  client.Send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  RawAnswer answer = client.ReadAnswer();
  EXPECT_EQ(answer.version, "HTTP/1.0");
  EXPECT_EQ(answer.body, "onetwo");
  EXPECT_TRUE(answer.whole);
  EXPECT_THAT(answer.headers, Not(Contains(Pair("transfer-encoding", testing::_))));
  EXPECT_NE(answer.Header("connection"), "keep-alive");
}

TEST_F(HttpPiecesTest, AfterAnErrorTheBodyIsNotWhole) {
  StartWith(pieces_);
  RawClient client(port());
  client.Get("/a");
  pieces_->Say("one");
  RawAnswer answer = client.ReadHead();
  ASSERT_TRUE(client.ReadChunk(answer));
  pieces_->Say(MakeError(absl::StatusCode::kDataLoss, "damaged"));
  EXPECT_EQ(client.ReadToEnd(), "") << "no last chunk";
}

TEST_F(HttpPiecesTest, AnErrorBeforeTheFirstEndsItToo) {
  StartWith(pieces_);
  pieces_->Say(absl::InternalError("x"));
  RawClient client(port());
  client.Get("/a");
  const RawAnswer answer = client.ReadAnswer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(answer.chunks, ElementsAre());
}

TEST_F(HttpPiecesTest, HeadAsksForNone) {
  StartWith(pieces_, kIdle, kSoon);
  RawClient client(port());
  client.Send("HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  RawAnswer answer = client.ReadAnswer(true);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("content-type"), "text/x-pieces");
  EXPECT_TRUE(pieces_->AwaitCancel());
  client.StopSending();
  EXPECT_TRUE(client.IsClosed()) << "nothing comes after the headers";
}

TEST_F(HttpPiecesTest, WhenNoneComesTheIdleTextDoes) {
  StartWith(pieces_, kIdle, kSoon);
  RawClient client(port());
  client.Get("/a");
  RawAnswer answer = client.ReadHead();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.ReadChunk(answer));
    EXPECT_EQ(answer.chunks.back(), kIdle);
  }
  pieces_->Say("one");
  while (client.ReadChunk(answer) && answer.chunks.back() == kIdle) {
  }
  EXPECT_EQ(answer.chunks.back(), "one");
  pieces_->Say("");
  while (client.ReadChunk(answer)) EXPECT_EQ(answer.chunks.back(), kIdle);
  EXPECT_TRUE(answer.whole);
}

TEST_F(HttpPiecesTest, IdleTextsAndPiecesDoNotMix) {
  StartWith(pieces_, kIdle, absl::Milliseconds(1));
  RawClient client(port());
  client.Get("/a");
  std::thread says([this] {
    for (int i = 0; i < 300; ++i) {
      pieces_->Say(std::to_string(i));
      pieces_->AwaitAsked(i + 2);
      for (int turn = 0; i % 3 == 0 && turn < i; ++turn) std::this_thread::yield();
    }
    pieces_->Say("");
  });
  const RawAnswer answer = client.ReadAnswer();
  says.join();
  EXPECT_TRUE(answer.whole);
  int next = 0;
  for (const std::string& chunk : answer.chunks) {
    if (chunk == kIdle) continue;
    EXPECT_EQ(chunk, std::to_string(next++));
  }
  EXPECT_EQ(next, 300);
}

TEST_F(HttpPiecesTest, WithoutAnIdleTextNothingComes) {
  StartWith(pieces_, "", kSoon);
  RawClient client(port());
  client.Get("/a");
  EXPECT_TRUE(pieces_->AwaitAsked(1));
  // Another server's idle texts, as a clock.
  const auto other = std::make_shared<ScriptedPieces>();
  {
    const auto server = HttpServer::Start(
        {.host = "127.0.0.1",
         .handler = [other](const Request&,
                            const Reply& then) { then({.pieces = other, .idle = kIdle}); },
         .idle = kSoon});
    RawClient clock((*server)->port());
    clock.Get("/a");
    RawAnswer ticks = clock.ReadHead();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(clock.ReadChunk(ticks));
    other->Say(absl::CancelledError());
  }
  pieces_->Say("one");
  pieces_->Say("");
  EXPECT_THAT(client.ReadAnswer().chunks, ElementsAre("one"));
}

TEST_F(HttpPiecesTest, WhoLeavesWhileTheyWaitCancelsThem) {
  StartWith(pieces_, kIdle, kSoon);
  RawClient client(port());
  client.Get("/a");
  EXPECT_EQ(client.ReadHead().status, 200);
  client.Leave();
  EXPECT_TRUE(pieces_->AwaitCancel());
  pieces_->Say(absl::CancelledError());
}

TEST_F(HttpPiecesTest, WhoLeavesWhileTheyComeCancelsThem) {
  StartWith(pieces_);
  RawClient client(port());
  client.Get("/a");
  EXPECT_EQ(client.ReadHead().status, 200);
  client.Leave();
  for (int i = 0; i < 100 && !pieces_->cancelled(); ++i) {
    pieces_->Say(std::string(1 << 20, 'x'));
    pieces_->AwaitAsked(i + 1);
  }
  EXPECT_TRUE(pieces_->AwaitCancel());
  pieces_->Say(absl::CancelledError());
}

TEST_F(HttpPiecesTest, WhoDoesNotReadThemIsNotWaitedFor) {
  Start({.handler = [this](const Request&, const Reply& then) { then({.pieces = pieces_}); },
         .patience = absl::Seconds(1)});
  for (int i = 0; i < 64; ++i) pieces_->Say(std::string(1 << 20, 'x'));
  RawClient client(port());
  client.Get("/a");
  EXPECT_TRUE(pieces_->AwaitCancel());
  pieces_->Say(absl::CancelledError());
}

TEST_F(HttpPiecesTest, TheyMayTakeLongerThanAClientMay) {
  Start({.handler = [this](const Request&, const Reply& then) { then({.pieces = pieces_}); },
         .patience = absl::Seconds(1)});
  RawClient client(port());
  client.Get("/a");
  EXPECT_TRUE(pieces_->AwaitAsked(1));
  RawClient silent(port());
  EXPECT_TRUE(silent.IsClosed()) << "patience has passed since";
  pieces_->Say("one");
  pieces_->Say("");
  EXPECT_THAT(client.ReadAnswer().chunks, ElementsAre("one"));
}

TEST_F(HttpPiecesTest, TheEndCancelsThemAndWaitsForTheirAnswer) {
  StartWith(pieces_, kIdle);
  RawClient client(port());
  client.Get("/a");
  EXPECT_TRUE(pieces_->AwaitAsked(1));
  std::atomic<bool> ended = false;
  std::thread end([&] {
    server_.reset();
    ended = true;
  });
  EXPECT_TRUE(pieces_->AwaitCancel());
  EXPECT_FALSE(ended);
  pieces_->Say("too late");
  end.join();
  EXPECT_FALSE(client.ReadAnswer().whole);
}

TEST_F(HttpPiecesTest, TheEndComesBetweenAnyTwoOfThem) {
  for (int i = 0; i < 100; ++i) {
    const auto pieces = std::make_shared<ScriptedPieces>();
    StartWith(pieces, kIdle, absl::Milliseconds(1));
    RawClient client(port());
    client.Get("/a");
    std::thread says([&] {
      for (int k = 0; k < 1000 && !pieces->cancelled(); ++k) {
        pieces->Say("a piece");
        pieces->AwaitAsked(k + 1);
      }
      pieces->AwaitCancel();
      pieces->Say(absl::CancelledError());
    });
    pieces->AwaitAsked(i % 10 + 1);
    server_.reset();
    says.join();
    ASSERT_EQ(pieces->misused(), "");
  }
}

}  // namespace
}  // namespace noisefloor::http
