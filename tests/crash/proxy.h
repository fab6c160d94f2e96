// A connection's way through the test, which can stop carrying anything without closing.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace noisefloor::test {

// Forwards TCP connections from a loopback port of its own to `to` ("127.0.0.1:41234"). Any thread;
// its destructor ends all connections.
class Proxy {
 public:
  explicit Proxy(const std::string& to);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::string address() const;
  // While it stalls, nothing arrives anywhere, and nobody is told. What was sent meanwhile arrives
  // afterwards.
  void Stall(bool stalls) { stalls_ = stalls; }

 private:
  void Run();

  const int to_port_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stalls_ = false;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace noisefloor::test
