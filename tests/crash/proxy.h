// A connection's way through the test, which can stop carrying without closing, either way or one
// way only, and break in the middle.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/loopback_port.h"

namespace noisefloor::test {

// Forwards TCP connections from a loopback port of its own to `to` ("127.0.0.1:41234"). Any thread;
// its destructor ends all connections.
class Proxy {
 public:
  explicit Proxy(const std::string& to);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::string address() const { return port_.address(); }
  // What does not arrive while it stalls, and nobody is told. What was sent meanwhile arrives
  // afterwards. While nothing does, nobody connects either.
  enum class Stalls : uint8_t { kNothing, kRequests, kAnswers, kBoth };
  void Stall(Stalls what) { stalls_ = what; }
  // Breaks every connection there is, and with it what is on its way. Returns when they are gone.
  void Cut();

 private:
  using Pairs = std::vector<std::array<int, 2>>;  // Sockets, of who connected and of where to.

  void Run();
  void Look(Pairs& pairs);
  void Accept(Pairs& pairs);

  const int to_port_;
  LoopbackPort port_;
  std::atomic<Stalls> stalls_ = Stalls::kNothing;
  std::atomic<uint64_t> to_cut_ = 0;  // How often it was asked to,
  std::atomic<uint64_t> cut_ = 0;     // and has.
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace noisefloor::test
