#include "common/rpc/address.h"

#include <charconv>

#include "fmt/format.h"

namespace noisefloor {

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  const auto wrong = [&](std::string_view expected) {
    return InvalidInput(fmt::format("address '{}': expected {}", text, expected));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong("HOST:PORT");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong("[HOST]:PORT for an IPv6 host");
  }
  if (host.empty() || host.find_first_of(" \t\n/[]") != std::string_view::npos) {
    return wrong("HOST:PORT");
  }
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (port.empty() || error != std::errc() || end != port.data() + port.size() || number > 65535) {
    return wrong("a port from 0 to 65535");
  }
  return Address{std::string(host), static_cast<uint16_t>(number)};
}

std::string ToText(const Address& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", address.host, address.port)
            : fmt::format("{}:{}", address.host, address.port);
}

bool IsWildcard(const Address& address) {
  return address.host == "0.0.0.0" || address.host == "::";
}

bool IsLoopback(const Address& address) {
  const std::string& host = address.host;
  if (host == "localhost" || host == "::1") return true;
  // A name such as "127.example.org" is not an address.
  return host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace noisefloor
