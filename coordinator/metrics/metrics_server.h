// Answers GET /metrics, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "common/base/status.h"

namespace httplib {
class Server;
}

namespace noisefloor::metrics {

struct ServerSettings {
  std::string host;
  uint16_t port = 0;  // 0: a free one.
  // PEM file with key and certificate; empty: plain HTTP. One that is put in its place is used from
  // the connection after the next answer on.
  std::string key_and_certificate;
  // Whether the owner of that token ("" = none was sent) may read. Empty: anybody.
  std::function<absl::Status(std::string_view token)> may_read;
  std::function<std::string()> text;
};

// One thread of its own answers one connection after the other; each has some seconds. Any thread.
class MetricsServer {
 public:
  // InvalidArgument: the certificate cannot be read; Unavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(ServerSettings settings);
  ~MetricsServer();  // Stops.
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  uint16_t port() const { return port_; }

 private:
  explicit MetricsServer(ServerSettings settings);
  absl::Status Open();
  void ReadCertificateAgain();

  const ServerSettings settings_;
  std::unique_ptr<httplib::Server> server_;
  void* tls_ = nullptr;  // The server's SSL_CTX; null: plain HTTP.
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace noisefloor::metrics
