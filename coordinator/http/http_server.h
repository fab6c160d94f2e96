// A small HTTP server for what browsers and Prometheus read of a coordinator: GET and HEAD, nothing
// else. Answers are whole, or come in pieces for as long as somebody reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace noisefloor::http {

// Names and values, in order.
using Fields = std::vector<std::pair<std::string, std::string>>;

// Whether whoever asked is still there. Thread-safe.
class Asker {
 public:
  // `then` is called once when the client leaves before its answer is whole, at once when it has;
  // on the server's thread, or on the caller's. The last one given counts.
  void OnLeave(std::function<void()> then) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> then_ ABSL_GUARDED_BY(mutex_);
};

// What was asked for. Everything in it is a stranger's.
struct Request {
  std::string path;  // "/api/GetSweep": decoded, begins with one slash, no control characters.
  Fields query;      // Decoded.
  Fields headers;    // Names in lower case.
  bool tls = false;
  // For who answers later. Null: nobody says.
  // shared: with the connection.
  std::shared_ptr<Asker> asker;
  // The first header of that name, in lower case; empty: there is none.
  std::string_view Header(std::string_view name) const;
  // Of "Authorization: Bearer TOKEN"; empty: there is none.
  std::string_view BearerToken() const;
};

// A body that comes in pieces.
class Pieces {
 public:
  virtual ~Pieces() = default;
  // Calls `then` once, from any thread, also from within Next: with the next piece, empty at the
  // end; not OK: there will be none, and what was sent must not be taken for the whole. One call at
  // a time, and none after the end.
  using Then = std::function<void(absl::StatusOr<std::string> piece)>;
  virtual void Next(Then then) = 0;
  // Nobody reads any more: `then` of a Next that waits is called soon. Any thread, also later than
  // the end.
  virtual void Cancel() = 0;
};

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  Fields headers;  // Beside Content-Type, Content-Length and what every answer has.
  std::string body;
  // Instead of `body`.
  // shared: with whoever makes the pieces.
  std::shared_ptr<Pieces> pieces;
  std::string idle;  // Sent when no piece has come for ServerSettings::idle; empty: nothing is.
};

// Calls `then` once, from any thread. Called on the server's thread; must not block.
using Handler = std::function<void(Request request, std::function<void(Answer answer)> then)>;

struct ServerSettings {
  std::string host;
  uint16_t port = 0;  // 0: a free one.
  // PEM file with key and certificate, read for each connection, so that one that is put in its
  // place is used at once; empty: plain HTTP.
  std::string key_and_certificate;
  Handler handler;
  size_t most_connections = 256;                // At one time; the next is closed.
  absl::Duration patience = absl::Seconds(10);  // For a whole request, or for a piece to be taken.
  absl::Duration idle = absl::Seconds(15);      // See Answer::idle.
};

// One thread of its own serves all connections. Any thread.
class HttpServer {
 public:
  // InvalidArgument: the certificate cannot be read; Unavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(ServerSettings settings);
  // Closes every connection and waits until the handler and all pieces have answered.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace noisefloor::http
