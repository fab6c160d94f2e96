// Whoever answers later is told when nobody waits any more.
#include "common/base/clock.h"
#include "coordinator/certificates/access_folder.h"
#include "httplib.h"
#include "tests/coordinator/http/http_fixture.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor::http {
namespace {

TEST(AskerTest, IsToldOfOnce) {
  Asker asker;
  int first = 0;
  int last = 0;
  asker.OnLeave([&] { ++first; });
  asker.OnLeave([&] { ++last; });
  EXPECT_EQ(last, 0);
  asker.Leave();
  asker.Leave();
  EXPECT_EQ(first, 0) << "the last one given counts";
  EXPECT_EQ(last, 1);
}

TEST(AskerTest, WhoHasLeftIsToldOfAtOnce) {
  Asker asker;
  asker.Leave();
  int told = 0;
  asker.OnLeave([&] { ++told; });
  EXPECT_EQ(told, 1);
}

constexpr char kIdleOfLeaving[] = ": idle\n";
constexpr absl::Duration kNever = absl::Hours(1);

class HttpLeaveTest : public HttpTest {
 protected:
  // Of "/slow" the test answers, "/pieces" idles; who asked for either is noted when he leaves.
  ServerSettings Noting() {
    return {.handler =
                [this, keep = kept_.Keep()](const Request& request, const Reply& then) {
                  if (request.path == "/a") return then(Told(request));
                  request.asker->OnLeave([this] {
                    const MutexLock lock(mutex_);
                    ++left_;
                    changed_.NotifyAll();
                  });
                  if (request.path == "/slow") return keep(request, then);
                  then({.pieces = pieces_, .idle = kIdleOfLeaving});
                },
            .idle = kNever};
  }
  bool AwaitLeft() {
    return WaitUntil(changed_, mutex_,
                     [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return left_ > 0; });
  }
  int left() {
    const MutexLock lock(mutex_);
    return left_;
  }

  KeptReplies kept_;
  const std::shared_ptr<ScriptedPieces> pieces_ = std::make_shared<ScriptedPieces>();
  Mutex mutex_;
  CondVar changed_;
  int left_ ABSL_GUARDED_BY(mutex_) = 0;
};

// At once, not when the idle text cannot be sent.
TEST_F(HttpLeaveTest, AStreamThatIdlesIsLeftAtOnce) {
  Start(Noting());
  RawClient client(port());
  client.Get("/a");
  EXPECT_EQ(client.ReadAnswer().body, "/a");
  client.Get("/pieces");
  pieces_->Say("one");
  RawAnswer answer = client.ReadHead();
  ASSERT_TRUE(client.ReadChunk(answer));
  EXPECT_EQ(left(), 0);
  client.Leave();
  EXPECT_TRUE(AwaitLeft());
  EXPECT_TRUE(pieces_->AwaitCancel());
  pieces_->Say(absl::CancelledError());
}

TEST_F(HttpLeaveTest, OverTlsToo) {
  const TempHome home;
  ASSERT_TRUE(SetUpAccess(home.path(), "127.0.0.1:7077", {}, SystemClock().Now()).ok());
  ServerSettings settings = Noting();
  settings.key_and_certificate = ServerPemPath(home.path());
  Start(std::move(settings));
  httplib::SSLClient client("127.0.0.1", port());
  client.enable_server_certificate_verification(false);
  pieces_->Say("one");
  EXPECT_FALSE(client.Get("/pieces", [](const char*, size_t) { return false; }));
  EXPECT_TRUE(AwaitLeft());
  EXPECT_TRUE(pieces_->AwaitCancel());
  pieces_->Say(absl::CancelledError());
}

TEST_F(HttpLeaveTest, WhoAsksForMoreHasNotLeft) {
  Start(Noting());
  RawClient client(port());
  client.Get("/pieces");
  pieces_->Say("one");
  RawAnswer answer = client.ReadHead();
  ASSERT_TRUE(client.ReadChunk(answer));
  client.Get("/a");
  client.Get("/a");
  RawClient other(port());
  other.Get("/a");
  EXPECT_EQ(other.ReadAnswer().body, "/a") << "what came before is seen";
  pieces_->Say("two");
  ASSERT_TRUE(client.ReadChunk(answer));
  EXPECT_EQ(answer.chunks.back(), "two");
  pieces_->Say("");
  EXPECT_FALSE(client.ReadChunk(answer));
  EXPECT_TRUE(answer.whole);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.ReadAnswer().body, "/a");
  EXPECT_EQ(left(), 0);
  EXPECT_FALSE(pieces_->cancelled());
}

TEST_F(HttpLeaveTest, WhoHasSaidAllWaitsForItsAnswer) {
  Start(Noting());
  RawClient client(port());
  client.Get("/slow");
  client.StopSending();
  const Reply waiting = kept_.Take();
  RawClient other(port());
  other.Get("/a");
  EXPECT_EQ(other.ReadAnswer().body, "/a") << "what came before is seen";
  EXPECT_EQ(left(), 0);
  waiting({.body = "in time"});
  EXPECT_EQ(client.ReadAnswer().body, "in time");
}

TEST_F(HttpLeaveTest, WhoHasItsAnswerLeavesNobodyWaiting) {
  Start(Noting());
  RawClient client(port());
  client.Get("/slow");
  kept_.Take()({.body = "in time"});
  EXPECT_EQ(client.ReadAnswer().body, "in time");
  client.Get("/a");
  EXPECT_EQ(client.ReadAnswer().body, "/a");
  client.Leave();
  server_.reset();
  EXPECT_EQ(left(), 0);
}

TEST_F(HttpLeaveTest, TheEndOfTheServerIsLeavingToo) {
  Start(Noting());
  RawClient client(port());
  client.Get("/slow");
  Reply waiting = kept_.Take();
  std::thread end([this] { server_.reset(); });
  EXPECT_TRUE(AwaitLeft());
  std::exchange(waiting, nullptr)({});
  end.join();
}

}  // namespace
}  // namespace noisefloor::http
