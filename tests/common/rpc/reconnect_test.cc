// A client finds a server that comes back as soon as it is there.
#include "common/rpc/reconnect.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "gtest/gtest.h"

#include "common/rpc/channel.h"
#include "tests/support/loopback_port.h"

namespace noisefloor {
namespace {

// Takes connections and ends each at once; says nothing.
class Doorman {
 public:
  Doorman() {
    port_.Listen();
    address_.host = "127.0.0.1";
    address_.port = port_.port();
    thread_ = std::thread([this] {
      for (int guest = accept(port_.file(), nullptr, nullptr); guest >= 0;
           guest = accept(port_.file(), nullptr, nullptr)) {
        ++tries_;
        close(guest);
      }
    });
  }
  ~Doorman() {
    shutdown(port_.file(), SHUT_RDWR);  // Wakes the thread.
    thread_.join();
  }
  const Address& address() const { return address_; }
  int tries() const { return tries_; }

 private:
  test::LoopbackPort port_;
  Address address_;
  std::atomic<int> tries_ = 0;
  std::thread thread_;
};

// gRPC left to itself tries ten times in ten seconds and more. Looks are counted, not time: both
// are slower on a busy machine.
TEST(Reconnect, AServerThatDoesNotSpeakIsTriedAgainAndAgain) {
  Doorman doorman;
  const auto channel = MakeChannel(doorman.address());
  int looks = 0;

  const bool connected = WaitUntilConnectedAgain(
      *channel, absl::Minutes(2), [&] { return ++looks >= 60 || doorman.tries() >= 10; });

  EXPECT_FALSE(connected);
  EXPECT_GE(doorman.tries(), 10);
  EXPECT_LT(looks, 60);
}

TEST(Reconnect, EndsWhenToldOrWhenPatienceDoes) {
  Doorman doorman;
  const auto channel = MakeChannel(doorman.address());
  int asked = 0;

  EXPECT_FALSE(WaitUntilConnectedAgain(*channel, absl::Minutes(2), [&] { return ++asked == 2; }));
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(WaitUntilConnectedAgain(*channel, absl::Milliseconds(200), [&] {
    ++asked;
    return false;
  }));
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace noisefloor
