#include "tests/crash/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "common/base/check.h"

namespace noisefloor::test {

namespace {

constexpr int kLookMs = 5;  // How soon a change of mind is seen.

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Two sockets, one for each side. -1: that side has closed.
using Pair = std::array<int, 2>;

// False when the connection is over.
bool Carry(int from, int to) {
  std::array<char, 65536> bytes;
  const ssize_t count = recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count <= 0) return false;
  for (ssize_t sent = 0; sent < count;) {
    const ssize_t more =
        send(to, bytes.data() + sent, static_cast<size_t>(count - sent), MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += more;
  }
  return true;
}

}  // namespace

Proxy::Proxy(const std::string& to) : to_port_(std::stoi(to.substr(to.rfind(':') + 1))) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  NF_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  NF_CHECK(listen(listener_, 16) == 0);
  NF_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

Proxy::~Proxy() {
  ends_ = true;
  thread_.join();
  close(listener_);
}

std::string Proxy::address() const { return "127.0.0.1:" + std::to_string(port_); }

void Proxy::Run() {
  std::vector<Pair> pairs;
  while (!ends_) {
    std::vector<pollfd> waits = {{listener_, POLLIN, 0}};
    for (const Pair& pair : pairs) {
      for (const int side : pair) waits.push_back({side, POLLIN, 0});
    }
    if (stalls_) {
      poll(nullptr, 0, kLookMs);
      continue;
    }
    if (poll(waits.data(), waits.size(), kLookMs) <= 0) continue;
    std::vector<Pair> left;
    for (size_t i = 0; i < pairs.size(); ++i) {
      bool lives = true;
      for (size_t side = 0; side < 2; ++side) {
        if (waits[1 + 2 * i + side].revents == 0) continue;
        lives = lives && Carry(pairs[i][side], pairs[i][1 - side]);
      }
      if (lives) {
        left.push_back(pairs[i]);
        continue;
      }
      for (const int side : pairs[i]) close(side);
    }
    pairs = std::move(left);
    if (waits[0].revents == 0) continue;
    const int near = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(to_port_);
    if (connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      pairs.push_back({near, far});
      continue;
    }
    close(near);
    close(far);
  }
  for (const Pair& pair : pairs) {
    for (const int side : pair) close(side);
  }
}

}  // namespace noisefloor::test
