// The HTTP proxy that stands between our programs and a coordinator, where the environment names
// one: CONNECT, as most networks have it that let nobody out directly.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/rpc/address.h"

namespace noisefloor {

// Of the environment, as it is.
struct ProxyVariables {
  std::string name;    // "https_proxy": the one that says `value`.
  std::string value;   // "http://proxy:3128", "http://USER:PASSWORD@proxy:3128", "proxy:3128".
  std::string except;  // "localhost,.example.org,10.0.0.0/8,*"
};
// The first of $grpc_proxy, $https_proxy, $HTTPS_PROXY and of $no_grpc_proxy, $no_proxy, $NO_PROXY.
// $http_proxy is for plain text, which coordinators elsewhere do not speak.
ProxyVariables ProxyVariablesOfThisProcess();

struct Proxy {
  Address address;
  std::string credentials;  // "USER:PASSWORD"; a secret; may be empty.
  std::string name;         // Of the variable, for messages.
  bool is_used = false;     // False: the way is direct.
};

// The proxy on the way to `server`. None for this machine's loopback, nor for what `except` has:
// host names by their ends, addresses and networks of them, or * for all. One of a scheme other
// than http is not used, as gRPC cannot. Pure.
Proxy ProxyTo(const Address& server, const ProxyVariables& variables);

// As gRPC takes it.
std::string ToUri(const Proxy& proxy);

// "through the proxy box:3128 of $https_proxy"; never its credentials.
std::string Described(const Proxy& proxy);

// Asks the proxy at the other end of the connected socket `file` for `server`. OK: from now on the
// server is there. Unavailable: nothing understandable came within some seconds, or the proxy
// cannot reach it now. PermissionDenied: it will not. Messages name both.
absl::Status OpenTunnel(int file, const Proxy& proxy, const Address& server);

}  // namespace noisefloor
