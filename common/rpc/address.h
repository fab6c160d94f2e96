// "HOST:PORT" as people write it: "127.0.0.1:7411", "[::1]:0", "box-1:7411". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

struct Address {
  std::string host;   // Without brackets.
  uint16_t port = 0;  // 0: any free port, for servers.
};

// Refuses what is not HOST:PORT: "coordinator address 'box': expected HOST:PORT".
absl::StatusOr<Address> ParseAddress(std::string_view text);
std::string ToText(const Address& address);  // Brackets round an IPv6 host.

// Whether only this machine can reach it: 127.0.0.0/8, ::1 or localhost.
bool IsLoopback(const Address& address);
// Whether it means every address of the machine, for servers: 0.0.0.0 or ::.
bool IsWildcard(const Address& address);

}  // namespace noisefloor
