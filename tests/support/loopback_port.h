// A port of loopback that is this object's while it lives. Nobody listens on it until Listen: who
// connects is refused.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace noisefloor::test {

class LoopbackPort {
 public:
  LoopbackPort() : file_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(file_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~LoopbackPort() { close(file_); }
  LoopbackPort(const LoopbackPort&) = delete;
  LoopbackPort& operator=(const LoopbackPort&) = delete;

  void Listen() { EXPECT_EQ(listen(file_, 64), 0); }

  int file() const { return file_; }
  uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const int file_;
  uint16_t port_ = 0;
};

}  // namespace noisefloor::test
