#include "tests/crash/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

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

constexpr int kNobody = -1;  // Whom poll() does not look at.

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

// Both ends learn of it at once, and what was not read is lost.
void Break(int socket) {
  const linger now = {1, 0};
  (void)setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(socket);
}

}  // namespace

Proxy::Proxy(const std::string& to) : to_port_(std::stoi(to.substr(to.rfind(':') + 1))) {
  port_.Listen();
  thread_ = std::thread([this] { Run(); });
}

Proxy::~Proxy() {
  ends_ = true;
  thread_.join();
}

void Proxy::Cut() {
  const uint64_t wanted = ++to_cut_;
  for (uint64_t is = cut_; is < wanted; is = cut_) cut_.wait(is);
}

void Proxy::Run() {
  Pairs pairs;
  while (!ends_) {
    Look(pairs);
    const uint64_t wanted = to_cut_;
    if (cut_ == wanted) continue;
    for (const auto& pair : pairs) {
      for (const int side : pair) Break(side);
    }
    pairs.clear();
    cut_ = wanted;
    cut_.notify_all();
  }
  for (const auto& pair : pairs) {
    for (const int side : pair) close(side);
  }
}

// Waits a moment for something to carry, and carries it.
void Proxy::Look(Pairs& pairs) {
  const Stalls stalls = stalls_;
  const bool carries[] = {stalls != Stalls::kRequests && stalls != Stalls::kBoth,
                          stalls != Stalls::kAnswers && stalls != Stalls::kBoth};
  std::vector<pollfd> waits = {{stalls == Stalls::kBoth ? kNobody : port_.file(), POLLIN, 0}};
  for (const auto& pair : pairs) {
    for (size_t side = 0; side < 2; ++side) {
      waits.push_back({carries[side] ? pair[side] : kNobody, POLLIN, 0});
    }
  }
  if (poll(waits.data(), waits.size(), kLookMs) <= 0) return;
  Pairs left;
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
  if (waits[0].revents != 0) Accept(pairs);
}

void Proxy::Accept(Pairs& pairs) {
  const int near = accept4(port_.file(), nullptr, nullptr, SOCK_CLOEXEC);
  const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(to_port_);
  if (connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    pairs.push_back({near, far});
    return;
  }
  close(near);
  close(far);
}

}  // namespace noisefloor::test
