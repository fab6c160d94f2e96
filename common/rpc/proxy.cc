#include "common/rpc/proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "fmt/format.h"

#include "common/base/printable.h"

namespace noisefloor {

namespace {

constexpr int kAnswerMs = 5000;
constexpr size_t kMostHead = 16 << 10;
constexpr uint16_t kUsualPort = 80;  // Of a URI of http without one.

using Bits = std::array<unsigned char, 16>;

struct Network {
  Bits address = {};
  int bits = 0;  // Of the address: 32 or 128.
  int prefix = 0;
};

std::optional<Network> ParseNetwork(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string host(text.substr(0, slash));
  Network network;
  if (inet_pton(AF_INET, host.c_str(), network.address.data()) == 1) network.bits = 32;
  if (network.bits == 0 && inet_pton(AF_INET6, host.c_str(), network.address.data()) == 1) {
    network.bits = 128;
  }
  network.prefix = network.bits;
  if (slash != std::string_view::npos) {
    const std::string_view number = text.substr(slash + 1);
    const char* end = number.data() + number.size();
    const auto [at, error] = std::from_chars(number.data(), end, network.prefix);
    if (error != std::errc() || at != end || network.prefix < 0) return std::nullopt;
  }
  if (network.bits == 0 || network.prefix > network.bits) return std::nullopt;
  return network;
}

bool IsIn(const Network& network, std::string_view host) {
  const std::optional<Network> one = ParseNetwork(host);
  if (!one || one->bits != network.bits || one->prefix != one->bits) return false;
  for (int bit = 0; bit < network.prefix; ++bit) {
    const int differ = one->address[bit / 8] ^ network.address[bit / 8];
    if ((differ >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

// By their ends, as gRPC does, so that both agree.
bool IsExcept(std::string_view entry, const std::string& host) {
  if (entry == "*") return true;
  if (entry.starts_with("*")) entry.remove_prefix(1);
  if (entry.empty()) return false;
  const std::optional<Network> network = ParseNetwork(entry);
  return std::string_view(host).ends_with(entry) || (network && IsIn(*network, host));
}

bool IsExcepted(std::string_view entries, const std::string& host) {
  while (!entries.empty()) {
    const size_t comma = entries.find(',');
    std::string_view entry = entries.substr(0, comma);
    entries.remove_prefix(comma == std::string_view::npos ? entries.size() : comma + 1);
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (IsExcept(entry, host)) return true;
  }
  return false;
}

// The first of them that says something.
std::pair<std::string, std::string> FirstOf(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return {name, value};
  }
  return {};
}

// The proxy's status line, without its end; empty when none came.
std::string ReadStatusLine(int file) {
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos && head.size() < kMostHead) {
    pollfd wait = {file, POLLIN, 0};
    char byte = 0;  // One by one: what follows the head is the server's.
    if (poll(&wait, 1, kAnswerMs) != 1 || recv(file, &byte, 1, 0) != 1) break;
    head += byte;
  }
  const size_t end = head.find("\r\n");
  return end == std::string::npos ? "" : head.substr(0, end);
}

}  // namespace

ProxyVariables ProxyVariablesOfThisProcess() {
  ProxyVariables variables;
  std::tie(variables.name, variables.value) = FirstOf({"grpc_proxy", "https_proxy", "HTTPS_PROXY"});
  variables.except = FirstOf({"no_grpc_proxy", "no_proxy", "NO_PROXY"}).second;
  return variables;
}

Proxy ProxyTo(const Address& server, const ProxyVariables& variables) {
  Proxy proxy;
  std::string_view rest = variables.value;
  const size_t scheme = rest.find("://");
  if (scheme != std::string_view::npos) {
    if (rest.substr(0, scheme) != "http") return proxy;
    rest.remove_prefix(scheme + 3);
  }
  rest = rest.substr(0, rest.find('/'));
  const size_t at = rest.rfind('@');
  if (at != std::string_view::npos) {
    proxy.credentials = std::string(rest.substr(0, at));
    rest.remove_prefix(at + 1);
  }
  const bool has_port = rest.rfind(':') != std::string_view::npos && !rest.ends_with(']');
  const absl::StatusOr<Address> address =
      ParseAddress(has_port ? std::string(rest) : fmt::format("{}:{}", rest, kUsualPort));
  if (!address.ok()) return proxy;
  proxy.address = *address;
  proxy.name = variables.name;
  proxy.is_used = !IsLoopback(server) && !IsExcepted(variables.except, server.host);
  return proxy;
}

std::string ToUri(const Proxy& proxy) {
  const std::string who = proxy.credentials.empty() ? "" : proxy.credentials + "@";
  return fmt::format("http://{}{}", who, ToText(proxy.address));
}

std::string Described(const Proxy& proxy) {
  return fmt::format("through the proxy {} of ${}", ToText(proxy.address), proxy.name);
}

absl::Status OpenTunnel(int file, const Proxy& proxy, const Address& server) {
  std::string text = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", ToText(server));
  if (!proxy.credentials.empty()) {
    text += "Proxy-Authorization: Basic " + absl::Base64Escape(proxy.credentials) + "\r\n";
  }
  text += "\r\n";
  const bool sent =
      send(file, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  const std::string line = sent ? ReadStatusLine(file) : "";
  const std::string code = line.size() > 12 && line.starts_with("HTTP/1.") ? line.substr(9, 3) : "";
  if (code.starts_with('2')) return absl::OkStatus();
  const bool refused = code.starts_with('4');
  return MakeError(refused ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnavailable,
                   fmt::format("{} is not reached {}: it answers '{}'", ToText(server),
                               Described(proxy), PrintableLine(line)));
}

}  // namespace noisefloor
