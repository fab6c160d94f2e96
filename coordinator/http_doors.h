// What a coordinator offers over HTTP beside its services: figures for Prometheus, and its page.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "grpcpp/channel.h"

#include "common/base/status.h"
#include "coordinator/http/http_server.h"
#include "coordinator/rpc/access_book.h"

namespace noisefloor {

// Whose doors they are. The book outlives them.
struct HttpHost {
  std::string home;
  const AccessBook& access;
};

// One that is open, until it is destroyed.
struct HttpDoor {
  std::unique_ptr<http::HttpServer> server;
  std::string address;  // "127.0.0.1:9464", with the port that was bound.
  std::string url;      // Of the page: what a browser opens.
};

// Both: InvalidArgument: an address that cannot be understood, or off loopback without TLS and
// tokens; Unavailable: it cannot be bound.

// Figures at /metrics of `address`. On loopback anybody may read them; elsewhere they have TLS and
// need the token of a reader. `text` is called on the server's thread and never blocks.
absl::StatusOr<HttpDoor> OpenMetrics(const HttpHost& host, const std::string& address,
                                     std::function<std::string()> text);

// The page at `address`. Where access is set up it has TLS and needs the token of a reader; else
// that of the data directory, which is in `url`. `at_any_port`: at a free one when that port is
// taken. `channel`: to the coordinator, in process.
// shared: gRPC's stubs hold their channel so.
absl::StatusOr<HttpDoor> OpenPage(const HttpHost& host, const std::string& address,
                                  bool at_any_port, std::shared_ptr<grpc::Channel> channel);

}  // namespace noisefloor
