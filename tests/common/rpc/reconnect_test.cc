// A client finds a server that comes back as soon as it is there.
#include "common/rpc/reconnect.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "gtest/gtest.h"

#include "common/rpc/channel.h"

namespace noisefloor {
namespace {

// Takes connections and ends each at once; says nothing.
class Doorman {
 public:
  Doorman() : file_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(file_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(file_, 64), 0);
    EXPECT_EQ(getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    address_.host = "127.0.0.1";
    address_.port = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int guest = accept(file_, nullptr, nullptr); guest >= 0;
           guest = accept(file_, nullptr, nullptr)) {
        ++tries_;
        close(guest);
      }
    });
  }
  ~Doorman() {
    shutdown(file_, SHUT_RDWR);  // Wakes the thread.
    thread_.join();
    close(file_);
  }
  const Address& address() const { return address_; }
  int tries() const { return tries_; }

 private:
  const int file_;
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
